"""`oochub check` as its user types it: exit codes, outputs, what is refused, and first rules from a report."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import reports

from oochub.storage import artifacts

WRITTEN = {
    ("check", "--junit"): artifacts.JUNIT,
    ("check", "--summary"): artifacts.MARKDOWN,
    ("check", "--badge"): artifacts.BADGE,
}
READ_PATHS = {
    ("check", "--rules"): "the rules; with --suggest written, where no file is",
    ("check", "--baseline"): "the report of the old model",
}


def _typed(inputs, out):
    rules = Path(inputs("report.json")).with_name("rules.toml")
    if rules.is_absolute():  # else only the words are asked for
        rules.write_text('[[rule]]\nmetric = "accuracy"\nat_least = 0.001\n')
    outputs = ("--junit", f"{out}/junit.xml", "--summary", f"{out}/summary.md", "--badge", f"{out}/badge.svg")
    return ["check", inputs("report.json"), "--rules", str(rules), *outputs]


TYPED = {"check": _typed}

RULES = """
[[rule]]
metric = "{metric}"
slice = "hard"
at_least = {limit}
"""


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    reports.read(reports.nooch_report()).save(tmp_path / "report.json")

    def call(*words):
        code, out, err = run("check", *words)
        return code, out, " ".join(err.split())

    return call


def write_rules(limit, *, metric="auc"):
    Path("rules.toml").write_text(RULES.format(metric=metric, limit=limit))
    return "--rules", "rules.toml"


@pytest.mark.parametrize(
    ("limit", "words", "code"),
    [
        (0.6, (), 0),
        (0.9, (), 1),
        (0.733, (), 3),
        (0.733, ("--undecided", "pass"), 0),
        (0.733, ("--undecided", "fail"), 1),
        (0.9, ("--undecided", "pass"), 1),
    ],
)
def test_exit_codes(run, limit, words, code):
    """The interval of the report is 0.690 to 0.773. Fault planted: 0 whatever comes."""
    assert run("report.json", *write_rules(limit), *words)[0] == code


def test_every_output_is_written_also_when_a_rule_fails(run, tmp_path):
    """Fault planted: the exit before the files are written."""
    outputs = {"--junit": "a.xml", "--summary": "a.md", "--badge": "a.svg"}
    words = [word for pair in outputs.items() for word in pair]
    code, out, _ = run("report.json", *write_rules(0.9), *words)
    assert code == 1 and out.splitlines()[-3:] == list(outputs.values())
    assert ElementTree.fromstring(Path("a.xml").read_text()).attrib["failures"] == "1"  # noqa: S314
    assert Path("a.md").read_text().startswith("### Fail: 0 of 1 passed, 1 failed.")
    assert "1 of 1 failed" in Path("a.svg").read_text()
    assert run("report.json", *write_rules(0.6), *words)[0] == 0  # in the place of those before
    assert "1 of 1 passed" in Path("a.svg").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "a.svg", "a.xml", "report.json", "rules.toml"]


def test_json(run):
    code, out, _ = run("report.json", *write_rules(0.9), "--json", "--badge", "a.svg")
    content = json.loads(out)
    assert code == content["exit_code"] == 1 and content["badge"] == "a.svg"
    assert content["outcomes"][0]["number"]["n"] == 412


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report.json",), "--rules FILE.toml"),
        (("report.json", "--rules", "nowhere.toml"), "Cannot read nowhere.toml: there is no such file"),
        (("nowhere.json", "--rules", "rules.toml"), "Report not found: nowhere.json"),
        (("report.json", "--rules", "report.json"), "report.json is not TOML"),
        (("rules.toml", "--rules", "rules.toml"), "rules.toml is not a report"),
        (("report.json", "--rules", "worse.toml"), "Pass its report: --baseline REPORT"),
        (("report.json", "--rules", "rules.toml", "--baseline", "report.json"), "Remove --baseline"),
        (("report.json", "--rules", "rules.toml", "--undecided", "maybe"), "'maybe'"),
        (("report.json", "--rules", "rules.toml", "--margin", "3"), "--margin requires --suggest"),
        (("report.json", "--rules", "rules.toml", "--badge", "a.png"), "must end in .svg"),
        (("report.json", "--rules", "misspelt.toml"), "Did you mean 'auc'"),
        (("report.json", "--suggest", "--badge", "a.svg"), "--suggest does not check anything"),
        (("report.json", "report.json", "--suggest"), "--suggest starts from one report, got 2"),
        (("report.json", "--suggest", "--rules", "rules.toml"), "Cannot write a new file of rules"),
    ],
)
def test_what_is_refused(run, tmp_path, words, said):
    write_rules(0.9, metric="auk")
    Path("rules.toml").rename("misspelt.toml")
    Path("worse.toml").write_text('[[rule]]\nmetric = "auc"\nat_most_worse = 0.02\n')
    write_rules(0.6)
    before = sorted(tmp_path.iterdir())
    code, out, err = run(*words)
    assert code == 2 and said in err, err
    assert sorted(tmp_path.iterdir()) == before and not out


def test_first_rules_are_printed_or_written(run):
    """What is printed is what is written, and the report keeps it. Fault planted: markup taken out of the text."""
    code, printed, _ = run("--suggest", "report.json")
    assert code == 0
    rules = tomllib.loads(printed)["rule"]
    assert [rule["metric"] for rule in rules] == ["auc", "auc", "auc", "gap", "worst_group"]
    code, out, _ = run("--suggest", "report.json", "--rules", "new.toml")
    assert code == 0 and out == "new.toml\n" and Path("new.toml").read_text() == printed
    assert run("report.json", "--rules", "new.toml", "--undecided", "pass")[0] == 0
    code, wide, _ = run("--suggest", "report.json", "--margin", "10")
    limits = [[rule["at_least"] for rule in tomllib.loads(text)["rule"]] for text in (printed, wide)]
    assert limits[1][:4] == pytest.approx([limit - 0.08 for limit in limits[0][:4]])


def test_a_check_imports_neither_torch_nor_the_evaluation(tmp_path):
    """A check of stored reports reads them and no more. Fault planted: `import pyarrow` in metadata.py."""
    reports.read(reports.nooch_report()).save(tmp_path / "report.json")
    (tmp_path / "rules.toml").write_text(RULES.format(metric="auc", limit=0.6))
    code = (
        "import sys; sys.argv = ['oochub', 'check', 'report.json', '--rules', 'rules.toml']\n"
        "from oochub.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stopped:\n    assert not stopped.code\n"
        "slow = {'torch', 'datasets', 'transformers', 'evaluate', 'scipy.stats', 'sklearn', 'matplotlib', 'jinja2'}\n"
        "slow |= {'pandas', 'pyarrow'}\n"
        "print(sorted((slow | {'oochub.evaluation.evaluate', 'oochub.prediction.predictions'}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
