"""How a model is repaired: what may be lost in usual contexts, and how the rows are divided."""

from dataclasses import dataclass

from oochub.settings.option import Settings, option

_PANEL = "Repair"


@dataclass(frozen=True, kw_only=True)
class RepairSettings(Settings):
    """The settings of `oochub.repair` besides the model, the data and how contexts are found.

    >>> RepairSettings(at_most_lost=2).words()
    ('--at-most-lost', '2')
    """

    at_most_lost: float = option(
        5.0,
        help="Points of accuracy that the repaired model may lose in usual contexts.",
        more="Percentage points, of the estimate. A new head that loses more is neither chosen nor called better.",
        panel=_PANEL,
        common=True,
        least=0,
        most=100,
    )
    deep: bool = option(
        False,
        help="Fine-tune the whole network too, where the rows suffice.",
        more="By the mean loss on balanced groups and by GroupDRO, at two learning rates each, from the chosen last "
        "layer on. What is best on the rows that choose is proven. Each division of the rows trains four networks.",
        panel=_PANEL,
    )
    draws: int = option(
        3,
        help="Ways to divide the rows: the first one decides, the others show how much the result depends on it.",
        panel=_PANEL,
        least=1,
        most=100,
    )
    collect: bool = option(
        False,
        help="Also predict which rows to collect: what more rows of each class in each context should gain.",
        more="By learning curves on the rows that fit and choose, see `oochub.repairs.collection.Collection`.",
        panel=_PANEL,
        common=True,
        flag="--collect",
    )
    more_rows: int = option(
        100,
        help="Most rows of a class in a context for which the gain is predicted; never more than there are.",
        panel=_PANEL,
        least=1,
        most=100_000,
    )
    unlabeled: str | None = option(
        None,
        help="Folder of unlabeled images, ranked in collect.csv by how well they fill what should be collected.",
        more="Or files that hold images; the model sees each once.",
        panel=_PANEL,
        is_keyed=False,
    )
    seed: int = option(
        0, help="Random seed for dividing the rows and for fitting.", panel=_PANEL, least=0, hint="The default is 0."
    )
