"""Images from untouched bytes to batches, decoded in row order by threads of this process or once into a cache.

Pixels travel as uint8 NHWC, a quarter of the size of floats; `normalize` makes the model's input on its device.
"""

import hashlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.input import BrokenRow
from oochub.inputs.pictures.preprocessing import Preprocessing
from oochub.inputs.pictures.stored_pictures import describe_picture_place, keep_encoded, read_picture_bytes
from oochub.process.program import count_cores
from oochub.records.metadata import IMAGE_DIGEST
from oochub.storage.cache import make_file_once

if TYPE_CHECKING:
    import torch


_DIGITS = 32  # of 64
_TASK = 8  # images that a thread takes at once

_Task = tuple[int, Callable[[], dict[str, Any]]]  # the number of its first row, and what reads its rows


class MappedImages(NamedTuple):
    """What was `made` of the images of a batch, the numbers of their `rows` in the split, and the other `columns`."""

    made: list[Any]
    rows: list[int]
    columns: Mapping[str, Sequence[Any]]


def map_images(
    part: Any,
    make: Callable[..., Any],
    *,
    batch_size: int,
    num_workers: int | None = None,
    broken: list[BrokenRow] | None = None,
    beside: Sequence[str] = (),
    is_digested: bool = False,
) -> Iterator[MappedImages]:
    """The rows of a split in order, their images through `make`: the same with any number of threads.

    Pillow decodes and resizes without Python's lock, so threads share the cores as processes would, without a copy of
    the pixels on their way: a fifth less processor time. The rows of a stream are read by the thread that asks for the
    batches, its images decoded by the others.

    Args:
        part: A Dataset or IterableDataset with an `image` column that is not decoded, see `keep_encoded`.
        make: Function of the bytes of an image and the name that an error gives it; raises OochubError if it cannot be
            read.
        batch_size: Rows of a batch; the last may have fewer, and those with broken rows.
        num_workers: Threads; None takes as many as this process has cores, 0 makes all in the thread that asks.
        broken: Gets the rows that cannot be read, which are left out; None makes the first an error.
        beside: Other columns that `make` gets of each row, those that are there, as a third argument: a mapping by
            name. `example_id` is the row's number if there is no such column. Without names it gets two arguments.
        is_digested: Add the column `image_digest`, see `oochub.records.metadata.IMAGE_DIGEST`.

    Raises:
        OochubError: An image that cannot be read; its split and example are named.
    """
    workers = count_cores() if num_workers is None else num_workers
    first, of = 0, f"split {part.split}, " if part.split else ""
    ahead = 1 + math.ceil(workers * _TASK / batch_size)  # batches, so that each thread has a task of the next ones
    for tasks in _run_in_order(
        _make_tasks(part, batch_size),
        partial(_map_task, make=make, of=of, beside=beside, is_digested=is_digested),
        workers,
        ahead,
    ):
        columns: dict[str, Any] = {}
        results_made: list[Any] = []
        for own, results in tasks:
            results_made += results
            for name, values in own.items():
                columns.setdefault(name, []).extend(values)
        names = columns.get("example_id", range(first, first + len(results_made)))
        for position, (name, result) in enumerate(zip(names, results_made, strict=True)):
            if isinstance(result, OochubError):
                if broken is None:
                    raise result
                broken.append(BrokenRow(str(name), str(result), first + position))
        whole = [position for position, result in enumerate(results_made) if not isinstance(result, OochubError)]
        if len(whole) < len(results_made):
            columns = {name: [values[position] for position in whole] for name, values in columns.items()}
        if whole:
            yield MappedImages(
                [results_made[position] for position in whole], [first + position for position in whole], columns
            )
        first += len(results_made)


def _make_tasks(part: Any, batch_size: int) -> Iterator[list[_Task]]:
    """The tasks that make each batch, in order."""
    from datasets import Dataset

    rows = keep_encoded(part)
    if isinstance(rows, Dataset):
        for start in range(0, len(rows), batch_size):
            ends = [*range(start, min(start + batch_size, len(rows)), _TASK), min(start + batch_size, len(rows))]
            yield [(first, partial(rows.__getitem__, slice(first, end))) for first, end in pairwise(ends)]
        return
    start = 0
    for columns in rows.iter(batch_size):
        count = len(columns["image"])
        yield [(start + first, partial(_slice, columns, first)) for first in range(0, count, _TASK)]
        start += count


def _slice(columns: Mapping[str, Sequence[Any]], first: int) -> dict[str, Any]:
    return {name: values[first : first + _TASK] for name, values in columns.items()}


def _map_task(
    task: _Task, *, make: Callable[..., Any], of: str, beside: Sequence[str], is_digested: bool
) -> tuple[dict[str, Any], list[Any]]:
    """The columns of its rows but the images, and what was made of these, or the error of each."""
    first, read = task
    columns = read()
    pictures, results, digests = columns.pop("image"), [], []
    names = columns.get("example_id", range(first, first + len(pictures)))
    for place, (name, picture) in enumerate(zip(names, pictures, strict=True)):
        where = describe_picture_place(of, name, picture)
        row = {column: columns[column][place] for column in beside if column in columns} | {"example_id": name}
        digest = None
        try:
            content = read_picture_bytes(picture, where)
            digest = hashlib.sha256(content).hexdigest()[:_DIGITS] if is_digested else None
            results.append(make(content, where, *([row] if beside else [])))
        except OochubError as error:
            results.append(error)
        digests.append(digest)
    return columns | ({IMAGE_DIGEST: digests} if is_digested else {}), results


def _run_in_order(
    batches: Iterable[list[_Task]], do: Callable[[_Task], Any], workers: int, ahead: int
) -> Iterator[list[Any]]:
    """What threads did of the tasks of each batch, with a few batches ahead of the one that is asked for."""
    if not workers:
        yield from ([do(task) for task in tasks] for tasks in batches)
        return
    waiting: deque[list[Future[Any]]] = deque()
    pool = ThreadPoolExecutor(workers, "oochub-decoding")
    try:
        for tasks in batches:
            waiting.append([pool.submit(do, task) for task in tasks])
            if len(waiting) > ahead:
                yield [future.result() for future in waiting.popleft()]
        while waiting:
            yield [future.result() for future in waiting.popleft()]
    finally:
        pool.shutdown(cancel_futures=True)


class PictureBatch(NamedTuple):
    """Preprocessed images: `pixels` uint8 (b, height, width, 3); `rows` (b,) their numbers; `columns` the others."""

    pixels: "torch.Tensor"
    rows: NDArray[np.int64]
    columns: Mapping[str, Sequence[Any]]


def cache_pixels(
    dataset: Any, preprocessing: Preprocessing, *, cache_dir: str | Path
) -> "np.memmap[Any, np.dtype[np.uint8]]":
    """All images of a data set decoded and resized once, as a memory-mapped file.

    The file is named after the data set's fingerprint and the geometry; it is written to a temporary name and renamed,
    and a second process that wants the same file waits for the first.

    Args:
        dataset: A `datasets.Dataset` with an `image` column.
        preprocessing: What to do with each image.
        cache_dir: Folder of the caches.

    Returns:
        uint8 (n, height, width, 3), read-only, in row order.

    Raises:
        OochubError: An image that cannot be read, or a folder that cannot be written.
    """
    from oochub.process.follow import follow

    def write(draft: Path) -> None:
        pictures = dataset.select_columns([name for name in ("example_id", "image") if name in dataset.column_names])
        header = {"descr": "|u1", "fortran_order": False, "shape": (len(dataset), *preprocessing.size, 3)}
        bar = follow(total=len(dataset), desc="Decoding", unit="img", disable=None)
        with draft.open("wb") as file, bar:
            np.lib.format.write_array_header_1_0(file, header)
            for batch in read_batches(pictures, preprocessing.pixels, batch_size=64):
                file.write(batch.pixels.numpy().data)
                bar.update(len(batch.rows))

    file = make_file_once(Path(cache_dir) / f"{dataset._fingerprint}-{preprocessing.key}.npy", write)
    pixels: np.memmap[Any, np.dtype[np.uint8]] = np.load(file, mmap_mode="r", allow_pickle=False)
    return pixels


def read_batches(
    dataset: Any,
    pixels: Callable[[bytes, str], NDArray[np.uint8]],
    *,
    batch_size: int,
    num_workers: int | None = None,
    broken: list[BrokenRow] | None = None,
    is_digested: bool = False,
) -> Iterator[PictureBatch]:
    """Preprocessed images in row order, decoded by several threads.

    Args:
        dataset: A Dataset or IterableDataset with an `image` column; select the other columns that you need.
        pixels: Function of the bytes of an image and the name that an error gives it, see `Preprocessing.pixels`.
        batch_size: Images in a batch; the last may hold fewer.
        num_workers: See `map_images`.
        broken: Gets the rows that cannot be read, which are left out; None makes the first an error.
        is_digested: See `map_images`.

    Raises:
        OochubError: No `image` column, or an image that cannot be read; the message names its split and id.
    """
    import torch

    arrays = map_images(
        dataset,
        pixels,
        batch_size=batch_size,
        num_workers=num_workers,
        broken=broken,
        is_digested=is_digested,
    )
    for batch in arrays:
        yield PictureBatch(torch.from_numpy(np.stack(batch.made)), np.asarray(batch.rows, np.int64), batch.columns)


class PictureRows:
    """The images of a data set, read by row numbers; an object, which reaches worker processes that are started anew.

    A batch is `pixels` uint8 (b, height, width, 3), or the OochubError of an image that cannot be read: an error raised
    in a worker process would arrive with that process's traceback as its text.

    Args:
        dataset: A `datasets.Dataset` with an `image` column.
        preprocessing: What to do with each image.

    Raises:
        OochubError: There is no `image` column.
    """

    def __init__(self, dataset: Any, preprocessing: Preprocessing) -> None:
        self._dataset, self._preprocessing = keep_encoded(dataset), preprocessing

    def __call__(self, rows: list[int]) -> "dict[str, torch.Tensor] | OochubError":
        """The rows of these numbers."""
        import torch

        columns, split = self._dataset[rows], self._dataset.split
        together = torch.empty((len(rows), *self._preprocessing.size, 3), dtype=torch.uint8)
        if torch.utils.data.get_worker_info() is not None:
            together.share_memory_()  # now, while it is empty: it would be copied on its way to the main process
        pixels = together.numpy()
        for position, (picture, example) in enumerate(
            zip(columns["image"], columns.get("example_id", rows), strict=True)
        ):
            where = describe_picture_place(f"split {split}, " if split else "", example, picture)
            try:
                pixels[position] = self._preprocessing.pixels(read_picture_bytes(picture, where), where)
            except OochubError as error:
                return error
        return {"pixels": together}
