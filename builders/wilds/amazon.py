"""Amazon-WILDS: how many stars a review gives, for users who are not in training."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.benchmark import Benchmark
from oochub.builder import make_features
from oochub.builders.sources.raw_table import RawColumn, RawTable, of_splits
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, joined, raw_files
from oochub.errors import OochubError
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_FOLDER = "amazon_v2.1"
_NAME = RawColumn(pattern=r"\S(.*\S)?", form="a name without spaces around it")
_COLUMNS = {
    "reviewerID": _NAME,
    "asin": RawColumn(),
    "overall": RawColumn(kind="number", lowest=1, highest=5, is_round=True),
    "reviewText": RawColumn(),
    "category": _NAME,
    "reviewYear": RawColumn(kind="number", lowest=1990, highest=2030, is_round=True),
}
_STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
_SHIFTED = ("train", "val", "id_val", "test", "id_test")  # by their numbers in the file of splits
_UNSHIFTED = ("train", "val", "test")
_DROPPED = -1
_TRAINED = (
    *("books", "movies_and_tv,books", "movies_and_tv,books,home_and_kitchen"),
    "books,movies_and_tv,home_and_kitchen,electronics",
)
_REVIEWERS = (
    "AV6QDP8Q0ONK4 A37BRR2L8PX3R2 A1UH21GLZTYYR5 ASVY5XSYJ1XOE A1NE43T0OM6NNX A9Q28YTLYREO7 A1CNQTCRQ35IMM "
    "A20EEWWSFMZ1PN A3JVZY05VLMYEM A219Y76LD1VP4N"
).split()
# Each file of splits, and the domain by which WILDS' code evaluates it.
_DOMAINS = {
    "user": "user",
    "time": "year",
    "category_subpopulation": "category",
    **dict.fromkeys([f"{categories}_generalization" for categories in _TRAINED], "category"),
    "time_baseline": "year",
    **dict.fromkeys([f"{reviewer}_baseline" for reviewer in _REVIEWERS], "user"),
}

_sides = partial(Vocabulary.of, example="review", place="of")


def _read(folder: Path, config: str) -> WildsRows:
    scheme = config.removeprefix("amazon").removeprefix("_") or "user"  # the file of splits: time for "amazon_time"
    is_shifted = scheme in ("user", "time") or scheme.endswith("_generalization")
    names, domain = _SHIFTED if is_shifted else _UNSHIFTED, _DOMAINS[scheme]
    splits = [
        of_splits(_list_rows(part, domain), split, names) for part, split in _iterate_kept_rows(folder, scheme, names)
    ]
    if not splits:
        raise OochubError(f"{folder / 'splits' / scheme}.csv drops every row of reviews.csv. Download it again.")
    rows = joined(splits)
    named = {name: _list_values(rows, name) for name in dict.fromkeys((domain, "category"))}
    features = make_features(
        label=_STARS,
        environment=named[domain],
        group=named[domain],
        text="string",
        user=named.get("user", "string"),
        product="string",
        category=named["category"],
        year="int32",
    )
    notes = (f"categories, by the names that reviews.csv gives them: {len(named['category'])}",)
    return WildsRows(features=features, splits=rows, notes=notes if domain == "category" else ())


def _iterate_kept_rows(
    folder: Path, scheme: str, names: tuple[str, ...]
) -> Iterator[tuple[RawTable, NDArray[np.str_]]]:
    """The rows of reviews.csv that the split does not drop, part by part, and the split of each."""
    file = folder / "splits" / f"{scheme}.csv"
    of_row = RawColumn(kind="number", lowest=_DROPPED, highest=len(names) - 1, is_round=True)
    parts = RawTable.of_csv_parts(file, {"split": of_row})
    numbers = np.concatenate([part["split"].astype(np.int8) for part in parts])
    done = 0
    for part in RawTable.of_csv_parts(folder / "reviews.csv", dict.fromkeys(_COLUMNS, RawColumn())):
        of, done = numbers[done:][: len(part)], done + len(part)
        if len(of) < len(part):
            break
        if (of != _DROPPED).any():
            yield part.where(of != _DROPPED).check(_COLUMNS), np.array(names)[of[of != _DROPPED]]
    if done != len(numbers):
        which = f"{len(numbers):,} rows, and reviews.csv {'more' if done > len(numbers) else f'{done:,}'}"
        raise OochubError(f"{file} has {which}: each row must be the split of a review. Download both again.")


def _list_rows(part: RawTable, domain: str) -> pa.Table:
    fields = {
        "user": part["reviewerID"],
        "product": part["asin"],
        "category": part["category"],
        "year": part["reviewYear"].astype(np.int32),
    }
    of_domain = pa.array(fields[domain]).cast(pa.string())
    return pa.table(
        {
            "example_id": pa.array(part["row"]).cast(pa.string()),
            "label": pa.array(_STARS).take(pa.array(part["overall"].astype(np.int8) - 1)),
            "environment": of_domain,
            "group": of_domain,
            "text": part["reviewText"],
            **fields,
        }
    )


def _list_values(splits: dict[str, pa.Table], name: str) -> list[str]:
    """The values of a column, in order; two that differ in case alone would be two groups.

    Raises:
        OochubError: There are two such.
    """
    columns = [pc.unique(rows.column(name)).cast(pa.string()).to_pylist() for rows in splits.values()]
    values = sorted({value for column in columns for value in column})
    first: dict[str, str] = {}
    for value in values:
        if (other := first.setdefault(value.casefold(), value)) != value:
            numbers = sorted(min(_number(rows, name, text) for rows in splits.values()) for text in (value, other))
            raise OochubError(
                f"reviews.csv, rows {numbers[0]} and {numbers[1]} (counted from 0): the {name} is {other!r} and "
                f"{value!r}, which differ only in case. Download it again."
            )
    return values


def _number(rows: pa.Table, name: str, value: str) -> float:
    """The number of the first row with a value; infinite where none has it."""
    numbers = rows.filter(pc.equal(rows.column(name).cast(pa.string()), value)).column("example_id")
    return min(map(int, numbers.to_pylist()), default=float("inf"))


def _declare_data_set(scheme: str) -> Benchmark:
    domain = _DOMAINS[scheme]
    own = replace(
        BASE,
        sources=("amazon reviews", "amazon review"),
        title="Amazon-WILDS",
        summary="The stars that reviews give, by users who are not in training.",
        version="2.1.0",
        homepage="https://nijianmo.github.io/amazon/index.html",
        raw_files=raw_files(
            _FOLDER,
            {"reviews.csv": "one row per review", f"splits/{scheme}.csv": "the split of each"},
            size="2 GB",
            license="for research",
        ),
        in_context=Rows(name="users of training", split="id_test"),
        out_of_context=Rows(name="other users", split="test"),
        metrics=("accuracy_percentile", "accuracy", "error_rate", "nll", "ece"),
        primary_metric="accuracy_percentile",
        words=_sides("for users of training", "for other users"),
        context_column=domain,
        cluster="user",
        input="texts",
        task_category="text-classification",
        images_license="for research",
        annotations_license="for research",
        toy_world="toy_wilds_amazon",
    )
    if scheme == "user":
        return own
    own = replace(own, metrics=BASE.metrics, primary_metric="accuracy", chance=0.2)
    if scheme.endswith("_baseline"):
        return replace(
            own,
            summary="The stars that reviews give, trained on reviews from the shifted distribution.",
            in_context=Rows(name="validation", split="val"),
            out_of_context=Rows(name="test", split="test"),
            words=_sides("in validation", "in the test"),
        )
    if scheme == "time":
        return replace(
            own,
            summary="The stars that reviews give, in later years than in training.",
            in_context=Rows(name="years of training", split="id_test"),
            out_of_context=Rows(name="later years", split="test"),
            words=_sides("in years of training", "in later years"),
        )
    if scheme == "category_subpopulation":
        return replace(
            own,
            summary="The stars that reviews give, in every product category.",
            in_context=Rows(name="all reviews", split="test"),
            out_of_context=WorstOfGroups(split="test"),
            words=_sides("over all categories", "in the worst category"),
        )
    return replace(
        own,
        summary="The stars that reviews give, in product categories that are not in training.",
        in_context=Rows(name="categories of training", split="id_test"),
        out_of_context=Rows(name="other categories", split="test"),
        words=_sides("in categories of training", "in other categories"),
    )


amazon = WildsDataSet(
    name="amazon",
    version="2.1",
    configs={"amazon" if scheme == "user" else f"amazon_{scheme}": _declare_data_set(scheme) for scheme in _DOMAINS},
    read=_read,
    rows={"amazon": {"train": 245_502, "val": 100_050, "test": 100_050, "id_val": 46_950, "id_test": 46_950}},
    source_splits=("train", "id_val", "id_test"),
)
