"""ImageNet-OOD: images of classes outside ImageNet-1K, and ImageNet-1K with its corrupted and restyled variants."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import datasets

from oochub.benchmark import Archive, Benchmark, Mirror, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, cut_rows, make_features
from oochub.builders.sources.imagenet import is_wnid
from oochub.builders.sources.imagenet_listing import Listing, list_pictures, list_training_pictures
from oochub.builders.sources.imagenet_sets import (
    CORRUPTIONS,
    LISTED,
    SETS,
    SEVERITIES,
    SHIFTS,
    columns_of,
    entering,
    name_validation_image,
    set_of,
)
from oochub.builders.sources.imagenet_truth import DEVKIT, SOLUTION
from oochub.builders.sources.objectnet import BETWEEN, BORDER, FOLDERS, MAPPING
from oochub.builders.sources.stored import Stored, containers
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, LABELS
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Spectrum, Vocabulary

_ACCESS = "ImageNet terms of access: non-commercial research and education"
_ILSVRC = "https://image-net.org/challenges/LSVRC/2012/"
_TRAIN = "imagenet/train/"
_LISTS = {"imagenet_ood": "imagenetood.txt"} | {name: f"{name}.txt" for name in LISTED}
_OPENOOD = "https://github.com/Jingkang50/OpenOOD"
_OF_OPENOOD = {  # folder in OpenOOD's data, size, license, what the folder holds
    "ssb_hard": ("images_largescale/ssb_hard/", "49,000 JPEGs", _ACCESS, "<wnid>/*.JPEG"),
    "ninco": ("images_largescale/ninco/", "5,879 JPEGs", "each source's own", "<class>/*.jpg"),
    "inaturalist": ("images_largescale/inaturalist/", "10,000 JPEGs", "each image's own", "*.jpg, in folders or not"),
    "textures": ("images_classic/texture/", "5,640 JPEGs", "research purposes", "<texture>/*.jpg"),
}


def _declare_raw_file(path: str, url: str, size: str, license: str, note: str, also: str = "") -> RawFile:
    return RawFile(path=path, url=url, size=size, license=license, note=note, also=also, required=False)


_TFDS = "tensorflow/datasets, tensorflow_datasets/{}"
_ARCHIVES = (
    Archive(
        name="ILSVRC2012_img_train.tar",
        size=147_897_477_120,
        digest="sha256:b08200a27a8e34218a0e58fde36b0fe8f73bc377f4acea2d91602057c3ca45bb",
        source=_TFDS.format("url_checksums/imagenet2012.txt"),
    ),
    Archive(
        name="ILSVRC2012_img_val.tar",
        size=6_744_924_160,
        digest="sha256:c7e06a6c0baccf06d8dbeb6577d71efff84673a5dbdd50633ab44f8ea0456ae0",
        source=_TFDS.format("url_checksums/imagenet2012.txt"),
    ),
    Archive(
        name="imagenet-a.tar",
        size=687_552_512,
        digest="sha256:3bb3632277e6ba6392ea64c02ddbf4dd2266c9caffd6bc09c9656d28f012589e",
        source=_TFDS.format("datasets/imagenet_a/checksums.tsv"),
    ),
    Archive(
        name="imagenet-r.tar",
        size=2_191_079_936,
        digest="sha256:18c6bf493b39a0d975d48e587437f562caab9c52ae6327dcfa9dd8eb54aa1b52",
        source=_TFDS.format("url_checksums/imagenet_r.txt"),
    ),
    Archive(
        name="imagenetv2-matched-frequency.tar.gz",
        size=1_253_959_680,
        digest="sha256:a32004f9e773279307499059d320336a23ccdc62cb32063da29bae9bd04c122c",
        source=_TFDS.format("url_checksums/imagenet_v2.txt"),
    ),
    Archive(
        name="dtd-r1.0.1.tar.gz",
        size=625_239_812,
        digest="sha256:e42855a52a4950a3b59612834602aa253914755c95b0cff9ead6d07395f8e205",
        source=_TFDS.format("url_checksums/dtd.txt"),
    ),
)
_MIRRORS = (
    Mirror(name="vaishaal/ImageNetV2", holds="the archives of ImageNetV2"),
    Mirror(name="songweig/imagenet_sketch", holds="ImageNet-Sketch.zip, in data/"),
    Mirror(name="timm/objectnet", holds="ObjectNet as lossless WebP in Parquet files; it asks for consent"),
    Mirror(name="timm/objectnet-720p-in1k", holds="its 113 classes, shrunk to 720 pixels; it asks for consent"),
)

_imagenet_ood = Benchmark(
    name="imagenet_ood",
    title="ImageNet-OOD",
    summary="Images of 637 classes that ImageNet-1K lacks, with ImageNet-1K as it is, corrupted and redrawn.",
    version="1.0.0",
    homepage="https://github.com/princetonvisualai/imagenetood",
    # the images out of distribution are of ImageNet-21K; ImageNet-1K is what models are to know
    sources=("imagenet ood", "imagenetood", "imagenet 21k", "imagenet21k", "imagenet 22k", "imagenet22k"),
    counts="The published list of ImageNet-OOD has 31,802 files of 637 classes; the paper says 31,807 images.",
    citation="""@inproceedings{yang2024imagenetood,
  title = {ImageNet-OOD: Deciphering Modern Out-of-Distribution Detection Algorithms},
  author = {Yang, William and Zhang, Byron and Russakovsky, Olga},
  booktitle = {International Conference on Learning Representations},
  year = {2024}
}""",
    raw_files=(
        _declare_raw_file(
            *("imagenet/val/", _ILSVRC, "6.3 GB", _ACCESS),
            "<wnid>/*.JPEG, or 50,000 *.JPEG and one of the next two",
            "val/",
        ),
        _declare_raw_file(f"imagenet/{DEVKIT}/", _ILSVRC, "2.5 MB", _ACCESS, "data/: ground truth and meta.mat"),
        _declare_raw_file(
            f"imagenet/{SOLUTION}",
            "https://www.kaggle.com/c/imagenet-object-localization-challenge",
            "7 MB",
            _ACCESS,
            "the same for val/ of the Kaggle challenge",
        ),
        _declare_raw_file(_TRAIN, _ILSVRC, "138 GB", _ACCESS, "<wnid>/*.JPEG, or tar files: the split train", "train/"),
        _declare_raw_file(
            "imagenet-21k/",
            "https://image-net.org/download-images",
            "1.1 TB",
            _ACCESS,
            "<wnid>/*.JPEG, <wnid>.tar, one tar of all, or WebDataset shards",
            "winter21_whole/",
        ),
        _declare_raw_file(
            _LISTS["imagenet_ood"],
            "https://github.com/princetonvisualai/imagenetood",
            "1 MB",
            "not stated",
            "31,802 lines <wnid>/<wnid>_<k>.JPEG",
        ),
        _declare_raw_file(
            "imagenet-c/",
            "https://zenodo.org/records/2235448",
            "49 GB",
            "CC BY 4.0",
            "<corruption>/<severity>/<wnid>/*.JPEG, or noise.tar, blur.tar, weather.tar and digital.tar",
        ),
        _declare_raw_file(
            "imagenet-r/", "https://github.com/hendrycks/imagenet-r", "2.2 GB", "MIT", "<wnid>/<rendition>_<k>.jpg"
        ),
        _declare_raw_file(
            "sketch/",
            "https://github.com/HaohanWang/ImageNet-Sketch",
            "8 GB",
            "MIT",
            "<wnid>/sketch_<k>.JPEG",
            "imagenet-sketch/",
        ),
        _declare_raw_file(
            "imagenet-a/",
            "https://github.com/hendrycks/natural-adv-examples",
            "7,500 JPEGs",
            "MIT (repository)",
            "<wnid>/*.jpg",
        ),
        _declare_raw_file(
            "imagenetv2-matched-frequency-format-val/",
            "https://huggingface.co/datasets/vaishaal/ImageNetV2",
            "10,000 JPEGs",
            "MIT (repository)",
            "<0 to 999, the number of the class>/*.jpeg",
            "imagenetv2-matched-frequency/",
        ),
        _declare_raw_file(
            "objectnet-1.0/",
            "https://objectnet.dev/download.html",
            "50,000 PNGs",
            "CC BY 4.0 with two more terms: it never tunes a model, and images are posted with their red border",
            "images/<class>/*.png, and mappings/ of the same download",
        ),
        _declare_raw_file(
            "openimage_o/",
            "https://github.com/haoqiwang/vim",
            "17,632 JPEGs",
            "CC BY 2.0 (Open Images)",
            "*.jpg, in folders or not",
            "openimage-o/",
        ),
        _declare_raw_file(
            _LISTS["openimage_o"],
            "https://github.com/haoqiwang/vim/tree/master/datalists",
            "17,632 lines",
            "not stated",
            "which of Open Images' files",
        ),
        *(
            _declare_raw_file(SETS[name].folder, _OPENOOD, size, license, note, also)
            for name, (also, size, license, note) in _OF_OPENOOD.items()
        ),
        *(
            _declare_raw_file(
                *(_LISTS[name], _OPENOOD, "1 MB", "not stated", f"which files of {SETS[name].folder}"),
                f"benchmark_imglist/imagenet/test_{name}.txt",
            )
            for name in _OF_OPENOOD
        ),
    ),
    archives=_ARCHIVES,
    mirrors=_MIRRORS,
    closed={"shift": SHIFTS},
    in_context=Rows(name="ImageNet-1K as it is", split="test", where={"shift": ("none",)}),
    out_of_context=Rows(name="its classes in other images", split="test", where={"shift": ("covariate",)}),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.001,
    words=Vocabulary(
        example="image",
        inside="on ImageNet-1K as it is",
        outside="on its classes in other images",
        inside_title="without a shift",
        outside_title="under a shift",
    ),
    spectrum=Spectrum(
        known="imagenet_1k",
        shifted=tuple(name for name, image_set in SETS.items() if image_set.shift == "covariate"),
        new={"near": ("ssb_hard", "ninco"), "far": ("inaturalist", "textures", "openimage_o")},
        published=("imagenet_c", "imagenet_r", "imagenet_v2"),
        source="OpenOOD v1.5",
        image_of=name_validation_image,
    ),
    images_license=f"{_ACCESS}; each set's own above",
    annotations_license="not stated",
    toy_world="toy_imagenet",
    tried_configs=("imagenet_1k",),
)
_CONFIGS = (*SETS, *(f"{corruption}_{severity}" for corruption in CORRUPTIONS for severity in SEVERITIES))


def _declare_config(config: str) -> Benchmark:
    """The declaration of a config: of the raw files it needs the folder of its set."""
    folder = SETS[set_of(config)].folder
    raw_files = tuple(replace(raw, required=raw.path == folder) for raw in _imagenet_ood.raw_files)
    return replace(_imagenet_ood, raw_files=raw_files)


imagenet_ood = replace(_imagenet_ood, configs={config: _declare_config(config) for config in _CONFIGS})


@dataclass
class ImagenetOodConfig(BenchmarkConfig):
    """Options of `load_dataset("imagenet_ood", "imagenet_ood" | "imagenet_1k" | "fog_3" | ..., ...)`.

    Attributes:
        file_list: The files that belong to `imagenet_ood`, `openimage_o` or a set of OpenOOD, one per line, when the
            list does not lie in the data folder as `imagenetood.txt`, `openimage_o.txt`, `ninco.txt`, ... Without one
            every image of the 637 classes is taken, or every image.
        held_out: Only for `imagenet_1k`: this share of each class's training images, the last by name, becomes the
            split `validation`, which `oochub train` selects its model by.
        strict: Refuse sets that are not complete, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    file_list: str | None = None
    held_out: float = 0.0
    strict: bool = False


class ImagenetOod(BenchmarkBuilder):
    """ImageNet-1K, sets with its classes in other images (C, R, Sketch, A, V2, ObjectNet), and with none of them.

    Every config has the same columns, and `objectnet` also `also_right`. Labels are 0 to 999 in the standard order, and
    -1 where `is_ood`. A row's `environment` is its set and its `group` the set with what the image is (a corruption, a
    rendition); C, R, Sketch, A, V2 and ObjectNet are `shift` "covariate", the others "semantic"; `context` says near or
    far of the sets of OpenOOD v1.5, whose folder of data is read as it is. The bytes are those of the source, read in
    place from folders or tar files; `codec`, `width` and `height` are what the bytes say, whatever the file is called.

    `imagenet_a` has 200 of the classes, and the answer is looked for among these, as by its authors: the build record
    has them as `present_classes`. `imagenet_v2` is MatchedFrequency, whose folders are the numbers of the classes.
    Sources: Hendrycks et al. 2019, abstract (7,500 images), and `eval.py` of natural-adv-examples 0777070 (200
    classes); `README.md` of ImageNetV2 0b0c3fe (10,000 images, ten of each class); public loaders (folders' numbers).

    `objectnet` has the 113 classes of ObjectNet that its download maps to classes of ImageNet-1K, one or more. The
    first is the label, the others are `also_right`: an answer that is one of them counts as right. Its authors look for
    the answer among all 1,000 classes. The red border of 2 pixels is cut before a model sees an image (`border` of the
    build record), and kept where images are shown, as its license asks. The download does not say the background, the
    rotation and the viewpoint of an image. Source: see `oochub.builders.sources.objectnet`.

    Source: Yang, Zhang and Russakovsky 2024, ImageNet-OOD, Sections 2 and 3, Appendix I; Zhang et al. 2024, OpenOOD
    v1.5, Section 4; Huang and Li 2021, MOS, Section 4.1.

    >>> list(ImagenetOod.builder_configs)[6:12], len(ImagenetOod.builder_configs)
    (['ssb_hard', 'ninco', 'inaturalist', 'textures', 'imagenet_a', 'imagenet_v2'], 88)
    """

    BENCHMARK: ClassVar[Benchmark] = imagenet_ood
    BUILDER_CONFIG_CLASS = ImagenetOodConfig
    BUILDER_CONFIGS: ClassVar[list[ImagenetOodConfig]] = ImagenetOodConfig.list_of(
        imagenet_ood,
        {
            "imagenet_1k": "The validation images of ImageNet-1K (split test), and its training images.",
            "imagenet_c": "15 corruptions of the validation images at 5 severities, pooled.",
            "imagenet_r": "Renditions of 200 classes: art, cartoons, toys and others.",
            "imagenet_sketch": "Black and white sketches of the 1,000 classes.",
            "imagenet_ood": "Images of 637 classes of ImageNet-21K that ImageNet-1K lacks.",
            "openimage_o": "Images from Open Images that show no class of ImageNet-1K.",
            "ssb_hard": "Near: 980 classes of ImageNet-21K that are like those of ImageNet-1K.",
            "ninco": "Near: images of other classes, each looked at for those of ImageNet-1K.",
            "inaturalist": "Far: plants that ImageNet-1K has no class for.",
            "textures": "Far: the Describable Textures.",
            "imagenet_a": "Photographs of 200 classes that a ResNet-50 gets wrong.",
            "imagenet_v2": "New photographs of the 1,000 classes, ten of each: MatchedFrequency.",
            "objectnet": "Photographs of 113 classes at random places, turns and views: ObjectNet.",
            **{
                f"{corruption}_{severity}": f"The validation images with {corruption} at severity {severity} of 5."
                for corruption in CORRUPTIONS
                for severity in SEVERITIES
            },
        },
    )

    def __init__(self, *args: Any, config_name: str | None = None, hash: str | None = None, **options: Any) -> None:
        listed = self.checked_options({"file_list": options.get("file_list")}).get("file_list")
        if listed and Path(listed).is_file():  # it may lie outside the data folder
            hash = hashlib.sha256((hash or "").encode() + Path(listed).read_bytes()).hexdigest()
        super().__init__(*args, config_name=config_name, hash=hash, **options)

    def _features(self) -> datasets.Features:
        groups = [f"{name}/{context}" for name, image_set in SETS.items() for context in image_set.contexts]
        contexts = dict.fromkeys(context for image_set in SETS.values() for context in image_set.contexts)
        names = {"label": IMAGENET_1K_NAMES, "environment": tuple(SETS), "group": groups, "shift": SHIFTS}
        others = {"also_right": datasets.List(datasets.Value("string"))} if self.config_name == "objectnet" else {}
        about = {"severity": "int8", "wnid": "string", "class_name": "string"}
        about |= {**others, "file_name": "string", "codec": "string", "width": "int32", "height": "int32"}
        return make_features(image=datasets.Image(), **names, is_ood="bool", context=tuple(contexts), **about)

    def _watched(self, folder: Path) -> Iterable[Path]:
        config = self.config_name
        needed = {SETS[set_of(config)].folder, _LISTS.get(config)}
        needed |= {_TRAIN, f"imagenet/{SOLUTION}", f"imagenet/{DEVKIT}/"} if config == "imagenet_1k" else set()
        enter = entering(config)
        for path in filter(None, (raw.find(folder) for raw in imagenet_ood.raw_files if raw.path in needed)):
            yield from containers(path, enter, is_last=is_wnid) if path.is_dir() else [path]
            if config == "objectnet":
                yield from (file for file in (path / FOLDERS, path / MAPPING) if file.is_file())

    def _find(self, path: str) -> Path | None:
        return next(raw for raw in imagenet_ood.raw_files if raw.path == path).find(self._folder())

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        config, environment = self.config, set_of(self.config.name)
        self._check_options()
        place = self._find(SETS[environment].folder)
        assert place is not None  # noqa: S101  checked by _folder
        list_file = self._find(_LISTS[environment]) if environment in _LISTS else None
        list_file = Path(config.file_list) if config.file_list else list_file
        listing = list_pictures(config.name, place, list_file, within=self._within)
        parts = {"test": (place, listing.pictures)}
        gaps = listing.gaps
        training = self._find(_TRAIN) if config.name == "imagenet_1k" else None
        if training is not None:
            listed = list_training_pictures(training, within=self._within)
            train, validation = _hold_out(listed.pictures, config.held_out)
            parts = {"train": (training, train), "validation": (training, validation)} | parts
            gaps = [*gaps, *(gap for gap in listed.gaps if gap not in gaps)]
        elif config.held_out:
            raise OochubError(f"held_out takes images from the training set, but {self._folder()} lacks {_TRAIN}.")
        self._check_whole(f"{environment} is not complete in {self._folder()}", gaps)
        parts = {split: part for split, part in parts.items() if part[1]}
        self._record([*gaps, *listing.remarks], _collect_facts(environment, parts, listing))
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"root": root, "shards": cut_rows(Stored.table(pictures))})
            for split, (root, pictures) in parts.items()
        ]

    def _check_options(self) -> None:
        config = self.config
        if config.file_list and config.name not in _LISTS:
            raise OochubError(f"file_list is only read by {' and '.join(_LISTS)}; leave it out for {config.name}.")
        if config.held_out and config.name != "imagenet_1k":
            raise OochubError(
                f"held_out is only for imagenet_1k, which has training images; leave it out for {config.name}."
            )
        if not 0 <= config.held_out < 1:
            raise OochubError(f"held_out must be a share in [0, 1), got {config.held_out}.")

    def _columns(self, root: Path, row: Any) -> dict[str, Any]:
        return columns_of(set_of(self.config.name), Stored(**row), root, within=self._within)


def _hold_out(pictures: list[Stored], share: float) -> tuple[list[Stored], list[Stored]]:
    """The last `share` of each class apart from the others."""
    of_class: dict[str, list[Stored]] = {}
    for stored in pictures:
        of_class.setdefault(stored.label, []).append(stored)
    cuts = {wnid: len(several) - int(share * len(several)) for wnid, several in of_class.items()}
    return (
        [stored for wnid, several in of_class.items() for stored in several[: cuts[wnid]]],
        [stored for wnid, several in of_class.items() for stored in several[cuts[wnid] :]],
    )


def _collect_facts(environment: str, parts: dict[str, tuple[Path, list[Stored]]], listing: Listing) -> BuildFacts:
    present = {wnid for stored in parts["test"][1] for wnid in stored.label.split(BETWEEN)}
    return BuildFacts(
        rows={split: len(pictures) for split, (_, pictures) in parts.items()},
        present_classes=tuple(sorted({LABELS[wnid] for wnid in present if wnid in LABELS})),
        border=BORDER if environment == "objectnet" else None,
        trained_groups=("imagenet_1k/photo",) if "train" in parts else None,
        other={"shift": SETS[environment].shift} | ({"missing": list(listing.missing)} if listing.missing else {}),
    )
