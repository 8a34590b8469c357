"""lmms-eval and lm-eval-harness: their samples (.jsonl) as answers of a model that writes or chooses."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge, BridgedAnswers
from oochub.exchange.written_rows import WrittenRow, match_rows, tabulate_rows
from oochub.storage.reading import parse_json, parse_plain_number, read_lines

if TYPE_CHECKING:
    import datasets


class LmmsEval(Bridge):
    """Reads what `--log_samples` writes: a line per sample, its number `doc_id` and the model's answer.

    A written answer is compared with the classes or options as those of `--mode generate` are. If the model scored
    choices, a list of pairs of a loss and whether the choice is what the model would write, the smallest loss counts,
    as in lmms-eval.

    Source: lmms-eval, `EvaluationTracker.save_results_samples`.
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
        rows = [_read_row(parse_json(line, name=f"line {number} of {path}"), path, number) for number, line in lines]
        scored = sum(row.option is not None for row in rows)
        notes = (f"in {scored:,} rows, the answer is the choice with the smallest loss",) if scored else ()
        folder = path.resolve().parent.name
        return BridgedAnswers(tabulate_rows(rows), folder if "samples_" in path.name and folder else None, notes)

    def fit(self, answers: BridgedAnswers, data: "Mapping[str, datasets.Dataset]") -> BridgedAnswers:
        """See `Bridge.fit`: answers become predictions."""
        return match_rows(answers, data)


def _read_row(content: object, path: Path, number: int) -> WrittenRow:
    if not isinstance(content, dict):
        raise OochubError(f"Line {number} of {path} is no sample. Write the samples again.")
    name, target, said = content.get("doc_id"), content.get("target"), content.get("filtered_resps")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise OochubError(f"Line {number} of {path} has no doc_id. Write the samples again.")
    while isinstance(said, list) and len(said) == 1:
        said = said[0]
    if not isinstance(said, str | list | None):
        raise OochubError(f"filtered_resps in line {number} of {path} is {said!r:.60}, not an answer. Write it again.")
    truth = str(target) if isinstance(target, str | int) and not isinstance(target, bool) else None
    if isinstance(said, list):
        return WrittenRow(id=name, answer=None, option=_find_smallest(said, path, number), target=truth)
    return WrittenRow(id=name, answer=said, target=truth)


def _find_smallest(pairs: list[object], path: Path, number: int) -> int:
    """The choice with the smallest loss."""
    firsts = [pair[0] if isinstance(pair, list) and pair else pair for pair in pairs]
    losses = [_read_loss(each) for each in firsts]
    if not losses or not all(map(math.isfinite, losses)):
        raise OochubError(
            f"filtered_resps in line {number} of {path} are neither one text nor the losses of choices. Score one "
            "answer per row: lmms-eval without repeats."
        )
    return losses.index(min(losses))


def _read_loss(value: object) -> float:
    """A number, which lmms-eval writes as text; nan for anything else."""
    if isinstance(value, str):
        return parse_plain_number(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
