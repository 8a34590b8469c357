"""NOOCH: objects without their usual context, and contexts without the object, in COCO and COCO-Stuff."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any, ClassVar

import datasets

from oochub.benchmark import Archive, Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig
from oochub.builders.sources.coco_categories import CATEGORY_IDS, THINGS
from oochub.builders.sources.nooch.images import NoochImages
from oochub.builders.sources.nooch.split import FULL
from oochub.builders.sources.nooch.suite import PAPER_ENCODER, PUBLISHED_CONTEXTS
from oochub.builders.sources.nooch.task import NoochTask, Tau, nooch_task_of_all
from oochub.errors import OochubError, unknown_name
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary

_ANNOTATIONS: dict[str, Any] = dict(
    url="http://images.cocodataset.org/annotations/annotations_trainval2017.zip",
    size="241 MB",
    license="CC BY 4.0",
)
_STUFF: dict[str, Any] = dict(
    url="http://calvin.inf.ed.ac.uk/wp-content/uploads/data/cocostuffdataset/stuff_trainval2017.zip",
    size="543 MB",
    license="CC BY 4.0",
)
_FLICKR = "each image's own, on Flickr; column `license`"


def _describe_context(row: Mapping[str, Any], facts: BuildFacts) -> str:
    group = row.get("group")
    if group is None:  # rows of which only the label is known
        return ""
    names = " or ".join(name.replace("_", " ") for name in facts.contexts) or "context"
    return f"no {names}" if str(group).endswith("/no_context") else names


def _explain_not_buildable(folder: Path, options: Mapping[str, Any]) -> dict[str, str]:
    config = NoochConfig(name="all", **options)
    if config.contexts == "computed" and not config.official_ids:
        reasons = _find_without_context(folder, alpha=config.alpha, area=config.area, splits=config.splits)
    else:
        only = config.contexts == "published" or config.official_ids
        unpublished = [name for name in _CLASSES if only and name not in PUBLISHED_CONTEXTS]
        reasons = dict.fromkeys(unpublished, "The paper publishes contexts for its 12 tasks only.")
    configs = [f"{criterion}_{name}" for criterion in ("ce", "gist", "boxes") for name in reasons]
    return {config: reasons[NoochTask.parse(config)[1]] for config in configs if config not in _STUFF_BOXES}


def _declare_archive(name: str, size: int, sha256: str) -> Archive:
    source = "tensorflow/datasets, tensorflow_datasets/url_checksums/coco2017.txt"
    return Archive(name=name, size=size, digest=f"sha256:{sha256}", source=source)


_nooch = Benchmark(
    name="nooch",
    title="NOOCH",
    summary="COCO images in which an object stands without its usual context, or the context without the object.",
    version="1.0.0",
    homepage="https://github.com/dmadras/nooch",
    sources=("coco", "mscoco"),
    expected_rows={"train": 86_302, "validation": 12_328, "test": 24_657},
    counts="These are the paper's (Appendix B.1), by its official split file.",
    citation="""@inproceedings{madras2021identifying,
  title = {Identifying and Benchmarking Natural Out-of-Context Prediction Problems},
  author = {Madras, David and Zemel, Richard},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2021}
}""",
    raw_files=(
        *(
            RawFile(
                path=f"images/{year}/",
                url=f"http://images.cocodataset.org/zips/{year}.zip",
                size=size,
                license=_FLICKR,
                note=note,
            )
            for year, size, note in (("train2017", "18 GB", "118,287 JPEGs"), ("val2017", "1 GB", "5,000 JPEGs"))
        ),
        *(
            RawFile(
                path=f"annotations/{kind}_{year}.json",
                also=f"annotations-json/{kind}_{year}.json",
                required=kind != "captions",
                note="for gist" if kind == "captions" else "",
                **source,
            )
            for kind, source in (("instances", _ANNOTATIONS), ("stuff", _STUFF), ("captions", _ANNOTATIONS))
            for year in ("train2017", "val2017")
        ),
        RawFile(
            path="cocostuff_split_image_ids.npz",
            url="https://github.com/dmadras/nooch/tree/main/nooch/data",
            size="1 MB",
            license="BSD-3-Clause",
            required=False,
            note="the official split",
        ),
    ),
    archives=(
        _declare_archive(
            *("train2017.zip", 19_336_861_798, "69a8bb58ea5f8f99d24875f21416de2e9ded3178e903f1f7603e283b9e06d929")
        ),
        _declare_archive(
            *("val2017.zip", 815_585_330, "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05")
        ),
        _declare_archive(
            "annotations_trainval2017.zip",
            252_907_541,
            "113a836d90195ee1f884e704da6304dfaaecff1f023f49b6ca93c4aaae470268",
        ),
    ),
    in_context=Rows(name="easy", split="test", where={"challenge": ("easy",)}),
    out_of_context=Rows(name="hard", split="test", where={"challenge": ("hard_positive", "hard_negative")}),
    primary_metric="auc",
    metrics=("auc", "auc_hard", "nll", "error_rate", "accuracy", "ece", "worst_group"),
    chance=0.5,
    words=Vocabulary(
        example="image",
        inside="when objects stand in their usual context",
        outside="out of context",
        cause="context",
        pair="one image with the object and one without",
        hard_positive="object, no context",
        hard_negative="context, no object",
    ),
    context_column="context_area",
    images_license="Flickr terms of use; each image has its own licence",
    annotations_license="CC BY 4.0",
    not_buildable=_explain_not_buildable,
    describe_context=_describe_context,
    task=nooch_task_of_all,
    toy_world="toy_coco",
    tried_configs=("ce_car", "all", "boxes_car"),
)
_CLASSES = tuple(CATEGORY_IDS)
_TASKS = (*PUBLISHED_CONTEXTS, *(name for name in _CLASSES if name not in PUBLISHED_CONTEXTS))
_THINGS = {row["name"].replace(" ", "_"): row["id"] for row in THINGS}
_STUFF_BOXES = {f"boxes_{name}" for name in _CLASSES if name not in _THINGS}
_boxes = replace(
    _nooch,
    output="boxes",
    summary="COCO images in which an object is to be found without its usual context, or the context is empty.",
    metrics=("box_average_precision", "box_precision_at_iou", "box_average_recall", "false_alarms"),
    primary_metric="box_average_precision",
    chance=nan,
    task_category="object-detection",
    box_classes=_THINGS,
)
nooch = replace(
    _nooch,
    configs={
        "all": replace(_nooch, output="labels"),
        **{f"boxes_{name}": _boxes for name in _TASKS if name in _THINGS},
    },
)


@dataclass
class NoochConfig(BenchmarkConfig):
    """Options of `load_dataset("nooch", "ce_<class>" | "gist_<class>" | "boxes_<class>" | "all", ...)`.

    Attributes:
        contexts: "computed" from the training split; "published" for the suite's 12 tasks; or one class name or a list
            of them, the one that makes the environments first.
        alpha: A context takes this fraction of the image more than the object, on average (Section 3.2.1).
        beta: The fraction above which a context counts as present; see `co_occurrence`.
        area: What a class takes of an image: "field" (the annotations' `area`, as released), "mask" or "union".
        official_ids: Folder of the published id files: membership of validation and test is theirs (12 tasks).
        encoder: Model of sentence-transformers for the captions: a name, a Hub id or a folder. None is the paper's,
            stsb-distilroberta-base-v2, where one is needed, and no embedding elsewhere.
        tau: Threshold(s) of the gist similarity, one number or (positives, negatives); None takes as many hard
            examples of each side and split as co-occurrence has.
        splits: The official `cocostuff_split_image_ids.npz` when it does not lie in the data folder.
        strict: Refuse a folder that is not all of COCO, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    contexts: str | Sequence[str] = "computed"
    alpha: float = 0.05
    beta: float = 0.1
    area: str = "field"
    official_ids: str | None = None
    encoder: str | None = None
    tau: Tau = None
    splits: str | None = None
    strict: bool = False


class Nooch(BenchmarkBuilder):
    """Binary tasks "is there a <class> in the image?", and all 171 of them at once.

    `ce_<class>` has the challenge of each image by co-occurrence, `gist_<class>` by the similarity of its captions to
    those of the training positives; a class without a context cannot be built and says so. `boxes_<class>` has the
    boxes of each of the 80 things, with the challenge by co-occurrence: AP in and out of context, and false alarms
    where the context is there and the object is not. `all` has what every class
    takes of every image: `oochub.task(data, "ce_car")` makes a task of it without reading an image. Rows come in the
    order of the official split file, or by image id.

    >>> list(Nooch.builder_configs)[:3], len(Nooch.builder_configs)
    (['ce_car', 'ce_bowl', 'ce_boat'], 423)
    """

    BENCHMARK: ClassVar[Benchmark] = nooch
    BUILDER_CONFIG_CLASS = NoochConfig
    BUILDER_CONFIGS: ClassVar[list[NoochConfig]] = NoochConfig.list_of(
        nooch,
        {
            **{f"ce_{n}": f"Is there a {n}? Examples are hard if object and context do not co-occur." for n in _TASKS},
            **{
                f"gist_{n}": f"Is there a {n}? Examples are hard if the captions describe another scene."
                for n in _TASKS
            },
            **{
                f"boxes_{n}": f"Where is each {n}? Examples are hard if object and context do not co-occur."
                for n in _TASKS
                if n in _THINGS
            },
            "all": "The area of each of 171 classes in each image, with captions: every task at once.",
        },
    )

    def _info(self) -> datasets.DatasetInfo:
        info = super()._info()
        info.license = f"images: {nooch.images_license}; annotations: {nooch.annotations_license}"
        return info

    def _features(self) -> datasets.Features:
        text = datasets.Value("string")
        picture = {"example_id": text, "image": datasets.Image()}
        origin = {"license": text, "source_url": text}
        if self.config.name == "all":
            exact = datasets.Value("float64")  # a fraction of exactly beta must stay it
            own: dict[str, Any] = {
                "labels": datasets.List(datasets.ClassLabel(names=list(_CLASSES))),
                "areas": datasets.List(exact, length=len(_CLASSES)),
                "captions": datasets.List(text),
                "gist_embedding": datasets.List(datasets.Value("float32")),
                "gist_similarity": datasets.List(exact),
            }
        else:
            task = self._load_task([])
            own = dict(task.features(gist=task.criterion == "gist"))
            own |= {"captions": datasets.List(text)} if task.criterion == "gist" else {}
        return datasets.Features({**picture, **own, **origin})

    def _load_task(self, contexts: Sequence[str]) -> NoochTask:
        criterion, name = NoochTask.parse(self.config.name)
        return NoochTask(name=name, criterion=criterion, contexts=contexts, beta=self.config.beta, tau=self.config.tau)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        self._check_options()
        folder, config = self._folder(), self.config
        images = NoochImages.read(folder, area=config.area, splits=config.splits)
        notes = list(images.notes)
        if len(images) != FULL:
            notes.append(f"partial: {len(images):,} of {FULL:,} images")
        self._check_whole(f"{folder} is not the complete benchmark", notes)
        gist = config.name.startswith("gist_") and not config.official_ids
        encoder = config.encoder or (PAPER_ENCODER if gist else None)
        if encoder:
            images.embed(encoder)
        if config.name == "all":
            rows, facts = images.rows_of_all(self._asked, alpha=config.alpha, beta=config.beta)
        else:
            contexts = self._load_contexts(images)
            task = self._load_task(contexts)
            source = self._asked if isinstance(self._asked, str) else "given"
            alpha = config.alpha if source == "computed" else None
            rows, facts, task_notes = images.rows_of_task(
                task, official_ids=config.official_ids, contexts_from=source, alpha=alpha
            )
            notes += task_notes
        return self._splits(folder / "images", rows, facts, notes)

    @property
    def _asked(self) -> str | Sequence[str]:
        contexts = self.config.contexts
        return [contexts] if isinstance(contexts, str) and contexts in CATEGORY_IDS else contexts

    def _load_contexts(self, images: NoochImages) -> list[str]:
        contexts = self._asked
        _, name = NoochTask.parse(self.config.name)
        if contexts == "published":
            return list(PUBLISHED_CONTEXTS[name])
        return images.contexts(name, self.config.alpha) if isinstance(contexts, str) else list(contexts)

    def _check_options(self) -> None:
        config = self.config
        contexts, every = self._asked, config.name == "all"
        criterion, name = NoochTask.parse(config.name)
        if contexts == "published" and not every and name not in PUBLISHED_CONTEXTS:
            raise OochubError(
                f"The paper publishes contexts for its 12 tasks only: {', '.join(PUBLISHED_CONTEXTS)}. "
                f"For {name} use contexts='computed' or give a list of class names."
            )
        if isinstance(contexts, str) and contexts not in ("computed", "published"):
            raise OochubError(
                f"contexts must be 'computed', 'published', a class name or a list of them, got {contexts!r}."
            )
        for context in () if isinstance(contexts, str) else contexts:
            if context not in CATEGORY_IDS:
                raise unknown_name("class of COCO-Stuff", context, CATEGORY_IDS)
        if not isinstance(contexts, str) and (every or not contexts):
            raise OochubError(
                "contexts=[...] names the contexts of one class, at least one; the config 'all' takes 'computed', or "
                "'published', which replaces the contexts of the suite's 12 tasks."
            )
        if not (config.alpha >= 0 and 0 <= config.beta < 1):
            raise OochubError(
                f"alpha must be at least 0 and beta a fraction in [0, 1), got {config.alpha} and {config.beta}. The "
                "paper's main text prints beta = 1; its appendix and the released ids use 0.1."
            )
        if config.official_ids and name not in PUBLISHED_CONTEXTS:
            raise OochubError(
                f"official_ids exist only for the suite's 12 tasks: {', '.join(PUBLISHED_CONTEXTS)}; not for "
                f"{config.name}."
            )
        if config.tau is not None and criterion != "gist":
            raise OochubError(f"tau is the threshold of the gist criterion; load gist_{name}, or leave it out.")
        if config.official_ids and config.tau is not None:
            raise OochubError("official_ids and tau both set the hard examples: give only one of them.")


def _find_without_context(
    folder: Path, *, alpha: float, area: str = "field", splits: str | None = None
) -> dict[str, str]:
    """The classes without a context, each with what the builder says of it, in the order of the 171.

    They make no task, and are found before any is built.

    Args:
        folder: The raw folder.
        alpha: See `NoochImages.contexts`.
        area: See `NoochImages.read`.
        splits: See `NoochImages.read`.

    Raises:
        OochubError: What `NoochImages.read` raises.

    Source: Madras and Zemel 2021, Section 3.2.1, and Figure 10: about 70 of 171 have one at alpha = 0.05.
    """
    images = NoochImages.read(folder, area=area, splits=splits)
    reasons: dict[str, str] = {}
    for name in CATEGORY_IDS:
        try:
            images.contexts(name, alpha)
        except OochubError as error:
            reasons[name] = str(error)
    return reasons
