"""The folder that the files of a model lie in: its own, or the copy of one commit of the Hub, fetched as a whole."""

from functools import cache
from pathlib import Path

from oochub.remote.snapshot import snapshot

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
    from huggingface_hub.errors import HFValidationError

    try:
        folder = snapshot(name, repo_type="model", patterns=_FILES, without=_ELSEWHERE)
    except HFValidationError:
        return name  # whoever reads it says so
    whole = any((folder / file).is_file() for file in _WEIGHTS)
    return str(folder) if whole else name  # transformers knows where else safe weights may be
