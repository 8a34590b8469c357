"""What trackers of experiments are told of a run: its settings, and the numbers of each epoch."""

from collections.abc import Mapping
from typing import Any

from accelerate import Accelerator


class Trackers:
    """The trackers of an Accelerator (`report_to`).

    They get the settings once, and of each epoch every number by its name in the history; of tables by environment each
    number as "<table>/<environment>", "loss_by_environment/snow".

    Args:
        accelerator: Of the run.
        settings: Of the run.
    """

    def __init__(self, accelerator: Accelerator, settings: Mapping[str, Any]) -> None:
        self._accelerator = accelerator
        accelerator.init_trackers("oochub", config=dict(settings))

    def log(self, record: Mapping[str, Any]) -> None:
        """Tells them the record of an epoch."""
        values = {name: value for name, value in record.items() if isinstance(value, float)}
        for table, of in record.items():
            if isinstance(of, Mapping):
                values |= {f"{table}/{name}": value for name, value in of.items() if value is not None}
        self._accelerator.log(values, step=record["global_step"])

    def finish(self) -> None:
        """Closes them; `end_training` of Accelerate would also end the process group of the caller."""
        for tracker in self._accelerator.trackers:
            tracker.finish()
