"""How a model is trained: objective, network, environments, the trainer's arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oochub.settings.option import Settings, list_options, option, parse_pairs, revision_option

_PANEL, _NETWORK = "Training", "Model"


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """The settings of `oochub.train` besides the data.

    >>> TrainingSettings(learning_rate=0.1, arguments={"optim": "sgd"}).of_trainer
    {'learning_rate': 0.1, 'optim': 'sgd'}
    """

    objective: Any = option(
        "erm",
        help="Training objective; see `oochub list objective`.",
        more="Or an `Objective` of your own, with its hyperparameters.",
        panel=_PANEL,
        common=True,
        typed=str,
    )
    hyperparameters: Mapping[str, Any] | None = option(
        None,
        help="Hyperparameter of the objective.",
        form="key=value",
        panel=_PANEL,
        common=True,
        flag="--set",
        typed=list[str] | None,
        parse=parse_pairs,
    )
    model: str | None = option(
        None,
        help="Model folder, Hub id, or an untrained model from `oochub list model` (default: a small one).",
        more='The default fits the rows; for images it is "resnet-tiny".',
        panel=_NETWORK,
        common=True,
    )
    revision: str | None = revision_option("MODEL", panel=_NETWORK)
    pretrained: bool = option(True, help="Load the weights of the model, not only its architecture.", panel=_NETWORK)
    image_size: int | None = option(
        None,
        help="Resize images to squares with this many pixels per side.",
        more="By default the model's processor resizes.",
        panel=_NETWORK,
        least=1,
    )
    environments: str | None = option(
        None,
        help="Environment column (default: set by the benchmark). For found contexts: contexts:NAME, contexts (one "
        "context per row), label/contexts:NAME or label/contexts (groups).",
        more="For custom data the default is `group`, or none if the rows have no groups and the objective needs none. "
        '"contexts:NAME" says whether a row has the context; see `oochub.trainers.rows.context_environments`.',
        panel=_PANEL,
        common=True,
    )
    num_train_epochs: int = option(
        12, help="Maximum number of training epochs.", panel=_PANEL, common=True, least=1, python=False
    )
    per_device_train_batch_size: int = option(
        64, help="Number of rows per step on each device.", panel=_PANEL, least=1, python=False
    )
    learning_rate: float = option(2e-3, help="Peak learning rate.", panel=_PANEL, least=0, python=False)
    weight_decay: float = option(1e-3, help="Weight decay of the optimizer.", panel=_PANEL, least=0, python=False)
    report_to: str = option(
        "none",
        help="Tracker to report to: tensorboard, trackio, wandb, ...; its package must be installed.",
        panel=_PANEL,
        python=False,
    )
    early_stopping_patience: int = option(
        0,
        help="Stop after this many epochs without improvement of the loss; 0 disables early stopping.",
        panel=_PANEL,
        least=0,
        python=False,
    )
    seed: int = option(
        0,
        help="Random seed for new weights, the order of rows and augmentation.",
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
        more="By name; they override `oochub.training.DEFAULTS`.",
        panel=_PANEL,
        flag="--argument",
        typed=list[str] | None,
        parse=parse_pairs,
    )
    leave_out: str | None = option(
        None,
        help="Drop the rows of this environment from training and validation.",
        panel=_PANEL,
        commands=(),
    )
    hold_out: bool = option(
        False,
        help="If the rows used to select the epoch are also reported, use half of them (by a hash of their ids) for "
        "selection and report on the other half.",
        more="This is so in Spawrious, for the validation split. The run says which; `evaluate` reads it.",
        panel=_PANEL,
    )
    overwrite: bool = option(
        False,
        help="Replace another run in the folder, and files there that were edited or that oochub did not write.",
        panel="Output",
    )

    @property
    def of_trainer(self) -> dict[str, Any]:
        """The fields of RobustTrainingArguments that were given: those that are options, and the others."""
        own = {name: value for name, value in self.given().items() if not list_options(type(self))[name].python}
        return {**own, **(self.arguments or {})}
