"""lmms-eval and lm-eval-harness: their samples (.jsonl) as answers of a model that writes or chooses."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge, BridgedAnswers
from oochub.exchange.logged_answers import WrittenRow, match_rows, tabulate_rows
from oochub.storage.reading import parse_json, parse_plain_number, read_lines

if TYPE_CHECKING:
    import datasets

_SCORES = ("acc", "exact_match", "exact_match,none", "score")


class LmmsEval(Bridge):
    """Reads what `--log_samples` writes: a line per sample, its number `doc_id` and the model's answer.

    A written answer is compared with the classes or options as those of `--mode generate` are. If the model scored
    choices, each is a pair of a number and whether the choice is what the model would write. lmms-eval writes losses,
    which are never negative, and the smallest counts; lm-evaluation-harness writes log-likelihoods, which are never
    positive, and the largest counts.

    Source: lmms-eval, `EvaluationTracker.save_results_samples`; lm-evaluation-harness,
    `ConfigurableTask.process_results`.
    """

    title = "lmms-eval"
    answers = "samples of lmms-eval (.jsonl)"

    def recognizes(self, path: Path, head: bytes) -> bool:
        """See `Bridge.recognizes`: the first line names its doc_id and filtered_resps."""
        is_lines = path.suffix.lower() == ".jsonl" and head.startswith(b"{")
        return is_lines and b'"doc_id"' in head and b'"filtered_resps"' in head

    def read(self, path: Path, model: str | None) -> BridgedAnswers:
        """See `Bridge.read`; the model is named by the folder, as lmms-eval does."""
        lines = [(number, line) for number, line in enumerate(read_lines(path), start=1) if line.strip()]
        read = [_read_row(parse_json(line, name=f"line {number} of {path}"), path, number) for number, line in lines]
        rows, scored = [row for row, _ in read], [numbers for _, numbers in read if numbers]
        notes: tuple[str, ...] = ()
        if scored:
            is_loss = _are_losses(scored, path)
            pick, what = (min, "smallest loss") if is_loss else (max, "largest log-likelihood")
            rows = [replace(row, option=numbers.index(pick(numbers))) if numbers else row for row, numbers in read]
            notes = (f"in {len(scored):,} rows, the answer is the choice with the {what}",)
        folder = path.resolve().parent.name
        return BridgedAnswers(tabulate_rows(rows), folder if "samples_" in path.name and folder else None, notes)

    def fit(self, answers: BridgedAnswers, data: "Mapping[str, datasets.Dataset]") -> BridgedAnswers:
        """See `Bridge.fit`: answers become predictions."""
        return match_rows(answers, data)


def _are_losses(scored: list[list[float]], path: Path) -> bool:
    """Whether the numbers of choices are losses, by their sign in the whole file."""
    numbers = [number for row in scored for number in row]
    if min(numbers) < 0 < max(numbers):
        raise OochubError(
            f"The numbers of choices in {path} are neither losses nor log-likelihoods: some are negative and some "
            "positive. Score one answer per row, as text."
        )
    return min(numbers) >= 0


def _read_row(content: object, path: Path, number: int) -> tuple[WrittenRow, list[float]]:
    """A row, and the numbers of its choices; none where it has a written answer."""
    if not isinstance(content, dict):
        raise OochubError(f"Line {number} of {path} is not a sample. Write the samples again.")
    name, target, answers = content.get("doc_id"), content.get("target"), content.get("filtered_resps")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise OochubError(f"Line {number} of {path} has no doc_id. Write the samples again.")
    while isinstance(answers, list) and len(answers) == 1:
        answers = answers[0]
    if not isinstance(answers, str | list | None):
        raise OochubError(
            f"filtered_resps in line {number} of {path} is {answers!r:.60}, not an answer. Write it again."
        )
    truth = str(target) if isinstance(target, str | int) and not isinstance(target, bool) else None
    score = next((content[name] for name in _SCORES if name in content), None)
    right = bool(score) if isinstance(score, int | float) and score in (0, 1) else None
    numbers = _read_numbers(answers, path, number) if isinstance(answers, list) else []
    answer = answers if isinstance(answers, str) else None
    return WrittenRow(id=name, answer=answer, target=truth, right=right), numbers


def _read_numbers(pairs: list[object], path: Path, number: int) -> list[float]:
    """The number of each choice."""
    firsts = [pair[0] if isinstance(pair, list) and pair else pair for pair in pairs]
    numbers = [_read_number(first) for first in firsts]
    if not numbers or not all(map(math.isfinite, numbers)):
        raise OochubError(
            f"filtered_resps in line {number} of {path} are neither one text nor the losses of choices. Score one "
            "answer per row: lmms-eval without repeats."
        )
    return numbers


def _read_number(value: object) -> float:
    """A number, which these programs write as text; nan for anything else."""
    if isinstance(value, str):
        return parse_plain_number(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
