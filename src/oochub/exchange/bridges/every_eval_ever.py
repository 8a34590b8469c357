"""Every Eval Ever: every finite number of a report as a record of its schema, with interval, n and direction."""

import json
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge
from oochub.records.report_records import MetricDescription
from oochub.report.report_record import ReportRecord
from oochub.section import NamedNumber, sections
from oochub.storage.artifacts import FileKind
from oochub.storage.reading import read_json

_VERSION = "0.3.0"
_LIBRARY = "oochub"
_LOWER = ("error ratio", "share", "none_of_them")
"""Numbers of sections that are no metric, of which less is better; of the others no direction is claimed."""
_SIDES = {"in": "in context", "out": "out of context"}
_Document = dict[str, Any]


def _is_export(path: Path) -> bool:
    try:
        content = read_json(path)
    except OochubError:
        return False
    library = content.get("eval_library") if isinstance(content, dict) else None
    return isinstance(library, dict) and library.get("name") == _LIBRARY


class EveryEvalEver(Bridge):
    """Writes the numbers of a report as one record of Every Eval Ever, schema 0.3.0.

    Each result has the slice and the metric in `metric_id`, whether lower is better, the bounds of the metric, the
    score at full precision, its 95% interval with the method, and the number of rows. `details` say the side, and where
    no direction is claimed. Numbers that cannot be computed are left out, and named in `additional_details`.

    Source: evaleval/every_eval_ever 0.3.0, `schemas/eval.schema.json`.
    """

    title = "Every Eval Ever"
    written = FileKind("a record of Every Eval Ever", (".json",), _is_export)
    of_report = True

    def write_report(self, report: ReportRecord, draft: Path) -> None:
        """See `Bridge.write_report`."""
        text = json.dumps(_make_record(report), indent=1, ensure_ascii=False, allow_nan=False)
        draft.write_text(text + "\n", "utf-8")


def _make_record(report: ReportRecord) -> _Document:
    benchmark, model, origin = report.benchmark, report.model, report.provenance
    numbers = [number for section in sections() for number in section.numbers(report)]
    finite = [number for number in numbers if math.isfinite(number.estimate)]
    created = origin.when.get("created") or ""
    seconds = _read_seconds(created)
    name = f"{benchmark.name}/{benchmark.config}"
    undefined = [f"{number.slice}/{number.metric}" for number in numbers if not math.isfinite(number.estimate)]
    return {
        "schema_version": _VERSION,
        "evaluation_id": f"{name}/{model.id or 'unknown'}/{seconds}",
        **({"evaluation_timestamp": created} if created else {}),
        "retrieved_timestamp": seconds,
        "source_metadata": {
            "source_name": f"report.json of oochub {origin.oochub}",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": _keep_texts(
                benchmark_title=benchmark.title,
                benchmark_version=benchmark.version,
                notes="; ".join(report.caveats),
                predictions_sha256=origin.predictions.sha256,
                undefined_numbers=", ".join(undefined),
            ),
        },
        "eval_library": {"name": _LIBRARY, "version": origin.oochub},
        "model_info": {
            "name": model.id or "unknown",
            "id": model.id or "unknown",
            "additional_details": _keep_texts(
                deployment_type="unknown",
                model_availability="unknown",
                revision=model.revision,
                objective=model.objective,
                mode=model.mode,
            ),
        },
        "evaluation_results": [_make_result(report, number, name) for number in finite],
    }


def _make_result(report: ReportRecord, number: NamedNumber, name: str) -> _Document:
    metric = number.metric.rpartition("/")[2]  # of a detector's number its metric
    described, estimate = report.description(metric), number.estimate
    direction = "lower" if metric in _LOWER else described.direction
    is_difference = "gap" in number.slice or "gap" in number.key
    interval = {
        "confidence_interval": {
            "lower": estimate.low, "upper": estimate.high, "confidence_level": 0.95, "method": estimate.method,
        }
    }  # fmt: skip
    has_interval = math.isfinite(estimate.low) and math.isfinite(estimate.high)
    sides = {part.name: _SIDES.get(part.role) for part in report.slices}
    return {
        "evaluation_result_id": f"{number.slice}/{number.metric}",
        "evaluation_name": name,
        "source_data": _name_source(report, estimate.n),
        "metric_config": {
            "metric_id": f"{_LIBRARY}.{number.slice}/{number.metric}",
            "metric_name": f"{described.title}, {number.slice}",
            "metric_kind": metric,
            "metric_unit": described.unit,
            "lower_is_better": direction == "lower",
            **_name_bounds(described, is_difference=is_difference),
            "additional_details": _keep_texts(
                direction=direction,
                difference="out of context minus in context" if is_difference else None,
            ),
        },
        "score_details": {
            "score": estimate.value,
            "details": _keep_texts(slice=number.slice, side=sides.get(number.slice), reason=estimate.reason),
            "uncertainty": {**(interval if has_interval else {}), "num_samples": estimate.n},
        },
    }


def _name_bounds(described: MetricDescription, *, is_difference: bool) -> _Document:
    """The type and the bounds of a score; nothing where they are not known, as its readers take both or neither."""
    low, high = described.minimum, described.maximum
    kind = {"score_type": "continuous"}
    if is_difference:
        return {} if low is None or high is None else {**kind, "min_score": low - high, "max_score": high - low}
    if described.direction == "none":
        return {}
    ends = {"min_score": "-Infinity" if low is None else low, "max_score": "Infinity" if high is None else high}
    return {**kind, **ends}


def _name_source(report: ReportRecord, n: int) -> _Document:
    benchmark = report.benchmark
    title = {"dataset_name": benchmark.title}
    if benchmark.data_set is not None:
        details = {"additional_details": {"revision": benchmark.data_set.revision}}
        return {**title, "source_type": "hf_dataset", "hf_repo": benchmark.data_set.id, "samples_number": n, **details}
    if benchmark.homepage.startswith(("http://", "https://")):
        return {**title, "source_type": "url", "url": [benchmark.homepage]}
    return {**title, "source_type": "other"}


def _keep_texts(**texts: str | None) -> dict[str, str]:
    return dict(_iterate_texts(texts))


def _iterate_texts(texts: dict[str, str | None]) -> Iterator[tuple[str, str]]:
    yield from ((name, text) for name, text in texts.items() if text)


def _read_seconds(created: str) -> str:
    """Seconds since 1970, as text; "0" where a report does not say when it was made."""
    try:
        return str(datetime.fromisoformat(created).timestamp())
    except ValueError:
        return "0"
