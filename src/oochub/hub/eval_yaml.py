"""The file `eval.yaml` by which the Hub knows the tasks of a benchmark's repository."""

from collections.abc import Iterator, Sequence

import yaml

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.hub.task_id import task_id
from oochub.metric import MetricFacts, facts_of


def eval_yaml(benchmark: Benchmark, configs: Sequence[str]) -> str | None:
    """The text of `eval.yaml`: a task for each config, split and number that a leaderboard can rank.

    A leaderboard of the Hub ranks by higher is better, so error rates, NLL, ECE and their like are no tasks; they
    stand in reports. Each config gives its metrics on the evaluation split, and the headline metric on either side of
    the comparison, so that the gap can be read. A config that holds many tasks at once, as `nooch/all`, has none of its
    own. What `oochub push report.json` writes into a model's repository has the same ids (`oochub.hub.task_id`).

    The file makes a repository no leaderboard by itself: whether it becomes one the Hub decides.

    Args:
        benchmark: The declaration.
        configs: Those that the repository holds.

    Returns:
        YAML; None where no config has a task.

    >>> from oochub import get
    >>> print(eval_yaml(get("benchmark", "spawrious"), ["o2o_hard"]).partition("tasks:")[2])
    <BLANKLINE>
    - id: o2o_hard_accuracy
      config: o2o_hard
      split: test
    - id: o2o_hard_worst_group_accuracy
      config: o2o_hard
      split: test
    - id: o2o_hard_accuracy_in_context
      config: o2o_hard
      split: validation
    - id: o2o_hard_accuracy_out_of_context
      config: o2o_hard
      split: test
    <BLANKLINE>
    """
    tasks = [task for config in configs for task in _tasks(benchmark.of(config), config)]
    if not tasks:
        return None
    content = {
        "name": benchmark.title,
        "description": benchmark.summary,
        "evaluation_framework": "oochub",
        "tasks": tasks,
    }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120))


def _tasks(declared: Benchmark, config: str) -> Iterator[dict[str, str]]:
    if declared.task is not None and declared.output == "labels":
        return
    for name in declared.metrics:
        facts = facts_of(catalog.get("metric", name)) or MetricFacts(title=name, direction="none")
        parts = {f"{name}.{key}": part for key, part in facts.keys.items()} or {name: facts}
        for metric, part in parts.items():
            if part.direction == "higher":
                yield {"id": task_id(config, metric), "config": config, "split": declared.evaluation_split}
    headline = facts_of(catalog.get("metric", declared.primary_metric))
    if headline is not None and headline.direction == "higher":
        primary, inside, outside = declared.primary_metric, declared.in_context, declared.out_of_context
        yield {"id": task_id(config, primary, "in"), "config": config, "split": inside.split}
        yield {"id": task_id(config, primary, "out"), "config": config, "split": outside.split}
