"""`oochub cache`: the list, what is cleared, and what is refused."""

import json
import os
import time

import pytest
from model_folders import pictures, resnet
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.storage.cache import list_caches


def _said(*words):
    done = CliRunner().invoke(app, ["cache", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.fixture
def files(tmp_path):
    """Predictions of today, and those of ten days ago."""
    folder = resnet(tmp_path / "model")
    oochub.predict(folder, pictures(5), images=False)
    ((old,),) = (cache.entries for cache in list_caches("predictions"))
    oochub.predict(folder, pictures(3), images=False)
    long_ago = time.time() - 10 * 24 * 60 * 60
    os.utime(old.path, (long_ago, long_ago))
    (entries,) = (cache.entries for cache in list_caches("predictions"))
    return [entry.path for entry in entries]


def test_the_list_says_size_age_and_place(files):
    row = json.loads(_said("--json"))[0]
    assert row["cache"] == "predictions" and row["entries"] == 2 and row["oldest_days"] == pytest.approx(10, abs=0.01)
    assert row["bytes"] == sum(file.stat().st_size for file in files)
    shown = _said().splitlines()
    assert shown[0].split() == ["cache", "holds", "entries", "MB", "oldest,", "days", "path"]
    assert shown[1].split()[0] == "predictions" and shown[1].split()[-3:] == ["0.0", "10.0", str(files[0].parent)]


def test_the_old_ones_are_cleared(files):
    """Fault planted: the younger ones."""
    old, new = files
    size = old.stat().st_size
    assert _said("clear", "predictions", "--older-than", "9", "--dry-run").splitlines() == [
        str(old),
        f"{size / 1e6:.1f} MB would be freed, 1 entries.",
    ]
    assert old.exists()
    assert json.loads(_said("clear", "predictions", "--older-than", "9", "--json")) == {
        **{"cleared": True, "bytes": size, "paths": [str(old)]}
    }
    assert not old.exists() and new.exists()
    assert "freed, 1 entries" in _said("clear", "predictions") and not new.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["clean"], "No action named 'clean'. Did you mean 'clear'"),
        (["clear", "pixel"], "No cache named 'pixel'. Did you mean 'pixels'"),
        (["--dry-run"], "--dry-run needs clear: oochub cache clear --dry-run"),
        (["--older-than", "3"], "--older-than needs clear"),
    ],
)
def test_wrong_words_are_said(words, message):
    with pytest.raises(oochub.OochubError) as refused:
        CliRunner().invoke(app, ["cache", *words], catch_exceptions=False)
    assert message in str(refused.value)


@pytest.mark.parametrize("place", ["~nobody_has_this_name/caches", "x" * 5000, "y" * 300])
@pytest.mark.parametrize("words", [[], ["clear"], ["clear", "--dry-run"]])
def test_a_folder_that_cannot_be_is_said(monkeypatch, place, words):
    """Faults planted: no look at the home of nobody; no look at a name that is too long."""
    monkeypatch.setenv("OOCHUB_CACHE", place)
    with pytest.raises(oochub.OochubError, match="OOCHUB_CACHE names no folder that can be"):
        CliRunner().invoke(app, ["cache", *words], catch_exceptions=False)


@pytest.mark.slow
def test_a_prediction_from_the_shell_says_that_no_model_ran(spawrious, tmp_path):
    """The second has the same rows and says so on standard error; --no-cache is quiet."""
    folder = resnet(tmp_path / "model", classes=4)
    words = ["predict", str(folder), "spawrious/o2o_hard", "--data-dir", str(spawrious), "--no-images", "--json"]
    made = {}
    for name, more in {"first": [], "second": [], "third": ["--no-cache"]}.items():
        out = tmp_path / f"{name}.parquet"
        done = CliRunner().invoke(app, [*words, "--out", str(out), *more], catch_exceptions=False)
        made[name] = (oochub.Predictions.load(out), done.stderr, json.loads(done.stdout)["cached"])
    assert made["second"][0].table.equals(made["first"][0].table)
    assert "No model was run" in made["second"][1] and "No model was run" not in made["first"][1] + made["third"][1]
    assert [cached for _, _, cached in made.values()] == [False, True, False]
