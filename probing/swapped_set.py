"""The pairs of images that the probe compares, as a dataset: `oochub challenge --criterion swap`.

Each object stands on backgrounds of its own class and, beside each of these, on one of another class.
"""

import dataclasses
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
from datasets.arrow_writer import ArrowWriter

from oochub.data.challenge import KINDS, ChallengeSet
from oochub.data.open_source import name_source
from oochub.errors import OochubError
from oochub.output import get_output
from oochub.prediction.data_metadata import describe_data, read_split_rows
from oochub.prediction.predictions import Predictions
from oochub.prediction.stored_columns import StoredRows
from oochub.probing.altered_answers import ON_LENT, AlteredAnswers, SwappedObject
from oochub.records.build_record import OWN, BuildFacts, BuildRecord, OwnDeclaration
from oochub.records.metadata import PredictedBy
from oochub.records.sides import Vocabulary
from oochub.repository.write_repository import CHALLENGE_TITLE, write_repository

_SIDES = {"mixed_same": ("same", KINDS.index("easy")), "mixed_rand": ("other", KINDS.index("hard"))}
_OF_IMAGES = ("context", "contexts", "group", "groups", "environment", "challenge", "challenge_value", "build")
"""Columns that say what surrounded the object, which no longer holds."""
_WORDS = Vocabulary(
    inside="on a background of its own class",
    outside="on one of another class",
    inside_title="on backgrounds of their own class",
    outside_title="on backgrounds of another class",
    cause="the background",
)


def take_labels_as_answers(splits: Mapping[str, datasets.Dataset]) -> Predictions:
    """Predictions for rows that no model saw, each row's label as its answer.

    Args:
        splits: Splits of the data.

    Raises:
        OochubError: Rows without one label of a class with a name, or pairs of this kind already.
    """
    some, kind = next(iter(splits.values())), get_output("choices")
    if not isinstance(some.features.get("label"), datasets.ClassLabel):
        raise OochubError("Swapping backgrounds needs one class per row. Name its column with --label-column.")
    if "background_of" in some.features:
        raise OochubError("These images have swapped backgrounds already (column background_of). Pass their source.")
    names = tuple(some.features["label"].names)
    table = pa.concat_tables([read_split_rows(split, part, kind, names) for split, part in splits.items()])
    table = table.append_column("prediction", table.column("label")).combine_chunks()
    metadata = describe_data(StoredRows.of(table), some.info, kind, class_names=names, model=PredictedBy(id="labels"))
    return Predictions(table, metadata)


def write_swapped_set(
    target: Path,
    source: str,
    part: datasets.Dataset,
    predictions: Predictions,
    split: str,
    answers: AlteredAnswers,
    *,
    area: str,
    fill: str | None,
) -> ChallengeSet:
    """Writes the pairs as a repository.

    Args:
        target: A folder that `check_replaceable` passed.
        source: What the data were loaded from.
        part: The split whose objects are swapped.
        predictions: See `take_labels_as_answers`.
        split: Name of the split.
        answers: Says which images there are.
        area: What locates the objects, in words.
        fill: The pipeline that filled their places; None for tiles.

    Returns:
        The rows, and how many are easy and hard.

    Raises:
        OochubError: No object has backgrounds of both kinds.
    """
    kept = [name for name in predictions.column_names if name in part.features and name not in
            ("example_id", "label", *_OF_IMAGES)]  # fmt: skip
    features = datasets.Features(
        {
            "example_id": datasets.Value("string"),
            "image": datasets.Image(),
            "label": part.features["label"],
            **{name: datasets.Value("string") for name in ("pair", "object_of", "background_of")},
            "challenge": datasets.ClassLabel(names=list(KINDS)),
            "boxes": datasets.List(datasets.List(datasets.Value("float64"))),
            **{name: part.features[name] for name in kept},
        }
    )
    record = _make_record(source, part, predictions)
    with tempfile.TemporaryDirectory() as folder:  # of the size of the set
        file = Path(folder) / "rows.arrow"
        with ArrowWriter(path=str(file), features=features) as writer:
            for row in _list_rows(answers.swapped(), part, predictions, kept):
                writer.write(row)
            writer.finalize()
        rows = datasets.Dataset.from_file(str(file)) if writer._num_examples else None
        if rows is None:
            raise OochubError(
                "No object has a background of its own class and one of another class, from other rows. Swapping "
                "needs two rows of a class, in two clusters."
            )
        codes = np.bincount(rows.with_format("numpy")["challenge"][:], minlength=len(KINDS)).tolist()
        challenge_set = ChallengeSet(
            datasets.DatasetDict({split: rows}), {split: dict(zip(KINDS, codes, strict=True))}, 0
        )
        text = _describe(source, rows, record, challenge_set.counts[split], area=area, fill=fill)
        write_repository(target, challenge_set.dataset, record, text, tag="challenge-set")
    return challenge_set._replace(dataset=None)


def _list_rows(
    swapped: Iterable[SwappedObject], part: datasets.Dataset, predictions: Predictions, kept: list[str]
) -> Iterator[dict[str, object]]:
    """The rows of the set, a pair after the other."""
    ids = [str(example_id) for example_id in np.asarray(predictions.column("example_id"))]
    stored = part["example_id"][:] if "example_id" in part.column_names else range(len(part))
    numbers, light = {str(example_id): k for k, example_id in enumerate(stored)}, part.select_columns(["label", *kept])
    for swap in swapped:
        own, name = light[numbers[ids[swap.place]]], ids[swap.place]
        y, x = np.nonzero(swap.mask)
        boxes = [[float(x.min()), float(y.min()), float(x.max() + 1), float(y.max() + 1)]]
        for draw in range(len(swap.lenders[ON_LENT[0]])):
            for kind in ON_LENT:
                side, code = _SIDES[kind]
                yield {
                    "boxes": boxes,
                    **own,
                    "example_id": f"{name}_{draw}_{side}",
                    "image": {"bytes": swap.images[kind][draw], "path": None},
                    "pair": f"{name}_{draw}",
                    "object_of": name,
                    "background_of": ids[swap.lenders[kind][draw]],
                    "challenge": code,
                }


def _make_record(source: str, part: datasets.Dataset, predictions: Predictions) -> BuildRecord:
    """The record of the set: pairs, in clusters of the source or of the object, right answers compared."""
    before = BuildRecord.of(part.info)
    facts = before.facts if before else BuildFacts()
    config = name_source(source).replace("/", "-")
    declared = facts.declared or OwnDeclaration(title=f"{config}, on other backgrounds")
    declared = dataclasses.replace(
        declared,
        in_context=None,
        out_of_context=None,
        headline="accuracy",
        metrics=("accuracy",),
        chance=1 / len(predictions.class_names),
        words=_WORDS,
    )
    cluster = facts.cluster if facts.cluster in predictions.column_names else "object_of"
    facts = dataclasses.replace(facts, cluster=cluster, pair="pair", usual_contexts=None, declared=declared)
    return BuildRecord(
        benchmark=OWN,
        config=config,
        version=before.version if before else "0.0.0",
        notes=before.notes if before else (),
        facts=facts,
    )


def _describe(
    source: str,
    rows: datasets.Dataset,
    record: BuildRecord,
    counts: Mapping[str, int],
    *,
    area: str,
    fill: str | None,
) -> str:
    """The card below its metadata."""
    name, objects = name_source(source), len(set(rows["object_of"][:]))
    filled = "tiles of background" if fill is None else f"the inpainting pipeline {fill}"
    declared = record.facts.declared
    licenses = {"images": declared.license, "labels": declared.labels_license} if declared else {}
    return "\n".join(
        [
            f"# {name}: {CHALLENGE_TITLE} swap\n",
            f"{objects:,} objects of {name}, each on backgrounds of its own class (easy) and of other classes (hard), "
            f"by oochub {version('oochub')}. These are the images that `oochub audit --probe background` compares.\n",
            "- `pair`: an object on a background of its class and on one of another class",
            "- `object_of`, `background_of`: the rows that the object and the background are of",
            "- `boxes`: a box around the object, x1, y1, x2, y2 in pixels, if the source has no boxes of its own",
            f"- Objects are located by {area}; the places of those that lent a background are filled by {filled}.",
            f"- Intervals treat the column {record.facts.cluster} as clusters. Those of the probe also account for "
            "backgrounds that several objects share.",
            *(f"- License of the {of}, as the source declares it: {terms}" for of, terms in licenses.items() if terms),
            *(f"- {note}" for note in record.notes),
            f"\n| easy | hard |\n|---:|---:|\n| {counts['easy']:,} | {counts['hard']:,} |\n",
        ]
    )
