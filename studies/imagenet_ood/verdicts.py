"""How many models decide a comparison, and which way: by each model's own paired interval, never by the mean alone."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Verdicts(NamedTuple):
    """Counts of models by what their 95% intervals say of a difference to a bar.

    Attributes:
        above: The interval lies above the bar.
        undecided: It holds the bar, or there is none.
        below: It lies below.
        names: Names for above, undecided and below.
    """

    above: int
    undecided: int
    below: int
    names: tuple[str, str, str]

    def counts(self) -> dict[str, int]:
        """The counts by their names.

        >>> Verdicts(9, 1, 3, ("better", "undecided", "worse")).counts()
        {'better': 9, 'undecided': 1, 'worse': 3}
        """
        return dict(zip(self.names, self[:3], strict=True))

    def __str__(self) -> str:
        if self.above + self.undecided + self.below == 1:
            name = next(name for name, count in self.counts().items() if count)
            return {"undecided": "not decided"}.get(name, name)
        return f"{self.above}/{self.undecided}/{self.below}"


def difference_verdicts(rows: "pd.DataFrame") -> Verdicts:
    """Counts the models by their difference to the baseline: better, not decided or worse.

    >>> import pandas as pd
    >>> str(difference_verdicts(pd.DataFrame({"low": [0.1, -0.1], "high": [0.2, 0.1]})))
    '1/1/0'
    """
    return _count_verdicts(rows, 0.0, ("better", "undecided", "worse"))


def chance_verdicts(rows: "pd.DataFrame") -> Verdicts:
    """Counts the random models by their AUROC: above chance, not told from it, or below.

    >>> import pandas as pd
    >>> str(chance_verdicts(pd.DataFrame({"low": [0.6], "high": [0.7]})))
    'above chance'
    """
    return _count_verdicts(rows, 0.5, ("above chance", "undecided", "below chance"))


def _count_verdicts(rows: "pd.DataFrame", bar: float, names: tuple[str, str, str]) -> Verdicts:
    above, below = int((rows["low"] > bar).sum()), int((rows["high"] < bar).sum())
    return Verdicts(above, len(rows) - above - below, below, names)
