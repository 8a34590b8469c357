"""The operators of torchvision as schemas alone; a plugin of pytest, for the environment of `make vision`.

torchvision's compiled library does not load beside a build of torch for another device, and `import torchvision` fails
without its operators. Its transforms and networks are its own. `python -m torchvision_schemas FILE` runs a file so.
"""

import importlib.util
import runpy
import sys

import torch

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def is_compiled() -> bool:
    """Whether torchvision's own operators load."""
    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError):
        return False
    return True


if importlib.util.find_spec("torchvision") is not None and not is_compiled():
    LIBRARY = torch.library.Library("torchvision", "DEF")  # kept: they go with it
    for schema in _SCHEMAS:
        LIBRARY.define(schema)

if __name__ == "__main__":
    runpy.run_path(sys.argv[1], run_name="__main__")
