"""ImageNet-Hard: images from ImageNet and its test sets that six classifiers misclassify under any zoom or crop."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from oochub.benchmark import Benchmark, Mirror, RawFile
from oochub.builder import BenchmarkBuilder, make_features
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts
from oochub.records.output_columns import ALSO_RIGHT
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups
from oochub.storage.parquet_file import read_parquet
from oochub.storage.picture_file import check_beginning, check_inside

_PUBLISHED = 10_980
_PATTERN = "data/validation-*.parquet"
_Row = dict[str, Any]
"""The columns of a row by name."""
_HOME = "https://huggingface.co/datasets/taesiri/imagenet-hard"

imagenet_hard = Benchmark(
    name="imagenet_hard",
    title="ImageNet-Hard",
    summary="Images of ImageNet and its test sets that classifiers get wrong however they are framed.",
    version="1.0.0",
    homepage="https://taesiri.github.io/ZoomIsAllYouNeed/",
    sources=("imagenet hard", "imagenet a", "imagenet r", "imagenet sketch", "imagenet v2", "objectnet"),
    citation="""@inproceedings{taesiri2023imagenethard,
  title = {ImageNet-Hard: The Hardest Images Remaining from a Study of the Power of Zoom and Spatial Biases in Image
    Classification},
  author = {Taesiri, Mohammad Reza and Nguyen, Giang and Habchi, Sarra and Bezemer, Cor-Paul and Nguyen, Anh},
  booktitle = {Advances in Neural Information Processing Systems, Datasets and Benchmarks Track},
  year = {2023}
}""",
    raw_files=(
        RawFile(
            path=_PATTERN,
            url=_HOME,
            size="6.4 GB",
            license="MIT (card); each source's own",
            note="the Parquet files of the repository: image, label, origin, english_label",
            also="validation-*.parquet",
        ),
    ),
    mirrors=(Mirror(name="taesiri/imagenet-hard", holds="the files themselves"),),
    in_context=Rows(name="all", split="test"),
    out_of_context=WorstOfGroups(name="worst origin", split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.001,
    words=Vocabulary(
        example="image",
        inside="on all images",
        outside="on those of the worst origin",
        inside_title="over all images",
        outside_title="on the worst origin",
    ),
    context_column="origin",
    images_license="MIT (card); each source's own",
    annotations_license="MIT",
    toy_world="toy_imagenet_hard",
)


class ImagenetHard(BenchmarkBuilder):
    """The Parquet files of `taesiri/imagenet-hard`, all in one split `test`, read in place.

    A row has one right class or more: the first is its label, the others are `also_right`, and an answer counts as
    right if it is any of them, as by the authors. Labels are 0 to 999 in the standard order. `origin` is the set that
    an image is from, as the files write it, and its group; the gap is that of the worst origin. `example_id` is the
    number of the row.

    Source: Taesiri et al. 2023; the card of the repository at e292574 (columns, 10,980 images, MIT; other texts there
    say 11,350, as earlier versions have); `src/ImageNet_Hard/benchmark_openclip.py` of ZoomIsAllYouNeed (the rule).

    >>> ImagenetHard.BENCHMARK.out_of_context.column
    'group'
    """

    BENCHMARK: ClassVar[Benchmark] = imagenet_hard
    _group: tuple[Path, int, pa.ChunkedArray] | None = None  # the group of rows that was read last, and its first row

    def _watched(self, folder: Path) -> Iterable[Path]:
        return _list_files(folder)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        folder = self._folder()
        files = _list_files(folder)
        for file in files:
            if self._within:
                check_inside(file, root=folder)
        rows = [row for file in files for row in _read_rows(file, file.relative_to(folder).as_posix())]
        for number, row in enumerate(rows):
            row["example_id"] = f"{number:05}"
        groups = Counter(row["origin"] for row in rows)
        names = {"label": IMAGENET_1K_NAMES, **dict.fromkeys(("environment", "group", "origin"), sorted(groups))}
        also = {ALSO_RIGHT: datasets.List(datasets.Value("string"))}
        self.info.features = make_features(image=datasets.Image(), **names, **also)
        present = {label for row in rows for label in row.pop("labels")}
        facts = BuildFacts(present_classes=tuple(sorted(present)))
        return self._splits(folder, {"test": rows}, facts, self._partial({"test": rows}, {"test": _PUBLISHED}))

    def _columns(self, root: Path, row: _Row) -> _Row:
        return {**row, "image": self._read_image(root / row["file"], row["row"], row["example_id"])}

    def _read_image(self, file: Path, row: int, example: str) -> _Row:
        """The image of a row of a file, its bytes untouched; the group of rows that holds it is kept."""
        group = self._group
        if group is None or group[0] != file or not group[1] <= row < group[1] + len(group[2]):
            group = self._group = _read_group(file, row)
        picture = group[2][row - group[1]].as_py()
        where = f"row {row} of {file}"
        if not picture or not picture.get("bytes"):
            raise OochubError(f"{where} has no image. Download the file again.")
        check_beginning(picture["bytes"], name=where)
        return {"bytes": picture["bytes"], "path": Path(picture.get("path") or f"{example}.jpg").name}


def _list_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(_PATTERN)) or sorted(folder.glob(imagenet_hard.raw_files[0].also))


def _read_rows(file: Path, name: str) -> list[_Row]:
    """The rows of a file but their images, which are read when they are needed."""
    table = read_parquet(file, without=("image",)).table
    schema = pq.read_schema(file)
    wanted = {"image", "label", "origin", "english_label"}
    if missing := sorted(wanted - {*schema.names}):
        raise OochubError(f"{file} lacks the columns {', '.join(missing)}; it has {', '.join(schema.names)}.")
    labels, origins = table.column("label").to_pylist(), table.column("origin").to_pylist()
    rows = []
    for number, (own, origin) in enumerate(zip(labels, origins, strict=True)):
        where = f"row {number} of {file}"
        own = [own] if isinstance(own, int) else own
        if not isinstance(own, list) or not own or not all(_is_class(label) for label in own):
            raise OochubError(f"{where}: label must list one class number or more, 0 to 999, got {own!r:.80}.")
        if not isinstance(origin, str) or not origin.strip():
            raise OochubError(f"{where}: origin must name the set that the image is from, got {origin!r:.80}.")
        first, *others = dict.fromkeys(own)
        names = {"environment": origin, "group": origin, "origin": origin}
        also = [IMAGENET_1K_NAMES[label] for label in others]
        rows.append({"file": name, "row": number, "label": first, "labels": own, ALSO_RIGHT: also, **names})
    return rows


def _is_class(label: object) -> bool:
    return isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(IMAGENET_1K_NAMES)


def _read_group(file: Path, row: int) -> tuple[Path, int, pa.ChunkedArray]:
    """The images of the group of rows that holds a row, and the number of its first one."""
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as opened:
            first = 0
            for number in range(opened.num_row_groups):
                count = opened.metadata.row_group(number).num_rows
                if row < first + count:
                    return file, first, opened.read_row_group(number, columns=["image"]).column("image")
                first += count
    except (pa.ArrowException, OSError) as error:
        why = str(error).partition("\n")[0]
        raise OochubError(f"{file} is cut off or damaged: {why}. Download it again.") from error
    raise OochubError(f"{file} has no row {row}. It changed while it was read: build again.")
