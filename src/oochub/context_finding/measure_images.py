"""The measures of the images of a split by a way to find contexts, each image measured once."""

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
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
_PIXELS = 2**25  # of a batch, decoded; the next one is decoded meanwhile
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
        _Measuring(way, threads, skip_broken=skip_broken) as measuring,
        tqdm(total=len(part), desc=f"{way.words()} {split}", unit="img", delay=2, disable=None) as bar,
    ):
        files = (_read_picture(raw, row, f"split {split}, example {name}", skip_broken) for row, name in enumerate(ids))
        for several in _group_items(files, lambda file: len(file[1] or b""), most=_ROWS, limit=_BYTES):
            names, contents = [name for name, _ in several], [content for _, content in several]
            table = measuring.read_or_measure(contents, names, cache=cache)
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


class _Measuring(AbstractContextManager["_Measuring"]):
    """Measures parts, and opens the way for that with the first part that is not in the cache."""

    def __init__(self, way: ContextWay, threads: ThreadPoolExecutor, *, skip_broken: bool) -> None:
        self._way, self._threads, self._skips = way, threads, skip_broken
        self._block: ExitStack | None = None
        code = hashlib.sha256(Path(inspect.getfile(type(way))).read_bytes()).hexdigest()
        self._about = json.dumps([way.words(), code, way.settings(), skip_broken], sort_keys=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        return None if self._block is None else self._block.__exit__(kind, error, at)

    def read_or_measure(self, contents: list[bytes | None], names: list[str], *, cache: bool) -> pa.Table:
        """The measures of a part, of the cache where they are there; an error is raised again, not kept."""
        file = cache_folder("contexts") / f"{self._compute_key(contents)}.parquet"
        if cache and file.is_file():
            try:
                return read_parquet(file).table
            except OochubError:  # damaged: measured again
                file.unlink(missing_ok=True)
        if self._block is None:
            self._block = ExitStack()
            self._block.enter_context(self._way.opened())
        table = self._measure(contents, names)
        if cache:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_parquet(table, file)
        return table

    def _compute_key(self, contents: list[bytes | None]) -> str:
        digest = hashlib.sha256(self._about.encode())
        for content in contents:
            digest.update(hashlib.sha256(content or b"").digest())
        return digest.hexdigest()[:40]

    def _measure(self, contents: list[bytes | None], names: list[str]) -> pa.Table:
        """The measures of a part; while a batch is measured, the threads prepare the next one."""
        measured: list[pa.Table] = []
        known = np.zeros(len(contents), bool)
        pixels = list(map(_count_pixels, contents))
        batches = _group_items(range(len(contents)), pixels.__getitem__, most=self._way.batch_size, limit=_PIXELS)
        begun = (
            (batch, [self._threads.submit(self._prepare, contents[k], names[k]) for k in batch]) for batch in batches
        )
        for batch, coming in _keep_one_ahead(begun):
            prepared = [each.result() for each in coming]
            known[batch] = [each is not None for each in prepared]
            if read := [each for each in prepared if each is not None]:
                measured.append(self._way.measures(read))
        if not measured:
            return pa.table({"readable": known})
        place = np.where(known, np.cumsum(known) - 1, -1)
        rows = pa.array(place, mask=~known)
        return pa.concat_tables(measured).take(rows).append_column("readable", pa.array(known))

    def _prepare(self, content: bytes | None, name: str) -> object:
        """What the way makes of an image; None for one that cannot be read and is left out."""
        if content is None:
            return None
        try:
            image = decode(content, name)
        except OochubError:
            if self._skips:
                return None
            raise
        return self._way.prepare(OpenedPicture(content, image))


def _keep_one_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The items in order, each when the next one is taken: what that one has begun goes on meanwhile."""
    ahead: list[Item] = []
    for item in items:
        ahead.append(item)
        if len(ahead) > 1:
            yield ahead.pop(0)
    yield from ahead


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
