"""The form of a kind of output: what a row of predictions holds, and what follows from it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError, choose_wording
from oochub.records.given_columns import GivenColumns
from oochub.records.output_columns import no_truth
from oochub.stats.logits import RightClasses

Arrays = dict[str, Any]
"""Arrays by name, each (n, ...); probabilities of classes are a `oochub.stats.logits.ClassProbability`."""


ArraysOfRows = Mapping[str, Any]
"""`Arrays` that are read."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is true of one row, and what the model answered, for a reader.

    Attributes:
        label: The truth, in words.
        predicted: The answer, in words.
        probability: Probability that the model gave its answer, in [0, 1]; nan if the kind has none.
        mistake: The kind of mistake: "missed", "false_alarm", "confused", ...
    """

    label: str
    predicted: str
    probability: float
    mistake: str


class RowBoxes(NamedTuple):
    """The true boxes of one row and those of the answer, each x1, y1, x2, y2 in pixels of its image."""

    true: Sequence[Sequence[float]]
    answered: Sequence[Sequence[float]]


class PredictedRows(Protocol):
    """What a kind of output asks of predictions: see `oochub.Predictions`, which is one."""

    @property
    def rows(self) -> Any:
        """The columns: `column(name)`, `take(places)`, `light`."""

    @property
    def label(self) -> NDArray[Any]:
        """The truth (n, ...)."""

    @property
    def prediction(self) -> NDArray[Any]:
        """The answers, of the shape of the label."""

    @property
    def probability(self) -> NDArray[np.float64]:
        """Probabilities of classes or labels."""

    @property
    def logits(self) -> NDArray[np.float32]:
        """Logits (n, c)."""

    @property
    def summary(self) -> Any:
        """For the kind `classes`: `prediction`, `confidence`, `loss` and `correct` of each row, made of its logits."""

    @property
    def also_right(self) -> RightClasses | None:
        """Classes that are right beside the label; None if no row says any."""

    @property
    def class_names(self) -> Sequence[str]:
        """The c classes."""

    @property
    def column_names(self) -> Sequence[str]:
        """The columns that are there."""

    def column(self, name: str) -> NDArray[Any]:
        """A column as an array (n,)."""

    def blocks(self, *names: str) -> Iterator[tuple[slice, Mapping[str, NDArray[Any]]]]:
        """The rows in blocks, so that long columns are never whole in memory."""


class Output(ABC):
    """A kind of output; a subclass is a file of `outputs/`, and its name is the file's.

    Predictions, training, evaluation, mistakes and detectors ask it, and none of them names a kind. It reads tables
    with a column of truth, `label_column`, and the columns of what the model said, `columns`; both may be ragged
    lists.

    Attributes:
        label_column: Column of the truth.
        columns: Columns that hold what the model said.
        problem_type: The name that a config of transformers has for it, "" for none.
        primary_metric: The metric of the gap for data that no benchmark declares; higher is better.
        metrics: Metrics for such data.
        group_metrics: Metrics of each group.
        one_answer: Whether a row has one answer among classes: accuracy by group, confusion and contexts need it.
        taken: What `given` reads, in words.
        text_column: Column that may stand beside them and holds what the model wrote; "" of a kind without words.
        beside: Columns that `arrays` reads beside these where they are there; metrics get what it makes of them.
        has_fixed_classes: Whether the classes are the same in each row, so that outputs of a model can stand for them.
        has_classes: Whether a model's outputs are classes or labels, which have names; a number and tokens have none.
        no_probability: What the answers of a kind without probabilities are, in words; "" of one with them.
        rank: If a table has the columns of several kinds, the one of the highest rank is taken: it says more.
    """

    label_column: ClassVar[str] = "label"
    columns: ClassVar[tuple[str, ...]]
    problem_type: ClassVar[str] = ""
    primary_metric: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    group_metrics: ClassVar[tuple[str, ...]] = ()
    one_answer: ClassVar[bool] = False
    taken: ClassVar[str] = ""
    text_column: ClassVar[str] = ""
    beside: ClassVar[tuple[str, ...]] = ()
    has_fixed_classes: ClassVar[bool] = True
    has_classes: ClassVar[bool] = True
    no_probability: ClassVar[str] = ""
    rank: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """The name of the kind, that of its file."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def has_confidence(self) -> bool:
        """Whether a row has one answer and says how sure it is of each class: calibration and detectors need it."""
        return self.one_answer and "logits" in self.columns

    @classmethod
    @abstractmethod
    def is_truth(cls, feature: Any) -> bool:
        """Whether a column `label_column` with this feature of `datasets` holds the truth of this kind."""

    @classmethod
    def is_truth_of(cls, features: Mapping[str, object]) -> bool:
        """Whether a data set with these features holds the truth of this kind."""
        return cls.label_column in features and cls.is_truth(features[cls.label_column])

    @abstractmethod
    def truth(self, values: Sequence[Any] | None, rows: int, class_names: Sequence[str]) -> pa.Array:
        """The column of truth of predictions, made of that of a data set.

        Args:
            values: Values of the rows; None for a data set without truth.
            rows: Number of rows.
            class_names: See `check`.
        """

    def class_names(self, dataset: Any) -> list[str] | None:
        """Names of the classes or labels of a data set with such a truth, by its feature; None where it has no names.

        A kind without classes has the name of the column.

        Args:
            dataset: A split of which `is_truth` holds.
        """
        if not self.has_classes:
            return [self.label_column]
        feature = dataset.features[self.label_column]
        names = getattr(getattr(feature, "feature", feature), "names", None)
        return None if names is None else list(names)

    def names_of_rows(self, table: pa.Table) -> list[str] | None:
        """Names of the classes that the columns of predictions say themselves; None where they do not."""
        return None

    def numbered_names(self, table: pa.Table) -> list[str]:
        """Names of the classes or labels of predictions that name none: their numbers; for a number, its column."""
        return [self.label_column]

    @abstractmethod
    def check(self, table: pa.Table, class_names: Sequence[str]) -> None:
        """Checks the columns of truth and answers of a table of predictions.

        Args:
            table: Table with `label_column`, `columns` and `example_id`.
            class_names: Names of the classes or labels; for a number, the name of its column.

        Raises:
            OochubError: A type, shape or value that the kind does not allow; the first bad row is named.
        """

    @abstractmethod
    def label(self, table: pa.Table, class_names: Sequence[str]) -> NDArray[Any]:
        """The truth as an array, the first axis that of the rows."""

    @abstractmethod
    def known(self, label: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows have a truth to compare with (n,)."""

    @abstractmethod
    def prediction(self, predictions: PredictedRows) -> NDArray[Any]:
        """The answer to each row, of the shape of its label."""

    def probability(self, predictions: PredictedRows) -> NDArray[np.float64]:
        """Probabilities of classes or labels, float64 in [0, 1].

        Raises:
            OochubError: The kind has none.
        """
        raise OochubError(f"These predictions are {self.no_probability}. Read .prediction and .label.")

    @abstractmethod
    def arrays(self, predictions: PredictedRows, allowed: NDArray[np.int64] | None = None) -> Arrays:
        """What metrics get, by the names of their arguments; and `loss` (n,), how wrong each row is.

        Args:
            predictions: Predictions of this kind.
            allowed: Class numbers that an answer may be; None allows all.
        """

    @abstractmethod
    def wrong(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Which rows the model got wrong (n,), of what `arrays` gives; a number is wrong to a degree: all are."""

    def right_beside(self, table: pa.Table, class_names: Sequence[str]) -> RightClasses | None:
        """The classes that are right beside the label, by a column of the table; None of a kind that has none.

        Args:
            table: Rows, without vectors.
            class_names: See `check`.
        """
        return None

    def fits_no_class(self, predictions: PredictedRows) -> NDArray[np.bool_] | None:
        """Which answers (n,) are none of the classes; None, read from nothing, of a kind whose answer always is one."""
        return None

    def asks_each_row(self, predictions: PredictedRows) -> bool:
        """Whether each row has a question and options of its own, so that a class means another thing in each."""
        return False

    def answer_names(self, class_names: Sequence[str]) -> list[str]:
        """What an answer is called, by its number: the names of the classes; the last one is that of -1, if any."""
        return list(class_names)

    @abstractmethod
    def mistake_keys(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """What tells one kind of mistake from another (n,): for each kind, only a few of the worst rows are shown."""

    @abstractmethod
    def answer(self, arrays: Mapping[str, NDArray[Any]], row: int, class_names: Sequence[str]) -> Answer:
        """A row in words, of what `arrays` gives."""

    def boxes(self, arrays: Mapping[str, NDArray[Any]], row: int) -> RowBoxes | None:
        """The boxes of a row, of what `arrays` gives; None of a kind that has none."""
        return None

    def count_boxes(self, arrays: ArraysOfRows) -> Mapping[str, NDArray[np.int64]]:
        """How many boxes each row has (n,), by what they are, "true" or "drawn"; none of a kind without boxes.

        Args:
            arrays: See `answer`.
        """
        return {}

    def line(self, arrays: Mapping[str, NDArray[Any]], row: int, vocabulary: Sequence[str]) -> str | None:
        """A row as a line of text, what the model got wrong in ⟦brackets⟧; None of a kind that is no text.

        Args:
            arrays: See `answer`.
            row: See `answer`.
            vocabulary: The text of each number, where it is known.
        """
        return None

    @abstractmethod
    def store(self, outputs: NDArray[np.float32]) -> dict[str, pa.Array]:
        """The columns of predictions, made of a model's outputs (n, k) in the order of the class names."""

    def number_answers(self, column: pa.Array, class_names: Sequence[str] | None) -> pa.Array:
        """A column of answers of what a user has, in the form that `check` wants: names of classes as numbers.

        Args:
            column: One of `columns`, an Arrow array.
            class_names: Names of the classes; None where the user gave none.

        Raises:
            OochubError: A name that is no class.
        """
        return column

    def given(self, columns: GivenColumns, class_names: Sequence[str]) -> dict[str, pa.Array] | None:
        """The columns of predictions, made of answers that somebody else wrote into a file.

        Args:
            columns: Columns of the file; what is wrong with them is added to their `problems`.
            class_names: See `check`.

        Returns:
            What `store` gives; None if something is wrong, or nothing is there that says an answer. It is always
            None for a kind that does not say how it reads answers.
        """
        return None

    def given_label(self, columns: GivenColumns, class_names: Sequence[str]) -> NDArray[Any]:
        """The truth that somebody else wrote into a file, of the shape of `label`.

        Raises:
            OochubError: The truth is not of this kind.
        """
        values = columns.values(self.label_column).to_pylist()
        truth = self.truth(values, len(values), class_names)
        return self.label(pa.table({self.label_column: truth}), class_names)

    def chance(self, predictions: PredictedRows) -> float:
        """The primary metric of guessing; nan where there is no such number, as by default."""
        return float("nan")


def check_fixed_classes(kind: Output) -> None:
    """Checks that a classifier can answer rows of a kind of output.

    Raises:
        OochubError: Each row has options of its own.
    """
    if not kind.has_fixed_classes:
        modes = choose_wording('mode="multiple_choice" or mode="generate"')
        raise OochubError(
            "Each row asks a question of its own (columns question and options), so a classifier cannot answer them. "
            f"Use a model of images and text that writes, with {modes}, or score the answers of another program: "
            "oochub evaluate answers.csv --benchmark SOURCE."
        )


def get_output(name: str) -> Output:
    """The kind of output of that name.

    Raises:
        OochubError: An unknown kind.

    >>> get_output("classes").columns
    ('logits',)
    """
    kind: type[Output] = catalog.get("output", name)
    return kind()


def find_output_of_features(features: Mapping[str, Any]) -> str | None:
    """The name of the kind of output of a data set with these features; None for one without truth.

    Raises:
        OochubError: A column of truth that holds no truth of any kind, such as labels of text.

    >>> import datasets
    >>> image = {"image": datasets.Image()}
    >>> find_output_of_features({"label": datasets.Value("float32")}), find_output_of_features(image)
    ('number', None)
    """
    kinds = [get_output(name) for name in catalog.names("output")]
    order = ("label", "labels")  # "label" says more than "labels" beside it, and both than boxes
    in_order = sorted(
        kinds,  # of one column, a kind that needs others beside it says more
        key=lambda kind: (
            order.index(kind.label_column) if kind.label_column in order else 2,
            kind.has_fixed_classes,
        ),
    )
    for kind in in_order:
        if kind.is_truth_of(features):
            return kind.name
    for column in sorted({kind.label_column for kind in kinds} & set(features)):
        if getattr(features[column], "dtype", "") != "null":
            raise no_truth(column, str(features[column]))
    return None


def find_output_of_columns(names: Sequence[str]) -> str:
    """The name of the kind of output whose columns these are; of a table that does not say its kind.

    Args:
        names: Names of the columns.

    Raises:
        OochubError: No kind has such columns.

    >>> find_output_of_columns(["label", "logits"]), find_output_of_columns(["label", "value"])
    ('classes', 'number')
    """
    kinds = {name: get_output(name) for name in catalog.names("output")}
    other = "label" if "label" not in names else "labels"
    fitting = [
        name
        for name, kind in kinds.items()
        if kind.label_column != other and {kind.label_column, *kind.columns} <= set(names)
    ]
    if fitting:
        return max(fitting, key=lambda name: kinds[name].rank)
    wanted = "; ".join(f"{name}: {', '.join((kind.label_column, *kind.columns))}" for name, kind in kinds.items())
    raise OochubError(f"Predictions need the columns of a kind of output ({wanted}), got {', '.join(names)}.")
