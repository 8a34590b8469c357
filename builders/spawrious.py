"""Spawrious: dog breeds whose background in training misleads at test time; six challenges."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.spawrious_compositions import (
    BACKGROUNDS,
    BREEDS,
    RELEASED,
    RELEASED_N,
    TABLE_2,
    FileSlice,
    SpawriousComposition,
    read_composition,
)
from oochub.builders.sources.spawrious_files import ARCHIVES, FOLDER, SpawriousFiles, spawrious_places
from oochub.builders.sources.stored import Stored
from oochub.errors import OochubError, choose_wording
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_URL = "https://github.com/aengusl/spawrious (its README links to the archives)"
_LICENSE = "CC BY 4.0 (README); CC BY-SA (setup.py)"
_LEAST = 10  # images in a folder, of which some are left for validation


def _explain_not_buildable(folder: Path, options: Mapping[str, Any]) -> dict[str, str]:
    return {} if "composition" in options else {"composed": "It needs its option composition."}


_spawrious = Benchmark(
    name="spawrious",
    title="Spawrious",
    summary="Four dog breeds on six backgrounds; the backgrounds that go with a breed in training change at test time.",
    version="1.0.0",
    homepage="https://github.com/aengusl/spawrious",
    sources=("spawrious",),
    counts="The release has 152,064 images, 3,168 in each of 48 folders; compositions (Table 2) are shares of them.",
    citation="""@article{lynch2023spawrious,
  title = {Spawrious: A Benchmark for Fine Control of Spurious Correlation Biases},
  author = {Lynch, Aengus and Dovonon, Gb{\\`e}tondji J-S and Kaddour, Jean and Silva, Ricardo},
  journal = {arXiv preprint arXiv:2303.05470},
  year = {2023}
}""",
    raw_files=(
        RawFile(
            path=f"{FOLDER}/",
            also=ARCHIVES,
            url=_URL,
            size=f"{48 * RELEASED_N:,} PNGs",
            license=_LICENSE,
            note=f"{{0,1}}/{{{','.join(BACKGROUNDS)}}}/{{{','.join(BREEDS)}}}/<background>_<breed>_<k>.png",
        ),
        RawFile(
            path=f"{FOLDER}__entire_dataset.tar",
            url=_URL,
            size="the same",
            license=_LICENSE,
            required=False,
            note=f"decompressed but not unpacked, instead of {FOLDER}/",
        ),
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
    closed={"group": tuple(f"{breed}/{background}" for breed in BREEDS for background in BACKGROUNDS)},
    templates=("a photo of a {}, a type of dog.",),
    images_license=_LICENSE,
    annotations_license="CC BY 4.0",
    not_buildable=_explain_not_buildable,
    toy_world="toy_spawrious",
    tried_configs=("o2o_hard", "all"),
)
spawrious = replace(
    _spawrious,
    configs={
        "all": replace(
            _spawrious,
            in_context=Rows(name="all images", split="full"),
            out_of_context=WorstOfGroups(name="worst breed and background", split="full"),
            words=replace(
                _spawrious.words,
                cause="",
                inside="over all images",
                outside="in the worst group",
                inside_title="over all images",
                outside_title="in the worst group",
            ),
        )
    },
)


@dataclass
class SpawriousConfig(BenchmarkConfig):
    """Options of `load_dataset("spawrious", "o2o_hard", ...)`.

    Attributes:
        variant: "paper" names the challenges as Table 2 does; "released" as the authors' code, which permutes the
            three M2M names and swaps the environments of two breeds in one of them.
        composition: Only for `composed`: a TOML file that says which backgrounds each breed has in each environment.
        strict: Refuse folders of another size than the release's 3,168 files, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    variant: str = "paper"
    composition: str | None = None
    strict: bool = False


class Spawrious(BenchmarkBuilder):
    """The challenges O2O and M2M, easy, medium and hard; compositions of one's own; and all images.

    Compositions are proportions of n, the number of files in a folder (3,168 in the release). Files count in numeric
    order; the released code takes them as the file system lists them. Validation is the last 20% of each
    environment x breed x background. Each challenge is a selection of `all`, whose one split is called `full`, since
    `split="all"` is of `datasets`; there `index` counts the files of a folder from 0.

    Source: Lynch et al., Spawrious, Section 4 and Table 2.

    >>> list(Spawrious.builder_configs)
    ['o2o_easy', 'o2o_medium', 'o2o_hard', 'm2m_easy', 'm2m_medium', 'm2m_hard', 'all', 'composed']
    """

    BENCHMARK: ClassVar[Benchmark] = spawrious
    BUILDER_CONFIG_CLASS = SpawriousConfig
    BUILDER_CONFIGS: ClassVar[list[SpawriousConfig]] = SpawriousConfig.list_of(
        spawrious,
        {
            **{name: f"{name} of Table 2." for name in TABLE_2},
            "all": "Every image, with its background, repeat and place in its folder.",
            "composed": "A composition of one's own, composition=FILE.toml.",
        },
    )

    def __init__(
        self,
        *args: Any,
        config_name: str | None = None,
        hash: str | None = None,
        composition: str | Path | None = None,
        **options: Any,
    ) -> None:
        if composition is not None:  # two files of one name are not one build
            options |= self.checked_options({"composition": composition})
            hash = hashlib.sha256(f"{hash}{read_composition(composition).toml}".encode()).hexdigest()
        super().__init__(*args, config_name=config_name, hash=hash, **options)

    @cached_property
    def _composition(self) -> SpawriousComposition | None:
        """What the config is composed of; None is all images."""
        config = self.config
        if config.variant not in ("paper", "released"):
            raise OochubError(f"variant must be 'paper' or 'released', got {config.variant!r}.")
        if config.variant == "released" and config.name not in RELEASED:
            raise OochubError(f"variant='released' renames the six challenges; leave it out for {config.name}.")
        if config.composition is not None and config.name != "composed":
            raise OochubError(f"composition is only for the config composed; leave it out for {config.name}.")
        if config.name == "composed":
            if config.composition is None:
                give = choose_wording('composition="FILE.toml"', "--option composition=FILE.toml")
                raise OochubError(f"spawrious/composed needs its composition: give {give}.")
            return read_composition(config.composition)
        return (TABLE_2 if config.variant == "paper" else RELEASED).get(config.name)

    def _features(self) -> datasets.Features:
        composition = self._composition
        environments = ["repeat_0", "repeat_1"] if composition is None else list(composition.environments)
        own = {"repeat": "int32", "index": "int32"} if composition is None else {}
        groups = [f"{y}/{b}" for y in BREEDS for b in BACKGROUNDS]
        names = {"label": BREEDS, "environment": environments, "group": groups}
        return make_features(image=datasets.Image(), **names, background=BACKGROUNDS, **own)

    def _watched(self, folder: Path) -> Iterable[Path]:
        return spawrious_places(folder)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder, config, composition = self._folder(), self.config, self._composition
        files = SpawriousFiles.find(folder, within=self._within)
        notes = [] if files.n == RELEASED_N else [f"partial: {files.n:,} of {RELEASED_N:,} images in each folder"]
        self._check_whole(f"{files.place} is not the release", notes)
        other: dict[str, Any] = {"n": files.n} | ({"variant": config.variant} if config.name in TABLE_2 else {})
        if config.variant == "released":
            notes.append("challenge named as in the released code, not as in Table 2")
        if config.name == "composed" and composition is not None:
            notes.append(
                f"a composition of one's own, not of Table 2{f': {composition.about}' * bool(composition.about)}"
            )
            other["composition"] = composition.toml
        rows_of = {"full": list(_list_all_rows(files))} if composition is None else _compose(composition, files)
        facts = BuildFacts(other=other)
        if composition is not None:
            facts = facts.with_groups(row["group"] for row in rows_of["train"])
        tables = {split: pa.Table.from_pylist(rows) for split, rows in rows_of.items()}
        return self._splits(files.place, tables, facts, [*notes, *files.notes])

    def _columns(self, root: Path, row: Any) -> dict[str, Any]:
        if "file" in row:  # a file of its own, not of an archive
            return super()._columns(root, row)
        stored = Stored(**row["image"])
        content = stored.read(root, within=self._within)
        return {**row, "image": {"bytes": content, "path": PurePosixPath(stored.name).name}}


def _list_all_rows(files: SpawriousFiles) -> Iterator[dict[str, Any]]:
    for repeat, background, breed in files.folders:
        yield from _list_rows(files, FileSlice(f"repeat_{repeat}", "full", repeat, background, breed, 0, files.n))


def _compose(composition: SpawriousComposition, files: SpawriousFiles) -> dict[str, list[dict[str, Any]]]:
    rows_of: dict[str, list[dict[str, Any]]] = {"train": [], "validation": [], "test": []}
    for part in composition.slices(files.n):
        rows = list(_list_rows(files, part))
        kept = len(rows) - (0 if part.split == "test" else len(rows) // 5)
        rows_of[part.split] += rows[:kept]
        rows_of["validation"] += rows[kept:]
    for split, rows in rows_of.items():
        if not rows:
            raise OochubError(f"{files.n} images in a folder leave none for {split}: give at least {_LEAST} in each.")
    return rows_of


def _list_rows(files: SpawriousFiles, part: FileSlice) -> Iterator[dict[str, Any]]:
    pictures = files.folders[part.repeat, part.background, part.breed]
    for index in range(part.first, part.last):
        number, stored = pictures[index]
        yield {
            "example_id": f"{part.repeat}/{part.background}/{part.breed}/{number}",
            **({"image": stored._asdict()} if files.is_packed else {"file": stored.name}),
            "label": part.breed,
            "environment": part.environment,
            "group": f"{part.breed}/{part.background}",
            "background": part.background,
            "repeat": part.repeat,
            "index": index,
        }
