"""Pictures from untouched bytes to batches of pixels, decoded in worker processes or once into a cache.

Pixels travel as uint8 NHWC, a quarter of the size of floats; `normalize` makes the model's input on its device.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.files import check_writable, written_whole
from oochub.input import BrokenRow
from oochub.inputs.pictures.preprocessing import Preprocessing
from oochub.reading import read_bytes

if TYPE_CHECKING:
    import torch

_DECODED_ALONE = 512  # fewer pictures than this are decoded before worker processes have started


class Fitting(Protocol):
    """What makes pixels of one size from a picture's bytes; a Preprocessing is one."""

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of what `pixels` gives."""

    def pixels(self, data: bytes, where: str) -> NDArray[np.uint8]:
        """uint8 (height, width, 3) of the bytes of a picture that errors call `where`."""


class PictureBatch(NamedTuple):
    """Preprocessed pictures: `pixels` uint8 (b, height, width, 3); `rows` (b,) their numbers; `columns` the others.

    `broken` are the rows among them that cannot be read, where these are left out.
    """

    pixels: "torch.Tensor"
    rows: NDArray[np.int64]
    columns: Mapping[str, Sequence[Any]]
    broken: Sequence[BrokenRow] = ()


def uint8_cache(
    dataset: Any, preprocessing: Preprocessing, *, cache_dir: str | Path, num_proc: int | None = None
) -> "np.memmap[Any, np.dtype[np.uint8]]":
    """All pictures of a data set decoded and resized once, as a memory-mapped file.

    The file is named after the data set's fingerprint and the geometry; it is written to a temporary name and renamed,
    and a second process that wants the same file waits for the first.

    Args:
        dataset: A `datasets.Dataset` with an `image` column.
        preprocessing: What to do with each picture.
        cache_dir: Folder of the caches.
        num_proc: Worker processes; None for as many as there are cores, at most 8.

    Returns:
        uint8 (n, height, width, 3), read-only, in row order.

    Raises:
        OochubError: A picture that cannot be read, or a folder that cannot be written.
    """
    from filelock import FileLock
    from tqdm import tqdm

    target = check_writable(Path(cache_dir) / f"{dataset._fingerprint}-{preprocessing.key}.npy")
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if not target.exists():
            pictures = dataset.select_columns(
                [name for name in ("example_id", "image") if name in dataset.column_names]
            )
            shape = (len(dataset), *preprocessing.size, 3)
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            bar = tqdm(total=len(dataset), desc="Decoding", unit="img", disable=None)
            with written_whole(target) as draft, draft.open("wb") as file, bar:
                np.lib.format.write_array_header_1_0(file, header)
                for batch in batches(pictures, preprocessing, batch_size=64, num_workers=num_proc):
                    file.write(batch.pixels.numpy().data)
                    bar.update(len(batch.rows))
    pixels: np.memmap[Any, np.dtype[np.uint8]] = np.load(target, mmap_mode="r", allow_pickle=False)
    return pixels


def batches(
    dataset: Any,
    preprocessing: Fitting,
    *,
    batch_size: int,
    num_workers: int | None = None,
    broken: list[BrokenRow] | None = None,
) -> Iterator[PictureBatch]:
    """Preprocessed pictures in row order, decoded in worker processes.

    Args:
        dataset: A `datasets.Dataset` with an `image` column; select the other columns that you need. An
            IterableDataset is decoded in this process.
        preprocessing: What to do with each picture.
        batch_size: Pictures in a batch; the last may hold fewer.
        num_workers: Processes; None for as many as there are cores, at most 8, and 0 for a small data set.
        broken: Gets the rows that cannot be read, which are left out; None makes the first an error.

    Raises:
        OochubError: No `image` column, or a picture that cannot be read; the message names its split and id.
    """
    from datasets import IterableDataset
    from torch.utils.data import DataLoader

    pictures = PictureRows(dataset, preprocessing, skip_broken=broken is not None)
    if not isinstance(pictures.dataset, IterableDataset):
        count = len(pictures.dataset)
        if num_workers is None:
            num_workers = 0 if count < _DECODED_ALONE else min(8, os.cpu_count() or 1)
        rows = [range(start, min(start + batch_size, count)) for start in range(0, count, batch_size)]
        loader: Any = DataLoader(pictures, sampler=rows, batch_size=None, num_workers=num_workers)
    else:
        loader = pictures.stream(batch_size)
    for batch in loader:
        if isinstance(batch, OochubError):
            raise batch
        if broken is not None:
            broken += batch.broken
        if len(batch.rows):
            yield batch


class PictureRows:
    """The pictures of a data set, read by row numbers: what a DataLoader of torch takes as its data set.

    An item is a batch, or the OochubError of a picture that cannot be read: an error raised in a worker process would
    arrive with that process's traceback as its text.

    Args:
        dataset: A `datasets.Dataset` or IterableDataset with an `image` column.
        preprocessing: What to do with each picture.
        skip_broken: Leave those out that cannot be read, and say which.

    Raises:
        OochubError: There is no `image` column.
    """

    def __init__(self, dataset: Any, preprocessing: Fitting, *, skip_broken: bool = False) -> None:
        self.dataset, self.preprocessing, self._skip_broken = undecoded(dataset), preprocessing, skip_broken

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, rows: Sequence[int]) -> PictureBatch | OochubError:
        return self._batch(self.dataset[rows], rows)

    def stream(self, batch_size: int) -> Iterator[PictureBatch | OochubError]:
        """Batches in order, also of an IterableDataset."""
        start = 0
        for columns in self.dataset.iter(batch_size):
            count = len(columns["image"])
            yield self._batch(columns, range(start, start + count))
            start += count

    def _batch(self, columns: dict[str, Any], rows: Sequence[int]) -> PictureBatch | OochubError:
        import torch

        together = torch.empty((len(rows), *self.preprocessing.size, 3), dtype=torch.uint8)
        if torch.utils.data.get_worker_info() is not None:
            together.share_memory_()  # now, while it is empty: it would be copied on its way to the main process
        pixels = together.numpy()
        pictures = columns.pop("image")
        ids = columns.get("example_id", rows)
        split = self.dataset.split
        whole: list[int] = []
        broken = []
        for position, (picture, example) in enumerate(zip(pictures, ids, strict=True)):
            where = f"split {split}, example {example}" if split else f"example {example}"
            try:
                pixels[len(whole)] = self.preprocessing.pixels(picture_bytes(picture, where), where)
            except OochubError as error:
                if not self._skip_broken:
                    return error
                broken.append(BrokenRow(str(example), str(error)))
            else:
                whole.append(position)
        if broken:
            columns = {name: [values[position] for position in whole] for name, values in columns.items()}
        return PictureBatch(together[: len(whole)], np.asarray(rows, np.int64)[whole], columns, broken)


def picture_bytes(picture: Mapping[str, Any] | None, where: str) -> bytes:
    """The file of a picture that is not decoded: its bytes, or what stands at its path.

    Args:
        picture: Its `bytes` and `path`; None for a row without one.
        where: What an error calls the picture.

    Raises:
        OochubError: There is no picture, or its path cannot be read.

    >>> picture_bytes({"bytes": b"abc", "path": None}, "row 0")
    b'abc'
    """
    if picture is None or (picture["bytes"] is None and not picture["path"]):
        raise OochubError(f"{where}: there is no picture. Drop the row or build the data again.")
    if picture["bytes"] is not None:
        return bytes(picture["bytes"])
    try:
        return read_bytes(picture["path"])
    except OochubError as error:
        raise OochubError(f"{where}: {error}") from error


def undecoded(dataset: Any) -> Any:
    """The data set with pictures as the bytes of their files.

    Args:
        dataset: A Dataset or IterableDataset.

    Raises:
        OochubError: There is no `image` column.
    """
    from datasets import Image as ImageFeature

    if "image" not in (dataset.column_names or []):
        raise OochubError(
            f"The data set has no column 'image', only {dataset.column_names}. Rename the picture's column."
        )
    return dataset.with_format(None).cast_column("image", ImageFeature(decode=False))
