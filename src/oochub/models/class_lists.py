"""Classes of a model in a message: the first few, by their first names."""

from collections.abc import Sequence

_SHOWN = 6


def read_names(names: Sequence[str], between: str = ", ") -> str:
    """The first names of classes.

    >>> read_names(["tabby, tabby cat", "beagle"])
    'tabby, beagle'
    """
    shown = [name.split(",")[0] for name in names[:_SHOWN]]
    return between.join(shown + ["..."] * (len(names) > _SHOWN))


def listed_outputs(numbers: Sequence[int], names: Sequence[str]) -> str:
    """Outputs of a model, with their numbers; of many, how many they are.

    >>> listed_outputs([0, 2], ["crane", "hen", "crane"])
    '0 (crane), 2 (crane)'
    """
    if len(numbers) > _SHOWN:
        return f"{len(numbers)} of them"
    return ", ".join(f"{k} ({read_names([names[k]])})" for k in numbers)
