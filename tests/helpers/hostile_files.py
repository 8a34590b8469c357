"""Small programs that write a file made to burst its reader, and what reads it; run one in a process of its own."""

import io
import json
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

MB = 10**6


def _repeated(path: Path, start: str, middle: str, end: str, size: int) -> Path:
    """Text of about so many bytes, written in pieces."""
    piece = middle * max(1, 2**20 // len(middle))
    with path.open("w") as file:
        file.write(start)
        for _ in range(max(1, size // len(piece))):
            file.write(piece)
        file.write(end)
    return path


def _parquet(path: Path, size: int, *, cells: str) -> Path:
    """Rows whose texts are `size` long in all, or ten times as long and stored in a few bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if cells == "one huge cell":
        table = pa.table({"label": ["a" * size]})
    elif cells == "zeros":
        with pq.ParquetWriter(path, pa.schema([("label", pa.float64())]), compression="zstd") as writer:
            for _ in range(size * 20 // (8 * MB)):
                writer.write_table(pa.table({"label": pa.array([0.0]).take(pa.array([0] * MB))}))
        return path
    elif cells == "dictionary":
        word = pa.array(["a" * 10_000])
        with pq.ParquetWriter(path, pa.schema([("label", pa.string())]), compression="zstd") as writer:
            for _ in range(size * 20 // (10_000 * 10_000)):
                writer.write_table(pa.table({"label": word.take(pa.array([0] * 10_000))}))
        return path
    else:
        table = pa.table({"label": range(size // 1000)})
        pq.write_table(table, path, row_group_size=1)
        return path
    pq.write_table(table, path)
    return path


def _npz(path: Path, size: int) -> Path:
    """20 times `size` of zeros, packed."""
    header = io.BytesIO()
    import numpy as np

    count = size * 20 // 8
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (count, 1)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("logits.npy", "w") as file:
        file.write(header.getvalue())
        for _ in range(count * 8 // MB):
            file.write(bytes(MB))
    return path


def _npy_header(path: Path, size: int) -> Path:
    """An array that says that it has 100 GB, and has none."""
    import numpy as np

    with zipfile.ZipFile(path, "w") as archive, archive.open("logits.npy", "w") as file:
        shape = (size * 1000 // 8, 1)
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return path


def _png(path: Path, size: int, *, what: str) -> Path:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    side = 50_000 if what == "pixels" else 9_400 if what == "allowed pixels" else 2
    packed = zlib.compressobj(9)
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)))
        if what == "text":
            file.write(chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(size * 20), 9)))
        if what == "plain text":
            file.write(chunk(b"tEXt", b"a\0" + b"a" * size))
        rows = b"".join(packed.compress(bytes(3 * side + 1)) for _ in range(min(side, 10_000))) + packed.flush()
        file.write(chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    return path


def _safetensors(path: Path, size: int) -> Path:
    entry = '"%08d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    header = ("{" + ",".join(entry % number for number in range(size // 60)) + "}").encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    return path


def _tar(path: Path, size: int, *, members: str) -> Path:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        if members == "many":
            for number in range(size // 512):
                archive.addfile(tarfile.TarInfo(f"{number:09d}"))
        else:
            member = tarfile.TarInfo("huge.jpg")
            member.size = size
            archive.addfile(member, io.BytesIO(bytes(size)))
    return path


def _laughs(lines: int) -> str:
    first = 'a0: &a0 ["ha","ha","ha","ha","ha","ha","ha","ha","ha"]\n'
    return first + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, lines))


def _card(path: Path, size: int, *, what: str) -> Path:
    body = _laughs(12) if what == "aliases" else "".join(f"k{n}: [{{}}]\n" for n in range(size // 12))
    listed = "configs: *a11\ndataset_info: *a11\nmodel-index: *a11\ndatasets: *a11\n" if what == "aliases" else ""
    path.write_text(f"---\n{body}{listed}---\n# A card\n")
    return path


def _read_json(path: Path) -> Any:
    from oochub.storage.reading import read_json

    return read_json(path)


def _read_report(path: Path) -> Any:
    from oochub.report.report import Report

    return Report.load(path)


def _read_coco(path: Path) -> Any:
    from oochub.builders.sources.coco_json import coco_json

    return coco_json(path)


def _read_answers(path: Path) -> Any:
    from oochub.exchange.answers_file import read_answers

    return read_answers(path).table.num_rows


def _read_predictions(path: Path) -> Any:
    from oochub.prediction.predictions import Predictions

    return len(Predictions.load(path).table)


def _read_decisions(path: Path) -> Any:
    from oochub.reviewing.decisions import read_decisions

    return read_decisions(path, allowed={"keep": ("yes", "no")})


def _read_picture(path: Path) -> Any:
    from oochub.inputs.pictures.preprocessing import Preprocessing
    from oochub.storage.reading import read_bytes

    return Preprocessing(resize=(8, 8)).pixels(read_bytes(path), str(path)).shape


def _read_tensors(path: Path) -> Any:
    from oochub.storage.tensor_file import load_tensors

    return len(load_tensors(path).arrays)


def _read_recipe(path: Path) -> Any:
    from oochub.sweep.sweep_recipe import read_recipe

    return read_recipe(path)


def _read_card(path: Path) -> Any:
    from oochub.repository.repository_card import RepositoryCard
    from oochub.storage.reading import read_text

    return RepositoryCard.read(read_text(path), place=str(path))


def _trained_on(path: Path) -> Any:
    from oochub.models.model_source import _read_trained_on as trained_on

    return trained_on(path)


CASES: dict[str, tuple[str, Callable[[Path, int], Path], Callable[[Path], Any]]] = {
    "json of empty lists": ("a.json", lambda p, n: _repeated(p, "[", "[],", "0]", n), _read_json),
    "json of objects": ("a.json", lambda p, n: _repeated(p, "[", '{"a":0},', "0]", n), _read_json),
    "json of short texts": ("a.json", lambda p, n: _repeated(p, "[", '"ab",', "0]", n), _read_json),
    "json of numbers": ("a.json", lambda p, n: _repeated(p, "[", "1.5,", "0]", n), _read_json),
    "json of one text": ("a.json", lambda p, n: _repeated(p, '"', "a", '"', n), _read_json),
    "json of one text beyond latin": ("a.json", lambda p, n: _repeated(p, '"\U0001f600', "a", '"', n), _read_json),
    "report of objects": ("a.json", lambda p, n: _repeated(p, '{"a":[', '{"a":0},', "0]}", n), _read_report),
    "coco annotations": ("a.json", lambda p, n: _repeated(p, '{"annotations":[', '{"id":1},', "{}]}", n), _read_coco),
    "coco of empty lists": ("a.json", lambda p, n: _repeated(p, '{"annotations":[', "[],", "{}]}", n), _read_coco),
    "coco of outlines": (
        "a.json",
        lambda p, n: _repeated(p, '{"annotations":[', '{"id":1,"segmentation":[[1,1]]},', "{}]}", n),
        _read_coco,
    ),
    "csv of empty lines": ("a.csv", lambda p, n: _repeated(p, "label\n", "1\n", "", n), _read_answers),
    "csv of one cell": ("a.csv", lambda p, n: _repeated(p, 'label\n"', "a", '"\n', n), _read_answers),
    "csv of columns": ("a.csv", lambda p, n: _repeated(p, "", "ab,", "\n1\n", n), _read_answers),
    "decisions of lines": ("a.csv", lambda p, n: _repeated(p, "example_id,keep\n", "1,1\n", "", n), _read_decisions),
    "decisions of one line": ("a.csv", lambda p, n: _repeated(p, "example_id,keep", ",a", "\n", n), _read_decisions),
    "parquet of one cell": ("a.parquet", lambda p, n: _parquet(p, n, cells="one huge cell"), _read_answers),
    "parquet of zeros": ("a.parquet", lambda p, n: _parquet(p, n, cells="zeros"), _read_answers),
    "parquet of one word": ("a.parquet", lambda p, n: _parquet(p, n, cells="dictionary"), _read_answers),
    "parquet of groups": ("a.parquet", lambda p, n: _parquet(p, n, cells="groups"), _read_answers),
    "predictions of one word": ("a.parquet", lambda p, n: _parquet(p, n, cells="dictionary"), _read_predictions),
    "npz of zeros": ("a.npz", lambda p, n: _npz(p, n), _read_answers),
    "npz of a long shape": ("a.npz", lambda p, n: _npy_header(p, n), _read_answers),
    "png of pixels": ("a.png", lambda p, n: _png(p, n, what="pixels"), _read_picture),
    "png of allowed pixels": ("a.png", lambda p, n: _png(p, n, what="allowed pixels"), _read_picture),
    "png of packed text": ("a.png", lambda p, n: _png(p, n, what="text"), _read_picture),
    "png of text": ("a.png", lambda p, n: _png(p, n, what="plain text"), _read_picture),
    "safetensors of a header": ("a.safetensors", lambda p, n: _safetensors(p, n), _read_tensors),
    "recipe of tables": ("a.toml", lambda p, n: _repeated(p, "", "[[a]]\n", "", n), _read_recipe),
    "recipe of one list": ("a.toml", lambda p, n: _repeated(p, "a = [", "[],", "]\n", n), _read_recipe),
    "card of aliases": ("README.md", lambda p, n: _card(p, n, what="aliases"), _read_card),
    "card of keys": ("README.md", lambda p, n: _card(p, n, what="keys"), _read_card),
    "model card of aliases": ("README.md", lambda p, n: _card(p, n, what="aliases"), _trained_on),
    "model card of keys": ("README.md", lambda p, n: _card(p, n, what="keys"), _trained_on),
}
"""The file's name, what writes it with about so many bytes, and what reads it."""


def main(name: str, folder: Path, size: int) -> None:
    """Reads the file of a case and prints how it ended and the peak of memory in MB; the file stands there already."""
    import resource

    from oochub.errors import OochubError

    resource.setrlimit(resource.RLIMIT_AS, (12_000 * MB, 12_000 * MB))
    file, _, read = CASES[name]
    try:
        read(folder / file)
        end = "read"
    except OochubError as error:
        end = f"refused: {str(error)[:1000]}"
    except BaseException as error:
        end = f"{type(error).__name__}: {str(error)[:1000]}"
    # Not getrusage: its peak is at least that of the process which started this one.
    status = Path("/proc/self/status").read_text("ascii")
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024 // MB
    sys.stdout.write(json.dumps({"end": end, "peak": peak}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), 0)
