"""Work on a cluster of Ray: tasks read, actors hold the model, the answers come back in order.

Ray keeps everything that waits in its own stores, starts again what dies, and stops with the process that asked.
"""

import copy
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from oochub.errors import OochubError, check_installed, choose_wording
from oochub.input import BrokenRow, Input, InputBatch
from oochub.prediction.prediction_data import select_rows
from oochub.process.ranks import Ranks
from oochub.remote.check_source import check_reached
from oochub.settings.prediction_settings import EngineSettings

if TYPE_CHECKING:
    import torch

    from oochub.models.extraction import Extraction

_ACTOR_CPUS = 0.5  # each: actors that held all CPUs would leave none to the tasks that read, and nothing would run
_PASSES = 4  # of a task that reads
_ENDED = (
    "ActorDiedError",
    "NodeDiedError",
    "ObjectLostError",
    "OutOfMemoryError",
    "RaySystemError",
    "WorkerCrashedError",
)

_Read = TypeVar("_Read")
_Answered = TypeVar("_Answered")
_Given = TypeVar("_Given")


@dataclass(frozen=True)
class _Passes:
    """Rows on their way: what was read of one pass, and the rows that are left out."""

    batches: list[InputBatch]
    broken: list[BrokenRow]


@dataclass
class RayEngine:
    """A cluster of Ray, from the first batch that is asked for to the end of the block.

    Attributes:
        address: Address of a cluster, such as "auto" or "ray://host:10001"; None starts one on this machine.
        actors: Copies of the model; None takes one per GPU, else one per CPU.

    Raises:
        OochubError: Ray is not installed.
    """

    address: str | None = None
    actors: int | None = None
    _is_ours: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        check_installed("ray", "ray", choose_wording('engine="ray"'))

    @classmethod
    def of(cls, asked: EngineSettings, ranks: Ranks) -> "RayEngine | None":
        """The cluster that was asked for; None for the processes that are there.

        Raises:
            OochubError: See the class; torchrun started several processes too.
        """
        if asked.engine != "ray":
            return None
        if not ranks.is_alone:
            raise OochubError(
                f"torchrun started {ranks.count} processes, but Ray starts its own. Use only one of them."
            )
        return cls(asked.ray_address, asked.actors)

    def __enter__(self) -> "RayEngine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            import ray

            ray.shutdown()
            self._is_ours = False

    def batches(
        self, inputs: Input, extraction: "Extraction", *, batch_size: int, device: "torch.device", zoom: float | None
    ) -> Callable[..., Iterator[InputBatch]]:
        """`batches(part, broken=None)` gives the answers of `extraction` as the inputs of batches, in order.

        Args:
            inputs: Read the rows, each task with one thread.
            extraction: "Extraction" with the model; each actor gets a copy.
            batch_size: Rows of a pass: the same passes as in one process, so that the numbers are the same.
            device: Device that the actors run on; each has a GPU of its own if it is one.
            zoom: See `Input.batches`.

        Raises:
            OochubError: No such cluster, too many actors for it, a row that cannot be read, a worker that dies each
                time it is started.
        """

        def answered(part: Any, *, broken: list[BrokenRow] | None = None) -> Iterator[InputBatch]:
            rows = part if "example_id" in part.column_names else select_rows(part, range(len(part)))
            alone = copy.copy(inputs)
            alone.num_workers = 0
            read = partial(
                _read_pass, inputs=alone, rows=rows, batch_size=batch_size, zoom=zoom, skips=broken is not None
            )
            answer = partial(_answer_pass, inputs=alone, extraction=extraction, device=str(device))
            for passes in self.mapped(range(0, len(part), batch_size), read, answer, device=device):
                if broken is not None:
                    broken += passes.broken
                yield from passes.batches

        return answered

    def mapped(
        self,
        items: Sequence[int],
        read: Callable[[int], _Read],
        answer: Callable[[_Read], _Answered],
        *,
        device: "torch.device",
    ) -> Iterator[_Answered]:
        """`answer(read(item))` of each item, in order: tasks read, actors answer.

        Args:
            items: Numbers that say what is to be read.
            read: Function for the tasks; each has one thread.
            answer: Function for the actors; each gets a copy, with what it opens at its first call.
            device: Device that the actors run on; each has a GPU of its own if it is one.

        Raises:
            OochubError: What either raises, no such cluster, too many actors for it, a worker that dies each time it
                is started.
        """
        import ray
        import torch

        count, cpus = self._start_actors(device)
        blocks = max(min(len(items), 4 * cpus), -(-len(items) // _PASSES))
        threads = max(1, torch.get_num_threads() // count)
        rows = (
            ray.data.from_items(list(items), override_num_blocks=blocks)
            .map(_read, fn_kwargs={"job": [ray.put(read)]}, num_cpus=1)
            .map(
                _Answering,
                fn_constructor_kwargs={"job": [ray.put(answer)], "threads": threads},
                compute=ray.data.ActorPoolStrategy(size=count),
                num_cpus=_ACTOR_CPUS,
                num_gpus=1 if device.type == "cuda" else 0,
            )
        )
        try:
            for row in rows.iter_rows():
                if isinstance(row["made"], OochubError):
                    raise row["made"]
                yield row["made"]
        except ray.exceptions.RayError as error:
            if type(error).__name__ not in _ENDED:
                raise
            raise OochubError(
                f"Ray lost a worker and could not replace it: {str(error).partition(chr(10))[0]} Run the same "
                f"command again: complete parts are kept. {choose_wording('actors=')} sets fewer "
                "copies of the model."
            ) from error

    @staticmethod
    def answers(batch: InputBatch) -> "dict[str, torch.Tensor]":
        """What a batch of `batches` brings, in the place of an `Extraction`."""
        return dict(batch.inputs)

    def _start_actors(self, device: "torch.device") -> tuple[int, int]:
        """The numbers of actors and of CPUs, when the cluster is there."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        import ray
        import ray.data

        if not ray.is_initialized():
            local = {"num_cpus": max(2, os.cpu_count() or 1), "include_dashboard": False} if not self.address else {}
            try:
                check_reached(self.address)
                ray.init(self.address or "local", logging_level=logging.ERROR, log_to_driver=False, **local)
            except (OSError, ValueError) as error:
                raise OochubError(
                    f"No cluster of Ray at {self.address}: {str(error).partition(chr(10))[0]}. `ray start --head` "
                    "starts one and says its address; without an address one is started on this machine."
                ) from error
            self._is_ours = True
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        there = ray.cluster_resources()
        cpus, gpus = int(there.get("CPU", 0)), int(there.get("GPU", 0))
        most = gpus if device.type == "cuda" else int((cpus - 1) / _ACTOR_CPUS)
        count = self.actors or max(1, min(most, gpus if device.type == "cuda" else cpus))
        if count > most:
            raise OochubError(
                f"{count} actors are more than this cluster of {cpus} CPUs and {gpus} GPUs can hold beside the tasks "
                f"that read: at most {most}, each with {'a GPU' if device.type == 'cuda' else f'{_ACTOR_CPUS} CPUs'}."
            )
        return count, cpus


@lru_cache(maxsize=2)
def _resolve_reference(reference: object) -> Any:
    """What a reference of Ray stands for, read once in each process."""
    import ray

    return ray.get(reference)


def _read(row: dict[str, object], *, job: list[object]) -> dict[str, object]:
    """What the number of a row stands for, in a task."""
    return {"made": _try_call(_resolve_reference(job[0]), row["item"])}


class _Answering:
    """The model in an actor."""

    def __init__(self, job: list[object], threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self._answer = _resolve_reference(job[0])

    def __call__(self, row: dict[str, object]) -> dict[str, object]:
        """The answer to what was read."""
        made = row["made"]
        return {"made": made if isinstance(made, OochubError) else _try_call(self._answer, made)}


def _try_call(work: Callable[[_Given], _Answered], given: _Given) -> _Answered | OochubError:
    """What a function gives, or its error: raised here it would arrive with this process's traceback."""
    try:
        return work(given)
    except OochubError as fault:
        return fault


def _read_pass(first: int, *, inputs: Input, rows: Any, batch_size: int, zoom: float | None, skips: bool) -> _Passes:
    """The rows of one pass, from a number on."""
    some = rows.select(range(first, min(first + batch_size, len(rows))))
    broken: list[BrokenRow] = []
    batches: list[InputBatch] = []
    for batch in inputs.pack_batches(some, batch_size=batch_size, zoom=zoom, broken=broken if skips else None):
        places = batch.rows or range(len(batch.columns["example_id"]))
        batches.append(batch._replace(rows=[first + place for place in places]))
    return _Passes(batches, [row._replace(row=first + row.row) for row in broken])


def _answer_pass(passes: _Passes, *, inputs: Input, extraction: "Extraction", device: str) -> _Passes:
    """A pass with the answers in the place of the inputs."""
    import torch

    done = [
        batch._replace(inputs=extraction(inputs.unpack_batch(batch, torch.device(device))), zoomed=None)
        for batch in passes.batches
    ]
    return _Passes(done, passes.broken)
