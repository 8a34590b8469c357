"""Contract tests of the house: who imports whom, names, one public thing a file, docstrings, what an import loads."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping

import pytest
from import_graph import (
    PLUGIN_FOLDERS,
    ROOT,
    Graph,
    circles,
    code_lines,
    files,
    import_graph,
    imported_names,
    nodes_of,
    reach,
    trees,
)

import oochub
from oochub import catalog

FILES = files()
ROOMS = (
    "errors",
    "metric",
    "storage remote",
    "process class_names",
    "stats",
    "records",
    "settings",
    "benchmark context_finder",
    "catalog builder",
    "detector registration section input output",
    "inputs outputs",
    "models report",
    "builders eval_modules",
    "prediction",
    "data exchange",
    "repository detection",
    "context_finding evaluation trainers",
    "training predicting sections comparison auditing",
    "checking repairs sweep leaderboard",
    "repairing showing",
    "dataset_cards",
    "loading_scripts",
    "hub",
    "oochub",
    "commands",
    "attention browsing probing reviewing",
    "app",
    "cli",
    "figures",
    "studies",
)
"""The rooms from the ground up: a room imports only rooms of earlier lines, for types too. A module right under
`oochub` is a room of its own, and `oochub` is the package itself, which names what users call."""
BY_NAME = {"trainers": ("eval_modules", "builders"), "eval_modules": ("builders",)}
"""What a folder reaches only by the catalog, though it stands on an earlier line."""
CODE_LINES = {
    "app": 210,
    "attention": 800,
    "auditing": 170,
    "benchmark": 200,
    "browsing": 850,
    "builder": 300,
    "builders": 10460,
    "catalog": 190,
    "checking": 1110,
    "class_names": 450,
    "cli": 100,
    "commands": 2530,
    "comparison": 3100,
    "context_finder": 50,
    "context_finding": 1550,
    "data": 3760,
    "dataset_cards": 250,
    "detection": 710,
    "detector": 350,
    "errors": 70,
    "eval_modules": 3090,
    "evaluation": 2770,
    "exchange": 1900,
    "figures": 2510,
    "hub": 1430,
    "input": 150,
    "inputs": 1810,
    "leaderboard": 1860,
    "loading_scripts": 350,
    "metric": 250,
    "models": 5440,
    "oochub": 100,
    "output": 200,
    "outputs": 900,
    "predicting": 40,
    "prediction": 2650,
    "probing": 1400,
    "process": 345,
    "records": 2500,
    "registration": 150,
    "remote": 560,
    "repairing": 300,
    "repairs": 2250,
    "report": 2220,
    "repository": 1300,
    "reviewing": 620,
    "section": 100,
    "sections": 3110,
    "settings": 1510,
    "showing": 50,
    "stats": 3160,
    "storage": 1650,
    "studies": 5400,
    "sweep": 1900,
    "trainers": 4450,
    "training": 200,
}
"""The lines of code of each room, at most: whoever raises one says why in the same commit."""
AUDIT_LINES = 27_600
"""Lines of code of `oochub.auditing` and all that it imports, at most; raised as `CODE_LINES` is."""
HEAVY = ("datasets", "torch", "transformers", "evaluate", "pandas", "scipy.stats", "sklearn", "matplotlib")
BUT_PANDAS = tuple(name for name in HEAVY if name != "pandas")  # pyarrow imports it where it is installed
COMMAND = "import sys, oochub.cli\nsys.argv[1:] = {}\ntry:\n  oochub.cli.main()\nexcept SystemExit:\n  print()"


def _room(module: str) -> str:
    """The folder or module right under `oochub`, or "oochub" itself."""
    return module.split(".")[1] if "." in module else module


def _place(room: str) -> int:
    """The line of ROOMS that a room stands on."""
    for line, rooms in enumerate(ROOMS):
        if room in rooms.split():
            return line
    raise AssertionError(f"ROOMS of {__file__} does not place {room}. Say on which line it belongs.")


def _upward(graph: Graph) -> list[str]:
    """The imports that go up, or into another room of the same line."""
    lines = []
    for module, others in graph.items():
        for other in others:
            room, there = _room(module), _room(other)
            if room != there and _place(there) >= _place(room):
                lines.append(f"{module} imports {other}, whose room does not stand below {room} in ROOMS")
    return lines


def _unnamed(graph: Graph) -> list[str]:
    """The imports of what should be asked of the catalog by its name."""
    plugins = {catalog.module_name(kind, name) for kind in catalog.kinds() for name in catalog.names(kind)}
    lines = []
    for module, others in graph.items():
        folder = module.split(".")[1] if "." in module else ""
        for other in others:
            there = other.split(".")[1] if "." in other else ""
            is_plugin = other in plugins and folder not in (there, "studies")
            if is_plugin or there in BY_NAME.get(folder, ()):
                lines.append(f"{module} imports {other}; ask oochub.catalog for it by name")
    return lines


def test_no_circle_of_imports():
    """Between modules, and between rooms: lazy imports and those for types too."""
    modules = import_graph()
    assert len(modules) > 200
    assert not circles(modules)
    fault = {
        **modules,
        "oochub.records.report_records": modules["oochub.records.report_records"] | {"oochub.evaluation.evaluate"},
    }
    assert any("oochub.records.report_records" in circle for circle in circles(fault))
    rooms: dict[str, set[str]] = defaultdict(set)
    for module, others in import_graph().items():
        rooms[_room(module)] |= {_room(other) for other in others} - {_room(module)}
    assert not circles(rooms)
    assert circles({**rooms, "models": rooms["models"] | {"prediction"}})


FAULTS = {
    "oochub.builders.nooch": "oochub.trainers.robust_trainer",  # builders never import trainers
    "oochub.builders.spawrious": "oochub.studies.nooch.verification",
    "oochub.report.report": "oochub.figures.gallery",  # the core imports neither figures nor studies
    "oochub.commands.evaluate": "oochub.studies.demo.demo",
    "oochub.figures.tau_loss": "oochub.studies.demo.effect",
    "oochub.records.metadata": "oochub.prediction.predict",  # a record stands below the step that makes it
    "oochub.stats.delong": "oochub.evaluation.evaluate",
    "oochub.auditing": "oochub.probing.probes.background",  # found by its name
    "oochub.evaluation.evaluate": "oochub.trainers.samplers",  # rooms of one line do not know each other
    "oochub.inputs.texts": "oochub.prediction.predictions",  # for types too
}


def test_nothing_imports_upward():
    """Faults planted: those of FAULTS, each alone."""
    graph = import_graph()
    upward = _upward(graph)
    assert not upward, "\n".join(upward)
    for module, other in FAULTS.items():
        assert other in graph and _upward({module: graph[module] | {other}}), (module, other)


def test_plugins_are_found_by_name():
    """Faults planted: a trainer that imports a metric, an evaluation a detector, a detector a builder's file."""
    graph = import_graph()
    assert not _unnamed(graph), "\n".join(_unnamed(graph))
    for module, other in {
        "oochub.trainers.losses": "oochub.eval_modules.metrics.nll.nll",
        "oochub.evaluation.evaluate": "oochub.eval_modules.detectors.msp",
        "oochub.eval_modules.detectors.msp": "oochub.builders.sources.coco",
    }.items():
        assert other in graph and _unnamed({module: {other}}), (module, other)


def _lost_tests(tests: dict[str, str], modules: list[str]) -> list[str]:
    """The tests that are not where their file's name leads, or bear another name and do not say what they test.

    Args:
        tests: The first line of the docstring of each file under tests/, by its path there.
        modules: The dotted names of the project's files.
    """
    rooms = defaultdict(set)
    for module in modules:
        rooms[module.rpartition(".")[2]].add(_room(module))
    lines = []
    for path, first in tests.items():
        room, name = path.rpartition("/")[0].split("/")[0], path.rpartition("/")[2].removesuffix(".py")[5:]
        homes = rooms.get(name, set())
        if homes and room not in (*homes, "fuzz") and not (room == "" and name in homes):
            lines.append(f"{path} tests a file of {' or '.join(sorted(homes))}: it belongs there")
        if len(first) < 30:
            lines.append(f"{path} must say what it tests in a first line of 30 characters or more, got {first!r}")
    return lines


def test_tests_follow_their_files():
    """`tests/<room>/test_<file>.py`. Faults planted: a test in another room, one that says nothing."""
    folder = ROOT / "tests"
    tests = {
        str(file.relative_to(folder)): file.read_text("utf-8").split("\n")[0].removeprefix('"""').removesuffix('"""')
        for file in sorted(folder.rglob("test_*.py"))
    }
    modules = [module for module in import_graph() if "." in module]
    assert len(tests) > 200
    lost = _lost_tests(tests, modules)
    assert not lost, "\n".join(lost)
    assert _lost_tests({"hub/test_files.py": "Files whole or not at all, in whatever room."}, modules)
    assert _lost_tests({"hub/test_wonders.py": ""}, modules)


def test_few_modules_at_the_root():
    """What a plug-in declares or subclasses, the catalog, the door, and what a user calls across rooms."""
    root = [file for file in FILES if file.parent == ROOT / "src" / "oochub"]
    assert 5 < len(root) <= 19, root


def _serves(module: str) -> bool:
    """Whether a module may bear the name of another: a command, figure, study, script, source, mode, or its folder."""
    parts = module.split(".")
    served = {"commands", "loading_scripts", "sources", "modes", "figures"} & set(parts[:-1]) or parts[-1] == "commands"
    is_study = parts[1:2] == ["studies"] and len(parts) == 3
    return bool(served) or is_study or parts[-1] == parts[-2]


def _shared_module_names(modules: list[str]) -> list[str]:
    names = defaultdict(list)
    for module in modules:
        if not _serves(module):
            names[module.rpartition(".")[2]].append(module)
    return [" and ".join(several) for several in names.values() if len(several) > 1]


def test_no_two_modules_share_a_name():
    """Fault planted: a second `predictions`, in another room."""
    modules = [module for module in import_graph() if "." in module]
    assert not _shared_module_names(modules)
    assert _shared_module_names([*modules, "oochub.evaluation.predictions"])


def _shared_class_names(trees: dict[str, ast.Module]) -> list[str]:
    places = defaultdict(list)
    for module, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module)
    return [f"{name}: {' and '.join(several)}" for name, several in places.items() if len(several) > 1]


def test_no_two_public_classes_share_a_name():
    """Fault planted: a second `Report`."""
    assert not _shared_class_names(trees())
    assert _shared_class_names({**trees(), "oochub.evaluation.other": ast.parse("class Report:\n    pass")})


@pytest.mark.slow
def test_folders_are_imported_as_parts_of_oochub():
    """`import builders` would be a second copy of every module. Fault planted: that line in test_files.py."""
    tests = list((ROOT / "tests").rglob("*.py"))
    assert len(tests) > 100
    for file in [*FILES, *tests]:
        names = {name.partition(".")[0] for name in imported_names(ast.parse(file.read_text("utf-8")))}
        assert not names & set(PLUGIN_FOLDERS), file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import oochub", HEAVY),
        ("import oochub\nfor k in oochub.catalog.kinds(): oochub.names(k)", HEAVY),
        (
            "import oochub\nfrom oochub import catalog\nfor k in catalog.kinds():\n  for n in catalog.names(k): "
            "catalog.summary(k, n)",
            HEAVY,
        ),
        ("import oochub.cli", HEAVY),
        (COMMAND.format(["--help"]), HEAVY),
        (COMMAND.format(["list"]), HEAVY),
        (COMMAND.format(["show", "metric", "worst_group"]), BUT_PANDAS),
        (COMMAND.format(["show", "detector", "vim"]), HEAVY),
        (COMMAND.format(["show", "objective", "group_dro"]), HEAVY),
        (COMMAND.format(["show", "criterion", "gist"]), BUT_PANDAS),
        (COMMAND.format(["show", "figure", "gallery"]), BUT_PANDAS),
        (COMMAND.format(["show", "command", "train"]), HEAVY),
        (COMMAND.format(["show", "benchmark", "nooch"]), ("torch", "transformers", "evaluate", "scipy.stats")),
        (
            "from oochub.report.report import Report\nfrom oochub.report.page import render_page",
            ("torch", "matplotlib"),
        ),
        ("from oochub.evaluation.evaluate import evaluate", BUT_PANDAS),
    ],
)
def test_imports_are_light(code, absent):
    """Planted faults: `import torch` at the head of provenance.py, `import pandas` at that of a command."""
    assert not _imported(code, absent)


def test_evaluating_your_own_predictions_is_light(tmp_path):
    """Planted fault: evaluation.tasks, which imports `datasets`, imported by the command when no task is asked for."""
    from oochub.prediction.predictions import Predictions

    path = tmp_path / "own.parquet"
    Predictions.from_arrays(logits=[[1.0, 0.0], [0.0, 1.0]] * 20, label=[0, 1, 1, 0] * 10).save(path)
    assert not _imported(COMMAND.format(["evaluate", str(path), "--out", str(tmp_path / "report.json")]), BUT_PANDAS)
    assert (tmp_path / "report.json").is_file()


def test_checking_a_report_reads_no_predictions_and_computes_nothing(tmp_path):
    """Planted faults: `from scipy import special` in stats.p_values; every section asked by `Report.load`."""
    from oochub.prediction.predictions import Predictions

    predictions = Predictions.from_arrays(logits=[[1.0, 0.0], [0.0, 1.0]] * 20, label=[0, 1, 1, 0] * 10)
    report, rules = oochub.evaluate(predictions).save(tmp_path / "report.json"), tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nmetric = "auc"\nat_least = 0.1\n', "utf-8")
    absent = ("pyarrow", "pandas", "scipy.special", "oochub.sections.worst_mistakes", *BUT_PANDAS)
    assert not _imported(COMMAND.format(["check", str(report), "--rules", str(rules)]), absent)


def _imported(code, modules):
    """Those of the modules that some code imports, in a process of its own."""
    check = f"{code}\nimport sys\nprint(*(m for m in {modules!r} if m in sys.modules), sep=',')"
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[-1]


@pytest.mark.parametrize("kind", catalog.kinds())
def test_each_name_gives_one_public_thing(kind):
    covered = 0
    for name in oochub.names(kind):
        thing = oochub.get(kind, name)
        assert callable(thing) or kind == "benchmark"
        summary = catalog.summary(kind, name)
        assert summary.endswith(".") and 20 < len(summary) <= 140, (name, summary)
        if kind in ("metric", "criterion"):
            assert thing.__name__ == name and ">>>" in thing.__doc__ and "Raises:" in thing.__doc__, name
        if kind == "objective":
            assert thing.__name__.lower() == name.replace("_", ""), (thing.__name__, name)
        covered += 1
    assert covered, kind


def _public(module) -> set[str]:
    """What a module defines under a public name, but for the classes that `datasets` and `evaluate` must find."""
    import datasets

    from oochub.metric import MetricShell

    found = set()
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__ and callable(value)
        found_by_others = inspect.isclass(value) and issubclass(
            value, datasets.DatasetBuilder | datasets.BuilderConfig | MetricShell
        )
        if own and not found_by_others and not name.startswith("_"):
            found.add(name)
    return found


@pytest.mark.parametrize("kind", catalog.kinds())
def test_one_public_object_a_file(kind):
    """Planted fault seen: a helper of ece.py without its underscore."""
    for name in oochub.names(kind):
        module = importlib.import_module(catalog.module_name(kind, name))
        public = _public(module)
        assert len(public) == (kind != "benchmark"), (name, public)


def test_unknown_names_say_what_is_near():
    with pytest.raises(oochub.OochubError, match="Did you mean 'group_dro'"):
        oochub.get("objective", "groupdro")
    with pytest.raises(oochub.OochubError, match="Did you mean 'metric'"):
        oochub.names("metrics")
    with pytest.raises(oochub.OochubError, match="Did you mean 'ece'"):
        oochub.get("metric", "eec")


def test_files_are_short_and_say_what_they_are():
    for file in FILES:
        assert len(file.read_text("utf-8").splitlines()) <= 700, file
    for module, tree in trees().items():
        assert ast.get_docstring(tree), module


def _judge_sizes(sizes: Mapping[str, int]) -> list[str]:
    """What CODE_LINES says that is not so."""
    lines = [f"{room} is not in CODE_LINES" for room in sizes.keys() - CODE_LINES.keys()]
    lines += [f"CODE_LINES names {room}, which is no room" for room in CODE_LINES.keys() - sizes.keys()]
    for room, most in CODE_LINES.items():
        n = sizes.get(room, most)
        if n > most:
            lines.append(f"{room} has {n} lines of code, {most} are allowed: find what it can replace, or say why not")
        if n <= most - 100:
            lines.append(f"{room} has {n} lines of code: let CODE_LINES hold it to that, not to {most}")
    return lines


def test_rooms_do_not_grow_by_themselves():
    """Planted faults seen: a room with one line more than it may have, one that is 100 lines smaller, a new room."""
    sizes: dict[str, int] = defaultdict(int)
    for module, n in code_lines().items():
        sizes[_room(module)] += n
    wrong = _judge_sizes(sizes)
    assert not wrong, "\n".join(wrong)
    for fault in ({"stats": CODE_LINES["stats"] + 1}, {"stats": CODE_LINES["stats"] - 100}, {"attic": 1}):
        assert _judge_sizes({**sizes, **fault})


def test_what_an_audit_imports_does_not_grow_by_itself():
    """Planted fault seen: an audit that imports the sweep."""
    reached = reach("oochub.auditing")
    n = sum(code_lines()[module] for module in reached)
    assert AUDIT_LINES - 200 < n <= AUDIT_LINES, n
    assert n + sum(code_lines()[module] for module in reach("oochub.sweep.sweep") - reached) > AUDIT_LINES


def test_links_to_the_folders():
    for folder in PLUGIN_FOLDERS:
        link = ROOT / "src" / "oochub" / folder
        assert link.is_symlink() and link.resolve() == ROOT / folder


def test_cards_are_those_of_the_declarations(tmp_path):
    """Planted faults: a changed summary in a declaration, or docstring of a metric, fails until `make cards`."""
    from oochub.dataset_cards.write_cards import write_cards

    cards = write_cards(tmp_path)
    assert len(cards) >= len(oochub.names("benchmark")) + len(oochub.names("metric"))
    for card in cards:
        assert card.read_text("utf-8") == (ROOT / card.relative_to(tmp_path)).read_text("utf-8"), "run `make cards`"


def test_no_machine_paths_or_indexes():
    import re

    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    if tracked == [""]:
        pytest.skip("not a git checkout")
    pattern = re.compile(r"(^|[^.\w])/(w[o]rk|h[o]me|r[o]ot)/|--i[n]dex-url")
    for name in filter(None, tracked):
        path = ROOT / name
        if (path.suffix in (".png", ".jpg", ".webp", ".parquet", "") and path.name != "Makefile") or not path.is_file():
            continue
        assert not pattern.search(path.read_text("utf-8")), name


def _long_functions(trees: dict[str, ast.Module], most: int) -> list[str]:
    """The functions of more lines than `most`: signature and body without the docstring."""
    found = []
    for module, tree in trees.items():
        for node in nodes_of(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                said = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
                lines = (node.end_lineno - node.lineno + 1) - (said.end_lineno - said.lineno + 1 if said else 0)
                if lines > most:
                    found.append(f"{module}.{node.name} has {lines} lines without its docstring, at most {most}")
    return found


def test_functions_are_short():
    """Planted fault seen: one line more in `_train`, which has 80."""
    assert not _long_functions(trees(), 80)
    lines = "".join(f"    x = {k}\n" for k in range(80))
    assert _long_functions({"oochub.new": ast.parse(f'def f():\n    """Says it."""\n{lines}')}, 80)
