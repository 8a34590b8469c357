"""A record of Every Eval Ever: every finite number of a report comes back to the last bit, with what its reader needs.

That its schema accepts the record is tested by `make bridges`, with the schema of the package.
"""

import json
import math

import pytest
import reports
from bridge_rows import bridge_predictions
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.errors import OochubError
from oochub.exchange.export import export, export_report


@pytest.fixture(params=[reports.nooch_report, reports.spawrious_report])
def report(request):
    return reports.read(request.param())


def _results(path):
    return {each["evaluation_result_id"]: each for each in json.loads(path.read_text())["evaluation_results"]}


def test_every_number_comes_back(report, tmp_path):
    """Against its data frame. Planted faults seen: six digits; ends swapped; numbers without a key left out."""
    found = _results(export_report(report, "every_eval_ever", tmp_path / "record.json"))
    frame = report.to_pandas().dropna(subset="value")
    assert len(found) == len(frame) > 40
    for row in frame.itertuples():
        result = found[f"{row.slice}/{row.metric}"]
        details, uncertainty = result["score_details"], result["score_details"]["uncertainty"]
        assert details["score"] == row.value and uncertainty["num_samples"] == row.n
        ends = uncertainty.get("confidence_interval", {"lower": math.nan, "upper": math.nan})
        for end, expected in ((ends["lower"], row.low), (ends["upper"], row.high)):
            assert end == expected or (math.isnan(end) and math.isnan(expected))
        direction = report.description(row.metric).direction
        if direction != "none":
            assert result["metric_config"]["lower_is_better"] == (direction == "lower")
        bounds = result["metric_config"]
        assert "score_type" not in bounds or float(bounds["min_score"]) <= row.value <= float(bounds["max_score"])
    sides = {key: each["score_details"]["details"].get("side") for key, each in found.items()}
    primary = report.benchmark.primary_metric
    assert {sides[f"{report.slice_of(role).name}/{primary}"] for role in ("in", "out")} == {
        "in context",
        "out of context",
    }


def test_the_command_writes_it_of_a_report_alone(report, tmp_path):
    """Planted fault seen: predictions for a bridge of reports."""
    saved = report.save(tmp_path / "report.json")
    out = tmp_path / "record.json"
    done = CliRunner().invoke(app, ["report", str(saved), "--export", f"every_eval_ever={out}"])
    assert done.exit_code == 0 and len(_results(out)) > 40
    again = CliRunner().invoke(app, ["report", str(saved), "--export", f"every_eval_ever={out}"])
    assert again.exit_code == 0, again.output
    with pytest.raises(OochubError, match=r"takes the numbers of a report, not predictions"):
        export(bridge_predictions(), "every_eval_ever", out)
    with pytest.raises(OochubError, match="takes predictions, not a report"):
        export_report(report, "cleanlab", tmp_path / "x.npz")
    predictions = bridge_predictions().save(tmp_path / "p.parquet")
    refused = CliRunner().invoke(
        app, ["report", str(predictions), "--export", f"every_eval_ever={tmp_path / 'y.json'}"]
    )
    assert "takes one report.json" in str(refused.exception) and not (tmp_path / "y.json").exists()


def test_numbers_that_cannot_be_computed_are_named(tmp_path):
    report = oochub.evaluate(
        oochub.Predictions.from_arrays(logits=[[1.0, 0.0]] * 4, label=[0] * 4, class_names=["a", "b"])
    )
    record = json.loads(export_report(report, "every_eval_ever", tmp_path / "record.json").read_text())
    undefined = report.to_pandas().query("value.isna()")
    assert len(undefined)
    named = record["source_metadata"]["additional_details"]["undefined_numbers"]
    assert all(f"{row.slice}/{row.metric}" in named for row in undefined.itertuples())
