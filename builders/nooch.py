"""NOOCH: objects without their usual context, and contexts without the object, in COCO and COCO-Stuff."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.benchmark import Benchmark, RawFile, Selection
from oochub.builder import BenchmarkBuilder, shards
from oochub.builders.criteria.co_occurrence import co_occurrence
from oochub.builders.sources.coco import CocoTable, read_coco
from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.nooch_split import nooch_split
from oochub.errors import OochubError, unknown_name

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
_FLICKR = "each picture's own, on Flickr; column `license`"


def _describe_context(row: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    names = " or ".join(name.replace("_", " ") for name in facts.get("contexts", [])) or "context"
    return f"no {names}" if str(row["group"]).endswith("/no_context") else names


nooch = Benchmark(
    name="nooch",
    title="NOOCH",
    summary="COCO images in which an object stands without its usual context, or the context without the object.",
    version="1.0.0",
    homepage="https://github.com/dmadras/nooch",
    citation="""@inproceedings{madras2021identifying,
  title = {Identifying and Benchmarking Natural Out-of-Context Prediction Problems},
  author = {Madras, David and Zemel, Richard},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2021}
}""",
    raw_files=(
        RawFile(
            path="images/train2017/",
            url="http://images.cocodataset.org/zips/train2017.zip",
            size="18 GB",
            license=_FLICKR,
            note="118,287 JPEGs",
        ),
        RawFile(
            path="images/val2017/",
            url="http://images.cocodataset.org/zips/val2017.zip",
            size="1 GB",
            license=_FLICKR,
            note="5,000 JPEGs",
        ),
        RawFile(
            path="annotations/instances_train2017.json",
            also="annotations-json/instances_train2017.json",
            **_ANNOTATIONS,
        ),
        RawFile(
            path="annotations/instances_val2017.json", also="annotations-json/instances_val2017.json", **_ANNOTATIONS
        ),
        RawFile(path="annotations/stuff_train2017.json", also="annotations-json/stuff_train2017.json", **_STUFF),
        RawFile(path="annotations/stuff_val2017.json", also="annotations-json/stuff_val2017.json", **_STUFF),
        RawFile(
            path="cocostuff_split_image_ids.npz",
            url="https://github.com/dmadras/nooch/tree/main/nooch/data",
            size="1 MB",
            license="BSD-3-Clause",
            required=False,
            note="the official split",
        ),
    ),
    in_context=Selection(name="easy", split="test", where={"challenge": ("easy",)}),
    out_of_context=Selection(name="hard", split="test", where={"challenge": ("hard_positive", "hard_negative")}),
    primary_metric="auc",
    metrics=("auc", "auc_hard", "nll", "error_rate", "accuracy", "ece", "worst_group"),
    chance=0.5,
    context_column="context_area",
    images_license="Flickr terms of use; each picture has its own licence",
    annotations_license="CC BY 4.0",
    describe_context=_describe_context,
)

_FULL = 123_287
# The contexts behind the released ids, the environments' one first: Appendix B.3, the released nooch_tasks.txt and
# the nesting of the released sets. Kite's third member is the least certain.
_PUBLISHED = {
    "car": ("road",),
    "bowl": ("dining_table",),
    "boat": ("sea",),
    "fire_hydrant": ("pavement",),
    "airplane": ("sky-other",),
    "cow": ("grass",),
    "backpack": ("person",),
    "cup": ("dining_table", "person"),
    "surfboard": ("sea", "sky-other"),
    "tie": ("person",),
    "sports_ball": ("playingfield", "person"),
    "kite": ("sky-other", "grass", "clouds"),
}
_CLASSES = tuple(CATEGORY_IDS)


@dataclass
class NoochConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """Options of `load_dataset("nooch", "ce_<class>", ...)`.

    Attributes:
        contexts: "computed" from the training split; "published" for the suite's 12 tasks; or a list of class names,
            the one that makes the environments first.
        alpha: A context takes this fraction of the image more than the object, on average (Section 3.2.1).
        beta: The fraction above which a context counts as present; see `co_occurrence`.
        splits: The official `cocostuff_split_image_ids.npz` when it does not lie in the data folder.
        strict: Refuse a folder that is not all of COCO, instead of noting it.
    """

    contexts: str | Sequence[str] = "computed"
    alpha: float = 0.05
    beta: float = 0.1
    splits: str | None = None
    strict: bool = False


class Nooch(BenchmarkBuilder):
    """Binary tasks "is there a <class> in the image?" with the challenge of each image by co-occurrence.

    `ce_<class>` exists for each of the 171 classes of COCO and COCO-Stuff; one without a context cannot be built and
    says so. Rows come in the order of the official split file, or by image id.

    >>> list(Nooch.builder_configs)[:3]
    ['ce_car', 'ce_bowl', 'ce_boat']
    """

    BENCHMARK: ClassVar[Benchmark] = nooch
    BUILDER_CONFIG_CLASS = NoochConfig
    BUILDER_CONFIGS: ClassVar[list[NoochConfig]] = [
        NoochConfig(
            name=f"ce_{name}",
            version=datasets.Version(nooch.version),
            description=f"Is there a {name.replace('_', ' ')}? Hard where object and context do not co-occur.",
        )
        for name in (*_PUBLISHED, *(name for name in _CLASSES if name not in _PUBLISHED))
    ]

    @property
    def _object(self) -> str:
        return str(self.config.name).removeprefix("ce_")

    def _info(self) -> datasets.DatasetInfo:
        name = self._object
        sides = [f"no_{name}", name]
        contexts = ["no_context", "context"]
        return datasets.DatasetInfo(
            description=nooch.summary,
            homepage=nooch.homepage,
            citation=nooch.citation,
            license=f"images: {nooch.images_license}; annotations: {nooch.annotations_license}",
            features=datasets.Features(
                {
                    "example_id": datasets.Value("string"),
                    "image": datasets.Image(),
                    "label": datasets.ClassLabel(names=sides),
                    "environment": datasets.ClassLabel(names=[f"{s}/{c}_pixels" for s in sides for c in contexts]),
                    "group": datasets.ClassLabel(names=[f"{s}/{c}" for s in sides for c in contexts]),
                    "challenge": datasets.ClassLabel(names=["easy", "hard_positive", "hard_negative", "hard"]),
                    "area": datasets.Value("float32"),
                    "context": datasets.Value("string"),
                    "context_area": datasets.List(datasets.Value("float32")),
                    "license": datasets.Value("string"),
                    "source_url": datasets.Value("string"),
                }
            ),
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        self._check_options()
        folder = self._folder()
        table = read_coco(folder)
        _check_files(folder, table)
        rows_of, notes = nooch_split(folder, table, given=self.config.splits)
        column = _CLASSES.index(self._object)
        contexts = self._contexts(table, rows_of["train"], column)
        if len(table.image_id) != _FULL:
            notes.append(f"partial: {len(table.image_id):,} of {_FULL:,} images")
        if notes and self.config.strict:
            raise OochubError(f"strict=True, but {folder} is not the complete benchmark: {'; '.join(notes)}.")
        facts = {
            "object": self._object,
            "contexts": contexts,
            "contexts_from": self.config.contexts if isinstance(self.config.contexts, str) else "given",
            "beta": self.config.beta,
            "rows": {split: len(rows) for split, rows in rows_of.items()},
        }
        self._record(notes, facts)
        described = self._describe(table, column, contexts)
        return [
            datasets.SplitGenerator(
                name=split,
                gen_kwargs={
                    "root": folder / "images",
                    "shards": shards([described(row) for row in rows]),
                },
            )
            for split, rows in rows_of.items()
        ]

    def _check_options(self) -> None:
        contexts = self.config.contexts
        if contexts == "published" and self._object not in _PUBLISHED:
            raise OochubError(
                f"The paper publishes contexts for its 12 tasks only: {', '.join(_PUBLISHED)}. "
                f"For {self._object} use contexts='computed' or give a list of class names."
            )
        if isinstance(contexts, str) and contexts not in ("computed", "published"):
            raise OochubError(f"contexts is 'computed', 'published' or a list of class names, got {contexts!r}.")
        for name in () if isinstance(contexts, str) else contexts:
            if name not in CATEGORY_IDS:
                raise unknown_name("class of COCO-Stuff", name, CATEGORY_IDS)
        if not (self.config.alpha >= 0 and 0 <= self.config.beta < 1):
            raise OochubError(
                f"alpha is at least 0 and beta a fraction in [0, 1), got {self.config.alpha} and {self.config.beta}. "
                "The paper's main text prints beta = 1; its appendix and the released ids say 0.1."
            )

    def _contexts(self, table: CocoTable, train: NDArray[np.int64], column: int) -> list[str]:
        if self.config.contexts == "published":
            return list(_PUBLISHED[self._object])
        if not isinstance(self.config.contexts, str):
            return list(self.config.contexts)
        shown = train[table.count[train, column] > 0]
        if not len(shown):
            raise OochubError(
                f"No training image shows a {self._object}, so its contexts cannot be computed. "
                "Use more images, contexts='published', or a list of class names."
            )
        surplus = (table.area[shown] - table.area[shown, column : column + 1]).mean(axis=0)
        surplus[column] = -np.inf
        order = np.argsort(-surplus, kind="stable")
        found = [_CLASSES[i] for i in order if surplus[i] > self.config.alpha]
        if not found:
            raise OochubError(
                f"{self._object} has no context at alpha = {self.config.alpha}: over {len(shown)} training images "
                f"the largest, {_CLASSES[order[0]]}, takes {surplus[order[0]]:.3f} of the image more than the object. "
                "Choose another class, a lower alpha=, or give contexts=[...]."
            )
        return found

    def _describe(self, table: CocoTable, column: int, contexts: list[str]) -> Any:
        """A function from a row number to the example's columns, all but the picture's bytes."""
        areas = table.area[:, [_CLASSES.index(name) for name in contexts]]
        present = table.count[:, column] > 0
        challenge = co_occurrence(present, areas, self.config.beta)
        # "Context" in a group's name is what the criterion sees: at least one context where the object is easy.
        in_context = np.where(present, challenge != "hard_positive", challenge == "hard_negative")
        group = 2 * present + in_context
        environment = 2 * present + (areas[:, 0] > 0)

        def describe(row: int) -> dict[str, Any]:
            seen = [name for name, area in zip(contexts, areas[row], strict=True) if area > self.config.beta]
            return {
                "example_id": f"{table.image_id[row]:012d}",
                "file": table.file_name[row],
                "label": int(present[row]),
                "environment": int(environment[row]),
                "group": int(group[row]),
                "challenge": str(challenge[row]),
                "area": float(np.float32(table.area[row, column])),
                "context": "+".join(seen) or "none",
                "context_area": [float(area) for area in areas[row].astype(np.float32)],
                "license": table.license[row],
                "source_url": table.source_url[row],
            }

        return describe


def _check_files(folder: Path, table: CocoTable) -> None:
    lying = {
        f"{year}/{path.name}" for year in ("train2017", "val2017") for path in (folder / "images" / year).iterdir()
    }
    missing = [name for name in table.file_name if name not in lying]
    if missing:
        raise OochubError(
            f"{len(missing)} of the {len(table.file_name)} annotated images are missing below {folder / 'images'}, "
            f"first {missing[0]}. Unpack train2017.zip and val2017.zip there; "
            "`oochub show benchmark nooch` says where they are."
        )
