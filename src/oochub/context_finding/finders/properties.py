"""Image properties without a model: brightness, contrast, sharpness, color, size, shape, borders, JPEG, time, camera.

Numbers become two contexts each, the lowest and the highest third of the rows on which is chosen ("dark", "bright");
what is equal in all images becomes none. Hue becomes six, of images with some color. Hour and camera are read from
EXIF where images have it; a camera is a context from 20 images on.

Brightness, contrast, sharpness and color are measured on the rim of the image, where things seldom are: dark images
are of the night, or of black dogs, and a model that knows a black dog by its coat does not go by the context. Contrast
and sharpness are quartiles and a median, which an ear or a paw on the rim hardly moves.

Limitations: A thing that fills its image reaches the rim, and a property is what it is for any reason.
"""

import functools
import io
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from oochub.context_finder import ContextWay, NamedContexts, OpenedPicture
from oochub.context_finding.image_model import mask_region
from oochub.errors import OochubError
from oochub.storage.picture_file import open_picture, read_exif_value

_EDGE = 256  # pixels of the longer side at which images are measured, so that sharpness is of one scale
_RIM = 1 / 10  # of the height at top and bottom, of the width left and right; deeper, more of the thing is on it
_THIRDS = (1 / 3, 2 / 3)
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601
_GRAY = 0.05  # chroma below which an image has no hue
_FLAT = 2 / 255  # deviation of a border's pixels
_FEWEST = 20  # images of a camera
_DATE = 36867  # EXIF DateTimeOriginal, in the block 0x8769
_EXIF, _MODEL = 0x8769, 272
_HUES = ("red", "yellow", "green", "cyan", "blue", "magenta")


class _Ends(NamedTuple):
    """What the lowest and the highest third of a number are called, and the number in words."""

    low: str
    high: str
    words: str


_OF_PIXELS = {
    "brightness": _Ends("dark", "bright", "mean brightness"),
    "contrast": _Ends("low contrast", "high contrast", "interquartile range of brightness"),
    "sharpness": _Ends("blurred", "sharp", "median change between neighboring pixels"),
    "chroma": _Ends("pale", "colorful", "mean chroma"),
}
_NUMBERS = _OF_PIXELS | {
    "pixels": _Ends("small", "large", "number of pixels"),
    "aspect": _Ends("tall", "wide", "width / height"),
    "border": _Ends("narrow border", "wide border", "share of the image in plain borders"),
    "jpeg_quality": _Ends("low JPEG quality", "high JPEG quality", "JPEG quality"),
}
_SCHEMA = pa.schema(
    [(name, pa.float64()) for name in _NUMBERS] + [("hue", pa.float64()), ("hour", pa.int64()), ("camera", pa.string())]
)


class Properties(ContextWay):
    """Properties of the file and of its pixels.

    Measures of a region of an image: mean `brightness` and `chroma`, and `contrast`, the interquartile range of
    brightness, in [0, 1]; `sharpness`, the median absolute difference of neighbors at 256 pixels; `hue` in degrees,
    null if it has none. Measures of the whole image: `pixels`, `aspect`; `border`, the share in plain rows and columns
    at its edges; `jpeg_quality` of 1 to 100, null for other files; `hour` 0 to 23 and `camera` of EXIF, else null.

    Args:
        region: `"rim"`, a tenth of the height at top and bottom and of the width left and right; or `"picture"`, all of
            it, the thing too.

    Raises:
        OochubError: Another region.

    >>> file = io.BytesIO()
    >>> night = Image.new("RGB", (8, 4), (0, 0, 51))
    >>> night.save(file, "PNG")
    >>> measures = Properties().prepare(OpenedPicture(file.getvalue(), night))
    >>> round(measures["brightness"], 3), measures["hue"], measures["aspect"], measures["camera"]
    (0.023, 240.0, 2.0, None)
    """

    def __init__(self, *, region: str = "rim") -> None:
        mask_region(1, 1, region=region, depth=_RIM)
        self._region = region

    def settings(self) -> dict[str, Any]:
        """See `ContextWay.settings`."""
        return {"edge": _EDGE, "region": self._region, "rim": _RIM, "spread": "quartiles"}

    def prepare(self, picture: OpenedPicture) -> dict[str, object]:
        """See `ContextWay.prepare`: all that is measured."""
        return _measure_region(picture, region=self._region)

    def measures(self, prepared: Sequence[dict[str, object]]) -> pa.Table:
        """See `ContextWay.measures`."""
        return pa.Table.from_pylist(list(prepared), _SCHEMA)

    def name(
        self, measures: pa.Table, *, label: NDArray[np.int64], classes: Sequence[str], chosen_on: NDArray[np.bool_]
    ) -> NamedContexts:
        """See `ContextWay.name`."""
        if chosen_on.sum() < len(_HUES):
            raise OochubError(
                f"The thirds of a property need at least {len(_HUES)} images to be chosen on, got "
                f"{int(chosen_on.sum())}. Use more images."
            )
        contexts: dict[str, tuple[str, NDArray[np.bool_]]] = {}
        thresholds: dict[str, list[float]] = {}
        for name, ends in _NUMBERS.items():
            values = measures.column(name).to_numpy(zero_copy_only=False)
            measured = values[chosen_on & np.isfinite(values)]
            if not len(measured) or measured.min() == measured.max():
                continue
            low, high = thresholds[name] = np.quantile(measured, _THIRDS).tolist()
            with np.errstate(invalid="ignore"):
                sides = {ends.low: (f"below {low:.3g}", values < low), ends.high: (f"above {high:.3g}", values > high)}
            words = f"{ends.words}{self._where}" if name in _OF_PIXELS else ends.words
            contexts |= {end: (f"{words} {where}", rows) for end, (where, rows) in sides.items()}
        contexts |= _name_hues(measures.column("hue").to_numpy(zero_copy_only=False), self._where)
        contexts |= _read_exif_columns(measures, chosen_on)
        features = datasets.Features.from_arrow_schema(measures.schema)
        names = [name for name, (_, rows) in contexts.items() if 0 < rows[chosen_on].sum() < chosen_on.sum()]
        return NamedContexts(
            names=tuple(names),
            words=tuple(contexts[name][0] for name in names),
            has=np.stack([contexts[name][1] for name in names], 1) if names else np.zeros((len(label), 0), bool),
            settings={"thirds": thresholds},
            columns={f"property_{name}": (features[name], measures.column(name)) for name in measures.column_names},
        )

    @property
    def _where(self) -> str:
        """The region, after the words for what is measured there."""
        return " of the rim" if self._region == "rim" else ""


def _name_hues(hue: NDArray[np.float64], where: str) -> dict[str, tuple[str, NDArray[np.bool_]]]:
    with np.errstate(invalid="ignore"):
        place = np.floor(((hue + 30) % 360) / 60)  # red is -30 to 30 degrees
    return {name: (f"a mean hue{where} of {name}", place == number) for number, name in enumerate(_HUES)}


def _read_exif_columns(measures: pa.Table, chosen_on: NDArray[np.bool_]) -> dict[str, tuple[str, NDArray[np.bool_]]]:
    hour = measures.column("hour").to_numpy(zero_copy_only=False).astype(np.float64)
    with np.errstate(invalid="ignore"):
        by_day = (hour >= 7) & (hour < 19)
    contexts = {
        "by day": ("a time of 7 to 18 h in EXIF", by_day),
        "by night": ("a time of 19 to 6 h in EXIF", np.isfinite(hour) & ~by_day),
    }
    camera = np.array(measures.column("camera").to_pylist(), object)
    often = Counter(name for name in camera[chosen_on] if name is not None)
    for name, count in sorted(often.items()):
        if count >= _FEWEST:
            contexts[f"camera {name}"] = (f"the camera {name} in EXIF", camera == name)
    return contexts


def _measure_region(picture: OpenedPicture, *, region: str) -> dict[str, Any]:
    small = picture.image.copy()
    small.thumbnail((_EDGE, _EDGE), Image.Resampling.BOX)
    pixels = np.asarray(small)
    gray: NDArray[np.float32] = np.divide(pixels, np.float32(255)) @ _LUMA
    colors = np.ascontiguousarray(pixels.transpose(2, 0, 1))  # (3, height, width): an operation is a loop over bytes
    chroma = colors.max(0) - colors.min(0)
    seen = mask_region(*gray.shape, region=region, depth=_RIM)
    rim = gray[seen]
    lower, upper = _compute_quantiles(rim, 0.25, 0.75)
    red, green, blue = (float(color[seen].mean() / 255) for color in colors)
    width, height = picture.image.size
    return {
        "brightness": float(rim.mean(dtype=np.float64)),
        "contrast": upper - lower,
        "sharpness": float(_measure_change(gray, seen)),
        "chroma": float(chroma[seen].mean() / 255),
        "hue": _compute_hue(red, green, blue),
        "pixels": float(width * height),
        "aspect": width / height,
        "border": _measure_border(gray),
        **_read_file_facts(picture.content),
    }


def _measure_change(gray: NDArray[np.float32], seen: NDArray[np.bool_]) -> float:
    """The median absolute difference of neighbors that are both seen, the mean of across and down."""
    both = [seen[1:] & seen[:-1], seen[:, 1:] & seen[:, :-1]]
    changes = [np.abs(np.diff(gray, axis=axis)[pairs]) for axis, pairs in enumerate(both) if pairs.any()]
    return float(np.mean([_compute_quantiles(change, 0.5) for change in changes])) if changes else 0.0


def _compute_quantiles(values: NDArray[np.float32], *shares: float) -> list[float]:
    """Those of `np.quantile` in float64, by one partition at their places."""
    places = [share * (len(values) - 1) for share in shares]
    ordered = np.partition(values, [end for place in places for end in (int(place), math.ceil(place))])
    below = [ordered[int(place)].item() for place in places]
    above = [ordered[math.ceil(place)].item() for place in places]
    return [low + (high - low) * (place % 1) for place, low, high in zip(places, below, above, strict=True)]


def _compute_hue(red: float, green: float, blue: float) -> float | None:
    """The hue of the mean color in degrees, as in HSV; None for gray."""
    chroma = max(red, green, blue) - min(red, green, blue)
    if chroma < _GRAY:
        return None
    if red >= max(green, blue):
        return 60 * ((green - blue) / chroma) % 360
    return 60 * (2 + (blue - red) / chroma) if green >= blue else 60 * (4 + (red - green) / chroma)


def _measure_border(gray: NDArray[np.float32]) -> float:
    """The share of the image in rows and columns at its edges that are plain and of one brightness."""
    kept = 1.0
    for axis in (0, 1):
        means = gray.mean(1 - axis, keepdims=True)
        mean, plain = means.ravel(), gray.std(1 - axis, mean=means) < _FLAT
        lines = [np.flatnonzero(~plain | (np.abs(mean - mean[edge]) > _FLAT)) for edge in (0, -1)]
        kept *= max(0.0, (lines[1][-1] + 1 - lines[0][0]) / len(mean)) if all(map(len, lines)) else 0.0
    return 1 - kept


def _read_file_facts(content: bytes) -> dict[str, Any]:
    """What the file says beside its pixels."""
    with open_picture(content, name="the image") as file:
        tables = getattr(file, "quantization", None) if file.format == "JPEG" else None
        date, camera = read_exif_value(file, _DATE, block=_EXIF), read_exif_value(file, _MODEL)
    quality = None  # that at which libjpeg's luminance table has the nearest sum
    if tables and 0 in tables:
        quality = float(1 + np.abs(_sum_tables() - sum(tables[0])).argmin())
    hour = date[11:13] if isinstance(date, str) and len(date) >= 13 else ""
    name = "".join(letter for letter in str(camera or "") if letter.isprintable()).strip()[:60]
    is_hour = hour.isdigit() and int(hour) < 24
    return {"jpeg_quality": quality, "hour": int(hour) if is_hour else None, "camera": name or None}


@functools.cache
def _sum_tables() -> NDArray[np.int64]:
    """The sums of the luminance tables of quality 1 to 100 (100,), as Pillow writes them."""
    sums = []
    for quality in range(1, 101):
        file = io.BytesIO()
        Image.new("L", (8, 8)).save(file, "JPEG", quality=quality)
        with open_picture(file.getvalue(), name="a table") as picture:
            sums.append(sum(picture.quantization[0]))  # type: ignore[attr-defined]  # of a JPEG
    return np.array(sums)
