"""The folder that the files of a model lie in: its own, or the copy of one commit of the Hub, fetched as a whole."""

from functools import cache
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.hub.connection_fault import connection_fault
from oochub.hub.patiently import patiently

_FILES = (
    *("*.json", "*.jsonl", "*.jinja", "*.txt", "*.model", "*.bpe", "*.vocab", "*.spm", "*.tiktoken"),
    *("model.safetensors", "model-*.safetensors", "auxiliary_head.safetensors"),
)
_ELSEWHERE = ("*/*",)  # other formats, checkpoints
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


def model_folder(source: str) -> str:
    """The folder to read a model's files from.

    Of an id on the Hub all files that are read are fetched first, of one commit: no weights of today are put in a
    config of yesterday, and a file that could not be fetched is not taken for one that is not there. What the cache of
    the Hub holds is not fetched again; where the Hub cannot be reached it is what is read.

    Args:
        source: A folder, or an id on the Hub that is there: see `check_source`.

    Raises:
        OochubError: The Hub cannot be reached, and its cache has no whole copy.

    >>> model_folder(".")
    '.'
    """
    if Path(source).expanduser().is_dir():
        return source
    from huggingface_hub import constants, get_token

    return _fetched(source, constants.ENDPOINT, get_token())


@cache
def _fetched(name: str, endpoint: str, token: str | None) -> str:
    """Asked once a process: a job reads one commit, whatever is pushed meanwhile."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    wanted = {"allow_patterns": _FILES, "ignore_patterns": _ELSEWHERE, "tqdm_class": _late_bar()}
    try:
        folder = patiently(lambda: snapshot_download(name, **wanted))
    except HFValidationError:
        return name  # whoever reads it says so
    except (unreached, OSError) as error:
        lines = [connection_fault(error), *str(error).strip().splitlines(), type(error).__name__]
        said = next(line for line in lines if line)
        raise OochubError(
            f"The files of {name} could not be fetched from the Hub: {said.rstrip('.: ')}. Check the connection and "
            "try again: what has come is not fetched again."
        ) from error
    whole = any((Path(folder) / file).is_file() for file in _WEIGHTS)
    return str(folder) if whole else name  # transformers knows where else safe weights may be


def _late_bar() -> Any:
    from huggingface_hub.utils import tqdm

    class LateBar(tqdm):  # type: ignore[misc]
        """A bar for what takes more than two seconds."""

        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **{"delay": 2.0, **settings})

    return LateBar
