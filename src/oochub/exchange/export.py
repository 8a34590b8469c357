"""Writes predictions as the file or folder that another program opens."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import datasets

from oochub.errors import OochubError, choose_wording
from oochub.exchange.bridge import Bridge, RowImage, get_bridge
from oochub.prediction.prediction_data import list_example_ids
from oochub.prediction.predictions import Predictions
from oochub.report.report_record import ReportRecord
from oochub.storage.files import check_writable, lock_target, write_whole, write_whole_folder
from oochub.storage.reading import read_bytes

_SUFFIXES = {b"\xff\xd8\xff": ".jpg", b"\x89PNG\r\n\x1a\n": ".png", b"GIF8": ".gif", b"BM": ".bmp", b"II*\0": ".tif"}


def export(
    predictions: Predictions, name: str, out: str | Path, *, data: Mapping[str, datasets.Dataset] | None = None
) -> Path:
    """Writes predictions for another program, whole or not at all.

    Args:
        predictions: Predictions of any model.
        name: Name of a bridge: `oochub list bridge`.
        out: File or folder to write; an earlier one of the same kind is replaced.
        data: The splits that were predicted, as `oochub.load` gives them, for a program that shows images.

    Returns:
        The path.

    Raises:
        OochubError: An unknown bridge, one that writes nothing, predictions that the program has no place for, images
            that are needed and missing, or a path that holds something else.
    """
    bridge = get_bridge(name)
    path = check_export(bridge, out)
    bridge.check(predictions)
    if bridge.needs_images and data is None:
        raise OochubError(
            f"{bridge.title} shows the images of the rows, and predictions hold none. Pass the data that were "
            f"predicted with {choose_wording('data=oochub.load(...)', '--data-dir')}."
        )
    images = iter(()) if data is None or not bridge.needs_images else _iterate_images(predictions, data)
    whole = write_whole_folder if bridge.written is not None and bridge.written.is_folder else write_whole
    with lock_target(path), whole(path, kind=bridge.written) as draft:
        bridge.write(predictions, draft, images)
    return path


def export_report(report: ReportRecord, name: str, out: str | Path) -> Path:
    """Writes the numbers of a report for another program, whole or not at all.

    Args:
        report: Any report.
        name: Name of a bridge that takes reports, such as "every_eval_ever".
        out: File to write; an earlier one of the same kind is replaced.

    Returns:
        The path.

    Raises:
        OochubError: An unknown bridge, one that takes predictions, or a path that holds something else.
    """
    bridge = get_bridge(name)
    path = check_export(bridge, out)
    if not bridge.of_report:
        raise OochubError(f"{bridge.title} takes predictions, not a report. Pass a file of `oochub predict`.")
    with lock_target(path), write_whole(path, kind=bridge.written) as draft:
        bridge.write_report(report, draft)
    return path


def check_export(bridge: Bridge, out: str | Path) -> Path:
    """The path that a bridge can write to; nothing is made.

    Raises:
        OochubError: A bridge that writes nothing, or a path that holds something else.
    """
    if bridge.written is None:
        raise OochubError(
            f"Nothing can be exported to {bridge.title}: oochub only reads {bridge.answers or bridge.beside}."
        )
    return check_writable(out, kind=bridge.written)


def _iterate_images(predictions: Predictions, data: Mapping[str, datasets.Dataset]) -> Iterator[RowImage | None]:
    """The image of each row of predictions, by split and id."""
    parts: dict[str, datasets.Dataset] = {}
    places: dict[str, dict[str, int]] = {}
    for split in predictions.metadata.rows:
        part = data.get(split)
        if part is None:
            raise OochubError(
                f"The data have no split {split}, only {', '.join(data)}. Pass those that were predicted."
            )
        columns = [name for name, feature in part.features.items() if isinstance(feature, datasets.Image)]
        if not columns:
            raise OochubError(f"The split {split} of the data has no column of images. Pass data with images.")
        column = "image" if "image" in columns else columns[0]
        places[split] = {example_id: row for row, example_id in enumerate(list_example_ids(part))}
        image = part.select_columns([column]).cast_column(column, datasets.Image(decode=False))
        parts[split] = image.rename_column(column, "image") if column != "image" else image
    wanted = list(zip(predictions.column("split"), predictions.column("example_id"), strict=True))
    for split, example_id in wanted:
        if str(example_id) not in places[split]:
            raise OochubError(f"{example_id} of {split} is not in these data. Pass the data that were predicted.")
    for split, example_id in wanted:
        stored = parts[split][places[split][str(example_id)]]["image"]
        yield None if stored is None else _read_image(stored["bytes"], stored["path"])


def _read_image(content: bytes | None, path: str | None) -> RowImage:
    content = read_bytes(path or "") if content is None else content
    suffixes = (suffix for sign, suffix in _SUFFIXES.items() if content.startswith(sign))
    is_webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return RowImage(content, next(suffixes, ".webp" if is_webp else ".jpg"))
