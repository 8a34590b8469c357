"""Messages speak to who reads them: at the command line of options, to a caller from Python of arguments."""

import ast
import re
import sys

import pytest
from import_graph import ROOT, files, module_of, nodes_of, trees

import oochub
from oochub.cli import main
from oochub.errors import OochubError, choose_wording

RAISED = ("OochubError", "unknown_name", "StudyStopped")
SAID_BY_OPTIONS = (  # what the command line has an option for
    "data_dir|cache_dir|splits|metrics|detectors|detector|reference|pairs|probes|sets|features|odin|zoom|out|match"
    "|overwrite_output_dir|embedding|replace|names"
)
PYTHON = re.compile(
    rf"(?<![\w.$-])(?:{SAID_BY_OPTIONS})=|load_dataset\(|oochub\.(?:names|get|load|evaluate|predict|task)\("
)
OF_PYTHON_ALONE = {  # places that no command reaches, each with its reason
    "objective.py": "an objective that is called by itself",
    "metric.py": "evaluate.load",
    "output_columns.py": "a dataset of one's own",
    "scenes.py": "a dataset of one's own",
    "tasks.py": "a dataset of one's own",
    "task.py": "a dataset of one's own",
    "builder.py": "data_files= is an argument of load_dataset",
    "images.py": "splits=FILE is written so after --option too",
}  # fmt: skip


def _texts(node: ast.AST):
    """The literal texts of a message, without what stands in `choose_wording`."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "choose_wording":
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from _texts(child)


def pythons_words(tree: ast.AST) -> list[str]:
    """The messages of a file that name an argument or a function of Python where an option is meant."""
    found = []
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RAISED:
            text = "".join(part for argument in node.args for part in _texts(argument))
            found += [text] if PYTHON.search(text) else []
    return found


def test_no_message_speaks_pythons_words_alone():
    """Planted fault: the message below."""
    planted = 'raise OochubError(f"{x} needs features. Predict with features=True (--features).")'
    right = planted.replace("features=True (--features)", "them")
    assert pythons_words(ast.parse(planted)) and not pythons_words(ast.parse(right))
    assert not pythons_words(ast.parse("raise OochubError(f\"Give {choose_wording('splits=', '--split')}.\")"))
    wrong = [
        f"{file.relative_to(ROOT)}: {text}"
        for file in files()
        if file.name not in OF_PYTHON_ALONE
        for text in pythons_words(trees()[module_of(file)])
    ]
    assert not wrong, "Say it with oochub.errors.choose_wording(python, shell):\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("words", "shell", "python"),
    [
        (("build", "spawrious/o2o_easy", "--out", "o"), "Pass --data-dir FOLDER", "data_dir="),
        (("train", "spawrious/o2o_easy", "--out", "o"), "Pass --data-dir FOLDER", "data_dir="),
        (("build", "nooch", "--out", "o", "--data-dir", "."), "for example nooch/ce_car. Allowed", "load_dataset("),
        (("show", "metric", "fpr59"), "`oochub list metric`", "oochub.names"),
        (("list", "metrics"), "Did you mean 'metric'", "oochub.names"),
    ],
)
def test_the_command_line_speaks_of_options(monkeypatch, capsys, tmp_path, words, shell, python):
    """Planted fault: a command that runs outside `word_for_shell`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OOCHUB_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["oochub", *words])
    with pytest.raises(SystemExit):
        main()
    error = capsys.readouterr().err
    assert shell in error and python not in error, error
    assert choose_wording("python", "shell") == "python"  # the command is over


def test_python_is_told_of_arguments():
    with pytest.raises(OochubError, match="Pass data_dir=FOLDER"):
        oochub.load("spawrious/o2o_easy")
