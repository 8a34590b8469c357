"""Every kind of input with every kind of output, trained and predicted, beside a bare pass of transformers."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from datasets import Array3D, ClassLabel, Dataset, DatasetDict, Features, List, Value
from datasets import Image as ImageFeature
from input_rows import encoded, tokenizer
from PIL import Image
from trainings import arguments

import oochub
from oochub.models.model_source import choose_input
from oochub.trainers.backbone import open_backbone
from oochub.trainers.robust_trainer import RobustTrainer
from oochub.trainers.rows.targets import find_task

NAMES = ["low", "high"]


def split(inputs: str, output: str, rows: int, seed: int) -> Dataset:
    """Rows whose class shows in the input: the red of an image, a word of a text, the second of four bands."""
    rng = np.random.default_rng(seed)
    label, environment = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    noise = rng.normal(0, 1, (rows, 4, 16, 16))
    noise[:, 1] += 2 * label[:, None, None]
    columns = {
        "pictures": ("image", ImageFeature(), lambda k: {"bytes": _png(noise[k]), "path": None}),
        "texts": (
            "text",
            Value("string"),
            lambda k: " ".join(["a book", "a good"][label[k]] for _ in range(1 + k % 3)),
        ),
        "arrays": ("array", Array3D((4, 16, 16), "float32"), lambda k: noise[k].astype(np.float32)),
    }
    truths = {
        "classes": ("label", ClassLabel(names=NAMES), [*(1 - label[:2]), *label[2:]]),  # two that no model can know
        "number": ("label", Value("float32"), (3.0 * label - 2.0 + 0.1 * noise[:, 0, 0, 0]).tolist()),
        "labels": (
            "labels",
            List(Value("float32")),
            [[float(y), float(e), 1.0] for y, e in zip(label, environment, strict=True)],
        ),
    }
    name, feature, value = columns[inputs]
    truth, kind, values = truths[output]
    features = Features(
        {
            "example_id": Value("string"),
            name: feature,
            truth: kind,
            "environment": ClassLabel(names=["day", "night"]),
            "group": ClassLabel(names=["day", "night"]),
        }
    )
    rows_ = {
        "example_id": [f"{seed}/{k}" for k in range(rows)],
        name: [value(k) for k in range(rows)],
        truth: values,
        "environment": environment,
        "group": environment,
    }
    return Dataset.from_dict(rows_, features)


def _png(noise: Any) -> bytes:
    pixels = (128 + 30 * noise[:3].transpose(1, 2, 0)).clip(0, 255).astype(np.uint8)
    return encoded(Image.fromarray(pixels))


def bert(folder: Path) -> str:
    """A tiny text model from scratch, as a folder that `open_backbone` opens."""
    torch.manual_seed(0)
    words = tokenizer()
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=12, **shape)
    transformers.BertModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)


_EVERYDAY = (("pictures", "classes"), ("texts", "labels"), ("arrays", "number"))
"""Each kind of input and of output once; every pair is a campaign."""
_PAIRS = [
    pytest.param(pair, marks=() if pair in _EVERYDAY else pytest.mark.campaign, id="-".join(pair))
    for pair in product(("pictures", "texts", "arrays"), ("classes", "labels", "number"))
]


@pytest.fixture(scope="module", params=_PAIRS)
def trained(request: Any, tmp_path_factory: Any) -> tuple[str, str, Path, DatasetDict]:
    inputs, output = request.param
    folder = tmp_path_factory.mktemp(f"{inputs}-{output}")
    data = DatasetDict({part: split(inputs, output, n, s) for part, n, s in (("train", 64, 1), ("test", 24, 2))})
    task = find_task(data["train"])
    name = bert(folder / "bert") if inputs == "texts" else "resnet-tiny"
    kind = choose_input(data["train"], None)
    model, processor = open_backbone(
        name, class_names=task.names or [], problem_type=task.problem_type, kind=kind, dataset=data["train"]
    )
    trainer = RobustTrainer(
        model,
        arguments(folder / "run", num_train_epochs=8, learning_rate=3e-3),
        train_dataset=data["train"],
        eval_dataset=data["test"],
        objective=oochub.get("objective", "group_dro")(),
        processor=processor,
    )
    result = trainer.train()
    assert result.history[-1]["loss"] < result.history[0]["loss"]
    return inputs, output, result.output_dir, data


def bare_outputs(inputs: str, folder: Path, train: Dataset, test: Dataset) -> np.ndarray:
    """The model of the folder on all rows at once, by transformers and numpy alone."""
    auto = (
        transformers.AutoModelForSequenceClassification
        if inputs == "texts"
        else (transformers.AutoModelForImageClassification)
    )
    model = auto.from_pretrained(folder).eval()
    if inputs == "texts":
        batch = transformers.AutoTokenizer.from_pretrained(folder)(
            list(test["text"]), padding=True, truncation=True, return_tensors="pt"
        )
        given = {name: batch[name] for name in ("input_ids", "attention_mask")}
    elif inputs == "pictures":
        given = transformers.AutoImageProcessor.from_pretrained(folder)(list(test["image"]), return_tensors="pt")
    else:
        seen, values = (np.array(part["array"][:], np.float64) for part in (train, test))
        axes = {"axis": (0, 2, 3), "keepdims": True}
        given = {"pixel_values": torch.tensor((values - seen.mean(**axes)) / seen.std(**axes), dtype=torch.float32)}
    with torch.inference_mode():
        return model(**given).logits.numpy()


@pytest.mark.slow
def test_predictions_are_those_of_a_bare_pass(trained: tuple[str, str, Path, DatasetDict]) -> None:
    """From the folder alone; features give the outputs back through the stored head."""
    inputs, output, folder, data = trained
    expected = bare_outputs(inputs, folder, data["train"], data["test"])
    predictions = oochub.predict(folder, data, out=folder.parent / "p.parquet", features=True, batch_size=5)
    reopened = oochub.Predictions.load(folder.parent / "p.parquet")
    assert predictions.metadata.kind == reopened.metadata.kind == output
    stored = reopened.prediction[:, None] if output == "number" else reopened.logits
    np.testing.assert_allclose(stored, expected, atol=0.02 if inputs == "pictures" else 1e-5)  # one gray level
    truth = np.array(data["test"]["labels" if output == "labels" else "label"][:])
    np.testing.assert_allclose(reopened.label, truth, rtol=0, atol=0)
    assert reopened.class_names == {"classes": NAMES, "labels": ["0", "1", "2"], "number": ["label"]}[output]
    assert reopened.column("group").tolist() == [["day", "night"][e] for e in data["test"]["group"]]
