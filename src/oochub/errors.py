"""Errors that the user can fix: what is wrong, what is allowed, what was given, what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches


class OochubError(ValueError):
    """A mistake in the input that its author can fix; the command line prints it without a traceback.

    It is a ValueError, so code that guards calls of `datasets` or `evaluate` catches it as before.
    """


def unknown_name(kind: str, name: str, allowed: Iterable[str], hint: str = "") -> OochubError:
    """An error for a name that is not one of `allowed`, with the nearest names first.

    Args:
        kind: What the name stands for, in the user's words ("metric", "config of nooch").
        name: The name as typed.
        allowed: Every name that would have worked.
        hint: A last sentence on what to do next.

    >>> print(unknown_name("metric", "fpr59", ["fpr95", "auc"]))
    No metric named 'fpr59'. Did you mean 'fpr95'? Allowed: auc, fpr95.
    """
    choices = sorted(allowed)
    near = get_close_matches(name, choices, n=3, cutoff=0.6)
    did_you_mean = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    shown = ", ".join(choices[:40]) + (f", ... ({len(choices)} in all)" if len(choices) > 40 else "")
    tail = f" {hint}" if hint else ""
    return OochubError(f"No {kind} named {name!r}.{did_you_mean} Allowed: {shown}.{tail}")
