"""The toy worlds of benchmarks that are folders: the same bytes for the same arguments, others for another seed.

Planted fault seen: a thing's color drawn without the seed.
"""

import hashlib
from importlib import import_module

import pytest

from oochub.errors import OochubError

_LEAST = {
    "toy_counter_animal": 1,
    "toy_domain_folder": 2,
    "toy_metashift": 12,
    "toy_spuco_animals": 4,
    "toy_imagenet_9": 1,
    "toy_hard_imagenet": 1,
    "toy_domains": 1,
    "toy_openood": 10,
    "toy_no_finding": 40,
}


def _read(root):
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and path.suffix not in (".json", ".txt", ".csv")  # lists of images are alike for every seed
    }


@pytest.mark.parametrize("world", list(_LEAST))
def test_the_arguments_say_every_byte(world, tmp_path):
    draw = getattr(import_module(f"oochub.builders.toy_worlds.{world}"), world)
    first = _read(draw(tmp_path / "a", size=_LEAST[world]))
    assert _read(draw(tmp_path / "b", size=_LEAST[world])) == first
    other = _read(draw(tmp_path / "c", size=_LEAST[world], seed=1))
    assert other.keys() == first.keys() and not set(other.values()) & set(first.values())
    with pytest.raises(OochubError, match=f"must be at least {_LEAST[world]}"):
        draw(tmp_path / "d", size=_LEAST[world] - 1)
