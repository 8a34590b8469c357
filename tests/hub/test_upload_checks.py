"""What an upload refuses before it asks the Hub anything."""

import pytest

from oochub.errors import OochubError, word_for_shell
from oochub.hub.upload import open_client, upload


@pytest.fixture
def online(monkeypatch, tmp_path):
    """The switch of the connection is on, nobody answers, and there is no token."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("oochub.hub.upload._WAIT", 0.0)


@pytest.mark.parametrize(
    "name", ["nooch", "user/nooch/ce_car", "user/", "/nooch", "user/no och", "user/nooch.git", "é/a"]
)
def test_a_name_that_is_none(online, name):
    """Planted fault: the client's own check alone, which takes a name without a user."""
    with pytest.raises(OochubError, match="must be named user/name, got"):
        open_client(name)


def test_no_token(online, tmp_path):
    """Before the folder is looked at. Planted fault: the client made after the files are listed."""
    with pytest.raises(
        OochubError, match=r"Not logged in to the Hub.*`hf auth login`, or set HF_TOKEN.*dry_run=True needs"
    ):
        upload(tmp_path / "none", "user/nooch", repo_type="dataset", message="m")
    with word_for_shell(), pytest.raises(OochubError, match="--dry-run needs no token"):
        upload(tmp_path / "none", "user/nooch", repo_type="dataset", message="m")


def test_offline(tmp_path, monkeypatch):
    """Planted fault: offline asked of the environment, which was read before."""
    monkeypatch.setenv("HF_TOKEN", "hf_some")
    with pytest.raises(OochubError, match="HF_HUB_OFFLINE is set"):
        upload(tmp_path, "user/nooch", repo_type="dataset", message="m")


def test_a_token_that_is_none(online, monkeypatch):
    """The client would show it in its own error. Planted fault: the token in the message."""
    monkeypatch.setenv("HF_TOKEN", "hf_sec\tret")
    with pytest.raises(OochubError, match="contains a space or another character") as error:
        open_client("user/nooch")
    assert "ret" not in str(error.value)


def test_nothing_to_push(online, monkeypatch, tmp_path):
    """Planted fault: a folder of a lock alone is taken for content."""
    monkeypatch.setenv("HF_TOKEN", "hf_some")
    (tmp_path / ".README.md.lock").touch()
    with pytest.raises(OochubError, match="contains no files to push"):
        upload(tmp_path, "user/nooch", repo_type="dataset", message="m")
    with pytest.raises(OochubError, match="is not a folder"):
        upload(tmp_path / "none", "user/nooch", repo_type="dataset", message="m")


def test_nobody_answers(online, monkeypatch, tmp_path):
    """Planted fault: the client's own error, with its chain, reaches the user."""
    monkeypatch.setenv("HF_TOKEN", "hf_some")
    (tmp_path / "README.md").write_text("x")
    with pytest.raises(OochubError, match=r"could not be reached.*Check the connection and push again") as error:
        upload(tmp_path, "user/nooch", repo_type="dataset", message="m")
    assert error.value.__cause__ is None and error.value.__suppress_context__
