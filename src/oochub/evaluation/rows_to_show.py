"""Rows that a page shows beside a finding about contexts."""

import base64
import io
from collections.abc import Iterable

from oochub.evaluation.evaluated import Evaluated
from oochub.evaluation.mistakes import mistake_of
from oochub.records.finding_records import ContextRow

_EDGE = 96  # pixels of a longer side: fifty photographs take about 113 kB of a page


def rows_to_show(evaluated: Evaluated, rows: Iterable[int]) -> tuple[ContextRow, ...]:
    """The rows as a reader sees them, with a small picture where the predictions have one.

    Args:
        evaluated: All rows.
        rows: Their numbers.

    Raises:
        OochubError: A picture that cannot be read.
    """
    said = [mistake_of(int(row), evaluated, is_out=False) for row in rows]
    return tuple(
        ContextRow(
            example_id=each.example_id,
            split=each.split,
            label=each.label,
            predicted=each.predicted,
            image=None if each.image is None else _small(each.image, f"the small picture of {each.example_id}"),
            attribution=each.attribution,
        )
        for each in said
    )


def _small(image: str, where: str) -> str:
    from oochub.inputs.pictures.preprocessing import decode

    picture = decode(base64.b64decode(image), where)
    if max(picture.size) <= _EDGE:
        return image
    picture.thumbnail((_EDGE, _EDGE))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=75)
    return base64.b64encode(file.getvalue()).decode("ascii")
