"""Turns what a broken model folder makes transformers raise into an error that its owner can act on."""

from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

from oochub.errors import OochubError

_FAULTS = (
    ArithmeticError,  # a size of 0 in a config
    AttributeError,
    ImportError,  # an architecture that needs another package
    LookupError,
    OSError,
    RuntimeError,
    SafetensorError,
    StrictDataclassError,  # a field of a config that is of another type
    TypeError,
    ValueError,
)


@contextmanager
def opening(source: str, *, words: str = "a model", hint: str = "") -> Iterator[None]:
    """A block in which transformers reads the files of a model, and nothing else is done.

    Args:
        source: Folder or Hub id.
        words: What it should be of.
        hint: What to do next.

    Raises:
        OochubError: The files cannot be had or are broken.

    >>> with opening("runs/erm"):
    ...     raise OSError("config.json is cut off")
    Traceback (most recent call last):
    oochub.errors.OochubError: 'runs/erm' is neither a folder nor a Hub id of a model that can be loaded: config.json \
is cut off.
    """
    try:
        yield
    except OochubError:
        raise
    except Exception as error:
        if not isinstance(error, _FAULTS) and type(error) is not Exception:  # tokenizers raises the bare Exception
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise OochubError(
            f"{source!r} is neither a folder nor a Hub id of {words} that can be loaded: {lines[0].rstrip('.: ')}."
            f"{f' {hint}' if hint else ''}"
        ) from error
