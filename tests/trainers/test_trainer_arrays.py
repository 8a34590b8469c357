"""Arrays by the same trainer: a ResNet of four bands against a bare loop, saved with arrays.json, resumed, refused."""

import json
from multiprocessing import get_context, set_start_method
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Array3D, ClassLabel, Dataset, Features
from trainings import arguments
from transformers import PretrainedConfig, PreTrainedModel, ResNetConfig, ResNetForImageClassification
from transformers.modeling_outputs import ImageClassifierOutput

import oochub
from oochub.errors import OochubError
from oochub.inputs._stored_processors import ArrayProcessor
from oochub.inputs.arrays import Arrays
from oochub.trainers.backbone import open_backbone
from oochub.trainers.robust_trainer import RobustTrainer
from oochub.trainers.samplers import UniformSampler

BANDS, SIZE = 4, 16


def arrays(rows: int, seed: int, bands: int = BANDS) -> Dataset:
    """The class shows in the second band, the environment in the last; the bands differ in scale by 10."""
    rng = np.random.default_rng(seed)
    label, environment = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    values = rng.normal(size=(rows, bands, SIZE, SIZE))
    values[:, 1] += label[:, None, None]
    values[:, -1] += environment[:, None, None]
    values *= 10.0 ** np.arange(bands)[:, None, None]
    features = {
        "array": Array3D((bands, SIZE, SIZE), "float32"),
        "label": ClassLabel(names=["dry", "wet"]),
        "environment": ClassLabel(names=["north", "south"]),
    }
    columns = {"array": values.astype(np.float32), "label": label, "environment": environment}
    return Dataset.from_dict(columns, Features(features))


def made(out: Path, train: Dataset, validation: Any = None, *, objective: str = "erm", **changed: Any) -> RobustTrainer:
    model, processor = open_backbone("resnet-tiny", class_names=["dry", "wet"], kind=Arrays, dataset=train)
    return RobustTrainer(
        model,
        arguments(out, **changed),
        train_dataset=train,
        eval_dataset=validation,
        objective=oochub.get("objective", objective)(),
        processor=processor,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "normalize"), [(0, True), (0, False), (2, True)])
def test_equals_a_bare_loop(tmp_path: Path, normalize: bool, workers: int) -> None:
    """Numpy normalizes by the training rows' mean and deviation; workers read the same.

    In a process of its own, which forks for workers.
    """
    if not workers:
        _compare_to_bare_loop(tmp_path, normalize, workers)
        return
    process = get_context("spawn").Process(target=_compare_to_bare_loop, args=(tmp_path, normalize, workers))
    process.start()
    process.join()
    assert process.exitcode == 0


def _compare_to_bare_loop(folder: Path, normalize: bool, workers: int) -> None:
    if workers:
        set_start_method("fork", force=True)  # a spawned process spawns too, and each worker imports torch anew
    train = arrays(40, 1)
    settings: dict[str, Any] = {"optim": "sgd", "momentum": 0.0, "learning_rate": 0.01, "normalize": normalize}
    trainer = made(folder / "run", train, cache="none", dataloader_num_workers=workers, **settings)
    trainer.train()
    model, _ = open_backbone("resnet-tiny", class_names=["dry", "wet"], kind=Arrays, dataset=train)
    values, label = np.array(train["array"][:], np.float64), torch.tensor(train["label"][:])
    if normalize:
        values -= values.mean((0, 2, 3), keepdims=True)
        values /= values.std((0, 2, 3), keepdims=True)
    pixels = torch.tensor(values, dtype=torch.float32)
    optimizer = torch.optim.SGD(model.train().parameters(), lr=0.01, weight_decay=1e-4)
    sampler = UniformSampler(40, seed=0)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        order = list(sampler)
        for start in range(0, 40, 16):
            rows = order[start : start + 16]
            torch.nn.functional.cross_entropy(model(pixel_values=pixels[rows]).logits, label[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()
    trained = trainer.model.state_dict()
    for name, weights in model.state_dict().items():
        torch.testing.assert_close(trained[name], weights, atol=1e-5, rtol=1e-4)
    record = json.loads((folder / "run" / "arrays.json").read_text())
    assert record["shape"] == [BANDS, SIZE, SIZE] and len(record["std"]) == (BANDS if normalize else 0)


def test_a_folder_trains_further_on_other_bands(tmp_path: Path) -> None:
    """The record beside the model stays where bands are as many; else it is made anew, and the first layer with it."""
    made(tmp_path / "run", arrays(20, 1)).train()
    same, processor = open_backbone(
        str(tmp_path / "run"), class_names=["a", "b", "c"], kind=Arrays, dataset=arrays(20, 5)
    )
    assert processor == ArrayProcessor.from_pretrained(tmp_path / "run") and same.config.num_labels == 3
    other, processor = open_backbone(
        str(tmp_path / "run"), class_names=["a", "b"], kind=Arrays, dataset=arrays(20, 5, 6)
    )
    assert processor.bands == other.config.num_channels == 6
    expected = np.array(arrays(20, 5, 6)["array"][:], np.float64).std((0, 2, 3))
    np.testing.assert_allclose(processor.std, expected, rtol=1e-6)


class _VectorConfig(PretrainedConfig):
    model_type = "test_vectors"


class _VectorModel(PreTrainedModel):
    """A linear classifier of vectors, which it calls `vectors`."""

    config_class = _VectorConfig

    def __init__(self, config: _VectorConfig) -> None:
        super().__init__(config)
        self.classifier = torch.nn.Linear(config.width, config.num_labels)
        self.post_init()

    def forward(self, vectors: torch.Tensor) -> ImageClassifierOutput:
        return ImageClassifierOutput(logits=self.classifier(vectors))


def test_vectors_by_a_model_of_the_users(tmp_path: Path) -> None:
    """Mean and deviation of each entry; features are the vectors themselves, normalized."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 60)
    values = rng.normal(size=(60, 5)) * [1, 10, 100, 1, 1] + 20 * label[:, None] * [0, 1, 0, 0, 0]
    data = Dataset.from_dict({"array": values, "label": label})
    model = _VectorModel(_VectorConfig(width=5, num_labels=2))
    processor = ArrayProcessor.of(data, normalize=True, argument="vectors")
    objective = oochub.get("objective", "coral")
    trainer = RobustTrainer(
        model,
        arguments(tmp_path / "run", num_train_epochs=20, learning_rate=3e-2),
        train_dataset=data.add_column("environment", (label + np.arange(60)) % 2),
        objective=objective(),
        processor=processor,
    )
    trainer.train()
    predictions = oochub.predict(trainer.model, data, processor=processor, features=True, out=tmp_path / "p.parquet")
    normal = (values - values.mean(0)) / values.std(0)
    np.testing.assert_allclose(predictions.vectors("features"), normal, atol=1e-5)
    layer = trainer.model.classifier
    expected = normal @ layer.weight.detach().numpy().T.astype(np.float64) + layer.bias.detach().numpy()
    np.testing.assert_allclose(predictions.logits, expected, atol=1e-5)
    assert (predictions.prediction == label).mean() > 0.8


def test_what_does_not_fit_is_refused_before_training(tmp_path: Path) -> None:
    train = arrays(20, 1)
    processor = ArrayProcessor.of(train)
    three = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic", num_labels=2)
    given = {"train_dataset": train, "objective": oochub.get("objective", "erm")()}
    with pytest.raises(OochubError, match="num_channels=3, but the arrays of the dataset need 4"):
        RobustTrainer(ResNetForImageClassification(three), arguments(tmp_path / "run"), processor=processor, **given)
    with pytest.raises(OochubError, match="num_channels=3, but the arrays of the dataset need 4"):
        oochub.predict(ResNetForImageClassification(three), train)
    with pytest.raises(OochubError, match="augment='flip' is for images"):
        made(tmp_path / "run", train, augment="flip")
    with pytest.raises(OochubError, match="image_size=32 is for images"):
        open_backbone("resnet-tiny", class_names=["a", "b"], kind=Arrays, dataset=train, image_size=32)
    with pytest.raises(OochubError, match="got vectors of 3"):
        vectors = Dataset.from_dict({"array": [[1.0, 2.0, 3.0]]})
        open_backbone("resnet-tiny", class_names=["a", "b"], kind=Arrays, dataset=vectors)
    for change in ({"zoom": 1.2}, {"odin": 0.001}):
        with pytest.raises(OochubError, match=r"is for images\. Omit it for arrays"):
            oochub.predict(tmp_path / "nowhere", train, processor=processor, **change)
    assert not (tmp_path / "run").exists()
