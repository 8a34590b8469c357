"""OpenOOD v1.5: CIFAR-10, CIFAR-100, ImageNet-200 and ImageNet-1K with their near, far and shifted sets."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.image_list import find_listed, read_image_list
from oochub.builders.sources.imagenet_sets import name_validation_image
from oochub.builders.sources.openood_sets import CLASSES, CLASSIC, LARGE, LISTS, SETS, SHIFTS, ListedSet
from oochub.builders.sources.raw_table import RawTable
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Spectrum, Vocabulary

_HOME = "https://github.com/Jingkang50/OpenOOD"
_CONTEXTS = ("known", "shifted", "near", "far")
_LICENSE = "each data set's own"

_openood = Benchmark(
    name="openood",
    title="OpenOOD v1.5",
    summary="CIFAR-10, CIFAR-100, ImageNet-200 and ImageNet-1K beside sets of new classes, near and far.",
    version="1.0.0",
    homepage=_HOME,
    sources=(
        *("cifar 10", "cifar 100", "cifar10", "cifar100"),
        *("imagenet", "imagenet 1k", "tiny imagenet", "svhn", "mnist"),
    ),
    citation="""@article{zhang2023openood,
  title = {OpenOOD v1.5: Enhanced Benchmark for Out-of-Distribution Detection},
  author = {Zhang, Jingyang and Yang, Jingkang and Wang, Pengyun and Wang, Haoqi and Lin, Yueqian and Zhang, Haoran
    and Sun, Yiyou and Du, Xuefeng and Li, Yixuan and Liu, Ziwei and Chen, Yiran and Li, Hai},
  journal = {arXiv preprint arXiv:2306.09301},
  year = {2023}
}""",
    raw_files=(
        RawFile(
            path=LISTS,
            url=f"{_HOME} (scripts/download, benchmark_imglist)",
            size="not stated",
            license="MIT (repository)",
            note="<benchmark>/test_<set>.txt, a path and a label in each line",
        ),
        RawFile(
            path=CLASSIC,
            url=f"{_HOME} (scripts/download)",
            size="not stated",
            license=_LICENSE,
            required=False,
            note="cifar10/, cifar100/, tin/, mnist/, svhn/, texture/, places365/",
        ),
        RawFile(
            path=LARGE,
            url=f"{_HOME} (scripts/download)",
            size="not stated",
            license=_LICENSE,
            required=False,
            note="imagenet_1k/, imagenet_v2/, imagenet_c/, imagenet_r/, ssb_hard/, ninco/, inaturalist/, openimage_o/",
        ),
    ),
    closed={"shift": SHIFTS, "context": _CONTEXTS},
    in_context=Rows(name="known classes as they are", split="test", where={"shift": ("none",)}),
    out_of_context=Rows(name="known classes in other images", split="test", where={"shift": ("covariate",)}),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece"),
    chance=0.1,
    words=Vocabulary(
        example="image",
        inside="on known classes as they are",
        outside="on known classes in other images",
        inside_title="without a shift",
        outside_title="under a shift",
    ),
    images_license=_LICENSE,
    annotations_license="MIT (OpenOOD's lists)",
    toy_world="toy_openood",
    tried_configs=("cifar10", "imagenet200_c", "cifar10_tin"),
)


def _declare_spectrum(benchmark: str) -> Spectrum:
    """The sets of a benchmark by what they are: known, shifted, near and far."""
    of = {name: image_set for name, image_set in SETS.items() if image_set.benchmark == benchmark}
    shifted = tuple(name for name, image_set in of.items() if image_set.context == "shifted")
    return Spectrum(
        known=benchmark,
        shifted=shifted,
        new={group: tuple(n for n, image_set in of.items() if image_set.context == group) for group in ("near", "far")},
        published=shifted,
        source="OpenOOD v1.5",
        image_of=name_validation_image if shifted else None,
    )


def _declare_config(listed: ListedSet) -> Benchmark:
    needed = (LISTS, listed.folder)
    return replace(
        _openood,
        chance=1 / len(CLASSES[listed.benchmark]),
        spectrum=_declare_spectrum(listed.benchmark),
        raw_files=tuple(replace(raw, required=raw.path in needed) for raw in _openood.raw_files),
    )


openood = replace(_openood, configs={name: _declare_config(listed) for name, listed in SETS.items()})


@dataclass
class OpenoodConfig(BenchmarkConfig):
    """Options of `load_dataset("openood", "cifar10" | "cifar10_tin" | "imagenet200_c" | ..., ...)`.

    Attributes:
        strict: Refuse lists and sets that are not complete, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    strict: bool = False


def _describe(name: str, listed: ListedSet) -> str:
    if name == listed.benchmark:
        return f"The {len(CLASSES[name]):,} known classes: train, validation and test."
    what = {"shifted": "known classes in other images", "near": "near, new classes", "far": "far, new classes"}
    return f"{listed.name} beside {listed.benchmark}: {what[listed.context]}."


class Openood(BenchmarkBuilder):
    """Four benchmarks for detectors, read from OpenOOD's own folders by OpenOOD's own lists.

    The config `cifar10` has the known classes; `cifar10_tin` and its like are the sets beside them. A list says which
    images a set has, so classes that OpenOOD removed because they overlap are not there. Labels are numbers of the
    known classes, and -1 where `is_ood`. `context` is known, shifted, near or far; detectors are reported on near and
    far as groups, for ImageNet-200 and ImageNet-1K in the full spectrum too. Splits whose list is missing are left out
    and noted, but `test` is needed. ImageNet-ES, which OpenOOD's code has since 2025, and the sets for validation of
    hyperparameters are not read.

    Source: Zhang et al. 2023, OpenOOD v1.5; `openood/evaluation_api/datasets.py` of OpenOOD 3c35632 (lists and
    folders); how many images each list has: copies of the lists, see `builders/sources/openood_sets.py`.

    >>> [name for name in Openood.builder_configs if name.startswith("cifar10_")]
    ['cifar10_cifar100', 'cifar10_tin', 'cifar10_mnist', 'cifar10_svhn', 'cifar10_texture', 'cifar10_places365']
    """

    BENCHMARK: ClassVar[Benchmark] = openood
    BUILDER_CONFIG_CLASS = OpenoodConfig
    BUILDER_CONFIGS: ClassVar[list[OpenoodConfig]] = OpenoodConfig.list_of(
        openood, {name: _describe(name, listed) for name, listed in SETS.items()}
    )

    def _features(self) -> datasets.Features:
        benchmark = SETS[self.config_name].benchmark
        sets = [name for name, image_set in SETS.items() if image_set.benchmark == benchmark]
        names = {"label": CLASSES[benchmark], "environment": sets}
        names["group"] = [f"{name}/{SETS[name].context}" for name in sets]
        return make_features(image=datasets.Image(), **names, shift=SHIFTS, is_ood="bool", context=_CONTEXTS)

    def _watched(self, folder: Path) -> Iterable[Path]:
        listed = SETS[self.config_name]
        for name in listed.lists.values():
            file = _place_list(folder, listed, name)
            if file.is_file():
                yield file
                parents = {PurePosixPath(path).parent for path in _read_list(file, listed)["path"]}
                yield from (place for parent in parents if (place := folder / listed.folder / parent).is_dir())

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        name, folder = self.config.name, self._folder()
        listed = SETS[name]
        root, parts, gaps = folder / listed.folder, {}, []
        for split, file_name in listed.lists.items():
            file = _place_list(folder, listed, file_name)
            if not file.is_file() and split != "test":
                gaps.append(f"no list {LISTS}{listed.benchmark}/{file_name}, so no split {split}")
                continue
            images = _read_list(file, listed)
            published = listed.images[split]
            if published is not None and len(images) != published:
                gaps.append(f"partial: {len(images):,} of {published:,} images in the list {file_name}")
            found, missing = find_listed(images, root)
            gaps += missing
            parts[split] = pa.table(
                {
                    "example_id": [str(PurePosixPath(path).with_suffix("")) for path in found["path"]],
                    "file": found["path"],
                    "label": found["label"],
                    "environment": [name] * len(found),
                    "group": [f"{name}/{listed.context}"] * len(found),
                    "shift": [listed.shift] * len(found),
                    "is_ood": [listed.shift == "semantic"] * len(found),
                    "context": [listed.context] * len(found),
                }
            )
        self._check_whole(f"{name} is not complete in {folder}", gaps)
        present = tuple(sorted({label for label in parts["test"]["label"].to_pylist() if label >= 0}))
        facts = BuildFacts(
            present_classes=present,
            trained_groups=(f"{name}/known",) if "train" in parts else None,
            other={"shift": listed.shift},
        )
        return self._splits(root, parts, facts, gaps)


def _place_list(folder: Path, listed: ListedSet, name: str) -> Path:
    return folder / LISTS / listed.benchmark / name


def _read_list(file: Path, listed: ListedSet) -> RawTable:
    return read_image_list(file, CLASSES[listed.benchmark], known=listed.shift != "semantic")
