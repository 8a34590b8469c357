"""How threads wait: what libgomp says it was told, and what a user's own setting is left."""

import os
import subprocess
import sys

import pytest

from oochub.process.program import shorten_waiting

_NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, None)],
    ids=["unset", "count", "policy"],
)
def test_what_the_user_set_is_left(own, expected, monkeypatch):
    """Planted faults seen: a count that is replaced; a policy that is not looked at."""
    for name in _NAMES:
        monkeypatch.setenv(name, "")  # so that it is restored afterwards
        monkeypatch.delenv(name)
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    shorten_waiting()
    assert os.environ.get("GOMP_SPINCOUNT") == expected


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="libgomp is that of torch on Linux")
def test_the_program_tells_libgomp_before_torch_is_loaded():
    """Libgomp prints what it read when it was loaded. Planted fault seen: told after the import of the commands."""
    code = "import sys; from oochub.cli import _run_commands; sys.argv = ['oochub', 'list', 'metric']\n"
    code += "try: _run_commands()\nexcept SystemExit: pass\nimport torch"
    told = {name: value for name, value in os.environ.items() if name not in _NAMES} | {"OMP_DISPLAY_ENV": "verbose"}
    done = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True, check=True)
    assert "GOMP_SPINCOUNT = '1000'" in done.stderr, done.stderr[-2000:]
