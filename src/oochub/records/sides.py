"""What a benchmark declares of its rows: the sides of the comparison, their words, and groups of sets.

A side is some rows, their worst group, or a percentile of their groups.

`Vocabulary` has the words of one config: what report, page and terminal call its rows, its two sides and what differs
there. `Spectrum` says which configs hold known classes, as they are or shifted, and which hold new ones, by groups.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

CHALLENGES = ("easy", "hard_positive", "hard_negative", "hard")
"""What a column `challenge` says of a row, "hard" where no class is asked for."""
Form = Literal["rows", "worst_group", "group_percentile"]


Reading = Literal["standard", "full_spectrum"]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of one split: the side's number is the metric over all of them.

    The gap of two such sides is the metric on the rows out of context minus the metric on the rows in context.

    Attributes:
        name: What the rows are, in the reader's words ("easy").
        split: The split they are taken from.
        where: Column name to allowed values; empty takes the whole split.
    """

    name: str
    split: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    form: ClassVar[Form] = "rows"

    def mask(self, columns: Mapping[str, Any]) -> NDArray[np.bool_]:
        """(n,) True where a row is of this side; `columns` holds "split" and every column named in `where`.

        >>> hard = Rows(name="hard", split="test", where={"challenge": ("hard_positive",)})
        >>> hard.mask({"split": np.array(["test", "test"]), "challenge": np.array(["easy", "hard_positive"])})
        array([False,  True])
        """
        selected = _is_among(columns["split"], (self.split,))
        for column, allowed in self.where.items():
            selected &= _is_among(columns[column], allowed)
        return selected

    @property
    def description(self) -> str:
        """Which rows these are, in one phrase.

        >>> Rows(name="hard", split="test", where={"challenge": ("hard_positive", "hard_negative")}).description
        'split test, challenge is hard_positive or hard_negative'
        """
        conditions = (f", {column} is {' or '.join(values)}" for column, values in self.where.items())
        return f"split {self.split}{''.join(conditions)}"


def _is_among(column: Any, names: Sequence[str]) -> NDArray[np.bool_]:
    coded = [column == name for name in names] if hasattr(column, "codes") else None  # whose isin looks up each row
    return np.isin(column, names) if coded is None else np.asarray(np.logical_or.reduce(coded), np.bool_)


def _group_by_codes(codes: NDArray[Any], names: Sequence[str], rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    ordered = rows[np.argsort(codes, kind="stable")]
    ends = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    places = zip(names, [0, *ends[:-1]], ends, strict=True)  # np.split takes ten times as long
    return {name: ordered[first:end] for name, first, end in places if end > first}


def _group_by_lists(values: NDArray[Any], rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    numbers: dict[str, int] = {}  # a number a name: the names themselves, as an array, take the memory of the rows
    counts = np.zeros(len(values), dtype=np.int64)

    def numbered() -> Iterator[int]:
        for place, value in enumerate(values):
            names = () if value is None else (value,) if isinstance(value, str) else value
            counts[place] = len(names)
            for name in names:
                yield numbers.setdefault(str(name), len(numbers))

    codes = np.fromiter(numbered(), dtype=np.int32)
    names = sorted(numbers)
    rank = np.argsort([numbers[name] for name in names])
    return _group_by_codes(rank[codes], names, np.repeat(rows, counts)) if names else {}


@dataclass(frozen=True, kw_only=True)
class GroupsOfRows(Rows):
    """Rows of one split seen group by group: the side's number is a statistic of the metric over their groups.

    The gap is that statistic minus the metric on all rows in context, which are as a rule the same rows. Its interval
    is that of the difference, and must allow for the choice of the group (`oochub.stats.group_intervals`).

    Attributes:
        column: Column of the groups: a name per row, or a list of names per row, so that groups overlap.
    """

    column: str = "group"

    def rows_of_groups(self, columns: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
        """The row numbers of each group of this side, by its name, sorted; a group without rows is not there.

        Args:
            columns: See `mask`, with the column of the groups: text or numbers (n,), or an array of lists of these.
                Text may be a pandas Categorical.

        >>> side = WorstOfGroups(split="test", column="groups")
        >>> columns = {"split": np.array(["test"] * 3), "groups": np.array([["b"], ["a", "b"], []], dtype=object)}
        >>> {name: rows.tolist() for name, rows in side.rows_of_groups(columns).items()}
        {'a': [1], 'b': [0, 1]}
        """
        rows, column = np.flatnonzero(self.mask(columns)), columns[self.column]
        if hasattr(column, "codes"):
            return _group_by_codes(column.codes[rows], column.categories.tolist(), rows)
        values = np.asarray(column)[rows]
        if values.dtype == object:  # lists, or names of which some are missing
            return _group_by_lists(values, rows)
        order = np.argsort(values, kind="stable")
        names, first = np.unique(values[order], return_index=True)
        parts = np.split(rows[order], first[1:])  # one empty part where there is no name at all
        return dict(zip(names.astype(str).tolist(), parts, strict=False))

    def counting(self, columns: Mapping[str, Any]) -> NDArray[np.bool_] | None:
        """(n,) True where a row, of whatever split, is of a group that counts; None where all are, or nothing says so.

        >>> side = WorstOfGroups(split="test", where={"region": ("Asia", "Europe")})
        >>> side.counting({"region": np.array(["Asia", "Other"])}), side.counting({})
        (array([ True, False]), None)
        """
        if not self.where or not set(self.where) <= set(columns):
            return None
        chosen = {name: columns[name] for name in self.where}
        return self.mask({"split": np.full(len(next(iter(chosen.values()))), self.split), **chosen})

    def statistic(self, values: Sequence[float], *, higher_is_better: bool = True) -> float:
        """The side's number, of the metric of each of its groups; nan where no group has one.

        Args:
            values: The metric of each group; those that are nan are left out.
            higher_is_better: The direction of the metric.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class WorstOfGroups(GroupsOfRows):
    """All rows of a split against the worst of their groups: the side's number is the group's whose metric is worst.

    Source: Sagawa et al. 2020, "Distributionally Robust Neural Networks for Group Shifts"; WILDS, Section 4 (FMoW,
    CivilComments, PovertyMap).
    """

    name: str = "worst group"

    form: ClassVar[Form] = "worst_group"

    def statistic(self, values: Sequence[float], *, higher_is_better: bool = True) -> float:
        """The lowest value, or the highest of a metric of which lower is better.

        >>> side = WorstOfGroups(split="test")
        >>> side.statistic([0.9, float("nan"), 0.4]), side.statistic([0.1, 0.6], higher_is_better=False)
        (0.4, 0.6)
        """
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[~np.isnan(finite)]
        return float((finite.min() if higher_is_better else finite.max()) if len(finite) else np.nan)

    @property
    def description(self) -> str:
        """Which rows and which of their groups, in one phrase.

        >>> WorstOfGroups(split="test", column="groups").description
        'the worst of the groups by groups, split test'
        """
        return f"the worst of the groups by {self.column}, {super().description}"


@dataclass(frozen=True, kw_only=True)
class PercentileOfGroups(GroupsOfRows):
    """All rows of a split against a percentile of their groups: every group counts once, however many rows it has.

    Source: WILDS, Section 4.2.2 (Amazon: the 10th percentile of the accuracies of users).

    Attributes:
        percentile: Percentile in [0, 100], from the worst end: 10 is the value that a tenth of the groups do not reach.
    """

    name: str = "10th percentile of groups"
    percentile: float = 10.0

    form: ClassVar[Form] = "group_percentile"

    def statistic(self, values: Sequence[float], *, higher_is_better: bool = True) -> float:
        """The percentile from the worst end, linear between neighbors as `numpy.percentile` has it.

        >>> side = PercentileOfGroups(split="test", percentile=25)
        >>> side.statistic([0.0, 0.25, 0.5, 0.75, 1.0]), side.statistic([0.0, 0.5, 1.0], higher_is_better=False)
        (0.25, 0.75)
        """
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[~np.isnan(finite)]
        rank = self.percentile if higher_is_better else 100.0 - self.percentile
        return float(np.percentile(finite, rank)) if len(finite) else float("nan")

    @property
    def description(self) -> str:
        """Which rows and which percentile of their groups, in one phrase.

        >>> PercentileOfGroups(split="test", column="user").description
        'percentile 10 of the groups by user, split test'
        """
        return f"percentile {self.percentile:g} of the groups by {self.column}, {super().description}"


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Nouns and phrases that are put into fixed sentences; the defaults are neutral, for anybody's data.

    Attributes:
        example: What one row is: "image", "text", "molecule".
        inside: Where the first side is, as it follows a number in a sentence: "on usual backgrounds".
        outside: Where the second side is, likewise: "on unusual ones".
        inside_title: The first side in tables, legends and charts, a phrase that also ends a sentence.
        outside_title: The second side: "This model does worse out of context."
        cause: What a model relies on that does worse on the second side ("context", "the background"), if the rows
            separate reliance from difficulty: both sides hold the same classes in the same contexts, paired otherwise,
            or the same things. "" if they do not, as where the second side has new hospitals, or is the worst of the
            groups: the verdict then says that the model does worse there, and not why.
        pair: What a ranking metric compares: "one image with the object and one without".
        hard_positive: What the positives of the second side are: "object, no context".
        hard_negative: What its negatives are.
        place: What stands between a thing and its context: "on" for "labrador on desert"; "" writes a comma.
        context: What is written before a context without such a word, as its column: "herd" for "cow, herd: yes".

    >>> words = Vocabulary(inside="on usual backgrounds", outside="on unusual ones")
    >>> f"It is right 97 times in 100 {words.inside} and 71 times {words.outside}."
    'It is right 97 times in 100 on usual backgrounds and 71 times on unusual ones.'
    """

    example: str = "example"
    inside: str = "in context"
    outside: str = "out of context"
    inside_title: str = "in context"
    outside_title: str = "out of context"
    cause: str = ""
    pair: str = "one positive example and one negative"
    hard_positive: str = "hard positives"
    hard_negative: str = "hard negatives"
    place: str = ""
    context: str = ""

    @classmethod
    def of(cls, inside: str, outside: str, **others: str) -> "Vocabulary":
        """The words where the sides are called in titles what they are called in sentences.

        Args:
            inside: The first side.
            outside: The second.
            others: Other words, by name.

        >>> Vocabulary.of("over all regions", "in the worst region", example="image").outside_title
        'in the worst region'
        """
        return cls(inside=inside, outside=outside, inside_title=inside, outside_title=outside, **others)


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """How the configs of a benchmark are set against each other where detectors look for new classes.

    The standard reading sets `known` against each config of a group. The full spectrum counts `shifted` as in
    distribution too: a known class is known in whatever image it is shown.

    Attributes:
        known: The config with the known classes as training showed them.
        shifted: The configs with the known classes in other images.
        new: The configs with new classes, by the name of their group: {"near": (...), "far": (...)}.
        published: Those of `shifted` that the published numbers of the full spectrum are of.
        source: What published them, as a sentence names it.
        image_of: Names the image that a row is made of, by its example_id, where shifted rows are other versions of
            known ones: intervals then resample images. None where every row is an image of its own.

    Source: Yang, Zhou and Liu 2022, "Full-Spectrum Out-of-Distribution Detection"; OpenOOD v1.5 (Zhang et al. 2023).

    >>> spectrum = Spectrum(known="photo", shifted=("sketch",), new={"near": ("wolf",)}, source="Someone 2024")
    >>> spectrum.configs
    ('photo', 'sketch', 'wolf')
    """

    known: str
    shifted: tuple[str, ...] = ()
    new: Mapping[str, tuple[str, ...]]
    published: tuple[str, ...] = ()
    source: str
    image_of: Callable[[str], str] | None = None

    @property
    def configs(self) -> tuple[str, ...]:
        """Every config that has a place in it."""
        return (self.known, *self.shifted, *(config for group in self.new.values() for config in group))

    @property
    def description(self) -> str:
        """Which configs these are, in one line.

        >>> Spectrum(known="photo", shifted=("sketch",), new={"near": ("wolf",)}, source="x").description
        'known photo; known but shifted sketch; near wolf'
        """
        shifted = f"; known but shifted {', '.join(self.shifted)}" if self.shifted else ""
        groups = "".join(f"; {name} {', '.join(configs)}" for name, configs in self.new.items())
        return f"known {self.known}{shifted}{groups}"
