"""SpuCoAnimals: birds on land or water, dogs indoors or outdoors; most training rows show the typical background."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.class_folders import check_names, check_no_copies, iterate_folders, list_class_folders
from oochub.builders.sources.raw_table import RawColumn
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary

_USUAL = {"landbirds": "land", "waterbirds": "water", "small_dogs": "indoor", "big_dogs": "outdoor"}
_CLASSES = {"spuco_birds": ("landbirds", "waterbirds"), "spuco_dogs": ("small_dogs", "big_dogs")}
_FOLDERS = {"animals": ("spuco_birds", "spuco_dogs"), "birds": ("spuco_birds",), "dogs": ("spuco_dogs",)}
_SPLITS = {"train": "train", "val": "validation", "test": "test"}
_SIZES = {"train": (10_000, 500), "val": (500, 25), "test": (500, 500)}
"""Images of each class with its usual background, and with the other one."""
_LICENSE = "ImageNet terms of access: non-commercial research and education"
_SHOWN = 3
_HOME = "https://github.com/BigML-CS-UCLA/SpuCo"


def _list_backgrounds(folder: str) -> tuple[str, ...]:
    return tuple(_USUAL[label] for label in _CLASSES[folder])


def _list_groups(config: str) -> tuple[str, ...]:
    return tuple(
        f"{label}/{background}"
        for folder in _FOLDERS[config]
        for label in _CLASSES[folder]
        for background in _list_backgrounds(folder)
    )


def _is_usual(group: str) -> bool:
    label, _, background = group.partition("/")
    return _USUAL[label] == background


def _declare_side(config: str, *, usual: bool) -> Rows:
    groups = tuple(group for group in _list_groups(config) if _is_usual(group) is usual)
    return Rows(name=f"{'usual' if usual else 'other'} backgrounds", split="test", where={"group": groups})


_spuco_animals = Benchmark(
    name="spuco_animals",
    title="SpuCoAnimals",
    summary="Land and water birds, small and big dogs of ImageNet; in training 95% are in front of a usual background.",
    version="1.0.0",
    homepage=_HOME,
    sources=("spuco", "imagenet"),
    citation="""@article{joshi2023towards,
  title = {Towards Mitigating Spurious Correlations in the Wild: A Benchmark and a more Realistic Dataset},
  author = {Joshi, Siddharth and Yang, Yu and Xue, Yihao and Yang, Wenhan and Mirzasoleiman, Baharan},
  journal = {arXiv preprint arXiv:2306.11957},
  year = {2023}
}""",
    raw_files=tuple(
        RawFile(
            path=f"{folder}/",
            url=_HOME,
            size=f"{2 * sum(map(sum, _SIZES.values())):,} images",
            license=_LICENSE,
            note=f"{{train,val,test}}/{{{','.join(labels)}}}/{{{','.join(_list_backgrounds(folder))}}}/<image>",
        )
        for folder, labels in _CLASSES.items()
    ),
    in_context=_declare_side("animals", usual=True),
    out_of_context=_declare_side("animals", usual=False),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.25,
    words=Vocabulary(
        example="image", inside="on usual backgrounds", outside="on unusual ones", cause="context", place="on"
    ),
    context_column="background",
    closed={"group": _list_groups("animals")},
    templates=("a photo of {}.",),
    images_license=_LICENSE,
    annotations_license="not stated",
    toy_world="toy_spuco_animals",
    tried_configs=("animals",),
)


def _declare_config(config: str) -> Benchmark:
    """The declaration of the birds or the dogs alone, which need one of the two folders."""
    needed = {f"{folder}/" for folder in _FOLDERS[config]}
    return replace(
        _spuco_animals,
        raw_files=tuple(replace(raw, required=raw.path in needed) for raw in _spuco_animals.raw_files),
        in_context=_declare_side(config, usual=True),
        out_of_context=_declare_side(config, usual=False),
        chance=1 / (2 * len(needed)),
        closed={"group": _list_groups(config)},
    )


spuco_animals = replace(_spuco_animals, configs={config: _declare_config(config) for config in _FOLDERS})


@dataclass
class SpucoAnimalsConfig(BenchmarkConfig):
    """Options of `load_dataset("spuco_animals", "animals" | "birds" | "dogs", ...)`.

    Attributes:
        strict: Refuse groups of other sizes than the release's, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    strict: bool = False


class SpucoAnimals(BenchmarkBuilder):
    """The folders `spuco_birds/` and `spuco_dogs/` as the package spuco unpacks them: split/class/background/image.

    `animals` has the four classes of both folders, `birds` and `dogs` those of one. The sides are the test images with
    a class's usual background against those with the other one, 500 of each class and background. The training
    environments are the groups, class x background.

    Source: Joshi et al. 2023; spuco 9184246, `src/spuco/datasets/spuco_birds.py`, `spuco_dogs.py` and
    `spuco_animals.py`, which say the folders and how many images each has.

    >>> SpucoAnimals.BENCHMARK.of("dogs").out_of_context.where
    {'group': ('small_dogs/outdoor', 'big_dogs/indoor')}
    """

    BENCHMARK: ClassVar[Benchmark] = spuco_animals
    BUILDER_CONFIG_CLASS = SpucoAnimalsConfig
    BUILDER_CONFIGS: ClassVar[list[SpucoAnimalsConfig]] = SpucoAnimalsConfig.list_of(
        spuco_animals,
        {
            "animals": "Land birds, water birds, small dogs and big dogs.",
            "birds": "Land birds and water birds.",
            "dogs": "Small dogs and big dogs.",
        },
    )

    def _features(self) -> datasets.Features:
        folders, groups = _FOLDERS[self.config.name], list(_list_groups(self.config.name))
        labels = [label for folder in folders for label in _CLASSES[folder]]
        names = {"label": labels, "environment": groups, "group": groups}
        return make_features(image=datasets.Image(), **names, background=[_USUAL[label] for label in labels])

    def _watched(self, folder: Path) -> Iterable[Path]:
        for name in _FOLDERS[self.config_name]:
            for split in _SPLITS:
                yield from iterate_folders(folder / name / split)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        root = self._folder()
        rows: dict[str, list[dict[str, str]]] = {split: [] for split in _SPLITS.values()}
        gaps = []
        for folder in _FOLDERS[self.config.name]:
            for split, name in _SPLITS.items():
                groups = _list_images(root, f"{folder}/{split}", folder, within=self._within)
                rows[name] += [
                    _make_row(f"{folder}/{split}", group, image) for group in groups for image in groups[group]
                ]
                gaps += _list_gaps(split, groups)
        more = f" and {len(gaps) - _SHOWN} more groups" if len(gaps) > _SHOWN else ""
        gaps = [f"partial: {', '.join(gaps[:_SHOWN])}{more}"] if gaps else []
        self._check_whole(f"{root} is not the release", gaps)
        groups_of_training = [row["group"] for row in rows["train"]]
        facts = BuildFacts().with_groups(groups_of_training, _list_groups(self.config.name))
        return self._splits(root, {split: pa.Table.from_pylist(part) for split, part in rows.items()}, facts, gaps)


def _list_images(root: Path, path: str, folder: str, *, within: Path | None) -> dict[str, list[str]]:
    """The images of a split by group; each class must have both backgrounds, and nothing else."""
    place = root / path
    if not place.is_dir():
        raise OochubError(f"{root / folder} lacks {place.name}/. It holds train/, val/ and test/: unpack it again.")
    images_of = list_class_folders(place, within=within)
    labels, backgrounds = _CLASSES[folder], _list_backgrounds(folder)
    check_names(place, "class", images_of, RawColumn(codes=labels))
    for label, own in images_of.items():
        check_names(place / label, "background", own, RawColumn(codes=backgrounds))
    groups = {f"{label}/{name}": images_of.get(label, {}).get(name, []) for label in labels for name in backgrounds}
    if empty := [group for group, images in groups.items() if not images]:
        raise OochubError(f"{place} has no image in {empty[0]}/. Unpack it again.")
    check_no_copies(images_of, place)
    return groups


def _make_row(path: str, group: str, image: str) -> dict[str, str]:
    label, _, background = group.partition("/")
    file = f"{path}/{group}/{image}"
    names = {"label": label, "environment": group, "group": group, "background": background}
    return {"example_id": file.rpartition(".")[0], "file": file, **names}


def _list_gaps(split: str, groups: Mapping[str, list[str]]) -> list[str]:
    """The groups of a split that have not as many images as were published, in words."""
    expected = {group: _SIZES[split][0 if _is_usual(group) else 1] for group in groups}
    return [
        f"{len(images):,} of {expected[group]:,} images of {group} in {split}"
        for group, images in groups.items()
        if len(images) != expected[group]
    ]
