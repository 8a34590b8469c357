"""What is seen of a sweep: a line a run without a terminal, epochs from the logs, its status while another runs it."""

import io
import json
from types import SimpleNamespace

import pytest
from drawn_sweep import draw_sweep

from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.storage.files import lock_target
from oochub.sweep.runs import Run, RunResult, plan_stages
from oochub.sweep.sweep import find_status
from oochub.sweep.sweep_progress import EpochLog, SweepDisplay, estimate_left, read_epoch, read_status
from oochub.sweep.sweep_recipe import read_recipe


def _run(seed=0):
    return Run(
        task="nooch/ce_car", method="StdRisk (ours)", objective="erm", seed=seed, setting={"k": 4}, fixed={}, model="m"
    )


def _log(folder, run, text):
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / f"{run.id}.log").write_text(text)


def test_a_training_logs_its_epochs(tmp_path, capsys):
    """What the callback prints is read back; the last line counts, whatever stands around it."""
    for number in (1, 2):
        logs = {"epoch": float(number), "loss": 0.5 / number, "eval_loss": 0.25}
        EpochLog().on_log(SimpleNamespace(num_train_epochs=3.0), None, None, logs=logs)
    text = capsys.readouterr().out
    assert "epoch 1 of 3: loss 0.5000, validation loss 0.2500" in text
    _log(tmp_path, _run(), "a warning\n" + text + "Writing model shards: 100%")
    assert read_epoch(tmp_path, _run()) == (2, 3, "loss 0.2500, validation loss 0.2500")
    assert read_epoch(tmp_path, _run(1)) is None


def test_the_time_left():
    """The mean of the runs that ended, times what is left, divided by those at a time."""
    assert estimate_left([60, 180], 4, 2) == "about 4 min left"
    assert estimate_left([3600], 5, 2) == "about 2 h 30 min left"
    assert estimate_left([10], 2, 1) == "less than a minute left" and estimate_left([10], 0, 1) == ""


def test_without_a_terminal_each_run_is_a_line(tmp_path, capsys):
    """Two of five were done before: they count in k of n, not in the time left."""
    with follow(total=5, disable=True) as bar:
        display = SweepDisplay(bar, tmp_path, jobs=1)
        display.start_stage(3, 2)
        display.show_end(_run(), RunResult(headline="auc", numbers={"out_of_context/auc": 0.5}, seconds=120.0))
        display.show_end(_run(1), RunResult.failure("The loss is nan."))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "3 of 5: StdRisk (ours), k=4, seed 0, nooch/ce_car: done: auc 0.500 out of context (120 s); about 4 min left",
        "4 of 5: StdRisk (ours), k=4, seed 1, nooch/ce_car: failed: The loss is nan.; about 2 min left",
    ]


def test_a_terminal_shows_the_epochs_of_what_runs(tmp_path):
    _log(tmp_path, _run(), "epoch 2 of 3: loss 0.2500\n")
    with follow(total=2, disable=False, file=io.StringIO(), ncols=200) as bar:
        display = SweepDisplay(bar, tmp_path, jobs=2)
        display.start_stage(2, 0)
        display.show_running([_run(), _run(1)])
        expected = "StdRisk (ours), k=4, seed 0, epoch 2/3, loss 0.2500; 1 more at once; nooch/ce_car"
        assert bar.postfix == expected


def test_the_status_of_a_sweep_that_runs_and_of_one_that_was_stopped(tmp_path):
    """One done, one failed, one with a log and no row, which runs as long as the folder is locked; one that waits."""
    runs = [_run(seed) for seed in range(4)]
    _log(tmp_path, runs[2], "epoch 1 of 3: loss 0.5\n")
    results = [RunResult(headline="auc", seconds=60.0), RunResult.failure("boom"), None, None]
    with lock_target(tmp_path):
        status = read_status(tmp_path, runs, iter(results))
    assert (status.finished, len(status.failed), status.waiting) == (1, 1, 1)
    assert status.running == (("StdRisk (ours), k=4, seed 2, nooch/ce_car", "1 of 3, loss 0.5"),)
    text = status.to_markdown()
    assert text.startswith("1 of 4 runs are done, 1 failed, 1 running, 1 waiting; about 2 min left.") and "boom" in text
    stopped = read_status(tmp_path, runs, iter(results))
    assert stopped.running == () and stopped.waiting == 2 and json.dumps(stopped.to_json())


@pytest.mark.slow
def test_status_of_a_finished_sweep(tmp_path):
    draw_sweep(tmp_path, {"ERM": 0.5, "StdRisk (ours)": 0.9}, seeds=2, rows=60)
    recipe = read_recipe(tmp_path / "drawn.toml")
    status = find_status(recipe, tmp_path / "sweep")
    assert (status.finished, status.total, status.left) == (4, sum(map(len, plan_stages(recipe))), "")
    with pytest.raises(OochubError, match="contains no sweep"):
        find_status(recipe, tmp_path / "elsewhere")
