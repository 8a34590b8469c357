"""A report for every way to say what is compared: each benchmark's declarations, and own data of each kind of output.

The rows are drawn: the model is mostly right on the first side and less so on the second.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import oochub
from oochub.benchmark import Benchmark
from oochub.output import get_output
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts
from oochub.records.sides import GroupsOfRows
from oochub.report.report import Report

KINDS = tuple(oochub.names("output"))
_ROWS = 120  # of each side
_OWN = {"no context": {}, "groups": {"group"}, "hard rows": {"challenge"}, "usual contexts": {"challenge", "group"}}
_CLASSES = {2: ("dog", "cat"), 4: ("dog", "cat", "owl", "hen")}


class Declared(NamedTuple):
    """What a report is made of: a declaration, or None for own data, with the kind of output and what rows have.

    Attributes:
        id: Names it in messages: "wilds/poverty_fold_a", "own numbers with groups".
        benchmark: The declaration; None for own data.
        name: The benchmark's name and config.
        kind: The kind of output of the answers.
        n_classes: Of kinds with classes.
        has: Which of the columns "challenge" and "group" own rows have.
    """

    id: str
    benchmark: Benchmark | None
    name: tuple[str | None, str | None]
    kind: str
    n_classes: int = 2
    has: frozenset[str] = frozenset()


def declarations() -> list[Declared]:
    """Every benchmark with each config that has sides, words, headline or level of chance of its own; own data."""
    found = []
    for name in oochub.names("benchmark"):
        benchmark, seen = oochub.get("benchmark", name), []
        for config, own in {"": benchmark, **benchmark.configs}.items():
            told = (own.output, own.primary_metric, own.words, own.in_context, own.out_of_context, own.chance)
            no_rows = (name, config) in {("wilds", ""), ("nooch", "all")}  # a collection, and many tasks at once
            if repr(told) in seen or no_rows:
                continue
            seen.append(repr(told))
            n = 2 if own.chance == 0.5 else 4
            for kind in (own.output, "choices") if own.output == "classes" else (own.output,):
                found.append(Declared(f"{name}/{config} {kind}", own, (name, config), kind, n))
    for kind, (title, has) in itertools.product(KINDS, _OWN.items()):
        if title != "usual contexts" or get_output(kind).one_answer:
            for n in (2, 4) if get_output(kind).one_answer else (2,):
                found.append(Declared(f"own {kind} {n}, {title}", None, (None, None), kind, n, frozenset(has)))
    return found


def predictions_of(declared: Declared) -> Predictions:
    """Rows of both sides with the columns that the declaration reads."""
    rng = np.random.default_rng(0)
    is_out = np.repeat([False, True], _ROWS)
    label = np.tile(np.arange(declared.n_classes), 2 * _ROWS // declared.n_classes)
    right = rng.random(2 * _ROWS) > np.where(is_out, 0.4, 0.05)
    columns = _columns(declared, is_out, label)
    answers = _ANSWERS[declared.kind](label, right, rng, declared.n_classes)
    made = Predictions.from_arrays(**answers, **columns)
    names = _CLASSES[declared.n_classes]
    facts = BuildFacts(group_counts={name: 40 for name in dict.fromkeys(columns.get("group", ()))})
    if declared.name[0] == "nooch" and declared.benchmark and declared.benchmark.output == "classes":
        names, facts = ("no_car", "car"), BuildFacts(object="car", contexts=("road",))
    if declared.has == {"challenge", "group"}:
        facts = BuildFacts(usual_contexts=dict.fromkeys(names, ("street",)))
    given: dict[str, Any] = {"benchmark": declared.name[0], "config": declared.name[1], "facts": facts}
    if get_output(declared.kind).one_answer:
        given["class_names"] = names
    return Predictions(made.table, replace(made.metadata, **given))


def report_of(declared: Declared) -> Report:
    """The report on these rows."""
    return oochub.evaluate(predictions_of(declared), resamples=100)


def _columns(declared: Declared, is_out: np.ndarray, label: np.ndarray) -> dict[str, Any]:
    positive = label % 2 == 1
    hard = np.where(positive, "hard_positive", "hard_negative")
    challenge = np.where(is_out, hard, "easy")
    place = np.where(is_out == positive, "street", "forest")
    names = _CLASSES[declared.n_classes]
    group = [f"{names[k]}/{where}" for k, where in zip(label, place, strict=True)]
    if declared.benchmark is None:
        all_of_them = {"challenge": challenge, "group": group}
        return {name: values for name, values in all_of_them.items() if name in declared.has}
    inside, outside = declared.benchmark.in_context, declared.benchmark.out_of_context
    columns: dict[str, Any] = {"group": group, "challenge": challenge}
    closed = declared.benchmark.closed
    if "group" in closed:
        group = columns["group"] = [
            _closed(closed["group"], int(k), where) for k, where in zip(label, place, strict=True)
        ]
    columns["split"] = np.where(is_out, outside.split, inside.split).tolist()
    if "challenge" not in outside.where:
        del columns["challenge"]
    elif "group" not in closed:
        car = {True: "car", False: "no_car"}
        near = {True: "context", False: "no_context"}
        columns["group"] = [f"{car[p]}/{near[p != o]}" for p, o in zip(positive, is_out, strict=True)]
    for column in {*inside.where, *outside.where} - {"challenge"}:
        columns[column] = [
            _value(side.where, column, k, closed) for k, side in enumerate(_sides(is_out, inside, outside))
        ]
    if declared.benchmark.cluster is not None:
        columns.setdefault(declared.benchmark.cluster, [f"s{row % 30}" for row in range(len(label))])
    if isinstance(outside, GroupsOfRows) and outside.column != "group":
        if outside.column in closed:
            group = [_closed(closed[outside.column], int(k), where) for k, where in zip(label, place, strict=True)]
        columns[outside.column] = [[name] for name in group] if outside.column == "groups" else group
    return columns


def _sides(is_out: np.ndarray, inside: Any, outside: Any) -> list[Any]:
    return [outside if out else inside for out in is_out]


def _closed(words: tuple[str, ...], label: int, place: str) -> str:
    """One of a column's closed words: the same for the same class and place, of the first part that the class has."""
    first = [*dict.fromkeys(word.partition("/")[0] for word in words)]
    own = [word for word in words if word.partition("/")[0] == first[label % len(first)]]
    return own[(place != "street") % len(own)]


def _value(where: Mapping[str, tuple[str, ...]], column: str, row: int, closed: Mapping[str, tuple[str, ...]]) -> str:
    allowed = where.get(column, closed.get(column, ("other",))[-1:])
    return allowed[row % len(allowed)]


def _classes(label: np.ndarray, right: np.ndarray, rng: np.random.Generator, n: int) -> dict[str, Any]:
    said = np.where(right, label, (label + 1) % n)
    return {"logits": 2.0 * np.eye(n)[said] + rng.normal(0, 0.3, (len(label), n)), "label": label}


def _choices(label: np.ndarray, right: np.ndarray, rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {"prediction": np.where(right, label, (label + 1) % n), "label": label}


def _labels(label: np.ndarray, right: np.ndarray, rng: np.random.Generator, n: int) -> dict[str, Any]:
    truth = np.stack([label == 0, label != 0, rng.random(len(label)) < 0.5], 1).astype(float)
    sign = np.where(right, 1.0, -1.0)[:, None] * (2 * truth - 1)
    return {"logits": sign + rng.normal(0, 0.3, truth.shape), "labels": truth, "kind": "labels"}


def _number(label: np.ndarray, right: np.ndarray, rng: np.random.Generator, n: int) -> dict[str, Any]:
    truth = rng.normal(label, 1.0)
    return {"value": truth + rng.normal(0, np.where(right, 0.1, 2.0)), "label": truth}


def _boxes(label: np.ndarray, right: np.ndarray, rng: np.random.Generator, n: int) -> dict[str, Any]:
    corner = rng.uniform(0, 9, (len(label), 1, 2))
    true = np.concatenate([corner, corner + 9], axis=2)
    drawn = true + np.where(right, 0.5, 20.0)[:, None, None]
    return {"detected_boxes": drawn, "scores": np.full((len(label), 1), 0.9), "boxes": true, "class_names": ["head"]}


def _tokens(label: np.ndarray, right: np.ndarray, rng: np.random.Generator, n: int) -> dict[str, Any]:
    truth = rng.integers(0, 5, (len(label), 3))
    return {"tokens": truth, "predicted_tokens": np.where(right[:, None], truth, truth + 5), "kinds": 0 * truth}


_ANSWERS = {
    "classes": _classes,
    "choices": _choices,
    "labels": _labels,
    "number": _number,
    "boxes": _boxes,
    "tokens": _tokens,
}
