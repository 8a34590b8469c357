"""The device that a model runs on, by its name."""

import os

import torch

from oochub.errors import OochubError


def chosen_device(device: str | torch.device) -> torch.device:
    """The device of that name, where it is there.

    Args:
        device: "auto", a CUDA GPU if there is one, each process of torchrun its own, else the CPU; "cpu", "cuda",
            "cuda:1", "mps", or a device of torch.

    Raises:
        OochubError: No such device here; those that are there are listed.

    >>> chosen_device("cpu")
    device(type='cpu')
    """
    if device == "auto" and torch.cuda.is_available():
        rank = os.environ.get("LOCAL_RANK")  # of torchrun, among the processes of this machine
        device = "cuda" if rank is None else f"cuda:{rank}"
    elif device == "auto":
        return torch.device("cpu")
    there = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    there += ["mps"] if torch.backends.mps.is_available() else []
    if isinstance(device, str | torch.device) and str(device) in (*there, *(name.partition(":")[0] for name in there)):
        return torch.device(device)
    raise OochubError(f"No device {str(device)!r} here. There are: {', '.join(there)}; auto takes a GPU.")
