"""Where in a picture contexts are looked for: on its rim, where things seldom are, or in all of it."""

import numpy as np
from numpy.typing import NDArray

from oochub.errors import unknown_name

_REGIONS = ("rim", "picture")
_DEPTH = 1 / 6  # of the height at top and bottom, of the width left and right


def picture_region(height: int, width: int, *, region: str) -> NDArray[np.bool_]:
    """The pixels of a picture that are looked at (height, width), bool.

    The rim is a sixth of the height at top and bottom and of the width left and right, a pixel at least.

    Args:
        height: Of the picture, in pixels.
        width: The same.
        region: "rim" or "picture", which is all of it.

    Raises:
        OochubError: Another region.

    >>> picture_region(6, 6, region="rim").sum()
    np.int64(20)
    """
    if region not in _REGIONS:
        raise unknown_name("region of a picture", str(region), _REGIONS)
    looked_at = np.ones((height, width), bool)
    if region == "rim":
        depths = [max(1, round(side * _DEPTH)) for side in looked_at.shape]
        looked_at[tuple(slice(depth, -depth) for depth in depths)] = False
    return looked_at
