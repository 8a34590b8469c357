"""Whether a model sees whole pictures squeezed to one size, so that its boxes are fractions of them."""

from typing import Any

from oochub.errors import OochubError


def check_squeezed(processor: Any) -> None:
    """Checks that an image processor squeezes whole pictures to one height and width.

    Raises:
        OochubError: It crops, pads or keeps the shape: where a box lies in the picture would be lost.

    >>> from transformers import YolosImageProcessorPil
    >>> check_squeezed(YolosImageProcessorPil(size={"height": 512, "width": 512}))
    """
    names = {name for name, pixels in dict(getattr(processor, "size", None) or {}).items() if pixels}
    crops = getattr(processor, "do_center_crop", False)
    if crops or not {"height", "width"} <= names:
        does = "crops them" if crops else f"resizes them by {', '.join(sorted(names)) or 'no size'}"
        raise OochubError(
            "For boxes a model must see whole pictures squeezed to one size, and its processor "
            f"{does}. Save it with size={{'height': 512, 'width': 512}} and do_center_crop=False, or train with an "
            "image_size."
        )
