"""The lowest versions that the package allows are those that CI installs and tests: `make lowest`."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

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
        [*_PROJECT["dependencies"], *(each for name in ("models", "coco", "plots", "gist") for each in extras[name])]
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
    assert f'torch=={torch} --constraint constraints-lowest.txt --editable ".[models,coco,plots,gist]"' in recipe


def test_the_canary_installs_the_newest_of_what_may_leave_us() -> None:
    """In an environment of its own, past the cap. Fault planted: --constraint on the line of --upgrade."""
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\nnewest: ")[2].partition("\n\n")[0]
    assert re.search(
        r"^\t\$\(NEWEST\)/bin/python -m pip install --quiet --upgrade datasets evaluate( |$)", recipe, re.M
    )
    assert "make newest" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_what_scores_answers_needs_no_torch() -> None:
    """Nor do coco and plots, which `make newer` installs too. Planted fault seen: accelerate, which requires torch."""
    extras = _PROJECT["optional-dependencies"]
    for requirement in [*_PROJECT["dependencies"], *extras["coco"], *extras["plots"]]:
        name = Requirement(requirement).name
        requires = map(Requirement, metadata.requires(name) or [])
        direct = [each.name for each in requires if not each.marker or each.marker.evaluate()]
        assert not {"torch", "transformers"} & {name, *direct}, name
