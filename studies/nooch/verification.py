"""Recomputes NOOCH's hard examples, contexts and counts from the annotations and compares them with the released."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.nooch.ids import nooch_ids
from oochub.builders.sources.nooch.images import NoochImages
from oochub.builders.sources.nooch.split import FULL
from oochub.builders.sources.nooch.suite import (
    OTHER_PUBLISHED_CONTEXTS,
    PAPER_ENCODER,
    PUBLISHED_CONTEXTS,
    TABLE_2,
    TABLES_6_AND_7,
)
from oochub.builders.sources.nooch.task import NoochTask
from oochub.errors import OochubError

_SIDES = ("hard_positive", "hard_negative")
_FIG_10 = (
    ("tasks with a context", 0.05, 1, 70),
    ("tasks with three contexts or more", 0.05, 3, 15),
    ("tasks with three contexts or more", 0.0, 3, 50),
    ("tasks with five contexts or more", 0.0, 5, 30),
)


@dataclass(frozen=True, kw_only=True)
class ComparedSet:
    """One published set of hard examples beside the recomputed one, over the images that are there.

    Attributes:
        task: "ce_car".
        split: "validation" or "test".
        side: "hard_positive" or "hard_negative".
        published: Published ids that have an image in this split here.
        computed: Ids that the criterion gives.
        only_published: Ids that are published and not computed, sorted.
        only_computed: Ids that are computed and not published, sorted.
        absent: Published ids without an image here.
        misplaced: Published ids whose image is in another split here.
        counted: Whether a difference counts as one: not for gist by another encoder than the paper's.
    """

    task: str
    split: str
    side: str
    published: int
    computed: int
    only_published: Sequence[int]
    only_computed: Sequence[int]
    absent: int
    misplaced: Sequence[int]
    counted: bool

    @property
    def precision(self) -> float:
        """Share of the computed ids that are published; nan where none is computed."""
        return (self.computed - len(self.only_computed)) / self.computed if self.computed else float("nan")

    @property
    def recall(self) -> float:
        """Share of the published ids that are computed; nan where none is published."""
        return (self.published - len(self.only_published)) / self.published if self.published else float("nan")

    @property
    def agrees(self) -> bool:
        """Whether both are the same set and every id is in its split."""
        return not (len(self.only_published) or len(self.only_computed) or len(self.misplaced))


@dataclass(frozen=True, kw_only=True)
class ComparedCount:
    """One number or list of the paper beside ours.

    Attributes:
        what: What is counted, in words.
        paper: The paper's.
        ours: Ours.
        agrees: Whether they are equal; None where the paper's is approximate or the images are not all there.
    """

    what: str
    paper: Any
    ours: Any
    agrees: bool | None


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What `verify_nooch` found.

    Attributes:
        images: Images of the folder.
        notes: How the images differ from the official benchmark.
        encoder: The encoder of the captions; None without gist.
        sets: Published sets beside recomputed ones.
        table_2: The 36 counts.
        tables_6_and_7: The 48 thresholds of the gist criterion, with two decimals; they do not count in `agrees`. Empty
            without an encoder.
        contexts: Contexts of the 12 tasks and of two others.
        figure_10: Numbers of tasks with contexts.
    """

    images: int
    notes: Sequence[str]
    encoder: str | None
    sets: Sequence[ComparedSet]
    table_2: Sequence[ComparedCount]
    tables_6_and_7: Sequence[ComparedCount]
    contexts: Sequence[ComparedCount]
    figure_10: Sequence[ComparedCount]

    @property
    def agrees(self) -> bool:
        """Whether every set that counts agrees, and with all images every count and context too."""
        counts = [*self.table_2, *self.contexts, *self.figure_10]
        differing = [part for part in self.sets if part.counted and not part.agrees]
        return not differing and all(count.agrees is not False for count in counts)


def verify_nooch(
    folder: Path,
    official_ids: str | Path,
    *,
    encoder: str | None = None,
    contexts: str = "computed",
    alpha: float = 0.05,
    beta: float = 0.1,
    splits: str | None = None,
) -> Verification:
    """Compares what the rules give on a raw COCO folder with the 96 published id files.

    Args:
        folder: The raw COCO folder.
        official_ids: Folder with the id files.
        encoder: Model of sentence-transformers for the gist sets; None leaves these out.
        contexts: "computed" from the training split, or "published" for the 12 tasks.
        alpha: See `NoochConfig`.
        beta: See `NoochConfig`.
        splits: The official split file when it lies elsewhere.

    Raises:
        OochubError: Id files that are missing or broken, a folder without the annotations or images.

    Source: Madras and Zemel, NOOCH: Tables 2, 6 and 7, Appendix B.3 and Figure 10.
    """
    criteria = ("ce", "gist") if encoder else ("ce",)
    published = {
        f"{criterion}_{name}": nooch_ids(official_ids, name, criterion)
        for name in PUBLISHED_CONTEXTS
        for criterion in criteria
    }
    if contexts not in ("computed", "published"):
        raise OochubError(f"contexts must be 'computed' or 'published', got {contexts!r}.")
    images = NoochImages.read(folder, splits=splits)
    if encoder:
        images.embed(encoder)
    complete = len(images) == FULL and not images.notes
    contexts_of = {name: images.context_table.contexts(name, alpha) for name in images.context_table.names}
    sets: list[ComparedSet] = []
    counts: list[ComparedCount] = []
    thresholds: list[ComparedCount] = []
    for task, by_split in published.items():
        criterion, name = NoochTask.parse(task)
        chosen = list(PUBLISHED_CONTEXTS[name]) if contexts == "published" else contexts_of[name]
        rows = _find_hard_rows(images, task, chosen, beta)
        counted = criterion == "ce" or encoder == PAPER_ENCODER
        for split, sides in by_split.items():
            for side in _SIDES:
                ids = images.table.image_id[rows[split][side]]
                sets.append(_compare_rows(images, task, split, side, sides[side], ids, counted=counted))
        if criterion == "ce":
            counts += _check_table_2(images, name, rows["test"], complete)
        elif chosen:
            gist = NoochTask(name=name, criterion=criterion, contexts=chosen, beta=beta)
            thresholds += _check_tau(images, gist, complete=complete and counted)
    return Verification(
        images=len(images),
        notes=images.notes,
        encoder=encoder,
        sets=sets,
        table_2=counts,
        tables_6_and_7=thresholds,
        contexts=_check_contexts(contexts_of, alpha, complete=complete),
        figure_10=_check_figure_10(images),
    )


def _find_hard_rows(
    images: NoochImages, task: str, contexts: Sequence[str], beta: float
) -> dict[str, dict[str, NDArray[np.int64]]]:
    """Rows of the table by split and side; none where the class has no context."""
    criterion, name = NoochTask.parse(task)
    if not contexts:
        nothing = np.zeros(0, dtype=np.int64)
        return {split: dict.fromkeys(_SIDES, nothing) for split in images.split}
    nooch_task = NoochTask(name=name, criterion=criterion, contexts=contexts, beta=beta)
    return {
        split: {side: rows[images.task_columns(nooch_task, rows)["challenge"] == side] for side in _SIDES}
        for split, rows in images.split.items()
        if split != "train"
    }


def _compare_rows(
    images: NoochImages,
    task: str,
    split: str,
    side: str,
    published: NDArray[np.int64],
    computed: NDArray[np.int64],
    *,
    counted: bool,
) -> ComparedSet:
    there = np.isin(published, images.table.image_id)
    in_split = np.isin(published, images.table.image_id[images.split[split]])
    mine = published[in_split]
    return ComparedSet(
        task=task,
        split=split,
        side=side,
        published=len(mine),
        computed=len(computed),
        only_published=np.setdiff1d(mine, computed).tolist(),
        only_computed=np.setdiff1d(computed, mine).tolist(),
        absent=int((~there).sum()),
        misplaced=np.sort(published[there & ~in_split]).tolist(),
        counted=counted,
    )


def _check_table_2(
    images: NoochImages, name: str, rows: Mapping[str, NDArray[np.int64]], complete: bool
) -> list[ComparedCount]:
    positives = int(images.present[images.split["test"], images.column(name)].sum())
    ours = (len(rows["hard_positive"]), len(rows["hard_negative"]), positives)
    what = ("hard positives", "hard negatives", "positives")
    return [
        ComparedCount(what=f"{name}, {words}", paper=paper, ours=our, agrees=paper == our if complete else None)
        for words, paper, our in zip(what, TABLE_2[name], ours, strict=True)
    ]


def _check_tau(images: NoochImages, task: NoochTask, *, complete: bool) -> list[ComparedCount]:
    compared = []
    for split, papers in zip(
        ("test", "validation"), np.reshape(TABLES_6_AND_7[task.name], (2, 2)).tolist(), strict=True
    ):
        ours = task.find_tau(images.task_columns(task, images.split[split])) or (None, None)
        for side, paper, our in zip(_SIDES, papers, ours, strict=True):
            own = None if our is None else round(our, 2)
            what = f"{task.name}, {split}, {side.replace('_', ' ')}s"
            compared.append(ComparedCount(what=what, paper=paper, ours=own, agrees=own == paper if complete else None))
    return compared


def _check_contexts(contexts_of: Mapping[str, Sequence[str]], alpha: float, *, complete: bool) -> list[ComparedCount]:
    return [
        ComparedCount(
            what=f"{name}, alpha {alpha:g}",
            paper=sorted(paper),
            ours=sorted(contexts_of[name]),
            agrees=sorted(paper) == sorted(contexts_of[name]) if complete else None,
        )
        for name, paper in {**PUBLISHED_CONTEXTS, **OTHER_PUBLISHED_CONTEXTS}.items()
    ]


def _check_figure_10(images: NoochImages) -> list[ComparedCount]:
    table = images.context_table
    return [
        ComparedCount(
            what=f"{words} at alpha {alpha:g}",
            paper=f"about {paper}",
            ours=sum(len(table.contexts(name, alpha)) >= least for name in table.names),
            agrees=None,  # read off a figure
        )
        for words, alpha, least, paper in _FIG_10
    ]
