"""What a model is trained and measured on."""

from typing import NamedTuple

from oochub.trainers.fine_tuning.auxiliary import Auxiliary
from oochub.trainers.fine_tuning.validation import Validation
from oochub.trainers.rows.examples import Examples


class TrainingData(NamedTuple):
    """The training rows; the validation rows and what is computed on them, None for none; what a second head says."""

    train: Examples
    evaluation: Examples | None
    validation: Validation | None
    auxiliary: Auxiliary | None = None
