"""Finds the pictures of ImageNet and its kin where they lie: in folders, or in tar archives that stay packed.

A tree of class folders, a tar for each class, one tar of them all (with pictures or with class tars in it) and the
shards of a WebDataset are read alike. An archive's headers are read once; a picture is then the archive, the place
where its bytes begin, and their number.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tqdm import tqdm

from oochub.builders.sources.stored import WNID, Stored
from oochub.builders.sources.tar_pictures import COMPRESSED, DECOMPRESS, tar_pictures
from oochub.errors import OochubError
from oochub.picture_file import check_inside, open_picture

Enter = Callable[[str], bool]
"""Whether to look into the folder, or the archive of that name without its suffix."""


def containers(
    place: Path, enter: Enter, *, within: Path | None = None, above: tuple[Path, ...] = ()
) -> Iterator[Path]:
    """The folder `place`, and the folders and tar archives below it that `enter` lets in, by name.

    A folder that a wnid names holds the pictures of a class and is not searched for more.

    Args:
        place: A folder.
        enter: Which folders and archives below it to look into.
        within: The folder that no link may lead out of; None follows every link.
        above: Real paths of the folders that lead to this one.

    Raises:
        OochubError: An archive is compressed, so its members cannot be read in place; a folder that cannot be listed;
            a link that leads out of `within`, or back to a folder that holds it.
    """
    yield place
    if WNID.fullmatch(place.name):
        return
    try:
        with os.scandir(place) as entries:
            listing = sorted((e.name, e.is_dir(), e.is_symlink()) for e in entries if not e.name.startswith("."))
    except OSError as error:  # no permission, or a link to itself
        raise OochubError(f"{error.filename or place} cannot be listed: {error.strerror}. Unpack it again.") from error
    above = (*above, place.resolve())
    for name, is_folder, is_link in listing:
        path = place / name
        if not is_folder and name.endswith(COMPRESSED):
            raise OochubError(f"{path} is compressed. {DECOMPRESS}")
        if not (is_folder or name.endswith(".tar")) or not enter(name if is_folder else name.removesuffix(".tar")):
            continue
        if is_link and within:
            check_inside(path, root=within)
        if is_link and is_folder and any(each.is_relative_to(path.resolve()) for each in above):
            raise OochubError(f"{path} is a link to a folder that holds it: folders in a circle. Remove the link.")
        if is_folder:
            yield from containers(path, enter, within=within, above=above)
        else:
            yield path


def stored_pictures(
    place: Path, *, enter: Enter = lambda name: True, within: Path | None = None, passed: list[str] | None = None
) -> Iterator[Stored]:
    """Every picture below `place`: folder by folder and archive by archive, by name within a folder.

    Args:
        place: A folder.
        enter: Which folders and archives below it to look into.
        within: The folder that no link may lead out of; None follows every link.
        passed: Takes the names of archive members that a picture's name has and that are links or devices: none is
            followed.

    Yields:
        Pictures, told by the suffix of their names (.JPEG, .jpg, .png, .webp); other files are passed over. The class
        is that of the last folder that a wnid names, else the wnid that the file's own name begins with.

    Raises:
        OochubError: An archive is broken, cut off or compressed, or a member's path leads out of it; as for
            `containers`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "n01440764"
    >>> folder.mkdir()
    >>> _ = (folder / "n01440764_10026.JPEG").write_bytes(b"...")
    >>> [stored[:2] for stored in stored_pictures(folder.parent)]
    [('n01440764/n01440764_10026.JPEG', 'n01440764')]
    """
    found = list(containers(place, enter, within=within))
    for container in tqdm(found, desc=f"Listing {place.name}", unit="folder", disable=None, delay=2):
        below = container.relative_to(place)
        if container.is_dir():
            for name in sorted(path.name for path in container.iterdir() if Stored.is_picture(path.name)):
                yield Stored.of(below / name)
        else:
            yield from tar_pictures(container, below, enter, [] if passed is None else passed)


def codec_and_size(data: bytes, where: str) -> tuple[str, int, int]:
    """What the bytes of a picture are, whatever its file is called: (codec, width, height); pixels are not decoded.

    Raises:
        OochubError: The bytes do not begin as any picture does, or promise too many pixels; `where` names them.

    >>> codec_and_size(b"%!PS-Adobe-3.0", "n01440764_1.JPEG")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    oochub.errors.OochubError: n01440764_1.JPEG: 14 bytes that are no picture in JPEG, PNG, ...
    """
    picture = open_picture(data, name=where)
    return str(picture.format), picture.width, picture.height
