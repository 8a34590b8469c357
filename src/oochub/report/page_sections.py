"""The content of each section of the report page as plain values; what is missing in the report is None here."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from oochub.errors import OochubError
from oochub.report import numbers, svg, theme, wording
from oochub.report.detector_section import detection_section
from oochub.report.headings import headings
from oochub.report.matched_words import match_title, matched_words
from oochub.report.verdict import Verdict, verdict

_MATRIX_CELLS = 60
_LISTED_GROUPS = 20
_COLUMNS = 6
_PICTURES = 12
_PICTURE_BYTES = _PICTURES * 20_000
_FEWEST_FOR_HEAT = 10
_LINK = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~%/?#=&+,:@-]*)?")

Section = dict[str, Any]


def sections(report: Mapping[str, Any], *, images: bool = True) -> Section:
    """Everything that the template prints, by section; a section without data is None.

    Args:
        report: A report of schema version 1.
        images: False leaves the pictures of the mistakes out.

    Raises:
        OochubError: A picture of a mistake is not a base64 JPEG.
    """
    said, titles = verdict(report), headings(report)
    return {
        "verdict": said,
        "head": _head(report, said),
        "notes": [numbers.counts_in_text(wording.clean(note)) for note in report["notes"]],
        "slices": _slices(report, titles.slices),
        "groups": _groups(report, titles.groups),
        "confidence": _confidence(report, titles.confidence),
        "detection": detection_section(report),
        "mistakes": _mistakes(report, images=images),
        "reproduce": _reproduce(report),
    }


def _estimates(report: Mapping[str, Any], role: str) -> Mapping[str, Any]:
    metric = report["benchmark"]["primary_metric"]
    part = wording.find_slice(report, role)
    absent = {"value": None, "low": None, "high": None, "n": 0, "reason": "no such rows"}
    return absent if part is None else part["metrics"].get(metric, absent)


def _head(report: Mapping[str, Any], said: Verdict) -> Section:
    benchmark, gap = report["benchmark"], report["gap"]
    inside, outside = _estimates(report, "in"), _estimates(report, "out")
    metric = benchmark["primary_metric"]
    label = numbers.points(gap["value"]) + (", unclear" if said.case == "unclear" else "")
    unit = numbers.unit_of(metric, report["metrics"][metric]["unit"])
    return {
        "chart": svg.head(inside, outside, label, chance=benchmark["chance"], hollow=not said.is_shown),
        "metric": f"{wording.metric_title(report, metric)} {unit}",
        "chance": numbers.whole_points(benchmark["chance"]),
        "rows": [
            ("in", _selection(benchmark["in_context"]), inside, numbers.count(gap["n_in"])),
            ("out", _selection(benchmark["out_of_context"]), outside, wording.out_count(report)),
        ],
        "matched": (match_title(report), report["matched_gap"]) if report.get("matched_gap") else None,
        "matched_words": matched_words(report),
    }


def _selection(selection: Mapping[str, Any]) -> str:
    return f"{wording.name(selection['name'], 60)}, {wording.name(selection['split'], 30)}"


def _slices(report: Mapping[str, Any], title: str) -> Section | None:
    parts = sorted(report["slices"], key=lambda part: theme.ROLES.index(part["role"]))
    if not parts:
        return None
    primary = report["benchmark"]["primary_metric"]
    names = [metric for metric in report["metrics"] if any(metric in part["metrics"] for part in parts)]
    names.sort(key=lambda metric: metric != primary)
    shared = [m for m in names if sum(m in part["metrics"] for part in parts) > 1 or len(parts) == 1]
    alone = [
        (metric, wording.slice_words(report, part), part["metrics"][metric])
        for metric in names
        for part in parts
        if metric not in shared and metric in part["metrics"]
    ]
    tables = [shared[start : start + _COLUMNS] for start in range(0, len(shared), _COLUMNS)]
    return {"title": title, "parts": parts, "tables": tables, "alone": alone}


def _groups(report: Mapping[str, Any], title: str) -> Section | None:
    groups = report.get("groups")
    if not groups or not groups["rows"]:
        return None
    rows = sorted(groups["rows"], key=_group_order(report))
    scale = svg.Scale(low=0.0, high=_error_axis(rows))
    worst = (report.get("worst_group") or {}).get("error_rate")
    worst_row = next((row for row in rows if worst is not None and row["group"] == worst["group"]), None)
    return {
        "title": title,
        "matrix": _matrix(report, rows),
        "rows": [
            (row, wording.group_words(report, row), svg.bar(row["role"], row["error_rate"], scale)) for row in rows
        ][:_LISTED_GROUPS],
        "left_out": max(len(rows) - _LISTED_GROUPS, 0),
        "axis": svg.bar_axis(scale),
        "worst": None if worst_row is None else (wording.group_words(report, worst_row), worst),
        "heat": heat,
        "steps": [f"{100 * theme.HEAT_STEP * step:.0f}" for step in range(7)],
    }


def _group_order(report: Mapping[str, Any]) -> Any:
    # An object's four pairings keep their order; other groups go from most to fewest errors, n/a last.
    thing = report["benchmark"]["object"]
    if thing is not None:
        fixed = [(True, "in"), (True, "out"), (False, "out"), (False, "in")]
        return lambda row: fixed.index((row["label"] == thing, row["role"])) if row["role"] else 4
    return lambda row: (row["role"] != "out", -(row["error_rate"]["value"] or 0.0))


def _error_axis(rows: Sequence[Mapping[str, Any]]) -> float:
    highest = max((row["error_rate"][k] or 0.0 for row in rows for k in ("value", "high")), default=0.0)
    return min(max(0.1, -(-highest // 0.1) * 0.1), 1.0)


def heat(estimate: Mapping[str, Any], n: int) -> str:
    """The CSS class of a heat cell; "" below 10 examples, whose number is printed without heat.

    >>> heat({"value": 0.5}, 100), heat({"value": 0.5}, 9)
    ('h6', '')
    """
    if numbers.is_undefined(estimate["value"]) or n < _FEWEST_FOR_HEAT:
        return ""
    return f"h{theme.heat_step(estimate['value'])}"


def _matrix(report: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Section | None:
    if report["benchmark"]["object"] is not None or any(row.get("context") is None for row in rows):
        return None
    labels = list(dict.fromkeys(sorted(str(row["label"]) for row in rows)))
    contexts = list(dict.fromkeys(sorted(str(row["context"]) for row in rows)))
    if len(labels) * len(contexts) > _MATRIX_CELLS:
        return None
    # A pair that stands in several splits shows the one out of context.
    cells = {(row["label"], row["context"]): row for row in sorted(rows, key=lambda row: row["role"] == "out")}
    body = [(wording.words(a), [cells.get((a, b)) for b in contexts]) for a in labels]
    column = wording.words(report["benchmark"]["context_column"] or report["groups"]["columns"][-1])
    return {
        "contexts": [wording.words(context) for context in contexts],
        "body": body,
        "column": column,
        "says_trained": any(row["trained"] is not None for row in rows),
    }


def _confidence(report: Mapping[str, Any], title: str) -> Section | None:
    calibration = {side: part for side, part in (report.get("calibration") or {}).items() if part is not None}
    sides: list[svg.Side] = [side for side in svg.SIDE_ORDER if side in calibration]
    if not sides:
        return None
    drawn = [b for side in sides for b in calibration[side]["bins"] if b["n"] >= 20]
    lowest = min((min(b["confidence"], b["accuracy_low"]) for b in drawn), default=0.5)
    finding = " ".join(
        f"{theme.SIDES[side].capitalize()} {numbers.fraction(calibration[side]['accuracy'])}% are right at a mean "
        f"confidence of {numbers.fraction(calibration[side]['mean_confidence'])}%."
        for side in sides
    )
    curves = {side: calibration[side]["bins"] for side in sides}
    chart = svg.reliability(curves, low=max(int(lowest * 10) / 10, 0.0), title=finding) if drawn else None
    return {"title": title, "finding": finding, "chart": chart, "sides": [(side, calibration[side]) for side in sides]}


def _mistakes(report: Mapping[str, Any], *, images: bool) -> Section | None:
    mistakes = list(report.get("mistakes") or [])[:_PICTURES]
    if not mistakes:
        return None
    budget, shown = _PICTURE_BYTES, []
    for mistake in mistakes:
        size = _picture_size(mistake) if images and mistake["image"] else 0
        fits, budget = size <= budget, budget - (size if size <= budget else 0)
        picture = Markup("data:image/jpeg;base64,{}").format(mistake["image"]) if size and fits else None
        shown.append({"row": mistake, "picture": picture, "left_out": not fits} | _caption(report, mistake))
    licenses = [(wording.name(one["what"]), wording.name(one["license"])) for one in report["benchmark"]["licenses"]]
    return {
        "shown": shown,
        "licenses": licenses,
        "pictures": any(one["picture"] for one in shown),
        "only_out": all(one["side"] == "out" for one in shown),
    }


def _picture_size(mistake: Mapping[str, Any]) -> int:
    try:
        data = base64.b64decode(mistake["image"], validate=True)
    except (binascii.Error, ValueError, TypeError):
        data = b""
    if not data.startswith(b"\xff\xd8\xff"):
        raise OochubError(
            f"The picture of mistake {wording.name(mistake['example_id'])!r} must be a base64 JPEG, and it is not. "
            "Make the report again with `oochub evaluate`, or render it without pictures."
        )
    return len(data)


def _caption(report: Mapping[str, Any], mistake: Mapping[str, Any]) -> Section:
    label, predicted = wording.words(mistake["label"]), wording.words(mistake["predicted"])
    kinds = {"missed": f"missed: {label}", "false_alarm": f"seen, not there: {predicted}"}
    on = "on " if report["benchmark"]["context_column"] == "background" else ""
    link = _LINK.match(mistake["attribution"] or "")
    return {
        "kind": kinds.get(mistake["kind"], f"confused: {label}"),
        "context": f"{on}{wording.words(mistake['context'])}" if mistake["context"] else "",
        "said": predicted,
        "side": mistake.get("role") or "out",
        "url": link[0] if link else None,
        "host": wording.name(link[0].split("/")[2], 40) if link else "",
        "license": wording.name(mistake["attribution"][len(link[0]) if link else 0 :])
        if mistake["attribution"]
        else "",
    }


def _reproduce(report: Mapping[str, Any]) -> Section:
    benchmark, model, made = report["benchmark"], report["model"], report["provenance"]
    predictions, training = made["predictions"], made.get("training")
    facts: list[tuple[str, Any]] = [
        ("Data", f"{wording.name(benchmark['name'])}/{wording.name(benchmark['config'])}, "
                 f"version {wording.name(benchmark['version'])}"),
        ("About the data", "; ".join(numbers.counts_in_text(wording.name(note, 400)) for note in report["notes"])),
        ("Predictions", f"{wording.name(predictions['file'])}, {numbers.count(predictions['rows'])} rows"),
        ("Their SHA-256", wording.name(predictions["sha256"])),
        ("Data fingerprint", wording.name(predictions["fingerprint"])),
        ("Model", wording.name(model["id"])),
        ("Model revision", wording.name(model.get("revision") or "")),
        ("Mode", wording.name(model.get("mode") or "")),
        ("Training", _training(training) if training else ""),
        ("Intervals", f"95%, {numbers.count(made['resamples'])} resamples, seed {int(made['seed'])}"),
        ("Versions", " · ".join(f"{wording.name(k)} {wording.name(v)}" for k, v in
                               {"oochub": made["oochub"], **made["packages"], "Python": made["python"]}.items())),
        ("Made", " on ".join(wording.name(v) for v in
                             (made["when"]["created"], made["where"]["platform"], made["where"]["device"]))),
    ]  # fmt: skip
    home = benchmark["homepage"] if _LINK.fullmatch(benchmark["homepage"] or "") else None
    return {
        "facts": [(title, text) for title, text in facts if text],
        "command": wording.clean(made["command"]),
        "homepage": home,
        "citation": wording.clean(benchmark["citation"]),
    }


def _training(training: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in (training.get("hyperparameters") or {}).items())
    parts = [training["objective"] + (f" ({settings})" if settings else "")]
    named = {"environments": "environments", "seed": "seed", "epochs": "epochs", "chosen": "selection"}
    parts += [f"{title}: {training[key]}" for title, key in named.items() if training.get(key) is not None]
    return wording.name("; ".join(parts), 400)
