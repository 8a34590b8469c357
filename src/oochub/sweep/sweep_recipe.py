"""What a sweep trains: tasks, methods, settings and seeds, and how it selects, as a recipe says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oochub import catalog
from oochub.sweep.methods import Method

HIDDEN_SIZE = 256
"""Width of the hidden layer of an MLP head, where a recipe does not say; no paper gives one."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Settings are selected on some tasks and carried to others.

    Attributes:
        seeds: Of the runs among which a setting is selected.
        carry: Each tuning task with the tasks that take over what was selected on it.
        shared: Title of the method whose selected setting all others take over on the same task, besides their own.
    """

    seeds: tuple[int, ...]
    carry: Mapping[str, tuple[str, ...]]
    shared: str | None = None


@dataclass(frozen=True, kw_only=True)
class SweepRecipe:
    """A recipe, read and checked.

    Attributes:
        name: Of its file, and of the variant after a slash where one was chosen.
        about: What it is, in a sentence.
        source: Paper and section.
        tasks: benchmark/config, ./repository or an id on the Hub each.
        methods: In the order of the tables.
        seeds: Of the runs.
        model: As `oochub.training.train` takes it, like the next two.
        pretrained: Load the weights of `model`; False takes its architecture alone.
        image_size: Pixels; None for the model's own.
        environments: Column of the training environments; None for the benchmark's.
        hold_out: As `train` takes it: half of the rows that would choose and be reported choose, epoch and setting.
        options: Of the builder.
        arguments: Fields of RobustTrainingArguments that all runs have.
        select: Name of the selection rule.
        leave_out: The environments that leave_one_environment_out leaves out in turn.
        per_task: What is different on single tasks; `fixed` in it is by title of the method, `methods`
            are the titles of those that are run there.
        tuning: None where a setting is selected on each task among all its runs.
        head: Of the runs on features, which has no part in fine-tuning: "linear", or "mlp" with one hidden layer.
        hidden_size: Of that layer.
        matched: Those of the tasks that stand in the recipe as a pattern with `*`.
        needs: Benchmarks of the tasks that not every version has; other tasks of no benchmark are ids on the Hub.
    """

    name: str
    tasks: tuple[str, ...]
    methods: tuple[Method, ...]
    model: str
    about: str = ""
    source: str = ""
    seeds: tuple[int, ...] = (0,)
    pretrained: bool = True
    image_size: int | None = None
    environments: str | None = None
    hold_out: bool = False
    options: Mapping[str, Any]
    arguments: Mapping[str, Any]
    select: str = "validation_loss"
    leave_out: tuple[str, ...] = ()
    per_task: Mapping[str, Mapping[str, Any]]
    tuning: Tuning | None = None
    head: str = "linear"
    hidden_size: int = HIDDEN_SIZE
    needs: tuple[str, ...] = ()
    matched: tuple[str, ...] = ()

    @property
    def missing_benchmarks(self) -> list[str]:
        """Those of `needs` that this version does not have: the recipe can be listed, and not be run."""
        return sorted(set(self.needs) - set(catalog.names("benchmark")))

    @property
    def benchmarks(self) -> list[str]:
        """Benchmarks of the tasks that this version has."""
        return sorted({name for task in self.tasks if (name := task.partition("/")[0]) in catalog.names("benchmark")})

    @property
    def hidden(self) -> int:
        """Width of the hidden layer of the heads on features; 0 for linear ones."""
        return self.hidden_size if self.head == "mlp" else 0


def is_place(task: str) -> bool:
    """Whether a task of a recipe is own data here, by their place, and not benchmark/config or an id on the Hub.

    >>> is_place("./birds"), is_place("nooch/ce_car")
    (True, False)
    """
    return task.startswith("./")


def features_track(hidden: int) -> str:
    """What tables call the track of heads on features; each kind of head is a track of its own.

    >>> features_track(0), features_track(256)
    ('features', 'features, MLP head of 256')
    """
    return f"features, MLP head of {hidden}" if hidden else "features"
