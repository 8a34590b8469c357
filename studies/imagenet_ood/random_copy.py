"""An architecture with random weights, for the sanity check of detectors: it has learned nothing."""

from pathlib import Path

from oochub.inputs.pictures.image_processor import load_image_processor
from oochub.models.open_model import model_load_errors, read_model_config
from oochub.studies.imagenet_ood.model_list import StudiedModel


def random_copy(model: StudiedModel, folder: Path) -> Path:
    """Writes a model of the same architecture, whose weights come from a seed alone.

    Every convolution is drawn by He's normal distribution (fan out, ReLU), as the paper's ("Kaiming normal"); all else
    is as transformers initializes it. The paper does not say fan in or fan out; torchvision's networks are fan out.

    Args:
        model: Its `source` gives the config and the image processor, its `seed` the weights.
        folder: Folder that the copy is written to, below it in `model.name`.

    Returns:
        The folder of the copy.

    Raises:
        OochubError: The source has no config or image processor of an image classifier.

    Source:
        ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Section 4.2 and Appendix F.
    """
    import torch
    from transformers import AutoModelForImageClassification

    source = str(Path(str(model.source)).expanduser())
    config = read_model_config(source)
    with model_load_errors(source, words="an image classifier"):
        processor = load_image_processor(source)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(model.seed or 0)
            model_copy = AutoModelForImageClassification.from_config(config)
            for layer in model_copy.modules():
                if isinstance(layer, torch.nn.Conv2d):
                    torch.nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    target = folder / model.name
    model_copy.save_pretrained(target)
    processor.save_pretrained(target)
    return target
