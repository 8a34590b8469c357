"""Pictures from untouched bytes to batches of pixels, decoded by several threads or once into a cache.

Pixels travel as uint8 NHWC, a quarter of the size of floats; `normalize` makes the model's input on its device.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.input import BrokenRow
from oochub.inputs.pictures.made_rows import made_rows
from oochub.inputs.pictures.preprocessing import Preprocessing
from oochub.inputs.pictures.stored_pictures import picture_bytes, picture_place, undecoded
from oochub.storage.files import check_writable, written_whole

if TYPE_CHECKING:
    import torch


class Fitting(Protocol):
    """What makes pixels of one size from a picture's bytes; a Preprocessing is one."""

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of what `pixels` gives."""

    def pixels(self, data: bytes, where: str) -> NDArray[np.uint8]:
        """uint8 (height, width, 3) of the bytes of a picture that errors call `where`."""


class PictureBatch(NamedTuple):
    """Preprocessed pictures: `pixels` uint8 (b, height, width, 3); `rows` (b,) their numbers; `columns` the others."""

    pixels: "torch.Tensor"
    rows: NDArray[np.int64]
    columns: Mapping[str, Sequence[Any]]


def uint8_cache(
    dataset: Any, preprocessing: Preprocessing, *, cache_dir: str | Path, num_workers: int | None = None
) -> "np.memmap[Any, np.dtype[np.uint8]]":
    """All pictures of a data set decoded and resized once, as a memory-mapped file.

    The file is named after the data set's fingerprint and the geometry; it is written to a temporary name and renamed,
    and a second process that wants the same file waits for the first.

    Args:
        dataset: A `datasets.Dataset` with an `image` column.
        preprocessing: What to do with each picture.
        cache_dir: Folder of the caches.
        num_workers: Threads that decode; None for as many as there are cores.

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
                for batch in batches(pictures, preprocessing, batch_size=64, num_workers=num_workers):
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
    """Preprocessed pictures in row order, decoded by several threads.

    Args:
        dataset: A Dataset or IterableDataset with an `image` column; select the other columns that you need.
        preprocessing: What to do with each picture.
        batch_size: Pictures in a batch; the last may hold fewer.
        num_workers: See `made_rows`.
        broken: Gets the rows that cannot be read, which are left out; None makes the first an error.

    Raises:
        OochubError: No `image` column, or a picture that cannot be read; the message names its split and id.
    """
    import torch

    made = made_rows(dataset, preprocessing.pixels, batch_size=batch_size, num_workers=num_workers, broken=broken)
    for batch in made:
        yield PictureBatch(torch.from_numpy(np.stack(batch.made)), np.asarray(batch.rows, np.int64), batch.columns)


class PictureRows:
    """The pictures of a data set, read by row numbers: what a DataLoader of torch takes as its data set.

    An item is a batch, or the OochubError of a picture that cannot be read: an error raised in a worker process would
    arrive with that process's traceback as its text.

    Args:
        dataset: A `datasets.Dataset` with an `image` column.
        preprocessing: What to do with each picture.

    Raises:
        OochubError: There is no `image` column.
    """

    def __init__(self, dataset: Any, preprocessing: Fitting) -> None:
        self.dataset, self.preprocessing = undecoded(dataset), preprocessing

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, rows: Sequence[int]) -> PictureBatch | OochubError:
        import torch

        columns = self.dataset[rows]
        together = torch.empty((len(rows), *self.preprocessing.size, 3), dtype=torch.uint8)
        if torch.utils.data.get_worker_info() is not None:
            together.share_memory_()  # now, while it is empty: it would be copied on its way to the main process
        pixels, pictures, split = together.numpy(), columns.pop("image"), self.dataset.split
        for position, (picture, example) in enumerate(zip(pictures, columns.get("example_id", rows), strict=True)):
            where = picture_place(f"split {split}, " if split else "", example, picture)
            try:
                pixels[position] = self.preprocessing.pixels(picture_bytes(picture, where), where)
            except OochubError as error:
                return error
        return PictureBatch(together, np.asarray(rows, np.int64), columns)
