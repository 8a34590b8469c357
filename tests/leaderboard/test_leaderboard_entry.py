"""What an entry says: what is refused, in words, and that what is written is read again."""

import json
from types import SimpleNamespace

import pytest

import oochub
from oochub.errors import OochubError
from oochub.hub.leaderboard_repository import _find_predictions, write_entry
from oochub.leaderboard.leaderboard_entry import LeaderboardEntry
from oochub.prediction.predictions import Predictions

SAID = {
    "model": "m", "track": "standard", "selection": "hard", "supervision": "labels", "date": "2026-11-22",
    "predictions": ["preds.parquet"],
}  # fmt: skip


def test_it_is_read_as_it_was_written(tmp_path):
    entry = LeaderboardEntry(**SAID | {"predictions": ("preds.parquet", "1-b.parquet"), "who": "שלום <b>"})
    entry.save(tmp_path)
    assert LeaderboardEntry.load(tmp_path) == entry


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"track": "closed"}, "one of standard, open"),
        ({"selection": None}, "selection must be one of none, in_domain, hard, oracle"),
        ({"external_data": "LAION"}, "The standard track takes no external data"),
        ({"model": " "}, "must have a name"),
        ({"who": "x" * 3000}, "at most 2,000 characters"),
        ({"date": "22.11.2026"}, "a day such as 2026-11-22"),
        ({"date": "20261122"}, "a day such as 2026-11-22"),
        ({"predictions": []}, "names such as preds.parquet"),
        ({"predictions": ["../../etc/passwd.parquet"]}, "beside its entry.json"),
        ({"predictions": ["a/b.parquet"]}, "beside its entry.json"),
        ({"predictions": ["a.parquet/b"]}, "beside its entry.json"),
        ({"predictions": ["a.parquet", "a.parquet"]}, "each once"),
        ({"schema_version": 2}, "made by a newer oochub"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path, changed, words):
    """Planted faults seen: `fullmatch` as `match`, the date as any that Python reads, external data not looked at."""
    (tmp_path / "entry.json").write_text(json.dumps({"schema_version": 1, **SAID} | changed))
    with pytest.raises(OochubError, match=words) as raised:
        LeaderboardEntry.load(tmp_path)
    assert "entry.json" in str(raised.value)


def test_a_file_of_answers_is_no_entry(tmp_path):
    """Seen before it was mended: the CSV file was copied as Parquet, and its footer was missed."""
    report = Predictions.from_arrays(logits=[[1.0, 0.0]] * 8, label=[0] * 8, class_names=["cat", "dog"])
    oochub.evaluate(report).save(tmp_path / "mine.json")
    (tmp_path / "mine.csv").write_text("example_id,prediction\n1,cat\n")
    with pytest.raises(OochubError, match=r"holds answers.*`oochub evaluate mine.csv ... --keep mine.parquet`"):
        write_entry(tmp_path / "mine.json", tmp_path / "results", **SAID | {"predictions": [tmp_path / "mine.csv"]})
    assert not (tmp_path / "results").exists()


def test_the_files_behind_a_report_stand_beside_it(tmp_path):
    """A file whose name has a space is one file; several are divided by spaces. Planted fault seen: the other way."""

    def find(names):
        report = SimpleNamespace(provenance=SimpleNamespace(predictions=SimpleNamespace(file=names)))
        return [file.name for file in _find_predictions(tmp_path / "report.json", report)]

    for name in ("my model.parquet", "a.parquet", "b.parquet"):
        (tmp_path / name).touch()
    assert find("my model.parquet") == ["my model.parquet"]
    assert find("a.parquet b.parquet") == ["a.parquet", "b.parquet"]
    for elsewhere in ("in memory", "other/a.parquet"):
        with pytest.raises(OochubError, match="made from predictions in memory"):
            find(elsewhere)
