"""Waterbirds: birds pasted on land or water backgrounds, which match the bird in most training images."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.criteria.mismatch import mismatch
from oochub.builders.sources.raw_table import RawColumn, RawTable, of_splits
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary

_RELEASED = "waterbird_complete95_forest2water2"
_BIRDS, _PLACES = {"0": "landbird", "1": "waterbird"}, {"0": "land", "1": "water"}
_SPLITS = {"0": "train", "1": "validation", "2": "test"}
_GROUPS = tuple(f"{bird}/{place}" for bird in _BIRDS.values() for place in _PLACES.values())
_ROWS = {"train": 4_795, "validation": 1_199, "test": 5_794}
_TRAINED = dict(zip(_GROUPS, (3_498, 184, 56, 1_057), strict=True))
_CONSTRUCTED = "construction.json"  # `oochub waterbirds construct` leaves it

waterbirds = Benchmark(
    name="waterbirds",
    title="Waterbirds",
    summary="Land birds and water birds in front of land or water; in training 95% of each are in front of their own.",
    version="1.0.0",
    homepage="https://github.com/kohpangwei/group_DRO",
    # the page of CUB-200-2011 warns that its images overlap with those of ImageNet
    sources=("waterbirds", "cub", "places", "imagenet"),
    expected_rows=_ROWS,
    citation="""@inproceedings{sagawa2020distributionally,
  title = {Distributionally Robust Neural Networks for Group Shifts: On the Importance of Regularization for
    Worst-Case Generalization},
  author = {Sagawa, Shiori and Koh, Pang Wei and Hashimoto, Tatsunori B. and Liang, Percy},
  booktitle = {International Conference on Learning Representations},
  year = {2020}
}""",
    raw_files=(
        RawFile(
            path="metadata.csv",
            also="waterbird*_*/metadata.csv",
            url="https://nlp.stanford.edu/data/dro/waterbird_complete95_forest2water2.tar.gz",
            size="0.5 GB",
            license="of CUB-200-2011 (non-commercial research and education) and of Places",
            note=f"of {_RELEASED}/ or waterbirds_v1.0/, beside its 200 folders of images",
        ),
    ),
    in_context=Rows(name="easy", split="test", where={"challenge": ("easy",)}),
    out_of_context=Rows(name="hard", split="test", where={"challenge": ("hard_positive", "hard_negative")}),
    primary_metric="auc",
    metrics=("auc", "auc_hard", "accuracy", "error_rate", "nll", "ece", "worst_group", "adjusted_accuracy"),
    chance=0.5,
    words=Vocabulary(
        example="image",
        inside="on usual backgrounds",
        outside="on unusual ones",
        cause="context",
        pair="one water bird and one land bird",
        hard_positive="water birds on land",
        hard_negative="land birds on water",
        place="on",
    ),
    context_column="place",
    closed={"group": _GROUPS},
    templates=("a photo of a {}.",),
    images_license="of CUB-200-2011 (non-commercial research and education) and of Places",
    annotations_license="MIT",
    toy_world="toy_waterbirds",
)


@dataclass
class WaterbirdsConfig(BenchmarkConfig):
    """Options of `load_dataset("waterbirds", ...)`.

    Attributes:
        strict: Refuse rows that are not as many as the release's 4,795, 1,199 and 5,794, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    strict: bool = False


class Waterbirds(BenchmarkBuilder):
    """The released folder, or that of WILDS, which is the same: `metadata.csv` beside 200 folders of images.

    `example_id` is the image's path without its suffix, which names the species. The training environments are the
    four groups, bird x place, as in Sagawa et al. and WILDS. `challenge` is the criterion `mismatch` of bird and place:
    a water bird on land is a hard positive, a land bird on water a hard negative (NOOCH, Table 1). `group_counts` of
    the build record are the weights of `adjusted_accuracy`.

    The release counts Eastern Towhee, Western Meadowlark and Western Wood Pewee as water birds ("tern" is in their
    names), and so do its rows here.

    Source: Sagawa et al. 2020, Section 3.2; WILDS, `waterbirds_dataset.py`; NOOCH, Section 6.1.1.

    >>> Waterbirds.BENCHMARK.primary_metric
    'auc'
    """

    BENCHMARK: ClassVar[Benchmark] = waterbirds
    BUILDER_CONFIG_CLASS = WaterbirdsConfig

    def _features(self) -> datasets.Features:
        names = {"label": _BIRDS.values(), "environment": _GROUPS, "group": _GROUPS}
        names |= {"challenge": ["easy", "hard_positive", "hard_negative"], "place": _PLACES.values()}
        return make_features(image=datasets.Image(), **names, species="string", place_filename="string")

    def _watched(self, folder: Path) -> Iterable[Path]:
        metadata = self._read_metadata(folder)
        return [metadata, *(path for path in metadata.parent.iterdir() if path.is_dir())]

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        metadata = self._read_metadata(self._folder())
        table = RawTable.of_csv(
            metadata,
            {
                "img_id": RawColumn(is_unique=True),
                "img_filename": RawColumn(is_unique=True, folder=metadata.parent),
                "y": RawColumn(codes=_BIRDS),
                "split": RawColumn(codes=_SPLITS),
                "place": RawColumn(codes=_PLACES),
                "place_filename": RawColumn(),
            },
        )
        parts = of_splits(_list_rows(table), table["split"], _ROWS)
        facts = BuildFacts().with_groups(parts["train"]["group"].to_pylist(), _GROUPS)
        notes = [*self._partial(parts, _ROWS), *_describe_group_differences(facts.group_counts or {})]
        self._check_whole(f"{metadata} is not the release", notes)
        if (metadata.parent / _CONSTRUCTED).is_file():
            notes.append("constructed from CUB and Places by oochub: not the released images")
        return self._splits(metadata.parent, parts, facts, notes)

    def _read_metadata(self, folder: Path) -> Path:
        return waterbirds.raw_files[0].find(folder) or folder / "metadata.csv"


def _list_rows(table: RawTable) -> pa.Table:
    files, birds, places = table["img_filename"], table["y"], table["place"]
    groups = [f"{bird}/{place}" for bird, place in zip(birds, places, strict=True)]
    hard = mismatch([bird == "waterbird" for bird in birds], [place == "water" for place in places])
    return pa.table(
        {
            "example_id": [file.removesuffix(".jpg") for file in files],
            "file": files,
            "label": birds,
            "environment": groups,
            "group": groups,
            "challenge": hard.tolist(),
            "place": places,
            "species": [_parse_species(file) for file in files],
            "place_filename": table["place_filename"],
        }
    )


def _parse_species(file: str) -> str:
    """The species of "161.Blue_winged_Warbler/Blue_Winged_Warbler_0023_161774.jpg": "Blue winged Warbler"."""
    return file.rpartition("/")[0].rpartition("/")[2].partition(".")[2].replace("_", " ")


def _describe_group_differences(counts: Mapping[str, int]) -> list[str]:
    """How the groups of training differ from those of the release, in words."""
    groups = [f"{group} {counts[group]:,} of {of:,}" for group, of in _TRAINED.items() if counts[group] != of]
    return [f"training groups differ from the release: {', '.join(groups)}"] if groups else []
