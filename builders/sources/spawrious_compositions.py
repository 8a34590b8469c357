"""What a Spawrious challenge is made of: the share of each background in each breed, environment by environment."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

from oochub.errors import OochubError, unknown_name
from oochub.records.schema import from_json
from oochub.storage.reading import TomlFile

BREEDS = ("bulldog", "corgi", "dachshund", "labrador")
BACKGROUNDS = ("desert", "jungle", "dirt", "mountain", "snow", "beach")
RELEASED_N = 3168
"""Files in each of the 48 folders of the release."""
_ROUNDING = 1e-9
_KEYS = ("split", "repeats", "folders")
_NAME = re.compile("[A-Za-z0-9_-]+")


class FileSlice(NamedTuple):
    """The files `first` to `last` (exclusive, in numeric order) of one folder, and where they go."""

    environment: str
    split: str
    repeat: int
    background: str
    breed: str
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class SpawriousEnvironment:
    """One environment of a composition.

    Attributes:
        split: "train", of which the last fifth of each slice becomes validation, or "test".
        repeats: The repeats of the release that it draws from, alike from each.
        shares: Breed to background to the share, in [0, 1], that it has among the breed's images here.
        folders: How many images a breed has where its shares sum to 1, in folders; None is one for each repeat.
    """

    split: Literal["train", "test"]
    repeats: tuple[int, ...]
    shares: Mapping[str, Mapping[str, float]]
    folders: float | None = None

    def counts(self, breed: str, n: int) -> dict[str, int]:
        """Files of each background of a breed that are drawn from each repeat, n in a folder.

        Each takes its share rounded down, and the last the rest where the shares sum to 1.

        >>> dogs = {"corgi": {"snow": 0.97, "beach": 0.03}}
        >>> SpawriousEnvironment(split="train", repeats=(0,), shares=dogs).counts("corgi", 3168)
        {'snow': 3072, 'beach': 96}
        """
        shares = {background: share for background, share in self.shares.get(breed, {}).items() if share}
        folders = len(self.repeats) if self.folders is None else self.folders
        images = Fraction(str(folders)) * n / len(self.repeats)
        counts = {background: int(Fraction(str(share)) * images) for background, share in shares.items()}
        if abs(sum(shares.values()) - 1) <= _ROUNDING:
            counts[list(shares)[-1]] += int(images) - sum(counts.values())
        return counts


@dataclass(frozen=True, kw_only=True)
class SpawriousComposition:
    """Which images of Spawrious make a data set; none is in it twice.

    Attributes:
        environments: The environments by name, in their order.
        about: What it is, in a sentence.

    Raises:
        OochubError: An unknown breed, background, split or repeat, a share that is not in [0, 1], shares that sum to
            more than 1, more files of a folder than it holds, or no environment of training or of test.
    """

    environments: Mapping[str, SpawriousEnvironment]
    about: str = ""

    def __post_init__(self) -> None:
        for name, environment in self.environments.items():
            _check(name, environment)
        for split in ("train", "test"):
            if all(environment.split != split for environment in self.environments.values()):
                raise OochubError(
                    f"No environment has split = {split!r}; there must be one for train and one for test."
                )
        self.slices(RELEASED_N)

    def slices(self, n: int) -> list[FileSlice]:
        """Which files of which folder go where, n in a folder.

        If several environments draw from one folder, each takes the files that follow those of the one before.

        Args:
            n: Files in each of the 48 folders; 3,168 in the release.

        Raises:
            OochubError: More files of a folder than it holds.

        >>> [tuple(part[2:]) for part in TABLE_2["o2o_hard"].slices(3168)[:2]]
        [(0, 'jungle', 'bulldog', 0, 3072), (0, 'beach', 'bulldog', 0, 96)]
        """
        taken: Counter[tuple[int, str, str]] = Counter()
        slices = []
        for breed in BREEDS:
            for name, environment in self.environments.items():
                counts = environment.counts(breed, n)
                for repeat in environment.repeats:
                    for background, count in counts.items():
                        first = taken[repeat, background, breed]
                        slices.append(
                            FileSlice(name, environment.split, repeat, background, breed, first, first + count)
                        )
                        taken[repeat, background, breed] += count
                        if first + count > n:
                            raise OochubError(
                                f"[{name}] takes {count:,} images of {repeat}/{background}/{breed}, but only "
                                f"{n - first:,} of {n:,} are left, and each image is drawn only once. Lower the "
                                "shares, or draw from the other repeat."
                            )
        return slices

    @property
    def toml(self) -> str:
        """The composition as `read_composition` reads it.

        >>> print(TABLE_2["m2m_easy"].toml.partition("corgi")[0])
        about = "M2M-Easy of Table 2."
        <BLANKLINE>
        [env_1]
        split = "train"
        repeats = [0]
        bulldog = { dirt = 1.0 }
        <BLANKLINE>
        """
        lines = [f"about = {json.dumps(self.about, ensure_ascii=False)}"]
        for name, environment in self.environments.items():
            lines += ["", f"[{name}]", f'split = "{environment.split}"', f"repeats = {list(environment.repeats)}"]
            lines += [] if environment.folders is None else [f"folders = {environment.folders}"]
            for breed, shares in environment.shares.items():
                lines.append(f"{breed} = {{ {', '.join(f'{place} = {share}' for place, share in shares.items())} }}")
        return "\n".join(lines) + "\n"


def read_composition(file: str | Path) -> SpawriousComposition:
    """The composition of a TOML file: `about`, and a table for each environment.

    A table names its `split` ("train" or "test"), its `repeats` ([0], [1] or [0, 1]), and for each breed the share of
    each background; `folders` where a breed has more or fewer images than a folder for each repeat.

    Raises:
        OochubError: No such file, no TOML, or a composition that cannot be; table, key and value are named.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "easy.toml"
    >>> _ = file.write_text(TABLE_2["o2o_easy"].toml)
    >>> read_composition(file) == TABLE_2["o2o_easy"]
    True
    """
    tables = TomlFile(Path(file)).content
    about = tables.pop("about", "")
    if not isinstance(about, str):
        raise OochubError(f"{file}: about must be text, got {about!r}. Correct it.")
    try:
        return SpawriousComposition(
            environments={name: _make_environment(name, table) for name, table in tables.items()}, about=about
        )
    except OochubError as error:
        raise OochubError(f"{file}: {error}") from error


def _make_environment(name: str, table: Any) -> SpawriousEnvironment:
    if not isinstance(table, Mapping):
        raise OochubError(f"{name} must be a table [{name}] of an environment, got {table!r}.")
    for key in table:
        if key not in (*_KEYS, *BREEDS):
            raise unknown_name(f"breed or key of [{name}]", key, (*_KEYS, *BREEDS))
    content = {key: table[key] for key in _KEYS if key in table}
    content["shares"] = {breed: table[breed] for breed in BREEDS if breed in table}
    return from_json(SpawriousEnvironment, content, what=f"[{name}]")


def _check(name: str, environment: SpawriousEnvironment) -> None:
    where, folders = f"[{name}]", environment.folders
    if not _NAME.fullmatch(name):
        raise OochubError(f"{name!r} cannot name an environment: use letters, digits, - and _.")
    if environment.split not in ("train", "test"):
        raise OochubError(f"{where}: split must be 'train' or 'test', got {environment.split!r}.")
    if not environment.repeats or sorted({*environment.repeats} & {0, 1}) != sorted(environment.repeats):
        raise OochubError(f"{where}: repeats must be [0], [1] or [0, 1], got {list(environment.repeats)}.")
    if folders is not None and not (0 < folders <= len(BACKGROUNDS) * len(environment.repeats)):
        most = len(BACKGROUNDS) * len(environment.repeats)
        raise OochubError(f"{where}: folders must be more than 0 and at most {most}, got {folders}.")
    if not any(share for shares in environment.shares.values() for share in shares.values()):
        raise OochubError(f"{where} has no image: give a breed its backgrounds, as in corgi = {{ snow = 1.0 }}.")
    for breed, shares in environment.shares.items():
        if breed not in BREEDS:
            raise unknown_name(f"breed ({where})", breed, BREEDS)
        for background, share in shares.items():
            if background not in BACKGROUNDS:
                raise unknown_name(f"background ({where}, {breed})", background, BACKGROUNDS)
            if not 0 <= share <= 1:  # nor nan
                raise OochubError(f"{where}: {breed}.{background} must be a share in [0, 1], got {share}.")
        if math.fsum(shares.values()) > 1 + _ROUNDING:
            raise OochubError(f"{where}: the shares of {breed} sum to {math.fsum(shares.values()):g}, more than 1.")


def one_to_one(about: str, generic: str, spurious: Sequence[str], unseen: Sequence[str]) -> SpawriousComposition:
    """A one-to-one challenge in the form of Table 2, 97% and 87% of a breed on the background that misleads.

    Args:
        about: What it is, in a sentence.
        generic: The background of the other training images of every breed.
        spurious: The background that misleads for each breed, in the order of BREEDS.
        unseen: The background of the test for each breed.
    """
    environments = {
        f"env_{repeat + 1}": SpawriousEnvironment(
            split="train",
            repeats=(repeat,),
            shares={breed: {place: share, generic: rest} for breed, place in zip(BREEDS, spurious, strict=True)},
        )
        for repeat, share, rest in ((0, 0.97, 0.03), (1, 0.87, 0.13))
    }
    shares = {breed: {place: 1.0} for breed, place in zip(BREEDS, unseen, strict=True)}
    environments["test"] = SpawriousEnvironment(split="test", repeats=(0, 1), shares=shares)
    return SpawriousComposition(environments=environments, about=about)


def many_to_many(
    about: str, first: Sequence[str], second: Sequence[str], unseen: Sequence[Sequence[str]]
) -> SpawriousComposition:
    """A many-to-many challenge in the form of Table 2, all of repeat 0.

    Args:
        about: What it is, in a sentence.
        first: The background of environment 1 for each breed, in the order of BREEDS.
        second: That of environment 2.
        unseen: The two backgrounds of the test for each breed.
    """
    environments = {
        name: SpawriousEnvironment(
            split="train", repeats=(0,), shares={b: {place: 1.0} for b, place in zip(BREEDS, places, strict=True)}
        )
        for name, places in (("env_1", first), ("env_2", second))
    }
    halves = {breed: dict.fromkeys(places, 0.5) for breed, places in zip(BREEDS, unseen, strict=True)}
    environments["test"] = SpawriousEnvironment(split="test", repeats=(0,), shares=halves, folders=2)
    return SpawriousComposition(environments=environments, about=about)


_SB, _DJ, _DM, _BS = ("snow", "beach"), ("dirt", "jungle"), ("desert", "mountain"), ("beach", "snow")
_EASY = (("dirt", "beach", "jungle", "snow"), ("jungle", "snow", "dirt", "beach"), (_SB, _DJ, _SB, _DJ))
_MEDIUM = (("desert", "jungle", "mountain", "dirt"), ("mountain", "dirt", "desert", "jungle"), (_DJ, _DM, _DJ, _DM))
_HARD = (("beach", "mountain", "beach", "mountain"), ("snow", "desert", "snow", "desert"), (_DM, _BS, _DM, _BS))
_SWAPPED = (("beach", "desert", "snow", "mountain"), ("snow", "mountain", "beach", "desert"), (_DM, _BS, _DM, _BS))
_O2O = {
    "o2o_easy": one_to_one(
        "O2O-Easy of Table 2.", "beach", ("desert", "snow", "jungle", "dirt"), ("dirt", "jungle", "snow", "desert")
    ),
    "o2o_medium": one_to_one(
        "O2O-Medium of Table 2.", "desert", ("mountain", "jungle", "beach", "dirt"), ("jungle", "snow", "dirt", "beach")
    ),
    "o2o_hard": one_to_one(
        "O2O-Hard of Table 2.",
        "beach",
        ("jungle", "desert", "mountain", "snow"),
        ("mountain", "jungle", "snow", "desert"),
    ),
}
TABLE_2: Mapping[str, SpawriousComposition] = {
    **_O2O,
    "m2m_easy": many_to_many("M2M-Easy of Table 2.", *_EASY),
    "m2m_medium": many_to_many("M2M-Medium of Table 2.", *_MEDIUM),
    "m2m_hard": many_to_many("M2M-Hard of Table 2.", *_HARD),
}
"""The six challenges of the paper's Table 2, by the names of the configs."""
RELEASED: Mapping[str, SpawriousComposition] = {
    **_O2O,
    "m2m_easy": many_to_many("The released code's m2m_easy, M2M-Medium of Table 2.", *_MEDIUM),
    "m2m_medium": many_to_many("The released code's m2m_medium, near M2M-Hard of Table 2.", *_SWAPPED),
    "m2m_hard": many_to_many("The released code's m2m_hard, M2M-Easy of Table 2.", *_EASY),
}
"""The challenges of the authors' code: it permutes the three M2M names, and in one swaps two breeds' environments."""
