"""PovertyMap-WILDS: the wealth of an African village from satellite images of eight bands, in unseen countries."""

from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np

from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary
from oochub.storage.reading import NUMPY_FAULTS, check_regular_file

_SHAPE = (8, 224, 224)
_PUBLISHED = 19_669
_EVALUATED = 2_000  # rows of the countries of training that are kept for id_val and id_test, half each
_SEED = 541_433  # of WILDS' `subsample_idxs`, plus the code of the fold's letter
_SPLITS = ("train", "id_val", "id_test", "val", "test")
_AREAS = {"True": "urban", "False": "rural"}
# Each fold's countries of the test, and their published rows; its validation has those of the next fold's test.
_TESTED = {
    "a": (3_963, "angola cote_d_ivoire ethiopia mali rwanda"),
    "b": (3_909, "benin burkina_faso guinea sierra_leone tanzania"),
    "c": (3_940, "cameroon ghana malawi zimbabwe"),
    "d": (3_929, "democratic_republic_of_congo mozambique nigeria togo uganda"),
    "e": (3_928, "kenya lesotho senegal zambia"),
}
_FOLDS = list(_TESTED)
_NEXT = dict(zip(_FOLDS, [*_FOLDS[1:], _FOLDS[0]], strict=True))
_COUNTRIES = tuple(sorted(" ".join(names for _, names in _TESTED.values()).split()))


def _read(folder: Path, config: str) -> WildsRows:
    table = RawTable.of_csv(
        folder / "dhs_metadata.csv",
        {
            "country": RawColumn(codes=_COUNTRIES),
            "urban": RawColumn(codes=_AREAS),
            "wealthpooled": RawColumn(kind="number"),
        },
    )
    countries, count = table["country"], len(table)
    files = [f"images/landsat_poverty_img_{row}.npz" for row in range(count)]
    table.add("its image", files, RawColumn(folder=folder))
    columns = {
        "label": ("float32", table["wealthpooled"]),
        "environment": (_COUNTRIES, countries),
        "group": (["rural", "urban"], table["urban"]),
        "array": (datasets.Array3D(_SHAPE, "float32"), None),
        "urban": ("bool", [area == "urban" for area in table["urban"]]),
        "country": (_COUNTRIES, countries),
    }
    kept = f"{_count_kept_rows(count):,} rows of the countries of training for id_val and id_test, not 2,000"
    return WildsRows.of(
        columns,
        _split(countries, fold=config[-1], is_mixed="mixed" in config).tolist(),
        _SPLITS,
        files,
        columns={"array": _read_bands},
        facts=BuildFacts(other={"fold": config[-1].upper()}),
        notes=() if count == _PUBLISHED else (kept,),
    )


def _count_kept_rows(n: int) -> int:
    """How many rows are kept for id_val and id_test; in a folder of other than the published rows as large a share."""
    return _EVALUATED if n == _PUBLISHED else 2 * max(1, round(_EVALUATED * n / _PUBLISHED / 2))


def _split(countries: list[str], *, fold: str, is_mixed: bool) -> np.ndarray:
    """The split of each row, drawn as WILDS does; "" where it is of none."""
    of, kept = np.array(countries), _count_kept_rows(len(countries))
    val, test = (np.isin(of, _TESTED[held][1].split()) for held in (_NEXT[fold], fold))
    split = np.where(test, "test", np.where(val, "val", "")).astype(object)
    drawn = np.flatnonzero(~(val | test))
    inside = len(drawn)
    np.random.default_rng(_SEED + ord(fold.upper())).shuffle(drawn)
    split[drawn[: kept // 2]], split[drawn[kept // 2 : kept]] = "id_val", "id_test"
    if is_mixed:  # as many rows as the countries of training have, of all countries; what others had is taken from them
        drawn = np.arange(len(of))
        np.random.default_rng(_SEED + ord(fold.upper())).shuffle(drawn)
        drawn = drawn[:inside]
    split[drawn[kept:]] = "train"
    return split


def _read_bands(file: Path) -> np.ndarray:
    """The bands of one place, float32 (8, 224, 224)."""
    try:
        with np.load(check_regular_file(file), allow_pickle=False) as stored:
            values: np.ndarray = stored["x"]
    except NUMPY_FAULTS as error:
        raise OochubError(f"{file} is not an npz file with an array x ({error}). Download it again.") from error
    if values.shape != _SHAPE or values.dtype.kind != "f" or not np.isfinite(values).all():
        raise OochubError(
            f"{file}: x must be finite floats of shape {_SHAPE}, got {values.dtype} of {values.shape}. Download it "
            "again."
        )
    return values.astype(np.float32, copy=False)


_poverty = replace(
    BASE,
    sources=("poverty", "povertymap"),
    title="PovertyMap-WILDS",
    summary="The wealth of African villages and towns in satellite images, in countries that are not in training.",
    version="1.1.0",
    homepage="https://github.com/sustainlab-group/africa_poverty",
    raw_files=raw_files(
        "poverty_v1.1",
        {"dhs_metadata.csv": "one row per place", "images/": "19,669 files landsat_poverty_img_<row>.npz"},
        size="13.1 GB",
        license="LandSat and DMSP: U.S. public domain",
    ),
    in_context=Rows(name="countries of training", split="id_test"),
    out_of_context=Rows(name="other countries", split="test"),
    primary_metric="pearson_worst_group",
    metrics=("pearson_worst_group", "pearson", "mean_squared_error", "mean_absolute_error"),
    chance=0.0,
    input="arrays",
    output="number",
    words=Vocabulary.of("in countries of training", "in other countries", example="place", place="in"),
    context_column="country",
    closed={"group": ("rural", "urban")},
    images_license="LandSat and DMSP: U.S. public domain",
    annotations_license="DHS Program: on request",
    task_category="other",
    toy_world="toy_wilds_poverty",
)


def _format_fold(fold: str) -> dict[str, int]:
    rows = {"test": _TESTED[fold][0], "val": _TESTED[_NEXT[fold]][0]}
    rows |= dict.fromkeys(("id_val", "id_test"), _EVALUATED // 2)
    return {"train": _PUBLISHED - sum(rows.values()), **rows}


poverty = WildsDataSet(
    name="poverty",
    version="1.1",
    configs={
        **{f"poverty_fold_{fold}": _poverty for fold in _FOLDS},
        **{f"poverty_mixed-to-test_fold_{fold}": _poverty for fold in _FOLDS},
    },
    read=_read,
    rows={f"poverty_fold_{fold}": _format_fold(fold) for fold in _FOLDS},
)
