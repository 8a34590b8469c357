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
        help="Maximum loss of accuracy in usual contexts, in percentage points.",
        more="It applies to the estimate. A new head that loses more is neither selected nor reported as better.",
        panel=_PANEL,
        common=True,
        least=0,
        most=100,
    )
    deep: bool = option(
        False,
        help="Also fine-tune the full network, if there are enough rows.",
        more="By the mean loss on balanced groups and by GroupDRO, at two learning rates each, from the chosen last "
        "layer on. What is best on the rows that choose is proven. Each division of the rows trains four networks.",
        panel=_PANEL,
    )
    draws: int = option(
        3,
        help="Number of random partitions of the rows. The first decides; the others show how much the result depends "
        "on it.",
        panel=_PANEL,
        least=1,
        most=100,
    )
    collect: bool = option(
        False,
        help="Also estimate which rows to collect: the expected gain from more rows of each class in each context.",
        more="By learning curves on the rows that fit and choose, see `oochub.repairs.collection.Collection`.",
        panel=_PANEL,
        common=True,
        flag="--collect",
    )
    more_rows: int = option(
        100,
        help="With --collect: number of additional rows per class and context to predict the gain for, at most as "
        "many as exist.",
        panel=_PANEL,
        least=1,
        most=100_000,
    )
    unlabeled: str | None = option(
        None,
        help="With --collect: folder of unlabeled images to rank in collect.csv by how well they match the rows to "
        "collect.",
        more="Or files that hold images; the model sees each once.",
        panel=_PANEL,
        is_keyed=False,
    )
    seed: int = option(
        0, help="Random seed for dividing the rows and for fitting.", panel=_PANEL, least=0, hint="The default is 0."
    )
