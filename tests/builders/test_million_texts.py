"""A million rows of text, built, streamed and scored in 16 overlapping groups, each in a process below 1.5 GB."""

import subprocess
import sys

import numpy as np
import pytest

ROWS = 1_000_000
_MOST = 1_500_000  # kB
_IDENTITIES = ["male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white"]
_OTHERS = ["identity_any", "severe_toxicity", "obscene", "threat", "insult", "identity_attack", "sexual_explicit"]
_PEAK = """
def peak():  # of this program alone: ru_maxrss begins with that of the process that started it
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
"""
_LOAD = """
import sys, oochub
from datasets import load_dataset
config, folder, cache, streaming = sys.argv[1:]
data = load_dataset("wilds", config, data_dir=folder, cache_dir=cache, streaming=streaming == "yes")
if streaming == "yes":
    rows = sum(len(part["text"]) for split in data.values() for part in split.with_format("arrow").iter(4096))
else:
    rows = sum(map(len, data.values()))
print(rows, peak())
"""
_SCORE = """
import numpy as np, pyarrow as pa, oochub
mentioned = ["male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white"]
rng, names = np.random.default_rng(0), np.array([f"{a}/{b}" for a in mentioned for b in ("non-toxic", "toxic")])
label, mention = rng.integers(2, size=ROWS), rng.random((ROWS, 8)) < 0.25
logits = rng.normal(size=(ROWS, 2)).astype(np.float32)
logits[np.arange(ROWS), label] += 1
row, identity = np.nonzero(mention)
codes = 2 * identity + label[row]
ends = np.concatenate([[0], np.cumsum(mention.sum(axis=1))]).astype(np.int32)
groups = pa.ListArray.from_arrays(ends, pa.array(names).take(pa.array(codes)))
predictions = oochub.Predictions.from_arrays(
    logits=logits, label=label, class_names=["non-toxic", "toxic"], benchmark="wilds", config="civilcomments",
    groups=groups,
)
report = oochub.evaluate(predictions)
correct = logits.argmax(axis=1) == label
expected = {name: float(correct[row[codes == code]].mean()) for code, name in enumerate(names.tolist())}
found = {each.group: each.accuracy.value for each in report.groups.rows}
assert found.keys() == expected.keys() and all(abs(found[name] - expected[name]) < 1e-9 for name in found)
worst = next(each for each in report.slices if each.name == "out_of_context").metrics["accuracy"].value
assert abs(worst - min(expected.values())) < 1e-9
print(ROWS, peak())
"""


def _comments(folder, rng, texts):
    folder.mkdir()
    shares = np.round(rng.random((ROWS, 16)), 4).astype(str)
    split = rng.choice(["train", "val", "test"], ROWS, p=[0.6, 0.1, 0.3])
    with (folder / "all_data_with_identities.csv").open("w") as file:
        file.write(",".join(["", "comment_text", "split", "toxicity", *_IDENTITIES, *_OTHERS]) + "\n")
        file.writelines(f'{k},"{texts[k % 999]}",{split[k]},{",".join(shares[k])}\n' for k in range(ROWS))


def _reviews(folder, rng, texts):
    (folder / "splits").mkdir(parents=True)
    split, stars = [0, 0, 1, 2, 3, 3, 3, 4], rng.integers(1, 6, ROWS).tolist()
    with (folder / "reviews.csv").open("w") as file, (folder / "splits/user.csv").open("w") as splits:
        file.write('"reviewerID","asin","overall","reviewText","category","reviewYear"\n')
        splits.write("split\n")
        for k in range(ROWS):
            file.write(f'"A{k // 250:013}","B{k % 300_000:09}",{stars[k]}.0,"{texts[k % 999]}","Books",2010\n')
            splits.write(f"{split[k // 250 % 8]}.0\n")


@pytest.mark.campaign
def test_a_million_rows_in_less_than_1500_megabytes(tmp_path):
    """Each group against a loop; planted: the tables of all splits held beside their shards (Amazon: 1.6 GB)."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(5_000)]
    for config, make, length in (("civilcomments", _comments, 55), ("amazon", _reviews, 75)):
        folder = tmp_path / f"{config}_v{'1.0' if config == 'civilcomments' else '2.1'}"
        make(folder, rng, [" ".join(rng.choice(words, length)) for _ in range(999)])
        for streaming in ("no", "yes"):
            words_given = (config, str(folder), str(tmp_path / "cache"), streaming)
            _check(_run(_LOAD, *words_given), f"{config}, streaming {streaming}")
    _check(_run(f"ROWS = {ROWS}\n{_SCORE}"), "scored")


def _run(code, *given):
    done = subprocess.run([sys.executable, "-c", _PEAK + code, *given], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-2_000:]
    return [int(number) for number in done.stdout.split()[-2:]]


def _check(found, what):
    rows, peak = found
    print(f"{what}: {rows:,} rows, peak {peak // 1000:,} MB")  # noqa: T201
    assert rows == ROWS and peak < _MOST, what
