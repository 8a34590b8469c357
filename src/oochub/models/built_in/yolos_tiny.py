"""YOLOS-Ti (Fang et al. 2021), a vision transformer that draws boxes, from scratch."""

from collections.abc import Mapping
from typing import Any, ClassVar

from oochub.models.built_in_model import BuiltInModel


class YolosTiny(BuiltInModel):
    """A detector with the loss of DETR and 100 boxes per image, 6 million parameters; images are 224 x 224 pixels.

    Boxes take long to learn from scratch: `hustvl/yolos-tiny` of the Hub is the same network, trained on COCO.

    Source: Fang et al. 2021, Table 1.
    """

    inputs: ClassVar[tuple[str, ...]] = ("pictures",)
    is_detector: ClassVar[bool] = True
    is_default: ClassVar[bool] = True

    @classmethod
    def config(cls, said: Mapping[str, Any], *, processor: Any, dataset: Any) -> Any:
        """See `BuiltInModel.config`."""
        from transformers import YolosConfig

        sizes = {"hidden_size": 192, "intermediate_size": 768, "num_attention_heads": 3, "num_hidden_layers": 12}
        side = [processor.size["height"], processor.size["width"]]
        return YolosConfig(**sizes, image_size=side, use_mid_position_embeddings=False, **said)
