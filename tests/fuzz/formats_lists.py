"""Lists and tables of text beside ImageNet, with one thing wrong: a line is named, or the images are the same."""

from pathlib import Path

import numpy as np
import scipy.io
from fuzz_case import Format, Used

from oochub.builders.sources.image_list import find_listed, read_image_list
from oochub.builders.sources.imagenet_listing import list_pictures
from oochub.builders.sources.raw_table import RawColumn, RawTable
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
    found, gaps = find_listed(images, folder / "place")
    return Used(numbers=[list(pair) for pair in zip(found["path"], found["label"], strict=True)], notes=tuple(gaps))


def _make_pairs(folder: Path) -> None:
    (folder / _PAIRS).write_text("".join(f'{{"a": "{name}", "n": {k}}}\n' for k, name in enumerate(_LABELLED)))


def _use_pairs(folder: Path, out: Path) -> Used:
    return Used(numbers=RawTable.of_json_lines(folder / _PAIRS, {"a": RawColumn()})["a"])


PAIRS = Format(name="JSON lines", make=_make_pairs, use=_use_pairs)
LABELLED = Format(name="labelled lists", make=_make_labelled, use=_use_labelled)
LISTS = Format(name="file lists", make=_make_list, use=_use_list)
MODELS = Format(name="model lists", make=_make_models, use=_use_models)
SOLUTION = Format(name="truth, Kaggle", make=_make_solution, use=_use_validation)
DEVKIT = Format(name="truth, devkit", make=_make_devkit, use=_use_validation)
