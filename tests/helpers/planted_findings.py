"""Findings on toy worlds whose context columns are hidden, and those by the true column, with one model's answers."""

from dataclasses import replace
from typing import Any

import datasets
import numpy as np
from sklearn.linear_model import LogisticRegression

import oochub
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts, BuildRecord, ContextCheck, FoundContexts
from oochub.records.finding_records import ContextFinding, ContextFindings

SEEN = ("example_id", "image", "label")
"""All that is left of the columns."""


def hidden(data: datasets.DatasetDict, *splits: str) -> datasets.DatasetDict:
    """The splits, all by default, without a word on contexts."""
    return datasets.DatasetDict({split: data[split].select_columns(SEEN) for split in splits or data})


def answers(data: datasets.DatasetDict) -> dict[str, str]:
    """What a linear probe on the mean color of nine parts of an image, trained on train, says of all other rows."""

    def pixels(split: str) -> list[np.ndarray]:
        return [np.asarray(image.convert("RGB").resize((3, 3)), float).ravel() / 255 for image in data[split]["image"]]

    probe = LogisticRegression(C=100, max_iter=2000).fit(pixels("train"), data["train"]["label"])
    splits = [split for split in data if split != "train"]
    return {
        name: answer
        for split in splits
        for name, answer in zip(data[split]["example_id"], probe.predict(pixels(split)), strict=True)
    }


def found_by(
    found: datasets.DatasetDict, answer: dict[str, Any], *, checks: dict[str, ContextCheck] | None = None
) -> ContextFindings:
    """The findings by the column of a way, with what people found of it."""
    facts = replace(BuildRecord.of(next(iter(found.values())).info).facts.found_contexts, checks=checks)
    names = {
        split: [None if own is None else [facts.names[k] for k in own] for own in part["contexts"]]
        for split, part in found.items()
    }
    return _findings(found, answer, names, facts)


def true_of(found: datasets.DatasetDict, answer: dict[str, Any], contexts: dict[str, str]) -> ContextFindings:
    """The findings by the true context of each example, chosen on the rows on which the way chose."""
    classes = next(iter(found.values())).features["label"].names
    rows = [
        (classes[label], contexts[name])
        for part in found.values()
        for label, name, chosen in zip(part["label"], part["example_id"], part["chosen_on"], strict=True)
        if chosen
    ]
    names = tuple(sorted({context for context in contexts.values() if context}))
    facts = FoundContexts(
        way="truth",
        names=names,
        words=names,
        chosen_rows=len(rows),
        class_rows={one: sum(of == one for of, _ in rows) for one in classes},
        class_counts={name: {one: sum(row == (one, name) for row in rows) for one in classes} for name in names},
        settings={},
    )
    lists = {
        split: [[contexts[name]] if contexts[name] else [] for name in part["example_id"]]
        for split, part in found.items()
    }
    return _findings(found, answer, lists, facts)


def _findings(found: Any, answer: dict[str, Any], names: dict[str, Any], facts: FoundContexts) -> ContextFindings:
    parts = [(part, names[split]) for split, part in found.items() if split != "train" or len(found) == 1]
    classes = parts[0][0].features["label"].names
    ids = [name for part, _ in parts for name in part["example_id"]]
    predictions = Predictions.from_arrays(
        logits=np.eye(len(classes))[[answer[name] for name in ids]],
        label=[label for part, _ in parts for label in part["label"]],
        class_names=classes,
        example_id=ids,
        contexts=[own for _, lists in parts for own in lists],
        chosen_on=[own for part, _ in parts for own in part["chosen_on"]],
    )
    metadata = replace(predictions.metadata, facts=BuildFacts(found_contexts=facts))
    report = oochub.evaluate(Predictions(predictions.table, metadata), metrics=["accuracy"], resamples=100)
    assert report.contexts is not None
    return report.contexts


def nearest(found: datasets.DatasetDict, contexts: dict[str, str]) -> dict[str, tuple[str, float]]:
    """Of each true context the one of the way that it goes with most, and their correlation (phi)."""
    parts = list(found.values())
    names = parts[0].features["contexts"].feature.names
    ids = [name for part in parts for name in part["example_id"]]
    has = np.array([[k in own for k in range(len(names))] for part in parts for own in part["contexts"]], float)
    pairs = {}
    for context in sorted({each for each in contexts.values() if each}):
        true = np.array([contexts[name] == context for name in ids], float)
        alike = [np.corrcoef(true, column)[0, 1] if column.std() else 0.0 for column in has.T]
        pairs[context] = (names[int(np.argmax(alike))], float(np.max(alike)))
    return pairs


def checked(
    found: datasets.DatasetDict, contexts: dict[str, str], pairs: dict[str, str], *, rows: int = 100
) -> dict[str, ContextCheck]:
    """What people would find who take a context of the way (a key) for a true one, on rows where nothing was chosen."""
    parts = [part for split, part in found.items() if split != "train" or len(found) == 1]
    names = parts[0].features["contexts"].feature.names
    checks = {}
    for name, true in pairs.items():
        said = [
            (names.index(name) in own, contexts[each] == true)
            for part in parts
            for own, each, chosen in zip(part["contexts"], part["example_id"], part["chosen_on"], strict=True)
            if not chosen
        ]
        np.random.default_rng(0).shuffle(said)
        having, lacking = ([is_true for has, is_true in said if has == side][:rows] for side in (True, False))
        checks[name] = ContextCheck(
            wrong_with=sum(not is_true for is_true in having),
            checked_with=len(having),
            wrong_without=sum(lacking),
            checked_without=len(lacking),
        )
    return checks


def shown(findings: ContextFindings) -> dict[str, ContextFinding]:
    """Those that are shown, by name."""
    return {each.name: each for each in findings.contexts if each.status == "shown"}
