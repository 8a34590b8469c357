"""Contract tests over every record of settings: each field is an option, shown, checked, read, and typed back."""

import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
import typer
from declared_in_tests import declared_in_tests
from import_graph import ROOT, files

import oochub
from oochub import catalog, settings
from oochub.app import every_command
from oochub.cli import main
from oochub.commands._options import _record, records_of, with_options
from oochub.errors import OochubError, word_for_shell
from oochub.records.typed_values import list_kinds
from oochub.settings import only
from oochub.settings import with_options as with_keywords
from oochub.settings.data_settings import DataSettings
from oochub.settings.evaluation_settings import IntervalSettings
from oochub.settings.keywords import list_records
from oochub.settings.option import Option, Settings, get_default, list_options, type_of
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.repair_settings import RepairSettings
from oochub.settings.report_settings import OutputSettings
from oochub.stats.p_values import Correction

sys.path.insert(0, str(ROOT / "docs" / "make"))
import signatures  # the maker of `make options`

MODULES = [import_module(f"oochub.settings.{each.name}") for each in iter_modules(settings.__path__)]
RECORDS = [
    value
    for module in MODULES
    for value in vars(module).values()
    if inspect.isclass(value) and issubclass(value, Settings) and value.__module__ == module.__name__
    if value is not Settings and not value.__subclasses__()  # its options are those of each that it is the base of
]
FIELDS = [(kind, name) for kind in RECORDS for name in list_options(kind)]
FUNCTIONS = {name: catalog.get("command", name) for name in oochub.names("command")}
COMMANDS = every_command()
FUNCTIONS_OF_PYTHON = signatures.FUNCTIONS


def keywords_of(name: str) -> dict[str, type[Settings]]:
    """The options that a public function takes, each with its record."""
    return {field: each.kind for each in list_records(FUNCTIONS_OF_PYTHON[name]).values() for field in each.names}


SUFFIXES = {"saliency": ".png"}  # of what a command writes
CHECKED_WHERE_USED = {  # fields that take an object, or of several types: what reads them says what is wrong
    "baseline": "a report or its path",
    "earlier": "reports or their paths",
    "benchmark": "a source or splits",
    "calibrate_on": "a split, a folder or rows, looked at before the model",
    "class_names": "a list, checked before the first row",
    "context_names": "a list, or a text with commas",
    "contexts": "a name or a way",
    "detectors": "names or detectors",
    "metrics": "names or functions",
    "objective": "a name or an Objective",
    "device": "a name or a device of torch, looked for before the model",
    "features": "true, the name of a layer or a function",
    "image_processor": "a folder, an id or an object",
    "label_map": "a file or a mapping",
    "masks": "a path",
    "metric": "a name or several",
    "pairs": "pairs of names",
    "predictions": "paths",
    "proxy": "predictions or their paths",
    "processor": "a folder, an id or an object",
    "reference": "a path or predictions",
    "segmenter": "a folder, an id or a way",
    "slice": "a name or several",
    "transform": "a function",
}
OWN = {  # options of commands that bear a field's name, each with what it means there; of a new one in its test:
    # OWN_OPTIONS = {("name", "--seed"): "of the drawing"}
    ("build", "--config"): "several at once",
    ("build", "--num-proc"): "a build is not pushed",
    ("challenge", "--context"): "the criterion's column",
    ("challenge", "--label"): "the criterion's column",
    ("contexts", "--rows"): "how many to judge",
    ("spawrious compose", "--model"): "whose features the heads are trained on",
    ("spawrious compose", "--num-proc"): "a composition is not pushed",
    ("spawrious compose", "--seed"): "of the search",
    ("spawrious cleanliness", "--images"): "how many",
    ("spawrious cleanliness", "--model"): "a CLIP-like model",
    ("spawrious cleanliness", "--seed"): "of the sample",
    ("waterbirds construct", "--seed"): "of the draw",
    ("contexts", "--model"): "its name of before",
    ("demo", "--seed"): "of the toy world",
    ("imagenet_ood detect", "--batch-size"): "32 on the CPU",
    ("imagenet_ood detect", "--classes"): "of the study",
    ("imagenet_ood detect", "--detector"): "of the study",
    ("imagenet_ood detect", "--pair"): "of the study",
    ("imagenet_ood detect", "--reference"): "also a benchmark",
    ("imagenet_ood detect", "--reported"): "of the study",
    ("imagenet_ood detect", "--set"): "its name of before",
    ("imagenet_ood detect", "--table"): "of the study",
    ("evaluate", "--task"): "several, or every",
    ("example", "--seed"): "of the drawing",
    ("spawrious prompt_check", "--images"): "how many",
    ("report", "--detector"): "of the figures",
    ("report", "--images"): "on the page",
    ("report", "--reference"): "of the figures",
    ("saliency", "--label"): "a class",
    ("saliency", "--masks"): "of the share",
    ("report", "--predictions"): "behind the report, for --browse",
    ("saliency", "--seed"): "of the noise",
    ("saliency", "--split"): "one",
    ("show", "--data-dir"): "whose files are marked found",
    ("challenge", "--set"): "its name of before",
    ("nooch suite", "--split"): "of the study",
    ("sweep", "--features"): "of the track",
    ("nooch verify", "--contexts"): "of the study",
    ("sweep", "--set"): "its name of before",
    ("sweep", "--dry-run"): "trains nothing",
    ("cache", "--dry-run"): "clears nothing",
}
OWN |= declared_in_tests("OWN_OPTIONS", "commands") | declared_in_tests("OWN_OPTIONS", "studies")


def own_options(command) -> set[str]:
    """The options that a command's function declares by itself, by their flags."""
    hints = get_type_hints(command, include_extras=True)
    names = {name for name in inspect.signature(command).parameters if not _record(hints[name])}
    return {
        parameter.opts[0]
        for parameter in typer_options(command)
        if parameter.name in names and parameter.param_type_name == "option"
    }


def typer_options(command) -> list[Any]:
    """The options of a command as typer reads them."""
    name = next((each for each, function in FUNCTIONS.items() if function is command), "planted")
    one = typer.Typer(add_completion=False)
    one.command(name)(with_options(command, name))
    return typer.main.get_command(one).params


def redeclared(name: str, command) -> list[str]:
    """The options of a command's own that are a field's by their flag, and are not said to be another."""
    flags = {about.flag_alone for kind in RECORDS for about in list_options(kind).values()}
    return sorted(flag for flag in own_options(command) & flags if (name, flag) not in OWN)


def test_an_option_is_declared_once():
    """Planted faults: a command with --data-dir of its own; a name in OWN that no command has."""
    wrong = {name: flags for name, command in FUNCTIONS.items() if (flags := redeclared(name, command))}
    assert not wrong, "take the field of the record, or say in OWN_OPTIONS of its test what it means there"
    own = {(name, flag) for name, command in FUNCTIONS.items() for flag in own_options(command)}
    assert OWN.keys() <= own, sorted(OWN.keys() - own)

    def planted(data_dir: str = "x") -> None:
        """A command."""

    assert redeclared("planted", planted) == ["--data-dir"]


def test_every_field_is_an_option_and_is_read():
    """Of a command or of a public function; planted fault: one that neither has."""
    shown = {(OutputSettings, name) for name in list_options(OutputSettings)}  # of all that write: test_output_contract
    for name, command in FUNCTIONS.items():
        for kind, shows in records_of(command):
            for field, about in list_options(kind).items():
                if shows.has(field) and (about.commands is None or name in about.commands):
                    shown.add((kind, field))
    taken = {(kind, field) for name in FUNCTIONS_OF_PYTHON for field, kind in keywords_of(name).items()}
    unshown = [f"{kind.__name__}.{name}" for kind, name in FIELDS if (kind, name) not in shown | taken]
    assert not unshown
    code = "\n".join(file.read_text("utf-8") for file in files())
    unread = [name for _, name in FIELDS if not re.search(rf"""\.{name}\b|"{name}\"""", code)]
    assert not unread, "nothing reads them"
    assert not re.search(r"\.no_such_field\b", code)
    known = set(FUNCTIONS)
    for kind, name in FIELDS:
        assert set(list_options(kind)[name].commands or ()) <= known, f"{name} names a command that there is not"


def check_field(kind: type[Settings], name: str) -> None:
    """What a field says, and that it refuses what it is not."""
    about = list_options(kind)[name]
    assert about.help.endswith(".") and about.panel, f"{name}: help= is a sentence or two, panel= its part of --help"
    assert not about.more or about.more.endswith("."), name
    wrong = wrong_value(kind, name)
    if wrong is MISSING:
        assert name in CHECKED_WHERE_USED, f"{name} takes anything: give it a type, or say who checks it"
        return
    named = {"python": rf"\b{name}\b", "shell": re.escape(about.flag_alone)}
    if about.commands == () or any(get_origin(each) is Iterable for each in list_kinds(type_of(kind, name))):
        del named["shell"]  # no command has it; or all that can be typed is text
    for speaker, pattern in named.items():
        with pytest.raises(OochubError) as refused:
            if speaker == "shell":
                with word_for_shell():
                    kind(**{name: wrong})
            else:
                kind(**{name: wrong})
        words = str(refused.value)
        assert re.search(pattern, words) or f"No {about.noun or name} named" in words, words


def wrong_value(kind: type[Settings], name: str) -> Any:
    """A value that a field must refuse; MISSING where it takes anything."""
    about, kinds = list_options(kind)[name], list_kinds(type_of(kind, name))
    if Any in kinds or object in kinds:
        return MISSING
    if any(get_origin(each) is Literal for each in kinds):
        return "nonsense"
    if about.above is not None:
        return about.above
    if about.least is not None:
        return about.least - 1
    return 3 if int not in kinds and float not in kinds else "three"


@pytest.mark.parametrize("kind", RECORDS)
def test_a_wrong_value_is_an_error_that_names_the_option(kind):
    covered = 0
    for name in list_options(kind):
        check_field(kind, name)
        covered += 1
    assert covered


def wrong_words(kind: type[Settings], name: str) -> list[str]:
    """What no command may take for a field; nothing where every text is right."""
    about, kinds = list_options(kind)[name], list_kinds(type_of(kind, name))
    if about.form:
        return [about.flag_alone, "key"]
    is_plain = bool({int, float} & set(kinds)) or any(get_origin(each) is Literal for each in kinds)
    return [about.flag_alone, "nonsense"] if is_plain else []


@pytest.mark.parametrize("name", [name for name, command in FUNCTIONS.items() if any(records_of(command))])
def test_the_shell_names_the_option_of_a_wrong_value(name, monkeypatch, capsys, tmp_path):
    """With all that is required beside it, none of which is there: before the command looks for anything."""
    monkeypatch.chdir(tmp_path)
    required = []
    for parameter in COMMANDS[name].params:
        if parameter.required:
            is_argument = parameter.param_type_name == "argument"
            required += ["nowhere"] if is_argument else [parameter.opts[0], f"nowhere{SUFFIXES.get(name, '.parquet')}"]
    tried = 0
    for kind, shows in records_of(FUNCTIONS[name]):
        for field, about in list_options(kind).items():
            is_shown = shows.has(field) and (about.commands is None or name in about.commands)
            words = wrong_words(kind, field) if is_shown else []
            if not words:
                continue
            monkeypatch.setattr(sys, "argv", ["oochub", *name.split(), *required, *words])
            with pytest.raises(SystemExit) as stopped:
                main()
            error = " ".join(capsys.readouterr().err.replace("│", " ").split())
            assert stopped.value.code == 2 and words[0] in error, f"{words}: {error}"
            tried += 1
    assert tried or name in ("imagenet_ood detect", "wilds submission")
    assert not list(tmp_path.iterdir())


EXAMPLES = {
    "usual": {"dog": ("grass", "sand")},
    "pairs": [("imagenet_1k", "imagenet_ood")],
    "context_names": ("grass", "road"),
    "entry": {"track": "open"},
    "predictions": ["a.parquet", "b.parquet"],
    "metric": ["auc", "ece"],
    "slice": ["hard", "easy"],
    "detectors": ["msp", "vim"],
    "metrics": ["auc", "nll"],
    "earlier": ["old.json", "older.json"],
    "proxy": ["a.parquet", "b.parquet"],
    "zoom": 1.5,
    "compile": False,  # it needs a compiler, and nothing beside it
    "ray_address": None,
    "actors": None,
    "class_names": ("corgi", "pug"),
}
BESIDE = {
    "ContextSettings": {"contexts": "properties"},
    "LabelSettings": {"labels": "few.csv"},
    "ProbeSettings": {"probe": "background"},
}


def example(kind: type[Settings], name: str) -> Any:
    """A value that is not the default."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    about, default = list_options(kind)[name], get_default(kind, name)
    for each in list_kinds(type_of(kind, name) if about.typed is None else about.typed):
        if each is bool:
            return not default
        if get_origin(each) is Literal:
            return next(choice for choice in get_args(each) if choice != default)
        if each in (int, float):
            return each(max(about.least or 0, 100 if name == "resamples" else 0) + 3)
        if get_origin(each) is Iterable:
            return ("first", "second")
        if about.form:
            return {"a": 1, "b": True, "c": ["x", "y"]}
    return "words"


@pytest.mark.parametrize("kind", RECORDS)
def test_what_is_typed_comes_back(kind):
    """The words of a record, typed, are the record. Planted fault: a flag of another name in the words."""
    seen: list[Settings] = []

    def command(record: Settings) -> None:
        """A command."""
        seen.append(record)

    command.__annotations__["record"] = kind
    tried = {name: about for name, about in list_options(kind).items() if about.commands != ()}
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    shown_by = [set(about.commands) for about in tried.values() if about.commands]
    name_of = min(set.intersection(*shown_by), default="any") if shown_by else "any"  # a command that shows all
    one.command()(with_options(command, name_of))
    run = typer.main.get_command(one)
    for name in tried:
        given = kind(**{**BESIDE.get(kind.__name__, {}), name: example(kind, name)})
        run.main(list(given.words()), standalone_mode=False)
        assert seen.pop() == given, given.words()
    assert tried


def test_type_checkers_read_what_python_says():
    """The stub is that of the functions. Planted fault: a keyword less."""
    text = signatures.STUB.read_text("utf-8")
    assert text == signatures.Stub().write(), "run `make options`"
    assert text.replace("        limit: int | None = None,\n", "", 1) != signatures.Stub().write()


@pytest.mark.slow
def test_a_type_checker_sees_the_keywords(tmp_path):
    """Right calls pass; each wrong one is an error in its line. Written against: `**prediction: Any` takes `labl`."""
    right = """
from typing import assert_type
import oochub
from oochub.auditing import audit
from oochub.comparison.comparison import Comparison
from oochub.comparison.paired_report import PairedReport
report = oochub.audit("m", "s", label="x", batch_size=3, restrict=True, device="cpu")
assert_type(report, oochub.Report)
assert_type(oochub.compare(report, report), Comparison)
predictions = oochub.predict("m", "s", batch_size=3)
assert_type(oochub.compare(predictions, predictions), PairedReport)
"""
    wrong = {
        'oochub.audit("m", "s", labl="x")': '"labl" for "__call__" of "_Audit"; did you mean "label" or "labels"?',
        'audit("m", "s", labl="x")': '"labl" for "__call__" of "_Audit"; did you mean "label" or "labels"?',
        'audit("m", "s", seed="x")': '"seed" to "__call__" of "_Audit" has incompatible type "str"; expected "int"',
        'audit("m", "s", batch_size="x")': 'has incompatible type "str"; expected "int | None"',
        'oochub.predict("m", "s", batchsize=3)': 'did you mean "batch_size"?',
        "oochub.compare(report, report, seed=1.5)": "No overload variant",
    }
    file, before = tmp_path / "user.py", len(right.splitlines())
    file.write_text(right + "\n".join(wrong), "utf-8")
    command = [sys.executable, "-m", "mypy", file]  # with the cache of `make lint`
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False).stdout
    errors = dict(re.findall(r"user\.py:(\d+): error: (.*)", said))
    assert errors.keys() == {str(before + number) for number in range(1, len(wrong) + 1)}, said
    for line, words in zip(errors.values(), wrong.values(), strict=True):
        assert words in line


OWN_KEYWORDS = {  # of public functions, that are no options, or that a record has by another name
    "audit": {"out"},
    "contexts": {"by", "out"},
    "evaluate": {"loading"},
    "load": {"split", "num_proc", "text_columns"},
    "predict": {"out"},
    "push": {"out"},
    "repair": {"out"},
    "train": {"callbacks"},
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_PYTHON)
def test_a_public_function_takes_no_option_that_no_record_has(name):
    """As it runs: what `inspect` says. Planted faults: a keyword of its own, not listed; a record that is left out."""
    function, fields = FUNCTIONS_OF_PYTHON[name], keywords_of(name)
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters
    flat = {each.name: each for each in parameters.values() if each.kind is each.KEYWORD_ONLY}
    unlisted = {field for each in list_records(function).values() for field in each.names if field not in each.listed}
    assert flat.keys() == (fields.keys() - unlisted) | OWN_KEYWORDS.get(name, set())
    assert not unlisted or any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for field, kind in fields.items():
        if field in flat:
            assert flat[field].default == get_default(kind, field)
            assert type_of(kind, field) in (Any, hints[field]), field
    assert "locals()" not in inspect.getsource(function)


@pytest.mark.parametrize("name", FUNCTIONS_OF_PYTHON)
def test_help_says_what_each_keyword_does(name):
    """Planted fault: a docstring that does not name the record's parameter, so that nothing stands in its place."""
    function = FUNCTIONS_OF_PYTHON[name]
    said = " ".join(pydoc.plain(pydoc.render_doc(function)).split())
    for each in list_records(function).values():
        for field in each.listed:
            assert f" {field}: {list_options(each.kind)[field].text}" in said, field
    entries = re.findall(
        r"^    \*{0,2}(\w+): ", (function.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0], flags=re.M
    )
    assert entries == [*inspect.signature(function).parameters]


@pytest.mark.parametrize("name", FUNCTIONS_OF_PYTHON)
def test_a_wrong_keyword_names_the_near_one(name):
    """Of all that the function takes, before it does anything. Planted fault: those under `**` are not known."""
    function = FUNCTIONS_OF_PYTHON[name]
    for field in keywords_of(name):
        with pytest.raises(OochubError, match=rf"^No keyword of {name} named '{field}_'\. Did you mean .*'{field}'"):
            function("nowhere", "nowhere", **{f"{field}_": 1})


@pytest.mark.parametrize("name", ["predict", "audit", "repair"])
def test_a_wrong_option_of_a_mode_names_the_near_one(name):
    with pytest.raises(OochubError, match=f"No keyword of {name} named 'restric'. Did you mean 'restrict'"):
        FUNCTIONS_OF_PYTHON[name]("nowhere", "nowhere", restric=True)


def test_records_arrive_as_they_were_given():
    """Planted fault: a keyword that goes to no record."""
    seen = []

    @with_keywords("mend")
    def mend(model: str, *, repair: RepairSettings, data: Annotated[DataSettings, only("label")], **more: Any) -> None:
        """Mends.

        Args:
            model: The model.
            repair: How.
            data: The options of it.
            **more: Others.
        """
        seen.extend((model, repair, data, more))

    mend("m", draws=2, label="breed", other=3)
    assert seen == ["m", RepairSettings(draws=2), DataSettings(label="breed"), {"other": 3}]
    assert "    repair: " not in (mend.__doc__ or "") and "    label: Custom data: label column" in (mend.__doc__ or "")
    with pytest.raises(OochubError, match="draws must be a whole number"):
        mend("m", draws=0)


def test_the_key_of_predictions_is_that_of_before():
    """What `oochub.predict` asked before options were records, name by name: a user's cache stays."""
    asked = PredictionSettings(device="cuda:1", batch_size=3, odin=0.0014, zoom=2, dtype="bfloat16", num_workers=0)
    assert asked.record() == {
        "device": "cuda",
        "dtype": "torch.bfloat16",
        "preprocessing": "auto",
        "features": False,
        "batch_size": 3,
        "limit": None,
        "skip_broken": False,
        "images": True,
        "odin": 0.0014,
        "odin_temperature": 1000.0,
        "zoom": 2.0,
        "compile": False,
    }
    assert PredictionSettings(device="cpu").record()["batch_size"] == 16


def test_corrections_are_those_of_the_statistics():
    """The record names them itself, since statistics import NumPy and a command line that prints help does not."""
    assert get_args(type_of(IntervalSettings, "correction")) == get_args(Correction)


def test_records_are_light():
    """Planted fault: `import numpy` at the head of option.py."""
    names = [module.__name__ for module in MODULES]
    heavy = "torch datasets numpy pandas typer".split()
    code = f"import sys, {', '.join(names)}\nprint(*(name for name in {heavy} if name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []


def test_an_option_says_what_it_is():
    """Every attribute of an option is read by somebody. Planted fault: one that nobody reads."""
    code = "\n".join(file.read_text("utf-8") for file in files())
    unread = [name for name in Option.__dataclass_fields__ if not re.search(rf"about\.{name}\b|self\.{name}\b", code)]
    assert not unread
    assert isinstance(list_options(PredictionSettings), Mapping)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("--by", "--contexts"),
        ("--model", "--context-model"),
        ("--names", "--context-names"),
        ("--way-option", "--context-option"),
    ],
)
def test_contexts_answers_its_options_of_before(before, now, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["oochub", "contexts", "nowhere", "--out", "x", before, "a=1"])
    with pytest.raises(SystemExit) as stopped:
        main()
    error = capsys.readouterr().err
    assert stopped.value.code == 2 and error.count("\n") == 1 and f"{before} is now called {now}," in error
