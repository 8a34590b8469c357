"""The lowest versions that the package allows are those that CI installs and tests: `make lowest`."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from without_torch import main

ROOT = Path(__file__).parents[1]
_TOOLS = {"pytest", "pytest-xdist"}  # of the tests, at the versions of constraints.txt
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_CAPPED = {"datasets"}  # registration stands on private names of it
_PINNED = "torch"  # one CPU build for all; see constraints.txt


def _bounds(requirements: list[str]) -> dict[str, str]:
    """The lower bound of each, as written; an error where one has none, or another form."""
    bounds = {}
    for requirement in map(Requirement, requirements):
        lower, *cap = sorted(requirement.specifier, key=lambda each: each.operator, reverse=True)
        assert lower.operator == ">=" and len(cap) == (requirement.name in _CAPPED), requirement
        bounds[requirement.name] = lower.version
    return bounds


def _pins(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text("utf-8").splitlines()
    return dict(re.findall(r"^([\w-]+)==(\S+)$", "\n".join(lines).replace("_", "-"), flags=re.M))


def test_the_lowest_versions_are_the_bounds_of_the_package() -> None:
    """Of what `make lowest` installs. Planted faults seen: a raised bound alone, a line left out, one too many."""
    extras = _PROJECT["optional-dependencies"]
    bounds = _bounds(
        [*_PROJECT["dependencies"], *(each for name in ("coco", "plots", "gist") for each in extras[name])]
    )
    pins, usual = _pins("constraints-lowest.txt"), _pins("constraints.txt")
    assert pins.keys() == bounds.keys() | _TOOLS
    for name, pin in pins.items():
        if name in _TOOLS or name == _PINNED:
            assert pin == usual[name], name
        else:
            assert Requirement(f"{name}=={bounds[name]}").specifier.contains(pin), (name, pin, bounds[name])


def test_make_lowest_installs_them_with_torch_at_its_pin() -> None:
    """A range for torch would fetch gigabytes of another build. Planted fault seen: no torch on the line of pip."""
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\n$(LOWEST)/.ready: ")[2].partition("\n\n")[0]
    torch = _pins("constraints.txt")[_PINNED]
    assert f'torch=={torch} --constraint constraints-lowest.txt --editable ".[coco,plots,gist]"' in recipe


def test_the_canary_installs_the_newest_of_what_may_leave_us() -> None:
    """In an environment of its own, past the cap. Fault planted: --constraint on the line of --upgrade."""
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\nnewest: ")[2].partition("\n\n")[0]
    assert re.search(
        r"^\t\$\(NEWEST\)/bin/python -m pip install --quiet --upgrade datasets evaluate( |$)", recipe, re.M
    )
    assert "make newest" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_what_a_newer_python_installs_needs_no_torch(capsys: pytest.CaptureFixture[str]) -> None:
    """Of torch there is one CPU build, for one Python. Planted fault seen: accelerate, which requires torch."""
    main()
    names = {Requirement(line).name for line in capsys.readouterr().out.split()}
    assert {"datasets", "pytest"} < names
    for name in names:
        requires = metadata.requires(name) or []
        direct = [each.name for each in map(Requirement, requires) if not each.marker or each.marker.evaluate()]
        assert "torch" not in direct, name
