"""What a model wrote to each row, as other programs log it, becomes the class or option that it names."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from oochub.errors import OochubError, OochubWarning
from oochub.exchange.bridge import BridgedAnswers
from oochub.prediction.prediction_data import list_example_ids
from oochub.records.question_options import OPTIONS, ask_each_row, name_options

if TYPE_CHECKING:
    import datasets

_NONE = -1
_LONGEST = 2_000  # characters of an answer that are kept
_COLUMNS = {
    "choices": pa.list_(pa.string()),
    "option": pa.int64(),
    "target": pa.string(),
    "answer": pa.string(),
    "right": pa.bool_(),
}
_MARKED = re.compile(r"answer\W{0,3}(?:is\W{0,3})?[:=]\s*(.+)", re.IGNORECASE)  # the line by which prompts ask for it
_AROUND = " \t\r\n\"'`*_().:"


@dataclass(frozen=True, kw_only=True)
class WrittenRow:
    """One row of a log.

    Attributes:
        id: What the program calls the row: its id, or its number.
        answer: What the model wrote, or the part of it that was taken for the answer; None for none.
        choices: What the letters A, B, ... stood for; None if there were none.
        option: The number of the choice that the model found likeliest, where it wrote nothing.
        target: The truth, as the program has it; None if it has several or none.
        right: Whether the program itself counted the answer as right; None if it does not say so.
    """

    id: str | int
    answer: str | None
    choices: Sequence[str] | None = None
    option: int | None = None
    target: str | None = None
    right: bool | None = None


def tabulate_rows(rows: Sequence[WrittenRow]) -> pa.Table:
    """The rows of a log as a table: `example_id`, and what `match_rows` makes predictions of."""
    columns = {name: pa.array([getattr(row, name) for row in rows], kind) for name, kind in _COLUMNS.items()}
    return pa.table({"example_id": pa.array([str(row.id) for row in rows], pa.string()), **columns})


def match_rows(answers: BridgedAnswers, data: "Mapping[str, datasets.Dataset]") -> BridgedAnswers:
    """The predictions that written answers are, compared as those of `--mode generate`; -1 where they name no class.

    Rows that the program numbers are those of the split that has as many, in its order. The truth that the program
    names stands beside the predictions, if it is a class or option in each row, so that it is compared with the data's.

    Args:
        answers: What `tabulate_rows` gave, with notes.
        data: The splits by name.

    Raises:
        OochubError: The rows are numbered, and several splits have as many.
    """
    table, notes = answers.table, answers.notes
    split, ids, note = _find_ids(table.column("example_id").to_pylist(), data)
    rows = table.to_pylist()
    features = next(iter(data.values())).features
    if ask_each_row(features):
        matches = _match_options(rows, ids, split, data)
    else:
        matches = _match_classes(rows, getattr(features.get("label"), "names", None) or [])
    columns: dict[str, pa.Array] = {"example_id": pa.array(ids, pa.string())}
    if split is not None:
        columns["split"] = pa.array([split] * len(ids), pa.string())
    columns["prediction"] = pa.array([number for number, _ in matches], pa.int64())
    columns["answer"] = pa.array([(row["answer"] or "")[:_LONGEST] for row in rows], pa.string())
    truths = [truth for _, truth in matches]
    if all(truth != _NONE for truth in truths):
        columns["label"] = pa.array(truths, pa.int64())
    other = _compare_scores(rows, matches)
    return BridgedAnswers(pa.table(columns), answers.model, (*notes, *filter(None, [note, other])))


def _compare_scores(rows: Sequence[Mapping[str, object]], found: Sequence[tuple[int, int]]) -> str | None:
    """A note if the program itself judged most answers to be right or wrong against what is read here; else None."""
    answered = [
        (row["right"], answer == truth) for row, (answer, truth) in zip(rows, found, strict=True) if truth != _NONE
    ]
    scored = [(theirs, ours) for theirs, ours in answered if theirs is not None]
    other = sum(theirs != ours for theirs, ours in scored)
    if 2 * other <= len(scored):
        return None
    note = (
        f"the log's own scores contradict the answers that were read in {other:,} of {len(scored):,} rows: it counts "
        f"{sum(bool(theirs) for theirs, _ in scored):,} as right, and {sum(ours for _, ours in scored):,} are read so"
    )
    warnings.warn(f"{note[0].upper()}{note[1:]}. Look at some answers before you use the numbers.", OochubWarning, 2)
    return note


def _find_ids(
    given: Sequence[str], data: "Mapping[str, datasets.Dataset]"
) -> tuple[str | None, Sequence[str], str | None]:
    """The split if it is known, the ids of the data, and how they were found."""
    ids_of_split = {name: list_example_ids(part) for name, part in data.items()}
    if set(given) <= {example_id for ids in ids_of_split.values() for example_id in ids} or not all(
        given_id.isdecimal() for given_id in given
    ):
        return None, given, None
    numbers = [int(example_id) for example_id in given]
    first = min(numbers)
    if first not in (0, 1) or sorted(numbers) != list(range(first, first + len(numbers))):
        return None, given, None
    fitting = [name for name, ids in ids_of_split.items() if len(ids) == len(numbers)]
    if len(fitting) > 1:
        raise OochubError(
            f"The answers are numbered, and each of the splits {', '.join(fitting)} has {len(numbers):,} rows. Log the "
            "example_id of each row as its id."
        )
    if not fitting:
        return None, given, None
    ids = ids_of_split[fitting[0]]
    note = f"the answers were numbered, and are taken in the order of the rows of {fitting[0]}"
    return fitting[0], [ids[number - first] for number in numbers], note


def _match_classes(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> list[tuple[int, int]]:
    """The class that was answered, and the true one, of each row; -1 for none."""
    from oochub.models.chat.written_answers import AnswerMatcher

    matcher = AnswerMatcher(names, names)

    def find(text: object, row: Mapping[str, object]) -> int:
        named = _spell_choice(text, row["choices"])
        return _NONE if named is None else matcher.find(named)

    matches = []
    for row in rows:
        option, choices = row["option"], row["choices"]
        if isinstance(option, int):
            answer = (
                find(choices[option], row) if isinstance(choices, list) else option if option < len(names) else _NONE
            )
        else:
            answer = find(row["answer"], row)
        truth = _read_number(row, len(names))
        matches.append((answer, find(row["target"], row) if truth is None else truth))
    return matches


def _read_number(row: Mapping[str, object], count: int) -> int | None:
    """The true choice by its number, as a program names it beside losses of choices; None for any other target."""
    target = row["target"]
    is_number = isinstance(row["option"], int) and isinstance(target, str) and target.isdecimal()
    return int(str(target)) if is_number and int(str(target)) < count else None


def _match_options(
    rows: Sequence[Mapping[str, object]],
    ids: Sequence[str],
    split: str | None,
    data: "Mapping[str, datasets.Dataset]",
) -> list[tuple[int, int]]:
    """The option that was answered, and the true one, of each row; -1 for none."""
    from oochub.models.chat.written_answers import AnswerMatcher

    options: dict[str, Sequence[str]] = {}
    for name, part in data.items():
        if split in (None, name):
            options |= dict(zip(list_example_ids(part), part[OPTIONS][:], strict=True))
    matches = []
    for row, example_id in zip(rows, ids, strict=True):
        own = options.get(example_id, ())
        matcher = AnswerMatcher([], own)
        texts = [_spell_choice(row[name], row["choices"]) for name in ("answer", "target")]
        answer, truth = (_NONE if text is None else matcher.find_option(text) for text in texts)
        option = row["option"]
        if isinstance(option, int):
            answer = option if option < len(own) else _NONE
            number = _read_number(row, len(own))
            truth = truth if number is None else number
        matches.append((answer, truth))
    return matches


def _spell_choice(text: object, choices: object) -> str | None:
    r"""The choice that a lone letter stands for, or the text itself; None for several letters, or none.

    Marks around a letter, its case, and what stands before it in a line "ANSWER: B" are no part of the answer.

    >>> [_spell_choice(text, ["red", "blue"]) for text in ("B", "**b**", "I see.\nANSWER: B", "a, b", "Red.")]
    ['blue', 'blue', 'blue', None, 'Red.']
    """
    if not isinstance(text, str) or not text.strip():
        return None
    marked = _MARKED.findall(text)
    answer = marked[-1].strip() if marked else text
    if not isinstance(choices, list):
        return answer
    if answer.strip() in choices and not answer.strip().isupper():
        return answer
    letters = [part.strip(_AROUND).upper() for part in answer.split(",")]
    names = name_options(len(choices))
    if not all(letter in names for letter in letters):
        return answer
    return str(choices[names.index(letters[0])]) if len(letters) == 1 else None
