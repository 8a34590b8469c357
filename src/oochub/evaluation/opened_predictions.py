"""Opens what is to be evaluated: predictions, their files, and files of answers that belong to a benchmark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, either
from oochub.prediction.predictions import Predictions

_ANSWERS = (".csv", ".npz")
_OPTIONS = {"options": "--option"} | {name: f"--{name}-column" for name in ("image", "label", "context", "group")}


def opened_predictions(
    parts: Sequence[Predictions | str | Path],
    *,
    benchmark: Any = None,
    model_name: str | None = None,
    **loading: Any,
) -> list[Predictions]:
    """The predictions of each part, in order.

    Args:
        parts: Predictions, or paths: of files of predictions, or, with a benchmark, of answers.
        benchmark: What the answers are of, as `oochub.load` takes it, or the splits that it gave; None where the files
            say it themselves.
        model_name: What made the answers; None takes the stem of each file.
        loading: How the benchmark is loaded: options of `oochub.load`.

    Raises:
        OochubError: A file that cannot be read, answers without a benchmark or that do not fit it, an option that is
            read with a benchmark only.

    >>> opened_predictions(["mine.csv"])
    Traceback (most recent call last):
    oochub.errors.OochubError: mine.csv holds answers, and does not say of what. Name the data with benchmark=.
    """
    paths = [Path(part) for part in parts if not isinstance(part, Predictions)]
    if benchmark is None:
        given = {"model_name": model_name, **loading}
        if read := [name for name, value in given.items() if value]:
            words = either(f"{read[0]}=", _OPTIONS.get(read[0], f"--{read[0].replace('_', '-')}"))
            raise OochubError(
                f"{words} is read with {either('benchmark=', '--benchmark')} only. Name it, or leave it out."
            )
        if answers := [path for path in paths if path.suffix.lower() in _ANSWERS]:
            name = either("benchmark=", "--benchmark")
            raise OochubError(f"{answers[0]} holds answers, and does not say of what. Name the data with {name}.")
        return [part if isinstance(part, Predictions) else Predictions.load(part) for part in parts]
    from oochub.data.load import load
    from oochub.evaluation.answers_file import read_answers
    from oochub.evaluation.given_predictions import given_predictions

    if len(paths) < len(parts):
        raise OochubError("These predictions say themselves what they are of. Leave out benchmark=.")
    files = [read_answers(path) for path in paths]  # before the data, which may take minutes
    data = benchmark if isinstance(benchmark, Mapping) else load(benchmark, **loading)
    return [given_predictions(file, data, model_name=model_name) for file in files]
