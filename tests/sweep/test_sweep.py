"""Sweeps: what runs, what is skipped, what a crash or a kill leaves, and one from images to the table."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from own_data import picture_folder

import oochub
from oochub.builders.toy_worlds.toy_coco import toy_coco
from oochub.cli import main
from oochub.errors import OochubError
from oochub.repository.write_repository import write_user_repository
from oochub.settings.data_settings import DataSettings
from oochub.sweep.measurement import measure
from oochub.sweep.runs import Run, RunResult, plan_stages
from oochub.sweep.sweep import SweepResult, sweep
from oochub.sweep.sweep_recipe import read_recipe
from oochub.sweep.sweep_table import SweepSummary, make_run_table, make_selection_table

TUNED = """
about = "A sweep whose runs are a formula."
tasks = ["spawrious/o2o_easy", "spawrious/o2o_hard"]
model = "none"
seeds = [0, 1, 2]
select = "validation_loss"
[tuning]
shared = "ERM"
carry = { "spawrious/o2o_easy" = ["spawrious/o2o_hard"] }
[methods.ERM]
objective = "erm"
grid = { learning_rate = [0.1, 0.2, 0.3] }
[methods.GDRO]
objective = "group_dro"
grid = { step_size = [0.01, 0.02] }
"""
TOY = """
about = "A tiny sweep."
tasks = ["nooch/ce_car", "nooch/ce_cow"]
model = "resnet-tiny"
seeds = [0]
select = "validation_loss"
options = { contexts = ["road"] }
image_size = 24
[arguments]
num_train_epochs = 1
[methods.ERM]
objective = "erm"
[methods.GDRO]
objective = "group_dro"
[per_task."nooch/ce_cow"]
environments = "grup"
"""


def formula(run: Run, folder: Path) -> RunResult:
    """Stands for a training: numbers that follow from the run, and a line in `calls`; best at learning rate 0.2."""
    with (folder.parents[1] / "calls").open("a") as calls:
        calls.write(f"{run.id}\n")
    if signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        (folder.parents[1] / "hears Ctrl-C").touch()
    for trouble in filter(None, os.environ.get("TROUBLE", "").split(";")):
        part, kind = trouble.split(":")
        if part in run.id:
            _have(kind, folder.parents[1])
    rate, step = run.arguments["learning_rate"], run.hyperparameters.get("step_size", 0.02)
    loss = abs(rate - 0.2) + abs(step - 0.02) + 0.001 * run.seed
    accuracy = 0.9 - loss - 0.1 * ("hard" in run.task)
    numbers = {"validation/nll": loss, "out_of_context/accuracy": accuracy, "in_context/accuracy": None}
    return RunResult(headline="accuracy", numbers=numbers)


def _have(kind: str, out: Path) -> None:
    if kind == "error":
        raise OochubError("The loss is nan.")
    if kind == "bug":
        raise RuntimeError("boom")
    if kind == "crash":
        os._exit(7)
    (out / "sleeping").write_text(str(os.getpid()))
    time.sleep(120)


@pytest.fixture
def tuned(tmp_path):
    file = tmp_path / "tuned.toml"
    file.write_text(TUNED)
    return read_recipe(file)


def calls(folder: Path) -> list[str]:
    file = folder / "calls"
    return file.read_text().split() if file.is_file() else []


def read_page(result: SweepResult) -> str:
    """The page, its names as they are."""
    return result.page.read_text().replace("\\", "")


def plain(text: str) -> str:
    """The recipe without tuning, ERM alone."""
    return text[: text.index("[tuning]")] + text[text.index("[methods.ERM]") : text.index("[methods.GDRO]")]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The tuned sweep, undisturbed, two runs at a time."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "tuned.toml").write_text(TUNED)
    return sweep(read_recipe(folder / "tuned.toml"), folder / "out", measure=formula, jobs=2)


@pytest.fixture
def undisturbed(done) -> pd.DataFrame:
    return pd.read_parquet(done.table).drop(columns="seconds")


@pytest.mark.slow
def test_tuning_is_followed_and_nothing_is_done_twice(done, tuned):
    """ERM's rate 0.2 is taken over by GDRO, and both carried to the harder task; a second sweep does nothing."""
    table, result, out = pd.read_parquet(done.table), done, done.table.parent
    assert (result.runs, result.failed, len(table)) == (17, 0, 3 + 2 + 12)
    final = table[table["stage"] == "final"]
    assert {json.loads(item)["learning_rate"] for item in table[table["stage"] == "tuning"]["setting"][3:]} == {0.2}
    expected = {"ERM": {"learning_rate": 0.2}, "GDRO": {"learning_rate": 0.2, "step_size": 0.02}}
    for method, setting in expected.items():
        assert {item for item in final[final["method"] == method]["setting"]} == {json.dumps(setting)}
    # the tuning run that was selected is the final run of its seed: 17 rows, 15 trainings
    assert len(calls(out)) == len(set(calls(out))) == 15
    assert table["path"].tolist() == [f"runs/{run}" for run in table["run"]]
    chosen = pd.read_parquet(result.selected)
    assert chosen["seeds"].tolist() == [3, 3, 3, 3] and chosen["rule"].unique().tolist() == ["validation_loss"]
    easy = chosen[(chosen["task"] == "spawrious/o2o_easy") & (chosen["method"] == "ERM")].iloc[0]
    assert easy["out_of_context/accuracy"] == pytest.approx(0.9 - 0.001)  # mean over seeds of 0.9 - 0.001 seed
    assert easy["out_of_context/accuracy.sd"] == pytest.approx(0.001)  # sd of 0, 1, 2 thousandths, ddof 1
    assert "| spawrious/o2o_easy | ERM | learning_rate=0.2 | accuracy | n/a | 89.9 (0.1) | 3 |" in read_page(result)
    about = json.loads(pq.read_schema(result.table).metadata[b"oochub"])
    assert (about["sweep"], about["rule"]) == ("tuned", "validation_loss")
    before = result.table.read_bytes()
    sweep(tuned, out, measure=formula)
    assert len(calls(out)) == 15 and result.table.read_bytes() == before


@pytest.mark.slow  # six processes a case: 18 seconds
def test_a_failed_run_is_a_row_and_stops_no_other(tmp_path, monkeypatch):
    """The three best rates fail, each in its way; the fourth is selected. Without the trouble they are tried again."""
    file = tmp_path / "plain.toml"
    file.write_text(plain(TUNED).replace("0.3]", "0.3, 0.4]"))
    recipe, only = read_recipe(file), ["spawrious/o2o_easy"]
    message = ["RuntimeError: boom", "The loss is nan.", "its process ended with exit code 7; see logs/"]
    monkeypatch.setenv("TROUBLE", "rate=0.1-seed0:bug;rate=0.2-seed0:error;rate=0.3-seed0:crash")
    result = sweep(recipe, tmp_path / "out", measure=formula, only=only)
    table = pd.read_parquet(result.table)
    assert (result.runs, result.failed) == (12, 3)
    assert table["seed"].tolist() == [0, 1, 2] * 4 and table["status"].tolist() == [
        *(["failed"] + ["finished"] * 2) * 3,
        *["finished"] * 3,
    ]
    for row, words in zip((0, 3, 6), message, strict=True):
        assert table["error"][row].startswith(words)
        assert f"Failed: {table['run'][row]}: {words}" in read_page(result)
    assert table["selected"].tolist() == [False] * 9 + [True] * 3
    assert "in formula" in (tmp_path / "out" / "logs" / f"{table['run'][0]}.log").read_text()
    monkeypatch.delenv("TROUBLE")
    again = pd.read_parquet(sweep(recipe, tmp_path / "out", measure=formula, only=only).table)
    assert again["status"].eq("finished").all() and again["selected"].tolist() == [False] * 3 + [True] * 3 + [False] * 6
    assert len(calls(tmp_path / "out")) == 12 + 3


@pytest.mark.slow
def test_its_processes_leave_ctrl_c_to_the_sweep(done):
    """Else each would print a traceback of its own. Planted fault: the processes started without the block."""
    assert calls(done.table.parent) and not (done.table.parent / "hears Ctrl-C").exists()


@pytest.mark.slow
def test_nothing_to_follow_is_said(tuned, tmp_path, monkeypatch):
    monkeypatch.setenv("TROUBLE", "-erm-:error")
    result = sweep(tuned, tmp_path / "out", measure=formula)
    table = pd.read_parquet(result.table)
    assert result.failed == len(table) == 17 and len(calls(tmp_path / "out")) == 3
    assert table["error"].iloc[-1] == "no setting was selected for GDRO on spawrious/o2o_easy"
    assert "Nothing was selected for GDRO on spawrious/o2o_hard" in read_page(result)


@pytest.mark.campaign  # six processes: 15 seconds
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_ended_in_the_middle_it_goes_on(tuned, tmp_path, undisturbed, how):
    """The sweep is killed, or interrupted, in its third run: no worker is left, and the table comes out equal."""
    out, file = tmp_path / "out", tmp_path / "tuned.toml"
    script = (
        # a shell without job control starts its background jobs deaf to Ctrl-C
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import test_sweep, sys\nfrom oochub.sweep.sweep import sweep\nfrom oochub.sweep.sweep_recipe import "
        f"read_recipe\nsweep(read_recipe({str(file)!r}), {str(out)!r}, measure=test_sweep.formula)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    environment |= {"TROUBLE": "rate=0.3-:sleep"}
    process = subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (out / "sleeping").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    worker = int((out / "sleeping").read_text())
    while len(pd.read_parquet(out / "runs.parquet")) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert pd.read_parquet(out / "runs.parquet")["status"].tolist() == ["finished", "finished"]
    process.send_signal(how)
    process.wait(30)
    assert process.returncode != 0
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()
    first = calls(out)
    result = sweep(tuned, out, measure=formula)
    assert [calls(out).count(run) for run in first] == [1, 1, 2]  # only the third is done again
    pd.testing.assert_frame_equal(pd.read_parquet(result.table).drop(columns="seconds"), undisturbed)


@pytest.mark.slow
def test_another_rule_is_another_selection_of_the_same_runs(done, tuned, tmp_path):
    """The oracle's has tables of its own, marked; it takes the same settings here, so that nothing runs."""
    out = tmp_path / "out"
    shutil.copytree(done.table.parent, out)
    result = sweep(read_recipe(tmp_path / "tuned.toml", overrides={"select": "oracle"}), out, measure=formula)
    assert calls(out) == calls(done.table.parent)
    assert result.selected.name == "oracle.parquet" and result.page.name == "oracle.md"
    assert (out / "selected.parquet").read_bytes() == done.selected.read_bytes()
    assert "selected on the test split" in result.page.read_text()
    assert pd.read_parquet(result.selected)["rule"].unique().tolist() == ["oracle"]


def test_folders_of_other_sweeps_and_wrong_jobs(tuned, tmp_path):
    (tmp_path / "sweep.json").write_text('{"recipe": "nooch_suite", "track": "features"}')
    with pytest.raises(OochubError, match=r"contains the sweep nooch_suite \(features\), not tuned"):
        sweep(tuned, tmp_path, measure=formula)
    with pytest.raises(OochubError, match="jobs must be 1 or more, got 0"):
        sweep(tuned, tmp_path / "out", measure=formula, jobs=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(OochubError, match="is a file, not a folder"):
        sweep(tuned, tmp_path / "file" / "out", measure=formula)


def test_settings_of_any_type_stand_in_the_table(tuned):
    """A name that is a number for one method and a text for another is one column."""
    runs = plan_stages(tuned)[0]
    both = [Run(**{**vars(runs[0]), "setting": {"learning_rate": 0.1, "form": item}}) for item in ("wilds", 3)]
    table = make_run_table(tuned, [(run, RunResult(headline="auc")) for run in both])
    assert table["setting.form"].tolist() == ["wilds", "3"]
    nothing = SweepSummary(recipe=tuned, runs=table[:0], track="features").to_markdown()
    assert make_selection_table(table[:0]).empty and "Track: features" in nothing


def test_dry_run_lists_and_does_nothing(run, tmp_path):
    (tmp_path / "tuned.toml").write_text(TUNED)
    code, output, _ = run("sweep", tmp_path / "tuned.toml", "--dry-run")
    assert code == 0 and "15 runs of tuned" in output and "as selected for ERM" in output
    code, output, _ = run(
        "sweep", tmp_path / "tuned.toml", "--dry-run", "--json", "--override", "seeds=0", "--only", "ERM"
    )
    content = json.loads(output)
    assert (
        code == 0
        and content["total"] == 4
        and content["per_task"] == {"spawrious/o2o_easy": 3, "spawrious/o2o_hard": 1}
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tuned.toml"]
    for words, message in [
        (("nooch_siute", "--dry-run"), "Did you mean 'nooch_suite'"),
        ((tmp_path / "tuned.toml",), "--out"),
        ((tmp_path / "tuned.toml", "--dry-run", "--latex", tmp_path / "t.tex"), "--dry-run trains nothing"),
        ((tmp_path / "tuned.toml", "--dry-run", "--set", "sleect=oracle"), "Did you mean 'select'"),
    ]:
        code, output, err = run("sweep", *words)
        assert code == 2 and message in err and not output


def toy_recipe(tmp_path: Path) -> Path:
    file = tmp_path / "toy.toml"
    file.write_text(TOY)
    return file


@pytest.mark.slow
def test_from_pictures_to_the_table(run, tmp_path, coco):
    """Two small trainings; the numbers are those of each run's own report, log and predictions.

    The other task names a column that is not there: exit code 2 says how many runs failed.
    """
    words = ("sweep", toy_recipe(tmp_path), "--out", tmp_path / "out", "--data-dir", coco)
    code, output, err = run(*words)
    assert code == 2 and "2 of 4 runs failed" in err and "Traceback" not in err and "selected.md" in output
    table = pd.read_parquet(tmp_path / "out" / "runs.parquet")
    assert table["method"].tolist() == ["ERM", "GDRO"] * 2 and table["selected"].tolist() == [True] * 2 + [False] * 2
    assert table["error"][2:].str.contains("Did you mean 'group'").all()
    for _, row in table[:2].iterrows():
        folder = tmp_path / "out" / row["path"]
        report = oochub.Report.load(folder / "report.json")
        for name in ("out_of_context/auc", "in_context/auc", "all/auc", "validation/nll"):
            assert row[name] == pytest.approx(float(report[name])), name
        of_report = report["out_of_context/auc"]
        assert (row["out_of_context/auc.low"], row["out_of_context/auc.n"]) == (of_report.low, of_report.n)
        history = json.loads((folder / "training_log.json").read_text())
        assert row["validation/nll"] == pytest.approx(history[0]["eval_loss"], abs=1e-4)
        predictions = oochub.Predictions.load(folder / "predictions.parquet")
        hard = (predictions.split == "validation") & (predictions.column("challenge") == "hard_negative")
        right = (predictions.prediction == predictions.label)[hard]
        assert row["validation/hard_negative/accuracy"] == pytest.approx(right.mean())
    code, output, _ = run(*words, "--only", "nooch/ce_car", "--json")
    assert code == 0 and json.loads(output)["runs"] == 2
    code, _, err = run(*words[:4], "--data-dir", tmp_path / "none")
    assert code == 2 and "is not a folder" in err


@pytest.mark.campaign
def test_killed_in_training_it_comes_out_as_undisturbed(tmp_path):
    """Eight small trainings, two at a time, killed twice at random moments: the same table. About two minutes."""
    coco = toy_coco(tmp_path / "raw" / "nooch", size=160, focus="car")
    file = tmp_path / "toy.toml"
    grid = "grid = { weight_decay = [1e-3, 1e-1] }"
    text = TOY[: TOY.index("[per_task")].replace(', "nooch/ce_cow"', "").replace("seeds = [0]", "seeds = [0, 1]")
    file.write_text(text.replace('"erm"', f'"erm"\n{grid}').replace('"group_dro"', f'"group_dro"\n{grid}'))

    def started(out: Path) -> subprocess.Popen:
        words = [sys.executable, "-m", "oochub.cli", "sweep", file, "--out", out, "--data-dir", coco, "--jobs", 2]
        return subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    began = time.monotonic()
    undisturbed = started(tmp_path / "undisturbed")
    assert undisturbed.wait(600) == 0, undisturbed.stderr.read()
    length, moments = time.monotonic() - began, random.Random(os.getpid())
    for _ in range(2):
        process = started(tmp_path / "out")
        time.sleep(moments.uniform(0.3, 0.7) * length)
        process.kill()
        process.wait()
    last = started(tmp_path / "out")
    assert last.wait(600) == 0, last.stderr.read()
    tables = [pd.read_parquet(tmp_path / name / "runs.parquet") for name in ("undisturbed", "out")]
    assert [len(table) for table in tables] == [8, 8] and tables[0]["status"].eq("finished").all()
    pd.testing.assert_frame_equal(*(table.drop(columns="seconds") for table in tables))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").rglob("*")}
    again = started(tmp_path / "out")
    assert again.wait(600) == 0
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").rglob("*")}


@pytest.mark.slow
def test_leaving_environments_out_trains_without_them(tmp_path, spawrious):
    """Spawrious' two environments in turn: the recipe of each run has the other's rows alone. Half a minute."""
    file = tmp_path / "loeo.toml"
    text = TOY[: TOY.index("[methods.GDRO]")].replace('["nooch/ce_car", "nooch/ce_cow"]', '["spawrious/o2o_hard"]')
    text = text.replace('options = { contexts = ["road"] }', 'leave_out = ["env_1", "env_2"]')
    file.write_text(text.replace("validation_loss", "leave_one_environment_out"))
    recipe = read_recipe(file)
    result = sweep(recipe, tmp_path / "out", measure=partial(measure, data_dir=str(spawrious)))
    table = pd.read_parquet(result.table)
    assert table["left_out"].tolist()[1:] == ["env_1", "env_2"] and table["selected"].tolist() == [True, False, False]
    assert table["score"][0] == pytest.approx(table["held_out/accuracy"][1:].mean())
    for _, row in table[1:].iterrows():
        of_run = json.loads((tmp_path / "out" / row["path"] / "recipe.json").read_text())
        assert of_run["data"]["environments"][row["left_out"]] == 0
        kept = {name for name, rows in of_run["data"]["environments"].items() if rows}
        assert kept == {"env_1", "env_2"} - {row["left_out"]}
        predictions = oochub.Predictions.load(tmp_path / "out" / row["path"] / "predictions.parquet")
        out = (predictions.split == "validation") & (predictions.column("environment") == row["left_out"])
        right = (predictions.prediction == predictions.label)[out]
        assert row["held_out/accuracy"] == pytest.approx(right.mean())


@pytest.mark.slow
def test_own_data_are_a_task(tmp_path, monkeypatch):
    """A repository of `oochub build`, by both tracks; of its rows 5 are easy and 3 hard, as given. Its tables too."""
    for split in ("train", "validation", "test"):
        picture_folder(tmp_path / "mine" / split)
    monkeypatch.chdir(tmp_path)
    usual = {"dog": ["beach", "grass"], "cat": ["sofa"]}
    write_user_repository("mine", "repository", settings=DataSettings(label="species", context="place", usual=usual))
    (tmp_path / "own.toml").write_text(
        'about = "Own data."\ntasks = ["./repository"]\nmodel = "resnet-tiny"\nimage_size = 16\n'
        '[arguments]\nnum_train_epochs = 1\n[methods.GDRO]\nobjective = "group_dro"\n'
    )
    tables = ("--latex", "table.tex", "--csv", "table.csv")
    for name, track in (("whole", ()), ("heads", ("--features",))):
        monkeypatch.setattr(sys, "argv", ["oochub", "sweep", "own.toml", "--out", name, *track, *tables])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code
        (row,) = pd.read_parquet(tmp_path / name / "runs.parquet").to_dict("records")
        assert row["task"] == "./repository" and row["run"].startswith("repository-gdro")
        assert row["in_context/accuracy.n"] == 5 and row["out_of_context/accuracy.n"] == 3
        latex, numbers = Path("table.tex").read_text("utf-8"), pd.read_csv("table.csv")
        assert "GDRO & " in latex and "brackets hold 95\\% intervals" in latex.lower()
        assert numbers["out_of_context/accuracy"].tolist() == [row["out_of_context/accuracy"]]
