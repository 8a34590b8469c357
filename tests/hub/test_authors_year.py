"""The year of the author of a data set on a loopback Hub: two versions, five entries, false labels, a withdrawal."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import oochub
from oochub.errors import OochubWarning
from oochub.exchange.answers_file import AnswersFile, join_answers
from oochub.prediction.predictions import Predictions

SHAPES, GROUNDS, ROWS, TEST = ("disk", "square"), ("grass", "sand"), 120, 80
SAID = ["--entry", "track=open", "--entry", "selection=none", "--entry", "supervision=labels"]
TOML = """title = "Shapes on grass and sand"
version = "{version}"
summary = "Disks lie on grass and squares on sand, and in the test not always."
[data]
label = "shape"
context = "ground"
[usual]
disk = ["grass"]
square = ["sand"]
"""


def _draw(folder: Path, version: str) -> Path:
    """The author's folder: a small image a row, a table, and benchmark.toml; version 2 has another label in one row."""
    rng, tables = np.random.default_rng(0), {"train": ["file_name,shape,ground"], "test": ["file_name,shape,ground"]}
    for split in tables:
        (folder / split).mkdir(parents=True)
    for row in range(ROWS):
        shape, ground = rng.integers(2, size=2)
        pixels = np.full((16, 16, 3), ((60, 140, 60), (220, 200, 140))[ground], np.uint8)
        pixels[4:12, 4:12] = (200, 40 + row, 40) if shape else (40, 40 + row, 200)
        if row == ROWS - 1 and version != "1.0.0":
            shape = 1 - shape
        split = "train" if row < ROWS - TEST else "test"
        Image.fromarray(pixels).save(folder / split / f"{row:03d}.png")
        tables[split].append(f"{row:03d}.png,{SHAPES[shape]},{GROUNDS[ground]}")
    for split, lines in tables.items():
        (folder / split / "metadata.csv").write_text("\n".join(lines) + "\n")
    (folder / "benchmark.toml").write_text(TOML.format(version=version))
    return folder


def _answer(skill: float, model: str, *, false_labels: bool = False) -> Predictions:
    """The answers of a model on the author's data set as the Hub has it; with labels that make each of them right."""
    data = oochub.load("user/shapes")["test"]
    label, rng = np.array(data["label"]), np.random.default_rng(int(100 * skill))
    score = (2 * label - 1) * skill + rng.normal(size=len(label))
    table = pa.table({"example_id": data["example_id"], "logits": np.stack([0 * score, score], 1).tolist()})
    made = join_answers(AnswersFile(name=f"{model}.csv", sha256="", table=table), {"test": data}, model_name=model)
    if not false_labels:
        return made
    names = made.column_names
    table = made.table.set_column(names.index("label"), "label", pa.array(made.prediction.astype(np.int64)))
    return Predictions(table, replace(made.metadata, fingerprint=""))


@pytest.mark.slow
def test_an_authors_year(hub, tmp_path, run, monkeypatch):
    """Each stage is typed as its author, a sender or an outsider types it; the site is written after each."""
    from huggingface_hub import HfApi

    sites = tmp_path / "sites"
    sites.mkdir()

    def typed(*words: object) -> str:
        code, out, err = run(*words)
        assert code == 0, err
        return out

    def publish(version: str) -> Path:
        (tmp_path / f"v{version[0]}").mkdir()
        folder = _draw(tmp_path / f"v{version[0]}" / "shapes", version)
        built = tmp_path / f"built{version[0]}"
        typed("build", folder, "--out", built)
        typed("push", built, "--to", "user/shapes")
        return built

    def send(skill: float, model: str, **options: bool) -> str:
        """The entry of a stranger, which the author merges; its folder in the results."""
        place = tmp_path / "sent" / model
        place.mkdir(parents=True)
        _answer(skill, model, **options).save(place / "preds.parquet")
        typed("evaluate", place / "preds.parquet", "--out", place / "report.json")
        before = set(hub.repository("datasets/user/results").at("main").files)
        typed("push", place / "report.json", "--leaderboard", "user/results", *SAID, "--entry", f"model={model}")
        HfApi().merge_pull_request(
            "user/results", len(hub.repository("datasets/user/results").requests), repo_type="dataset"
        )
        added = set(hub.repository("datasets/user/results").at("main").files) - before
        return next(path.partition("/")[0] for path in added)

    def site(name: str, *options: object) -> tuple[str, str]:
        """The pages of both versions after a stage; "" where there is none."""
        out = typed("leaderboard", "user/results", "--out", sites / name, *options)
        (sites / name / "said.txt").write_text(out)
        return tuple(
            file.read_text("utf-8")
            if (file := sites / name / "boards" / f"custom-shapes-{version}.html").is_file()
            else ""
            for version in ("1.0.0", "2.0.0")
        )  # type: ignore[return-value]

    HfApi().create_repo("user/results", repo_type="dataset")
    first = publish("1.0.0")
    names = [send(skill, model) for skill, model in ((0.3, "weak"), (1.2, "middle"), (3.0, "strong"))]
    spring, _ = site("1 spring")
    assert all(f"{name}.html" in spring for name in names) and "3 entries, 3 verified" in spring

    second = publish("2.0.0")
    newer = send(2.0, "later")
    summer, later = site("2 summer")
    link = ' Other versions: <a href="custom-shapes-2.0.0.html">2.0.0</a>'
    assert summer.count(link) == 1 and summer.replace(link, "") == spring
    assert "Since version 1.0.0: 1 row relabelled, of 80 rows that are compared." in later
    assert (sites / "2 summer" / "boards" / "custom-shapes.html").read_text("utf-8") == later
    assert "4 entries on 2 boards, 4 verified" in (sites / "2 summer" / "said.txt").read_text()

    outsider = send(1.0, "outsider", false_labels=True)
    autumn, later_too = site("3 autumn")
    assert autumn == summer
    said = (sites / "3 autumn" / "said.txt").read_text()
    assert "5 entries on 2 boards, 4 verified" in said and "Sets of 1 and 1 entries" in " ".join(said.split())
    assert later_too.count('<span class="rk">1</span>') == later.count('<span class="rk">1</span>') == 1
    assert f"rows relabelled), compared to {newer}" in (sites / "3 autumn" / "said.txt").read_text()

    with monkeypatch.context() as somebody:
        somebody.setenv("HF_TOKEN", "hf_readerofloopback")
        with pytest.warns(OochubWarning, match="not kept in user/results, so they count for this site only"):
            out = typed("leaderboard", "user/results", "--out", sites / "reader", "--truth", second)
        held = hub.repository("datasets/user/results").at("main").files
        assert "of its labels differ from" in out and not any(path.startswith("truth/") for path in held)
    site("4 truth", "--truth", first, "--truth", second)
    held = set(hub.repository("datasets/user/results").at("main").files)
    assert {f"truth/custom-shapes-{version}/truth.json" for version in ("1.0.0", "2.0.0")} <= held
    assert not any(path.startswith("truth/") and path.endswith((".png", ".jpg")) for path in held)
    winter, known = site("5 winter")
    assert "under the labels, sides and groups of built1" in winter and "its labels differ from the benchmark" in known
    assert (sites / "4 truth" / "boards" / "custom-shapes-2.0.0.html").read_text("utf-8") == known
    assert all("Shapes on grass and sand" in page and "custom/shapes" not in page for page in (spring, winter, known))
    ranks = [page.count('class="rk"') for page in (spring, winter)]
    assert ranks == [3, 3] and outsider in (sites / "5 winter" / "said.txt").read_text()

    why = f'["{names[0]}"]\ndate = 2026-11-30\nreason = "It saw the test images in training."\n'
    HfApi().upload_file(
        path_or_fileobj=why.encode(), path_in_repo="withdrawn.toml", repo_id="user/results", repo_type="dataset"
    )
    end, _ = site("6 end")
    assert "withdrawn on 2026-11-30. It saw the test images in training." in end and f"{names[0]}.html" not in end
    assert "2 entries, 2 verified" in end
    typed("push", sites / "6 end", "--to", "user/board")
    assert "boards/custom-shapes-1.0.0.html" in hub.repository("spaces/user/board").at("main").files
