"""Spawrious: dog breeds whose background in training misleads at test time; six challenges."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.build_record import BuildFacts
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, shards
from oochub.builders.sources.spawrious_compositions import (
    BACKGROUNDS,
    BREEDS,
    RELEASED,
    RELEASED_N,
    TABLE_2,
    FileSlice,
)
from oochub.errors import OochubError
from oochub.sides import Rows
from oochub.vocabulary import Vocabulary

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
            size=f"{4 * RELEASED_N:,} PNGs",
            license="CC BY 4.0 (README); CC BY-SA (setup.py)",
            note="{bulldog,corgi,dachshund,labrador}/" + f"{background}_<breed>_<k>.png",
        )
        for repeat in (0, 1)
        for background in BACKGROUNDS
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
        for name in TABLE_2
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
                    "label": datasets.ClassLabel(names=list(BREEDS)),
                    "environment": datasets.ClassLabel(names=["env_1", "env_2", "test"]),
                    "group": datasets.ClassLabel(names=[f"{y}/{b}" for y in BREEDS for b in BACKGROUNDS]),
                    "background": datasets.ClassLabel(names=list(BACKGROUNDS)),
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
        notes = [] if n == RELEASED_N else [f"partial: {n:,} of {RELEASED_N:,} images in each folder"]
        if self.config.variant == "released":
            notes.append("challenge named as in the released code, not as in Table 2")
        if n != RELEASED_N and self.config.strict:
            raise OochubError(f"strict=True, but {root} is not the release: {notes[0]}.")
        challenges = TABLE_2 if self.config.variant == "paper" else RELEASED
        rows_of: dict[str, list[dict[str, Any]]] = {"train": [], "validation": [], "test": []}
        for part in challenges[self.config.name].slices(n):
            rows = list(_rows(part, files[part.repeat, part.background, part.breed]))
            kept = len(rows) - (0 if part.split == "test" else len(rows) // 5)
            rows_of[part.split] += rows[:kept]
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
    for key in [(r, b, y) for r in (0, 1) for b in BACKGROUNDS for y in BREEDS]:
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


def _rows(part: FileSlice, names: list[str]) -> Iterator[dict[str, Any]]:
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
