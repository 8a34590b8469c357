"""What `oochub evaluate --task` hands on to the report of each task."""

import pytest

from oochub.cli import main


def test_the_correction_reaches_each_task(monkeypatch, tmp_path):
    """Fault planted: a report of a task that is corrected by Holm whatever was asked."""
    asked = {}

    def reports(predictions, tasks, out, **options):
        asked.update(options)
        return {"ce_car": out, "ce_cow": out}

    monkeypatch.setattr("oochub.evaluation.tasks.evaluate_tasks", reports)
    words = ("evaluate", "all.parquet", "--task", "ce_car", "--task", "ce_cow", "--out", str(tmp_path / "reports"))
    monkeypatch.setattr("sys.argv", ["oochub", *words, "--correction", "benjamini_hochberg"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code and asked["correction"] == "benjamini_hochberg"
