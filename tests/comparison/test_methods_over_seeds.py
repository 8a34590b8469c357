"""Methods of a sweep tested over seeds and images: numbers by scikit-learn, what is shown, what is not tested, names.

Planted faults, each seen to fail: groups drawn for each run alone; Holm left out; bold by spreads; the average over
tasks of other seeds; a setting left out of a name; predictions of another model taken.
"""

import json
import shutil
import zlib
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from drawn_sweep import draw_sweep
from sklearn.metrics import roc_auc_score

import oochub
from oochub.comparison.methods_over_seeds import AVERAGE, SeededRuns, format_places, place_methods, place_rows
from oochub.comparison.model_line import name_methods
from oochub.records.sides import PercentileOfGroups, WorstOfGroups
from oochub.report.report import Report
from oochub.stats.p_values import adjusted_p_values
from oochub.stats.seeded_difference import GROUPS, SeededNumbers, seeded_difference

METHODS = {"ERM": 0.5, "StdRisk (ours)": 1.6, "GroupDRO": 0.52}
OUT = "out_of_context"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Three methods with one objective over three seeds and two tasks."""
    folder = tmp_path_factory.mktemp("drawn")
    draw_sweep(folder, METHODS, tasks=("nooch/ce_car", "nooch/ce_cow"), rows=200)
    return folder / "sweep"


@pytest.fixture(scope="module")
def compared(sweep):
    return oochub.compare(sweep)


def _runs(sweep, task):
    """The runs' seeds, by method, as scikit-learn scores them: whole, and without the images of each group."""
    found = {}
    for file in sorted(sweep.glob(f"runs/nooch-{task}-*/predictions.parquet")):
        model = Report.load(file.parent / "report.json").model
        table = pq.read_table(file).to_pandas()
        table = table[(table["split"] == "test") & table["challenge"].str.startswith("hard")]
        score = np.stack(table["logits"]) @ [-1, 1]
        group = np.array([zlib.crc32(name.encode()) % GROUPS for name in table["example_id"]])
        label = table["label"].to_numpy()
        left = np.full(GROUPS, np.nan)
        for k in np.unique(group):
            left[k] = roc_auc_score(label[group != k], score[group != k])
        found.setdefault(model.method, {})[model.seeds] = roc_auc_score(label, score), left, len(table)
    return found


def _join(runs):
    return SeededNumbers(np.array([run[0] for run in runs]), np.stack([run[1] for run in runs]), runs[0][2])


@pytest.mark.slow
def test_differences_and_p_values_by_scikit_learn(sweep, compared):
    """Each run scored again by scikit-learn, without the images of each group; Holm over three pairs."""
    found = {name: _join([*runs.values()]) for name, runs in _runs(sweep, "ce_car").items()}
    placed = compared.tables[0].places["ce_car"]
    expected = [seeded_difference(found[pair.first], found[pair.second]) for pair in placed.pairs]
    for pair, each in zip(placed.pairs, expected, strict=True):
        assert pair.difference.value == pytest.approx(each.difference.value, abs=1e-12)
        assert pair.p_value == pytest.approx(each.p_value, rel=1e-9)
    adjusted = adjusted_p_values([each.p_value for each in expected])
    assert [pair.adjusted for pair in placed.pairs] == pytest.approx(adjusted)
    assert [pair.is_clear for pair in placed.pairs] == [p <= 0.05 for p in adjusted]


@pytest.mark.slow
def test_the_average_over_tasks_is_of_the_same_seeds(sweep, compared):
    """Seed by seed; the images of a group are left out of both tasks at once."""
    tasks = [_runs(sweep, task) for task in ("ce_car", "ce_cow")]
    numbers = []
    for name in ("ERM", "StdRisk (ours)"):
        seeds = [
            [np.mean([task[name][(seed,)][part] for task in tasks], axis=0) for part in (0, 1)] for seed in range(3)
        ]
        numbers.append(SeededNumbers(*(np.array([seed[part] for seed in seeds]) for part in (0, 1)), 100))
    pair = compared.tables[0].places[AVERAGE].find("ERM", "StdRisk (ours)")
    expected = seeded_difference(*numbers)
    assert abs(pair.difference.value) == pytest.approx(expected.difference.value)
    assert pair.p_value == pytest.approx(expected.p_value, rel=1e-6)


@pytest.mark.slow
def test_what_is_shown(sweep, compared):
    text = compared.to_markdown()
    assert compared.headline == (
        "StdRisk (ours) is clearly better than each of the 2 other methods out of context on average over the tasks."
    )
    assert text.startswith(compared.headline) and "3 seeds say little. For two models" in text
    assert "would be found 8 times in 10" in text and "unpaired" not in text
    table = compared.tables[0]
    for row, placed in table.places.items():
        bold = {column.method for task, column in table.bold if task == row}
        assert bold == {name for name in METHODS if not placed.is_behind_best(name)}
    latex = compared.to_latex()
    assert "Methods are tested over 3 seeds and the images that all runs share" in latex
    assert "that is not clearly worse" in latex and "say little" in latex
    page = compared.to_html()
    assert page.index(compared.headline) < page.index("Methods over seeds") < page.index("The gap of each model")
    pairs = compared.list_pairs()
    assert len(pairs) == 9 and json.dumps(pairs)
    assert pairs[0]["first"] == "ERM" and pairs[0]["low"] < pairs[0]["value"] < pairs[0]["high"]


@pytest.mark.slow
def test_runs_without_their_predictions_are_compared_as_before(sweep, tmp_path):
    """One file missing, or of another model: nothing is tested, and that is said."""
    copy = tmp_path / "sweep"
    shutil.copytree(sweep, copy)
    first, second = sorted(copy.glob("runs/nooch-ce_car-erm-*/predictions.parquet"))[:2]
    shutil.copy(second, first)
    alone = oochub.compare(copy)
    assert set(alone.tables[0].places) == {"ce_cow"} and alone.headline.startswith("StdRisk (ours)")
    assert not [place for place in alone.tables[0].bold if place[0] in ("ce_car", AVERAGE)]
    for file in copy.glob("runs/*/predictions.parquet"):
        file.unlink()
    bare = oochub.compare(copy)
    assert not bare.tables[0].places and not bare.headline
    assert "compared unpaired" in bare.to_markdown() and bare.tables[0].bold


@pytest.mark.slow
def test_settings_tell_methods_apart_where_a_title_has_several(sweep, tmp_path):
    """All reports of a grid: the setting follows the title; of the selected ones it does not."""
    draw_sweep(tmp_path, {"ERM": 0.5}, grid="grid = { weight_decay = [0.1, 0.2] }", rows=80, seeds=1)
    reports = [Report.load(path) for path in sorted(tmp_path.glob("sweep/runs/*/report.json"))]
    assert name_methods(reports) == ["ERM, weight_decay=0.1", "ERM, weight_decay=0.2"]
    assert name_methods(reports[:1]) == ["ERM"]
    trials = [replace(each, model=replace(each.model, seeds=(k,))) for k, each in enumerate(reports)]
    assert name_methods(trials) == ["ERM", "ERM"]
    others = [Report.load(path) for path in sorted(sweep.glob("runs/nooch-ce_car-*/report.json"))]
    assert set(name_methods(others)) == set(METHODS)


def _numbers(*values):
    return SeededNumbers(np.array(values), np.zeros((len(values), GROUPS)), 100)


def test_the_lower_error_is_the_better():
    placed = place_methods({"a": _numbers(0.5, 0.51, 0.52), "b": _numbers(0.2, 0.21, 0.22)}, direction="lower")
    assert [*placed.places] == ["b", "a"] and placed.leaders == ["b"] and placed.is_behind_best("a")
    assert place_methods({"a": _numbers(0.5, 0.6), "b": _numbers(0.5, 0.7)}, direction="none") is None
    assert place_methods({"a": _numbers(0.5, 0.6)}, direction="higher") is None


def test_a_file_that_cannot_be_read_is_not_tested(tmp_path):
    (tmp_path / "predictions.parquet").write_bytes(b"no Parquet")
    assert SeededRuns().measure(tmp_path / "predictions.parquet", "auc", OUT, 0.5) is None


@pytest.mark.parametrize("side", [WorstOfGroups, PercentileOfGroups])
def test_the_value_of_groups_is_that_of_the_estimate(side):
    """`compute_group_side` against `estimate_group_side`."""
    from oochub.data.declaration import find_declaration
    from oochub.evaluation.evaluation_rows import make_evaluation_rows
    from oochub.evaluation.group_statistics import compute_group_side, estimate_group_side

    rng = np.random.default_rng(0)
    predictions = oochub.Predictions.from_arrays(
        logits=rng.normal(size=(90, 2)), label=np.arange(90) % 2, group=[f"g{k % 5}" for k in range(90)]
    )
    evaluated = make_evaluation_rows(predictions, find_declaration(predictions))[0]
    mask, metric = rng.random(90) < 0.8, oochub.get("metric", "accuracy")
    made = side(split="test", column="group")
    expected = estimate_group_side(made, metric, mask, evaluated).value
    assert compute_group_side(made, metric, mask, evaluated) == pytest.approx(expected, abs=1e-12)


def test_a_worst_group_has_a_caveat_wherever_it_is_compared(tmp_path):
    """docs/levels.md: groups that are alike. Planted fault seen: the caveat lost where runs are joined."""
    rng, runs = np.random.default_rng(0), {}
    for name in ("erm", "dro"):
        for seed in range(2):
            predictions = oochub.Predictions.from_arrays(
                logits=rng.normal(size=(90, 2)), label=np.arange(90) % 2, group=[f"g{k % 5}" for k in range(90)]
            )
            file = predictions.save(tmp_path / f"{name}{seed}.parquet")
            metric = oochub.evaluate(file, metrics=["accuracy", "worst_group"], resamples=100)
            for key in ("accuracy", "worst_group.accuracy"):
                found = SeededRuns().measure(file, key, "all", metric.slices[0].metrics[key].value)
                runs.setdefault(key, {}).setdefault(name, {})[(seed,)] = found
    for key, has_caveat in (("accuracy", False), ("worst_group.accuracy", True)):
        rows = place_rows({"a": runs[key], "b": runs[key]}, direction="higher", average=True)
        assert len(rows) == 3
        for placed in rows.values():
            assert ("comes out too small" in (placed.pairs[0].difference.reason or "")) == has_caveat
        text = "\n".join(format_places(rows, heading="Methods", metric=key, unit="fraction").to_markdown())
        assert ("comes out too small" in text) == has_caveat
