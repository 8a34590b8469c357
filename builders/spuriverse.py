"""SpuriVerse: multiple choice questions on images with a cue that misled GPT-4o, and on images of the same sources."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import datasets
import pandas as pd
import pyarrow as pa

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.errors import OochubError, choose_wording
from oochub.records.build_record import BuildFacts
from oochub.records.question_options import OPTIONS, QUESTION
from oochub.records.sides import Rows, Vocabulary

_LETTERS = "ABCD"
_CUES = ("non_spurious", "spurious")
_PARTS = ("anchor", "spurious_group", "non_spurious")
_ANCHORS, _OF_ANCHOR = 124, 10  # published: correlations, and images with the cue of each
_NOT_SPURIOUS_SEED = 2 * 42 + 1
_LISTED = "output/eval_human_accepted/reference_anchor_set.csv"
_DRAWN = "output/group_generation_prod"
_HOME = "https://github.com/Anderson-Lee-Git/SpuriVerse"
_DATA = "https://huggingface.co/datasets/yanyiwei/SpuriVerse"
_MIT, _UNKNOWN = "MIT (repository)", "not stated; the images' sources have terms of their own"


_Row = dict[str, Any]
"""The columns of a row by name, and its file."""


class _Source(NamedTuple):
    """A data set that questions are from: its table of questions, the folder of its images, and their files' names."""

    table: str
    images: str
    file: str


_SOURCES: Mapping[str, _Source] = {
    "naturalbench": _Source("naturalbench_meta.csv", "LMUData/images/NaturalBenchDataset", "{}.jpg"),
    "aokvqa": _Source("aokvqa_train_meta.csv", "aokvqa/datasets/coco/train2017", "{:0>12}.jpg"),
    "seedbench_img": _Source("seedbench_meta.csv", "LMUData/images/SEEDBench_IMG", "{}.jpg"),
    "seedbench2": _Source("seedbench_2_meta.csv", "LMUData/images/SEEDBench2", "{}.jpg"),
}
"""In the order in which the published code draws images without the cue."""
_GROUPS = tuple(f"{name}/{cue}" for name in _SOURCES for cue in _CUES)


def _declare_images(source: _Source) -> RawFile:
    return RawFile(
        path=f"{source.images}/",
        url=_HOME,
        size="not stated",
        license=_UNKNOWN,
        required=False,
        note="JPEGs by their id: anchors and images without the cue",
    )


spuriverse = Benchmark(
    name="spuriverse",
    title="SpuriVerse",
    summary="Questions with options of their own, on images with a spurious cue that misled GPT-4o and without it.",
    version="1.0.0",
    homepage=_HOME,
    citation="""@article{yang2025escaping,
  title = {Escaping the SpuriVerse: Can Large Vision-Language Models Generalize Beyond Seen Spurious Correlations?},
  journal = {arXiv preprint arXiv:2506.18322},
  year = {2025}
}""",
    sources=("a-okvqa", "aokvqa", "coco", "seed-bench", "seedbench", "naturalbench"),
    raw_files=(
        *(
            RawFile(path=f"meta/{source.table}", url=_HOME, size="not stated", license=_MIT, note="its questions")
            for source in _SOURCES.values()
        ),
        RawFile(path=_LISTED, url=_DATA, size="not stated", license=_UNKNOWN, note="written by adhoc/prepare_data.py"),
        RawFile(
            path=f"{_DRAWN}/", url=_DATA, size="not stated", license=_UNKNOWN, note="<source>/<id>/<id>_<1 to 10>.png"
        ),
        *map(_declare_images, _SOURCES.values()),
    ),
    in_context=Rows(name="non-spurious", split="test", where={"cue": ("non_spurious",)}),
    out_of_context=Rows(name="spurious", split="test", where={"cue": ("spurious",)}),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "worst_group"),
    chance=math.nan,  # a question has two to four options
    output="choices",
    task_category="visual-question-answering",
    context_column="cue",
    cluster="correlation",
    closed={"cue": _CUES, "part": _PARTS, "group": _GROUPS},
    words=Vocabulary(
        example="image",
        inside="without a spurious cue",
        outside="with one",
        inside_title="without a spurious cue",
        outside_title="with a spurious cue",
        pair="one right answer and one wrong",
    ),
    images_license=_UNKNOWN,
    annotations_license=_MIT,
    toy_world="toy_spuriverse",
)


@dataclass
class SpuriverseConfig(BenchmarkConfig):
    """Options of `load_dataset("spuriverse", ...)`.

    Attributes:
        non_spurious: Take the images without the cue too, ten for each anchor; they need the original data sets.
        strict: Refuse a raw folder without all 124 anchors and the ten images of each, instead of noting it.
        follow_links: Read images that links lead to outside the raw folder.
    """

    non_spurious: bool = True
    strict: bool = False


class Spuriverse(BenchmarkBuilder):
    """Rows with `question` and `options`; `label` is the number of the right option.

    The raw folder is the authors' repository after its `adhoc/prepare_data.py`: the tables of `meta/`, the list of
    anchors and the images that are drawn with the cue of each. `AOKVQA_ROOT` and `LMU_DATA_ROOT`, which lie anywhere
    there, are the folders `aokvqa/` and `LMUData/` here.

    Published are 124 anchors, real images whose cue misled GPT-4o and on whose counterfactuals a model does better,
    and for each ten drawn images with the same cue, question and answer. The images without a cue are drawn from the
    tables as `sample_non_spurious_images` of the authors does it: ten for each anchor of a source, by the same seed, so
    that they are the same rows, an anchor perhaps among them. The first of several questions on one image is asked. The
    drawn counterfactuals, by which the anchors were chosen, are not among what `prepare_data.py` fetches.

    `part` says anchor, spurious_group or non_spurious, and `cue` the side. `correlation` names the real image that a
    row belongs to: the eleven rows of an anchor share a question and are one cluster. `spurious_attribute` is what
    GPT-4o said of the anchor's cue. An option that the tables leave empty before another one reads "nan", as in the
    authors' prompts.

    Source: arXiv 2506.18322; utils/data_preparation.py, utils/finetuning_utils.py and adhoc/ of the repository. What
    else the data set on the Hub holds is not known here: its columns image, image_id, benchmark and spurious_group_1 to
    spurious_group_10 are those that prepare_data.py reads.

    >>> Spuriverse.BENCHMARK.out_of_context.where
    {'cue': ('spurious',)}
    """

    BENCHMARK: ClassVar[Benchmark] = spuriverse
    BUILDER_CONFIG_CLASS = SpuriverseConfig

    def _features(self) -> datasets.Features:
        question = {QUESTION: "string", OPTIONS: datasets.List(datasets.Value("string"))}
        names = {"cue": _CUES, "part": _PARTS, "source": tuple(_SOURCES)}
        texts = {"correlation": "string", "spurious_attribute": "string"}
        return make_features(image=datasets.Image(), label="int64", group=_GROUPS, **question, **names, **texts)

    def _watched(self, folder: Path) -> Iterable[Path]:
        return [*super()._watched(folder), *(path for path in (folder / _DRAWN).glob("*/*") if path.is_dir())]

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        tables = {name: _Questions(folder / "meta" / source.table, name) for name, source in _SOURCES.items()}
        anchors = _read_anchors(folder / _LISTED, tables)
        rows = [row for name, example in anchors for row in _list_spurious_rows(folder, tables[name], example)]
        if self.config.non_spurious:
            counts = {name: sum(name == of for of, _ in anchors) for name in _SOURCES}
            rows += [row for name, table in tables.items() for row in _list_other_rows(table, counts[name])]
        _check_files(folder, [row["file"] for row in rows])
        drawn = sum(row["part"] == "spurious_group" for row in rows)
        totals = ((len(anchors), _ANCHORS, "anchors"), (drawn, _ANCHORS * _OF_ANCHOR, "images drawn with a cue"))
        gaps = [f"{count:,} of {of:,} {what}" for count, of, what in totals if count != of]
        notes = [f"partial: {', '.join(gaps)}"] if gaps else []
        self._check_whole(f"{folder} is not the release", notes)
        if not self.config.non_spurious:
            notes.append(
                "images without the cue are left out (non_spurious=False), so there is nothing to compare with"
            )
        named = sum(option == _EMPTY for row in rows for option in row[OPTIONS])
        if named:
            notes.append(f'{named:,} options are empty in the tables and read "{_EMPTY}", as in the authors\' prompts')
        return self._splits(folder, {"test": pa.Table.from_pylist(rows)}, BuildFacts(), notes)


_EMPTY = "nan"


class _Questions:
    """The questions of a source, by the id of their image: of several on one image the first."""

    def __init__(self, file: Path, name: str) -> None:
        self.name, self.file = name, file
        self._table = RawTable.of_csv(
            file,
            {
                "index": RawColumn(pattern="[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", form="an image's id, letters and digits"),
                "answer": RawColumn(codes=_LETTERS),
                **dict.fromkeys(("question", *_LETTERS, "spuriousAttr"), RawColumn()),
            },
        )
        self.ids: list[str] = self._table["index"]
        self._first = {example: row for row, example in reversed(list(enumerate(self.ids)))}

    def __contains__(self, example: str) -> bool:
        return example in self._first

    def row(self, example: str, part: str, number: int | None = None) -> _Row:
        """The columns of an image's row, without its file."""
        row = self._first[example]
        texts = {name: self._table[name][row].strip() for name in (*_LETTERS, "question", "spuriousAttr")}
        label = _LETTERS.index(self._table["answer"][row])
        last = max(label, 1, *(place for place, letter in enumerate(_LETTERS) if texts[letter]))
        cue = "non_spurious" if part == "non_spurious" else "spurious"
        return {
            "example_id": f"{self.name}/{example}/{part if number is None else f'{part}_{number}'}",
            "label": label,
            "group": f"{self.name}/{cue}",
            QUESTION: texts["question"],
            OPTIONS: [texts[letter] or _EMPTY for letter in _LETTERS[: last + 1]],
            "cue": cue,
            "part": part,
            "source": self.name,
            "correlation": f"{self.name}/{example}",
            "spurious_attribute": texts["spuriousAttr"] if cue == "spurious" else "",
        }

    def image(self, example: str) -> str:
        """The path of an image of the original data set."""
        source = _SOURCES[self.name]
        return f"{source.images}/{source.file.format(example)}"


def _read_anchors(file: Path, tables: Mapping[str, _Questions]) -> list[tuple[str, str]]:
    """Source and id of each anchor, in the order of the list."""
    table = RawTable.of_csv(file, {"sample_ids": RawColumn(), "benchmark": RawColumn(codes=tuple(_SOURCES))})
    anchors = list(zip(table["benchmark"], table["sample_ids"], strict=True))
    table.require(
        [example in tables[name] for name, example in anchors],
        lambda row: f"{anchors[row][1][:80]!r} is not in {tables[anchors[row][0]].file}",
    )
    table.add("anchor", list(map("/".join, anchors)), RawColumn(is_unique=True))
    return anchors


def _list_spurious_rows(folder: Path, table: _Questions, example: str) -> Iterator[_Row]:
    """The row of an anchor, and of each image that was drawn with its cue."""
    yield {**table.row(example, "anchor"), "file": table.image(example)}
    drawn = [(k, f"{_DRAWN}/{table.name}/{example}/{example}_{k}.png") for k in range(1, _OF_ANCHOR + 1)]
    present = [(k, file) for k, file in drawn if (folder / file).exists() or (folder / file).is_symlink()]
    if not present:
        raise OochubError(
            f"There is no image {example}_1.png to {example}_{_OF_ANCHOR}.png in {folder / _DRAWN / table.name}/"
            f"{example}. Run adhoc/prepare_data.py of {_HOME} again."
        )
    for k, file in present:
        yield {**table.row(example, "spurious_group", k), "file": file}


def _list_other_rows(table: _Questions, anchors: int) -> Iterator[_Row]:
    """Rows without the cue, ten for each anchor of the source: those that the authors' code draws."""
    count = anchors * _OF_ANCHOR
    if count > len(table.ids):
        raise OochubError(
            f"{table.file} has {len(table.ids):,} rows, but {count:,} are drawn for {anchors} anchors. Download it "
            "again."
        )
    drawn = pd.Series(table.ids).sample(n=count, random_state=_NOT_SPURIOUS_SEED).tolist()
    seen: dict[str, int] = {}
    for example in drawn:
        seen[example] = seen.get(example, 0) + 1
        again = seen[example] if seen[example] > 1 else None
        yield {**table.row(example, "non_spurious", again), "file": table.image(example)}


def _check_files(folder: Path, files: Sequence[str]) -> None:
    missing = [file for file in files if not (folder / file).exists() and not (folder / file).is_symlink()]
    if missing:
        leave = choose_wording("non_spurious=False", "--option non_spurious=false")
        raise OochubError(
            f"{len(missing):,} of {len(files):,} images are not in {folder}, first {missing[0]}. Those of the original "
            f"data sets (README of {_HOME}, Full Benchmarks) go to aokvqa/ and LMUData/; {leave} does without those "
            "that have no cue."
        )
