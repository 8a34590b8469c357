"""A user's own data in the forms in which people have them: the same twelve images in each."""

import csv
import io
import json
import tarfile
from pathlib import Path

import datasets
from PIL import Image

ROWS = (
    *(("0", "dog", "grass"), ("1", "dog", "grass"), ("2", "dog", "beach"), ("3", "cat", "sofa")),
    *(("4", "cat", "sofa"), ("5", "cat", "grass"), ("6", "cat", "street"), ("7", "dog", "street")),
)
"""Id, species and place of each image: by hand, grass and beach are usual for the dog, sofa for the cat, and the
street, as frequent with both, for none."""

CHALLENGES = ("easy", "easy", "easy", "easy", "easy", "hard_negative", "hard_negative", "hard_positive")
"""By hand: the context is usual for the class or not; dog, the second class by name, is the positive."""


def jpeg(name: str) -> bytes:
    """A gray image of 8 x 8 whose shade is the id."""
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (20 * int(name),) * 3).save(stream, "JPEG")
    return stream.getvalue()


def picture_folder(folder: Path, *, form: str = "csv", rows=ROWS) -> Path:
    """Images beside a metadata.csv, or .jsonl, with file_name, species and place."""
    folder.mkdir(parents=True)
    for name, _, _ in rows:
        (folder / f"{name}.jpg").write_bytes(jpeg(name))
    records = [{"file_name": f"{name}.jpg", "species": species, "place": place} for name, species, place in rows]
    if form == "jsonl":
        (folder / "metadata.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        return folder
    with (folder / "metadata.csv").open("w", newline="") as lines:
        writer = csv.DictWriter(lines, ["file_name", "species", "place"])
        writer.writeheader()
        writer.writerows(records)
    return folder


def class_folder(folder: Path, *, context: bool = False) -> Path:
    """Images in a folder for each class; with `context` a metadata.csv that says the place alone."""
    for name, species, _ in ROWS:
        (folder / species).mkdir(parents=True, exist_ok=True)
        (folder / species / f"{name}.jpg").write_bytes(jpeg(name))
    if context:
        lines = [f"{species}/{name}.jpg,{place}\n" for name, species, place in ROWS]
        (folder / "metadata.csv").write_text("file_name,place\n" + "".join(lines))
    return folder


def parquet_file(file: Path) -> Path:
    """A Parquet file with the images in it, and text columns."""
    columns = {
        "photo": [{"bytes": jpeg(name), "path": None} for name, _, _ in ROWS],
        "species": [species for _, species, _ in ROWS],
        "place": [place for _, _, place in ROWS],
    }
    features = datasets.Features(
        {"photo": datasets.Image(), "species": datasets.Value("string"), "place": datasets.Value("string")}
    )
    datasets.Dataset.from_dict(columns, features).to_parquet(file)
    return file


def path_table(folder: Path) -> Path:
    """A CSV file beside a folder of images, which it names by their paths."""
    (folder / "pictures").mkdir(parents=True)
    for name, _, _ in ROWS:
        (folder / "pictures" / f"{name}.jpg").write_bytes(jpeg(name))
    lines = [f"pictures/{name}.jpg,{species},{place}\n" for name, species, place in ROWS]
    (folder / "table.csv").write_text("file,species,place\n" + "".join(lines))
    return folder / "table.csv"


def shard(file: Path) -> Path:
    """A shard as the package webdataset writes it: 0000.jpg, 0000.cls, 0000.json, 0001.jpg, ..."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w") as archive:
        for name, species, place in ROWS:
            record = json.dumps({"species": species, "place": place}).encode()
            for suffix, content in (("jpg", jpeg(name)), ("cls", b"1" if species == "dog" else b"0"), ("json", record)):
                entry = tarfile.TarInfo(f"{int(name):04}.{suffix}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return file
