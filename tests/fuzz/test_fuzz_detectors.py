"""Saved detectors, and the head beside predictions, with one thing wrong: refused, or the same scores."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fuzz_case import CHANGED, REFUSED, SAFE, SAME, Case, Format, Used
from fuzz_predictions import arrays, evaluated, head, numbers_of, predictions
from mutations import bytes_cases, json_cases, json_text_cases, place_cases
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import oochub
from oochub.detector import Detector
from oochub.storage.tensor_file import save_tensors

_NAMES = {"mahalanobis": {}, "knn": {"k": 3}, "react": {}, "energy": {"temperature": 2.0}}
_OF_NUMBERS = ("huge", "negative", "a fraction")
_STATE, _CARD, _HEAD = "state.safetensors", "detector.json", "in.head.safetensors"


def _make(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        given = arrays(1) | head()
        detector = oochub.get("detector", name)(**_NAMES[name])
        detector.fit(**{each: given[each] for each in detector.fit_needs}).save(folder / "saved")
        for file in (folder / "saved").iterdir():
            file.rename(folder / file.name)
        (folder / "saved").rmdir()

    return make


def _use(folder: Path, out: Path) -> Used:
    detector, given = Detector.load(folder), arrays(2)
    return Used(numbers=detector.score(**{each: given[each] for each in detector.score_needs}))


DETECTORS = {name: Format(name=f"detectors: {name}", make=_make(name), use=_use, names=("k is",)) for name in _NAMES}


Change = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]


def _rewritten(file: str, change: Change, *, sealed: bool) -> Callable[[Path], None]:
    """Other arrays in a safetensors file, with the digest of what was there, or without one as in files of before."""

    def mutate(folder: Path) -> None:
        with safe_open(folder / file, "np") as opened:
            metadata = opened.metadata() if sealed else None
        state = {name: np.ascontiguousarray(array) for name, array in change(load_file(folder / file)).items()}
        save_file(state, folder / file, metadata=metadata)

    return mutate


def _array_cases(file: str, fields: Iterable[str]) -> Iterator[Case]:
    """Every array changed: with the digest of before the change, and where it cannot be right without one."""
    for field in fields:
        changes: dict[str, Change] = {
            word: lambda state, field=field, change=change: state | {field: change(state[field])}
            for word, change in _ARRAYS.items()
        }
        changes["missing"] = lambda state, field=field: {key: array for key, array in state.items() if key != field}
        changes["renamed"] = lambda state, field=field: {
            key + "_" * (key == field): array for key, array in state.items()
        }
        for word, change in changes.items():
            unchanged = frozenset({SAME}) if (field, word) == ("bias", "zeros") else frozenset()
            yield Case(
                name=f"{field} {word}",
                mutate=_rewritten(file, change, sealed=True),
                expect=frozenset({REFUSED}) | unchanged,
            )
            if word not in _POSSIBLE:
                yield Case(name=f"{field} {word}, no digest", mutate=_rewritten(file, change, sealed=False))


_ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nan": lambda a: np.full_like(a, np.nan),
    "infinite": lambda a: np.full_like(a, np.inf),
    "int8": lambda a: a.astype(np.int8),
    "truths": lambda a: a > 0,
    "float16": lambda a: a.astype(np.float16),
    "half of it": lambda a: a[: len(a) // 2] if a.ndim else np.zeros(2, a.dtype),
    "flat": lambda a: np.concatenate([a.ravel(), a.ravel()[:1]]),
    "turned": lambda a: a[:, :1] if a.ndim == 2 else a[None],
    "empty": lambda a: np.zeros((0, *a.shape[1:]), a.dtype),
    "zeros": np.zeros_like,
}
_POSSIBLE = ("zeros", "half of it", "float16", "int8", "turned")
"""Arrays that a fit can leave: without a digest nothing tells them from the right ones."""


def _cases(name: str) -> list[Case]:
    detector = oochub.get("detector", name)(**_NAMES[name])
    cases = [
        *bytes_cases(_STATE, expect=frozenset({REFUSED, SAME}), flips=40),
        *json_text_cases(_CARD),
        *place_cases(_CARD),
        *place_cases(_STATE),
        *json_cases(_CARD, _card(name, detector), _of_card),
    ]
    cases += _array_cases(_STATE, [declared.partition(" ")[0] for declared in detector.fitted])
    more = _rewritten(_STATE, lambda state: state | {"more": np.zeros(3)}, sealed=True)
    return [*cases, Case(name="with an array of another name", mutate=more)]


def _card(name: str, detector: Detector) -> dict[str, object]:
    """What every card of this detector holds."""
    columns = {"features": 4} if detector.fit_needs else {}
    return {"detector": name, "hyperparameters": detector.hyperparameters, "columns": columns, "oochub": "0"}


def _of_card(place: str, change: str) -> frozenset[str]:
    if place.startswith("hyperparameters.") and change in _OF_NUMBERS:
        return SAFE | {CHANGED}  # another detector of that kind, where the number is in its range
    return SAFE if place.startswith("oochub") else frozenset({REFUSED, SAME})


def _make_head(folder: Path) -> None:
    predictions(1).save(folder / "in.parquet")
    outside = predictions(2, label=np.full(len(arrays()["label"]), -1), config="outside")
    outside.save(folder / "out.parquet")
    save_tensors(head(), folder / _HEAD)


def _use_head(folder: Path, out: Path) -> Used:
    files = [folder / "in.parquet", folder / "out.parquet"]
    report = evaluated(files, out, detectors=["react"], reference=folder / "in.parquet")
    return Used(numbers=numbers_of(report), notes=report.notes)


_THINGS = ("weight", "bias", ".head.safetensors")
HEADS = Format(name="heads", make=_make_head, use=_use_head, names=_THINGS)


HEAD_CASES = [
    *bytes_cases(_HEAD, expect=frozenset({REFUSED, SAME}), flips=60),
    *place_cases(_HEAD),
    *_array_cases(_HEAD, ("weight", "bias")),
]
CASES = [(DETECTORS[name], case) for name in _NAMES for case in _cases(name)] + [(HEADS, case) for case in HEAD_CASES]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_detectors_and_heads(campaign, kind, case):
    campaign.run(kind, case)
