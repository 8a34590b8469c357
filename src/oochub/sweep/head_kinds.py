"""The heads that a sweep trains on features: linear, or with one hidden layer."""

from oochub.errors import OochubError, unknown_name

HIDDEN_SIZE = 256
"""Width of the hidden layer of an MLP head, where a recipe does not say; no paper gives one."""

_HEADS = ("linear", "mlp")


def hidden_width(head: str, hidden_size: int) -> int:
    """Width of the hidden layer; 0 for a linear head.

    Args:
        head: "linear" or "mlp", one hidden layer with ReLU.
        hidden_size: Of the mlp.

    Raises:
        OochubError: Another head, or a width below 1.

    >>> hidden_width("linear", 256), hidden_width("mlp", 512)
    (0, 512)
    """
    if head not in _HEADS:
        raise unknown_name("head", head, _HEADS)
    if hidden_size < 1:
        raise OochubError(f"hidden_size must be a whole number, 1 or larger, got {hidden_size!r}.")
    return hidden_size if head == "mlp" else 0


def features_track(hidden: int) -> str:
    """What tables call the track of heads on features; each kind of head is a track of its own.

    >>> features_track(0), features_track(256)
    ('features', 'features, MLP head of 256')
    """
    return f"features, MLP head of {hidden}" if hidden else "features"
