"""The loopback Hub: every client call of the tests is the real one, and it refuses as the Hub does.

Each refusal stands beside what is not refused.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, HfApi, hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from loopback_hub import LoopbackHub

_BINARY = bytes(range(256)) * 40


@pytest.fixture
def api(hub: LoopbackHub) -> HfApi:
    """A client with the token of the environment, which may write."""
    return HfApi()


def _status(call: Callable[[], object]) -> int:
    with pytest.raises(HfHubHTTPError) as caught:
        call()
    return int(caught.value.response.status_code)


def _upload(api: HfApi, path: str = "notes.txt", content: bytes = b"text", to: str = "user/data") -> None:
    api.upload_file(path_or_fileobj=content, path_in_repo=path, repo_id=to, repo_type="dataset")


def test_nothing_is_written_without_a_token(api: HfApi, hub: LoopbackHub) -> None:
    """Every road into a repository answers 401."""
    api.create_repo("user/data", repo_type="dataset")
    nobody = HfApi(token=False)
    assert _status(lambda: nobody.create_repo("user/other", repo_type="dataset")) == 401
    assert _status(lambda: nobody.delete_repo("user/data", repo_type="dataset")) == 401
    assert _status(lambda: _upload(nobody)) == 401
    assert _status(lambda: nobody.create_branch("user/data", branch="new", repo_type="dataset")) == 401
    assert hub.files("datasets/user/data") == [".gitattributes"]
    _upload(api)
    assert hub.content("datasets/user/data", "notes.txt") == b"text"


def test_a_private_repository_is_shown_to_its_owner_alone(api: HfApi, hub: LoopbackHub) -> None:
    """Without a token 401 and for another user 404: both are "not found" to the client."""
    api.create_repo("user/data", repo_type="dataset", private=True)
    _upload(api)
    for token, status in ((False, 401), (hub.stranger_token, 404)):
        with pytest.raises(RepositoryNotFoundError) as caught:
            HfApi(token=token).dataset_info("user/data")
        assert caught.value.response.status_code == status
        with pytest.raises(RepositoryNotFoundError):
            hf_hub_download("user/data", "notes.txt", repo_type="dataset", token=token)
    read = hf_hub_download("user/data", "notes.txt", repo_type="dataset", token=hub.read_token)
    assert Path(read).read_bytes() == b"text"
    api.update_repo_settings("user/data", repo_type="dataset", visibility="public")
    assert HfApi(token=False).dataset_info("user/data").private is False


def test_a_wrong_token_is_refused_in_the_words_of_the_hub(api: HfApi) -> None:
    """Reading as well, even what is public."""
    api.create_repo("user/data", repo_type="dataset")
    wrong = HfApi(token="hf_wrong")  # noqa: S106
    for call in (lambda: wrong.dataset_info("user/data"), lambda: _upload(wrong)):
        with pytest.raises(HfHubHTTPError, match="Invalid credentials in Authorization header") as caught:
            call()
        assert caught.value.response.status_code == 401
    assert _status(wrong.whoami) == 401
    assert api.whoami()["name"] == "user"


def test_a_token_that_only_reads_writes_nothing(api: HfApi, hub: LoopbackHub) -> None:
    """It reads what is private."""
    api.create_repo("user/data", repo_type="dataset", private=True)
    reader = HfApi(token=hub.read_token)
    assert reader.whoami()["auth"]["accessToken"]["role"] == "read"
    assert _status(lambda: reader.create_repo("user/other")) == 403
    assert _status(lambda: _upload(reader)) == 403
    assert _status(lambda: _upload(reader, "rows.parquet", _BINARY)) == 403
    assert reader.dataset_info("user/data").id == "user/data"


def test_a_stranger_may_only_open_pull_requests(api: HfApi, hub: LoopbackHub) -> None:
    """Its files are at refs/pr/1 and on main when its owner merges it; no other may."""
    api.create_repo("user/results", repo_type="dataset")
    stranger = HfApi(token=hub.stranger_token)
    added = [CommitOperationAdd("a.txt", b"a"), CommitOperationAdd("b.parquet", _BINARY)]
    to = {"repo_id": "user/results", "repo_type": "dataset"}
    assert _status(lambda: stranger.create_commit(**to, operations=added, commit_message="Mine")) == 403
    opened = stranger.create_commit(**to, operations=added, commit_message="My entry", create_pr=True)
    assert opened.pr_url == f"{hub.endpoint}/datasets/user/results/discussions/1"
    assert (opened.pr_num, opened.pr_revision) == (1, "refs/pr/1")
    assert hub.files("datasets/user/results") == [".gitattributes"]
    assert api.list_repo_files(**to, revision="refs/pr/1") == [".gitattributes", "a.txt", "b.parquet"]
    read = hf_hub_download(**to, filename="b.parquet", revision="refs/pr/1")
    assert Path(read).read_bytes() == _BINARY
    shown = list(api.get_repo_discussions(**to))
    assert [(one.title, one.author, one.status, one.is_pull_request) for one in shown] == [
        ("My entry", "stranger", "open", True)
    ]
    assert [one.type for one in api.get_discussion_details(**to, discussion_num=1).events] == ["comment", "commit"]
    assert _status(lambda: stranger.merge_pull_request(**to, discussion_num=1)) == 403
    _upload(api, to="user/results")  # main goes on
    api.merge_pull_request(**to, discussion_num=1)
    assert hub.files("datasets/user/results") == [".gitattributes", "a.txt", "b.parquet", "notes.txt"]
    assert api.get_discussion_details(**to, discussion_num=1).status == "merged"


def test_an_upload_must_be_what_was_announced(api: HfApi, hub: LoopbackHub) -> None:
    """Its sha256 and its size; what was announced can then be put."""
    api.create_repo("user/data", repo_type="dataset")
    to = {"repo_id": "user/data", "repo_type": "dataset", "commit_message": "Rows"}
    other_digest = CommitOperationAdd("rows.parquet", _BINARY)
    other_digest.upload_info.sha256 = bytes(32)
    other_size = CommitOperationAdd("rows.parquet", _BINARY)
    other_size.upload_info.size -= 1
    for wrong in (other_digest, other_size):
        with pytest.raises(RuntimeError) as caught:
            api.create_commit(operations=[wrong], **to)
        assert "BadDigest" in str(caught.value.__cause__)
    assert hub.files("datasets/user/data") == [".gitattributes"]
    assert not list((hub.store.folder / "blobs").glob("0000*"))
    api.create_commit(operations=[CommitOperationAdd("rows.parquet", _BINARY)], **to)
    assert hub.content("datasets/user/data", "rows.parquet") == _BINARY
    sent = len(hub.requests)
    _upload(api, "again.parquet", _BINARY)
    assert not [seen for seen in hub.requests[sent:] if seen.method == "PUT"], "it has the blob"


def test_a_commit_names_only_blobs_that_are_there(api: HfApi, hub: LoopbackHub) -> None:
    """A client that says it has uploaded is not believed."""
    api.create_repo("user/data", repo_type="dataset")
    to = {"repo_id": "user/data", "repo_type": "dataset", "commit_message": "Rows"}
    missing = CommitOperationAdd("rows.parquet", _BINARY)
    missing._upload_mode, missing._is_uploaded, missing._should_ignore = "lfs", True, False
    assert _status(lambda: api.create_commit(operations=[CommitOperationAdd("a.txt", b"a"), missing], **to)) == 400
    assert hub.files("datasets/user/data") == [".gitattributes"], "all of a commit or nothing"
    api.create_commit(operations=[CommitOperationAdd("rows.parquet", _BINARY)], **to)


def test_a_commit_on_a_parent_that_moved_is_refused(api: HfApi, hub: LoopbackHub) -> None:
    """With 412; on the last commit it is taken."""
    api.create_repo("user/data", repo_type="dataset")
    before = api.dataset_info("user/data").sha
    _upload(api)
    to = {"repo_id": "user/data", "repo_type": "dataset", "commit_message": "More"}
    added = [CommitOperationAdd("more.txt", b"more")]
    assert _status(lambda: api.create_commit(operations=added, parent_commit=before, **to)) == 412
    assert "more.txt" not in hub.files("datasets/user/data")
    api.create_commit(operations=added, parent_commit=api.dataset_info("user/data").sha, **to)
    assert "more.txt" in hub.files("datasets/user/data")
