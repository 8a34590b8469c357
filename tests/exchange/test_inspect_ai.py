"""Logs of inspect_ai: letters, words and completions become classes, errors and second epochs are counted and said."""

import json
from pathlib import Path
from typing import Any

import pytest
from bridge_rows import IDS, LABELS, LOGITS, NAMES, bridge_data
from datasets import Dataset, DatasetDict
from made_zip import Member, made_zip

from oochub.errors import OochubError, OochubWarning
from oochub.exchange.answers_file import join_answers, read_answers

HEADER = {"version": 2, "status": "success", "eval": {"task": "pets", "model": "mockllm/model"}}
CHOSEN = [int(logits[1] > logits[0]) for logits in LOGITS]


def sample(number: int, **more: Any) -> dict[str, Any]:
    """A sample of a multiple choice, by `EvalSample`: its choices are the other way round than the classes."""
    return {
        "id": IDS[number],
        "epoch": 1,
        "input": "Which animal?",
        "choices": ["dog", "cat"],
        "target": "BA"[LABELS[number]],
        "output": {"choices": [{"message": {"role": "assistant", "content": "ANSWER"}}], "completion": "ANSWER"},
        "scores": {"choice": {"value": "C", "answer": "BA"[CHOSEN[number]]}},
        **more,
    }


def log(path: Path, samples: list[dict[str, Any]] | None = None, **header: Any) -> Path:
    """A log as the program writes it: .eval, an archive of Zstandard, or .json."""
    listed = [sample(number) for number in range(10)] if samples is None else samples
    if path.suffix == ".json":
        path.write_text(json.dumps({**HEADER, **header, "samples": listed}))
        return path
    members = [Member(f"samples/{k}_epoch_1.json", json.dumps(each).encode()) for k, each in enumerate(listed)]
    members.insert(0, Member("_journal/start.json", json.dumps(HEADER).encode()))
    path.write_bytes(made_zip([*members, Member("header.json", json.dumps({**HEADER, **header}).encode())]))
    return path


BRIDGE_EXAMPLES = {"inspect_ai": lambda folder: log(folder / "log.eval")}


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_letters_are_the_choices_of_their_sample(suffix, tmp_path):
    """The choices stand the other way round than the classes; the truth in the log is compared with the data's."""
    file = read_answers(log(tmp_path / f"log{suffix}"))
    predictions = join_answers(file, bridge_data())
    assert predictions.prediction.tolist() == CHOSEN and predictions.metadata.model.id == "mockllm/model"
    wrong = [sample(number) for number in range(10)]
    wrong[3]["target"] = "A"
    with pytest.raises(OochubError, match="1 label is not that of the data"):
        join_answers(read_answers(log(tmp_path / f"log{suffix}", wrong)), bridge_data())


def test_words_are_compared_with_the_classes(tmp_path):
    """Without choices; an answer that names no class, or several, is none of them; one that failed too."""
    said = ["A cat.", "the DOG", "cat or dog", "a bird", ""]
    samples = [
        sample(k, choices=None, target=NAMES[LABELS[k]], scores={"match": {"value": "I", "answer": text}})
        for k, text in enumerate(said * 2)
    ]
    samples[0] |= {"scores": None, "output": {"completion": "It is a dog"}}
    message = {"content": [{"type": "text", "text": "dog"}]}
    samples[1] |= {"scores": {"judge": {"value": 1}}, "output": {"choices": [{"message": message}]}}
    samples[2] |= {"error": {"message": "out of tokens"}}
    predictions = join_answers(read_answers(log(tmp_path / "log.json", samples)), bridge_data())
    assert predictions.prediction.tolist() == [1, 1, -1, -1, -1, 0, 1, -1, -1, -1]
    assert "1 of 10 samples ended in an error; they count as none of the classes" in predictions.metadata.notes
    assert predictions.column("answer")[3] == "a bird"


def test_of_several_epochs_the_first_counts(tmp_path):
    other = {"scores": {"choice": {"value": "C", "answer": ""}}}
    samples = [sample(k, epoch=epoch, **(other if epoch == 2 else {})) for epoch in (2, 1) for k in range(10)]
    predictions = join_answers(read_answers(log(tmp_path / "log.eval", samples, status="error")), bridge_data())
    assert predictions.prediction.tolist() == CHOSEN
    assert predictions.metadata.notes == (
        "the evaluation of log.eval did not end well: its status is error",
        "of 2 epochs of log.eval, the first is scored",
    )


def test_numbered_samples_are_the_rows_in_order(tmp_path):
    """inspect_ai numbers samples from 1 where a data set has no ids; of two splits as long, neither is taken."""
    samples = [sample(k, id=k + 1) for k in range(10)]
    file, data = read_answers(log(tmp_path / "log.eval", samples)), bridge_data()
    predictions = join_answers(file, DatasetDict(train=data["test"].select(range(4)), test=data["test"]))
    assert predictions.prediction.tolist() == CHOSEN and predictions.split.tolist() == ["test"] * 10
    assert "the answers were numbered, and are taken in the order of the rows of test" in predictions.metadata.notes
    with pytest.raises(OochubError, match="each of the splits train, test has 10 rows"):
        join_answers(file, DatasetDict(train=data["test"], test=data["test"]))


def test_rows_with_questions_of_their_own(tmp_path):
    """A letter is the option that it stood for in the log, whose order may be another than that of the row."""
    data = Dataset.from_dict(
        {
            "example_id": IDS[:3],
            "question": ["What is it?"] * 3,
            "options": [["cat", "dog"], ["owl", "cat", "dog"], ["a", "b"]],
            "label": [0, 2, 1],
        }
    )
    rows = [("B", ["dog", "cat"], "B"), ("C", ["owl", "cat", "dog"], "C"), ("A, B", ["a", "b"], "B")]
    samples = [
        sample(k, choices=choices, target=target, scores={"choice": {"value": "C", "answer": answer}})
        for k, (answer, choices, target) in enumerate(rows)
    ]
    predictions = join_answers(read_answers(log(tmp_path / "log.eval", samples)), DatasetDict(test=data))
    assert predictions.prediction.tolist() == [0, 2, -1]


def test_a_log_without_samples_is_refused(tmp_path):
    with pytest.raises(OochubError, match="no samples"):
        read_answers(log(tmp_path / "log.eval", []))
    with pytest.raises(OochubError, match="no samples"):
        read_answers(log(tmp_path / "log.json", [sample(0, epoch=2)]))
    path = tmp_path / "no_header.eval"
    path.write_bytes(made_zip([Member("samples/1.json", json.dumps(sample(0)).encode())]))
    with pytest.raises(OochubError, match="no header"):
        read_answers(path)


@pytest.mark.parametrize(
    "form", ["ANSWER: {}", "**{}**", "{lower}", "Let me think: B or A.\nANSWER: **{}**", "({lower})."]
)
def test_letters_in_any_usual_writing(form, tmp_path):
    """Before, all but a bare capital were none of the classes, though the log's own scores said right."""
    samples = []
    for number in range(10):
        letter = "BA"[CHOSEN[number]]
        right = "C" if CHOSEN[number] == LABELS[number] else "I"
        answer = form.format(letter, lower=letter.lower())
        samples.append(sample(number, scores={"choice": {"value": right, "answer": answer}}))
    predictions = join_answers(read_answers(log(tmp_path / "log.eval", samples)), bridge_data())
    assert predictions.prediction.tolist() == CHOSEN and predictions.metadata.notes == ()


def test_a_log_whose_scores_contradict_the_answers_warns(tmp_path):
    """By hand: each answer is another word for the class, which the log's scorer knew. Planted fault: no comparison."""
    samples = [
        sample(k, choices=None, target=NAMES[LABELS[k]], scores={"judge": {"value": "C", "answer": "felis"}})
        for k in range(10)
    ]
    with pytest.warns(OochubWarning, match="own scores contradict the answers that were read in 10 of 10 rows"):
        predictions = join_answers(read_answers(log(tmp_path / "log.eval", samples)), bridge_data())
    said = "it counts 10 as right, and 0 are read so"
    assert any(said in note for note in predictions.metadata.notes)
    for each in samples[:6]:
        each["scores"]["judge"]["value"] = "I"
    predictions = join_answers(read_answers(log(tmp_path / "log.eval", samples)), bridge_data())
    assert not predictions.metadata.notes


def test_samples_numbered_from_1_meet_rows_numbered_from_0(tmp_path):
    """Data without ids have row numbers, of which a log from 1 shares all but one."""
    samples = [sample(k, id=k + 1) for k in range(10)]
    data = bridge_data()["test"].remove_columns("example_id").add_column("example_id", [str(k) for k in range(10)])
    predictions = join_answers(read_answers(log(tmp_path / "log.eval", samples)), DatasetDict(test=data))
    assert predictions.prediction.tolist() == CHOSEN
    moved = DatasetDict(test=data.select(range(9, -1, -1)))
    file = log(tmp_path / "log.json", [sample(k, id=k) for k in range(10)])
    predictions = join_answers(read_answers(file), moved)
    assert predictions.prediction.tolist() == CHOSEN[::-1]
    assert any("the ids are numbers and stand in another order" in note for note in predictions.metadata.notes)
