"""Small images of many rows in few files: sheets of 64 tiles, of which a page loads those that it shows.

A tile is at most 96 pixels wide and high and stands in the upper left corner of its place. Images are read in whatever
order they lie in; each is kept on disk until the sheets are drawn, so the memory does not grow with their number.
"""

import io
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from oochub.inputs.pictures.preprocessing import decode
from oochub.process.program import count_cores
from oochub.storage.picture_file import open_picture

TILE = 96
"""Pixels of the longer side of a tile."""
DRAFT = TILE // 2
"""What `decode` is asked for: a large JPEG comes at a little more than the size of a tile."""
ACROSS = 8
"""Tiles in a row of a sheet, and rows of tiles."""
_KEPT = 92  # quality of a JPEG that is kept until its sheet is drawn
_QUALITY = 75  # of a sheet
_TOGETHER = 32  # stored images that a thread takes at a time


class SpriteSheets:
    """Tiles by the numbers of their rows, kept in a scratch file until `write` draws the sheets.

    Args:
        scratch: A folder for the file.
        rows: Number of rows; row k may have a tile or not.
    """

    def __init__(self, scratch: Path, rows: int) -> None:
        self._path = scratch / "tiles"
        self._file: BinaryIO = self._path.open("w+b")
        self._start = np.full(rows, -1, np.int64)
        self._length = np.zeros(rows, np.int32)

    def add(self, row: int, tile: bytes) -> None:
        """Keeps the tile of a row, as `make_tile` gives it; of two the first."""
        if self._start[row] < 0:
            self._start[row], self._length[row] = self._file.tell(), len(tile)
            self._file.write(tile)

    @property
    def has_tile(self) -> NDArray[np.bool_]:
        """Which rows (n,) have a tile."""
        return self._start >= 0

    def write(self, folder: Path, order: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Draws the sheets 00000.jpg, ... into a folder, 64 rows of `order` each; one without a tile is not written.

        Args:
            folder: An empty folder.
            order: Numbers of the rows in the order in which they are shown.

        Returns:
            Width and height of the tile of each row in that order (n, 2); 0 for a row without one.
        """
        sizes = np.zeros((len(order), 2), np.uint8)
        self._file.flush()
        content = np.memmap(self._path, np.uint8, "r") if self._path.stat().st_size else np.zeros(0, np.uint8)

        def draw(start: int) -> None:
            sheet = Image.new("RGB", (TILE * ACROSS, TILE * ACROSS))
            chosen = [(k, row) for k, row in enumerate(order[start : start + ACROSS**2]) if self._start[row] >= 0]
            for place, row in chosen:
                first = self._start[row]
                tile = open_picture(content[first : first + self._length[row]].tobytes(), name=f"row {row}")
                sheet.paste(tile, (TILE * (place % ACROSS), TILE * (place // ACROSS)))
                sizes[start + place] = tile.size
            if chosen:
                lowest = TILE * (chosen[-1][0] // ACROSS + 1)
                cut = sheet.crop((0, 0, sheet.width, lowest))
                cut.save(folder / f"{start // ACROSS**2:05}.jpg", quality=_QUALITY)

        with ThreadPoolExecutor(count_cores()) as threads:
            for _ in threads.map(draw, range(0, len(order), ACROSS**2)):
                pass
        return sizes

    def close(self) -> None:
        """Closes the scratch file."""
        self._file.close()


def make_tile(picture: Image.Image) -> bytes:
    """An RGB image as a JPEG of at most 96 pixels a side; what it carried besides pixels stays behind.

    >>> open_picture(make_tile(Image.new("RGB", (400, 100))), name="tile").size
    (96, 24)
    """
    small = picture
    if max(small.size) > TILE:
        scale = TILE / max(small.size)
        size = (max(1, round(small.width * scale)), max(1, round(small.height * scale)))
        small = small.resize(size, Image.Resampling.BOX)  # three times as fast as cubic, and as good at this size
    file = io.BytesIO()
    small.save(file, "JPEG", quality=_KEPT)
    return file.getvalue()


def read_stored_tiles(blocks: Iterable[pa.Table]) -> Iterator[tuple[int, bytes]]:
    """The tiles of the rows that have a small image in their predictions.

    Args:
        blocks: The column `thumbnail` of all rows, some rows at a time.

    Raises:
        OochubError: An image that cannot be read.
    """

    def make(first: int, column: pa.ChunkedArray) -> list[tuple[int, bytes]]:
        rows = ((number, stored.as_py()) for number, stored in enumerate(column, first) if stored.is_valid)
        return [(row, make_tile(decode(image, f"the small image of row {row}", draft=DRAFT))) for row, image in rows]

    first, cores, ahead = 0, count_cores(), deque[Future[list[tuple[int, bytes]]]]()
    with ThreadPoolExecutor(cores) as threads:
        for column in (block.column(0) for block in blocks):
            for start in range(0, len(column), _TOGETHER):
                ahead.append(threads.submit(make, first + start, column.slice(start, _TOGETHER)))
                if len(ahead) > 2 * cores:  # the next block is read while these are decoded
                    yield from ahead.popleft().result()
            first += len(column)
        for tiles in ahead:
            yield from tiles.result()
