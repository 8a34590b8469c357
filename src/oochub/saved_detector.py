"""A detector as a folder: `detector.json` says which it is, `state.safetensors` holds what its fit found."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from oochub import memory_map
from oochub.artifacts import DETECTOR
from oochub.errors import OochubError
from oochub.files import folder_written_whole
from oochub.parameters import check_parameters
from oochub.reading import read_json
from oochub.schema import from_json, to_json
from oochub.stats.array_checks import Array
from oochub.stats.detector_state import check_state
from oochub.tensor_file import load_tensors, save_tensors

_CARD, _STATE = "detector.json", "state.safetensors"


@dataclass(frozen=True, kw_only=True)
class SavedDetector:
    """What `detector.json` says.

    Attributes:
        detector: Its name in the catalog.
        hyperparameters: The arguments of its constructor.
        columns: How many its features and logits have.
        oochub: The version that wrote it.
    """

    detector: str
    hyperparameters: Mapping[str, Any]
    columns: Mapping[str, int]
    oochub: str = ""

    def write(self, folder: str | Path, state: Mapping[str, Array]) -> Path:
        """Writes the folder, whole or not at all.

        Raises:
            OochubError: It cannot be written.
        """
        with folder_written_whole(folder, kind=DETECTOR) as draft:
            save_tensors(state, draft / _STATE, about=to_json(self))
            (draft / _CARD).write_text(json.dumps(to_json(self), indent=2) + "\n", "utf-8")
        return Path(folder)

    @classmethod
    def read(cls, folder: Path) -> "SavedDetector":
        """Reads `detector.json` of a folder.

        Raises:
            OochubError: There is no saved detector, or a field of another type.
        """
        for name in (_CARD, _STATE):
            if not (folder / name).exists():
                raise OochubError(f"No saved detector in {folder} (no {name}). Detector.save(folder) writes one.")
        return from_json(cls, read_json(folder / _CARD), what=str(folder / _CARD))

    def made(self) -> Any:
        """The detector, without what its fit found.

        Raises:
            OochubError: No such detector, or other hyperparameters than it has.
        """
        from oochub import catalog

        kind, what = catalog.get("detector", self.detector), f"hyperparameter of {self.detector}"
        given = {**kind.later, **self.hyperparameters}
        check_parameters(kind, given, kind=what)
        unsaid = [name for name in signature(kind).parameters if name not in given]
        if unsaid:
            raise OochubError(f"{_CARD} must say the {what} {unsaid[0]}. Save the detector again.")
        return kind(**given)

    def state(self, folder: Path, declared: Sequence[str], *, needs: Sequence[str]) -> dict[str, Any]:
        """What the fit found, arrays and numbers by name.

        Args:
            folder: Of the detector.
            declared: See `Detector.fitted`.
            needs: Of the features and logits what it reads, which `columns` must say.

        Raises:
            OochubError: The state is not what was written, or not with this `detector.json`; a part of it is missing,
                of another type or shape, or not finite.
        """
        unsaid = [name for name in needs if self.columns.get(name, 0) < 1]
        if unsaid:
            raise OochubError(f"{folder / _CARD}: columns must say how many {unsaid[0]} has. Fit the detector again.")
        tensors = load_tensors(folder / _STATE, in_memory=memory_map.LARGE)
        if tensors.checked and tensors.about != to_json(self):
            raise OochubError(f"{folder / _CARD} has changed since it was written. Save the detector again.")
        return check_state(declared, tensors.arrays, self.columns, file=str(folder / _STATE))
