"""How a model is trained: objective, network, environments, the trainer's arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oochub.settings.option import Settings, list_options, option, parse_pairs

_PANEL, _NETWORK = "Training", "Model"


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """The settings of `oochub.train` besides the data.

    >>> TrainingSettings(learning_rate=0.1, arguments={"optim": "sgd"}).of_trainer
    {'learning_rate': 0.1, 'optim': 'sgd'}
    """

    objective: str = option("erm", help="One of `oochub list objective`.", panel=_PANEL, common=True)
    hyperparameters: Mapping[str, Any] | None = option(
        None,
        help="Of the objective.",
        form="key=value",
        panel=_PANEL,
        common=True,
        flag="--set",
        typed=list[str] | None,
        parse=parse_pairs,
    )
    model: str | None = option(
        None,
        help="A model folder or Hub id, or one of `oochub list model` (untrained); default a small one.",
        more='For such rows, "resnet-tiny" for images.',
        panel=_NETWORK,
        common=True,
    )
    pretrained: bool = option(True, help="Load the weights of the model, not its architecture alone.", panel=_NETWORK)
    image_size: int | None = option(
        None,
        help="Squeeze whole images to so many pixels a side.",
        more="Without it that is left to the model's processor.",
        panel=_NETWORK,
        least=1,
    )
    environments: str | None = option(
        None,
        help="Column of the environments; default the benchmark's. Of found contexts: contexts:NAME, contexts (the "
        "one of each row), label/contexts:NAME, label/contexts (groups).",
        more="Of own data the default is `group`, and none where the rows have none and the objective needs none. "
        '"contexts:NAME" is whether a row has the context or lacks it; see '
        "`oochub.context_finding.context_environments`.",
        panel=_PANEL,
        common=True,
    )
    num_train_epochs: int = option(
        12, help="Passes over the training split, at most.", panel=_PANEL, common=True, least=1, python=False
    )
    per_device_train_batch_size: int = option(
        64, help="Rows a step, on each device.", panel=_PANEL, least=1, python=False
    )
    learning_rate: float = option(2e-3, help="The largest of the schedule.", panel=_PANEL, least=0, python=False)
    weight_decay: float = option(1e-3, help="Of the optimizer.", panel=_PANEL, least=0, python=False)
    report_to: str = option(
        "none",
        help="A tracker of Accelerate: tensorboard, trackio, wandb, ...; its package is to be there.",
        panel=_PANEL,
        python=False,
    )
    early_stopping_patience: int = option(
        0, help="Epochs without a better loss; 0 never stops.", panel=_PANEL, least=0, python=False
    )
    seed: int = option(
        0,
        help="Of new weights, the order of rows and augmentation.",
        panel=_PANEL,
        common=True,
        least=0,
        most=2**32 - 1,
        python=False,
    )
    arguments: Mapping[str, Any] | None = option(
        None,
        help="Any other field of RobustTrainingArguments, e.g. optim=sgd.",
        form="key=value",
        more="By name, over `oochub.training.DEFAULTS`.",
        panel=_PANEL,
        flag="--argument",
        typed=list[str] | None,
        parse=parse_pairs,
    )
    leave_out: str | None = option(
        None,
        help="An environment whose rows are dropped from training and validation.",
        panel=_PANEL,
        commands=(),
    )
    hold_out: bool = option(
        False,
        help="Half of the rows that would choose the epoch and stand in the report as well choose it, by a hash of "
        "their ids; the report is of the others.",
        more="So it is in Spawrious, for the validation split. The run says which; `evaluate` reads it.",
        panel=_PANEL,
    )
    overwrite: bool = option(False, help="Replace another run in the folder.", panel="Output")

    @property
    def of_trainer(self) -> dict[str, Any]:
        """The fields of RobustTrainingArguments that were given: those that are options, and the others."""
        own = {name: value for name, value in self.given().items() if not list_options(type(self))[name].python}
        return {**own, **(self.arguments or {})}
