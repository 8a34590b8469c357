"""One file of a metric, without oochub."""

import ast
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest
from few_of import few_of
from import_graph import imported_names
from metric_subjects import CASES, subject

from oochub.errors import OochubError
from oochub.hub.push_metric import _flatten_module


def _loaded(text: str, name: str, folder: Path) -> ModuleType:
    file = folder / f"{name}.py"
    file.write_text(text, "utf-8")
    spec = util.spec_from_file_location(f"flat_{name}", file)
    assert spec and spec.loader
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), few_of(CASES[::3] + CASES[1::3] + CASES[2::3], few=len(CASES) // 3))
def test_every_metric_is_one_file(name: str, kind: str, tmp_path: Path) -> None:
    """It imports nothing of oochub, and gives the numbers and errors of the function that it was made of."""
    metric = subject(name, kind)
    text = _flatten_module(f"oochub.eval_modules.metrics.{name}.{name}", (name, "FACTS"))
    imported = {each.partition(".")[0] for each in imported_names(ast.parse(text))}
    assert imported <= {*sys.stdlib_module_names, "numpy", "scipy"}, imported
    flat = _loaded(text, name, tmp_path)
    assert flat.FACTS.outputs == metric.facts.outputs and flat.FACTS.interval is None
    for seed in range(3):
        columns = metric.columns(60, seed)
        assert getattr(flat, name)(**columns) == metric.function(**columns)
    empty = {array: column[:0] for array, column in columns.items()}
    with pytest.raises(flat.OochubError) as error:
        getattr(flat, name)(**empty)
    with pytest.raises(OochubError) as ours:
        metric.function(**empty)
    assert str(error.value) == str(ours.value)


def test_names_that_clash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: two modules with a `_rate` and a constant of the same name, of which one stands in the other."""
    package = tmp_path / "flatted"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "base.py").write_text(
        "_N = 2\n\n\ndef _rate(x):\n    return x * _N  # of _N\n\n\ndef base(x):\n    return _rate(x)\n"
    )
    (package / "top.py").write_text(
        '"""The top: 5 \\\\ 2."""\n\nimport math, json\nfrom flatted.base import base as under\n\n_N = 3\n\n\n'
        'def _rate(x):\n    return x + _N, "_rate é _N"\n\n\n'
        "def top(x):\n    return under(x), _rate(x), math.floor(2.5)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = _flatten_module("flatted.top", ("top",))
    assert _loaded(text, "top", tmp_path).top(10) == (20, (13, "_rate é _N"), 2)
    assert text.startswith('"""The top: 5 \\\\ 2."""\n\nimport math\n\n\n') and "json" not in text
    (package / "later.py").write_text(
        "from __future__ import annotations\n\nimport math\n\n\ndef later(x: Unknown):\n    return math.floor(x)\n"
    )
    assert _loaded(_flatten_module("flatted.later", ("later",)), "later", tmp_path).later(2.5) == 2
    with pytest.raises(OochubError, match="top has no FACTS"):
        _flatten_module("flatted.top", ("FACTS",))
