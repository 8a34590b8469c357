"""A prediction of 2.2e9 numbers is written, read and evaluated; killed runs are completed. Not part of `make bench`.

`python speed/large_prediction.py --folder BIG` needs 11 GB of disk: 1.1 million vectors of 4 numbers through a random
network with 8 features and 2,000 classes, 2.25e9 numbers. `--kills 20 --numbers 2e7` sends SIGKILL at 20 random
moments to each of one process, one of two ranks, and the process that drives Ray, in some 24 parts.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

FEATURES, CLASSES, SIDE = 8, 2000, 2
ENGINES = ("one", "ranks", "ray")
RUN = """
import json, resource, sys, time
part_rows, out, step = int(sys.argv[1]), sys.argv[2], sys.argv[3]
import oochub
from oochub.prediction import parts
if part_rows:
    parts._ROWS = part_rows
import torch
start, cpu, base = time.time(), time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
options = {"batch_size": 256, "features": True, "images": False, "cache": False, "num_workers": 0}
if step in ("one", "ranks", "ray"):
    from datasets import load_from_disk
    oochub.predict("model", load_from_disk("data"), out=out, engine="ray" if step == "ray" else "local", **options)
elif step == "read":
    predictions = oochub.Predictions.load(out)
    total = sum(float(block["features"].sum()) for _, block in predictions.blocks("features"))
    print(len(predictions), "rows, sum of features", total)
else:
    report = oochub.evaluate(out)
    print("accuracy", report["accuracy"])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"step": step, "seconds": round(time.time() - start, 1),
    "cpu": round(time.process_time() - cpu, 1), "peak_mb": peak // 1024, "imports_mb": base // 1024}))
"""


def make(folder: Path, rows: int) -> None:
    """Data, a random model and the script that runs a step, where they are not there."""
    import numpy as np
    import torch
    from datasets import ClassLabel, Dataset, Features, List, Value
    from transformers import ResNetConfig, ResNetForImageClassification

    folder.mkdir(parents=True, exist_ok=True)
    names = [f"class{number}" for number in range(CLASSES)]
    torch.manual_seed(0)
    config = ResNetConfig(
        num_channels=1,
        embedding_size=8,
        hidden_sizes=[FEATURES],
        depths=[1],
        layer_type="bottleneck",
        num_labels=CLASSES,
        id2label=dict(enumerate(names)),
        label2id={name: number for number, name in enumerate(names)},
    )
    ResNetForImageClassification(config).save_pretrained(folder / "model")
    generator = np.random.default_rng(0)
    array = List(List(List(Value("float32"))))
    features = Features({"example_id": Value("string"), "array": array, "label": ClassLabel(names=names)})

    def blocks(first: list[int], rows: int) -> "object":
        for start in range(first[0], rows, 10_000):
            count = min(10_000, rows - start)
            values = generator.normal(size=(count, 1, SIDE, SIDE)).astype(np.float32).tolist()
            labels = generator.integers(0, CLASSES, count).tolist()
            for number in range(count):
                yield {"example_id": f"row{start + number}", "array": values[number], "label": labels[number]}

    data = Dataset.from_generator(
        blocks, features=features, gen_kwargs={"first": [0], "rows": rows}, cache_dir=str(folder / "cache")
    )
    data.save_to_disk(folder / "data")


def words(engine: str, part_rows: int, out: str, step: str) -> list[str]:
    """The command of a step."""
    ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"] if engine == "ranks" else []
    return [sys.executable, *ranks, "run.py", str(part_rows), out, step]


def large(folder: Path) -> None:
    """Each step in a fresh process; its seconds and its peak memory."""
    for step in ("one", "read", "evaluate"):
        subprocess.run(words("one", 0, "large.parquet", step), cwd=folder, check=True)
    out = folder / "large.parquet"
    files = list(out.glob("part-*")) if out.is_dir() else [out]
    print(len(files), "files of", sum(file.stat().st_size for file in files) // 10**6, "MB together", flush=True)


def killed(folder: Path, engine: str, kills: int, part_rows: int, seed: int) -> None:
    """SIGKILL at random moments; each time the next run completes it, and the parts are those of an undisturbed one."""
    import oochub

    chance = random.Random(seed)
    start = time.time()
    subprocess.run(words(engine, part_rows, f"whole-{engine}.parquet", engine), cwd=folder, check=True)
    whole = oochub.Predictions.load(folder / f"whole-{engine}.parquet")
    seconds, out, parts = time.time() - start, folder / "killed.parquet", folder / ".killed.parquet.parts"
    stopped, resumed = 0, []
    for number in range(kills):
        run = subprocess.Popen(
            words(engine, part_rows, out.name, engine),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        moment = time.time() + chance.uniform(0.05, 1) * seconds
        while time.time() < moment and run.poll() is None:
            time.sleep(0.01)
        if run.poll() is None:
            stopped += 1
            os.kill(victim(run.pid, chance) if engine == "ranks" else run.pid, signal.SIGKILL)
        run.wait()
        resumed.append(len(list(parts.glob("part-*.parquet"))))
        complete = out.exists()
        if not complete:
            subprocess.run(words(engine, part_rows, out.name, engine), cwd=folder, check=True, capture_output=True)
        predictions = oochub.Predictions.load(out)
        assert predictions.table.equals(whole.table) and predictions.digest == whole.digest, (
            f"{engine}: kill {number} differs"
        )
        assert not parts.exists()
        remove(out)
    print(json.dumps({"engine": engine, "kills": stopped, "parts_kept": resumed, "equal": kills}), flush=True)


def victim(launcher: int, chance: random.Random) -> int:
    """One of the ranks, or torchrun itself before it has any."""
    ranks = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return int(chance.choice(ranks)) if ranks else launcher


def remove(out: Path) -> None:
    """A prediction, a file or a folder, and its head."""
    shutil.rmtree(out) if out.is_dir() else out.unlink()
    out.with_name(f"{out.stem}.head.safetensors").unlink(missing_ok=True)


def main() -> None:
    """Large without `--kills`, else the kills of each engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="for data, model and predictions; without it nothing runs")
    parser.add_argument("--numbers", type=float, default=2.25e9)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("large_prediction.py: not run, it needs --folder and 11 GB of disk")
        return
    rows = int(arguments.numbers) // (FEATURES + CLASSES)
    needed, free = (16 if arguments.kills else 5) * arguments.numbers, shutil.disk_usage(arguments.folder.parent).free
    assert needed < free, f"{needed / 1e9:.0f} GB are needed and {free / 1e9:.0f} are free"
    folder = arguments.folder.absolute()
    if not (folder / "data").exists():
        child = multiprocessing.get_context("spawn").Process(target=make, args=(folder, rows))
        child.start()  # a process starts with the peak memory of the one that started it
        child.join()
    (folder / "run.py").write_text(RUN)
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    print(rows, "rows,", rows * (FEATURES + CLASSES), "numbers", flush=True)
    if not arguments.kills:
        large(folder)
    for engine in (arguments.engine or ENGINES) if arguments.kills else ():
        killed(folder, engine, arguments.kills, max(256, rows // 24 // 256 * 256), arguments.seed)


if __name__ == "__main__":
    main()
