"""Some rows of predictions as a table for a notebook: the most wrong ones, with their small images."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oochub.prediction.notebook_table import make_notebook_table, write_picture

if TYPE_CHECKING:
    from oochub.prediction.predictions import Predictions

_SHOWN = 6
_LOOKED_AT = 200_000  # rows whose losses are computed for a look
_LONGEST = 60


def show_rows(predictions: "Predictions") -> str:
    """The wrong rows with the highest loss, those with an image first; of other answers the first rows.

    Args:
        predictions: Any predictions; of more than 200,000 rows whose losses are not known yet the first are shown.

    Returns:
        HTML in which all text is escaped; images are embedded, and nothing is fetched. "" if every answer is right.
    """
    light = predictions.rows.light
    is_known = "summary" in vars(predictions) or len(predictions) <= _LOOKED_AT
    is_ranked = predictions.output.has_confidence and is_known and predictions.summary.loss is not None
    chosen = _choose_worst(predictions) if is_ranked else np.arange(min(len(predictions), _SHOWN))
    if not len(chosen):
        return ""
    has_images = "thumbnail" in light.column_names
    pictures = [write_picture(light.column("thumbnail")[row].as_py()) for row in chosen.tolist()] if has_images else []
    rows = [[str(light.column(name)[row].as_py()) for name in ("example_id", "split")] for row in chosen.tolist()]
    answers = [_describe_answer(predictions, row) if is_ranked else [] for row in chosen.tolist()]
    return make_notebook_table(
        [list(map(_clean, [*row, *answer])) for row, answer in zip(rows, answers, strict=True)],
        heads=("example", "split", *(("truth", "answer", "confidence %", "loss nats") if is_ranked else ())),
        title="The most wrong answers" if is_ranked else "The first rows",
        pictures=pictures,
    )


def _choose_worst(predictions: "Predictions") -> NDArray[np.int64]:
    """Numbers of the wrong rows with the highest loss, those with an image first; none if all are right."""
    light, loss = predictions.rows.light, _read_loss(predictions)
    wrong = np.flatnonzero((predictions.summary.prediction != predictions.label) & ~np.isnan(loss))
    has_image = np.zeros(len(predictions), bool)
    if "thumbnail" in light.column_names:
        has_image = light.column("thumbnail").is_valid().to_numpy()
    worst: NDArray[np.int64] = wrong[np.lexsort((wrong, -loss[wrong], ~has_image[wrong]))][:_SHOWN]
    return worst


def _read_loss(predictions: "Predictions") -> NDArray[np.float64]:
    loss = predictions.summary.loss
    return np.full(len(predictions), np.nan) if loss is None else loss


def _describe_answer(predictions: "Predictions", row: int) -> list[str]:
    """The truth, the answer, its confidence and the loss."""
    names, summary = predictions.class_names, predictions.summary
    answer = int(summary.prediction[row])
    said = names[answer] if answer >= 0 else "none of them"
    loss = f"{_read_loss(predictions)[row]:.3f}"
    return [names[int(predictions.label[row])], said, f"{100 * summary.confidence[row]:.1f}", loss]


def _clean(text: str) -> str:
    """A text on one line, cut, without characters that redraw their surroundings."""
    line = "".join(each if each.isprintable() else "\ufffd" for each in text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
