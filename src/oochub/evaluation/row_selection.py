r"""Rows that somebody chose, in a file of one row per line, and the rule of their choice tested on other rows.

    # label=dog&context=snow&outcome=wrong
    # looked at: half
    # data: waterbirds/default
    test	0001
    test	0002

A line is "SPLIT<tab>EXAMPLE_ID", or the id alone if no two splits share it. The first comment, or one that begins with
"rule:", is the rule of the choice (`evaluation.selection_rule`). "looked at" says whether the page showed all rows
or one half of them; "data" names the benchmark and its config. Such files are written by the page of `oochub report
--browse`, and by anyone.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.benchmark import Benchmark
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation_rows import EvaluationRows, make_evaluation_rows
from oochub.evaluation.selection_rule import RowRule
from oochub.evaluation.slices import make_row_sets
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import OWN
from oochub.records.finding_records import ChosenRows, TestedRule
from oochub.stats.estimate import Sampling
from oochub.stats.mean_interval import mean_estimate
from oochub.stats.stratified_gap import stratified_gap
from oochub.storage.reading import read_text

_LARGEST = 1 << 28  # bytes of a file
_SHOWN = 60  # characters of an id in an error
_HALF, _ALL = "half", "all"
_KEYS = ("rule", "looked at", "data")
_SCORED = ("all", "in", "out")  # roles of the rows that a test is on


class _Line(NamedTuple):
    number: int
    split: str
    example_id: str

    @property
    def words(self) -> str:
        named = f"{self.split}/{self.example_id}" if self.split else self.example_id
        return f"{named[:_SHOWN]} (line {self.number:,})"


@dataclass(frozen=True)
class RowsFile:
    """What a file of rows says.

    Attributes:
        name: Name of the file.
        lines: The rows that it names: number of the line, split ("" if none is said), and id.
        rule: The rule of the choice; "" if it says none.
        is_of_half: Whether the page that wrote it showed half of the rows.
        data: Benchmark and config of the rows; "" if it does not say.
        comments: The lines that begin with #. One that is the id of a row names that row, see `of_rows`.
    """

    name: str
    lines: tuple[_Line, ...] = field(repr=False)
    rule: str = ""
    is_of_half: bool = False
    data: str = ""
    comments: tuple[_Line, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, path: str | Path) -> "RowsFile":
        """Reads a file of rows.

        Raises:
            OochubError: A file that cannot be read, names no row, or names one twice.
        """
        path = Path(path).expanduser()
        texts = [line.rstrip("\r") for line in read_text(path, largest=_LARGEST).split("\n")]
        comments = [line.lstrip("#").strip() for line in texts if line.startswith("#")]
        pairs = [line.partition(":") for line in comments]
        facts = {key.strip().lower(): value.strip() for key, _, value in pairs}
        lines = []
        for number, text in enumerate(texts, 1):
            if text and not text.startswith("#"):
                split, tab, example_id = text.partition("\t")
                lines.append(_Line(number, split, example_id) if tab else _Line(number, "", text))
        hashed = [_Line(number, "", text) for number, text in enumerate(texts, 1) if text.startswith("#")]
        if not lines and not hashed:
            raise _name_none(str(path))
        first: dict[tuple[str, str], _Line] = {}
        for line in lines:
            before = first.setdefault((line.split, line.example_id), line)
            if before is not line:
                raise OochubError(f"{path} names {line.words} twice, first in line {before.number:,}. Remove one.")
        looked_at = facts.get("looked at", _ALL)
        if looked_at not in (_ALL, _HALF):
            raise OochubError(f"{path} says that {looked_at[:_SHOWN]!r} was looked at. Allowed: {_ALL}, {_HALF}.")
        return cls(
            name=path.name,
            lines=tuple(lines),
            rule=facts.get("rule", comments[0] if comments and pairs[0][0].strip().lower() not in _KEYS else ""),
            is_of_half=looked_at == _HALF,
            data=facts.get("data", ""),
            comments=tuple(hashed),
        )

    def of_rows(self, predictions: Predictions) -> "RowsFile":
        """The file with the comments among its rows that are ids of predictions: an id may begin with #.

        Raises:
            OochubError: The file names no row.
        """
        lines = self.lines
        if self.comments:
            ids = set(predictions.rows.light.column("example_id").cast(pa.string()).to_pylist())
            lines = tuple(sorted((*lines, *(line for line in self.comments if line.example_id in ids))))
        if not lines:
            raise _name_none(self.name)
        return replace(self, lines=lines, comments=())

    def parse_rule(self) -> RowRule:
        """The rule of the choice, with a condition that can be tested.

        Raises:
            OochubError: The file says no rule, or one that is made of the outcome alone.
        """
        if not self.rule:
            raise OochubError(
                f"{self.name} says no rule. Write it into the first line, such as # label=dog&context=snow, or "
                "export the rows from the page of `oochub report --browse`."
            )
        rule = RowRule.parse(self.rule)
        if not rule.without_outcome().conditions:
            raise OochubError(
                f"The rule of {self.name} is made of the outcome alone ({rule.words}), so there is nothing to test. "
                "Choose rows by a class, a context, a group, a side, an answer or a confidence too."
            )
        return rule


def _name_none(file: str) -> OochubError:
    return OochubError(
        f"{file} names no rows. Write one row per line, as SPLIT<tab>EXAMPLE_ID, or export it from the page of "
        "`oochub report --browse`."
    )


class SelectedRows(NamedTuple):
    """Chosen rows as predictions of their own, and what a report says of the choice."""

    predictions: Predictions
    chosen: ChosenRows


def describe_data(predictions: Predictions) -> str:
    """What a file of rows calls the data of predictions: benchmark and config.

    >>> describe_data(Predictions.from_arrays(logits=[[1.0, 0.0]], label=[0], benchmark="waterbirds"))
    'waterbirds/default'
    """
    metadata = predictions.metadata
    return f"{metadata.benchmark or OWN}/{metadata.config or 'default'}"


def find_half(predictions: Predictions, declared: Benchmark) -> NDArray[np.bool_]:
    """Which rows (n,) belong to the half that a page may show; the other half stays for a test.

    It goes by a hash of the id, or of what rows share, so that a row is in the same half wherever it is predicted.

    >>> from oochub.data.declaration import find_declaration
    >>> rows = Predictions.from_arrays(logits=[[1.0, 0.0]] * 400, label=[0] * 400)
    >>> 170 < int(find_half(rows, find_declaration(rows)).sum()) < 230
    True
    """
    units = predictions.rows.light.column(_name_unit(predictions, declared)).to_pylist()
    digests = (hashlib.sha256(f"looked_at/{unit}".encode()).digest()[0] < 128 for unit in units)
    return np.fromiter(digests, np.bool_, len(units))


def _name_unit(predictions: Predictions, declared: Benchmark) -> str:
    """The column that is hashed: what rows share, else their ids."""
    light = predictions.rows.light.column_names
    return declared.cluster if declared.cluster is not None and declared.cluster in light else "example_id"


def select_rows(predictions: Predictions, file: RowsFile) -> SelectedRows:
    """The rows that a file names.

    Args:
        predictions: All rows.
        file: The file.

    Raises:
        OochubError: The file is of another data set, an id is unknown, or is in several splits and the file does not
            say which.

    >>> rows = Predictions.from_arrays(logits=[[1.0, 0.0]] * 3, label=[0, 0, 1], example_id=["a", "b", "c"])
    >>> some = select_rows(rows, RowsFile("ids.txt", (_Line(1, "test", "c"), _Line(2, "", "a"))))
    >>> some.predictions.column("example_id").tolist(), some.chosen.n, some.chosen.among
    (['a', 'c'], 2, 3)
    """
    here = describe_data(predictions)
    if file.data and file.data != here:
        raise OochubError(
            f"{file.name} names rows of {file.data[:_SHOWN]}, but these predictions are of {here}. Name rows of these "
            "predictions, or evaluate those that the file was made of."
        )
    file = file.of_rows(predictions)
    numbers, unknown = _find_numbers(predictions, file)
    if unknown:
        raise _refuse_unknown(predictions, file, unknown)
    return _take(predictions, numbers, file, tested=None, note="after looking at the predictions")


def select_by_rule(predictions: Predictions, file: RowsFile, declared: Benchmark, sampling: Sampling) -> SelectedRows:
    """The rows that the rule of a file holds for, among rows that were not looked at, and the test of the rule.

    The rows are the half that the page kept back. If the page showed all rows, they must be of other data: none of
    the rows that the file names may be among them.

    Args:
        predictions: Rows with those to test on.
        file: The file, whose rule can be tested (`RowsFile.parse_rule`).
        declared: The declaration of their config.
        sampling: Resamples and seed of the intervals.

    Raises:
        OochubError: All rows were looked at, answers that are not right or wrong, a column or value that the rows
            lack, or a rule that holds for no row or for all.
    """
    rule = file.parse_rule()
    if not predictions.output.one_answer:
        raise OochubError(
            f"A rule is tested by right and wrong answers, but these are of the kind {predictions.metadata.kind}. "
            f"Score the named rows themselves: remove {choose_wording('unseen=True')}."
        )
    unseen, by = _leave_out_seen(predictions, file, declared)
    evaluated, _ = make_evaluation_rows(
        unseen, declared, None, {"resamples": sampling.resamples, "seed": sampling.seed}
    )
    # the test is on the rows of the splits that the rule names, else of those that a report compares
    if (named := rule.conditions.get("split")) is not None:
        scope = evaluated.known & RowRule({"split": named}).find_rows(evaluated)
    else:
        scope = np.logical_or.reduce([rows.mask for rows in make_row_sets(evaluated) if rows.role in _SCORED])
    fits = rule.without_outcome().find_rows(evaluated) & scope
    subject = f"The rule of {file.name} ({rule.without_outcome().words}) holds for"
    if not fits.any():
        raise OochubError(
            f"{subject} none of the {int(scope.sum()):,} rows that were not looked at, so there is nothing to test. "
            "Use more rows, or a broader rule."
        )
    if not (scope & ~fits).any():
        raise OochubError(
            f"{subject} every row that was not looked at, so there is nothing to compare with. Use a narrower rule."
        )
    tested = _test_rule(evaluated, fits, scope, rule, by)
    where = "in the half that was kept back" if by else "in data that was not looked at"
    applied = replace(file, rule=str(rule.without_outcome()))
    return _take(
        unseen, np.flatnonzero(fits), applied, tested=tested, note=f"by a rule, {where}", among=int(scope.sum())
    )


def _find_numbers(predictions: Predictions, file: RowsFile) -> tuple[NDArray[np.int64], list[_Line]]:
    """The numbers of the rows that a file names, sorted, and the lines that name none.

    Raises:
        OochubError: An id without a split that several splits have, or a row that two lines name.
    """
    light = predictions.rows.light
    ids, splits = (light.column(name).cast(pa.string()).to_pylist() for name in ("example_id", "split"))
    place = {pair: number for number, pair in enumerate(zip(splits, ids, strict=True))}
    names = list(dict.fromkeys(splits))
    lines: dict[int, _Line] = {}
    unknown: list[_Line] = []
    for line in file.lines:
        having = [line.split] if line.split else [split for split in names if (split, line.example_id) in place]
        if len(having) > 1:
            raise OochubError(
                f"{file.name} does not say the split of {line.words}, which {' and '.join(having[:4])} have. Write "
                f"{having[0]}<tab>{line.example_id[:_SHOWN]}."
            )
        number = place.get((having[0], line.example_id)) if having else None
        if number is None:
            unknown.append(line)
        elif number in lines:
            raise OochubError(
                f"{file.name} names {line.words} twice, first in line {lines[number].number:,}. Remove one."
            )
        else:
            lines[number] = line
    return np.array(sorted(lines), np.int64), unknown


def _refuse_unknown(predictions: Predictions, file: RowsFile, unknown: Sequence[_Line]) -> OochubError:
    splits = set(predictions.metadata.rows)
    advice = "Name rows of these predictions, or evaluate those that the file was made of."
    other = next((line for line in unknown if line.split and line.split not in splits), None)
    if other is not None:
        advice = f"These predictions have the split{'s' if len(splits) > 1 else ''} {', '.join(sorted(splits)[:6])}."
    if len(unknown) == len(file.lines):
        if file.rule:
            advice += f" To test the rule of the file on them, add {choose_wording('unseen=True')}."
        what = f"None of the {len(unknown):,} rows" if len(unknown) > 1 else "The only row"
        return OochubError(
            f"{what} of {file.name} is in these predictions ({describe_data(predictions)}, {len(predictions):,} rows): "
            f"the first is {(other or unknown[0]).words}. {advice}"
        )
    count = f"{len(unknown):,} of the {len(file.lines):,} rows"
    is_one = len(unknown) == 1
    return OochubError(
        f"{count} of {file.name} {'is' if is_one else 'are'} not in these predictions: "
        f"{'it is' if is_one else 'the first is'} {(other or unknown[0]).words}. {advice}"
    )


def _leave_out_seen(predictions: Predictions, file: RowsFile, declared: Benchmark) -> tuple[Predictions, str]:
    """The rows that were not looked at, and the column by which a half was kept back; "" for other data."""
    file = file.of_rows(predictions)
    numbers, _ = _find_numbers(predictions, file)
    if not len(numbers):
        return predictions, ""
    if not file.is_of_half:
        count = f"{len(numbers):,} of the {len(file.lines):,} rows" if len(numbers) < len(file.lines) else "All rows"
        raise OochubError(
            f"{count} of {file.name} are in these predictions, which were looked at, so its rule cannot be tested on "
            "them. Evaluate predictions of other rows, or choose rows on a page of one half: oochub report REPORT "
            "--browse FOLDER --half."
        )
    shown = find_half(predictions, declared)
    kept_back = numbers[~shown[numbers]]
    if len(kept_back):
        raise OochubError(
            f"{file.name} says that half of the rows was looked at, but {len(kept_back):,} of its {len(file.lines):,} "
            "rows are in the other half. Export the rows again from the page that keeps half of them back."
        )
    if shown.all():
        raise OochubError(f"No row of these predictions was kept back from {file.name}: evaluate more rows.")
    return predictions.select(~shown), _name_unit(predictions, declared)


def _test_rule(
    evaluated: EvaluationRows, fits: NDArray[np.bool_], scope: NDArray[np.bool_], rule: RowRule, by: str
) -> TestedRule:
    """Right answers where the rule holds against those elsewhere, in one stratum, so that nothing is weighted."""
    rows = np.flatnonzero(scope)
    right, has = np.asarray(evaluated.columns["correct"])[rows], fits[rows]
    sampling = Sampling(cluster=evaluated.cluster(rows), **evaluated.sampling)
    gap = stratified_gap(right, has, np.zeros(len(rows), np.int8), cluster=sampling.cluster)
    inside, outside = (mean_estimate(right[some].astype(np.float64), sampling.of_rows(some)) for some in (has, ~has))
    return TestedRule(
        unseen="half" if by else "others",
        by=by,
        left_out=tuple(rule.outcome().list_words()),
        n_rule=int(has.sum()),
        n_others=int((~has).sum()),
        accuracy_rule=inside,
        accuracy_others=outside,
        difference=gap.estimate,
        p_value=gap.p_value,
    )


def _take(
    predictions: Predictions,
    numbers: NDArray[np.int64],
    file: RowsFile,
    *,
    tested: TestedRule | None,
    note: str,
    among: int | None = None,
) -> SelectedRows:
    """The rows as predictions that say what they are: with a note, and a fingerprint that is not that of the whole."""
    light = predictions.rows.light
    pairs = (light.column(name).cast(pa.string()).to_pylist() for name in ("split", "example_id"))
    named = list(zip(*pairs, strict=True))
    lines = sorted("\t".join(named[number]) for number in numbers)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    chosen = ChosenRows(
        file=file.name,
        rule=_describe_rule(file.rule),
        n=len(numbers),
        among=len(predictions) if among is None else among,
        digest=digest,
        tested=tested,
    )
    whole = predictions.metadata
    note_of_rows = (
        f"only {chosen.n:,} of {chosen.among:,} rows are scored, chosen {note} (file {file.name}, digest {digest})"
    )
    metadata = replace(
        whole,
        notes=(note_of_rows, *whole.notes),
        fingerprint=hashlib.sha256(f"{whole.fingerprint} {digest}".encode()).hexdigest(),
    )
    return SelectedRows(replace(predictions, metadata=metadata).take(numbers), chosen)


def _describe_rule(text: str) -> str:
    """The rule of a choice in words; text that is no rule as it is."""
    try:
        return RowRule.parse(text).words if text else ""
    except OochubError:
        return text
