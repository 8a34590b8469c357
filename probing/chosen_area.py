"""Where the area of the object comes from: what was named, else what the data themselves say."""

from pathlib import Path
from typing import Any

import datasets

from oochub import catalog
from oochub.benchmark import data_folder
from oochub.errors import OochubError, either, unknown_name
from oochub.probing.box_areas import BoxAreas
from oochub.probing.coco_areas import CocoAreas
from oochub.probing.mask_files import MaskFiles
from oochub.probing.object_area import ObjectArea
from oochub.probing.segmented_areas import SegmentedAreas
from oochub.records.build_record import BuildRecord


def chosen_area(
    part: Any,
    *,
    masks: str | Path | None = None,
    boxes: str | None = None,
    segmenter: Any = None,
    data_dir: str | None = None,
    thing: str | None = None,
) -> ObjectArea:
    """The one that was named; without any, COCO's annotations for a task of nooch, else the column `boxes`.

    Args:
        part: A split of the data.
        masks: A folder of PNG masks, or the raw folder of COCO.
        boxes: A column of boxes.
        segmenter: A semantic segmenter, `Segments` of `oochub.context_finding`.
        data_dir: The raw folder of a benchmark.
        thing: What a task of two classes asks for; None takes the class of each row.

    Raises:
        OochubError: A stream, or rows without pictures; none that could be known; a column that is not there, or a
            class of a label map.
    """
    if not isinstance(part, datasets.Dataset):
        raise OochubError("The probe reads rows again, and a stream cannot be read again. Load the data.")
    if "image" not in part.column_names:
        raise OochubError("The probe alters pictures, and these rows have none. Leave out probe= (--probe).")
    record = BuildRecord.of(part.info)
    if masks is not None:
        return CocoAreas(masks, thing) if CocoAreas.is_raw(masks) else MaskFiles(masks)
    if boxes is not None:
        if boxes not in part.column_names:
            raise unknown_name("column", boxes, part.column_names)
        return BoxAreas(boxes)
    if segmenter is not None:
        segmenter.check(_classes(part, record, thing))
        return SegmentedAreas(segmenter, thing)
    if record is not None and record.benchmark == "nooch":
        return CocoAreas(data_folder(catalog.get("benchmark", "nooch"), data_dir), thing)
    if "boxes" in part.column_names:
        return BoxAreas("boxes")
    raise OochubError(
        f"The probe needs to know where the object of each picture is. Give {either('masks=', '--masks')}, a folder of "
        f"PNG masks; {either('boxes=', '--boxes')}, a column of boxes; or {either('segmenter=', '--segmenter')}, a "
        "semantic segmenter that knows your classes."
    )


def _classes(part: datasets.Dataset, record: BuildRecord | None, thing: str | None) -> list[str]:
    """The names that a label map may give classes of a segmenter for; none of data that do not name their classes."""
    feature = part.features.get("label")
    asked = [thing, record.facts.object if record else None]
    return [*feature.names, *filter(None, asked)] if isinstance(feature, datasets.ClassLabel) else []
