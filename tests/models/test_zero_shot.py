"""Zero-shot against transformers' own logits and pipeline, ensembles against a loop, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_zero_shot
import torch
import transformers
from datasets import ClassLabel, Dataset, DatasetInfo, Features, List, Value
from datasets import Image as ImageFeature
from input_rows import encoded, photograph
from model_folders import changed, resnet
from PIL import Image
from safetensors.torch import load_file
from transformers import pipeline

import oochub
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.errors import OochubError
from oochub.models.supported_models import list_supported_models
from oochub.records.build_record import BuildRecord

BREEDS = ["labrador", "corgi", "bulldog"]
SIZES = ((40, 32), (32, 48), (33, 35))


def pictures() -> list[Image.Image]:
    return [photograph(*size, seed) for seed, size in enumerate(SIZES)]


def rows(label: Any = None, values: Any = (0, 1, 2), **info: Any) -> Dataset:
    label = ClassLabel(names=BREEDS) if label is None else label
    column = "labels" if isinstance(label, List) else "label"
    files = [{"bytes": encoded(each), "path": None} for each in pictures()]
    features = Features({"image": ImageFeature(), column: label})
    return Dataset.from_dict(
        {"image": files, column: list(values)}, features, info=DatasetInfo(features=features, **info)
    )


def predicted(model: Any, data: Any = None, **settings: Any) -> Any:
    data = rows() if data is None else data
    return oochub.predict(model, data, **{"preprocessing": "processor", "images": False, "cache": False} | settings)


def unit(vectors: Any) -> Any:
    return vectors / vectors.norm(dim=-1, keepdim=True)


def embeddings(model: Any, texts: list[str]) -> torch.Tensor:
    """Unit text embeddings, text by text."""
    words = tiny_zero_shot.tokenizer()
    with torch.no_grad():
        own = [model.get_text_features(**words([text], return_tensors="pt")).pooler_output for text in texts]
    return unit(torch.cat(own))


def picture_embeddings(kind: str, model: Any) -> torch.Tensor:
    processor = tiny_zero_shot.processor(kind).image_processor
    with torch.no_grad():
        own = [model.get_image_features(**processor(each, return_tensors="pt")).pooler_output for each in pictures()]
    return unit(torch.cat(own))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_zero_shot.folder(tmp_path_factory.mktemp("models") / "clip", "clip")


@pytest.mark.parametrize("kind", tiny_zero_shot.TYPES)
def test_equals_the_model_and_the_pipeline_of_transformers(kind: str, tmp_path: Path) -> None:
    """Planted: no bias for SigLIP, ALIGN's temperature multiplied, text embeddings that are not unit vectors."""
    folder = tiny_zero_shot.folder(tmp_path, kind)
    found = predicted(folder, templates="a photo of a {} dog.", features=True, batch_size=2)
    assert found.metadata.model.mode == "zero_shot"
    model, processor = tiny_zero_shot.model(kind), tiny_zero_shot.processor(kind)
    own = pipeline(
        "zero-shot-image-classification",
        model=model,
        image_processor=processor.image_processor,
        tokenizer=processor.tokenizer,
    )
    full = {"padding": "max_length", "max_length": 64} if "siglip" in kind else {"padding": True}
    words = processor.tokenizer([f"a photo of a {name} dog." for name in BREEDS], return_tensors="pt", **full)
    for picture, logits in zip(pictures(), found.logits, strict=True):
        with torch.no_grad():
            theirs = model(**words, **processor.image_processor(picture, return_tensors="pt")).logits_per_image
        np.testing.assert_allclose(logits, theirs[0].numpy(), atol=1e-5, rtol=0)
        scores = {
            each["label"]: each["score"] for each in own(picture, BREEDS, hypothesis_template="a photo of a {} dog.")
        }
        ours = torch.tensor(logits)
        ours = ours.sigmoid() if "siglip" in kind else ours.softmax(0)
        np.testing.assert_allclose(ours, [scores[name] for name in BREEDS], atol=1e-5, rtol=0)
    head, features = found.head, np.asarray(found.table.column("features").to_pylist())
    np.testing.assert_allclose(features @ head.weight.T + head.bias, found.logits, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-5)


def test_an_ensemble_is_the_mean_of_unit_embeddings_made_unit(clip: Path) -> None:
    """Planted: the mean of embeddings of their own lengths, and a mean that is not made unit again."""
    templates = ["a photo of the small {}.", "the large {}.", "a {}."]
    found = predicted(clip, templates=templates)
    model = tiny_zero_shot.model("clip")
    classes = [unit(embeddings(model, [each.format(name) for each in templates]).mean(0)) for name in BREEDS]
    expected = np.exp(2.0) * picture_embeddings("clip", model) @ torch.stack(classes).T
    np.testing.assert_allclose(found.logits, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("names", [["no_car", "car"], ["car", "no car"]])
def test_an_absent_thing_is_read_from_texts_without_it(clip: Path, names: list[str]) -> None:
    """Planted: "a photo of a no car.", and the two classes the wrong way round."""
    found = predicted(clip, rows(ClassLabel(names=names), (0, 1, 0)), negatives=["a photo.", "a scene, not a {}."])
    model = tiny_zero_shot.model("clip")
    absent = unit(embeddings(model, ["a photo.", "a scene, not a car."]).mean(0))
    both = {True: absent, False: embeddings(model, ["a photo of a car."])[0]}
    expected = np.exp(2.0) * picture_embeddings("clip", model) @ torch.stack([both["no" in name] for name in names]).T
    np.testing.assert_allclose(found.logits, expected.numpy(), atol=1e-5)
    assert "read the ranking (AUC)" in found.metadata.notes[-1]


def test_labels_are_the_difference_to_texts_without_them(tmp_path: Path) -> None:
    """Planted: the sum; SigLIP's bias, which the difference does not have."""
    data = rows(List(ClassLabel(names=["car", "boat"])), ([0], [0, 1], []))
    found = predicted(tiny_zero_shot.folder(tmp_path, "siglip"), data, negatives="a photo.")
    model, words = tiny_zero_shot.model("siglip"), tiny_zero_shot.tokenizer()
    tokens = words(
        ["a photo of a car.", "a photo of a boat.", "a photo."],
        padding="max_length",
        max_length=64,
        return_tensors="pt",
    )
    with torch.no_grad():
        *own, absent = unit(model.get_text_features(**tokens).pooler_output)
    expected = np.exp(2.0) * picture_embeddings("siglip", model) @ torch.stack([each - absent for each in own]).T
    np.testing.assert_allclose(found.logits, expected.numpy(), atol=1e-5)
    assert found.metadata.kind == "labels"


def test_a_benchmark_says_its_templates(clip: Path) -> None:
    """Planted: the plain default for every benchmark."""
    record = BuildRecord(benchmark="spawrious", config="o2o_hard", version="1.0.0")
    found = predicted(clip, rows(description=record.describe("Dogs.")))
    assert found.metadata.provenance["prompts"][1] == ["a photo of a corgi, a type of dog."]
    assert predicted(clip).metadata.provenance["prompts"][1] == ["a photo of a corgi."]


def test_templates_of_a_file(clip: Path, tmp_path: Path) -> None:
    """Planted: the name of the file as a template."""
    file = tmp_path / "templates.txt"
    file.write_text("a photo of a {}, a type of dog.\nthe {}.\n")
    found = predicted(clip, templates=str(file))
    assert found.metadata.provenance["prompts"][0] == ["a photo of a labrador, a type of dog.", "the labrador."]


def test_prompts_of_a_file_or_mapping_win(clip: Path, tmp_path: Path) -> None:
    """Planted: prompts in the order of the file."""
    texts = {name: [f"the {name}", "a dog"] for name in reversed(BREEDS)}
    file = tmp_path / "prompts.json"
    file.write_text(json.dumps(texts))
    found = predicted(clip, templates="imagenet_7", prompts=str(file))
    assert found.metadata.provenance["prompts"] == [[f"the {name}", "a dog"] for name in BREEDS]
    assert np.array_equal(found.logits, predicted(clip, prompts=texts).logits)


def test_a_model_object_takes_its_processor_whole_or_in_parts(clip: Path) -> None:
    model, both = tiny_zero_shot.model("clip"), tiny_zero_shot.processor("clip")
    whole = predicted(model, processor=both)
    parts = predicted(model, image_processor=both.image_processor, tokenizer=both.tokenizer)
    assert np.array_equal(whole.logits, parts.logits)
    np.testing.assert_allclose(whole.logits, predicted(clip).logits, atol=1e-6)
    with pytest.raises(OochubError, match="processor of images and texts"):
        predicted(model, processor=both.image_processor)


def test_detectors_run(clip: Path) -> None:
    """Planted: logits that are twice those of the linear layer, so that no head is found."""
    found = predicted(clip, rows(values=(0, 1, -1)), features=True, odin=0.01)
    assert "odin_logits" in found.table.column_names
    report = oochub.evaluate(found, detectors=["energy", "grad_norm", "odin"])
    assert {each.detector for each in report.detection} == {"energy", "grad_norm", "odin"}


@pytest.mark.parametrize("name", ["text_projection.weight", "visual_projection.weight", "logit_scale"])
def test_a_missing_weight_is_refused(name: str, tmp_path: Path) -> None:
    """Planted: a probe of images alone, whose answer depends on no text weight."""
    folder = changed(tiny_zero_shot.folder(tmp_path, "clip"), lambda weights: weights.pop(name))
    assert name not in load_file(folder / "model.safetensors")
    with pytest.raises(OochubError, match=rf"1 weight \({name}\) missing"):
        predicted(folder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"templates": "a photo"}, r"templates must be one of photo, imagenet_7, a .txt file .* got 'a photo'"),
        ({"templates": ["a photo of a {}", "a type of dog."]}, "got 'a type of dog.'"),
        ({"templates": "nowhere.txt"}, "there is no such file"),
        ({"templates": []}, "templates must be a text or a list of texts"),
        ({"templates": "a photo of a {}" + " dog" * 80}, "tokens, but the model reads at most 64"),
        ({"prompts": {"labrador": "a dog"}}, "no text for 2 of 3 classes: corgi, bulldog"),
        ({"prompts": {"poodle": "a dog"}}, "No class of the dataset named 'poodle'"),
        ({"prompts": dict.fromkeys(BREEDS, 3)}, "The prompts of 'labrador' must be a text"),
    ],
)
def test_settings_that_do_not_fit_are_refused(clip: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OochubError, match=message):
        predicted(clip, **settings)


def test_what_is_said_to_be_served_is(tmp_path: Path) -> None:
    """The types that are compared with the pipeline, and no other. Planted: BLIP 2 in the table of those served."""
    served = {each.model_type for each in list_supported_models() if "zero_shot" in each.modes}
    assert served == {*tiny_zero_shot.TYPES}
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.Blip2Config(
        vision_config={**size, "image_size": 32, "patch_size": 16},
        qformer_config={**size, "vocab_size": 64, "encoder_hidden_size": 16, "use_qformer_text_input": True},
        text_config={
            **{"model_type": "opt", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2},
            **{"ffn_dim": 16, "vocab_size": 64, "word_embed_proj_dim": 16},
        },
        image_text_hidden_size=8,
        num_query_tokens=4,
    )
    transformers.Blip2ForImageTextRetrieval(config).save_pretrained(tmp_path)
    tiny_zero_shot.processor("blip").save_pretrained(tmp_path)
    with pytest.raises(OochubError, match="does not return scaled cosines"):
        predicted(tmp_path)


def test_a_tokenizer_given_beside_a_folder_is_not_taken_from_the_cache(clip: Path) -> None:
    """Planted: a key without the tokenizer, which gives the predictions of another one."""
    first = predicted(clip, cache=True, templates="a photo of a {}.")
    assert "cached" in predicted(clip, cache=True, templates="a photo of a {}.").metadata.provenance["when"]
    words = tiny_zero_shot.tokenizer()
    words.add_tokens(["labrador dog"])
    for given in ({"tokenizer": words}, {"processor": tiny_zero_shot.processor("clip")}):
        again = predicted(clip, cache=True, templates="a photo of a {}.", **given)
        assert "cached" not in again.metadata.provenance["when"], given
        np.testing.assert_allclose(again.logits, first.logits, atol=1e-6)


def test_what_texts_cannot_answer_is_refused(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(OochubError, match="label of this dataset is a number"):
        predicted(clip, rows(Value("float32"), (0.5, 1.5, 2.5)))
    unnamed = rows().remove_columns("label")
    with pytest.raises(OochubError, match="has no class names"):
        predicted(clip, unnamed)
    assert predicted(clip, unnamed, prompts={"b": "a dog", "a": "a car"}).metadata.class_names == ("b", "a")
    with pytest.raises(OochubError, match=r"The mode zero_shot serves models of align, .* is a ResNetFor"):
        predicted(resnet(tmp_path), mode="zero_shot")


def test_classes_with_the_same_texts_are_refused_or_said(clip: Path) -> None:
    """The first synonym of "maillot, tank suit" is the name of another class, so both have the same texts.

    A user gives them texts of their own; ImageNet's classes, of which two pairs are called alike, get a note.
    """
    names = ["maillot", "corgi", "maillot, tank suit"]
    words = "only the first of them is ever answered: 'maillot' and 'maillot, tank suit'"
    with pytest.raises(OochubError, match=words + r"\. Give these classes texts of their own"):
        predicted(clip, rows(ClassLabel(names=names)))
    own = {"maillot": ["a dancer"], "corgi": ["a corgi"], "maillot, tank suit": ["a swimmer"]}
    assert not predicted(clip, rows(ClassLabel(names=names)), prompts=own).metadata.notes
    with pytest.raises(OochubError, match="'corgi' and 'maillot, tank suit'"):
        predicted(clip, rows(ClassLabel(names=names)), prompts={**own, "maillot, tank suit": ["a corgi"]})


@pytest.mark.parametrize(("benchmark", "config"), [("openood", "imagenet"), ("imagenet_hard", "default")])
def test_the_pairs_of_imagenet_are_named(benchmark: str, config: str, clip: Path) -> None:
    """Its two cranes and two maillots, which both benchmarks hold: a note, and the answers as before."""
    names = [name for name in IMAGENET_1K_NAMES if name.startswith(("crane", "maillot"))] + ["tench"]
    assert len(names) == 5
    record = BuildRecord(benchmark=benchmark, config=config, version="1.0.0")
    label = ClassLabel(names=names)
    made = predicted(clip, rows(label, description=record.describe("x")))
    (note,) = made.metadata.notes
    assert note.startswith("Classes with the same texts have the same logits") and "tench" not in note
    pairs = note.rpartition(": ")[2].split("; ")
    assert len(pairs) == 2 and {pair.strip("'")[:4] for pair in pairs} == {"cran", "mail"}
    for pair in pairs:
        first, second = (names.index(each) for each in pair.strip("'").split("' and '"))
        assert np.array_equal(made.logits[:, first], made.logits[:, second])
