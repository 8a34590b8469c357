"""The images that a review leaves: without those that were dropped, by themselves or with their class."""

from collections.abc import Mapping

from oochub.prediction.predictions import Predictions
from oochub.reviewing.decisions import Decisions, check_known

WHERE = "in these predictions. Pass the predictions of the data that were reviewed"
"""The end of a message about decisions on images that are not there."""


def known_ids(ood: Predictions) -> dict[str, set[str]]:
    """What decisions can be on: the ids of the images and of their classes."""
    return {"image": set(ood.column("example_id").tolist()), "class": set(class_ids(ood)) - {""}}


def class_ids(predictions: Predictions) -> list[str]:
    """The id of each row's class: its wnid where the data have one, else the name of its label; "" for neither."""
    names = predictions.class_names
    labels = [names[label] if label >= 0 else "" for label in predictions.label]
    if "wnid" not in predictions.column_names:
        return labels
    return [wnid or label for wnid, label in zip(predictions.table.column("wnid").to_pylist(), labels, strict=True)]


def keep_list(ood: Predictions, decisions: Decisions) -> list[str]:
    """What is left when every dropped image is gone, and every image of a dropped class that is not kept by name.

    Args:
        ood: Predictions of the reviewed images.
        decisions: The decisions; an image without one stays.

    Returns:
        In row order the images' `file_name` where the data have it, as in the published list, so that
        `load_dataset("imagenet_ood", "imagenet_ood", file_list=...)` takes it; else their `example_id`.

    Raises:
        OochubError: A decision on what is not there.

    >>> import pyarrow as pa
    >>> columns = {"example_id": ["a", "b"], "split": ["test"] * 2, "label": [-1, -1], "logits": [[0.0], [0.0]]}
    >>> about = {"benchmark": "custom", "config": "default", "version": "1", "model": {"id": "resnet-50"}}
    >>> ood = Predictions(pa.table(columns), {**about, "class_names": ["tench"], "rows": {"test": 2}})
    >>> from oochub.reviewing.decisions import Decision
    >>> keep_list(ood, {("image", "a"): Decision("image", "a", "drop", "2026-01-31T12:00:00.000Z")})
    ['b']
    """
    check_known(decisions, known_ids(ood), WHERE)
    verdicts = {key: decision.decision for key, decision in decisions.items()}
    column = "file_name" if "file_name" in ood.column_names else "example_id"
    rows = zip(ood.column("example_id").tolist(), class_ids(ood), ood.column(column).tolist(), strict=True)
    return [name for example, of_class, name in rows if _is_kept(verdicts, example, of_class)]


def _is_kept(verdicts: Mapping[tuple[str, str], str], example: str, of_class: str) -> bool:
    own = verdicts.get(("image", example), "open")
    return own == "keep" or (own == "open" and verdicts.get(("class", of_class), "open") == "open")
