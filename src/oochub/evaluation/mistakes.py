"""The worst mistakes: which rows to show, and what to say of each."""

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from oochub.benchmark import Benchmark
    from oochub.prediction.predictions import Predictions

_SHOWN = 12
_PER_KIND = 6  # of two kinds, so that one kind of mistake never hides the other
KEPT_PER_GROUP = 12
"""How many rows of each split and group keep a small picture: enough for any choice of `_SHOWN` among them."""


def worst_of_each(loss: NDArray[Any], *keys: NDArray[Any], most: int = KEPT_PER_GROUP) -> NDArray[np.int64]:
    """Row numbers of the `most` highest losses within each combination of `keys`, in order of the rows.

    >>> import numpy as np
    >>> worst_of_each(np.array([0.1, 2.0, 3.0]), np.array(["a", "a", "b"]), most=1).tolist()
    [1, 2]
    """
    order = np.lexsort((np.arange(len(loss)), -loss))
    taken: dict[tuple[Any, ...], int] = {}
    rows = []
    for row in order:
        key = tuple(column[row] for column in keys)
        taken[key] = taken.get(key, 0) + 1
        if taken[key] <= most:
            rows.append(row)
    return np.sort(np.array(rows, dtype=np.int64))


def mistakes(
    predictions: "Predictions",
    benchmark: "Benchmark",
    columns: Mapping[str, NDArray[Any]],
    out: NDArray[np.bool_],
    evaluated: NDArray[np.bool_],
) -> list[dict[str, Any]]:
    """The wrong answers with the highest loss out of context, at most six of a kind.

    Where there are fewer than twelve, those of the other evaluated rows follow, said by `role`.

    Kinds: "missed" (a binary task's object was there), "false_alarm" (it was not), "confused" (one class for another).

    Returns:
        The field `mistakes` of a report, worst first within each side.
    """
    names = predictions.class_names
    binary = len(names) == 2
    label, said, loss = columns["label"], columns["prediction"], columns["loss"]
    kind = np.where(label == 1, "missed", "false_alarm") if binary else np.array(names)[label]
    rows: list[int] = []
    for mask in (out, evaluated & ~out):
        wrong = np.flatnonzero(mask & (label != said))
        worst = wrong[worst_of_each(loss[wrong], kind[wrong], most=_PER_KIND)]
        rows += worst[np.argsort(-loss[worst], kind="stable")].tolist()
    facts = predictions.metadata.facts
    shown = []
    for row in rows[:_SHOWN]:
        record = predictions.table.slice(row, 1).to_pylist()[0]
        shown.append(
            {
                "example_id": record["example_id"],
                "split": record["split"],
                "role": "out" if out[row] else "in",
                "label": names[label[row]],
                "predicted": names[said[row]],
                "probability": float(columns["probability"][row, said[row]]),
                "loss": float(loss[row]),
                "kind": str(kind[row]) if binary else "confused",
                "context": benchmark.describe_context(record, facts),
                "group": record.get("group"),
                "challenge": record.get("challenge"),
                "image": _base64(record.get("thumbnail")),
                "attribution": _attribution(record),
            }
        )
    return shown


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _attribution(record: Mapping[str, Any]) -> str | None:
    url = str(record.get("source_url") or "")
    if url.startswith("http://") and ".staticflickr.com/" in url:  # COCO's lists are older than Flickr's https
        url = url.replace("http://", "https://", 1)
    parts = [url, f"({record['license']})" if record.get("license") else ""]
    return " ".join(part for part in parts if part) or None
