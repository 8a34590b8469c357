"""Files of the project that no code reads: the workflow, the templates, the changelog, the Makefile's help."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from oochub import catalog

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
FORMS = {
    "workflows/*.yml": "vendor.github-workflows",
    "ISSUE_TEMPLATE/[!c]*.yml": "vendor.github-issue-forms",
    "ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
}
"""The files of .github, by the schema that SchemaStore publishes and the package check-jsonschema holds."""


@pytest.mark.skipif(
    importlib.util.find_spec("check_jsonschema") is None, reason="no check-jsonschema: `make test` installs it"
)
def test_files_of_github_are_in_their_published_form(tmp_path: Path) -> None:
    """Faults planted: `run-on`; a step with `uses` and `run`; an issue's field of the type `text`."""
    checked = 0
    for pattern, schema in FORMS.items():
        files = sorted(map(str, GITHUB.glob(pattern)))
        done = _checked(schema, *files)
        assert files and done.returncode == 0, done.stdout
        checked += len(files)
    assert checked == len(list(GITHUB.rglob("*.yml")))
    fault = tmp_path / "ci.yml"
    fault.write_text((GITHUB / "workflows" / "ci.yml").read_text("utf-8").replace("runs-on", "run-on"), "utf-8")
    assert _checked("vendor.github-workflows", str(fault)).returncode == 1


def _checked(schema: str, *files: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_workflow_runs_all_that_must_pass() -> None:
    """Its jobs are the stages of `.ci/run`, which anybody can run. Faults planted: a stage less; `make test`."""
    workflow, run = (GITHUB / "workflows" / "ci.yml").read_text("utf-8"), (ROOT / ".ci" / "run").read_text("utf-8")
    stages = re.findall(r"\w+", re.search(r"^ +stage: \[(.*?)\]", workflow, re.M)[1])  # type: ignore[index]
    known = re.search(r"there are ([\w, ]+)\"", run)
    assert known and {*stages, "docs"} == set(known[1].split(", "))
    assert "run: .ci/run ${{ matrix.stage }}\n" in workflow
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
    lanes = run.partition("first_lane() {")[2].partition("if [ $#")[0]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    tested = set(re.findall(r"^(\w+):.*\n(?:\t.*\n)*?\t.*-m pytest", makefile, flags=re.M)) - {"campaign"}
    assert tested == {*re.findall(r"make (\w+)", lanes), "test", "slow", "newer", "newest"}


def test_make_alone_lists_every_target() -> None:
    """Faults planted: a target without its `##`; one that is not in .PHONY."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    listed = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines()]
    phony = re.search(r"^\.PHONY: (.*)$", makefile, flags=re.M)
    assert phony and sorted(phony[1].split()) == sorted(names)
    assert set(re.findall(r"^([a-z]+):", makefile, flags=re.M)) == set(names)
    assert all(len(line.split(maxsplit=1)[1]) > 10 for line in listed.splitlines())


def test_entries_of_the_changelog_are_short_and_stand_below_a_topic() -> None:
    """At most 25 words each; the newest version is that of pyproject.toml and CITATION.cff."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert re.findall(r"^## (\S+)", text, flags=re.M)[0] == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    topic, entries = "", []
    for line in text.partition("\n## ")[2].splitlines()[1:]:
        if line.startswith("## "):
            break
        topic = line if line.startswith("### ") else topic
        if line.startswith("- "):
            assert topic, line
            entries.append(line.removeprefix("- "))
        else:
            assert not line or line.startswith("### "), line
    assert len(entries) > 100
    assert not [each for each in entries if len(each.split()) > 25]


def test_contributing_names_every_kind_of_plug_in() -> None:
    """By the folder that holds it, which is there. Faults planted: the row of a mode left out; a folder that moved."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for kind in catalog.kinds():
        folder = Path(catalog.module_name(kind, catalog.names(kind)[0]).replace(".", "/")).relative_to("oochub").parent
        place = folder if (ROOT / folder).is_dir() else Path("src/oochub") / folder
        place = place.parent if kind == "metric" else place
        assert f"`{place}/<name>" in text, f"{kind}: {place}"
    for named in re.findall(r"`(tests/[\w/]+\.py|docs/make/\w+\.py|src/oochub/\w+/)`", text):
        assert (ROOT / named).exists(), named


def test_tests_that_pages_name_are_there() -> None:
    """By path or name, in docs/, README and CONTRIBUTING. Faults planted: a test that moved; one of another name."""
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}
    names = {path.rpartition("/")[2] for path in files}
    named = re.compile(r"(?<![\w<])tests/[\w/]+\.py|(?<![\w/<])test_\w+\.py")
    counts = {}
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        found = named.findall(page.read_text("utf-8"))
        gone = [each for each in found if each not in (files if "/" in each else names)]
        assert not gone, f"{page.name} names tests that are not there: {gone}"
        counts[page.name] = len(found)
    assert counts["security.md"] > 50 and counts["CONTRIBUTING.md"] > 5
