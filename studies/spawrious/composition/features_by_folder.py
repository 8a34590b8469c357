"""What a network sees of every image of Spawrious, folder by folder, extracted once."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.spawrious_compositions import BREEDS
from oochub.data.load import load
from oochub.sweep.feature_measurement import FeatureCache
from oochub.trainers.backbone import open_backbone
from oochub.trainers.rows.examples import read_column


def features_by_folder(
    model: str, folder: Path, *, data_dir: str | None = None, options: dict[str, Any] | None = None
) -> dict[tuple[int, str, str], NDArray[np.float32]]:
    """The features of spawrious/all, float32 (n, d) of each repeat, background and breed, in the order of its images.

    Args:
        model: A folder, a Hub id, or "resnet-tiny", a small network from scratch.
        folder: Folder that keeps them for the next time, apart for each model and data.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/spawrious`.
        options: Options of the builder.

    Raises:
        OochubError: Data or a model that cannot be read.
    """
    network, processor = open_backbone(model, class_names=BREEDS)
    data = load("spawrious/all", data_dir=data_dir, options=options or {})
    split, rows = next(iter(data.items()))
    about = hashlib.sha256(f"{model} {processor.to_json_string()} {rows._fingerprint}".encode()).hexdigest()[:8]
    cache = FeatureCache(folder / f"{Path(model).name}-{about}")
    features = cache.features(network, processor, data)[split].numpy()
    names = ("repeat", "background", "label", "index")
    repeat, background, label, index = (read_column(rows, name) for name in names)
    order = np.lexsort((index, label, background, repeat))
    cells: dict[tuple[int, str, str], list[int]] = {}
    for row in order:
        cells.setdefault((int(repeat[row]), str(background[row]), str(label[row])), []).append(row)
    return {cell: features[members] for cell, members in cells.items()}
