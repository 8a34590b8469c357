"""The arguments of an evaluation that list something, each as a list of what it takes."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.records.parameters import read_names


class _Listed(NamedTuple):
    parts: list[Predictions | str | Path]
    metrics: list[str] | None
    detectors: list[Any]
    pairs: list[tuple[str, str]] | None
    probes: list[str]


def listed_arguments(
    predictions: Any, metrics: Any, detectors: Any, reference: Any, pairs: Any, probes: Any
) -> _Listed:
    """What `oochub.evaluate` was given, as lists; names are looked up later.

    Raises:
        OochubError: A text where a list of names is meant, or anything of another type; the argument is named.

    >>> listed_arguments("p.parquet", None, ("msp",), None, [["a", "b"]], ())[1:]
    (None, ['msp'], [('a', 'b')], [])
    """
    if reference is not None and not isinstance(reference, Predictions | str | Path):
        raise OochubError(
            f"The reference is Predictions of the training split, or their file, got a {type(reference).__name__}."
        )
    return _Listed(
        parts=_parts(predictions),
        metrics=None if metrics is None else read_names("metrics", metrics),
        detectors=_detectors(detectors),
        pairs=None if pairs is None else _pairs(pairs),
        probes=read_names("probes", probes),
    )


def _parts(predictions: Any) -> list[Predictions | str | Path]:
    """Predictions or paths, one or several."""
    is_one = isinstance(predictions, Predictions | str | Path)
    is_several = isinstance(predictions, Iterable) and not isinstance(predictions, Mapping | bytes)
    parts = [predictions] if is_one else list(predictions) if is_several else [predictions]
    for part in parts:
        if not isinstance(part, Predictions | str | Path):
            raise OochubError(
                f"predictions must be Predictions, the path of a file, or a list of these, got a {type(part).__name__}."
                " Arrays become such with Predictions.from_arrays, a frame with Predictions.from_pandas."
            )
    return parts


def _detectors(detectors: Any) -> list[Any]:
    """Names of detectors, or detectors."""
    is_list = isinstance(detectors, Iterable) and not isinstance(detectors, str | Mapping)
    listed = list(detectors) if is_list else read_names("detectors", detectors)
    for each in listed:
        if not isinstance(each, str) and (isinstance(each, type) or not hasattr(each, "hyperparameters")):
            raise OochubError(f"Detectors are given by name, or as detectors, got a {type(each).__name__} in it.")
    return listed


def _pairs(pairs: Any) -> list[tuple[str, str]]:
    """Pairs of two names of configs."""
    is_list = isinstance(pairs, Iterable) and not isinstance(pairs, str | Mapping)
    listed = list(pairs) if is_list else [pairs]
    for pair in listed:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise OochubError(f"Pairs are a list of (in distribution, out of it), two configs each, got {pair!r:.80}.")
    return [(first, second) for first, second in listed]
