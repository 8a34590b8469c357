"""The events of a run as callbacks of transformers hear them."""

from collections.abc import Iterable
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

from transformers import TrainerControl, TrainerState

from oochub.errors import OochubError
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.run_folder import Progress
from oochub.trainers.fine_tuning.validation import Selection

EVENTS = (
    "on_train_begin",
    "on_epoch_begin",
    "on_step_begin",
    "on_step_end",
    "on_epoch_end",
    "on_evaluate",
    "on_log",
    "on_save",
    "on_train_end",
)
"""Those of `transformers.TrainerCallback` that mean here what they mean there."""


class Callbacks:
    """Tells callbacks of transformers what happens, and hears whether training is to stop.

    Each event gets the settings under the names of TrainingArguments, a `TrainerState`, a `TrainerControl`, and by name
    `model` and `processing_class`; `on_evaluate` also `metrics`, `on_log` also `logs`. `should_training_stop` and
    `should_epoch_stop` are heard after a step and after an epoch, which is validated wherever it ends; in a run of
    several stages they end the stage. `should_save`, `should_evaluate` and `should_log` are not heard: this loop saves,
    validates and logs once an epoch.

    Args:
        callbacks: Objects or classes, each with any of `EVENTS`.
        args: The settings of the run.
        main: Whether this is the main process.
        selection: How an epoch is chosen; None where none is validated.
        **given: What every event gets, by name.

    Raises:
        OochubError: Something that has none of the events.

    >>> class Stop:
    ...     def on_step_end(self, args, state, control, **kwargs):
    ...         control.should_training_stop = state.global_step == 2
    >>> heard = Callbacks([Stop], args=RobustTrainingArguments(output_dir="run"), main=True)
    >>> heard("on_step_end", Progress(global_step=2))
    >>> heard.stop, heard.stop_epoch
    (True, False)
    """

    def __init__(
        self,
        callbacks: Iterable[Any],
        *,
        args: RobustTrainingArguments,
        main: bool,
        selection: Selection | None = None,
        **given: Any,
    ) -> None:
        self._callbacks = [callback() if isinstance(callback, type) else callback for callback in callbacks]
        for callback in self._callbacks:
            if not any(callable(getattr(callback, event, None)) for event in EVENTS):
                raise OochubError(
                    f"callbacks= takes callbacks as transformers has them, with a method of {', '.join(EVENTS)}; got "
                    f"{callback!r}."
                )
        self._args = _convert_arguments(args, selection)
        self._main, self._given, self._control = main, given, TrainerControl()

    @property
    def stop(self) -> bool:
        """Whether one wants training to stop."""
        return bool(self._control.should_training_stop)

    @property
    def stop_epoch(self) -> bool:
        """Whether one wants the epoch to end."""
        return bool(self._control.should_epoch_stop)

    def begin_stage(self) -> None:
        """Forgets that one wanted the stage before to stop."""
        self._control = TrainerControl()

    def __call__(self, event: str, progress: Progress, **given: Any) -> None:
        """Tells them of an event.

        Args:
            event: One of `EVENTS`.
            progress: How far the run has come.
            **given: What this event has by name.
        """
        if event == "on_epoch_begin":
            self._control.should_epoch_stop = False
        if not self._callbacks:
            return
        state = _state(progress, main=self._main)
        for callback in self._callbacks:
            hear = getattr(callback, event, None)
            if hear is not None:
                self._control = hear(self._args, state, self._control, **self._given, **given) or self._control


def _convert_arguments(args: RobustTrainingArguments, selection: Selection | None) -> SimpleNamespace:
    """The settings as callbacks of transformers ask for them: an epoch is saved and validated, the best is kept."""
    given = {field.name: getattr(args, field.name) for field in fields(args)}
    given |= {"save_strategy": "epoch", "logging_strategy": "epoch", "eval_strategy": "epoch" if selection else "no"}
    greater = selection.greater_is_better if selection else None
    given |= {"load_best_model_at_end": selection is not None and not args.keeps_last}
    return SimpleNamespace(**given | {"greater_is_better": greater})


def _state(progress: Progress, *, main: bool) -> TrainerState:
    logs = [
        {name: value for name, value in entry.items() if isinstance(value, float)}
        | {"epoch": float(entry["epoch"]), "step": entry["global_step"]}
        for entry in progress.history
    ]
    return TrainerState(
        epoch=float(progress.epoch),
        global_step=progress.global_step,
        max_steps=progress.stage_began + progress.stage_steps,
        log_history=logs,
        best_metric=progress.best_value,
        best_global_step=progress.history[progress.best_epoch - 1]["global_step"] if progress.best_epoch else None,
        is_local_process_zero=main,
        is_world_process_zero=main,
    )
