"""Reports for the tests of everything that renders one: synthetic answers, seeded, all numbers computed from them."""

import base64
import copy
import functools
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from report_numbers import Rows, accuracy, auc, calibration, ece, estimate, estimate_of, nll, resampled, wilson
from rich.console import Console

import oochub
from oochub.records.schema import from_json, to_json
from oochub.report.report import Report

Content = dict[str, Any]

METRICS = {
    "auc": {"title": "AUC", "direction": "higher", "unit": "fraction", "minimum": 0, "maximum": 1},
    "accuracy": {"title": "Accuracy", "direction": "higher", "unit": "fraction", "minimum": 0, "maximum": 1},
    "error_rate": {"title": "Error", "direction": "lower", "unit": "fraction", "minimum": 0, "maximum": 1},
    "nll": {"title": "NLL", "direction": "lower", "unit": "nats", "minimum": 0, "maximum": None},
    "ece": {"title": "ECE", "direction": "lower", "unit": "fraction", "minimum": 0, "maximum": 1},
    "auc_hard": {"title": "AUC on hard", "direction": "higher", "unit": "fraction", "minimum": 0, "maximum": 1},
}
BREEDS = ("bulldog", "corgi", "dachshund", "labrador")
SEEN = {"bulldog": "jungle", "corgi": "desert", "dachshund": "mountain", "labrador": "snow"}
UNSEEN = {"bulldog": "mountain", "corgi": "jungle", "dachshund": "snow", "labrador": "desert"}
COMMON = "beach"


def read(content: Content) -> Report:
    """The report that the content is of, as a file of it would be read."""
    return from_json(Report, content, what="the content")


def reading(render: Callable[..., Any]) -> Callable[..., Any]:
    """What renders a report, as what renders its content."""
    return lambda content, *arguments, **options: render(read(content), *arguments, **options)


def rendered(report: Report) -> dict[str, str]:
    """A report in every form of text."""
    stream = io.StringIO()
    Console(file=stream, width=200).print(report.to_terminal())
    return {
        "terminal": stream.getvalue(),
        "markdown": report.to_markdown(),
        "latex": report.to_latex("full"),
        "page": report.to_html(),
        "frame": report.to_pandas().to_csv(),
    }


def nooch_report() -> Content:
    """A report on nooch/ce_car: 2 384 test rows, a model that leans on the road."""
    return copy.deepcopy(_nooch())


def spawrious_report() -> Content:
    """A report on spawrious/o2o_hard: 960 validation and 800 test rows of four breeds."""
    return copy.deepcopy(_spawrious())


def set_gap(report: Content, inside: Sequence[float], gap: Sequence[float], out: Sequence[float]) -> Content:
    """The report with new (value, low, high) for the primary metric in context, its gap, and out of context."""
    metric = report["benchmark"]["primary_metric"]
    for part in report["slices"]:
        if part["role"] in ("in", "out"):
            numbers = inside if part["role"] == "in" else out
            part["metrics"][metric] |= dict(zip(("value", "low", "high"), numbers, strict=True))
    report["gap"] |= dict(zip(("value", "low", "high"), gap, strict=True))
    return report


def set_matched_gap(report: Content, numbers: Sequence[float | None], *, column: str = "area", **more: Any) -> Content:
    """The report with the matched gap (value, low, high) of a column, of which every row has a counterpart."""
    n = report["gap"]["n_in"] + report["gap"]["n_out"]
    report["matched_gap"] = {"column": column, "metric": report["gap"]["metric"], "share_out": 1.0, "strata": []}
    report["matched_gap"] |= {"n_in": report["gap"]["n_in"], "n_out": report["gap"]["n_out"]}
    report["matched_gap"] |= estimate(*numbers, n) | more
    return report


def _slice(rows: Rows, role: str, title: str, split: str, *, binary: bool) -> dict[str, Any]:
    measured = {"accuracy": accuracy, "error_rate": lambda r: 1 - accuracy(r), "nll": nll, "ece": ece}
    metrics = {
        name: estimate_of(rows, metric) for name, metric in (({"auc": auc} if binary else {}) | measured).items()
    }
    positive = int((rows["label"] == 1).sum()) if binary else None
    n = len(rows["label"])
    return {
        "name": role,
        "role": role,
        "title": title,
        "split": split,
        "n": n,
        "n_positive": positive,
        "metrics": metrics,
    }


def _group(rows: Rows, label: str, context: str, split: str, role: str, trained: bool | None) -> dict[str, Any]:
    n, right = len(rows["label"]), accuracy(rows)
    low, high = wilson(right * n, n)
    row = {"group": f"{label}/{context}", "label": label, "context": context, "split": split, "role": role}
    row |= {"trained": trained, "n": n, "accuracy": estimate(right, low, high, n)}
    return row | {"error_rate": estimate(1 - right, 1 - high, 1 - low, n), "nll": estimate_of(rows, nll)}


def _picture(seed: int) -> str:
    rng = np.random.default_rng(seed)
    low, high = (rng.integers(60, 220, 3) for _ in range(2))
    image = Image.new("RGB", (224, 168), tuple(int(c) for c in low))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 100, 224, 168), fill=tuple(int(c) for c in high))
    draw.ellipse((70, 60, 150, 130), fill=(70, 50, 40))
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=80)
    return base64.b64encode(stream.getvalue()).decode()


def _provenance(config: str, n: int) -> dict[str, Any]:
    return {
        "oochub": "0.1.0",
        "packages": {"torch": "2.13.0", "transformers": "5.23.0", "datasets": "5.2.0"},
        "python": "3.11.7",
        "seed": 0,
        "resamples": 60,
        "predictions": {"file": "preds.parquet", "sha256": "9f" * 32, "rows": n, "fingerprint": "b91f4e07c2a85d36"},
        "training": {
            "objective": "erm",
            "hyperparameters": {"learning_rate": 0.001},
            "seed": 0,
            "selection": "validation loss",
            "environments": "group",
            "epochs": 7,
        },
        "command": f"oochub predict runs/x {config} --out preds.parquet\noochub evaluate preds.parquet",
        "when": {"created": "2026-11-21T02:00:00Z"},
        "where": {"platform": "Linux-x86_64", "device": "cpu"},
    }


def _report(name: str, config: str, n: int, **benchmark: Any) -> Content:
    common = {"name": name, "config": config, "version": "1.0.0", "practical_gap": 0.02, "metric_direction": "higher"}
    words = to_json(oochub.get("benchmark", name).words)
    return {
        "schema_version": 1,
        "benchmark": common
        | {"words": words}
        | {"homepage": "https://example.org/benchmark", "citation": "@inproceedings{key,\n  title={A title}\n}"}
        | {"summary": "Objects out of their context.", "licenses": [{"what": "images", "license": "CC BY 4.0"}]}
        | benchmark,
        "model": {"id": "runs/x", "revision": None, "mode": "head", "objective": "erm", "seeds": [0]},
        "notes": [],
        "metrics": {key: METRICS[key] for key in ("auc", "accuracy", "error_rate", "nll", "ece", "auc_hard")},
        "provenance": _provenance(f"{name}/{config}", n),
    }


@functools.lru_cache(maxsize=1)
def _nooch() -> Content:
    rng = np.random.default_rng(7)
    parts = {"both": (420, 1, 2.6), "alone": (134, 1, 0.55), "context": (278, 0, 1.15), "neither": (1552, 0, 3.4)}
    cells = {}
    for key, (n, label, margin) in parts.items():
        z = rng.normal(margin, 1.5, n) * (1 if label else -1)
        p = 1 / (1 + np.exp(-z))
        cells[key] = {"label": np.full(n, label), "probability": np.stack([1 - p, p], 1)}
    join = lambda keys: {c: np.concatenate([cells[k][c] for k in keys]) for c in ("label", "probability")}  # noqa: E731
    everything, inside, outside = join(parts), join(("both", "neither")), join(("alone", "context"))
    report = _report(
        "nooch", "ce_car", 2384, title="NOOCH", primary_metric="auc", chance=0.5, object="car", contexts=["road"],
        context_column="context_area", in_context={"name": "easy", "split": "test", "where": {"challenge": ["easy"]}},
        out_of_context={"name": "hard", "split": "test", "where": {"challenge": ["hard_positive", "hard_negative"]}},
    )  # fmt: skip
    report["model"]["class_names"] = ["no_car", "car"]
    report["notes"] = ["not the official NOOCH split", "partial: 2384 of 123287 images"]
    plan = [("all", "All examples", everything), ("in", "easy", inside), ("out", "hard", outside)]
    plan += [("hard_positive", "hard positives", cells["alone"]), ("hard_negative", "hard negatives", cells["context"])]
    report["slices"] = [_slice(rows, role, title, "test", binary=True) for role, title, rows in plan]
    report["slices"][0]["metrics"]["auc_hard"] = report["slices"][2]["metrics"]["auc"]
    low, high = np.percentile(resampled(outside, auc) - resampled(inside, auc), [2.5, 97.5])
    gap = {"value": auc(outside) - auc(inside), "low": float(low), "high": float(high), "n_in": 1972, "n_out": 412}
    report["gap"] = {"metric": "auc", **gap, "n_out_smallest": 134, "n": 2384, "method": "bootstrap", "reason": None}
    names = {"both": ("car", "context", "in"), "alone": ("car", "no_context", "out")}
    names |= {"context": ("no_car", "context", "out"), "neither": ("no_car", "no_context", "in")}
    rows = [_group(cells[k], label, ctx, "test", role, None) for k, (label, ctx, role) in names.items()]
    report["groups"] = {"columns": ["label", "context"], "split": "test", "rows": rows}
    report["worst_group"] = _worst(rows)
    report["calibration"] = {"in": calibration(inside, 0.5), "out": calibration(outside, 0.5)}
    report["mistakes"] = _nooch_mistakes(cells)
    return report


def _worst(rows: list[dict[str, Any]]) -> dict[str, Any]:
    worst = max(rows, key=lambda row: row["error_rate"]["value"])
    return {key: worst[key] | {"group": worst["group"]} for key in ("accuracy", "error_rate", "nll")}


def _nooch_mistakes(cells: Mapping[str, Rows]) -> list[dict[str, Any]]:
    mistakes = []
    for key, kind, wrong in (("alone", "missed", 0), ("context", "false_alarm", 1)):
        p = cells[key]["probability"][:, wrong]
        for i in np.argsort(-p)[:6]:
            context = "no road" if key == "alone" else "road"
            label, predicted = ("car", "no_car") if key == "alone" else ("no_car", "car")
            group = "car/no_context" if key == "alone" else "no_car/context"
            challenge = "hard_positive" if key == "alone" else "hard_negative"
            mistakes.append(_mistake(int(i), label, predicted, kind, float(p[i]), context, group, challenge))
    return sorted(mistakes, key=lambda mistake: -mistake["loss"])


def _mistake(i: int, label: str, predicted: str, kind: str, p: float, context: str, group: str, challenge: str | None):
    content = {
        "example_id": f"{100000 + 37 * i:012d}",
        "split": "test",
        "role": "out",
        "label": label,
        "predicted": predicted,
    }
    content |= {"probability": p, "loss": -math.log(1 - p), "kind": kind, "context": context, "group": group}
    attribution = f"https://www.flickr.com/photos/someone/{9000 + i} (CC BY 2.0)" if challenge else None
    return content | {"challenge": challenge, "image": _picture(i), "attribution": attribution}


@functools.lru_cache(maxsize=1)
def _spawrious() -> Content:
    rng = np.random.default_rng(3)
    margins = {"bulldog": 0.6, "corgi": 1.6, "dachshund": 1.2, "labrador": 0.2}
    cells: dict[tuple[str, str, str], Rows] = {}
    for k, breed in enumerate(BREEDS):
        for context, split, n, margin in (
            (SEEN[breed], "validation", 230, 4.0), (COMMON, "validation", 10, 3.0),
            (UNSEEN[breed], "test", 200, margins[breed]),
        ):  # fmt: skip
            z = rng.normal(0, 1.0, (n, 4))
            z[:, k] += rng.normal(margin, 1.0, n)
            p = np.exp(1.6 * z) / np.exp(1.6 * z).sum(1, keepdims=True)
            cells[breed, context, split] = {"label": np.full(n, k), "probability": p}
    sides = {s: [key for key in cells if key[2] == s] for s in ("validation", "test")}
    inside, outside = (
        {c: np.concatenate([cells[k][c] for k in sides[s]]) for c in ("label", "probability")} for s in sides
    )
    report = _report(
        "spawrious", "o2o_hard", 1760, title="Spawrious", primary_metric="accuracy", chance=0.25, object=None,
        contexts=[], context_column="background",
        in_context={"name": "backgrounds as in training", "split": "validation", "where": {}},
        out_of_context={"name": "backgrounds of other breeds", "split": "test", "where": {}},
    )  # fmt: skip
    report["model"]["class_names"] = list(BREEDS)
    report["metrics"] = {key: METRICS[key] for key in ("accuracy", "error_rate", "nll", "ece")}
    plan = [("in", "backgrounds as in training", "validation", inside)]
    plan += [("out", "backgrounds of other breeds", "test", outside)]
    report["slices"] = [_slice(rows, role, title, split, binary=False) for role, title, split, rows in plan]
    low, high = np.percentile(resampled(outside, accuracy) - resampled(inside, accuracy), [2.5, 97.5])
    gap = {
        "value": accuracy(outside) - accuracy(inside),
        "low": float(low),
        "high": float(high),
        "n_in": 960,
        "n_out": 800,
    }
    report["gap"] = {
        "metric": "accuracy",
        **gap,
        "n_out_smallest": 800,
        "n": 1760,
        "method": "bootstrap",
        "reason": None,
    }
    rows = [
        _group(cells[key], key[0], key[1], key[2], "in" if key[2] == "validation" else "out", key[2] == "validation")
        for key in cells
    ]
    report["groups"] = {"columns": ["label", "background"], "split": "test", "rows": rows}
    report["worst_group"] = _worst([row for row in rows if row["role"] == "out"])
    report["calibration"] = {"in": calibration(inside, 0.0), "out": calibration(outside, 0.0)}
    report["errors"] = _spawrious_errors(cells)
    report["mistakes"] = _spawrious_mistakes(cells)
    return report


def _spawrious_errors(cells: Mapping[tuple[str, str, str], Rows]) -> dict[str, Any]:
    contexts = []
    for breed, place in UNSEEN.items():
        answers = [BREEDS[k] for k in cells[breed, place, "test"]["probability"].argmax(1)]
        wrong, own = [name for name in answers if name != breed], next(b for b in BREEDS if SEEN[b] == place)
        content = {"context": place, "classes": [own], "n": 200, "n_errors": len(wrong), "chance": 1 / 3}
        content |= {"share": _share(wrong.count(own), len(wrong)), "hits": wrong.count(own)}
        found = [{"label": breed, "predicted": name, "n": answers.count(name)} for name in BREEDS if name in answers]
        contexts.append(content | {"confusion": found})
    contexts.sort(key=lambda each: -each["n_errors"])
    hits, n = sum(each.pop("hits") for each in contexts), sum(each["n_errors"] for each in contexts)
    trained = {breed: [place] for breed, place in SEEN.items()}
    report = {"split": "test", "source": "counts", "trained": trained, "n_errors": n, "share": _share(hits, n)}
    return report | {"chance": 1 / 3, "chance_of_answers": 0.35, "contexts": contexts}


def _share(hits: int, n: int) -> dict[str, Any]:
    low, high = wilson(hits, n)
    return {"value": hits / n, "low": low, "high": high, "n": n, "method": "wilson", "reason": None}


def _spawrious_mistakes(cells: Mapping[tuple[str, str, str], Rows]) -> list[dict[str, Any]]:
    mistakes = []
    for (breed, context, split), rows in cells.items():
        wrong = rows["probability"].copy()
        wrong[:, BREEDS.index(breed)] = 0
        for i in np.argsort(-wrong.max(1))[: 3 if split == "test" else 0]:
            predicted = BREEDS[int(wrong[i].argmax())]
            p = min(float(wrong[i].max()), 0.9995)
            content = _mistake(int(i), breed, predicted, "confused", p, context, f"{breed}/{context}", None)
            mistakes.append(content | {"example_id": f"1/{context}/{breed}/{int(i)}"})
    return sorted(mistakes, key=lambda mistake: -mistake["loss"])
