"""docs/check.md: its table is what the releases say and errs seldom enough, and its files for CI run as they stand."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from guide_fences import fences
from import_graph import ROOT
from sklearn.metrics import roc_auc_score

from oochub.stats.confidence_sequence import MeanEvidence, ShareEvidence

sys.path.insert(0, str(ROOT / "docs" / "make"))
import check_page  # the maker of the table
import looks_page  # and of that on several looks

GUIDE = ROOT / "docs" / "check.md"
FILES = {
    match[1]: fence.code
    for fence in fences(GUIDE)
    if (match := re.match(r"# (\S+\.(?:yml|yaml|toml))\n", fence.code)) and fence.language in ("yaml", "toml")
}
ACTION, WORKFLOW, GITLAB = ".github/actions/oochub-check/action.yml", ".github/workflows/release.yml", ".gitlab-ci.yml"


def test_the_table_is_what_the_releases_say():
    """Fault planted: a count in the file of releases that the page does not have."""
    assert check_page.write_table() == GUIDE.read_text("utf-8")
    made = {(cell.title, cell.rows) for cell in check_page.read_cells()}
    assert made == {(world.title, rows) for world in check_page.WORLDS for rows in world.rows}
    assert all(cell.releases >= 1_000 for cell in check_page.read_cells())


def test_the_table_of_looks_is_what_the_worlds_say():
    """4,000 worlds a kind, and none ever passes too often. Fault planted: a number that the file does not have."""
    numbers = json.loads(looks_page.NUMBERS.read_text("utf-8"))
    assert looks_page.write_page(numbers) == GUIDE.read_text("utf-8")
    assert set(numbers) == {world.title for world in looks_page.list_worlds()}
    assert all(one["worlds"] == 4_000 and one["anytime"] <= 100 < one["fixed"] for one in numbers.values())  # 2.5%


@pytest.mark.campaign
@pytest.mark.parametrize("world", looks_page.list_worlds(), ids=lambda world: world.title)
def test_a_world_at_its_bound_seldom_ever_passes(world):
    """Other draws than those of the page."""
    found = looks_page.simulate(world, 4_000, seed=2)
    assert found["anytime"] <= 4_000 * 0.025 < found["fixed"]


def test_the_wealth_of_the_worlds_is_that_of_a_check():
    """One world of each form, against the package itself."""
    rng = np.random.default_rng(0)
    ones, values = int((rng.random(60) < 0.7).sum()), rng.beta(2, 2, 60)
    assert looks_page.mix(np.array([ones]), np.array([60]), 0.6)[0] == pytest.approx(
        ShareEvidence(ones, 60).log_above(0.6)
    )
    bet = looks_page.bet(values[None], 0.4)[0, -1]
    assert bet == pytest.approx(MeanEvidence(values, 0, 1).log_above(0.4))


def test_no_rule_passes_or_fails_too_often():
    """Nothing at the bound passes or fails in more than 2.5%, but for what chance explains."""
    for cell in check_page.read_cells():
        for count in (cell.passed, cell.failed):
            assert not check_page.is_above(count, cell.releases), cell
    assert check_page.is_above(80, 1_000) and not check_page.is_above(30, 1_000)


@pytest.mark.slow
def test_the_truths_of_the_worlds():
    """NLL and AUC of normal margins by a million draws. Fault planted: the standard deviation of one model for both."""
    import numpy as np

    rng = np.random.default_rng(1)
    truths = {world.title: world.truth for world in check_page.WORLDS}
    margin = 1 + rng.normal(size=1_000_000)
    assert np.logaddexp(0, -margin).mean() == pytest.approx(truths["NLL at most that of the population"], abs=0.002)
    positive, negative = margin[::2], -margin[1::2]
    assert (positive > negative).mean() == pytest.approx(truths["AUC at least that of the population"], abs=0.002)
    wide = rng.normal(size=1_000_000) * np.sqrt(1.25)
    worse = (np.logaddexp(0, -(0.9 + wide)) - np.logaddexp(0, -(1 + wide))).mean()
    assert worse == pytest.approx(truths["NLL at most so much worse, paired"], abs=0.002)
    for title, (noise, base, mislabeled) in {
        "AUC of .998 at least that, t4 noise": (rng.standard_t(4, size=1_000_000) / np.sqrt(2), 2.715, 0),
        "AUC of .99 at least that, 0.5% mislabeled": (rng.normal(size=1_000_000), 3.0, 0.005),
    }.items():
        margin = (base + noise) * np.where(rng.random(1_000_000) < mislabeled, -1, 1)
        assert roc_auc_score(np.arange(1_000_000) % 2, margin * np.tile([-1, 1], 500_000)) == pytest.approx(
            truths[title], abs=0.0002
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of the guide, where they say that they are, and the reports that its first block makes."""
    folder = tmp_path_factory.mktemp("check_page")
    for name, code in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code)
    code = next(fence.code for fence in fences(GUIDE) if fence.language == "python")
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=120)
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    program = bin_folder / "oochub"
    program.write_text(f'#!/bin/bash\nexec {sys.executable} -m oochub.cli "$@"\n')
    program.chmod(0o755)
    return folder


def run_script(folder: Path, script: str, **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, **more}
    return subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("baseline", "undecided", "limit", "code"),
    [("models/old", "", "0.7", 0), ("models/old", "fail", "0.7", 0), ("models/old", "", "0.99", 1), ("", "", "0.7", 2)],
)
def test_the_action_runs(folder, tmp_path, baseline, undecided, limit, code):
    """The script of the action, with what GitHub gives it. Fault planted: the exit code that `||` swallows."""
    action = yaml.safe_load(FILES[ACTION])
    step = action["runs"]["steps"][1]
    assert set(re.findall(r"inputs\.(\w+)", FILES[ACTION])) == set(action["inputs"])
    rules = tmp_path / "rules.toml"
    rules.write_text(FILES["rules.toml"].replace("0.7", limit))
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    given = {"REPORTS": "models/new", "RULES": str(rules), "BASELINE": baseline, "UNDECIDED": undecided}
    assert step["env"].keys() == given.keys()
    done = run_script(folder, step["run"], **given, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == code, done.stderr
    words = {0: "### Pass: 4 of 4 passed.", 1: "### Fail: 3 of 4 passed, 1 failed.", 2: ""}[code]
    assert summary.read_text().startswith(f"before\n{words}")
    for file in folder.glob("oochub-check.*"):
        file.unlink()


@pytest.mark.slow
def test_the_job_of_gitlab_runs(folder):
    job = yaml.safe_load(FILES[GITLAB])["oochub-check"]
    install, check = job["script"]
    assert install.startswith("pip install") and job["allow_failure"] == {"exit_codes": 3}
    done = run_script(folder, check)
    assert done.returncode == 0 and (folder / job["artifacts"]["reports"]["junit"]).is_file(), done.stderr
    hook = yaml.safe_load(FILES[".pre-commit-config.yaml"])["repos"][0]["hooks"][0]
    assert run_script(folder, hook["entry"]).returncode == 0
    assert re.search(hook["files"], "models/new/report.json") and not re.search(hook["files"], "src/a.py")


def test_the_workflow_gives_the_action_what_it_takes():
    """Fault planted: an input that the action does not have."""
    action, workflow = (yaml.safe_load(FILES[name]) for name in (ACTION, WORKFLOW))
    (step,) = (each for each in workflow["jobs"]["check"]["steps"] if each["uses"].startswith("./"))
    assert step["uses"].removeprefix("./") == str(Path(ACTION).parent)
    needed = {name for name, about in action["inputs"].items() if about.get("required")}
    assert needed <= step["with"].keys() <= action["inputs"].keys()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("actionlint") is None, reason="no actionlint on the path")
def test_actionlint_finds_nothing(folder):
    done = subprocess.run(["actionlint", str(folder / WORKFLOW)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
