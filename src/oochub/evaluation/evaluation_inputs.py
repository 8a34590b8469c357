"""What an evaluation is given: arguments that list something, and what is to be evaluated.

This is predictions, their files, or files of answers that belong to a benchmark.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oochub.errors import OochubError, choose_wording
from oochub.exchange.bridge import find_bridge
from oochub.exchange.join_columns import is_beside, join_columns
from oochub.prediction.predictions import Predictions
from oochub.records.parameters import read_names
from oochub.settings.data_settings import DataSettings
from oochub.settings.option import list_options

_ANSWERS = (".csv", ".npz")
_FLAGS = {name: about.flag_alone for name, about in list_options(DataSettings).items()}


class _Listed(NamedTuple):
    parts: list[Predictions | str | Path]
    metrics: list[str] | None
    detectors: list[Any]
    pairs: list[tuple[str, str]] | None
    probes: list[str]


def check_inputs(predictions: Any, metrics: Any, detectors: Any, reference: Any, pairs: Any, probes: Any) -> _Listed:
    """What `oochub.evaluate` was given, as lists; names are looked up later.

    Raises:
        OochubError: A text where a list of names is meant, or anything of another type; the argument is named.

    >>> check_inputs("p.parquet", None, ("msp",), None, [["a", "b"]], ())[1:]
    (None, ['msp'], [('a', 'b')], [])
    """
    if reference is not None and not isinstance(reference, Predictions | str | Path):
        raise OochubError(
            "The reference must be Predictions for the training split, or their file, got a "
            f"{type(reference).__name__}."
        )
    return _Listed(
        parts=_check_parts(predictions),
        metrics=None if metrics is None else read_names("metrics", metrics),
        detectors=_check_detectors(detectors),
        pairs=None if pairs is None else _check_pairs(pairs),
        probes=read_names("probes", probes),
    )


def _check_parts(predictions: Any) -> list[Predictions | str | Path]:
    """Predictions or paths, one or several."""
    is_one = isinstance(predictions, Predictions | str | Path)
    is_several = isinstance(predictions, Iterable) and not isinstance(predictions, Mapping | bytes)
    parts = [predictions] if is_one else list(predictions) if is_several else [predictions]
    for part in parts:
        if not isinstance(part, Predictions | str | Path):
            raise OochubError(
                "predictions must be Predictions, the path of a file, or a list of these, got a "
                f"{type(part).__name__}. Convert arrays with Predictions.from_arrays, a frame with "
                "Predictions.from_pandas."
            )
    return parts


def _check_detectors(detectors: Any) -> list[Any]:
    """Names of detectors, or detectors."""
    is_list = isinstance(detectors, Iterable) and not isinstance(detectors, str | Mapping)
    listed = list(detectors) if is_list else read_names("detectors", detectors)
    for each in listed:
        if not isinstance(each, str) and (isinstance(each, type) or not hasattr(each, "hyperparameters")):
            raise OochubError(f"Detectors must be given by name, or as detectors, got a {type(each).__name__}.")
    return listed


def _check_pairs(pairs: Any) -> list[tuple[str, str]]:
    """Pairs of two names of configs."""
    is_list = isinstance(pairs, Iterable) and not isinstance(pairs, str | Mapping)
    listed = list(pairs) if is_list else [pairs]
    for pair in listed:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise OochubError(
                f"Pairs must be a list of (in distribution, out of it), two configs each, got {pair!r:.80}."
            )
    return [(first, second) for first, second in listed]


def open_parts(
    parts: Sequence[Predictions | str | Path],
    *,
    benchmark: Any = None,
    model_name: str | None = None,
    probabilities: bool = False,
    **loading: Any,
) -> list[Predictions]:
    """The predictions of each part, in order.

    Args:
        parts: Predictions, or paths: of files of predictions, or, with a benchmark, of answers.
        benchmark: What the answers are of, as `oochub.load` takes it, or the splits that it gave; None where the files
            say it themselves.
        model_name: What made the answers; None takes the stem of each file.
        probabilities: Whether columns of logits in files of answers hold probabilities.
        loading: How the benchmark is loaded: options of `oochub.load`.

    Raises:
        OochubError: A file that cannot be read, answers without a benchmark or that do not fit it, an option that is
            read with a benchmark only.

    >>> open_parts(["mine.csv"])
    Traceback (most recent call last):
    oochub.errors.OochubError: mine.csv holds answers, but does not say which data they are for. Name the data with \
benchmark=.
    """
    paths = [Path(part) for part in parts if not isinstance(part, Predictions)]
    if benchmark is None:
        given = {"model_name": model_name, "probabilities": probabilities, **loading}
        if read := [name for name, value in given.items() if value]:
            words = choose_wording(f"{read[0]}=", _FLAGS.get(read[0], f"--{read[0].replace('_', '-')}"))
            raise OochubError(
                f"{words} needs {choose_wording('benchmark=', '--benchmark')}. Give both, or leave both out."
            )
        beside = [path for path in paths if is_beside(path)]
        parts = [part for part in parts if isinstance(part, Predictions) or Path(part) not in beside]
        if answers := [path for path in paths if path not in beside and _holds_answers(path)]:
            name = choose_wording("benchmark=", "--benchmark")
            raise OochubError(
                f"{answers[0]} holds answers, but does not say which data they are for. Name the data with {name}."
            )
        if beside and not parts:
            raise OochubError(f"{beside[0]} holds columns beside predictions. Give a file of predictions as well.")
        opened = [part if isinstance(part, Predictions) else Predictions.load(part) for part in parts]
        for path in beside:
            opened = [join_columns(part, path) for part in opened]
        return opened
    from oochub.data.load import load
    from oochub.exchange.answers_file import join_answers, read_answers

    if len(paths) < len(parts):
        raise OochubError("These predictions say themselves what data they are for. Leave out benchmark=.")
    files = [read_answers(path, model_name=model_name) for path in paths]  # before the data, which may take minutes
    data = benchmark if isinstance(benchmark, Mapping) else load(benchmark, **loading)
    return [join_answers(file, data, model_name=model_name, probabilities=probabilities) for file in files]


def _holds_answers(path: Path) -> bool:
    """Whether a path is that of answers by its name, or a file or folder of a program that has a bridge."""
    return path.suffix.lower() in _ANSWERS or (path.suffix.lower() != ".parquet" and find_bridge(path) is not None)
