"""The numbers of every group, as a table: of thousands of groups a report has only the worst and the best."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from oochub import catalog
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation import Evaluation
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import GROUP_TABLE_MARK


def tabulate_groups(evaluation: Evaluation) -> pa.Table:
    """Every group of the evaluation split on each side, with the numbers that a report has for a group.

    Args:
        evaluation: What is evaluated.

    Returns:
        A row per side and group, in the order of sides and names: `side` ("in", "out", null without sides), `group`,
        `label`, `context`, `trained` (whether the group was in training, null if that is not known), `n`, and for each
        metric of groups its value with both ends of its own 95% interval: `accuracy`, `accuracy_low`, `accuracy_high`.
        What is undefined is null.

    Raises:
        OochubError: Predictions without groups, with more groups than a report compares, or of many tasks.

    >>> from oochub.evaluation.evaluate import make_evaluation
    >>> from oochub.prediction.predictions import Predictions
    >>> from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
    >>> rows = Predictions.from_arrays(logits=[[2.0, 0.0]] * 3, label=[0, 0, 1], group=["sea", "land", "sea"])
    >>> evaluation = make_evaluation([rows], EvaluationSettings(), IntervalSettings(), {})
    >>> tabulate_groups(evaluation).select(["group", "n", "accuracy"]).to_pydict()
    {'group': ['land', 'sea'], 'n': [1, 2], 'accuracy': [1.0, 0.5]}
    """
    evaluated, predicted = evaluation.rows, evaluation.predictions
    declared, facts = evaluated.benchmark, predicted.metadata.facts
    if declared.group_column not in evaluated.columns:
        raise OochubError(
            f"The predictions have no column {declared.group_column}, so there are no groups to write. Name a column "
            f"of contexts with {choose_wording('context=', '--context-column')} where the predictions are made."
        )
    metrics = {name: catalog.get("metric", name) for name in predicted.output.group_metrics}
    tables = []
    for side, mask in evaluation.sides_of_groups:
        groups = evaluated.members(mask)
        names = list(groups)
        trained = facts.trained_groups
        part: dict[str, object] = {
            "side": pa.array([side] * len(names), pa.string()),
            "group": names,
            "label": [name.partition("/")[0] for name in names],
            "context": [declared.describe_context({"group": name}, facts) for name in names],
            "trained": pa.array([None if trained is None else name in trained for name in names], pa.bool_()),
            "n": [len(rows) for rows in groups.values()],
        }
        for name, metric in metrics.items():
            part |= _list_numbers(name, evaluated.of_groups(metric, list(groups.values())))
        tables.append(pa.table(part))
    table = pa.concat_tables(tables, promote_options="permissive")
    return table.replace_schema_metadata({GROUP_TABLE_MARK: predicted.digest or ""})


def _list_numbers(name: str, estimates: Sequence[Estimate]) -> Mapping[str, pa.Array]:
    """Values and ends as columns; nan is null."""
    columns = {
        name: [estimate.value for estimate in estimates],
        f"{name}_low": [estimate.low for estimate in estimates],
        f"{name}_high": [estimate.high for estimate in estimates],
    }
    return {key: pa.array(np.array(values, np.float64), from_pandas=True) for key, values in columns.items()}
