"""What `--probe background` is asked for, checked before anything is read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oochub import catalog
from oochub.errors import OochubError, either
from oochub.probing.mask_files import MaskFiles

_ROWS = 1000


@dataclass(frozen=True, kw_only=True)
class BackgroundSettings:
    """What says where the object of each picture is, and how many rows are altered.

    Attributes:
        masks: A folder of PNG masks named by the rows' ids or their pictures' files, or the raw folder of COCO.
        boxes: A column of boxes, x1, y1, x2, y2 in pixels.
        segmenter: Folder or Hub id of a semantic segmenter, see `oochub contexts --by segments`, or `Segments` itself.
        label_map: Which classes of the segmenter are a class of the data, see there.
        rows: How many rows to alter at most, drawn at random.
        seed: Of the rows and backgrounds that are drawn.

    Raises:
        OochubError: Two ways to say where the object is, a folder or a model that is not there, no rows.

    >>> BackgroundSettings(masks="here", boxes="there")
    Traceback (most recent call last):
    oochub.errors.OochubError: masks= and boxes= both say where the object is. Give one of them.
    """

    masks: str | Path | None = None
    boxes: str | None = None
    segmenter: Any = None
    label_map: str | Path | None = None
    rows: int = _ROWS
    seed: int = 0

    def __post_init__(self) -> None:
        given = [name for name in ("masks", "boxes", "segmenter") if getattr(self, name) is not None]
        if len(given) > 1:
            names = either(" and ".join(f"{name}=" for name in given), " and ".join(f"--{name}" for name in given))
            raise OochubError(f"{names} both say where the object is. Give one of them.")
        if self.label_map is not None and self.segmenter is None:
            raise OochubError(
                "label_map says which classes of a segmenter are yours. Give the segmenter, or leave it out."
            )
        if self.rows < 1 or self.seed < 0:
            raise OochubError(f"rows is at least 1 and seed at least 0, got {self.rows} and {self.seed}.")
        if self.masks is not None:
            MaskFiles(self.masks)
        if isinstance(self.segmenter, str | Path):
            way = catalog.get("context", "segments")(model=self.segmenter, label_map=self.label_map)
            object.__setattr__(self, "segmenter", way)

    @property
    def options(self) -> tuple[str, ...]:
        """What `oochub audit` is asked by, the seed apart; of an absolute path its last part, for a report holds none.

        >>> BackgroundSettings(boxes="place", rows=20).options
        ('--probe', 'background', '--boxes', 'place', '--probe-option', 'rows=20')
        """
        segmenter = None if self.segmenter is None else self.segmenter.model
        named = {"--masks": _named(self.masks), "--boxes": self.boxes, "--segmenter": segmenter}
        others = {"label_map": _named(self.label_map), "rows": self.rows if self.rows != _ROWS else None}
        asked = [("--probe", "background"), *named.items()]
        asked += [("--probe-option", f"{name}={value}") for name, value in others.items() if value is not None]
        return tuple(word for option, value in asked if value is not None for word in (option, value))


def _named(path: str | Path | None) -> str | None:
    return None if path is None else Path(path).name if Path(path).expanduser().is_absolute() else str(path)
