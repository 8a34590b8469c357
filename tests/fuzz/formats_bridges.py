"""Files of other programs with one thing wrong, scored as answers: refused, or the same numbers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formats_answers import IDS, NAMES, data
from fuzz_case import Format, Used
from fuzz_predictions import arrays, evaluated, numbers_of, predictions
from made_zip import Member, made_zip

from oochub.evaluation.evaluation_inputs import join_columns


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
