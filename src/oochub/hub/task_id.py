"""What the Hub's leaderboards call one number of a benchmark: to them a task is one number."""

import re

from oochub.records.report_records import Role

_SIDES = {"in": "in context", "out": "out of context"}


def task_id(config: str, metric: str, role: Role = "all") -> str:
    """The id of a task: config, metric, and the side where the number is not of all rows of the evaluation split.

    Args:
        config: Of the benchmark, such as "ce_car"; a task of `nooch/all` bears the name of its config.
        metric: As a report calls it; "worst_group.accuracy" is one number of a metric that gives several.
        role: "all", or a side of the comparison: "in" or "out".

    >>> task_id("ce_car", "auc_hard"), task_id("ce_car", "auc", "out")
    ('ce_car_auc_hard', 'ce_car_auc_out_of_context')
    >>> task_id("o2o_hard", "worst_group.accuracy")
    'o2o_hard_worst_group_accuracy'
    """
    words = f"{config} {metric} {_SIDES.get(role, '')}"
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
