"""Lists of images, `path label` in each line, as OpenOOD has them: read, checked, and looked for in a folder."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from oochub.errors import OochubError
from oochub.storage.reading import read_lines

_SHOWN = 3


class ListedImage(NamedTuple):
    """One line of a list: the path, with slashes, and the number of the class; -1 for a new class."""

    path: str
    label: int


def read_image_list(file: Path, classes: Sequence[str], *, known: bool) -> list[ListedImage]:
    r"""The lines of a list, in its order.

    Args:
        file: The list.
        classes: The names of the known classes.
        known: Whether every image is of one of them; if not, every label must be -1.

    Raises:
        OochubError: A line that is no `path label`, a path that leads out of the folder or is listed twice, a label
            that cannot be, an image in the folder of another known class; a list without a line.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "test_cifar10.txt"
    >>> _ = file.write_text("cifar10/test/cat/0001.png 1\n")
    >>> read_image_list(file, ["dog", "cat"], known=True)
    [ListedImage(path='cifar10/test/cat/0001.png', label=1)]
    """
    first: dict[str, int] = {}
    images = []
    numbers = {str(number) for number in range(len(classes))}
    allowed = f"0 to {len(classes) - 1}" if known else "-1, a new class"
    for number, line in enumerate(read_lines(file), 1):
        if not line.strip():
            continue
        path, _, label = line.strip().rpartition(" ")
        place = PurePosixPath(path)
        where = f"{file}, line {number}"
        if not path or place.is_absolute() or ".." in place.parts or "\0" in path:
            raise OochubError(f"{where}: expected a path and a label, cifar10/test/cat/0001.png 3, got {line!r:.80}.")
        if not (label in numbers if known else label == "-1"):
            raise OochubError(f"{where}: the label must be {allowed}, got {label!r:.40}. Fetch the list again.")
        if known and place.parent.name in classes and place.parent.name != classes[int(label)]:
            raise OochubError(
                f"{where}: {path} lies in the folder of {place.parent.name}, but its label {label} is "
                f"{classes[int(label)]}. Fetch the list again."
            )
        if path in first:
            raise OochubError(f"{file} names {path} twice, in lines {first[path]} and {number}. Remove one.")
        first[path] = number
        images.append(ListedImage(path, int(label)))
    if not images:
        raise OochubError(f"{file} names no image. Fetch it again.")
    return images


def find_listed(images: Sequence[ListedImage], folder: Path, file: Path) -> tuple[list[ListedImage], list[str]]:
    """The images of a list that are in a folder, and a note on those that are not.

    Raises:
        OochubError: None of them is there.
    """
    found = [image for image in images if (folder / image.path).exists()]
    missing = [image.path for image in images if not (folder / image.path).exists()] if len(found) < len(images) else []
    shown = ", ".join(missing[:_SHOWN]) + (f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else "")
    if not found:
        raise OochubError(f"None of the {len(images):,} images that {file} names is in {folder}: {shown}.")
    return found, [
        f"{len(missing):,} of the {len(images):,} images of {file.name} are missing: {shown}"
    ] if missing else []
