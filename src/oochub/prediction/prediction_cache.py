"""Predictions that were made before: the second time the same is asked for, no model runs."""

import warnings
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from oochub.errors import OochubError, OochubWarning
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import Manifest, is_one_file
from oochub.storage.cache_folder import cache_folder
from oochub.storage.reading import parse_json


class PredictionCache:
    """What was predicted under a key; it lies in `$OOCHUB_CACHE/predictions/<key>.parquet`, with its head beside it.

    A file that is not whole is made again. Two processes that write the same file write the same, one whole file after
    the other.

    Args:
        key: Key that `cache_key` gives; None keeps nothing and finds nothing.
    """

    def __init__(self, key: str | None) -> None:
        self._key = key
        self._file = None if key is None else cache_folder("predictions") / f"{key}.parquet"

    def found(self, out: str | Path | None) -> Predictions | None:
        """The predictions of this key, None where there are none; `provenance["when"]["cached"]` says since when.

        Args:
            out: File to write; one that holds these predictions already stays as it is, else it is written.

        Raises:
            OochubError: `out` cannot be written.
        """
        if self._file is None:
            return None
        there = None if out is None else _read(Path(out).expanduser(), self._key)
        made = there or _read(self._file, self._key)
        if made is None:
            return None
        if there is None:
            _touch(self._file)
        when = made.metadata.provenance["when"]
        first = when.get("cached", when["created"])
        record = {**made.metadata.provenance, "when": {**when, "cached": first}}
        made = replace(made, metadata=replace(made.metadata, provenance=record))
        if out is not None and there is None:
            made.save(out)
        return made

    def keep(self, predictions: Predictions) -> None:
        """Stores predictions whose provenance has the key; those that are a folder of parts lie where they are alone.

        Warns:
            OochubWarning: The cache cannot be written; the predictions are as good.
        """
        if self._file is None or not is_one_file(predictions.rows):
            return
        try:
            predictions.save(self._file)
        except OochubError as error:
            warnings.warn(
                f"The predictions could not be cached. {error} $OOCHUB_CACHE names another folder.",
                OochubWarning,
                stacklevel=3,
            )


def _read(file: Path, key: str | None) -> Predictions | None:
    """What a file holds, where it is whole and of the key, with its head in memory."""
    try:
        stored = None if file.is_dir() else pq.read_schema(file).metadata[b"oochub"]
        about = Manifest.load(file).metadata if stored is None else parse_json(stored, name=str(file))
        if about["provenance"]["key"] != key or "created" not in about["provenance"]["when"]:
            return None
        predictions = Predictions.load(file)
        head = predictions.head
    except (OSError, KeyError, TypeError, ValueError):  # what is not there, not whole, or not ours
        return None
    whole = predictions.integrity == "checked" and (
        head is not None or "features" not in predictions.column_names or "head" in about["provenance"]
    )
    return replace(predictions, integrity=None, stored_head=head) if whole else None


def _touch(file: Path) -> None:
    try:
        file.touch()
    except OSError:  # a folder that is shared for reading
        return
