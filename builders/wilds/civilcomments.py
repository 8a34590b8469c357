"""CivilComments-WILDS: whether a comment is toxic, whichever people it mentions."""

from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.builder import make_features
from oochub.builders.sources.raw_table import RawColumn, RawTable, of_splits
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, joined, raw_files
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_FILE = "all_data_with_identities.csv"
_SPLITS = ("train", "val", "test")
_LABELS = ("non-toxic", "toxic")
_IDENTITIES = ("male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white")
_OTHERS = ("identity_any", "severe_toxicity", "obscene", "threat", "insult", "identity_attack", "sexual_explicit")
_GROUPS = pa.array([f"{identity}/{label}" for identity in _IDENTITIES for label in _LABELS])
_ENVIRONMENTS = [f"{race}/{label}" for label in _LABELS for race in ("not black", "black")]
_HALF = 0.5  # of the people who were asked, from here on a comment is toxic, or speaks of an identity


_SHARE = RawColumn(kind="number", lowest=0, highest=1)
_COLUMNS = {
    "comment_text": RawColumn(),
    "split": RawColumn(codes=_SPLITS),
    **dict.fromkeys(("toxicity", *_IDENTITIES, *_OTHERS), _SHARE),
}


def _read(folder: Path, config: str) -> WildsRows:
    groups = datasets.List(datasets.Value("string"))
    fields = dict.fromkeys((*_IDENTITIES, *_OTHERS), "bool")
    features = make_features(label=_LABELS, environment=_ENVIRONMENTS, groups=groups, text="string", **fields)
    parts = RawTable.of_csv_parts(folder / _FILE, _COLUMNS)
    return WildsRows(
        features=features, splits=joined([of_splits(_list_rows(part), part["split"], _SPLITS) for part in parts])
    )


def _list_rows(part: RawTable) -> pa.Table:
    is_toxic = part["toxicity"] >= _HALF
    holds = {field: part[field] >= _HALF for field in (*_IDENTITIES, *_OTHERS)}
    return pa.table(
        {
            "example_id": pa.array(part["row"]).cast(pa.string()),
            "label": pa.array(_LABELS).take(pa.array(is_toxic.astype(np.int8))),
            "environment": pa.array(_ENVIRONMENTS).take(pa.array(2 * is_toxic + holds["black"])),
            "groups": _list_groups(is_toxic, np.stack([holds[identity] for identity in _IDENTITIES], axis=1)),
            "text": part["comment_text"],
            **{field: pa.array(values) for field, values in holds.items()},
        }
    )


def _list_groups(is_toxic: NDArray[np.bool_], mentions: NDArray[np.bool_]) -> pa.ListArray:
    """The groups of each row: every identity that it speaks of, with its label.

    Args:
        is_toxic: (n,).
        mentions: (n, 8).
    """
    ends = np.concatenate([[0], np.cumsum(mentions.sum(axis=1))])
    row, identity = np.nonzero(mentions)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), _GROUPS.take(pa.array(2 * identity + is_toxic[row])))


civilcomments = WildsDataSet(
    name="civilcomments",
    version="1.0",
    configs={
        "civilcomments": replace(
            BASE,
            sources=("civilcomments", "civil comments"),
            title="CivilComments-WILDS",
            summary="Comments on news, toxic or not, by the people they mention.",
            version="1.0.0",
            homepage="https://www.kaggle.com/c/jigsaw-unintended-bias-in-toxicity-classification",
            raw_files=raw_files("civilcomments_v1.0", {_FILE: "one row per comment"}, size="0.1 GB", license="CC0"),
            in_context=Rows(name="all comments", split="test"),
            out_of_context=WorstOfGroups(split="test", column="groups"),
            chance=0.5,
            words=Vocabulary.of(
                "over all comments", "in the worst group", example="comment", pair="one toxic comment and one other"
            ),
            group_column="groups",
            closed={"groups": tuple(_GROUPS.to_pylist())},
            input="texts",
            task_category="text-classification",
            images_license="CC0",
            annotations_license="CC0",
            toy_world="toy_wilds_civilcomments",
        )
    },
    read=_read,
    rows={"civilcomments": {"train": 269_038, "val": 45_180, "test": 133_782}},
)
