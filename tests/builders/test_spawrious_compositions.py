"""Compositions of Spawrious as TOML: what is read is what was meant, and what cannot be is named by table and key."""

from fractions import Fraction

import pytest

from oochub import OochubError
from oochub.builders.sources.spawrious_compositions import (
    BREEDS,
    RELEASED,
    TABLE_2,
    SpawriousComposition,
    read_composition,
)

_GOOD = """about = "Dogs on two backgrounds."
[env_1]
split = "train"
repeats = [0]
bulldog = { desert = 0.97, beach = 0.03 }
corgi = { snow = 0.97, beach = 0.03 }
[env_2]
split = "train"
repeats = [1]
bulldog = { desert = 0.5 }
[test]
split = "test"
repeats = [0, 1]
bulldog = { dirt = 1.0 }
corgi = { dirt = 1 }
"""


def _read(folder, text: str) -> SpawriousComposition:
    file = folder / "dogs.toml"
    file.write_text(text)
    return read_composition(file)


def test_a_composition_by_hand(tmp_path):
    """Of 100 files: 97 and 3; a share of 0.5 alone is 50; the test has both repeats whole."""
    slices = [tuple(part) for part in _read(tmp_path, _GOOD).slices(100)]
    assert slices == [
        ("env_1", "train", 0, "desert", "bulldog", 0, 97),
        ("env_1", "train", 0, "beach", "bulldog", 0, 3),
        ("env_2", "train", 1, "desert", "bulldog", 0, 50),
        ("test", "test", 0, "dirt", "bulldog", 0, 100),
        ("test", "test", 1, "dirt", "bulldog", 0, 100),
        ("env_1", "train", 0, "snow", "corgi", 0, 97),
        ("env_1", "train", 0, "beach", "corgi", 0, 3),
        ("test", "test", 0, "dirt", "corgi", 0, 100),
        ("test", "test", 1, "dirt", "corgi", 0, 100),
    ]


def test_no_image_is_drawn_twice(tmp_path):
    """Two environments of one folder take files that follow each other; planted fault seen: each from the first."""
    text = _GOOD.replace("repeats = [1]\nbulldog = { desert = 0.5 }", "repeats = [0]\nbulldog = { desert = 0.03 }")
    files = [
        (part.repeat, part.background, part.breed, k)
        for part in _read(tmp_path, text).slices(100)
        for k in range(part.first, part.last)
    ]
    assert len(files) == len(set(files)) and (0, "desert", "bulldog", 99) in files
    with pytest.raises(
        OochubError, match=r"\[env_2\] takes 126 images of 0/desert/bulldog, but only 96 of 3,168 are left"
    ):
        _read(tmp_path, text.replace("desert = 0.03", "desert = 0.04"))


@pytest.mark.parametrize("n", [10, 17, 100, 3168])
def test_shares_are_exact(tmp_path, n):
    """As fractions: 0.29 of 100 is 29, though the float 0.29 * 100 is below it; what is left over is less than one."""
    text = _GOOD.replace("desert = 0.97, beach = 0.03", "desert = 0.29, beach = 0.5, snow = 0.21")
    counts = _read(tmp_path, text).environments["env_1"].counts("bulldog", n)
    exact = {"desert": Fraction(29, 100) * n, "beach": Fraction(n, 2)}
    assert {place: counts[place] for place in exact} == {place: int(share) for place, share in exact.items()}
    assert sum(counts.values()) == n


@pytest.mark.parametrize("name", list(TABLE_2))
@pytest.mark.parametrize("table", [TABLE_2, RELEASED])
def test_every_challenge_as_toml(tmp_path, table, name):
    assert _read(tmp_path, table[name].toml) == table[name]
    assert set(table[name].environments["test"].shares) == set(BREEDS)


_WRONG = {
    "no TOML": ("about =", "is not TOML"),
    "about as a number": ('about = "Dogs on two backgrounds."|about = 3', "about must be text, got 3"),
    "a value in the place of a table": ('about = "Dogs on two backgrounds."|env_0 = 3', r"a table \[env_0\]"),
    "an unknown breed": ("corgi = { snow|poodle = { snow", r"breed or key of \[env_1\] named 'poodle'"),
    "an unknown key": ("repeats = [1]|repeats = [1]\nfolder = 2", r"\[env_2\] named 'folder'. Did you mean 'folders'"),
    "an unknown background": ("{ snow|{ moon", r"background \(\[env_1\], corgi\) named 'moon'"),
    "a repeat of 2": ("repeats = [1]|repeats = [2]", r"\[env_2\]: repeats must be \[0\], \[1\] or \[0, 1\], got \[2\]"),
    "a repeat twice": ("repeats = [1]|repeats = [1, 1]", r"\[env_2\]: repeats must be .* got \[1, 1\]"),
    "no repeat": ("repeats = [1]|repeats = []", r"repeats must be .* got \[\]"),
    "a share above 1": ("snow = 0.97|snow = 1.2", r"\[env_1\]: corgi.snow must be a share in \[0, 1\], got 1.2"),
    "a share below 0": ("snow = 0.97|snow = -0.1", "corgi.snow must be a share .* got -0.1"),
    "a share that is nan": ("snow = 0.97|snow = nan", "corgi.snow must be a share .* got nan"),
    "a sum above 1": ("corgi = { snow = 0.97|corgi = { snow = 0.98", r"\[env_1\]: the shares of corgi sum to 1.01"),
    "folders of 0": ("repeats = [1]|repeats = [1]\nfolders = 0", r"\[env_2\]: folders must be more than 0"),
    "folders without end": (
        "repeats = [1]|repeats = [1]\nfolders = inf",
        r"\[env_2\]: folders must be a finite number",
    ),
    "folders that are nan": ("repeats = [1]|repeats = [1]\nfolders = nan", r"\[env_2\]: folders must be more than 0"),
    "no image": ("{ desert = 0.5 }|{ desert = 0.0 }", r"\[env_2\] has no image"),
    "more than a folder": ("repeats = [1]|repeats = [1]\nfolders = 3", r"\[env_2\] takes 4,752 images of 1/desert"),
    "the same twice": (
        "repeats = [0, 1]\nbulldog = { dirt|repeats = [0, 1]\nbulldog = { desert",
        "of 0/desert/bulldog",
    ),
    "no test": ('split = "test"|split = "train"', "No environment has split = 'test'"),
    "a name with a slash": ("[env_2]|['../b']", "'../b' cannot name an environment"),
}


@pytest.mark.parametrize("word", list(_WRONG))
def test_what_cannot_be_is_named(tmp_path, word):
    """Planted fault seen: nan passes where a share is only looked at for `share < 0 or share > 1`."""
    change, words = _WRONG[word]
    old, _, new = change.partition("|")
    assert old in _GOOD or word == "no TOML"
    with pytest.raises(OochubError, match=words) as error:
        _read(tmp_path, _GOOD.replace(old, new) if old in _GOOD else change)
    assert str(tmp_path / "dogs.toml") in str(error.value)


_VALUES = (
    "'abc'",
    "''",
    "7",
    "-1",
    "0.5",
    "1e300",
    "inf",
    "nan",
    "true",
    "[]",
    "['abc']",
    "[[0]]",
    "{}",
    "{x = {y = 1}}",
)


def test_no_such_file(tmp_path):
    with pytest.raises(OochubError, match="there is no such file"):
        read_composition(tmp_path / "cats.toml")


def test_any_wrong_value_is_named_or_harmless(tmp_path):
    """Each value of the file replaced by each of another kind; planted fault seen: a table of shares not looked at."""
    lines, refused = _GOOD.splitlines(), 0
    for k, line in enumerate(lines):
        for value in _VALUES if " = " in line else ():
            changed = [*lines[:k], f"{line.partition(' = ')[0]} = {value}", *lines[k + 1 :]]
            try:
                slices = _read(tmp_path, "\n".join(changed)).slices(50)
            except OochubError as error:
                assert "dogs.toml: " in str(error), line
                refused += 1
            else:
                assert all(0 <= part.first <= part.last <= 50 for part in slices), line
    assert refused > 100
