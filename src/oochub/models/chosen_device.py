"""The device that a model runs on, by its name."""

import torch

from oochub.errors import OochubError


def chosen_device(device: str | torch.device) -> torch.device:
    """The device of that name, where it is there.

    Args:
        device: "auto", the first CUDA GPU if there is one, else the CPU; "cpu", "cuda", "cuda:1", "mps", or a device
            of torch.

    Raises:
        OochubError: No such device here; those that are there are listed.

    >>> chosen_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    there += ["mps"] if torch.backends.mps.is_available() else []
    if isinstance(device, str | torch.device) and str(device) in (*there, *(name.partition(":")[0] for name in there)):
        return torch.device(device)
    raise OochubError(f"No device {str(device)!r} here. There are: {', '.join(there)}; auto takes the first GPU.")
