"""The bar of a job: on a terminal those of tqdm; in a notebook one at a time, which goes when its job is done."""

import sys
import weakref
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm

_OPENED: "list[tuple[weakref.ref[tqdm], int]]" = []
"""The bars of this notebook, each with the id of the frame that opened it."""


def follow(iterable: Iterable[object] | None = None, **settings: object) -> "tqdm":
    """A bar of tqdm, which knows a notebook: there no stream is a terminal, and `disable=None` would hide every bar.

    Args:
        iterable: What is gone through; None for a bar that is moved by hand.
        **settings: Those of tqdm. `disable=None` shows it on a terminal and in a notebook.

    Returns:
        A bar; in a notebook a widget if ipywidgets is installed. There it is not shown while the job that it is a part
        of has one.

    >>> sum(follow(range(4), disable=True))
    6
    """
    if not is_in_notebook():
        from tqdm import tqdm

        return tqdm(iterable, **settings)
    callers = list(_list_callers())
    is_inner = any(
        caller in callers and (bar := reference()) is not None and not bar.disable for reference, caller in _OPENED
    )
    settings = {**settings, "leave": False, "disable": bool(settings.get("disable")) or is_inner}
    if find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm
    else:
        from tqdm import tqdm
    shown = tqdm(iterable, **settings)
    _OPENED[:] = [(reference, caller) for reference, caller in _OPENED if reference() is not None]
    _OPENED.append((weakref.ref(shown), callers[0]))
    return shown


def is_in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this; nothing is imported for that.

    >>> is_in_notebook()
    False
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _list_callers() -> Iterator[int]:
    """The ids of the frames that lead to the call of `follow`, the last first; of a job that failed there is none."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield id(frame)
        frame = frame.f_back
