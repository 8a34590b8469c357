"""Which of NOOCH's 171 tasks a sweep of all of them runs: those with a context, by a count of one's own."""

import json

import numpy as np
import pytest

import oochub
from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.cli import main
from oochub.sweep.sweep_recipe import keep_buildable_tasks, read_recipe


@pytest.fixture(scope="module")
def surplus(coco):
    """Class to the largest mean of what another class takes of a training image more than it (Section 3.2.1)."""
    train = oochub.load("nooch/all", data_dir=str(coco))["train"].remove_columns("image")
    areas, found = np.array(train["areas"]), {}
    for number, name in enumerate(CATEGORY_IDS):
        rows = [i for i, labels in enumerate(train["labels"]) if number in labels]
        more = [np.mean([areas[i, k] - areas[i, number] for i in rows]) for k in range(171) if k != number and rows]
        found[name] = max(more, default=-np.inf)
    return found


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["oochub", "sweep", "nooch_all_tasks", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    streams = capsys.readouterr()
    return stopped.value.code, streams.out, streams.err


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_only_tasks_with_a_context_are_run(monkeypatch, capsys, coco, surplus, alpha):
    """Planted faults seen: an alpha that is not passed on, the classes with a context left out."""
    expected = [name for name in CATEGORY_IDS if surplus[name] > alpha]
    assert 0 < len(expected) < 171
    options = ("--option", f"alpha={alpha}", "--data-dir", coco)
    code, out, err = run(monkeypatch, capsys, "--dry-run", "--json", *options)
    assert not code, err
    content = json.loads(out)
    assert sorted(content["per_task"]) == sorted(f"nooch/ce_{name}" for name in expected)
    assert content["total"] == len(expected) and f"{len(expected)} of the 171 matching tasks" in content["about"]
    without = next(name for name in CATEGORY_IDS if name not in expected)
    code, out, err = run(monkeypatch, capsys, "--dry-run", "--only", f"nooch/ce_{without}", *options)
    assert code == 2 and f"nooch/ce_{without} cannot be built from" in " ".join(err.split()) and not out
    assert "has no context at alpha" in content["about"] or "No training image shows" in content["about"]


def test_without_the_raw_folder_a_dry_run_says_what_it_cannot_know(monkeypatch, capsys):
    monkeypatch.delenv("OOCHUB_DATA", raising=False)
    code, out, _ = run(monkeypatch, capsys, "--dry-run")
    assert not code and "Which of the 171 matching tasks of nooch can be built" in out and "--data-dir" in out
    code, out, err = run(monkeypatch, capsys, "--out", "sweep")
    assert code == 2 and "NOOCH requires its raw files" in err and not out


def test_published_contexts_are_those_of_the_12_tasks(coco, tmp_path):
    """And tasks that are named stay, whatever they are; where none is left that is an error."""
    plain = read_recipe("nooch_all_tasks")
    published = keep_buildable_tasks(_with(plain, contexts="published"), data_dir=str(coco))
    assert sorted(published.tasks) == sorted(read_recipe("nooch_suite").tasks)
    with pytest.raises(oochub.OochubError, match="None of the tasks can be built from"):
        keep_buildable_tasks(_with(plain, alpha=1.0), data_dir=str(coco))
    (tmp_path / "own.toml").write_text(
        'tasks = ["nooch/ce_zebra", "nooch/ce_z*"]\nmodel = "resnet-tiny"\n[methods.ERM]\nobjective = "erm"\n'
    )
    named = read_recipe(tmp_path / "own.toml")
    assert keep_buildable_tasks(_with(named, alpha=1.0), data_dir=str(coco)).tasks == ("nooch/ce_zebra",)


def _with(recipe, **options):
    from dataclasses import replace

    return replace(recipe, options=options)
