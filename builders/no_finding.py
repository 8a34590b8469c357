"""Chest X-rays without a finding, by sex and race: CheXpert and MIMIC-CXR as SubpopBench divides them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import ClassVar, NamedTuple

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.raw_table import RawColumn, RawTable, of_splits
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_LABELS = {"0": "finding", "1": "no_finding"}
_SPLITS = {"0": "train", "1": "validation", "2": "test"}
_SEXES, _RACES = ("male", "female"), ("white", "black", "other")
_ATTRIBUTES = {str(number): f"{_SEXES[number % 2]}, {_RACES[number // 2]}" for number in range(6)}
_GROUPS = tuple(f"{label}/{attribute}" for label in _LABELS.values() for attribute in _ATTRIBUTES.values())
_TABLE = "subpop_bench_meta/metadata_no_finding.csv"
_FILENAME = {"filename": RawColumn(is_unique=True)}
_SUBPOP = "https://github.com/YyzHarry/SubpopBench (MedicalData.md)"


class _Source(NamedTuple):
    """One of the two: its folder in SubpopBench's data, where its images are, who gives them, and their terms."""

    folder: str
    images: tuple[str, ...]
    depth: int  # parts of an image's path below the folder
    url: str
    license: str
    title: str
    summary: str
    sources: tuple[str, ...]


_SOURCES = {
    "chexpert_groups": _Source(
        folder="chexpert/",
        images=("train/", "valid/"),
        depth=4,
        url="https://stanfordmlgroup.github.io/competitions/chexpert/",
        license="research use agreement of Stanford: registration needed",
        title="CheXpert by sex and race",
        summary="Chest X-rays of Stanford's hospital, without a finding or not, by the patient's sex and race.",
        sources=("chexpert",),
    ),
    "mimic_cxr_groups": _Source(
        folder="MIMIC-CXR-JPG/",
        images=("files/",),
        depth=5,
        url="https://physionet.org/content/mimic-cxr-jpg/2.0.0/",
        license="PhysioNet's credentialed access: credentials and training needed",
        title="MIMIC-CXR by sex and race",
        summary="Chest X-rays of a hospital in Boston, without a finding or not, by the patient's sex and race.",
        sources=("mimic cxr", "mimiccxr"),
    ),
}


def _list_raw_files(source: _Source) -> tuple[RawFile, ...]:
    table = RawFile(
        path=f"{source.folder}{_TABLE}",
        also=_TABLE,
        url=f"{_SUBPOP}: its script writes it where the images and the patients' data are",
        size="not stated",
        license=source.license,
        note="a row for each image; not downloadable, SubpopBench's script writes it",
    )
    images = (
        RawFile(
            path=f"{source.folder}{place}",
            also=place,
            url=source.url,
            size="not stated",
            license=source.license,
            required=place != "valid/",
            note="images; not downloaded by oochub, because each user must agree to the terms",
        )
        for place in source.images
    )
    return (table, *images)


_no_finding = Benchmark(
    name="no_finding",
    title="Chest X-rays by sex and race",
    summary="Chest X-rays, without a finding or not, by the patient's sex and race.",
    version="1.0.0",
    homepage="https://github.com/YyzHarry/SubpopBench",
    sources=("chexpert", "mimic cxr", "mimiccxr"),
    citation="""@inproceedings{yang2023change,
  title = {Change is Hard: A Closer Look at Subpopulation Shift},
  author = {Yang, Yuzhe and Zhang, Haoran and Katabi, Dina and Ghassemi, Marzyeh},
  booktitle = {International Conference on Machine Learning},
  year = {2023}
}

@inproceedings{irvin2019chexpert,
  title = {CheXpert: A Large Chest Radiograph Dataset with Uncertainty Labels and Expert Comparison},
  author = {Irvin, Jeremy and Rajpurkar, Pranav and Ko, Michael and Yu, Yifan and others},
  booktitle = {AAAI Conference on Artificial Intelligence},
  year = {2019}
}

@article{johnson2019mimic,
  title = {MIMIC-CXR, a de-identified publicly available database of chest radiographs with free-text reports},
  author = {Johnson, Alistair E. W. and Pollard, Tom J. and Berkowitz, Seth J. and others},
  journal = {Scientific Data},
  year = {2019}
}""",
    raw_files=(),
    in_context=Rows(name="all images", split="test"),
    out_of_context=WorstOfGroups(split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.5,
    words=Vocabulary.of(
        "over all images", "in the worst group", example="image", pair="one image without a finding and one other"
    ),
    context_column="attribute",
    cluster="patient",
    closed={"group": _GROUPS},
    templates=("a chest X-ray with {}.",),
    images_license="credentials of each source needed",
    annotations_license="credentials of each source needed",
    toy_world="toy_no_finding",
    tried_configs=tuple(_SOURCES),
)

no_finding = replace(
    _no_finding,
    raw_files=tuple(raw for source in _SOURCES.values() for raw in _list_raw_files(source)),
    configs={
        config: replace(
            _no_finding,
            title=source.title,
            summary=source.summary,
            sources=source.sources,
            raw_files=_list_raw_files(source),
            images_license=source.license,
            annotations_license=source.license,
        )
        for config, source in _SOURCES.items()
    },
)


class NoFinding(BenchmarkBuilder):
    """The tables that SubpopBench's script writes, over images that you hold: `data_dir` is its folder of data.

    Nothing is downloaded: CheXpert asks for a registration, MIMIC-CXR for PhysioNet's credentials, and the tables hold
    data of patients. A table's `filename` is the path on the machine that wrote it; its last parts say where the image
    lies here. Label and attribute (sex and race) are SubpopBench's, as are the splits: they are drawn by image and not
    by patient, so a patient may be in training and test, which is noted. Intervals count patients. The sides are all
    test images against the worst of the twelve groups of label and attribute; environments are the groups.

    Source: Yang et al. 2023; SubpopBench 4d3dbbe, `scripts/download.py` (`generate_metadata_chexpert`,
    `generate_metadata_mimic_cxr`) and MedicalData.md. How many images each group has was not found published, so counts
    are not checked.

    >>> NoFinding.BENCHMARK.of("chexpert_groups").cluster
    'patient'
    """

    BENCHMARK: ClassVar[Benchmark] = no_finding
    BUILDER_CONFIGS: ClassVar[list[BenchmarkConfig]] = BenchmarkConfig.list_of(
        no_finding, {name: source.summary for name, source in _SOURCES.items()}
    )

    def _features(self) -> datasets.Features:
        names = {"label": _LABELS.values(), "environment": _GROUPS, "group": _GROUPS}
        names |= {"attribute": _ATTRIBUTES.values(), "sex": _SEXES, "race": _RACES}
        return make_features(image=datasets.Image(), **names, patient="string")

    def _watched(self, folder: Path) -> Iterable[Path]:
        file = self.declaration.raw_files[0].find(folder)
        if file is not None:
            yield file
            parents = {
                PurePosixPath(place).parent
                for place in _list_places(RawTable.of_csv(file, _FILENAME), self.config_name)
            }
            yield from (place for parent in parents if (place := file.parents[1] / parent).is_dir())

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        file = self.declaration.raw_files[0].find(folder) or folder / _TABLE
        root = file.parents[1]
        table = RawTable.of_csv(
            file,
            {
                **_FILENAME,
                "split": RawColumn(codes=_SPLITS),
                "y": RawColumn(codes=_LABELS),
                "a": RawColumn(codes=_ATTRIBUTES),
                "subject_id": RawColumn(kind="count"),
            },
        )
        files = _list_places(table, self.config.name)
        table.add("filename", files, RawColumn(folder=root))
        labels, attributes = table["y"], table["a"]
        groups = [f"{label}/{attribute}" for label, attribute in zip(labels, attributes, strict=True)]
        rows = pa.table(
            {
                "example_id": [file.rpartition(".")[0] for file in files],
                "file": files,
                "label": labels,
                "environment": groups,
                "group": groups,
                "attribute": attributes,
                "sex": [attribute.partition(", ")[0] for attribute in attributes],
                "race": [attribute.partition(", ")[2] for attribute in attributes],
                "patient": [f"patient {number}" for number in table["subject_id"]],
            }
        )
        parts = of_splits(rows, table["split"], _SPLITS.values())
        facts = BuildFacts().with_groups(parts["train"]["group"].to_pylist(), _GROUPS)
        return self._splits(root, parts, facts, _note_shared_patients(parts))


def _list_places(table: RawTable, config: str) -> list[str]:
    """The place of each image below the folder of its source (n,): the last parts of the path that the table has."""
    source, names = _SOURCES[config], table["filename"]
    parts = [PurePosixPath(name.replace("\\", "/")).parts[-source.depth :] for name in names]
    table.require(
        [len(of) == source.depth and f"{of[0]}/" in source.images and ".." not in of for of in parts],
        lambda row: (
            f"filename must end with {' or '.join(source.images)} and {source.depth - 1} more parts, got "
            f"{names[row][-80:]!r}"
        ),
    )
    return list(map("/".join, parts))


def _note_shared_patients(parts: dict[str, pa.Table]) -> list[str]:
    trained = set(parts["train"]["patient"].to_pylist())
    tested = parts["test"]["patient"].to_pylist()
    shared = sum(patient in trained for patient in tested)
    return [f"{shared:,} of {len(tested):,} test images are of patients who are in training too"] if shared else []
