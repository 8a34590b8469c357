"""Images as they are stored: the bytes of their files, not decoded."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from PIL import Image

from oochub.errors import OochubError
from oochub.storage.reading import TarMember, read_bytes


def read_picture_bytes(picture: Mapping[str, Any] | None, where: str) -> bytes:
    """The file of an image that is not decoded: its bytes, or what stands at its path, also in a tar archive.

    Args:
        picture: The image's `bytes` and `path`; None for a row without an image.
        where: What an error calls the image.

    Raises:
        OochubError: There is no image, or its path cannot be read.

    >>> read_picture_bytes({"bytes": b"abc", "path": None}, "row 0")
    b'abc'
    """
    if picture is None or (picture["bytes"] is None and not picture["path"]):
        raise OochubError(f"{where}: image missing. Remove the row or rebuild the dataset.")
    if picture["bytes"] is not None:
        return bytes(picture["bytes"])
    member = TarMember.of(picture["path"])
    try:
        return read_bytes(picture["path"]) if member is None else member.read()
    except OochubError as error:
        raise OochubError(f"{where}: {error}") from error


def describe_picture_place(of: str, example: Any, picture: Mapping[str, Any] | None) -> str:
    """What an error calls an image: its split, its id, and its file where the id is another.

    Args:
        of: "split train, ", or nothing.
        example: The id of its row.
        picture: The image's `bytes` and `path`; the last two parts of the path are shown.

    >>> describe_picture_place("split test, ", 7, {"bytes": None, "path": "/somewhere/birds/gull/a.png"})
    'split test, example 7 (gull/a.png)'
    """
    path = PurePath(str(picture["path"])) if picture is not None and picture["path"] else None
    file = "" if path is None or path.stem in str(example) else f" ({'/'.join(path.parts[-2:])})"
    return f"{of}example {example}{file}"


def cut_border(picture: Image.Image, border: int, where: str) -> Image.Image:
    """The image without some pixels at each side.

    Args:
        picture: A decoded image.
        border: Pixels of each side.
        where: What an error calls the image.

    Raises:
        OochubError: Nothing would be left.

    >>> cut_border(Image.new("RGB", (10, 8)), 2, "row 0").size
    (6, 4)
    """
    if not border:
        return picture
    if min(picture.size) <= 2 * border:
        raise OochubError(f"{where}: the image has {picture.size} pixels, too few to cut {border} from each side.")
    return picture.crop((border, border, picture.width - border, picture.height - border))


def keep_encoded(dataset: Any) -> Any:
    """The data set with images as the bytes of their files.

    Args:
        dataset: A Dataset or IterableDataset.

    Raises:
        OochubError: There is no `image` column.
    """
    from datasets import Image as ImageFeature

    if "image" not in (dataset.column_names or []):
        raise OochubError(
            f"The dataset has no column 'image', only {dataset.column_names}. Rename the column of images."
        )
    return dataset.with_format(None).cast_column("image", ImageFeature(decode=False))
