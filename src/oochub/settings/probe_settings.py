"""What a model is asked about altered images, beside its predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oochub.settings.option import Settings, option, parse_pairs

_NAMED = ("masks", "boxes", "segmenter", "backgrounds", "fill")


@dataclass(frozen=True, kw_only=True)
class ProbeSettings(Settings):
    """The probe and its settings.

    >>> ProbeSettings(probe="background", boxes="place").of_probe
    {'boxes': 'place'}
    """

    probe: str | None = option(
        None,
        help="background: also predict images with only the object, only the background, and the object on other "
        "backgrounds.",
        more="See `oochub show probe background`. The verdict does not depend on it.",
        panel="Contexts",
        common=True,
    )
    masks: Any = option(
        None,
        help="For --probe: folder of masks (EXAMPLE_ID.png, white on the object), raw COCO, or a column.",
        panel="Contexts",
        common=True,
        typed=str | None,
        python=False,
    )
    boxes: str | None = option(
        None,
        help="For --probe: column of boxes around the object, x1, y1, x2, y2 in pixels.",
        panel="Contexts",
        python=False,
    )
    segmenter: Any = option(
        None,
        help="For --probe: semantic segmentation model that locates the object.",
        panel="Contexts",
        metavar="MODEL",
        typed=str | None,
        python=False,
    )
    backgrounds: int | None = option(
        None,
        help="For --probe: backgrounds of its own class and of others for each object (default: 8).",
        panel="Contexts",
        least=1,
        python=False,
    )
    fill: str | None = option(
        None,
        help="For --probe: inpainting pipeline of diffusers that fills the place of an object (default: tiles of "
        "background).",
        panel="Contexts",
        metavar="MODEL",
        python=False,
    )
    probe_settings: Mapping[str, Any] | None = option(
        None,
        help="Another option of the probe: rows, seed, label_map.",
        form="key=value",
        more='By name, such as {"masks": "segmentations"}.',
        panel="Contexts",
        flag="--probe-option",
        typed=list[str] | None,
        parse=parse_pairs,
    )

    @property
    def of_probe(self) -> dict[str, Any]:
        """The settings of the probe that were given, by name."""
        named = {name: getattr(self, name) for name in _NAMED}
        return {**(self.probe_settings or {}), **{name: value for name, value in named.items() if value is not None}}
