"""Where in a picture contexts are looked for: on its rim, where things seldom are, or in all of it."""

import numpy as np
from numpy.typing import NDArray

from oochub.errors import unknown_name

_REGIONS = ("rim", "picture")


def picture_region(height: int, width: int, *, region: str, depth: float) -> NDArray[np.bool_]:
    """The pixels of a picture that are looked at (height, width), bool.

    Args:
        height: Of the picture, in pixels.
        width: The same.
        region: "rim" or "picture", which is all of it.
        depth: Of the rim: the share of the height at top and bottom, and of the width left and right, below 1/2; it is
            a pixel at least.

    Raises:
        OochubError: Another region.

    >>> picture_region(6, 6, region="rim", depth=1 / 6).sum()
    np.int64(20)
    """
    if region not in _REGIONS:
        raise unknown_name("region of a picture", str(region), _REGIONS)
    looked_at = np.ones((height, width), bool)
    if region == "rim":
        deep = [max(1, round(side * depth)) for side in looked_at.shape]
        looked_at[tuple(slice(pixels, -pixels) for pixels in deep)] = False
    return looked_at
