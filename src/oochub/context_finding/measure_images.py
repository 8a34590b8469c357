"""The measures of the images of a split by a way to find contexts, each image measured once."""

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.context_finder import ContextWay, OpenedPicture
from oochub.errors import OochubError, choose_wording
from oochub.inputs.pictures.preprocessing import decode
from oochub.inputs.pictures.stored_pictures import cut_border, keep_encoded, read_picture_bytes
from oochub.prediction.prediction_data import list_example_ids
from oochub.prediction.ray_engine import RayEngine
from oochub.process.follow import follow
from oochub.process.ranks import Ranks
from oochub.records.build_record import find_border
from oochub.settings.context_settings import MeasurementSettings
from oochub.storage.cache import cache_folder, digest_files, keep, make_key, read_kept
from oochub.storage.parquet_file import read_parquet, write_parquet
from oochub.storage.picture_file import open_picture

_ROWS = 256  # of a part that is kept
_BYTES = 2**28  # of the files of a part
_PIXELS = 2**25  # of a batch, decoded; the next one is decoded meanwhile
Item = TypeVar("Item")


def measure_splits(
    data: Mapping[str, datasets.Dataset], way: ContextWay, asked: MeasurementSettings
) -> dict[str, tuple[pa.Table, NDArray[np.bool_]]]:
    """What a way measures of every image of all splits, see `measure_images`, by one process or several.

    Each process of torchrun measures its share of the blocks of 256 rows into the cache, and takes those of the others
    from there: every process has all measures. On a cluster of Ray actors measure blocks, and this process gets them.

    Args:
        data: Splits by name, each with a column `image`.
        way: Way to find contexts that measures the images.
        asked: How images are measured, and by which processes.

    Raises:
        OochubError: See `measure_images`; processes without a cache that they share.
    """
    ranks = Ranks.here()
    engine = RayEngine.of(asked, ranks)
    measured = partial(measure_images, way=way, skip_broken=asked.skip_broken, cache=asked.cache)
    if not ranks.is_alone:
        if not asked.cache:
            raise OochubError(
                f"{ranks.count} processes share what they measure by the cache. Remove "
                f"{choose_wording('cache=False')}, or start one process."
            )
        from oochub.models.acceleration import choose_device

        ranks.join(choose_device(way.device).type)
        turn = 0
        for split, part in data.items():
            share = slice((ranks.number - turn) % ranks.count, None, ranks.count)
            measured(part, split=split, share=share)
            turn += -(-len(part) // _ROWS)
        ranks.values(None)
    with engine or nullcontext():
        is_cached = not ranks.is_alone
        return {split: measured(part, split=split, engine=engine, is_cached=is_cached) for split, part in data.items()}


def measure_images(
    part: datasets.Dataset,
    way: ContextWay,
    *,
    split: str,
    skip_broken: bool = False,
    cache: bool = True,
    is_cached: bool = False,
    share: slice = slice(None),
    engine: RayEngine | None = None,
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
        is_cached: Take measures only: other processes have put them into the cache.
        share: Blocks of 256 rows that are measured.
        engine: Cluster that measures; None is this process.

    Returns:
        The measures, a row each, and whether the image could be read (n,).

    Raises:
        OochubError: No column of images, no rows, or an image that cannot be read; its row and file are named.
    """
    if not len(part):
        raise OochubError(f"Split {split} has no rows. Remove it.")
    blocks = range(0, len(part), _ROWS)[share]
    tables: list[pa.Table] = []
    with (
        _Measuring(part, way, split, skip_broken=skip_broken, cache=cache, is_cached=is_cached) as measuring,
        follow(total=len(part), desc=f"{way.words()} {split}", unit="img", delay=2, disable=None) as bar,
    ):
        measured: Iterable[list[pa.Table]] = map(measuring.measure, blocks)
        if engine is not None:
            from oochub.models.acceleration import choose_device

            measured = engine.mapped(blocks, int, measuring.measure, device=choose_device(way.device))
        for several in measured:
            tables += several
            bar.update(sum(map(len, several)))
    readable = [table.column("readable").to_numpy(zero_copy_only=False) for table in tables]
    is_readable = np.concatenate([*readable, np.zeros(0, bool)])
    filled = [table for table, one in zip(tables, readable, strict=True) if one.any()]
    if not filled and share == slice(None):
        raise OochubError(f"No image of split {split} can be read. Remove it, or download the images again.")
    schema = filled[0].drop_columns(["readable"]).schema if filled else pa.schema([])
    return pa.concat_tables([schema.empty_table(), *(_convert_part(table, schema) for table in tables)]), is_readable


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
    """Measures the images of a split, block by block, here or in an actor of Ray.

    The way is opened, and threads are started, for the first part that is not in the cache.
    """

    def __init__(
        self, part: datasets.Dataset, way: ContextWay, split: str, *, skip_broken: bool, cache: bool, is_cached: bool
    ) -> None:
        self._rows = keep_encoded(part).select_columns(["image"])
        self._ids = list_example_ids(part)
        self._way, self._split, self._skips, self._cache, self._is_cached = way, split, skip_broken, cache, is_cached
        self._opened: tuple[ExitStack, ThreadPoolExecutor] | None = None
        self._border = find_border(part)
        code = digest_files([Path(inspect.getfile(type(way)))])
        self._about = make_key(way.words(), code, way.settings(), skip_broken, self._border)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        return None if self._opened is None else self._opened[0].__exit__(kind, error, at)

    def measure(self, first: int) -> list[pa.Table]:
        """The measures of 256 rows, from a number on, in parts."""
        files = map(self._read_file, range(first, min(first + _ROWS, len(self._rows))))
        groups = _group_items(files, lambda file: len(file[1] or b""), most=_ROWS, limit=_BYTES)
        return [
            self._read_or_measure([content for _, content in group], [name for name, _ in group]) for group in groups
        ]

    def _read_file(self, row: int) -> tuple[str, bytes | None]:
        """What errors call an image, and the bytes of its file; None for one that cannot be read and is left out."""
        picture = self._rows[row]["image"]
        name = f"split {self._split}, example {self._ids[row]}"
        if picture and picture["path"]:
            name = f"{name} ({picture['path']})"
        try:
            return name, read_picture_bytes(picture, name)
        except OochubError:
            if self._skips:
                return name, None
            raise

    def _read_or_measure(self, contents: list[bytes | None], names: list[str]) -> pa.Table:
        """The measures of a part, of the cache where they are there; an error is raised again, not kept."""
        name = f"{make_key(self._about, *(hashlib.sha256(content or b'').hexdigest() for content in contents))}.parquet"
        if self._cache and (stored := read_kept("contexts", name, read_parquet)) is not None:
            return stored.table
        if self._is_cached:
            raise OochubError(
                f"{cache_folder('contexts') / name}, which another process measured, is not there. All machines of "
                "torchrun share their measures by the cache: set $OOCHUB_CACHE to a folder on a disk that they share, "
                "and run the same command again."
            )
        table = self._measure(contents, names)
        if self._cache:
            keep("contexts", name, partial(write_parquet, table), what="Measures of images")
        return table

    def _open(self) -> ThreadPoolExecutor:
        """The threads that prepare images; a process that ends without closing the block is an actor."""
        if self._opened is None:
            block = ExitStack()
            threads = block.enter_context(ThreadPoolExecutor(max_workers=os.cpu_count()))
            block.enter_context(self._way.opened())
            self._opened = block, threads
        return self._opened[1]

    def _measure(self, contents: list[bytes | None], names: list[str]) -> pa.Table:
        """The measures of a part; while a batch is measured, the threads prepare the next one."""
        threads = self._open()
        measured: list[pa.Table] = []
        is_readable = np.zeros(len(contents), bool)
        pixels = list(map(_count_pixels, contents))
        batches = _group_items(range(len(contents)), pixels.__getitem__, most=self._way.batch_size, limit=_PIXELS)
        begun = ((batch, [threads.submit(self._prepare, contents[k], names[k]) for k in batch]) for batch in batches)
        for batch, coming in _keep_one_ahead(begun):
            prepared = [pending.result() for pending in coming]
            is_readable[batch] = [picture is not None for picture in prepared]
            if read := [picture for picture in prepared if picture is not None]:
                measured.append(self._way.measures(read))
        if not measured:
            return pa.table({"readable": is_readable})
        place = np.where(is_readable, np.cumsum(is_readable) - 1, -1)
        rows = pa.array(place, mask=~is_readable)
        return pa.concat_tables(measured).take(rows).append_column("readable", pa.array(is_readable))

    def _prepare(self, content: bytes | None, name: str) -> object:
        """What the way makes of an image; None for one that cannot be read and is left out."""
        if content is None:
            return None
        try:
            image = cut_border(decode(content, name), self._border, name)
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
    """The measures of a part; of one without a readable image rows of nulls."""
    table = table.drop_columns(["readable"])
    if table.num_columns:
        return table.cast(schema)
    return schema.empty_table().take(pa.nulls(table.num_rows, pa.int64()))
