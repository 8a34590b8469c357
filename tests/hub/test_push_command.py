"""The command as its user types it: what it prints, what it refuses, and that the token is nowhere."""

import json
import sys

import pytest

from oochub.cli import main

HERE = "datasets/user/data"


@pytest.fixture
def oochub_push(monkeypatch, capfd):
    """Runs `oochub push` in this process; gives its exit code, what it prints, and what it says on stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["oochub", "push", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code or 0, *capfd.readouterr()

    monkeypatch.setattr("oochub.hub.upload._WAIT", 0.01)
    return run


@pytest.fixture
def words(raw):
    """A small benchmark."""
    return ["spawrious/o2o_hard", "--data-dir", str(raw("spawrious/o2o_hard")), "--to", "user/data"]


@pytest.mark.slow
def test_what_it_says(hub, oochub_push, words):
    """A rehearsal, the push, the push again. Planted fault: the rehearsal pushes."""
    code, out, _ = oochub_push(*words, "--dry-run")
    assert code == 0 and "add " in out and " bytes  README.md" in out and "Would add 8 files (" in out
    assert HERE not in hub.store.repositories
    code, out, _ = oochub_push(*words, "--json")
    said = json.loads(out)
    assert said["url"] == f"{hub.endpoint}/{HERE}" and len(said["commit"]) == 40 and "build.json" in said["added"]
    code, out, _ = oochub_push(*words)
    assert code == 0 and out == f"Nothing to change: the repository already holds this.\n{hub.endpoint}/{HERE}\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--to", "nooch"], "must be named user/name"),
        (["--config", "m2m_hard"], "names the config o2o_hard, but m2m_hard is asked for"),
        (["--option", "varient=released"], "No option of spawrious named 'varient'. Did you mean 'variant'?"),
        (["--data-dir", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_end_in_one_line(hub, oochub_push, words, given, message):
    """Exit code 2, nothing pushed. Planted fault: options checked after the build."""
    code, _, err = oochub_push(*words, *given)
    assert code == 2 and message in err and "Traceback" not in err
    assert HERE not in hub.store.repositories


@pytest.mark.slow
@pytest.mark.parametrize("fault", [False, True])
def test_the_token_is_nowhere(hub, oochub_push, words, tmp_path, monkeypatch, fault):
    """In no output, no file of the caches, no pushed file. Planted fault: the token in the card."""
    monkeypatch.setenv("HF_TOKEN", "hf_wrongofloopback") if fault else None
    secret = ("hf_wrongofloopback" if fault else hub.token).encode()
    code, out, err = oochub_push(*words, "--json")
    assert code == (2 if fault else 0) and secret.decode() not in out + err
    assert not fault or ("refused the token (401" in err and len(err.splitlines()) <= 3)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (files or fault) and not [path for path in files if secret in path.read_bytes()]
