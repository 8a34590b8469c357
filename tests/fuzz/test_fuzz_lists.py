"""Lists and tables of text beside ImageNet, with one thing wrong: a line is named, or the images are the same."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from fuzz_case import CHANGED, REFUSED, SAID, SAME, Case, Format, Used
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import bytes_cases, place_cases, text_cases

from oochub.builders.sources.image_list import find_listed, read_image_list
from oochub.builders.sources.imagenet_listing import list_pictures
from oochub.builders.sources.json_lines import read_json_lines
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS
from oochub.studies.imagenet_ood.model_list import read_models

_WNID = "n02666943"  # of the 637 classes
_NAMES = [f"{_WNID}/{_WNID}_{k}.JPEG" for k in (12, 13, 14)]
_LABELLED = ["a/test/cat/1.png", "a/test/dog/1.png", "a/test/horse/1.png"]
_PAIRS = "pairs.jsonl"
_LIST, _MODELS, _SOLUTION = "list.txt", "models.txt", "imagenet/LOC_val_solution.csv"
_TRUTH = "imagenet/ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt"
_META = "imagenet/ILSVRC2012_devkit_t12/data/meta.mat"
_VAL = [f"ILSVRC2012_val_{k:08}" for k in (1, 2, 3)]


def _make_list(folder: Path) -> None:
    (folder / "place" / _WNID).mkdir(parents=True)
    for name in _NAMES:
        (folder / "place" / name).write_bytes(b"\xff\xd8\xff")
    (folder / _LIST).write_text("".join(f"{name}\n" for name in _NAMES))


def _use_list(folder: Path, out: Path) -> Used:
    listing = list_pictures("imagenet_ood", folder / "place", folder / _LIST)
    return Used(numbers=[stored.name for stored in listing.pictures], notes=(*listing.gaps, *listing.remarks))


def _make_models(folder: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "config.json").write_text("{}")
    (folder / _MODELS).write_text(f"# models\n{folder / 'own'}\nmicrosoft/resnet-50\n")


def _use_models(folder: Path, out: Path) -> Used:
    return Used(numbers=[model.name for model in read_models(folder / _MODELS)])


def _make_validation(folder: Path) -> None:
    (folder / "imagenet" / "val").mkdir(parents=True)
    for name in _VAL:
        (folder / "imagenet" / "val" / f"{name}.JPEG").write_bytes(b"\xff\xd8\xff")


def _make_solution(folder: Path) -> None:
    _make_validation(folder)
    rows = [f"{name},{IMAGENET_1K_WNIDS[k]} 1 2 3 4 \n" for k, name in enumerate(_VAL)]
    (folder / _SOLUTION).write_text("ImageId,PredictionString\n" + "".join(rows))


def _make_devkit(folder: Path) -> None:
    _make_validation(folder)
    (folder / _TRUTH).parent.mkdir(parents=True)
    (folder / _TRUTH).write_text("1\n2\n3\n")
    synsets = np.array(
        [(k, wnid) for k, wnid in enumerate(IMAGENET_1K_WNIDS[:3], 1)], dtype=[("ILSVRC2012_ID", "O"), ("WNID", "O")]
    )
    scipy.io.savemat(folder / _META, {"synsets": synsets})


def _use_validation(folder: Path, out: Path) -> Used:
    listing = list_pictures("imagenet_1k", folder / "imagenet" / "val", None)
    return Used(numbers=[[stored.name, stored.label] for stored in listing.pictures], notes=tuple(listing.gaps))


def _make_labelled(folder: Path) -> None:
    for name in _LABELLED:
        (folder / "place" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "place" / name).write_bytes(b"\xff\xd8\xff")
    (folder / _LIST).write_text("".join(f"{name} {k}\n" for k, name in enumerate(_LABELLED)))


def _use_labelled(folder: Path, out: Path) -> Used:
    images = read_image_list(folder / _LIST, ("cat", "dog", "horse"), known=True)
    found, gaps = find_listed(images, folder / "place", folder / _LIST)
    return Used(numbers=[list(image) for image in found], notes=tuple(gaps))


def _make_pairs(folder: Path) -> None:
    (folder / _PAIRS).write_text("".join(f'{{"a": "{name}", "n": {k}}}\n' for k, name in enumerate(_LABELLED)))


def _use_pairs(folder: Path, out: Path) -> Used:
    return Used(numbers=read_json_lines(folder / _PAIRS, ["a"])["a"].to_pylist())


PAIRS = Format(name="JSON lines", make=_make_pairs, use=_use_pairs)
LABELLED = Format(name="labelled lists", make=_make_labelled, use=_use_labelled)
LISTS = Format(name="file lists", make=_make_list, use=_use_list)
MODELS = Format(name="model lists", make=_make_models, use=_use_models)
SOLUTION = Format(name="truth, Kaggle", make=_make_solution, use=_use_validation)
DEVKIT = Format(name="truth, devkit", make=_make_devkit, use=_use_validation)


def _lines(file: str, change: Callable[[list[str]], list[str]]) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_text("".join(change((folder / file).read_text().splitlines(True))))


def _first(file: str, line: str, *, at: int = 0) -> Callable[[Path], object]:
    return _lines(file, lambda lines: [*lines[:at], f"{line}\n", *lines[at + 1 :]])


_WRONG_NAMES = [
    *(f"{_WNID}_12.JPEG", f"../{_NAMES[0]}", f"/{_NAMES[0]}", f"{_WNID}/n00000001_12.JPEG", _NAMES[0].lower()),
    *(f"{_NAMES[0]},1", f"{_NAMES[0]} 7", f'"{_NAMES[0]}"', f"{_WNID}\\{_WNID}_12.JPEG", "n01440764/n01440764_1.JPEG"),
    *("file_name", "{}", "12", f"{_WNID}/{_WNID}_٣.png", f"{_WNID}/{_WNID}_.JPEG", f"{_WNID}/{_WNID}_1.JPEG\0"),
]
_WRONG_MODELS = ["/nowhere/at/all", "./nowhere", "a b c", "a/b/c/d", "https://host/x", "..", "\0"]
_WRONG_ROWS = [f"{_VAL[0]},", f"{_VAL[0]}", f"{_VAL[0]},n99999999 1 2 3 4", f"{_VAL[0]},1", f"{_VAL[0]},car", ",", ""]
_WRONG_NUMBERS = ["0", "1001", "-1", "1.5", "x", "nan", "1 1", "١"]
_WRONG_LABELLED = [
    *("a/test/cat/1.png", "a/test/cat/1.png 3", "a/test/cat/1.png -1", "a/test/cat/1.png x", "a/test/cat/1.png 1"),
    *(
        "a/test/dog/1.png 1",
        "../a.png 0",
        "/a/test/cat/1.png 0",
        " 0",
        "0",
        "a/test/cat/1.png 0.0",
        "a/test/cat/1.png --1",
    ),
]
CASES = [
    *((LABELLED, case) for case in text_cases(_LIST, blank=frozenset({REFUSED}), bom=frozenset({SAME, REFUSED, SAID}))),
    *((PAIRS, case) for case in text_cases(_PAIRS, blank=frozenset({REFUSED}), bom=frozenset({SAME, REFUSED}))),
    *((PAIRS, case) for case in place_cases(_PAIRS)),
    *((PAIRS, Case(name=f"line {line!r}", mutate=_first(_PAIRS, line))) for line in ("{}", "[]", '{"a": 1}', "1", "{")),
    *((LABELLED, case) for case in place_cases(_LIST)),
    *((LABELLED, Case(name=f"line {line!r}", mutate=_first(_LIST, line))) for line in _WRONG_LABELLED),
    *((LISTS, case) for case in text_cases(_LIST, blank=frozenset({REFUSED}), bom=frozenset({SAME, REFUSED}))),
    *((LISTS, case) for case in place_cases(_LIST)),
    *((LISTS, Case(name=f"line {line!r}", mutate=_first(_LIST, line))) for line in _WRONG_NAMES),
    (LISTS, Case(name="a name twice", mutate=_lines(_LIST, lambda lines: [*lines, lines[0]]))),
    (
        LISTS,
        Case(
            name="a name that is not there",
            mutate=_first(_LIST, f"{_WNID}/{_WNID}_99.JPEG"),
            expect=frozenset({SAID}),
        ),
    ),
    (
        LISTS,
        Case(name="no name that is there", mutate=_lines(_LIST, lambda _: [f"{_WNID}/{_WNID}_99.JPEG\n"])),
    ),
    (
        LISTS,
        Case(
            name="in another order",
            mutate=_lines(_LIST, lambda lines: lines[::-1]),
            expect=frozenset({CHANGED}),
            numbers=_NAMES[::-1],
        ),
    ),
    (
        LISTS,
        Case(name="empty lines", mutate=_lines(_LIST, lambda lines: ["\n", *lines, "\n"]), expect=frozenset({SAME})),
    ),
    (
        LISTS,
        Case(name="spaces", mutate=_lines(_LIST, lambda lines: [f"  {x}" for x in lines]), expect=frozenset({SAME})),
    ),
    *(
        (MODELS, case)
        for case in text_cases(_MODELS, blank=frozenset({REFUSED}), bom=frozenset({SAME, REFUSED}))
        if case.name != f"{_MODELS} without its last byte"  # the name of another model
    ),
    *((MODELS, case) for case in place_cases(_MODELS)),
    *((MODELS, Case(name=f"line {line!r}", mutate=_first(_MODELS, line, at=1))) for line in _WRONG_MODELS),
    (MODELS, Case(name="a model twice", mutate=_lines(_MODELS, lambda lines: [*lines, lines[-1]]))),
    *((SOLUTION, case) for case in text_cases(_SOLUTION, blank=frozenset({REFUSED}), bom=frozenset({SAME, REFUSED}))),
    *((SOLUTION, case) for case in place_cases(_SOLUTION)),
    *(
        (SOLUTION, Case(name=f"row {row!r}", mutate=_first(_SOLUTION, row, at=1), names=(_VAL[0],)))
        for row in _WRONG_ROWS
    ),
    (
        SOLUTION,
        Case(
            name="an image twice", mutate=_lines(_SOLUTION, lambda lines: [*lines, lines[1].replace("n0144", "n0148")])
        ),
    ),
    (SOLUTION, Case(name="other columns", mutate=_first(_SOLUTION, "Id,Class"))),
    *((DEVKIT, case) for case in text_cases(_TRUTH, blank=frozenset({REFUSED}), bom=frozenset({SAME, REFUSED}))),
    *((DEVKIT, case) for case in place_cases(_TRUTH)),
    *((DEVKIT, case) for case in place_cases(_META)),
    *((DEVKIT, case) for case in bytes_cases(_META, expect=frozenset({REFUSED, SAME, CHANGED}), flips=0)),
    *(
        (DEVKIT, Case(name=f"number {line!r}", mutate=_first(_TRUTH, line), names=(_VAL[0],)))
        for line in _WRONG_NUMBERS
    ),
    (DEVKIT, Case(name="one number less", mutate=_lines(_TRUTH, lambda lines: lines[:-1]), names=(_VAL[2],))),
    (DEVKIT, Case(name="without data", mutate=lambda folder: shutil.rmtree((folder / _TRUTH).parent))),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_lists(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.campaign
@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(line=st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=30).filter(str.strip))
def test_any_line_is_a_picture_or_is_named(campaign, line):
    outcomes = frozenset({REFUSED, SAME, SAID})
    campaign.run(LISTS, Case(name=f"line {line!r}", mutate=_first(_LIST, line), expect=outcomes))
