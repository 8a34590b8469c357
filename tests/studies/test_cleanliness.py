"""The check of cleanliness: the sample, the pages, the command, and a CLIP-like model's score."""

import json
import re
from collections import Counter

import datasets
import pytest
from typed_commands import in_one_line

from oochub.data.load import load
from oochub.errors import OochubError
from oochub.reviewing.decisions import Decision, write_decisions
from oochub.storage.ownership import MANIFEST
from oochub.studies.spawrious.cleanliness.cleanliness_sample import cleanliness_sample, read_sample, sample_text

NOON = "2026-01-31T12:00:00.000Z"


@pytest.fixture(scope="module")
def data(spawrious):
    return load("spawrious/o2o_hard", data_dir=str(spawrious))


@pytest.fixture
def run(run):
    """Runs a command of words; its exit code, output and errors on one line."""
    return lambda *words: in_one_line(*run(*words))


def test_a_sample_is_dealt_out_once(data):
    """Each image once, with the breed and background of its id. Planted fault seen: drawn with replacement."""
    sample = cleanliness_sample(data, raters=10, images=20)
    assert Counter(image.page for image in sample) == dict.fromkeys(range(1, 11), 20)
    assert len({image.example_id for image in sample}) == 200
    for image in sample:
        _, background, breed, _ = image.example_id.split("/")
        assert (image.breed, image.background) == (breed, background)
    assert sample == cleanliness_sample(data, raters=10, images=20)
    assert sample != cleanliness_sample(data, raters=10, images=20, seed=1)


def test_shared_images_stand_on_every_page_in_another_order(data):
    sample = cleanliness_sample(data, raters=3, images=8, shared=5)
    pages = [[image.example_id for image in sample if image.page == page] for page in (1, 2, 3)]
    common = set(pages[0]) & set(pages[1]) & set(pages[2])
    assert len(common) == 5 and len({image for page in pages for image in page}) == 5 + 3 * 3
    assert len({tuple(image for image in page if image in common) for page in pages}) > 1


def test_a_sample_says_what_is_wrong(data):
    plain = {"test": datasets.Dataset.from_dict({"example_id": ["a"], "label": [0]})}
    total = sum(len(part) for part in data.values())
    for words, message in (
        (dict(data=data, raters=10, images=48 * 48), f"there are {total}. Ask for fewer"),
        (dict(data=data, images=4, shared=5), "0 to 4 are shared"),
        (dict(data=plain), "The split test has no columns example_id, label and background"),
    ):
        with pytest.raises(OochubError, match=re.escape(message)):
            cleanliness_sample(words.pop("data"), **words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("page,id\n1,a\n", "its first line must be page,example_id,breed,background"),
        ("page,example_id,breed,background\n", "names no image"),
        ("page,example_id,breed,background\n-1,a,corgi,dirt\n", "line 2: expected a page"),
        (None, "There is no sample.csv in"),
    ],
)
def test_wrong_samples_are_named(tmp_path, text, message):
    if text is not None:
        (tmp_path / "sample.csv").write_text(text)
    with pytest.raises(OochubError, match=re.escape(message)):
        read_sample(tmp_path)


def _answered(folder, to, wrong=1, left=0, minute=0):
    """Files as the pages save them: of each page the first images wrong, the last unanswered."""
    sample, files = read_sample(folder), []
    for page in sorted({image.page for image in sample}):
        ids = [image.example_id for image in sample if image.page == page]
        marks = {
            ("image", each): Decision("image", each, "wrong" if k < wrong else "right", NOON)
            for k, each in enumerate(ids[: len(ids) - left])
        }
        files.append(to / f"rater_{page}.csv")
        write_decisions(files[-1], marks)
    return files


def _read(folder):
    """Each file but the manifest, which holds times."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


def test_from_pages_to_a_score_by_the_command_line(run, spawrious, tmp_path):
    out, saved = tmp_path / "check", tmp_path / "saved"
    saved.mkdir()
    words = (
        "spawrious",
        "cleanliness",
        "spawrious/o2o_hard",
        "--data-dir",
        spawrious,
        "--out",
        out,
        "--raters",
        3,
        "--images",
        5,
    )
    code, output, error = run(*words)
    assert code == 0 and "15 images on 3 pages" in output, error
    before = _read(out)
    assert before.keys() == {"sample.csv", "rater_1.html", "rater_2.html", "rater_3.html"}
    page = before["rater_2.html"].decode()
    sample = read_sample(out)
    assert sample_text(sample) == before["sample.csv"].decode() and page.count("<li ") == 5
    for image in sample:
        assert (f"a {image.breed} in the {image.background} location" in page) >= (image.page == 2)
        assert (f'data-id="{image.example_id}"' in page) == (image.page == 2)
    assert "rater_2.csv" in page and "rater_1.csv" not in page
    assert run(*words)[0] == 0 and _read(out) == before

    files = _answered(out, saved, wrong=1, left=1)
    code, output, error = run("spawrious", "cleanliness", out, *files)
    assert code == 0 and "Mean of the raters: 75.00%" in output and "3 of 15 images have no answer" in output, error
    assert output.count("\nnot a ") == 3
    code, output, _ = run("spawrious", "cleanliness", out, *files, "--json")
    told = json.loads(output)
    assert told["images"]["value"] == 0.75 and (told["asked"], told["unanswered"]) == (15, 3)

    (out / "rater_1.csv").write_text("scope,id,decision,at\n")
    few = ("spawrious/o2o_hard", "--data-dir", spawrious, "--raters", 3, "--images", 5, "--out")
    assert run("spawrious", "cleanliness", *few, out)[0] == 0 and (out / "rater_1.csv").exists()  # the pages alone
    (out / "rater_2.html").write_text("mine")
    for words, message in (
        ((out, *files, "--out", tmp_path / "other"), "Pass one of three"),
        ((out,), "Pass one of three"),
        ((out, *files, "--limit", 3), "--template and --limit are for --model"),
        ((saved, *files), "There is no sample.csv in"),
        ((out, tmp_path / "none.csv"), "no decisions at"),
        ((*few, out), "rater_2.html: it was changed after oochub wrote it"),
        (("spawrious/o2o_hard", "--data-dir", spawrious, "--out", tmp_path / "x", "--raters", 999), "Ask for fewer"),
    ):
        code, _, error = run("spawrious", "cleanliness", *words)
        assert code == 2 and message in error, (words, error)
    assert (out / "rater_2.html").read_text() == "mine" and not (tmp_path / "x").exists()


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    import tiny_zero_shot

    return tiny_zero_shot.folder(tmp_path_factory.mktemp("models") / "clip", "clip")


def _by_transformers(clip, part):
    """The best of the 24 descriptions by the model's own `logits_per_image`, one image at a time."""
    import torch
    from transformers import AutoModel, AutoProcessor

    model, processor = AutoModel.from_pretrained(clip).eval(), AutoProcessor.from_pretrained(clip)
    names = part.features["group"].names
    pairs = [name.split("/") for name in names]
    texts = [f"a photo of a {breed} in the {background} location." for breed, background in pairs]
    best = []
    for row in part:
        words = processor(text=texts, images=row["image"].convert("RGB"), return_tensors="pt", padding=True)
        with torch.no_grad():
            best.append(names[int(model(**words).logits_per_image.argmax())])
    return best


@pytest.mark.slow
def test_the_best_description_as_by_transformers(clip, data):
    """Breed, background and both by a plain loop. Planted faults seen: texts in another order than the groups."""
    from oochub.studies.spawrious.cleanliness.description_match import description_match

    part = data["test"].shuffle(seed=0).select(range(16))
    names = part.features["group"].names
    wanted, best = [names[code] for code in part["group"]], _by_transformers(clip, part)
    assert len(set(best)) > 2
    match = description_match(clip, {"test": part}, preprocessing="processor")
    parts = [[name.split("/") for name in every] for every in (wanted, best)]
    hits = [sum(one[k] == other[k] for one, other in zip(*parts, strict=True)) for k in (0, 1)]
    both = sum(one == other for one, other in zip(wanted, best, strict=True))
    assert [match.both, match.breed, match.background] == [both / 16, hits[0] / 16, hits[1] / 16]
    assert sum(estimate * estimate.n for estimate in match.groups.values() if estimate.n) == pytest.approx(both)


@pytest.mark.slow
def test_the_command_prints_the_model_s_score(run, clip, spawrious):
    from oochub.studies.spawrious.cleanliness.description_match import description_match

    words = ("spawrious", "cleanliness", "spawrious/o2o_hard", "--data-dir", spawrious, "--model", clip, "--limit", 8)
    code, output, error = run(*words, "--json")
    told = json.loads(output)
    data = load("spawrious/o2o_hard", data_dir=str(spawrious))
    match = description_match(str(clip), data, limit=8)
    assert code == 0 and told["both"] == match.both.to_dict() and told["both"]["n"] == 24, error
    code, output, error = run(*words)
    assert code == 0 and f"of all: {100 * match.both:.2f}%" in output and "labrador" in output, error
    for more, message in ((("--template", "a dog"), "A template has {} where"), (("--out", "x"), "Pass one of three")):
        code, _, error = run(*words, *more)
        assert code == 2 and message in error, error


def test_other_data_are_not_described(clip):
    from oochub.studies.spawrious.cleanliness.description_match import description_match

    plain = {"test": datasets.Dataset.from_dict({"example_id": ["a"], "label": [0]})}
    with pytest.raises(OochubError, match="The split test has no groups of a breed and a background"):
        description_match(clip, plain)
