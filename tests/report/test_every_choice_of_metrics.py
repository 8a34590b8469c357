"""Contract: every metric alone, every pair of metrics and none is evaluated, saved, loaded and rendered in every form.

Or it is refused before the first slow step, and only where the data lack a column that the metric needs, or hold
another kind of output than it scores. Seen to fail on planted faults: a page that takes the primary metric's number for
granted, a figure that shows "error_rate" whatever there is, a metric that is refused after the first slice is scored.
"""

import inspect
import io
import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from parsed_page import ParsedPage
from rich.console import Console

import oochub
from oochub.evaluation.evaluation_rows import read_metric
from oochub.metric import read_facts
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts
from oochub.report import format_numbers, theme
from oochub.report.report import Report

mpl.use("Agg")
METRICS = oochub.names("metric")
FIGURES = [
    n for n in oochub.names("figure") if next(iter(inspect.signature(oochub.get("figure", n)).parameters)) == "report"
]
N = 80
KINDS = [kind for kind in oochub.names("output") if kind != "choices"]  # which are classes without their logits
OF_CLASSES = {"label", "prediction", "probability", "score"}  # what two classes give without a further column


def _columns():
    """What metrics may ask for beside labels and answers: half of the rows are hard, some out of distribution."""
    hard = np.where(np.arange(N) % 2 == 1, "hard_positive", "hard_negative")
    challenge = np.where(np.arange(N) % 4 < 2, "easy", hard)
    rng = np.random.default_rng(0)
    group = np.where(challenge == "easy", np.where(np.arange(N) % 2, "b", "a"), "c")
    return {"challenge": challenge, "group": group, "is_ood": rng.random(N) < 0.3, "correct": rng.random(N) < 0.7}


def _predictions(kind, **columns):
    """With a build record that has what metrics ask it for."""
    made = _made(kind, **columns)
    return Predictions(made.table, replace(made.metadata, facts=BuildFacts(group_counts={"a": 2, "b": 1, "c": 1})))


def _made(kind, **columns):
    label = np.arange(N) % 2
    z = np.random.default_rng(1).normal(size=N) + 2 * label - 1
    if kind == "number":
        return oochub.Predictions.from_arrays(value=z, label=label + 0.1 * z, **columns)
    if kind == "boxes":
        corner = np.linspace(0, 3, N)
        drawn = np.c_[corner, corner, corner + 9, corner + 9][:, None, :]
        scores = np.where(np.arange(N) % 3 == 0, 0.4, 0.9)[:, None]
        return oochub.Predictions.from_arrays(
            detected_boxes=drawn,
            scores=scores,
            boxes=np.full((N, 1, 4), [0.0, 0, 9, 9]),
            class_names=["head"],
            **columns,
        )
    if kind == "tokens":
        tokens = np.stack([label, 1 - label, label], 1)
        return oochub.Predictions.from_arrays(
            tokens=tokens, predicted_tokens=np.stack([z > 0] * 3, 1).astype(int), kinds=np.full((N, 3), 6), **columns
        )
    if kind == "labels":
        labels = [[float(value), float(1 - value), float("nan")] for value in label]
        return oochub.Predictions.from_arrays(logits=np.stack([z, -z, z], 1), labels=labels, **columns)
    width = 3 if kind == "three classes" else 2
    logits = np.stack([0 * z, z, -1 - z * z][:width], 1)
    return oochub.Predictions.from_arrays(logits=logits, label=label, **columns)


def _outputs(metric):
    return read_facts(oochub.get("metric", metric)).outputs


def _evaluate(predictions, metrics):
    return oochub.evaluate(predictions, metrics=metrics, resamples=100)


def _check_renderings(report, folder):
    """The same report from its file; every text, without a nan; every figure, or why the report lacks what it shows."""
    loaded = Report.load(report.save(folder / "report.json"))
    assert {key: repr(loaded[key]) for key in loaded} == {key: repr(report[key]) for key in report}
    stream = io.StringIO()
    Console(file=stream, width=120).print(loaded.to_terminal())
    texts = [stream.getvalue(), loaded.to_markdown(), loaded.to_latex("full"), loaded.to_latex()]
    texts += [ParsedPage(loaded.to_html(images=images)).words for images in (True, False)]
    for text in texts:
        assert not re.search(r"\b(nan|None|inf)\b", text), text
    _check_sides_of_gap(loaded, [*texts, repr(loaded), loaded.to_pandas().to_csv()])
    frame = loaded.to_pandas()
    assert (
        sorted(frame["value"].dropna()) == sorted(value for value in _every_number(loaded) if value == value)
        and "value" in frame.to_csv()
    )
    lacks = {
        "groups": not any(row.headline is not None for row in loaded.group_rows),
        "reliability": not any(
            b.n >= theme.BIN_FROM for part in (loaded.calibration or {}).values() for b in part.bins
        ),
        "detection": not loaded.detection,
        "confusion_by_context": loaded.errors is None,
        "context_gaps": loaded.contexts is None,
        "background_probe": loaded.background is None,
        "slices": not any(part.metrics for part in loaded.slices),
    }
    for name in FIGURES:
        if lacks.get(name):
            with pytest.raises(oochub.OochubError, match="plot another kind"):
                loaded.plot(name)
        else:
            assert loaded.plot(name).has_data() or name == "gap"
    mpl.pyplot.close("all")


def _check_sides_of_gap(report, texts):
    """Where a form shows the gap, it shows the number of both sides, whatever metrics were asked for."""
    assert not any("not evaluated" in text for text in texts), texts
    gap, sides = report.gap.estimate, [report.headline(side) for side in ("in", "out")]
    has_sides = report.slice_of("in") is not None and report.slice_of("out") is not None
    assert None not in sides or not has_sides
    if gap == gap:
        assert sides[1] - sides[0] == pytest.approx(float(gap))
        shown = [format_numbers.quantity(side, report.unit) for side in sides]
        assert all(number in text for number in shown for text in texts[:-2]), (shown, texts)


def _every_number(report):
    yield from (value for of in (report.calibration or {}).values() for value in (of.overconfidence, of.ece))
    yield from (value for part in report.slices for value in part.metrics.values())
    yield report.gap.estimate
    for row in report.group_rows:
        yield from (value for value in (row.accuracy, row.error_rate, row.nll) if value is not None)
        yield from (row.metrics or {}).values()


def _refused(predictions, metrics, monkeypatch, message):
    with monkeypatch.context() as patched, pytest.raises(oochub.OochubError, match=message):
        patched.setattr(
            "oochub.evaluation.evaluation.measure_slice", lambda *_: pytest.fail("refused after a slow step")
        )
        _evaluate(predictions, metrics)


@pytest.fixture(scope="module")
def complete():
    """Predictions of each kind of output that have every column."""
    return {kind: _predictions(kind, **_columns()) for kind in KINDS}


@pytest.mark.parametrize(
    "metric",
    [pytest.param(name, marks=pytest.mark.campaign if k % 6 else pytest.mark.slow) for k, name in enumerate(METRICS)],
)
def test_a_metric_alone_and_with_every_other(metric, complete, tmp_path, monkeypatch):
    """Each metric of the catalog is rendered every day, with the first; all pairs are a campaign."""
    rendered = 0
    for other in METRICS[METRICS.index(metric) :]:
        for kind, predictions in complete.items():
            if all(kind in _outputs(name) for name in (metric, other)):
                report = _evaluate(predictions, list(dict.fromkeys((metric, other))))
                found = {name.partition(".")[0] for name in report.metrics}
                assert found - {report.benchmark.primary_metric} == {metric, other} - {report.benchmark.primary_metric}
                assert {metric, other} <= found
                _check_renderings(report, tmp_path)
                rendered += 1
            else:
                _refused(predictions, [metric, other], monkeypatch, f"these predictions are of the kind {kind}")
    assert rendered


@pytest.mark.parametrize("kind", KINDS)
def test_no_metric_named(kind, complete, tmp_path):
    for metrics in (None, []):
        _check_renderings(_evaluate(complete[kind], metrics), tmp_path)


OF_CLASS_METRICS = [name for name in METRICS if "classes" in _outputs(name)]


@pytest.mark.parametrize(
    "metric", [pytest.param(name, marks=pytest.mark.slow if k % 4 else ()) for k, name in enumerate(OF_CLASS_METRICS)]
)
def test_only_a_column_that_is_needed_is_asked_for(metric, tmp_path, monkeypatch):
    """Without any further column, and without a score, which three classes do not give."""
    needed = set(read_metric(oochub.get("metric", metric)).required)
    for kind, given in (("classes", OF_CLASSES), ("three classes", OF_CLASSES - {"score"})):
        if needed <= given:
            _check_renderings(_evaluate(_predictions(kind), [metric]), tmp_path)
        else:
            missing = "|".join(sorted(needed - given))
            _refused(_predictions(kind), [metric], monkeypatch, f"The metric {metric} needs ({missing})")
    further = {name: column for name, column in _columns().items() if name in needed}
    _check_renderings(_evaluate(_predictions("classes", **further), [metric]), tmp_path)


def test_the_command_line_prints_what_there_is(tmp_path, complete, run):
    path, out = complete["classes"].save(tmp_path / "p.parquet"), tmp_path / "r.json"
    outputs = [f"--{form}={tmp_path / 'out'}.{form}" for form in ("html", "markdown", "latex")]
    for words in (["evaluate", path, "--metric", "nll", "--out", out], ["report", out], ["report", out, *outputs]):
        code, said, err = run(*words)
        assert code == 0, err
        assert "NLL nats ↓" in said or outputs[0] in words
    assert all((tmp_path / f"out.{form}").stat().st_size for form in ("html", "markdown", "latex"))
