"""Inspect logs: predictions as a log of inspect_ai, one sample per row, with its score and contexts.

`inspect view`, `read_eval_log` of inspect_ai and `load_dataset("eval", data_files=...)` of datasets open it.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge, RowImage, list_plain_columns, make_plain
from oochub.storage.artifacts import FileKind

if TYPE_CHECKING:
    from oochub.prediction.predictions import Predictions

_MARK = b"written by oochub"
_SCORER = "oochub"
_LETTERS = 26  # classes that Inspect can list as choices
_EPOCH = "1970-01-01T00:00:00+00:00"
_DATE = (1980, 1, 1, 0, 0, 0)  # of each member: the same predictions give the same bytes
_Document = dict[str, Any]


def _is_export(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(file.tell() - len(_MARK), 0))
        return file.read() == _MARK


class InspectLog(Bridge):
    """Writes a log of inspect_ai (.eval) of predictions whose answer is a class or an option.

    A sample is a row with a label: `id` is its number from 1, since `load_dataset("eval")` takes whole numbers only;
    its `metadata` hold `example_id`, `split` and each narrow column, such as the context and the group, with the
    confidence. The score is "C" where the answer is right, else "I"; `accuracy` is that of all samples. What the model
    was shown stands only as the id of the row: the log holds no images.

    Source: inspect_ai 0.3.285, Log Files; `EvalLog` and `EvalSample`; datasets 5.2, the builder `eval`.
    """

    title = "Inspect logs"
    written = FileKind("a log of inspect_ai", (".eval",), _is_export)
    written_kinds = ("classes", "choices")

    def write(self, predictions: "Predictions", draft: Path, images: Iterator[RowImage | None]) -> None:
        """See `Bridge.write`."""
        right = _find_right(predictions)
        rows = np.flatnonzero(predictions.label >= 0)
        if not len(rows):
            raise OochubError(
                "No row has a label that an answer could be scored by. Export predictions of labeled rows."
            )
        header = _make_header(predictions, len(rows), float(right[rows].mean()))
        summaries = []
        with ZipFile(draft, "w", ZIP_DEFLATED) as archive:
            start = {name: header[name] for name in ("version", "eval", "plan")}
            _write_member(archive, "_journal/start.json", start)
            for sample in _iterate_samples(predictions, rows.tolist(), right):
                _write_member(archive, f"samples/{sample['id']}_epoch_1.json", sample)
                kept = ("id", "epoch", "input", "target", "scores")
                summaries.append({name: sample[name] for name in kept} | {"completed": True})
            _write_member(archive, "summaries.json", summaries)
            _write_member(archive, "header.json", header)
            archive.comment = _MARK


def _find_right(predictions: "Predictions") -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each answer is right: the label, or another class that is right too."""
    right = np.asarray(predictions.label == predictions.prediction)
    also = predictions.also_right
    if also is not None:
        right[also.rows[also.classes == predictions.prediction[also.rows]]] = True
    return right & (predictions.label >= 0)


def _make_header(predictions: "Predictions", samples: int, accuracy: float) -> _Document:
    told = predictions.metadata
    created = (told.provenance.get("when") or {}).get("created") or _EPOCH
    task = f"{told.benchmark or 'data'}_{told.config or 'default'}"
    key = hashlib.sha256(f"{task} {told.model.id} {told.fingerprint} {created}".encode()).hexdigest()[:22]
    metric = {"name": "accuracy", "value": accuracy, "params": {}}
    score = {"name": _SCORER, "scorer": _SCORER, "scored_samples": samples, "unscored_samples": 0, "params": {}}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": key,
            "run_id": key,
            "created": created,
            "task": task,
            "task_id": key,
            "task_version": told.version,
            "task_args": {},
            "dataset": {
                "name": task, "samples": samples, "sample_ids": list(range(1, samples + 1)), "shuffled": False,
            },
            "model": told.model.id or "unknown",
            "model_args": {},
            "config": {"epochs": 1},
            "packages": {"oochub": str(told.provenance.get("oochub") or "unknown")},
            "scorers": [{"name": _SCORER, "metrics": [{"name": "inspect_ai/accuracy", "options": {}}]}],
            "metadata": {"notes": list(told.notes), "model_revision": told.model.revision},
        },
        "plan": {"name": "plan", "steps": [{"solver": "oochub predict", "params": {}}], "config": {}},
        "results": {
            "total_samples": samples,
            "completed_samples": samples,
            "scores": [{**score, "metrics": {"accuracy": metric}}],
        },
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
    }  # fmt: skip


def _iterate_samples(predictions: "Predictions", rows: list[int], right: Any) -> Iterator[_Document]:
    columns = list_plain_columns(predictions)
    values = {name: predictions.rows.column(name).to_pylist() for name in columns}
    label, answer, model = predictions.label, predictions.prediction, predictions.metadata.model.id or "unknown"
    confidence = predictions.summary.confidence if predictions.output.has_confidence else None
    names = predictions.class_names
    choices = {"choices": list(names)} if len(names) <= _LETTERS else {}
    for number, row in enumerate(rows, start=1):
        said_name = names[int(answer[row])] if answer[row] >= 0 else ""
        message = {"role": "assistant", "content": said_name, "source": "generate", "model": model}
        score = {"value": "C" if right[row] else "I", "answer": said_name}
        told = {} if confidence is None else {"confidence": make_plain(float(confidence[row]))}
        yield {
            "id": number,
            "epoch": 1,
            "input": str(values["example_id"][row]),
            **choices,
            "target": names[int(label[row])],
            "messages": [message],
            "output": {
                "model": model,
                "choices": [{"message": message, "stop_reason": "stop"}],
                "completion": said_name,
            },
            "scores": {_SCORER: score},
            "metadata": {name: make_plain(column[row]) for name, column in values.items()} | told,
            "store": {},
            "events": [],
            "model_usage": {},
            "attachments": {},
        }


def _write_member(archive: ZipFile, name: str, content: object) -> None:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    archive.writestr(ZipInfo(name, _DATE), text, ZIP_DEFLATED)
