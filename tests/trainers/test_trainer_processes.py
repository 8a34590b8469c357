"""Two processes under torchrun against one: the same rows in total give the same parameters, and exact evaluation."""

import atexit
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from trainings import made_split, trainer_of, with_group_norm

from oochub.trainers.backbone import open_backbone
from oochub.trainers.fine_tuning.validation import Validation

CASES: dict[str, dict[str, Any]] = {
    "erm": {},
    "group_dro": {},
    "irm": {"hyperparameters": {"anneal_steps": 10, "penalty_weight": 5.0}},
    "coral": {},
    "vrex": {"hyperparameters": {"anneal_steps": 10}},
    "fish": {"sampler": "environments"},
    "jtt": {"hyperparameters": {"mode": "loss_weight", "upweight": 4.0}, "num_train_epochs": 2},
    "undersample_environments": {},
    "average": {"objective": "erm", "average": "uniform", "average_start": 0.5},
    "batch_norm": {"objective": "erm"},
}
EQUAL = [case for case in CASES if case != "batch_norm"]
STEPS = 20


def write_threads(file: Path) -> None:
    """Writes the names of the threads of this process."""
    names = [thread.read_text().strip() for thread in Path("/proc/self/task").glob("*/comm")]
    file.write_text("\n".join(names))


def train(folder: Path, processes: int, cases: list[str]) -> None:
    """20 steps an epoch on 16 rows in all, 37 validation rows; what Validation was given is kept."""
    splits = made_split(16 * STEPS, 1), made_split(37, 2)
    given: list[torch.Tensor] = []
    measure = Validation.measure

    def kept(self: Validation, logits: Any) -> dict[str, float]:
        given.append(torch.tensor(logits))
        return measure(self, logits)

    Validation.measure = kept  # type: ignore[method-assign]
    tiny = {"class_names": ["no car", "car"], "image_size": 16}
    atexit.register(
        write_threads, folder / f"threads-{os.environ['RANK']}.txt"
    )  # the first to register is the last to run
    for case in cases:
        given.clear()
        settings = {"objective": case, "num_train_epochs": 1, "optim": "sgd", "learning_rate": 0.005, **CASES[case]}
        model = open_backbone("resnet-tiny", **tiny) if case == "batch_norm" else with_group_norm()
        size = {"per_device_train_batch_size": 16 // processes, "per_device_eval_batch_size": 4}
        trainer_of(folder / case, *splits, model=model, **size, **settings, metrics=("accuracy",)).train()
        if int(os.environ["RANK"]) == 0:
            torch.save(given, folder / f"{case}.pt")


def started(folder: Path, processes: int, cases: list[str], *launch: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch.distributed.run", *launch, __file__, str(folder), str(processes), *cases]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}  # the helpers' folder
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)


def finish(folder: Path, processes: int, *children: subprocess.Popen[str]) -> Path:
    """`accelerate launch --cpu --num_processes 2` would run one process; the recipe's number of processes shows it."""
    for child in children:
        _, said = child.communicate(timeout=170)
        assert child.returncode == 0, said[-3000:]
    recipe = json.loads((folder / "erm" / "recipe.json").read_text())
    assert recipe["settings"]["processes"] == processes
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The folders of one and of two processes."""
    found = {}
    for count in (1, 2):
        folder = tmp_path_factory.mktemp(f"processes{count}")
        child = started(folder, count, list(CASES), "--standalone", f"--nproc_per_node={count}")
        found[count] = finish(folder, count, child)
    return found


def log_of(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "training_log.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("case", EQUAL)
def test_parameters_after_20_steps(runs: dict[int, Path], case: str) -> None:
    """To 1e-5, about a minute for all. Planted: penalties or error sets of each process alone."""
    one, two = (load_file(runs[processes] / case / "model.safetensors") for processes in (1, 2))
    start = with_group_norm()[0].state_dict()
    moved = max((one[name] - start[name]).abs().max().item() for name in one if name in start)
    assert moved > 5e-3
    difference = max((values - two[name]).abs().max().item() for name, values in one.items())
    print(f"{case}: parameters moved by {moved:.1e} and differ by {difference:.1e}")  # noqa: T201
    assert difference < 1e-5
    for first, second in zip(log_of(runs[1] / case), log_of(runs[2] / case), strict=True):
        assert first["global_step"] == second["global_step"] and second["global_step"] in (STEPS, 2 * STEPS)
        assert first["loss"] == pytest.approx(second["loss"], abs=1e-4)
        for name, value in first["loss_by_environment"].items():
            assert second["loss_by_environment"][name] == pytest.approx(value, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("case", EQUAL)
def test_evaluation_of_37_rows_is_exact(runs: dict[int, Path], case: str) -> None:
    """All 37 logits once and in order; the numbers are those of one process."""
    one, two = (torch.load(runs[processes] / f"{case}.pt", weights_only=True) for processes in (1, 2))
    assert len(one) == len(two) >= 1
    for first, second in zip(one, two, strict=True):
        assert first.shape == second.shape == (37, 2)
        assert torch.allclose(first, second, atol=1e-4)
    for first, second in zip(log_of(runs[1] / case), log_of(runs[2] / case), strict=True):
        assert first["eval_accuracy"] == second["eval_accuracy"]
        assert first["eval_accuracy_by_environment"] == second["eval_accuracy_by_environment"]


@pytest.mark.slow
def test_batch_norm_sees_the_batch_of_each_process(runs: dict[int, Path]) -> None:
    """With BatchNorm the processes normalize by 8 rows each: the parameters differ, as documented."""
    one, two = (load_file(runs[processes] / "batch_norm" / "model.safetensors") for processes in (1, 2))
    difference = max((one[name] - two[name]).abs().max().item() for name in one if "running" not in name)
    print(f"BatchNorm: parameters differ by {difference:.1e}")  # noqa: T201
    assert difference > 1e-4


@pytest.mark.slow
def test_no_thread_of_gloo_is_left_when_python_ends(runs: dict[int, Path]) -> None:
    """One that asks for Python's lock then aborts its process, on a busy machine mostly. Planted: none is ended."""
    left = [(runs[2] / f"threads-{rank}.txt").read_text() for rank in range(2)]
    assert ["gloo" in names for names in left] == [False, False], left


@pytest.mark.campaign
def test_two_nodes_equal_two_processes(runs: dict[int, Path], tmp_path: Path) -> None:
    """Two `torchrun --nnodes 2` of one process each, which meet on the loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meet = ["--nnodes=2", "--nproc_per_node=1", "--master_addr=127.0.0.1", f"--master_port={port}"]
    nodes = [started(tmp_path, 2, ["erm", "group_dro"], *meet, f"--node_rank={rank}") for rank in range(2)]
    finish(tmp_path, 2, *nodes)
    for case in ("erm", "group_dro"):
        assert (tmp_path / case / "model.safetensors").read_bytes() == (
            runs[2] / case / "model.safetensors"
        ).read_bytes()


if __name__ == "__main__":
    train(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
