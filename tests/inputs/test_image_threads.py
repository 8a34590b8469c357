"""Images made by threads: the rows and numbers of one thread, in row order, a few batches ahead and no more."""

import threading
import time
from typing import Any

import datasets
import numpy as np
import pytest
from datasets import Dataset, Features, IterableDataset, Value
from datasets import Image as ImageFeature

from oochub.errors import OochubError
from oochub.inputs.pictures.image_threads import map_images

FEATURES = Features({"image": ImageFeature(), "example_id": Value("string")})


def rows(count: int, *, form: str = "dataset") -> Any:
    """The bytes of an image are its number."""
    images = [{"bytes": str(row).encode(), "path": None} for row in range(count)]
    data = Dataset.from_dict({"image": images, "example_id": [f"id{row}" for row in range(count)]}, FEATURES)
    return {
        "dataset": lambda: data,
        "chosen rows": lambda: datasets.concatenate_datasets([data, data]).select([*range(count, 2 * count)]),
        "stream": lambda: data.to_iterable_dataset(num_shards=1),
        "stream of shards": lambda: data.to_iterable_dataset(num_shards=3),
    }[form]()


def slow_first(data: bytes, where: str) -> int:
    """The number of the image; the first of each sixteen take the longest, so that later ones are ready before."""
    time.sleep(0.002 * (16 - int(data) % 16) / 16)
    return int(data)


@pytest.mark.parametrize("form", ["dataset", "chosen rows", "stream", "stream of shards"])
@pytest.mark.parametrize(("workers", "batch_size"), [(0, 7), (1, 20), (5, 1), (5, 300), (None, 7)])
def test_rows_are_in_order(form: str, workers: int | None, batch_size: int) -> None:
    """Reference: counting. Planted fault seen: tasks taken as they end."""
    found = list(map_images(rows(101, form=form), slow_first, batch_size=batch_size, num_workers=workers))
    assert [len(batch.made) for batch in found] == [batch_size] * (101 // batch_size) + [101 % batch_size] * (
        101 % batch_size > 0
    )
    assert [each for batch in found for each in batch.made] == list(range(101))
    assert [each for batch in found for each in batch.rows] == list(range(101))
    assert [each for batch in found for each in batch.columns["example_id"]] == [f"id{row}" for row in range(101)]
    assert {name for batch in found for name in batch.columns} == {"example_id"}


def refusing(data: bytes, where: str) -> int:
    if int(data) in (3, 9, 10, 11, 40):
        time.sleep(0.01 if int(data) == 3 else 0)
        raise OochubError(f"{where}: refused")
    return int(data)


@pytest.mark.parametrize("form", ["dataset", "stream"])
@pytest.mark.parametrize("workers", [0, 4])
def test_the_first_error_is_that_of_the_first_row(form: str, workers: int) -> None:
    """Though it comes last; or all are left out, in order. Planted: the error that comes first is raised."""
    with pytest.raises(OochubError, match="example id3: refused"):
        list(map_images(rows(50, form=form), refusing, batch_size=6, num_workers=workers))
    broken: list[Any] = []
    found = list(map_images(rows(50, form=form), refusing, batch_size=3, num_workers=workers, broken=broken))
    assert [row.example for row in broken] == ["id3", "id9", "id10", "id11", "id40"]
    kept = [row for row in range(50) if row not in (3, 9, 10, 11, 40)]
    assert [each for batch in found for each in batch.rows] == kept == [each for b in found for each in b.made]
    assert all(batch.made for batch in found), "a batch of which nothing is left is none"


@pytest.mark.parametrize("workers", [0, 3])
def test_a_stream_is_read_a_few_batches_ahead(workers: int) -> None:
    """Of a long one the beginning is enough; after the last batch that is asked for no thread is left."""
    read = []

    def long() -> Any:
        for row in range(1000):
            read.append(row)
            yield {"image": {"bytes": str(row).encode(), "path": None}, "example_id": str(row)}

    stream = IterableDataset.from_generator(long, features=FEATURES)
    before = threading.active_count()
    batches = map_images(stream, slow_first, batch_size=4, num_workers=workers)
    assert next(batches).made == [0, 1, 2, 3] and next(batches).made == [4, 5, 6, 7]
    assert len(read) <= 8 + 4 * (1 + 8 * workers) + 8
    batches.close()
    assert threading.active_count() == before


def test_all_threads_decode_at_once() -> None:
    """Of one batch too, so that the first is there soon. Planted: a batch is one task."""
    together = threading.Barrier(4)

    def wait(data: bytes, where: str) -> int:
        if int(data) % 8 == 0:
            together.wait(timeout=60)
        return int(data)

    (batch,) = map_images(rows(32), wait, batch_size=32, num_workers=4)
    assert np.array_equal(batch.made, range(32))
