"""The images of NOOCH with their splits, areas, captions and embeddings, from a raw COCO folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.builders.sources.coco import CocoTable, read_coco
from oochub.builders.sources.coco_boxes import coco_boxes
from oochub.builders.sources.coco_captions import read_captions
from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.context_table import ContextTable
from oochub.builders.sources.gist_similarity import gist_similarity
from oochub.builders.sources.nooch.ids import nooch_ids
from oochub.builders.sources.nooch.split import nooch_split
from oochub.builders.sources.nooch.suite import PUBLISHED_CONTEXTS
from oochub.builders.sources.nooch.task import NoochTask, published_challenge
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.sources.sentence_embeddings import Embeddings, image_embeddings
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts

_CLASSES = tuple(CATEGORY_IDS)
Rows = dict[str, pa.Table]


@dataclass
class NoochImages:
    """All images of a raw folder, and the rows of the data sets made of them.

    Attributes:
        folder: The raw folder.
        table: What the annotations say.
        split: Row numbers of the table by split.
        notes: How they differ from the official benchmark.
        embeddings: Embeddings of the captions, after `embed`.
    """

    folder: Path
    table: CocoTable
    split: Mapping[str, NDArray[np.int64]]
    notes: Sequence[str]
    embeddings: Embeddings | None = None

    @classmethod
    def read(cls, folder: Path, *, area: str = "field", splits: str | None = None) -> "NoochImages":
        """Reads the annotations and checks that every annotated image is there.

        Args:
            folder: The raw folder.
            area: See `read_coco`.
            splits: The official split file when it lies elsewhere.

        Raises:
            OochubError: Broken annotations or split files, images that are missing.
        """
        table = read_coco(folder, area=area)
        images = RawTable(file=folder / "annotations", place=lambda row: f"image {table.image_id[row]}")
        images.add("file_name", table.file_name, RawColumn(folder=folder / "images"))
        split, notes = nooch_split(folder, table, given=splits)
        return cls(folder=folder, table=table, split=split, notes=notes)

    def __len__(self) -> int:
        return len(self.table.image_id)

    @property
    def present(self) -> NDArray[np.bool_]:
        """(n, 171) is the class annotated in the image?"""
        return self.table.count > 0

    @cached_property
    def context_table(self) -> ContextTable:
        """A(C, Y) over the training split."""
        train = self.split["train"]
        return ContextTable.of(_CLASSES, present=self.present[train], area=self.table.area[train])

    @cached_property
    def captions(self) -> Mapping[int, list[str]]:
        """Image id to its sentences; empty where the folder has no captions."""
        present = any(self.folder.glob("annotations*/captions_*2017.json"))
        return read_captions(self.folder) if present else {}

    def embed(self, encoder: str) -> None:
        """Embeds the captions of every image.

        Raises:
            OochubError: No captions, images without one, or an encoder that cannot be loaded.
        """
        ids = self.table.image_id.tolist()
        without = [image_id for image_id in ids if not self.captions.get(image_id)]
        if without:
            raise OochubError(
                f"{len(without):,} of {len(ids):,} images have no caption, first {without[0]}, so their gist is "
                "unknown. Unpack annotations_trainval2017.zip: captions_train2017.json and captions_val2017.json "
                f"belong in {self.folder / 'annotations'}."
            )
        self.embeddings = image_embeddings({image_id: self.captions[image_id] for image_id in ids}, encoder=encoder)

    @cached_property
    def similarity(self) -> NDArray[np.float64] | None:
        """(n, 171) cosine of each image's captions to those of the training positives; None before `embed`."""
        if self.embeddings is None:
            return None
        train = np.zeros(len(self), dtype=bool)
        train[self.split["train"]] = True
        return gist_similarity(self.embeddings.vectors, self.present, train)

    def contexts(self, name: str, alpha: float) -> list[str]:
        """The alpha-contexts of a class, the largest first.

        Raises:
            OochubError: No training image shows the class, or it has no context.
        """
        ranked = self.context_table.ranked(name)
        if not ranked:
            raise OochubError(
                f"No training image shows a {name}, so its contexts cannot be computed. "
                "Use more images, contexts='published', or a list of class names."
            )
        contexts = self.context_table.contexts(name, alpha)
        if not contexts:
            largest, surplus = next(iter(ranked.items()))
            shown = self.context_table.images[_CLASSES.index(name)]
            raise OochubError(
                f"{name} has no context at alpha = {alpha}: over {shown} training images the largest, {largest}, "
                f"covers only {surplus:.3f} of the image more than the object. Choose another class, a lower alpha=, "
                "or give contexts=[...]."
            )
        return contexts

    def rows_of_task(
        self, task: NoochTask, *, official_ids: str | None, contexts_from: str, alpha: float | None = None
    ) -> tuple[Rows, BuildFacts, list[str]]:
        """The rows of one task by split, the facts of its build, and the notes that these deserve.

        Args:
            task: The task with its contexts.
            official_ids: Folder of the published id files, which then decide in validation and test.
            contexts_from: Source of its contexts: "computed", "published" or "given".
            alpha: The threshold by which its contexts were computed; None for others.

        Raises:
            OochubError: Published ids that disagree with annotations or splits.
        """
        published, notes = self._read_published(task, official_ids)
        rows: Rows = {}
        tau: dict[str, tuple[float, float]] = {}
        for split, chosen in self.split.items():
            # the published ids do not cover training: without an encoder its gist is unknown, not easy
            unknown = {"gist": None} if official_ids and task.criterion == "gist" and self.similarity is None else None
            columns = self.task_columns(task, chosen, published=published.get(split, unknown))
            if task.criterion == "boxes":
                del columns["label"]  # the boxes say it
                columns = {**coco_boxes(self.folder, task.name, self.table.image_id[chosen].tolist()), **columns}
            if task.criterion == "gist":
                columns["captions"] = self._get_captions(chosen)
                limits = task.find_tau(columns) if split not in published else None
                tau |= {} if limits is None else {split: limits}
            rows[split] = self._build_rows(chosen, columns)
        other = {"contexts_from": contexts_from} | ({"membership": "published ids"} if official_ids else {})
        return (
            rows,
            BuildFacts(
                object=task.name,
                contexts=tuple(task.contexts),
                alpha=alpha,
                beta=task.beta,
                tau=tau or None,
                **self._open_encoder(),
                other=other,
            ),
            notes,
        )

    def task_columns(
        self, task: NoochTask, rows: NDArray[np.int64], *, published: Mapping[str, NDArray[Any] | None] | None = None
    ) -> dict[str, Any]:
        """`NoochTask.columns` of some rows of the table, those of one split."""
        column = self.column(task.name)
        contexts = [self.column(name) for name in task.contexts]
        return task.columns(
            present=self.present[rows, column],
            area=self.table.area[rows, column],
            context_area=self.table.area[rows][:, contexts],
            similarity=None if self.similarity is None else self.similarity[rows, column],
            published=published,
        )

    @staticmethod
    def column(name: str) -> int:
        """The column of a class in the table."""
        return _CLASSES.index(name)

    def rows_of_all(self, contexts: str | Sequence[str], *, alpha: float, beta: float) -> tuple[Rows, BuildFacts]:
        """The rows with every class by split, and the facts from which `oochub.task` makes a task."""
        ranked = {name: self.context_table.ranked(name) for name in _CLASSES}
        facts = BuildFacts(
            alpha=alpha,
            beta=beta,
            context_surplus={
                name: {other: round(value, 6) for other, value in others.items() if value > 0}
                for name, others in ranked.items()
                if others
            },
            published_contexts=PUBLISHED_CONTEXTS if contexts == "published" else {},
            **self._open_encoder(),
        )
        empty: list[float] = []
        rows: Rows = {}
        for split, chosen in self.split.items():
            vectors = None if self.embeddings is None else self.embeddings.vectors[chosen]
            alike = None if self.similarity is None else self.similarity[chosen]
            columns = {
                "labels": [np.flatnonzero(row) for row in self.present[chosen]],
                "areas": pa.FixedSizeListArray.from_arrays(self.table.area[chosen].ravel(), len(_CLASSES)),
                "captions": self._get_captions(chosen),
                "gist_embedding": [empty] * len(chosen) if vectors is None else list(vectors),
                "gist_similarity": [empty] * len(chosen) if alike is None else list(alike),
            }
            rows[split] = self._build_rows(chosen, columns)
        return rows, facts

    def _get_captions(self, rows: NDArray[np.int64]) -> list[list[str]]:
        return [self.captions.get(image_id, []) for image_id in self.table.image_id[rows].tolist()]

    def _open_encoder(self) -> dict[str, Any]:
        embeddings = self.embeddings
        return {} if embeddings is None else {"encoder": embeddings.encoder, "encoder_sha256": embeddings.digest}

    def _build_rows(self, chosen: NDArray[np.int64], columns: Mapping[str, Sequence[Any]]) -> pa.Table:
        table, rows = self.table, chosen.tolist()
        every = {
            "example_id": [f"{image_id:012d}" for image_id in table.image_id[chosen].tolist()],
            "file": [table.file_name[row] for row in rows],
            **columns,
            "license": [table.license[row] for row in rows],
            "source_url": [table.source_url[row] for row in rows],
        }
        return pa.table({name: pa.array(values) for name, values in every.items()})

    def _read_published(
        self, task: NoochTask, folder: str | None
    ) -> tuple[dict[str, dict[str, NDArray[Any]]], list[str]]:
        if folder is None:
            return {}, []
        present = self.present[:, self.column(task.name)]
        challenges: dict[str, dict[str, NDArray[Any]]] = {}
        missing = 0
        for criterion in dict.fromkeys(("ce", task.criterion)):
            for split, ids in nooch_ids(folder, task.name, criterion).items():
                rows = self.split[split]
                self._check_split(f"{criterion}_{task.name}", split, np.concatenate(list(ids.values())))
                challenge, absent = published_challenge(
                    ids, self.table.image_id[rows], present[rows], task=f"{criterion}_{task.name}, {split}"
                )
                challenges.setdefault(split, {})[criterion] = challenge
                missing += absent if criterion == task.criterion else 0
        return challenges, [f"{missing:,} of the published hard examples are not among the images"] if missing else []

    def _check_split(self, task: str, split: str, ids: NDArray[np.int64]) -> None:
        elsewhere = np.setdiff1d(self.table.image_id, self.table.image_id[self.split[split]])
        stray = np.intersect1d(ids, elsewhere)
        if len(stray):
            raise OochubError(
                f"{task}: {len(stray)} published {split} ids are in another split here, first {stray[0]}. They need "
                "the official split: put cocostuff_split_image_ids.npz into the data folder, or give splits=FILE."
            )
