"""The work of `oochub compare`, `build`, `push` and `repair` that `scale.py` measures: what one row more takes."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
from slope import Slope

import oochub

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

ROOT = Path(tempfile.gettempdir())
WIDTH = 1280  # features of EfficientNet-Lite0
_EACH = {"train": 0.4, "validation": 0.3, "test": 0.3}  # of the rows of a repair


def commands(is_short: bool) -> Iterator[Slope]:
    """Each command at two sizes, the larger ten times the smaller."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        yield _comparing(root, (2_000, 20_000) if is_short else (20_000, 200_000))
        sizes = (20, 200) if is_short else (200, 2_000)
        yield from _building(root, sizes)
        yield from _pushing(root, sizes)
    yield _repairing((400, 800) if is_short else (1_000, 10_000))


def _comparing(root: Path, sizes: tuple[int, int]) -> Slope:
    from scored_rows import scored

    def ready(rows: int) -> Callable[[], object]:
        files = [root / f"{rows}_{number}.parquet" for number in range(2)]
        made = scored(rows, 2)
        made.save(files[0])
        turned = np.random.default_rng(1).random(rows) < 0.1
        logits = np.where(turned[:, None], made.logits[:, ::-1], made.logits)
        columns = {name: made.column(name) for name in ("challenge", "group")}
        about = {"class_names": ["no car", "car"], "benchmark": "nooch", "config": "ce_car", "model": "other"}
        oochub.Predictions.from_arrays(logits=logits, label=made.label, **columns, **about).save(files[1])
        return lambda: oochub.compare(*files)

    return Slope("compare", "compare two predictions of two classes, from the files", "row", sizes, ready)


def _folder(root: Path, rows: int) -> Path:
    """JPEGs of 500 x 375 with their labels and contexts."""
    from images import jpeg

    folder = root / f"pictures{rows}"
    if not folder.exists():
        folder.mkdir()
        files, lines = [jpeg(seed) for seed in range(16)], ["file_name,label,context"]
        for number in range(rows):
            (folder / f"{number:06d}.jpg").write_bytes(files[number % 16])
            lines.append(f"{number:06d}.jpg,{('cow', 'camel')[number % 2]},{('grass', 'sand')[number // 2 % 2]}")
        (folder / "metadata.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def _building(root: Path, sizes: tuple[int, int]) -> Iterator[Slope]:
    from oochub.repository.write_repository import write_user_repository

    for name, what, megabytes in (("build_own", "Parquet", None), ("shards", "shards of a WebDataset", 100.0)):

        def ready(rows: int, megabytes: float | None = megabytes, name: str = name) -> Callable[[], object]:
            folder, number = _folder(root, rows), count()
            return lambda: write_user_repository(
                str(folder), root / f"{name}{rows}_{next(number)}", shard_size=megabytes
            )

        yield Slope(name, f"build own images (71 kB each) into {what}", "image", sizes, ready)


def _pushing(root: Path, sizes: tuple[int, int]) -> Iterator[Slope]:
    import pytest
    from hub_client import clients_of
    from loopback_hub import LoopbackHub

    from oochub.repository.write_repository import write_user_repository

    with pytest.MonkeyPatch.context() as patch, clients_of(LoopbackHub(root / "hub"), root / "home", patch):

        def ready(rows: int) -> Callable[[], object]:
            built, number = write_user_repository(str(_folder(root, rows)), root / f"push{rows}"), count()
            return lambda: oochub.push(built, to=f"user/pictures{rows}-{next(number)}")

        what = "push a built repository (71 kB an image) to a Hub in the same process, its work included"
        yield Slope("push", what, "image", sizes, ready, rounds=1)  # a second push of the same bytes sends none


def _repairing(sizes: tuple[int, int]) -> Slope:
    from repair_rows_by_hand import predictions_by_hand

    from oochub.prediction.predictions_file import StoredHead
    from oochub.repairing import repair_predictions
    from oochub.settings.repair_settings import RepairSettings

    weight = np.zeros((2, WIDTH), np.float32)
    weight[:, :2] = [[-0.4, -1.0], [0.4, 1.0]]
    head = StoredHead(weight=weight, bias=np.zeros(2, np.float32))

    def ready(rows: int) -> Callable[[], object]:
        of = {split: (round(0.4 * share * rows), round(0.1 * share * rows)) for split, share in _EACH.items()}
        made = predictions_by_hand(of, head=head, more_features=WIDTH - 2)
        return partial(repair_predictions, made, RepairSettings())

    what = f"fit, choose and prove a last layer on {WIDTH:,} features of two classes, three divisions"
    return Slope("repair", what, "row", sizes, ready, rounds=1)
