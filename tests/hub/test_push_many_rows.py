"""100,000 rows pushed and streamed back, each in a process of its own that holds less than 1 GB."""

import json
import subprocess
import sys

import datasets
import numpy as np
import pytest

ROWS = 100_000
_PEAK = """
import json
def peak():  # of this program alone: ru_maxrss begins with that of the process that started it
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
"""
_PUSH = (
    _PEAK
    + """
import sys
import oochub
oochub.push(sys.argv[1], "user/many")
print(json.dumps([peak()]))
"""
)
_STREAM = (
    _PEAK
    + """
import datasets
rows = size = 0
for row in datasets.load_dataset("user/many", split="train", streaming=True).decode(False):
    rows, size = rows + 1, size + len(row["image"]["bytes"])
print(json.dumps([peak(), rows, size]))
"""
)


@pytest.mark.campaign
def test_a_hundred_thousand_rows_in_less_than_a_gigabyte(hub, tmp_path):
    """Planted fault: the folder read whole before it is sent."""
    from oochub.repository.write_repository import write_user_repository

    noise = np.random.default_rng(0)
    header = b"\x89PNG\r\n\x1a\n"

    def rows():
        for number in range(ROWS):
            picture = {"bytes": header + noise.bytes(2_000), "path": f"{number}.png"}
            yield {"image": picture, "label": number % 3, "context": number % 5}

    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.Value("int64"), "context": datasets.Value("int64")}
    )
    made = datasets.Dataset.from_generator(rows, features=features, cache_dir=str(tmp_path / "cache"))
    (tmp_path / "many").mkdir()
    made.to_parquet(tmp_path / "many" / "train.parquet")
    write_user_repository(str(tmp_path / "many"), tmp_path / "built")

    def said(code, *words):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], env=hub.env, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout.splitlines()[-1])

    (pushing,) = said(_PUSH, str(tmp_path / "built"))
    streaming, count, size = said(_STREAM)
    print(f"pushing {pushing / 1e6:.2f} GB, streaming {streaming / 1e6:.2f} GB")  # noqa: T201
    assert (count, size) == (ROWS, ROWS * 2_008)
    assert pushing < 1_000_000 and streaming < 1_000_000  # kB
