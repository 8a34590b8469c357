"""Spawrious: dog breeds whose background in training misleads at test time; six challenges."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.build_record import BuildFacts
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, shards
from oochub.errors import OochubError
from oochub.sides import Rows
from oochub.vocabulary import Vocabulary

_BREEDS = ("bulldog", "corgi", "dachshund", "labrador")
_BACKGROUNDS = ("desert", "jungle", "dirt", "mountain", "snow", "beach")
_RELEASED_N = 3168
_NUMBER = re.compile("[0-9]{1,18}")  # "²".isdigit() too

spawrious = Benchmark(
    name="spawrious",
    title="Spawrious",
    summary="Four dog breeds on six backgrounds; the backgrounds that go with a breed in training change at test time.",
    version="1.0.0",
    homepage="https://github.com/aengusl/spawrious",
    citation="""@article{lynch2023spawrious,
  title = {Spawrious: A Benchmark for Fine Control of Spurious Correlation Biases},
  author = {Lynch, Aengus and Dovonon, Gb{\\`e}tondji J-S and Kaddour, Jean and Silva, Ricardo},
  journal = {arXiv preprint arXiv:2303.05470},
  year = {2023}
}""",
    raw_files=tuple(
        RawFile(
            path=f"spawrious224/{repeat}/{background}/",
            url="https://github.com/aengusl/spawrious (the links to the archives stand in its README)",
            size=f"{4 * _RELEASED_N:,} PNGs",
            license="CC BY 4.0 (README); CC BY-SA (setup.py)",
            note="{bulldog,corgi,dachshund,labrador}/" + f"{background}_<breed>_<k>.png",
        )
        for repeat in (0, 1)
        for background in _BACKGROUNDS
    ),
    in_context=Rows(name="backgrounds as in training", split="validation"),
    out_of_context=Rows(name="backgrounds of other breeds", split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.25,
    words=Vocabulary(
        example="image", inside="on usual backgrounds", outside="on unusual ones", cause="context", place="on"
    ),
    context_column="background",
    templates=("a photo of a {}, a type of dog.",),
    images_license="CC BY 4.0 (README); CC BY-SA (setup.py)",
    annotations_license="CC BY 4.0",
    toy_world="toy_spawrious",
    tried_configs=("o2o_hard",),
)


class _O2O(NamedTuple):
    """Breed to (spurious background in training, background in test), and the background shared by all."""

    generic: str
    pairs: dict[str, tuple[str, str]]


class _M2M(NamedTuple):
    """Breed to (background of environment 1, of environment 2, the two of the test)."""

    pairs: dict[str, tuple[str, str, tuple[str, str]]]


# Table 2 of the paper. Proportions of the spurious background: 97% in environment 1, 87% in environment 2.
_SHARES = (0.97, 0.87)
_SNOW_BEACH, _DIRT_JUNGLE, _DESERT_MOUNTAIN = ("snow", "beach"), ("dirt", "jungle"), ("desert", "mountain")
_M2M_EASY = _M2M(
    {
        "bulldog": ("dirt", "jungle", _SNOW_BEACH),
        "dachshund": ("jungle", "dirt", _SNOW_BEACH),
        "labrador": ("snow", "beach", _DIRT_JUNGLE),
        "corgi": ("beach", "snow", _DIRT_JUNGLE),
    }
)
_M2M_MEDIUM = _M2M(
    {
        "bulldog": ("desert", "mountain", _DIRT_JUNGLE),
        "dachshund": ("mountain", "desert", _DIRT_JUNGLE),
        "labrador": ("dirt", "jungle", _DESERT_MOUNTAIN),
        "corgi": ("jungle", "dirt", _DESERT_MOUNTAIN),
    }
)
_M2M_HARD = _M2M(
    {
        "bulldog": ("beach", "snow", _DESERT_MOUNTAIN),
        "dachshund": ("beach", "snow", _DESERT_MOUNTAIN),
        "labrador": ("mountain", "desert", ("beach", "snow")),
        "corgi": ("mountain", "desert", ("beach", "snow")),
    }
)
_TABLE_2: dict[str, _O2O | _M2M] = {
    "o2o_easy": _O2O(
        "beach",
        {
            "bulldog": ("desert", "dirt"),
            "dachshund": ("jungle", "snow"),
            "labrador": ("dirt", "desert"),
            "corgi": ("snow", "jungle"),
        },
    ),
    "o2o_medium": _O2O(
        "desert",
        {
            "bulldog": ("mountain", "jungle"),
            "dachshund": ("beach", "dirt"),
            "labrador": ("dirt", "beach"),
            "corgi": ("jungle", "snow"),
        },
    ),
    "o2o_hard": _O2O(
        "beach",
        {
            "bulldog": ("jungle", "mountain"),
            "dachshund": ("mountain", "snow"),
            "labrador": ("snow", "desert"),
            "corgi": ("desert", "jungle"),
        },
    ),
    "m2m_easy": _M2M_EASY,
    "m2m_medium": _M2M_MEDIUM,
    "m2m_hard": _M2M_HARD,
}
# The released code permutes the three M2M names, and in what Table 2 calls hard swaps two breeds' environments.
_RELEASED: dict[str, _O2O | _M2M] = _TABLE_2 | {
    "m2m_hard": _M2M_EASY,
    "m2m_easy": _M2M_MEDIUM,
    "m2m_medium": _M2M(
        _M2M_HARD.pairs
        | {"dachshund": ("snow", "beach", _DESERT_MOUNTAIN), "corgi": ("desert", "mountain", ("beach", "snow"))}
    ),
}


class _Slice(NamedTuple):
    """The files `first` to `last` (exclusive, in numeric order) of one folder, and where they go."""

    environment: str
    repeat: int
    background: str
    breed: str
    first: int
    last: int


@dataclass
class SpawriousConfig(BenchmarkConfig):
    """Options of `load_dataset("spawrious", "o2o_hard", ...)`.

    Attributes:
        variant: "paper" names the challenges as Table 2 does; "released" as the authors' code, which permutes the
            three M2M names and swaps the environments of two breeds in one of them.
        strict: Refuse folders of another size than the release's 3,168 files, instead of noting it.
        follow_links: Read pictures that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    variant: str = "paper"
    strict: bool = False


class Spawrious(BenchmarkBuilder):
    """The six challenges O2O and M2M, easy, medium and hard, with the background as a column.

    Compositions are proportions of n, the number of files in a folder (3,168 in the release). Files count in numeric
    order; the released code takes them as the file system lists them. Validation is the last 20% of each
    environment x breed x background.

    Source: Lynch et al., Spawrious, Section 4 and Table 2.

    >>> list(Spawrious.builder_configs)
    ['o2o_easy', 'o2o_medium', 'o2o_hard', 'm2m_easy', 'm2m_medium', 'm2m_hard']
    """

    BENCHMARK: ClassVar[Benchmark] = spawrious
    BUILDER_CONFIG_CLASS = SpawriousConfig
    BUILDER_CONFIGS: ClassVar[list[SpawriousConfig]] = [
        SpawriousConfig(name=name, version=datasets.Version(spawrious.version), description=f"{name} of Table 2.")
        for name in _TABLE_2
    ]

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=spawrious.summary,
            homepage=spawrious.homepage,
            citation=spawrious.citation,
            license=spawrious.images_license,
            features=datasets.Features(
                {
                    "example_id": datasets.Value("string"),
                    "image": datasets.Image(),
                    "label": datasets.ClassLabel(names=list(_BREEDS)),
                    "environment": datasets.ClassLabel(names=["env_1", "env_2", "test"]),
                    "group": datasets.ClassLabel(names=[f"{y}/{b}" for y in _BREEDS for b in _BACKGROUNDS]),
                    "background": datasets.ClassLabel(names=list(_BACKGROUNDS)),
                }
            ),
        )

    def _watched(self, folder: Path) -> Iterable[Path]:
        return (folder / "spawrious224").glob("[01]/*/*")

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        if self.config.variant not in ("paper", "released"):
            raise OochubError(f"variant is 'paper' or 'released', got {self.config.variant!r}.")
        root = self._folder() / "spawrious224"
        files = _files(root)
        n = len(next(iter(files.values())))
        notes = [] if n == _RELEASED_N else [f"partial: {n:,} of {_RELEASED_N:,} images in each folder"]
        if self.config.variant == "released":
            notes.append("challenge named as in the released code, not as in Table 2")
        if n != _RELEASED_N and self.config.strict:
            raise OochubError(f"strict=True, but {root} is not the release: {notes[0]}.")
        table = _TABLE_2 if self.config.variant == "paper" else _RELEASED
        rows_of: dict[str, list[dict[str, Any]]] = {"train": [], "validation": [], "test": []}
        for part in _slices(table[self.config.name], n):
            rows = list(_rows(part, files[part.repeat, part.background, part.breed]))
            kept = len(rows) - (0 if part.environment == "test" else len(rows) // 5)
            rows_of["test" if part.environment == "test" else "train"] += rows[:kept]
            rows_of["validation"] += rows[kept:]
        for split, rows in rows_of.items():
            if not rows:
                raise OochubError(f"{n} images in a folder leave none for {split}: give at least 10 in each.")
        group_counts = Counter(row["group"] for row in rows_of["train"])
        facts = BuildFacts(
            rows={split: len(rows) for split, rows in rows_of.items()},
            trained_groups=tuple(sorted(group_counts)),
            group_counts=group_counts,
            other={"variant": self.config.variant, "n": n},
        )
        self._record(notes, facts)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"root": root, "shards": shards(pa.Table.from_pylist(rows))})
            for split, rows in rows_of.items()
        ]


def _files(root: Path) -> dict[tuple[int, str, str], list[str]]:
    """File names of each folder in numeric order; an error names every folder that is missing or unequal."""
    files: dict[tuple[int, str, str], list[str]] = {}
    for key in [(r, b, y) for r in (0, 1) for b in _BACKGROUNDS for y in _BREEDS]:
        repeat, background, breed = key
        folder = root / str(repeat) / background / breed
        prefix = f"{background}_{breed}_"
        numbered = [(path.stem.removeprefix(prefix), path.name) for path in folder.glob(f"{prefix}*.png")]
        files[key] = [name for _, name in sorted((int(k), name) for k, name in numbered if _NUMBER.fullmatch(k))]
    sizes = sorted({len(names) for names in files.values()})
    if len(sizes) > 1 or sizes == [0]:
        usual = max(sizes, key=lambda size: sum(len(names) == size for names in files.values()) * (size > 0))
        wrong = [
            f"{r}/{b}/{y} has {len(names)}" for (r, b, y), names in files.items() if len(names) != usual or not usual
        ]
        raise OochubError(
            f"The 48 folders of {root} must hold equally many files <background>_<breed>_<k>.png "
            f"(3,168 in the release). Most hold {usual}; {', '.join(wrong)}. Unpack the archives again."
        )
    return files


def _slices(challenge: _O2O | _M2M, n: int) -> list[_Slice]:
    parts = []
    for breed in _BREEDS:
        if isinstance(challenge, _O2O):
            spurious, unseen = challenge.pairs[breed]
            for repeat, share in enumerate(_SHARES):
                many = int(share * n)
                parts.append(_Slice(f"env_{repeat + 1}", repeat, spurious, breed, 0, many))
                parts.append(_Slice(f"env_{repeat + 1}", repeat, challenge.generic, breed, 0, n - many))
            parts += [_Slice("test", repeat, unseen, breed, 0, n) for repeat in (0, 1)]
        else:
            first, second, unseen_two = challenge.pairs[breed]
            parts += [_Slice("env_1", 0, first, breed, 0, n), _Slice("env_2", 0, second, breed, 0, n)]
            parts += [_Slice("test", 0, background, breed, 0, n) for background in unseen_two]
    return parts


def _rows(part: _Slice, names: list[str]) -> Iterator[dict[str, Any]]:
    for name in names[part.first : part.last]:
        number = name.removesuffix(".png").rpartition("_")[2]
        folder = f"{part.repeat}/{part.background}/{part.breed}"
        yield {
            "example_id": f"{folder}/{number}",
            "file": f"{folder}/{name}",
            "label": part.breed,
            "environment": part.environment,
            "group": f"{part.breed}/{part.background}",
            "background": part.background,
        }
