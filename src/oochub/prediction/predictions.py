"""What a model said about each example: a table that opens in pandas and carries where it comes from.

A notebook shows a few of its rows: the most wrong ones, with their small images.
"""

import hashlib
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import Output, get_output
from oochub.prediction.check_predictions import check_answers, check_rows, digest_rows, read_answer_facts
from oochub.prediction.from_arrays import convert_arrays, convert_frame
from oochub.prediction.predictions_file import (
    PartRecord,
    StoredHead,
    drop_copies,
    drop_earlier_summary,
    find_stale_note,
    head_file,
    open_predictions,
    remove_head,
    save_predictions,
)
from oochub.prediction.stored_columns import StoredRows, WithStoredRows
from oochub.records.metadata import THUMBNAIL, Metadata, count_rows, read_metadata
from oochub.records.schema import to_json
from oochub.records.table import make_notebook_table, write_picture
from oochub.stats.logits import RightClasses, SoftmaxSummary, summarize_answers
from oochub.storage.artifacts import PREDICTIONS, Integrity
from oochub.storage.files import check_writable

_SHOWN = 6
_LOOKED_AT = 200_000  # rows whose losses are computed for a look
_LONGEST = 60


def _show_rows(predictions: "Predictions") -> str:
    """The wrong rows with the highest loss, those with an image first; of other answers the first rows.

    Args:
        predictions: Any predictions; of more than 200,000 rows whose losses are not known yet the first are shown.

    Returns:
        HTML in which all text is escaped; images are embedded, and nothing is fetched. "" if every answer is right.
    """
    rows = predictions.rows
    is_known = "summary" in vars(predictions) or len(predictions) <= _LOOKED_AT
    is_ranked = predictions.output.has_confidence and is_known and predictions.summary.loss is not None
    chosen = _choose_worst(predictions) if is_ranked else np.arange(min(len(predictions), _SHOWN))
    if not len(chosen):
        return ""
    records = [rows.row(row) for row in chosen.tolist()]
    pictures = [write_picture(record[THUMBNAIL]) for record in records] if THUMBNAIL in rows.column_names else []
    places = [[str(record[name]) for name in ("example_id", "split")] for record in records]
    answers = [_describe_answer(predictions, row) if is_ranked else [] for row in chosen.tolist()]
    return make_notebook_table(
        [list(map(_clean, [*row, *answer])) for row, answer in zip(places, answers, strict=True)],
        heads=("example", "split", *(("truth", "answer", "confidence %", "loss nats") if is_ranked else ())),
        title="The most wrong answers" if is_ranked else "The first rows",
        pictures=pictures,
    )


def _choose_worst(predictions: "Predictions") -> NDArray[np.int64]:
    """Numbers of the wrong rows with the highest loss, those with an image first; none if all are right."""
    rows, loss = predictions.rows, np.asarray(predictions.summary.loss)
    wrong = np.flatnonzero((predictions.summary.prediction != predictions.label) & ~np.isnan(loss))
    has_image = np.zeros(len(predictions), bool)
    if THUMBNAIL in rows.column_names:
        has_image = rows.column(THUMBNAIL).is_valid().to_numpy()
    worst: NDArray[np.int64] = wrong[np.lexsort((wrong, -loss[wrong], ~has_image[wrong]))][:_SHOWN]
    return worst


def _describe_answer(predictions: "Predictions", row: int) -> list[str]:
    """The truth, the answer, its confidence and the loss."""
    names, summary = predictions.class_names, predictions.summary
    answer = int(summary.prediction[row])
    answered = names[answer] if answer >= 0 else "none of them"
    loss: Any = summary.loss  # there is one: else the rows are not ranked
    return [names[int(predictions.label[row])], answered, f"{100 * summary.confidence[row]:.1f}", f"{loss[row]:.3f}"]


def _clean(text: str) -> str:
    """A text on one line, cut, without characters that redraw their surroundings."""
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


@dataclass(frozen=True)
class Predictions(WithStoredRows):
    """One row per example: `example_id`, `split`, its truth, the model's answer, and every auxiliary column.

    The truth and the answer are those of the kind of output (`metadata.kind`): `label` and `logits` of classes,
    `labels` and `logits` of several labels, `label` and `value` of a number; see `oochub.names("output")`. Vectors such
    as `logits` and `features` stay in the files that they were loaded from until they are asked for.

    Attributes:
        rows: An Arrow table, or `StoredRows`. `label` of classes is the class number, -1 outside the label set;
            `logits` float32 (n, c); columns of class names hold the names; `thumbnail`, where present, a small JPEG.
        metadata: What the predictions say of themselves; JSON types are read into a `Metadata`.
        integrity: For files that were read, whether their bytes were compared with a seal; None for rows in memory.
        stored_head: The model's last layer, or the file that has it; read `head`.
        part: What a part of a prediction that is being made says of itself as such.

    Raises:
        OochubError: A required column is missing, an example occurs twice in a split or is missing, logits are not
            finite, a label is not a class, or a field of the metadata is missing or of another type.
    """

    rows: StoredRows
    metadata: Metadata
    integrity: Integrity | None = None
    stored_head: StoredHead | Path | None = field(default=None, repr=False, compare=False)
    part: PartRecord | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_new = not isinstance(self.rows, StoredRows)  # those of StoredRows were checked when they were new
        rows, copies = drop_copies(self.rows) if is_new else (self.rows, pa.table({}))
        object.__setattr__(self, "rows", StoredRows.of(rows) if is_new else rows)
        object.__setattr__(self, "metadata", read_metadata(to_json(self.metadata), self.column_names))
        check_rows(self.rows, self.metadata)
        if is_new:
            check_answers(self.rows, self.metadata)
        outside = self.output.fits_no_class(self)
        if outside is not None or self.metadata.none_of_them is not None:
            counts = (
                None
                if outside is None
                else {name: int(outside[self.split == name].sum()) for name in self.metadata.rows}
            )
            object.__setattr__(self, "metadata", replace(self.metadata, none_of_them=counts))
        if copies.num_columns and (
            note := find_stale_note(copies, self.summary if self.output.has_confidence else None)
        ):
            object.__setattr__(self, "metadata", replace(self.metadata, notes=(*self.metadata.notes, note)))

    @classmethod
    def load(cls, path: str | Path) -> "Predictions":
        """Opens what `save` wrote, a file or a folder of parts, or any Parquet file with such columns and metadata.

        Truth and answers are checked, sealed or not, and whatever follows from them is computed from them.
        """
        path = Path(path).expanduser()
        opened, head = open_predictions(path), head_file(path)
        try:
            metadata = read_metadata(opened.metadata, opened.rows.column_names)
            loaded = cls(opened.rows, metadata, opened.integrity, head, opened.part)
            facts = read_answer_facts(loaded.rows, loaded.metadata, sealed=opened.digest)
        except OochubError as error:
            raise error if str(path) in str(error) else OochubError(f"{path}: {error}") from None
        if opened.of_before:
            object.__setattr__(loaded, "rows", drop_earlier_summary(loaded.rows, facts.summary))
        return loaded.remember(**facts._asdict())

    @classmethod
    def from_arrays(
        cls,
        *,
        logits: Any = None,
        label: Any = None,
        class_names: Sequence[str] | None = None,
        example_id: Sequence[Any] | None = None,
        split: str | Sequence[str] = "test",
        benchmark: str | None = None,
        config: str | None = None,
        model: str | None = None,
        kind: str | None = None,
        probabilities: bool = False,
        **columns: Any,
    ) -> "Predictions":
        """Predictions of arrays that you have, of any model.

        Args:
            logits: Floats (n, c), one per class or label; None for a kind of output without logits.
            label: Class numbers (n,), -1 outside the label set; numbers (n,) for the kind `number`.
            class_names: Names of the c classes; None numbers them.
            example_id: Ids (n,), unique in a split; None numbers the rows.
            split: One name for all rows, or a name for each.
            benchmark: Name of the benchmark; None for your own data.
            config: Its configuration.
            model: What a report calls the model.
            kind: Name of the kind of output; None takes the one whose columns are given.
            probabilities: Whether `logits` are probabilities, as after a softmax, of which the logarithm is taken.
            **columns: More columns (n, ...): `value` of a number, `labels` of several labels, `features`, `group`,
                `challenge`, ...

        Raises:
            OochubError: Arrays of different lengths, or what `Predictions` refuses.

        >>> predictions = Predictions.from_arrays(logits=[[2.0, 0.0], [0.0, 1.0]], label=[0, 0], model="mine")
        >>> predictions.prediction.tolist(), predictions.class_names, predictions.metadata.benchmark
        ([0, 1], ['0', '1'], None)
        >>> Predictions.from_arrays(value=[0.4, -1.0], label=[0.5, -2.0]).metadata.kind
        'number'
        """
        given = {"label": label, "logits": logits, **columns}
        names: dict[str, Any] = {"class_names": class_names, "example_id": example_id, "split": split, "kind": kind}
        return cls(
            *convert_arrays(
                given, **names, benchmark=benchmark, config=config, model=model, probabilities=probabilities
            )
        )

    @classmethod
    def from_pandas(
        cls,
        frame: pd.DataFrame,
        *,
        logits: str | Sequence[str] = "logits",
        class_names: Sequence[str] | None = None,
        benchmark: str | None = None,
        config: str | None = None,
        model: str | None = None,
        kind: str | None = None,
        probabilities: bool = False,
    ) -> "Predictions":
        """Predictions of a data frame with one row per example and a column for each name of `from_arrays`.

        Args:
            frame: Data frame with `label`, `logits` (a list per row) or `value`, and any of `example_id`, `split`, and
                auxiliary columns. A label of text is one of `class_names`.
            logits: The column of logits, or one column for each class, in the order of the classes.
            class_names: See `from_arrays`; None takes the names of the columns of logits where they are several.
            benchmark: See `from_arrays`.
            config: See `from_arrays`.
            model: See `from_arrays`.
            kind: See `from_arrays`.
            probabilities: See `from_arrays`.

        Raises:
            OochubError: A column of logits that is not there, a label of text that is no class, and what
                `Predictions` refuses.

        >>> frame = pd.DataFrame({"cat": [2.0, 0.1], "dog": [0.0, 1.0], "label": ["cat", "cat"]})
        >>> Predictions.from_pandas(frame, logits=["cat", "dog"]).label.tolist()
        [0, 0]
        """
        origin: dict[str, Any] = {
            "benchmark": benchmark,
            "config": config,
            "model": model,
            "kind": kind,
            "probabilities": probabilities,
        }
        return cls(*convert_frame(frame, logits=logits, class_names=class_names, **origin))

    def save(self, path: str | Path) -> Path:
        """Writes Parquet with the metadata in its schema, sealed; whole or not at all.

        A very large prediction becomes a folder of parts of that name. A head lies beside it, in
        `<stem>.head.safetensors`; one that lies there of other predictions goes with them.
        """
        if Path(path).suffix.lower() == ".parquet":  # a stream has no place beside it
            check_writable(path, kind=PREDICTIONS)
            if self.head is None:
                remove_head(path)
            else:
                self.head.save(head_file(path))
        summary = self.summary if self.output.has_confidence else None
        return save_predictions(path, self.rows, self.metadata, summary=summary, digest=self.digest, part=self.part)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return "\n".join(["<Predictions>", *map(": ".join, self._list_facts())])

    def _repr_html_(self) -> str:

        return "\n".join(filter(None, [make_notebook_table(self._list_facts(), title="Predictions"), _show_rows(self)]))

    def _list_facts(self) -> list[tuple[str, str]]:
        """What the predictions are of, as words and values."""
        metadata = self.metadata
        data = "/".join(filter(None, (metadata.benchmark or "own data", metadata.config)))
        kind = f"{metadata.kind} ({len(metadata.class_names)})" if "logits" in self.output.columns else metadata.kind
        rows = ", ".join(f"{split} {n:,}" for split, n in metadata.rows.items())
        facts = {"model": metadata.model.id or "a model", "data": data, "kind": kind, "rows": rows}
        if metadata.no_class_words:
            facts["answers"] = metadata.no_class_words
        return [*facts.items(), ("columns", textwrap.shorten(", ".join(self.column_names), 200))]

    @cached_property
    def output(self) -> Output:
        """The kind of output."""
        return get_output(self.metadata.kind)

    @cached_property
    def logits(self) -> NDArray[np.float32]:
        """(n, c) float32.

        Raises:
            OochubError: A kind of output without logits.
        """
        if "logits" not in self.output.columns:
            raise OochubError(f"These predictions are of the kind {self.metadata.kind}, which has no logits.")
        return self.vectors("logits")

    @cached_property
    def features(self) -> NDArray[np.float32] | None:
        """(n, d) float32, None where they were not stored."""
        return self.vectors("features") if "features" in self.column_names else None

    @cached_property
    def head(self) -> StoredHead | None:
        """The model's last layer, None where it was not stored; read from beside the file when it is asked for.

        Raises:
            OochubError: The file has changed since it was written.
        """
        if not isinstance(self.stored_head, Path):
            return self.stored_head
        return StoredHead.load(self.stored_head) if self.stored_head.is_file() else None

    @cached_property
    def label(self) -> NDArray[Any]:
        """The truth: class numbers int64 (n,), -1 outside the label set; labels float (n, k); or numbers float (n,)."""
        return self.output.label(self.rows.light, self.class_names)

    @cached_property
    def also_right(self) -> RightClasses | None:
        """Classes that are right beside the label, by the column `also_right`; None if there is no such column."""
        return self.output.right_beside(self.rows.light, self.class_names)

    @property
    def split(self) -> NDArray[Any]:
        """(n,) names of the splits."""
        return self.column("split")

    @property
    def class_names(self) -> list[str]:
        """Names of the c classes."""
        return list(self.metadata.class_names)

    @cached_property
    def probability(self) -> NDArray[np.float64]:
        """Probabilities in float64: for classes the softmax (n, c), for labels a sigmoid each (n, k).

        Raises:
            OochubError: A kind of output that has none.
        """
        return self.output.probability(self)

    @property
    def prediction(self) -> NDArray[Any]:
        """The answer, of the shape of `label`; for classes the one with the largest logit, the first of equals.

        An answer that is right beside the label, by the column `also_right`, counts as the label.
        """
        return self.output.prediction(self)

    @cached_property
    def summary(self) -> SoftmaxSummary:
        """What evaluation needs of each row, by the softmax of its logits.

        prediction int (n,), its confidence float64 (n,), and the loss float64 (n,) of the true class in nats, nan
        where there is none.

        Raises:
            OochubError: A kind of output other than one class per row.
        """
        if not self.output.has_confidence:
            raise OochubError(f"These predictions are of the kind {self.metadata.kind}, without logits of one answer.")
        blocks = (block["logits"] for _, block in self.blocks("logits"))
        return summarize_answers(blocks, self.label, also=self.also_right)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over examples, truth and answers: equal for equal predictions, whenever and wherever made."""
        return digest_rows(self.rows, self.metadata)

    def select(self, mask: NDArray[np.bool_]) -> "Predictions":
        """The rows where `mask` is true."""
        return self.take(np.flatnonzero(mask))

    def take(self, numbers: NDArray[np.int64]) -> "Predictions":
        """The rows of these numbers, in their order; each once, and at least one."""
        rows = self.rows.take(numbers)
        counts = count_rows(rows.light.column("split"))
        some = replace(self, rows=rows, metadata=replace(self.metadata, rows=counts))
        summary = vars(self).get("summary")
        return some.remember(summary=summary and SoftmaxSummary(*(np.asarray(array)[numbers] for array in summary)))

    def select_classes(self, numbers: Sequence[int]) -> "Predictions":
        """The rows of some classes, with these as the classes present: `evaluate(..., classes="present")` looks there.

        So the numbers of a standard test set are over the classes that a shifted one has.

        Args:
            numbers: Class numbers; for those of other predictions their `metadata.facts.present_classes`.

        Raises:
            OochubError: No row of them, or a kind of output without classes.

        >>> rows = Predictions.from_arrays(logits=[[2.0, 0.0, 9.0]] * 2, label=[0, 2], class_names=["a", "b", "c"])
        >>> some = rows.select_classes([0, 1])
        >>> len(some), some.metadata.facts.present_classes
        (1, (0, 1))
        """
        if not self.output.one_answer:
            raise OochubError(f"These predictions are of the kind {self.metadata.kind}, without one class per row.")
        present = tuple(sorted({int(number) for number in numbers}))
        chosen = np.isin(self.label, present)
        if not chosen.any():
            raise OochubError(f"No row has one of the {len(present)} classes. Pass classes that these rows have.")
        facts = replace(self.metadata.facts, present_classes=present)
        return replace(self, metadata=replace(self.metadata, facts=facts)).select(chosen)

    def with_table(self, table: pa.Table) -> "Predictions":
        """The same predictions with other rows or columns."""
        return replace(self, rows=table, metadata=replace(self.metadata, rows=count_rows(table.column("split"))))

    def remember(self, **known: Any) -> "Predictions":
        """Takes what is known of these rows already, `summary` or `digest`, so that it is not computed."""
        vars(self).update({name: value for name, value in known.items() if value is not None})
        return self


def concatenate_predictions(parts: Sequence[Predictions]) -> Predictions:
    """One Predictions of several files of the same model on different splits or sets.

    Raises:
        OochubError: No part, parts of different models, benchmarks or classes, or an example in two parts.
    """
    if not parts:
        raise OochubError("There are no predictions. Pass at least one Predictions or the path of one.")
    first = parts[0]
    for part in parts[1:]:
        for name in ("benchmark", "config", "class_names", "model"):
            values = [getattr(predictions.metadata, name) for predictions in (first, part)]
            if values[0] != values[1]:
                shown = " and ".join(str(to_json(value)) for value in values)
                raise OochubError(
                    f"These predictions differ in {name}: {shown}. A report is about one model on one benchmark; "
                    "`oochub compare` shows reports side by side."
                )
    if len(parts) == 1:
        return first
    rows = StoredRows.joined([part.rows for part in parts])
    digest = hashlib.sha256("".join(part.metadata.fingerprint for part in parts).encode()).hexdigest()
    counts = count_rows(rows.light.column("split"))
    shared = {part.metadata.data_set for part in parts}
    data_set = first.metadata.data_set if len(shared) == 1 else None
    metadata = replace(first.metadata, fingerprint=digest, rows=counts, data_set=data_set)
    joined = Predictions(rows, metadata, join_integrity(parts), first.stored_head)
    if any(set(part.column_names) != set(first.column_names) for part in parts):
        check_answers(rows, joined.metadata)  # vectors that some of them lack
    return joined


def join_integrity(parts: Iterable[Predictions]) -> Integrity | None:
    """What holds of several predictions together: "not checked" where one file was not; None for rows in memory."""
    integrities = {part.integrity for part in parts}
    return "not checked" if "not checked" in integrities else "checked" if "checked" in integrities else None
