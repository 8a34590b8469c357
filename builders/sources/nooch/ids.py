"""Reads the published id files of NOOCH: which images are hard positives and hard negatives of a task."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.nooch.id_arrays import id_arrays
from oochub.errors import OochubError

_SPLITS = {"validation": "valid", "test": "test"}
_CRITERIA = {"ce": "CE", "gist": "gist"}


def nooch_ids(folder: str | Path, task: str, criterion: str) -> dict[str, dict[str, NDArray[np.int64]]]:
    """The published ids of one task by one criterion.

    Args:
        folder: Holds `nooch_ids_{CE,gist}_<task>_hard_{positive,negative}_{valid,test}.npy`, as the NOOCH
            repository's `nooch/data` does.
        task: One of the suite's 12 objects, "car".
        criterion: "ce" or "gist".

    Returns:
        "validation" and "test" to "hard_positive" and "hard_negative" to COCO image ids, int64, in the file's order.

    Raises:
        OochubError: A file that is missing, is not one of whole numbers, or names an id twice.

    Source: Madras and Zemel, NOOCH, https://github.com/dmadras/nooch (48 files for each criterion).

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for side in ("positive", "negative"):
    ...     for split in ("valid", "test"):
    ...         np.save(folder / f"nooch_ids_CE_car_hard_{side}_{split}.npy", np.array([7, 9]))
    >>> nooch_ids(folder, "car", "ce")["test"]["hard_positive"].tolist()
    [7, 9]
    """
    root = Path(folder).expanduser()
    ids: dict[str, dict[str, NDArray[np.int64]]] = {}
    for split, suffix in _SPLITS.items():
        for side in ("hard_positive", "hard_negative"):
            file = root / f"nooch_ids_{_CRITERIA[criterion]}_{task}_{side}_{suffix}.npy"
            if not file.exists():
                raise OochubError(
                    f"There is no id file {file.name} in {file.parent}. official_ids must be the folder with NOOCH's "
                    "96 id files; they exist only for the suite's 12 tasks (https://github.com/dmadras/nooch, "
                    "nooch/data)."
                )
            ids.setdefault(split, {})[side] = id_arrays(file)[0]
    return ids
