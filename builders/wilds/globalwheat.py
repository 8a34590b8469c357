"""GlobalWheat-WILDS: boxes around the heads of wheat in images of fields, in countries that are not in training."""

from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from oochub.benchmark import Benchmark
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files
from oochub.errors import OochubError
from oochub.records.sides import Rows, Vocabulary
from oochub.storage.picture_file import open_picture
from oochub.storage.reading import read_bytes

_SPLITS = {
    "globalwheat": {
        "train": "official_train",
        "val": "official_val",
        "test": "official_test",
        "id_val": "fixed_train_val",
        "id_test": "fixed_train_test",
    },
    "globalwheat_official_with_subsampled_test": {
        "train": "official_train",
        "val": "official_val",
        "test": "fixed_test_test",
    },
    "globalwheat_test-to-test": {"train": "fixed_test_train", "val": "official_val", "test": "fixed_test_test"},
    "globalwheat_mixed-to-test": {"train": "mixed_train_train", "val": "official_val", "test": "mixed_train_test"},
}
# How many sessions each institute gave; the column domain counts them from 0, in this order.
_INSTITUTES = (
    "Arvalis 12, ETHZ 1, Inrae 1, NMBU 2, Rres 1, ULiège-GxABT 1, Utokyo 3, Ukyoto 1, NAU 3, ARC 1, UQ 11, Terraref 2, "
    "KSU 4, CIMMYT 3, Usask 1"
)
_SESSIONS = tuple(
    f"{institute}_{number}"
    for institute, count in (entry.split() for entry in _INSTITUTES.split(", "))
    for number in range(1, 1 + int(count))
)
_NAMES = {
    "country": "Switzerland|UK|Belgium|Norway|France|Canada|US|Mexico|Japan|China|Australia|Sudan",
    "location": "Baima|Brookstead|Ciudad Obregon|Gatton|Gembloux|Gréoux|KSU|Kyoto|Maricopa, AZ|McAllister|Mons|"
    "NARO-Hokkaido|NARO-Tsukuba|NMBU|Rothamsted|Saskatchewan|Toulouse|Usask|VLB|VSC|Wad Medani|Eschikon",
    "development_stage": "Filling|Filling-Ripening|multiple|Post-flowering|Ripening",
}
_FIELDS = {"country": "country", "location": "location", "development_stage": "stage"}
_HEADER = 1 << 16  # bytes of an image that hold its size
_BOX = "[0-9]{1,6} [0-9]{1,6} [0-9]{1,6} [0-9]{1,6}"
_BOXES = pa.list_(pa.list_(pa.float32(), 4))


def _read(folder: Path, config: str) -> WildsRows:
    fields = _read_session_fields(folder / "metadata_domain.csv")
    tables: list[pa.Table] = []
    listed: dict[str, str] = {}
    beyond = 0
    for split, name in _SPLITS[config].items():
        table = RawTable.of_csv(
            folder / f"{name}.csv",
            {
                "image_name": RawColumn(is_unique=True, folder=folder / "images"),
                "BoxesString": RawColumn(
                    pattern=f"no_box|{_BOX}(;{_BOX})*",
                    form='"no_box", or boxes such as "10 20 40 60;50 20 80 60", x1 y1 x2 y2 in pixels',
                ),
                "domain": RawColumn(kind="count", highest=len(_SESSIONS) - 1, form="the sessions of GlobalWheat-WILDS"),
            },
        )
        files = table["image_name"]
        table.require(
            [file not in listed for file in files],
            lambda row, files=files, listed=listed: (
                f"image_name is {files[row][:80]}, but each image belongs to one split, and it is "
                f"in {listed[files[row]]} too"
            ),
        )
        listed |= {file: f"{name}.csv, {table.place(row)}," for row, file in enumerate(files)}
        sizes = [_read_size(folder / "images" / file) for file in files]
        boxes = _parse_boxes(table, sizes)
        pictures = zip(boxes, sizes, strict=True)
        beyond += sum(x2 > width or y2 > height for of, (width, height) in pictures for _, _, x2, y2 in of)
        own = {
            "split": [split] * len(files),
            "file": [f"images/{file}" for file in files],
            "boxes": pa.array(boxes, _BOXES),
            "categories": pa.array([[0] * len(box) for box in boxes], pa.list_(pa.int64())),
            "session": [_SESSIONS[number] for number in table["domain"]],
            "width": [width for width, _ in sizes],
            "height": [height for _, height in sizes],
        }
        tables.append(pa.table(own))
    rows = pa.concat_tables(tables)
    session = rows["session"].to_pylist()
    columns = {
        "image": (datasets.Image(), None),
        "boxes": (datasets.List(datasets.List(datasets.Value("float32"), length=4)), rows["boxes"]),
        "environment": (_SESSIONS, session),
        "group": (_SESSIONS, session),
        "categories": (datasets.List(datasets.ClassLabel(names=["wheat_head"])), rows["categories"]),
        "session": (_SESSIONS, session),
        **{
            field: (_NAMES[column].split("|"), [fields[name][column] for name in session])
            for column, field in _FIELDS.items()
        },
        "width": ("int32", rows["width"]),
        "height": ("int32", rows["height"]),
    }
    notes = (f"boxes that end beyond the edge of their image: {beyond:,}",) if beyond else ()
    return WildsRows.of(columns, rows["split"].to_pylist(), list(_SPLITS[config]), rows["file"], notes=notes)


def _read_size(file: Path) -> tuple[int, int]:
    """The width and height of an image in pixels, from its header."""
    try:
        return open_picture(read_bytes(file, at_most=_HEADER), name=str(file)).size
    except OochubError:  # it may have a longer one
        return open_picture(read_bytes(file), name=str(file)).size


def _read_session_fields(file: Path) -> dict[str, dict[str, str]]:
    """Country, location and stage of each session, by the names of the columns."""
    columns = {column: RawColumn(codes=_NAMES[column].split("|")) for column in _FIELDS}
    table = RawTable.of_csv(file, {"name": RawColumn(is_unique=True), **columns}, separator=";")
    rows = {name: row for row, name in enumerate(table["name"])}
    missing = [session for session in _SESSIONS if session not in rows]
    if missing:
        raise OochubError(
            f"{file} has no row for {len(missing)} of the {len(_SESSIONS)} sessions: {', '.join(missing[:5])}. "
            "Download it again."
        )
    return {session: {column: table[column][row] for column in _FIELDS} for session, row in rows.items()}


def _parse_boxes(table: RawTable, sizes: list[tuple[int, int]]) -> list[list[list[float]]]:
    """The boxes of each row, x1, y1, x2, y2 in pixels; `sizes` are width and height of the images (n,)."""
    texts = [[] if text == "no_box" else text.split(";") for text in table["BoxesString"]]
    boxes = [[[float(number) for number in box.split(" ")] for box in of] for of in texts]
    row = np.repeat(np.arange(len(boxes)), list(map(len, boxes)))
    x1, y1, x2, y2 = np.array([box for of in boxes for box in of]).reshape(-1, 4).T
    width, height = np.array(sizes)[row].T
    of_box = RawTable(file=table.file, place=lambda box: table.place(int(row[box])))
    shown = [box for of in texts for box in of]
    of_box.require(
        (x2 > x1) & (y2 > y1),
        lambda box: (
            "a box must run from its upper left corner x1 y1 to its lower right one x2 y2, and have an area, "
            f"got {shown[box]!r}"
        ),
    )
    of_box.require(
        (x1 < width) & (y1 < height) & (x2 <= 2 * width) & (y2 <= 2 * height),
        lambda box: f"a box must lie inside its image of {width[box]} x {height[box]} pixels, got {shown[box]!r}",
    )
    return boxes


def _declare_data_set(config: str) -> Benchmark:
    tables = {f"{name}.csv": f"one row per image: {split}" for split, name in _SPLITS[config].items()}
    official = replace(
        BASE,
        sources=("globalwheat", "global wheat", "gwhd"),
        title="GlobalWheat-WILDS",
        summary="Heads of wheat in images of fields, in countries that are not in training.",
        version="1.1.0",
        homepage="https://www.global-wheat.com",
        raw_files=raw_files(
            "globalwheat_v1.1",
            {**tables, "metadata_domain.csv": "one row per session", "images/": "6,515 PNGs"},
            size="10.3 GB",
            license="MIT",
        ),
        in_context=Rows(name="sessions of training", split="id_test"),
        out_of_context=Rows(name="other countries", split="test"),
        output="boxes",
        metrics=("detection_accuracy",),
        primary_metric="detection_accuracy",
        words=Vocabulary.of("in sessions of training", "in other countries", example="image", place="in"),
        task_category="object-detection",
        context_column="session",
        cluster="session",
        images_license="MIT",
        annotations_license="MIT",
        toy_world="toy_wilds_globalwheat",
    )
    if config == "globalwheat":
        return official
    return replace(
        official,
        title=f"GlobalWheat-WILDS ({config.removeprefix('globalwheat_')})",
        in_context=Rows(name="countries of validation", split="val"),
        out_of_context=Rows(name="countries of the test", split="test"),
    )


globalwheat = WildsDataSet(
    name="globalwheat",
    version="1.1",
    configs={config: _declare_data_set(config) for config in _SPLITS},
    read=_read,
    rows={"globalwheat": {"train": 2_943, "val": 1_424, "test": 1_434, "id_val": 357, "id_test": 357}},
)
