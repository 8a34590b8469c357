"""The pictures of a split in row order, each decoded and made into something by threads of this process."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from oochub.errors import OochubError
from oochub.input import BrokenRow
from oochub.inputs.pictures.stored_pictures import picture_bytes, picture_place, undecoded

_TASK = 8  # pictures that a thread takes at once

_Task = tuple[int, Callable[[], dict[str, Any]]]  # the number of its first row, and what reads its rows


class MadeRows(NamedTuple):
    """What was `made` of the pictures of a batch, the numbers of their `rows` in the split, and the other `columns`."""

    made: list[Any]
    rows: list[int]
    columns: Mapping[str, Sequence[Any]]


def made_rows(
    part: Any,
    make: Callable[[bytes, str], Any],
    *,
    batch_size: int,
    num_workers: int | None = None,
    broken: list[BrokenRow] | None = None,
) -> Iterator[MadeRows]:
    """The rows of a split in order, their pictures through `make`: the same with any number of threads.

    Pillow decodes and resizes without Python's lock, so threads share the cores as processes would, without a copy of
    the pixels on their way: a fifth less processor time. The rows of a stream are read by the thread that asks for the
    batches, its pictures decoded by the others.

    Args:
        part: A Dataset or IterableDataset with an `image` column that is not decoded, see `undecoded`.
        make: From the bytes of a picture, and what an error calls it; raises OochubError where it cannot be read.
        batch_size: Rows of a batch; the last may have fewer, and those with broken rows.
        num_workers: Threads; None takes as many as this process has cores, 0 makes all in the thread that asks.
        broken: Gets the rows that cannot be read, which are left out; None makes the first an error.

    Raises:
        OochubError: A picture that cannot be read; its split and example are named.
    """
    workers = _cores() if num_workers is None else num_workers
    first, of = 0, f"split {part.split}, " if part.split else ""
    ahead = 1 + math.ceil(workers * _TASK / batch_size)  # batches, so that each thread has a task of the next ones
    for tasks in _in_order(_tasks(part, batch_size), partial(_made, make=make, of=of), workers, ahead):
        columns: dict[str, Any] = {}
        made: list[Any] = []
        for own, results in tasks:
            made += results
            for name, values in own.items():
                columns.setdefault(name, []).extend(values)
        names = columns.get("example_id", range(first, first + len(made)))
        for position, (name, each) in enumerate(zip(names, made, strict=True)):
            if isinstance(each, OochubError):
                if broken is None:
                    raise each
                broken.append(BrokenRow(str(name), str(each), first + position))
        whole = [position for position, each in enumerate(made) if not isinstance(each, OochubError)]
        if len(whole) < len(made):
            columns = {name: [values[position] for position in whole] for name, values in columns.items()}
        if whole:
            yield MadeRows([made[position] for position in whole], [first + position for position in whole], columns)
        first += len(made)


def _cores() -> int:
    """Those that this process may use, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tasks(part: Any, batch_size: int) -> Iterator[list[_Task]]:
    """Of each batch in order, the tasks that make it."""
    from datasets import Dataset

    rows = undecoded(part)
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


def _made(task: _Task, *, make: Callable[[bytes, str], Any], of: str) -> tuple[dict[str, Any], list[Any]]:
    """The columns of its rows but the pictures, and what was made of these, or the error of each."""
    first, read = task
    columns = read()
    pictures, made = columns.pop("image"), []
    for name, picture in zip(columns.get("example_id", range(first, first + len(pictures))), pictures, strict=True):
        where = picture_place(of, name, picture)
        try:
            made.append(make(picture_bytes(picture, where), where))
        except OochubError as error:
            made.append(error)
    return columns, made


def _in_order(
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
