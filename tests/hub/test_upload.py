"""Uploads over the loopback Hub: one commit, nothing twice, others' files stay, faults end right or in words."""

import logging
import threading

import pytest

from oochub.errors import OochubError
from oochub.hub.upload import upload

HERE = "datasets/user/data"


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Waits of a moment between tries, and little patience with a server that says nothing."""
    monkeypatch.setattr("oochub.hub.upload._WAIT", 0.01)
    monkeypatch.setattr("oochub.hub.upload._PATIENCE", 0.5)
    monkeypatch.setattr("oochub.remote.remote_repository._PATIENCE", 0.5)


def push(folder, **settings):
    """Uploads it as data."""
    given = {"to": "user/data", "repo_type": "dataset", "message": "Push", "delete": ["one/*"], **settings}
    return upload(folder, **given)


def commits(hub):
    """How many commits were taken."""
    return sum(seen.method == "POST" and "/commit/" in seen.path and seen.status == 200 for seen in hub.requests)


def test_one_commit_and_nothing_twice(hub, folder):
    """Planted faults: a commit a file; the state not compared, so that a second push makes a commit."""
    pushed = push(folder)
    assert set(pushed.added) == {"README.md", "one/a.parquet", "one/b.parquet"} and commits(hub) == 1
    assert hub.content(HERE, "one/a.parquet") == b"a" * 1000
    assert pushed.url == f"{hub.endpoint}/datasets/user/data" and pushed.commit == hub.repository(HERE).at("main").id
    again = push(folder)
    assert not again.is_change and again.commit == pushed.commit and commits(hub) == 1


@pytest.mark.slow
def test_what_is_gone_is_deleted_and_others_files_stay(hub, folder):
    """Planted faults: patterns not looked at, so that notes.txt goes; deleted in a commit of its own."""
    push(folder)
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "notes.txt").write_text("of a colleague")
    push(folder.parent / "other", delete=[])
    (folder / "one" / "b.parquet").unlink()
    (folder / "one" / "a.parquet").write_bytes(b"c" * 10)
    pushed = push(folder)
    assert dict(pushed.changed) == {"one/a.parquet": 10} and dict(pushed.deleted) == {"one/b.parquet": 1000}
    assert set(hub.files(HERE)) - {".gitattributes"} == {"README.md", "notes.txt", "one/a.parquet"}
    assert commits(hub) == 3


def test_a_rehearsal_changes_nothing_and_needs_no_token(hub, folder, monkeypatch):
    """Planted fault: the repository is made before the files are compared."""
    monkeypatch.delenv("HF_TOKEN")
    planned = push(folder, dry_run=True)
    assert planned.added["one/a.parquet"] == 1000 and planned.commit is None
    assert all(seen.method == "GET" for seen in hub.requests)
    monkeypatch.setenv("HF_TOKEN", hub.token)
    push(folder)
    monkeypatch.delenv("HF_TOKEN")
    (folder / "README.md").write_text("new")
    assert dict(push(folder, dry_run=True).changed) == {"README.md": 3}


def test_nothing_is_seen_before_the_commit(hub, folder):
    """Planted fault: the card committed first."""
    with hub.pause_at("POST .*/commit/") as pause:
        thread = threading.Thread(target=push, args=(folder,))
        thread.start()
        pause.wait()
        seen = set(hub.files(HERE))
    thread.join()
    assert seen <= {".gitattributes"} and "README.md" in hub.files(HERE)


def test_private_branch_and_pull_request(hub, folder):
    """Planted faults: the branch not made; `private` left out; the pull request's files on main."""
    push(folder, private=True)
    assert hub.repository(HERE).private
    (folder / "README.md").write_text("dev")
    assert push(folder, revision="dev").url.endswith("/tree/dev")
    assert hub.content(HERE, "README.md", "dev") == b"dev" and hub.content(HERE, "README.md") != b"dev"
    opened = push(folder, pull_request=True)
    assert opened.pull_request == opened.url and hub.content(HERE, "README.md") != b"dev"
    with pytest.raises(OochubError, match="A pull request goes to main"):
        push(folder, pull_request=True, revision="dev")
    with pytest.raises(OochubError, match="no dataset user/none on the Hub that this token may read"):
        push(folder, pull_request=True, to="user/none")
    push(folder, to="user/open")
    with pytest.raises(OochubError, match="already exists, and is public"):
        push(folder, to="user/open", private=True)


def test_somebody_elses_content_is_not_replaced(hub, folder):
    """Planted fault: the check of `known_by` left out."""
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "README.md").write_text("of somebody")
    push(folder.parent / "other", delete=[])
    with pytest.raises(OochubError, match=r"was not created by oochub .no build.json., and README.md would be"):
        push(folder, known_by="build.json")
    assert hub.content(HERE, "README.md") == b"of somebody"
    assert push(folder, known_by="build.json", overwrite=True).changed


def test_main_moves_while_files_are_sent(hub, folder):
    """Planted fault: the parent of the commit left out, which would undo the other's card."""
    push(folder)
    (folder / "README.md").write_text("mine")
    other = folder.parent / "other"
    other.mkdir()
    (other / "theirs.txt").write_text("theirs")
    seen = []

    def fitted(remote):
        seen.append("theirs.txt" in remote.files)
        if len(seen) == 1:
            push(other, delete=[])
        return {}

    push(folder, fitted=fitted)
    assert seen == [False, True]
    assert hub.content(HERE, "README.md") == b"mine" and "theirs.txt" in hub.files(HERE)


@pytest.mark.parametrize(
    ("token", "words"),
    [("hf_wrongofloopback", r"refused the token \(401: Invalid"), ("read_token", r"403"), ("stranger_token", "403")],
)
def test_refusals_are_one_line_without_the_token(hub, folder, monkeypatch, caplog, capfd, token, words):
    """Planted fault: the server's answer, which may send the token back, in the message as it is."""
    secret = getattr(hub, token, token)
    monkeypatch.setenv("HF_TOKEN", secret)
    caplog.set_level(logging.DEBUG)
    with pytest.raises(OochubError, match=words) as error:
        push(folder)
    shown = str(error.value) + repr(error.value.__cause__) + caplog.text + "".join(capfd.readouterr())
    assert "\n" not in str(error.value) and secret not in shown


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_hub_that_fails_every_fifth_time(hub, folder, seed):
    """It ends right or says what to do, and a second push finishes it. Planted fault: a card committed by itself."""
    hub.hang = 1.0
    hub.faults(rate=0.2, seed=seed)
    try:
        push(folder)
    except OochubError as error:
        assert "push again" in str(error).lower()
    assert set(hub.files(HERE)) - {".gitattributes"} in (set(), {"README.md", "one/a.parquet", "one/b.parquet"})
    hub.faults(rate=0.0)
    push(folder)
    assert hub.content(HERE, "one/b.parquet") == b"b" * 1000 and len(hub.files(HERE)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["error", "cut", "hang"])
def test_one_fault_at_any_request_ends_right(hub, folder, monkeypatch, kind):
    """A lost answer of the commit too. Planted faults: a `Refusal` is never passing; the lost commit is made again."""
    hub.hang = 0.7
    for number in range(0, 11, 4 if kind == "hang" else 1):
        faults = iter([*[None] * number, kind])
        monkeypatch.setattr(hub, "fault", lambda faults=faults: next(faults, None))
        (folder / "README.md").write_text(f"---\nlicense: mit\n---\n{number}")
        (folder / "one" / "a.parquet").write_bytes(bytes([number]) * 1000)
        assert push(folder).is_change
        assert hub.content(HERE, "one/a.parquet") == bytes([number]) * 1000
        assert not push(folder).is_change
    taken = sum("/commit/" in seen.path and seen.method == "POST" and seen.status in (0, 200) for seen in hub.requests)
    assert kind == "hang" or taken == 11  # what hung did nothing


def test_a_server_that_sends_the_token_back(hub, folder, monkeypatch, caplog, capfd):
    """Planted fault: the server's answer in the message as it is."""
    from hub_answers import Answer

    caplog.set_level(logging.DEBUG)
    for status in (400, 401, 403, 500):
        back = {"error": f"What is this: {hub.token}?"}
        monkeypatch.setattr(hub, "answer", lambda *asked, status=status, back=back: Answer.of(back, status))
        with pytest.raises(OochubError) as error:
            push(folder)
        assert "What is this: [token]?" in str(error.value) and f"{status}" in str(error.value)
        assert hub.token not in str(error.value) + caplog.text + "".join(capfd.readouterr())
