"""Fine-tunes the whole network behind a new last layer, on the rows that fit, with objectives for groups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.input import Input
from oochub.models.model_source import ModelSource
from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.model_folder import ask_folder, find_places, find_pooling, make_repaired_network, open_inputs
from oochub.repairs.repair_data import FEWEST, RepairRows, RowParts
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings

_ID, _GROUP = "example_id", "group"
_EPOCHS = 5
_OBJECTIVES: Mapping[str, str] = {
    "erm": "the whole network, fine-tuned on balanced groups",
    "group_dro": "the whole network, fine-tuned by GroupDRO",
}
_RATES = (1e-4, 1e-3)


class FineTunedNetwork(NamedTuple):
    """A network that was fine-tuned, and what it answers.

    Attributes:
        title: What was done, in words.
        settings: Its hyperparameters.
        folder: The folder of its run, which `transformers` opens.
        choose: Its logits (k, c) of the rows that choose.
        prove: Its logits (p, c) of those that prove.
    """

    title: str
    settings: Mapping[str, float]
    folder: Path
    choose: NDArray[np.float32]
    prove: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class FineTuning:
    """What fine-tuning needs besides features: the model, its data, and a folder for its runs.

    A network starts with the last layer that was chosen on features, as Kumar et al. do (Fine-tuning can distort
    pretrained features and underperform out-of-distribution, ICLR 2022, arXiv:2202.10054): then its features change
    less. The rows of each group, a class on one side, are drawn equally often; the epoch with the best accuracy of the
    worst group on the rows that choose is kept.

    Attributes:
        source: The model.
        inputs: How its rows are read.
        pooling: For the features of an encoder, the pooling that they are of; None for a classifier's own head.
        asked: How it predicts.
        splits: The data.
        folder: Keeps the runs: one that was stopped goes on.
    """

    source: ModelSource
    inputs: Input
    pooling: str | None
    asked: PredictionSettings
    splits: Mapping[str, datasets.Dataset]
    folder: Path

    @classmethod
    def of(
        cls,
        source: ModelSource,
        how: ModelSettings,
        asked: PredictionSettings,
        splits: Mapping[str, datasets.Dataset],
        folder: Path,
        *,
        is_probe: bool,
    ) -> "FineTuning":
        """For a model that answers in a mode.

        Args:
            source: The model.
            how: How it answers.
            asked: How it predicts.
            splits: The data.
            folder: Keeps the runs.
            is_probe: Whether it is an encoder that is repaired as a linear probe.
        """
        return cls(
            source=source,
            inputs=open_inputs(source, how, asked, splits),
            pooling=find_pooling(how, is_probe=is_probe),
            asked=asked,
            splits=splits,
            folder=folder,
        )

    def explain_absence(self, rows: RepairRows, parts: RowParts) -> str:
        """Why nothing is fine-tuned on these rows, as a sentence; "" if the rows suffice.

        Too few rows of a group fit; or rows choose that the model was trained on: a network that goes on from it knows
        them by heart.
        """
        if parts.seen[parts.choose].any():
            return (
                "Nothing was fine-tuned: that needs rows to choose on that the model was not trained on, at least "
                f"{2 * FEWEST} of each class in unusual contexts that do not prove. Add them to a split validation."
            )
        sizes = np.bincount(rows.groups["side"][parts.fit], minlength=2 * rows.classes)
        fewest = int(sizes[sizes > 0].min())
        if fewest < FEWEST:
            return (
                f"Nothing was fine-tuned: that needs {FEWEST} rows of each class on each side that fit, and the rarest "
                f"has {fewest}."
            )
        if not all(_ID in self.splits[split].column_names for split in set(rows.split.tolist())):
            return f"Nothing was fine-tuned: its rows are found by a column {_ID}, and the data have none."
        return ""

    def train(self, rows: RepairRows, parts: RowParts, head: StoredHead, *, seed: int) -> Iterator[FineTunedNetwork]:
        """Fine-tunes a network by each objective at each learning rate; nothing of the rows that prove is trained on.

        Args:
            rows: All rows.
            parts: Their division.
            head: The last layer that it starts with.
            seed: Random seed of the training.

        Raises:
            OochubError: A model that the trainer cannot train.
        """
        train, choose = (self._make_data(rows, numbers) for numbers in (parts.fit, parts.choose))
        for objective, title in _OBJECTIVES.items():
            for rate in _RATES:
                folder = self.folder / f"{seed}-{objective}-{rate:g}"
                self._train_one(train, choose, rows, head, folder, objective=objective, rate=rate, seed=seed)
                answers = {part: self._answer(folder, rows, numbers) for part, numbers in parts.named if part != "fit"}
                yield FineTunedNetwork(title, {"learning_rate": rate}, folder, **answers)

    def _train_one(
        self,
        train: datasets.Dataset,
        choose: datasets.Dataset,
        rows: RepairRows,
        head: StoredHead,
        folder: Path,
        *,
        objective: str,
        rate: float,
        seed: int,
    ) -> None:
        from oochub.trainers.arguments import RobustTrainingArguments  # imports Accelerate
        from oochub.trainers.robust_trainer import RobustTrainer

        names = rows.predictions.class_names
        network = make_repaired_network(self.source, self.inputs, head, class_names=names, pooling=self.pooling)
        arguments = RobustTrainingArguments(
            output_dir=folder,
            num_train_epochs=_EPOCHS,
            per_device_train_batch_size=32,
            learning_rate=rate,
            lr_scheduler_type="linear",
            warmup_ratio=0.1,
            sampler="environment_balanced",
            metric_for_best_model="worst_group.accuracy",
            seed=seed,
        )
        RobustTrainer(
            network.model.train(),
            arguments,
            train_dataset=train,
            eval_dataset=choose,
            objective=catalog.get("objective", objective)(),
            processing_class=self.inputs.processor,
            environment_column=_GROUP,
        ).train()

    def _make_data(self, rows: RepairRows, numbers: NDArray[np.int64]) -> datasets.Dataset:
        """These rows, split by split, with what the network reads, the class, and the group."""
        names, images = rows.predictions.class_names, self._find(rows, numbers)
        column = self.inputs.column
        data = datasets.concatenate_datasets(
            [self.splits[split].select_columns([column]).select(places) for split, places, _ in images]
        )
        order = numbers[np.concatenate([own for _, _, own in images])]
        pairs = zip(rows.label[order].tolist(), rows.is_out[order].tolist(), strict=True)
        group = [f"{names[label]}/{'unusual' if is_out else 'usual'}" for label, is_out in pairs]
        label = datasets.ClassLabel(names=list(names))
        return data.add_column("label", rows.label[order].tolist(), feature=label).add_column(_GROUP, group)

    def _find(self, rows: RepairRows, numbers: NDArray[np.int64]) -> list[tuple[str, list[int], NDArray[np.int64]]]:
        """For each split its name, the places of the rows in it, and their places in `numbers`."""
        images, ids = [], rows.predictions.column(_ID)[numbers]
        for split in dict.fromkeys(rows.split[numbers].tolist()):
            own = np.flatnonzero(rows.split[numbers] == split)
            images.append((str(split), find_places(self.splits[split], ids[own].tolist()), own))
        return images

    def _answer(self, folder: Path, rows: RepairRows, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """What the network in a folder says of some rows, (k, c)."""
        logits = np.empty((len(numbers), rows.classes), np.float32)
        for split, places, own in self._find(rows, numbers):
            logits[own] = ask_folder(folder, self.splits[split], places, self.asked)
        return logits
