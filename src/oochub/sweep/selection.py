"""Selection rules: which setting of a sweep is taken, each rule a pure function of the table of its runs.

A rule gives each row of the table a score, higher is better, nan where it has none. `select_settings` averages the
scores of a setting over its seeds and takes the setting with the highest mean; the earlier one of equals.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

_CHOICE = ["stage", "task", "method"]  # among whose settings one is chosen
_VALIDATION = ("validation", "val")  # "val" is what WILDS calls its official validation split


def validation_loss(table: pd.DataFrame) -> "pd.Series[float]":
    """The lowest mean cross entropy on the validation split."""
    return -_number(table, *(f"{split}/nll" for split in _VALIDATION))


def training_domain_validation(table: pd.DataFrame) -> "pd.Series[float]":
    """The highest accuracy on held-out rows of the training domains (Gulrajani and Lopez-Paz 2021, Section 3).

    They are the split "id_val" where a benchmark has one (WILDS), else "validation" (Spawrious, NOOCH).
    """
    return _number(table, "id_val/accuracy", "validation/accuracy")


def ood_validation(table: pd.DataFrame) -> "pd.Series[float]":
    """The highest headline metric on the official validation split (WILDS, Section 5, where it is of other domains)."""
    return _compute_headline(table, *_VALIDATION)


def worst_group(table: pd.DataFrame) -> "pd.Series[float]":
    """The highest worst-group accuracy on the validation split (Sagawa et al. 2020)."""
    return _number(table, *(f"{split}/worst_group.accuracy" for split in _VALIDATION))


def nooch(table: pd.DataFrame) -> "pd.Series[float]":
    """The smallest maximum of the mean losses on hard positives and hard negatives of validation (NOOCH, Section 6)."""
    losses = [_number(table, f"validation/{side}/nll") for side in ("hard_positive", "hard_negative")]
    return -pd.concat(losses, axis=1).max(axis=1, skipna=False)


def leave_one_environment_out(table: pd.DataFrame) -> "pd.Series[float]":
    """The highest mean accuracy on an environment left out of training, over the environments (DomainBed).

    Each run needs one more run for every environment (a sweep adds them), so it costs 1 + environments times the
    others. The accuracy is that of the validation rows of the environment that was left out.
    """
    same = [*_CHOICE, "setting", "seed"]
    held_out = table[table["left_out"].notna()]
    if held_out.empty:
        return pd.Series(np.nan, table.index)
    scores = _number(held_out, "held_out/accuracy").groupby([held_out[key] for key in same]).mean(skipna=False)
    return pd.Series([scores.get(key, np.nan) for key in table[same].itertuples(index=False, name=None)], table.index)


def oracle(table: pd.DataFrame) -> "pd.Series[float]":
    """The highest headline metric out of context ON THE TEST SPLIT: an upper bound, not a protocol."""
    return _compute_headline(table, "out_of_context")


def test_domain_validation(table: pd.DataFrame) -> "pd.Series[float]":
    """The highest accuracy on rows of the tested domain that are held out of the test: an oracle (DomainBed).

    They are the split "oracle_validation". DomainBed keeps the last epoch: `load_best_model_at_end = false`.
    """
    return _number(table, "oracle_validation/accuracy")


RULES: Mapping[str, Callable[[pd.DataFrame], "pd.Series[float]"]] = {
    rule.__name__: rule
    for rule in (
        validation_loss,
        training_domain_validation,
        ood_validation,
        worst_group,
        nooch,
        leave_one_environment_out,
        test_domain_validation,
        oracle,
    )
}
"""The rules by name."""

ORACLES = {
    "test_domain_validation": "Oracle: selected on the tested domain. Do not compare it with other rules.",
    "oracle": "Oracle: selected on the test split. Do not compare it with other rules.",
}
"""What is said of a selection that looks at the test, by the name of the rule."""


def score_runs(table: pd.DataFrame, rule: str) -> "pd.Series[float]":
    """The score of each row: nan for a run that failed, is not finite, or left an environment out.

    Args:
        table: The runs, see `oochub.sweep.sweep_table.make_run_table`.
        rule: A name of `RULES`.
    """
    values = RULES[rule](table).astype(float)
    return values.where(np.isfinite(values) & (table["status"] == "finished") & table["left_out"].isna())


def select_settings(table: pd.DataFrame, rule: str, *, by_trial: bool = False) -> "pd.Series[bool]":
    """Which rows have the setting that the rule takes, among those of their task and method.

    A setting of which a run failed or has no score is never taken; where that leaves none, nothing is selected.

    Args:
        table: The runs, see `oochub.sweep.sweep_table.make_run_table`.
        rule: A name of `RULES`.
        by_trial: Whether each seed is a trial, with settings and a selection of its own.

    >>> runs = {"stage": "final", "task": "t", "method": "m", "left_out": None, "seed": [0, 1, 0, 1]}
    >>> table = pd.DataFrame(runs | {"setting": ["a", "a", "b", "b"], "status": ["finished"] * 3 + ["failed"]})
    >>> table["validation/nll"] = [0.5, 0.7, 0.1, 0.1]
    >>> select_settings(table, "validation_loss").tolist()
    [True, True, False, False]
    """
    score = score_runs(table, rule)
    chosen = pd.Series(False, table.index)
    among = [*_CHOICE, *(["seed"] if by_trial else [])]
    for _, rows in table[table["left_out"].isna()].groupby(among, sort=False):
        means = score[rows.index].groupby(rows["setting"], sort=False).mean(skipna=False)
        means = means.round(12)  # the order of a sum does not decide
        if means.notna().any():
            chosen[rows.index[rows["setting"] == means.idxmax()]] = True  # idxmax: the first of equals
    return chosen


def describe_rule(rule: str) -> str:
    """What a rule takes, in a sentence.

    >>> describe_rule("nooch")[:38]
    'The smallest maximum of the mean losse'
    """
    return str(RULES[rule].__doc__).partition("\n")[0]


def _number(table: pd.DataFrame, *columns: str) -> "pd.Series[float]":
    """The first of the columns that a row has."""
    numbers = pd.Series(np.nan, table.index)
    for column in columns:
        numbers = numbers.combine_first(table[column].astype(float)) if column in table else numbers
    return numbers


def _compute_headline(table: pd.DataFrame, *slices: str) -> "pd.Series[float]":
    """The number of each row's own headline metric, of which higher is better."""
    numbers = pd.Series(np.nan, table.index)
    for name in table["headline"].dropna().unique():
        of_name: Any = table["headline"] == name
        numbers[of_name] = _number(table[of_name], *(f"{part}/{name}" for part in slices))
    return numbers
