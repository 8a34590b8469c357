"""NOOCH's files of image ids and its official split, with one thing wrong: refused, or the same rows."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from fuzz_coco import write_coco
from mutations import bytes_cases, place_cases

from oochub.builders.sources.coco import read_coco
from oochub.builders.sources.nooch.ids import nooch_ids
from oochub.builders.sources.nooch.split import nooch_split

_IDS = {
    f"nooch_ids_CE_car_hard_{side}_{split}.npy": np.arange(4) + 10 * k
    for k, (side, split) in enumerate((a, b) for a in ("positive", "negative") for b in ("valid", "test"))
}
_ONE = "nooch_ids_CE_car_hard_positive_test.npy"
_SPLIT = "cocostuff_split_image_ids.npz"
_PARTS = {"train_ids": np.arange(1, 15), "valid_ids": np.arange(15, 18), "test_ids": np.arange(18, 25)}


def _write_ids(folder: Path) -> None:
    for name, ids in _IDS.items():
        np.save(folder / name, ids)


def _write_split(folder: Path) -> None:
    write_coco(folder)
    np.savez(folder / _SPLIT, **_PARTS)


def _use_split(folder: Path, out: Path) -> Used:
    rows, notes = nooch_split(folder, read_coco(folder))
    return Used(numbers=rows, notes=tuple(notes))


IDS = Format(name="ids", make=_write_ids, use=lambda folder, out: Used(numbers=nooch_ids(folder, "car", "ce")))
SPLIT = Format(name="splits", make=_write_split, use=_use_split)

_WRONG_ARRAYS = {
    "fractions": np.array([1.5, 2.0]),
    "whole floats": np.array([1.0, 2.0]),
    "nan": np.array([np.nan, 2.0]),
    "texts": np.array(["1", "2"]),
    "bytes": np.array([b"1", b"2"]),
    "truths": np.array([True, False]),
    "complex numbers": np.array([1j, 2]),
    "dates": np.array(["2017-01-01"], "datetime64[D]"),
    "records": np.array([(1, 2)], dtype=[("a", int), ("b", int)]),
    "one number": np.array(3),
    "a table": np.arange(6).reshape(2, 3),
    "an id twice": np.array([19, 19]),
    "negative ids": np.array([-1, -2]),
    "ids beyond 64 bits": np.array([2**64 - 1, 1], np.uint64),
}
_KEPT = {"as int32": np.int32, "as uint64": np.uint64, "as big endian": np.dtype(">i8"), "as int16": np.int16}


def _saved(array: np.ndarray, *, pickled: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([{"id": 1}], object) if pickled else array, allow_pickle=pickled)
    return file.getvalue()


def _with_member(name: str, content: bytes | None) -> object:
    """The split file with another content of one of its arrays; None leaves it out."""

    def mutate(folder: Path) -> None:
        parts = {f"{key}.npy": _saved(ids) for key, ids in _PARTS.items()} | {name: content}
        with zipfile.ZipFile(folder / _SPLIT, "w") as archive:
            for member, data in parts.items():
                if data is not None:
                    archive.writestr(member, data)

    return mutate


CASES = [
    *((IDS, case) for case in bytes_cases(_ONE, expect=frozenset({REFUSED, SAME, CHANGED}), flips=30)),
    *((IDS, case) for case in place_cases(_ONE)),
    *((SPLIT, case) for case in bytes_cases(_SPLIT, expect=frozenset({REFUSED, SAME}), flips=120)),
    *((SPLIT, case) for case in place_cases(_SPLIT, missing=frozenset({"said"}))),
]
for word, wrong in _WRONG_ARRAYS.items():
    change = lambda folder, wrong=wrong: np.save(folder / _ONE, wrong)  # noqa: E731
    CASES.append((IDS, Case(name=f"ids: {word}", mutate=change)))
    for part in _PARTS:
        CASES.append((SPLIT, Case(name=f"{part}: {word}", mutate=_with_member(f"{part}.npy", _saved(wrong)))))
for word, kind in _KEPT.items():
    change = lambda folder, kind=kind: np.save(folder / _ONE, _IDS[_ONE].astype(kind))  # noqa: E731
    CASES.append((IDS, Case(name=f"ids: {word}", mutate=change, expect=frozenset({SAME}))))
    content = _saved(_PARTS["test_ids"].astype(kind))
    mutate = _with_member("test_ids.npy", content)
    CASES.append((SPLIT, Case(name=f"test_ids: {word}", mutate=mutate, expect=frozenset({SAME}))))
CASES += [
    (IDS, Case(name="pickled", mutate=lambda folder: (folder / _ONE).write_bytes(_saved(np.zeros(1), pickled=True)))),
    (SPLIT, Case(name="pickled", mutate=_with_member("test_ids.npy", _saved(np.zeros(1), pickled=True)))),
    (SPLIT, Case(name="without test_ids", mutate=_with_member("test_ids.npy", None))),
    (SPLIT, Case(name="an id in two splits", mutate=_with_member("test_ids.npy", _saved(np.array([1, 20]))))),
    (SPLIT, Case(name="no id", mutate=_with_member("test_ids.npy", _saved(np.array([], int))), names=("test",))),
    (SPLIT, Case(name="unknown ids", mutate=_with_member("test_ids.npy", _saved(np.arange(7) + 900)), names=("test",))),
    (
        SPLIT,
        Case(
            name="with a file of another name",
            mutate=_with_member("more.npy", _saved(np.arange(3))),
            expect=frozenset({SAME}),
        ),
    ),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_ids_and_splits(campaign, kind, case):
    campaign.run(kind, case)
