"""Samples of lmms-eval: written answers and losses of choices become classes and options."""

import json
from pathlib import Path
from typing import Any

import pytest
from bridge_rows import LABELS, LOGITS, NAMES, bridge_data
from datasets import Dataset, DatasetDict

from oochub.errors import OochubError, OochubWarning
from oochub.exchange.answers_file import join_answers, read_answers

CHOSEN = [int(logits[1] > logits[0]) for logits in LOGITS]


def samples(path: Path, answers: list[Any], **more: Any) -> Path:
    """A file as `EvaluationTracker.save_results_samples` of lmms-eval 0.7.3 writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "doc_id": number,
            "target": NAMES[LABELS[number]],
            "filtered_resps": answer,
            "token_counts": [{"output_tokens": 3}],
            "doc_hash": "0" * 64,
            "acc": 1.0,
            "input": "Which animal?",
            **more,
        }
        for number, answer in enumerate(answers)
    ]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return path


def written(folder: Path) -> Path:
    answers = [f"It is a {NAMES[number]}." for number in CHOSEN]
    return samples(folder / "org__model" / "20261126_samples_pets.jsonl", answers)


BRIDGE_EXAMPLES = {"lmms_eval": written}


def test_written_answers(tmp_path):
    """Rows are numbered from 0 in the order of the split; the folder names the model."""
    predictions = join_answers(read_answers(written(tmp_path)), bridge_data())
    assert predictions.prediction.tolist() == CHOSEN and predictions.metadata.model.id == "org__model"
    assert predictions.column("answer")[0] == f"It is a {NAMES[CHOSEN[0]]}."
    listed = samples(tmp_path / "a.jsonl", [[["dog"]], ["a cat"], "no idea", *["dog"] * 7])
    again = join_answers(read_answers(listed), bridge_data())
    assert again.prediction.tolist() == [1, 0, -1, *[1] * 7] and again.metadata.model.id == "a"


def test_the_smallest_loss_is_the_choice(tmp_path):
    """As in lmms-eval, whose models give losses, not log-likelihoods (`np.argmin` in its `process_results`)."""
    pairs = [[[9.0 - float(z), False] for z in logits] for logits in LOGITS]
    predictions = join_answers(read_answers(samples(tmp_path / "a.jsonl", pairs, target="x")), bridge_data())
    assert predictions.prediction.tolist() == LOGITS.argmax(axis=1).tolist()
    assert "in 10 rows, the answer is the choice with the smallest loss" in predictions.metadata.notes
    data = Dataset.from_dict(
        {"question": ["?", "?"], "options": [["a", "b", "c"], ["d", "e"]], "label": [2, 0], "example_id": ["x", "y"]}
    )
    losses = samples(tmp_path / "b.jsonl", [[[3.0, False], [2.0, False], [1.0, True]], [[2.0, False], [1.0, False]]])
    assert join_answers(read_answers(losses), DatasetDict(test=data)).prediction.tolist() == [2, 1]


def test_a_target_beside_losses_is_the_number_of_a_class(tmp_path):
    """Numbers as text, as lmms-eval writes them; a truth that is not that of the data is an error."""
    lines = [
        {"doc_id": number, "target": str(label), "filtered_resps": [["0.5", "False"], ["0.25", "True"]]}
        for number, label in enumerate(LABELS)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert join_answers(read_answers(path), bridge_data()).prediction.tolist() == [1] * 10
    lines[4]["target"] = "1"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(OochubError, match="1 label is not that of the data"):
        join_answers(read_answers(path), bridge_data())


def test_what_is_no_answer_is_refused(tmp_path):
    for answers in (
        [["a", "b"]],
        [[[1.0, True], ["x", True]]],
        [{"a": 1}],
        [3.5],
        [[]],
        [[[float("nan"), True], [1, True]]],
    ):
        path = samples(tmp_path / "a.jsonl", answers)
        with pytest.raises(OochubError, match=r"line 1 of .*a\.jsonl|a\.jsonl is not read"):
            read_answers(path)


def test_a_part_of_the_rows_is_named(tmp_path):
    """Ten rows are wanted, and `--limit 4` gave four."""
    with pytest.raises(OochubError, match="none of its ids are in these data"):
        join_answers(read_answers(samples(tmp_path / "a.jsonl", ["dog"] * 4)), bridge_data())


def test_the_largest_log_likelihood_is_the_choice(tmp_path):
    """As in lm-evaluation-harness (`np.argmax(lls)` in its `process_results`), whose numbers are never positive.

    Before, a model that is always right had accuracy 0. Planted fault seen: the smallest number in either program.
    """
    pairs = [[["-0.1" if k == label else "-2.5", "False"] for k in (0, 1)] for label in LABELS]
    path = samples(tmp_path / "a.jsonl", pairs, acc=1.0)
    predictions = join_answers(read_answers(path), bridge_data())
    assert predictions.prediction.tolist() == list(LABELS)
    assert predictions.metadata.notes[0] == "in 10 rows, the answer is the choice with the largest log-likelihood"
    with pytest.raises(OochubError, match="neither losses nor log-likelihoods"):
        read_answers(samples(tmp_path / "b.jsonl", [[[-1.0, True], [2.0, False]]]))


def test_scores_of_the_log_that_contradict_are_said(tmp_path):
    path = samples(tmp_path / "a.jsonl", [NAMES[1 - label] for label in LABELS], acc=1.0)
    with pytest.warns(OochubWarning, match="contradict the answers that were read in 10 of 10 rows"):
        join_answers(read_answers(path), bridge_data())
