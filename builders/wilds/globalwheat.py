"""GlobalWheat-WILDS: boxes around the heads of wheat in images of fields, in countries that are not in training."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import datasets
import pyarrow as pa

from oochub.benchmark import Benchmark
from oochub.builders.sources.metadata_table import MetadataTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files, sides_named
from oochub.errors import OochubError
from oochub.records.sides import Rows
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
    for institute, count in (each.split() for each in _INSTITUTES.split(", "))
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
_BOX = re.compile("([0-9]{1,6}) ([0-9]{1,6}) ([0-9]{1,6}) ([0-9]{1,6})")
_BOXES = pa.list_(pa.list_(pa.float32(), 4))


def _read(folder: Path, config: str) -> WildsRows:
    fields = _read_session_fields(folder / "metadata_domain.csv")
    splits: dict[str, pa.Table] = {}
    listed: dict[str, str] = {}
    beyond = 0
    for split, name in _SPLITS[config].items():
        table = MetadataTable.of_csv(folder / f"{name}.csv", ("image_name", "BoxesString", "domain"))
        table.check_unique("image_name")
        table.check_files("image_name", folder / "images")
        table.check_below("domain", len(_SESSIONS), "the sessions of GlobalWheat-WILDS")
        _check_new(table, listed)
        sizes = [_read_size(folder / "images" / file) for file in table.columns["image_name"]]
        boxes, sessions = list(_parse_boxes(table, sizes)), [_SESSIONS[number] for number in table.whole("domain")]
        first = sum(map(len, splits.values()))
        pictures = zip(boxes, sizes, strict=True)
        beyond += sum(x2 > width or y2 > height for of, (width, height) in pictures for _, _, x2, y2 in of)
        splits[split] = pa.table(
            {
                "example_id": [str(first + row) for row in range(len(boxes))],
                "file": [f"images/{file}" for file in table.columns["image_name"]],
                "boxes": pa.array(boxes, _BOXES),
                "environment": sessions,
                "group": sessions,
                "categories": pa.array([[0] * len(each) for each in boxes], pa.list_(pa.int64())),
                "session": sessions,
                **{name: [fields[session][name] for session in sessions] for name in _FIELDS.values()},
                "width": [width for width, _ in sizes],
                "height": [height for _, height in sizes],
            }
        )
    named = datasets.ClassLabel(names=list(_SESSIONS))
    features = datasets.Features(
        {
            "example_id": datasets.Value("string"),
            "image": datasets.Image(),
            "boxes": datasets.List(datasets.List(datasets.Value("float32"), length=4)),
            "environment": named,
            "group": named,
            "categories": datasets.List(datasets.ClassLabel(names=["wheat_head"])),
            "session": named,
            **{field: datasets.ClassLabel(names=_NAMES[column].split("|")) for column, field in _FIELDS.items()},
            "width": datasets.Value("int32"),
            "height": datasets.Value("int32"),
        }
    )
    notes = (f"boxes that end beyond the edge of their image: {beyond:,}",) if beyond else ()
    return WildsRows(features=features, splits=splits, notes=notes)


def _check_new(table: MetadataTable, listed: dict[str, str]) -> None:
    """Refuses an image that another split has too, and lists the others in `listed`, with where they stand."""
    for line, name in zip(table.lines, table.columns["image_name"], strict=True):
        if name in listed:
            raise OochubError(
                f"{table.file}, line {line}: {name[:80]} is in {listed[name]} too, but each image belongs to one "
                "split. Fetch both again."
            )
        listed[name] = f"{table.file.name}, line {line},"


def _read_size(file: Path) -> tuple[int, int]:
    """The width and height of an image in pixels, from its header."""
    try:
        return open_picture(read_bytes(file, at_most=_HEADER), name=str(file)).size
    except OochubError:  # it may have a longer one
        return open_picture(read_bytes(file), name=str(file)).size


def _read_session_fields(file: Path) -> dict[str, dict[str, str]]:
    """Country, location and stage of each session, by the names of the columns."""
    table = MetadataTable.of_csv(file, ("name", *_FIELDS), separator=";")
    table.check_unique("name")
    values = {field: table.coded(column, _NAMES[column].split("|")) for column, field in _FIELDS.items()}
    rows = {name: row for row, name in enumerate(table.columns["name"])}
    missing = [session for session in _SESSIONS if session not in rows]
    if missing:
        raise OochubError(
            f"{file} has no row for {len(missing)} of the {len(_SESSIONS)} sessions: {', '.join(missing[:5])}. Fetch "
            "it again."
        )
    return {session: {field: column[rows[session]] for field, column in values.items()} for session in _SESSIONS}


def _parse_boxes(table: MetadataTable, sizes: list[tuple[int, int]]) -> Iterator[list[list[float]]]:
    """The boxes of each row, x1, y1, x2, y2 in pixels; `sizes` are width and height of the images (n,)."""
    for line, text, size in zip(table.lines, table.columns["BoxesString"], sizes, strict=True):
        found = [] if text == "no_box" else [_BOX.fullmatch(each) for each in text.split(";")]
        boxes = [[float(number) for number in each.groups()] for each in found if each]
        if len(boxes) < len(found):
            raise OochubError(
                f'{table.file}, line {line}: BoxesString must be "no_box", or boxes such as "10 20 40 60;50 20 80 '
                f'60", x1 y1 x2 y2 in pixels, got {text[:80]!r}. Fetch it again.'
            )
        for x1, y1, x2, y2 in boxes:
            shown = f"got '{x1:.0f} {y1:.0f} {x2:.0f} {y2:.0f}'. Fetch it again."
            if x2 <= x1 or y2 <= y1:
                raise OochubError(
                    f"{table.file}, line {line}: a box must run from its upper left corner x1 y1 to its lower right "
                    f"one x2 y2, and have an area, {shown}"
                )
            width, height = size
            if x1 >= width or y1 >= height or x2 > 2 * width or y2 > 2 * height:
                raise OochubError(
                    f"{table.file}, line {line}: a box must lie inside its image of {width} x {height} pixels, {shown}"
                )
        yield boxes


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
        words=sides_named(
            example="image",
            inside="in sessions of training",
            outside="in other countries",
            place="in",
        ),
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
