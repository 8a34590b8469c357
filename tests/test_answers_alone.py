"""Answers are scored where torch, transformers and Accelerate are absent; .ci/run does the same with the wheel."""

import subprocess
import sys
from pathlib import Path

import pytest
from answers_alone import ABSENT

_HIDING = f"""
import sys
from importlib.machinery import PathFinder
from pathlib import Path

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {ABSENT!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Hiding
sys.path.insert(0, {str(Path(__file__).parent)!r})
from answers_alone import score_answers
score_answers(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_answers_are_scored_where_no_package_of_models_is_installed(tmp_path: Path) -> None:
    """Planted faults seen: torch imported by `oochub.evaluate`; `oochub.train` that does not ask for it first."""
    ended = subprocess.run([sys.executable, "-c", _HIDING, str(tmp_path)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "say what to install" in ended.stdout
