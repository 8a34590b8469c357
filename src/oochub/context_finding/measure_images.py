"""The measures of the images of a split by a way to find contexts, each image measured once."""

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from oochub.context_finder import ContextWay, OpenedPicture
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import decode
from oochub.inputs.pictures.stored_pictures import keep_encoded, read_picture_bytes
from oochub.storage.cache_folder import cache_folder
from oochub.storage.parquet_file import read_parquet, write_parquet
from oochub.storage.picture_file import open_picture

_ROWS = 256  # of a part that is kept
_BYTES = 2**28  # of the files of a part
_PIXELS = 2**26  # that are decoded at once
Item = TypeVar("Item")


def measure_images(
    part: datasets.Dataset, way: ContextWay, *, split: str, skip_broken: bool = False, cache: bool = True
) -> tuple[pa.Table, NDArray[np.bool_]]:
    """What a way measures of every image of a split.

    Parts of 256 images are kept in the cache by the bytes of their images, so that a run which was ended goes on where
    it was, and images that come later are all that is measured. If files are large, a part has fewer images: no more
    than 256 MB of files and 2^26 decoded pixels are in memory, or one image.

    Args:
        part: Rows of the split, with a column `image`.
        way: Way to find contexts that measures the images.
        split: Name of the split, for messages.
        skip_broken: Give images that cannot be read a row of nulls; else the first is an error.
        cache: Keep and take measures.

    Returns:
        The measures, a row each, and whether the image could be read (n,).

    Raises:
        OochubError: No column of images, no rows, or an image that cannot be read; its row and file are named.
    """
    if not len(part):
        raise OochubError(f"Split {split} has no rows. Leave it out.")
    tables: list[pa.Table] = []
    readable: list[NDArray[np.bool_]] = []
    raw = keep_encoded(part).select_columns(["image"])
    ids = part["example_id"][:] if "example_id" in part.column_names else list(range(len(part)))
    with (
        ThreadPoolExecutor(max_workers=os.cpu_count()) as threads,
        tqdm(total=len(part), desc=f"{way.words()} {split}", unit="img", delay=2, disable=None) as bar,
    ):
        files = (_read_picture(raw, row, f"split {split}, example {name}", skip_broken) for row, name in enumerate(ids))
        for several in _group_items(files, lambda file: len(file[1] or b""), most=_ROWS, limit=_BYTES):
            names, contents = [name for name, _ in several], [content for _, content in several]
            table = _read_or_measure(way, contents, names, threads, skip_broken=skip_broken, cache=cache)
            readable.append(table.column("readable").to_numpy(zero_copy_only=False))
            tables.append(table.drop_columns(["readable"]))
            bar.update(len(several))
    known = np.concatenate(readable)
    filled = [table for table, one in zip(tables, readable, strict=True) if one.any()]
    if not filled:
        raise OochubError(f"No image of split {split} can be read. Leave it out, or fetch the images again.")
    schema = filled[0].schema
    return pa.concat_tables([_convert_part(table, schema) for table in tables]), known


def _read_picture(raw: datasets.Dataset, row: int, name: str, skip_broken: bool) -> tuple[str, bytes | None]:
    picture = raw[row]["image"]
    if picture and picture["path"]:
        name = f"{name} ({picture['path']})"
    try:
        return name, read_picture_bytes(picture, name)
    except OochubError:
        if skip_broken:
            return name, None
        raise


def _group_items(items: Iterable[Item], size: Callable[[Item], int], *, most: int, limit: int) -> Iterator[list[Item]]:
    """Groups items in order: at most `most` per group, with sizes that add up to at most `limit`, or one item alone."""
    group: list[Item] = []
    total = 0
    for item in items:
        more = size(item)
        if group and (len(group) == most or total + more > limit):
            yield group
            group, total = [], 0
        group.append(item)
        total += more
    if group:
        yield group


def _read_or_measure(
    way: ContextWay,
    contents: list[bytes | None],
    names: list[str],
    threads: ThreadPoolExecutor,
    *,
    skip_broken: bool,
    cache: bool,
) -> pa.Table:
    """The measures of a part, of the cache where they are there; an error is raised again, not kept."""
    file = cache_folder("contexts") / f"{_compute_key(way, contents, skip_broken=skip_broken)}.parquet"
    if cache and file.is_file():
        try:
            return read_parquet(file).table
        except OochubError:  # damaged: measured again
            file.unlink(missing_ok=True)
    table = _measure_part(way, contents, names, threads, skip_broken=skip_broken)
    if cache:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_parquet(table, file)
    return table


def _compute_key(way: ContextWay, contents: list[bytes | None], *, skip_broken: bool) -> str:
    code = hashlib.sha256(Path(inspect.getfile(type(way))).read_bytes()).hexdigest()
    about = [way.words(), code, way.settings(), skip_broken]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for content in contents:
        digest.update(hashlib.sha256(content or b"").digest())
    return digest.hexdigest()[:40]


def _measure_part(
    way: ContextWay,
    contents: list[bytes | None],
    names: list[str],
    threads: ThreadPoolExecutor,
    *,
    skip_broken: bool,
) -> pa.Table:
    def opened(content: bytes | None, name: str) -> OpenedPicture | None:
        try:
            return None if content is None else OpenedPicture(content, decode(content, name))
        except OochubError:
            if skip_broken:
                return None
            raise

    measured: list[pa.Table] = []
    known = np.zeros(len(contents), bool)
    pixels = list(threads.map(_count_pixels, contents))
    for batch in _group_items(range(len(contents)), pixels.__getitem__, most=way.batch_size, limit=_PIXELS):
        pictures = list(threads.map(opened, [contents[row] for row in batch], [names[row] for row in batch]))
        known[batch] = [picture is not None for picture in pictures]
        if read := [picture for picture in pictures if picture is not None]:
            measured.append(way.measures(read))
    if not measured:
        return pa.table({"readable": known})
    place = np.where(known, np.cumsum(known) - 1, -1)
    rows = pa.array(place, mask=~known)
    return pa.concat_tables(measured).take(rows).append_column("readable", pa.array(known))


def _count_pixels(content: bytes | None) -> int:
    """The number of pixels by the image's header; 0 for what cannot be decoded."""
    try:
        width, height = open_picture(content or b"", name="an image").size
    except OochubError:
        return 0
    return width * height


def _convert_part(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A part; one without a readable image as rows of nulls."""
    if table.num_columns:
        return table.cast(schema)
    return schema.empty_table().take(pa.nulls(table.num_rows, pa.int64()))
