"""Files of other programs with one thing wrong, scored as answers: refused, or the same numbers."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from fuzz_case import CHANGED, REFUSED, SAID, SAME, Case, Format, Used
from fuzz_predictions import ROWS, arrays, evaluated, numbers_of, predictions
from made_zip import Member, made_zip
from mutations import bytes_cases, json_cases, json_text_cases, place_cases

from oochub.evaluation.evaluation_inputs import join_columns

NAMES = ["cat", "dog", "owl"]
IDS = [f"id{number}" for number in range(ROWS)]


@functools.cache
def data() -> DatasetDict:
    """The rows that the answers are for."""
    features = {"example_id": Value("string"), "label": ClassLabel(names=NAMES), "group": Value("string")}
    rows = {"example_id": IDS, "label": arrays()["label"].tolist(), "group": arrays()["group"].tolist()}
    return DatasetDict({"test": Dataset.from_dict(rows, Features(features))})


def chosen() -> list[str]:
    """What the model answered to each row."""
    return [NAMES[number] for number in arrays()["logits"].argmax(axis=1)]


def _score(name: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / name, out, benchmark=data())
        return Used(numbers=numbers_of(report), notes=report.notes)

    return use


def samples() -> dict[str, Any]:
    """What FiftyOne exports, with plain lists as logits."""
    rows = zip(IDS, arrays()["label"], chosen(), arrays()["logits"].tolist(), strict=True)
    return {
        "samples": [
            {
                "_id": {"$oid": f"{number:024x}"},
                "filepath": f"data/{name}.jpg",
                "tags": [],
                "example_id": name,
                "split": "test",
                "ground_truth": {"_cls": "Classification", "label": NAMES[label]},
                "prediction": {"_cls": "Classification", "label": said, "confidence": 0.5, "logits": logits},
            }
            for number, (name, label, said, logits) in enumerate(rows)
        ]
    }


TOLD = {"version": "1.22.1", "media_type": "image", "default_classes": NAMES, "info": {"model": "mine"}}


def _make_fiftyone(folder: Path) -> None:
    (folder / "fo").mkdir()
    (folder / "fo" / "samples.json").write_text(json.dumps(samples()))
    (folder / "fo" / "metadata.json").write_text(json.dumps(TOLD))


FIFTYONE = Format(name="FiftyOne", make=_make_fiftyone, use=_score("fo"))


def _of_samples(place: str, change: str) -> frozenset[str]:
    """What is read of a sample; logits that are missing in one row leave the labels alone, which are other numbers."""
    if place == "samples[0].prediction" or place.startswith("samples[0].prediction"):
        return frozenset({REFUSED, SAME, SAID, CHANGED})
    if place.startswith(("samples[0].filepath", "samples[0].tags", "samples[0]._id")):
        return frozenset({SAME})
    return frozenset({REFUSED, SAME})


def _of_metadata(place: str, change: str) -> frozenset[str]:
    """Without the names of the classes, the labels alone are read."""
    return frozenset({REFUSED, SAME, CHANGED}) if place.startswith("default_classes") else frozenset({SAME})


def inspect_log() -> dict[str, Any]:
    """What inspect_ai logs as JSON."""
    rows = zip(IDS, arrays()["label"], chosen(), strict=True)
    samples = [
        {
            "id": name,
            "epoch": 1,
            "choices": NAMES,
            "target": "ABC"[label],
            "output": {"completion": said, "choices": [{"message": {"content": said}}]},
            "scores": {"choice": {"value": "C", "answer": "ABC"[NAMES.index(said)]}},
        }
        for name, label, said in rows
    ]
    return {"version": 2, "status": "success", "eval": {"model": "mockllm/model"}, "samples": samples}


def _make_inspect(folder: Path) -> None:
    (folder / "log.json").write_text(json.dumps(inspect_log()))


def _make_eval(folder: Path) -> None:
    content = inspect_log()
    members = [
        Member(f"samples/{number}.json", json.dumps(sample).encode())
        for number, sample in enumerate(content.pop("samples"))
    ]
    (folder / "log.eval").write_bytes(made_zip([*members, Member("header.json", json.dumps(content).encode())]))


def _make_lmms(folder: Path) -> None:
    rows = zip(arrays()["label"], chosen(), strict=True)
    lines = [
        {"doc_id": number, "target": NAMES[label], "filtered_resps": f"A {said}.", "doc_hash": "0"}
        for number, (label, said) in enumerate(rows)
    ]
    (folder / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _make_cleanlab(folder: Path) -> None:
    lines = [f"{row},{row % 5 == 0},{row / 30},{NAMES[label]}\n" for row, label in enumerate(arrays()["label"])]
    (folder / "issues.csv").write_text(",is_label_issue,label_score,given_label\n" + "".join(lines))


def _join_issues(folder: Path, out: Path) -> Used:
    joined = join_columns(predictions(), folder / "issues.csv")
    names = [name for name in joined.column_names if "label" in name and name != "label"]
    return Used(numbers={name: joined.rows.column(name).to_pylist() for name in names})


INSPECT = Format(name="inspect_ai JSON", make=_make_inspect, use=_score("log.json"))
EVAL = Format(name="inspect_ai eval", make=_make_eval, use=_score("log.eval"))
LMMS = Format(name="lmms-eval", make=_make_lmms, use=_score("samples.jsonl"))
CLEANLAB = Format(name="cleanlab", make=_make_cleanlab, use=_join_issues)
_ANY = frozenset({REFUSED, SAME, SAID, CHANGED})


def _of_log(place: str, change: str) -> frozenset[str]:
    """An answer that is another text is another answer; a status that is no success is said."""
    if place.startswith(("samples[0].scores", "samples[0].choices", "samples[0].output", "samples[0].epoch", "status")):
        return _ANY
    if place.startswith("samples[0].target"):
        return frozenset({REFUSED, SAME})
    return frozenset({SAME}) if place.startswith("eval.") else frozenset({REFUSED, SAME})


def _first_line(name: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text((folder / name).read_text().replace(old, new, 1)) and None


LINES = {
    "no doc_id": (LMMS, "samples.jsonl", '"doc_id": 0, ', "", {REFUSED}),
    "a doc_id twice": (LMMS, "samples.jsonl", '"doc_id": 0', '"doc_id": 1', {REFUSED}),
    "a doc_id that is a fraction": (LMMS, "samples.jsonl", '"doc_id": 0', '"doc_id": 0.5', {REFUSED}),
    "losses in place of an answer": (
        LMMS,
        "samples.jsonl",
        '"filtered_resps": "',
        '"filtered_resps": [1], "x": "',
        {REFUSED},
    ),
    "a line that is a list": (LMMS, "samples.jsonl", "\n", "\n[]\n", {REFUSED}),
    "another label given": (CLEANLAB, "issues.csv", ",cat", ",owl", {REFUSED}),
    "a row of issues less": (CLEANLAB, "issues.csv", "\n29,", "\n", {REFUSED}),
    "a score of text": (CLEANLAB, "issues.csv", "True,0.0", "True,good", {REFUSED}),
    "an issue that is unknown": (CLEANLAB, "issues.csv", "True,", ",", {REFUSED}),
    "no column of issues": (CLEANLAB, "issues.csv", "is_label_issue", "is_fine", {REFUSED}),
}
"""In the first place where the text stands, another: (format, file, text, other text, outcomes)."""

CASES = [
    *((INSPECT, case) for case in json_cases("log.json", inspect_log(), _of_log)),
    *((INSPECT, case) for case in json_text_cases("log.json")),
    *((EVAL, case) for case in bytes_cases("log.eval", expect=frozenset({REFUSED, SAME}), flips=60)),
    *((LMMS, case) for case in bytes_cases("samples.jsonl", expect=_ANY, flips=40)),
    *((CLEANLAB, case) for case in bytes_cases("issues.csv", expect=_ANY, flips=40)),
    *(
        (kind, Case(name=word, mutate=_first_line(file, old, new), expect=frozenset(outcomes)))
        for word, (kind, file, old, new, outcomes) in LINES.items()
    ),
    *((FIFTYONE, case) for case in json_cases("fo/samples.json", samples(), _of_samples)),
    *((FIFTYONE, case) for case in json_cases("fo/metadata.json", TOLD, _of_metadata)),
    *((FIFTYONE, case) for name in ("samples", "metadata") for case in json_text_cases(f"fo/{name}.json")),
    *((FIFTYONE, case) for case in place_cases("fo/samples.json")),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_bridges(campaign, kind, case):
    campaign.run(kind, case)
