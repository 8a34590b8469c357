"""The folder that a repair leaves: the model, the record, the page, and the predictions before and after."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.input import Input
from oochub.models.callable_model import CallableModel
from oochub.models.model_source import ModelSource
from oochub.models.onnx_file import OnnxFile
from oochub.prediction.predictions import Predictions
from oochub.repairs.choose_head import ChosenHead
from oochub.repairs.model_folder import (
    REPAIRED_FILE,
    REPAIRED_ONNX,
    ask_folder,
    find_places,
    find_pooling,
    make_repaired_network,
    open_fine_tuned_network,
    open_inputs,
    write_repaired_model,
)
from oochub.repairs.prove_repair import Proof
from oochub.repairs.repair import Repair, repair_page, write_repair_card
from oochub.repairs.repaired_module import write_repaired_module, write_repaired_onnx
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.artifacts import REPAIR
from oochub.storage.files import check_writable, write_whole, write_whole_folder
from oochub.storage.ownership import remove

_MODEL, _RECORD, _PAGE, _RUNS = "model", "repair.json", "repair.html", "fine_tuning"
_RANKING, _IMAGES = "collect.csv", "unlabeled.parquet"
_PROOF = ("before.parquet", "after.parquet")
_LOOKED_AT = 16  # rows that the written model is asked again
_CLOSE = 0.02  # of the range of the logits


@dataclass(frozen=True)
class RepairedFolder:
    """A folder with `features.parquet`, `before.parquet`, `after.parquet`, `repair.json`, `repair.html` and `model/`.

    The features of all rows stand in it, so that what was killed goes on from there.

    Args:
        path: The folder.
    """

    path: Path

    @classmethod
    def at(cls, out: str | Path, *, given: Any) -> "RepairedFolder":
        """The folder, if it can be written and the given model does not stand where the repaired one would.

        Args:
            out: Path of the folder.
            given: Model that is repaired.

        Raises:
            OochubError: It cannot be written, holds something else, or holds the given model.
        """
        path = Path(out).expanduser()
        if isinstance(given, str | Path) and Path(given).exists():
            real = Path(given).expanduser().resolve()
            if real in (path.resolve(), (path / _MODEL).resolve()):
                raise OochubError(
                    f"{out} contains the model that is to be repaired, and a repair never changes it. Choose another "
                    "output folder."
                )
        return cls(check_writable(out, kind=REPAIR))

    @contextmanager
    def runs(self, key: str | None) -> Iterator[Path]:
        """A folder for the runs of fine-tuning, gone when the block ends; what a stopped repair left there is kept.

        Args:
            key: What the repair depends on; runs of another one are removed.
        """
        whole = self.path / _RUNS
        own = whole / str(key)
        for left in whole.iterdir() if whole.is_dir() else ():
            if key is None or left != own:
                remove(left)
        yield own
        remove(whole)

    @property
    def features(self) -> Path:
        """Predictions of all rows, with features."""
        return self.path / "features.parquet"

    @property
    def images(self) -> Path:
        """Predictions of the images that are ranked, with features."""
        return self.path / _IMAGES

    @property
    def ranking(self) -> Path:
        """The ranking of images without labels."""
        return self.path / _RANKING

    def read(self, key: str | None) -> Repair | None:
        """The record that stands there, if it is of this model, data and settings; None if a weight is not its own."""
        file = self.path / _RECORD
        if key is None or not file.is_file():
            return None
        try:
            stored = Repair.load(file)
        except OochubError:  # damaged, or of another version: it is made again
            return None
        if stored.key != key:
            return None
        if stored.model is None:
            return stored
        model = self.path / stored.model
        is_there = any((model / name).is_file() for name in ("config.json", REPAIRED_FILE, REPAIRED_ONNX))
        is_whole = is_there and bool(stored.weights) and _digest_weights(model) == stored.weights
        return stored if is_whole else None

    def write_page(self, made: Repair) -> None:
        """Writes the page of a record."""
        with write_whole(self.path / _PAGE) as draft:
            draft.write_text(repair_page(made), "utf-8")

    def write_again(self, made: Repair) -> Repair:
        """Writes the record and the page of a repair to which something was added.

        Returns:
            The same record.
        """
        self.write_page(made)
        made.save(self.path / _RECORD)
        return made

    def write(
        self,
        made: Repair,
        proof: Proof | None,
        chosen: ChosenHead | None,
        *,
        source: ModelSource,
        how: ModelSettings,
        asked: PredictionSettings,
        data: Mapping[str, Any],
    ) -> Repair:
        """Writes all that belongs to a repair, the record last; a model only if it is better.

        Args:
            made: Record of the repair.
            proof: Predictions before and after; None if no head was proven.
            chosen: What was proven.
            source: The model.
            how: How it answers.
            asked: How it predicts.
            data: The splits.

        Returns:
            The record as it was written, with the images that changed.

        Raises:
            OochubError: A file that cannot be written, or a model that cannot be opened again.
        """
        for name in (_RECORD, _PAGE, _RANKING, *_PROOF, _MODEL):  # of other settings
            remove(self.path / name)
        if proof is not None and chosen is not None:
            inputs = open_inputs(source, how, asked, data)
            made = _add_images(made, inputs, data)
            for name, predictions in zip(_PROOF, (proof.before, proof.after), strict=True):
                predictions.save(self.path / name)
            if made.outcome == "better":
                self._write_model(made, proof, chosen, inputs, source, how, asked, data)
                made = replace(made, model=_MODEL, weights=_digest_weights(self.path / _MODEL))
        return self.write_again(made)

    def _write_model(
        self,
        made: Repair,
        proof: Proof,
        chosen: ChosenHead,
        inputs: Input,
        source: ModelSource,
        how: ModelSettings,
        asked: PredictionSettings,
        data: Mapping[str, Any],
    ) -> None:
        names = proof.before.class_names

        def check(folder: Path) -> None:
            _check_answers(folder, proof.after, inputs, asked, data)

        if isinstance(source.given, CallableModel):
            assert chosen.head is not None  # noqa: S101  no network of one's own is fine-tuned
            with write_whole_folder(self.path / _MODEL) as draft:
                if isinstance(source.given.function, OnnxFile):
                    write_repaired_onnx(draft, source, inputs, chosen.head, names)
                else:
                    write_repaired_module(draft, source, inputs, how, chosen.head, names)
                (draft / "README.md").write_text(write_repair_card(made, class_names=names, is_own=True), "utf-8")
                check(draft)
            return
        if chosen.network is not None:
            temperature = chosen.temperature or 1.0
            network = open_fine_tuned_network(chosen.network.folder, inputs, temperature=temperature)
        else:
            assert chosen.head is not None  # noqa: S101  it was proven
            pooling = find_pooling(how, is_probe=proof.before.metadata.model.mode == "linear_probe")
            network = make_repaired_network(source, inputs, chosen.head, class_names=names, pooling=pooling)
        card = write_repair_card(made, class_names=names, is_wrapper=network.is_wrapper)
        write_repaired_model(self.path / _MODEL, network, inputs, card=card, check=check)


def _digest_weights(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of weights of a model, by name."""
    digests = {}
    for file in sorted([*folder.glob("*.safetensors"), *folder.glob(REPAIRED_ONNX)]):
        with file.open("rb") as content:
            digests[file.name] = hashlib.file_digest(content, "sha256").hexdigest()
    return digests


def _check_answers(
    folder: Path, after: Predictions, inputs: Input, asked: PredictionSettings, data: Mapping[str, Any]
) -> None:
    """Asks the written model a few rows that prove.

    Raises:
        OochubError: Its answers are not those of the head on the model's features.
    """
    split = str(after.split[0])
    few = np.flatnonzero(after.split == split)[:_LOOKED_AT]
    rows = find_places(data.get(split), after.column("example_id")[few].tolist())
    if not rows:
        return
    logits, wanted = ask_folder(folder, data[split], rows, asked), after.logits[few]
    if float(np.abs(logits - wanted).max()) > _CLOSE * max(1.0, float(np.ptp(wanted))):
        raise OochubError(
            "The repaired model, opened again, does not give the answers with which it was proven, so it was "
            "not written. Predict with preprocessing=processor, or report this."
        )


def _add_images(made: Repair, inputs: Input, data: Mapping[str, Any]) -> Repair:
    """The record with a small image of each example that flips."""
    report = made.comparison
    if report is None:
        return made
    flips = []
    for flip in report.flips:
        mistake = flip.mistake
        rows = [] if mistake.image is not None else find_places(data.get(mistake.split), [mistake.example_id])
        small = inputs.thumbnails(data[mistake.split], rows)[0] if rows else None
        if small is not None:
            mistake = replace(mistake, image=base64.b64encode(small).decode())
        flips.append(replace(flip, mistake=mistake))
    return replace(made, comparison=replace(report, flips=tuple(flips)))
