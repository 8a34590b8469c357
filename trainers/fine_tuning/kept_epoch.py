"""How the kept weights were chosen among the epochs, as a recipe says it."""

from typing import Any

from oochub.records.metadata import HeldOut
from oochub.records.schema import to_json
from oochub.trainers.fine_tuning.run_folder import Progress
from oochub.trainers.fine_tuning.validation import RULES, Validation


def kept_epoch(progress: Progress, validation: Validation | None, held_out: HeldOut | None = None) -> dict[str, Any]:
    """How the kept weights were chosen, and their numbers on the rows that chose.

    Args:
        progress: At the end of the training.
        validation: What chose; None keeps the last epoch.
        held_out: Which rows of the validation split chose; None for all of them.
    """
    chosen: dict[str, Any] = {"metric": None, "greater_is_better": None}
    rule = f"the last epoch, {progress.epoch}"
    if validation is not None:
        metric, greater = validation.selection
        chosen = {"metric": metric, "greater_is_better": greater}
        meaning = f", {RULES[metric]}," if metric in RULES and metric != "loss" else ""
        rows = "" if held_out is None else f"{held_out.words} of "
        rule = (
            f"epoch {progress.best_epoch} of {progress.epoch}, which has the {'highest' if greater else 'lowest'} "
            f"{metric}{meaning} on {rows}the validation split ({progress.best_value:.4g})"
        )
    kept = progress.history[progress.best_epoch - 1]
    numbers = {name[5:]: value for name, value in sorted(kept.items()) if name.startswith("eval_")}
    record = {} if held_out is None else {"held_out": to_json(held_out)}
    return (
        chosen
        | record
        | {
            "rule": rule,
            "best_epoch": progress.best_epoch,
            "value": progress.best_value,
            "numbers": numbers,
        }
    )
