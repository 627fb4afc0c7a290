"""Heat maps as pictures inside a drawing: cells as vectors would make a page ten times as large.

Colours are of one light and one dark set each, both readable next to the page's own. They are cividis for one-sided values, and
from orange over the page's grey to blue for two-sided ones. Unmeasured cells stay empty and are hatched behind.
"""

from __future__ import annotations

import numpy as np

import matplotlib

ORANGE, MIDDLE, BLUE = (0.835, 0.369, 0.0), (0.62, 0.63, 0.65), (0.0, 0.447, 0.698)


def two_sided(values: np.ndarray, reach: float) -> np.ndarray:
    """RGBA of values from -reach (orange) over 0 (see-through) to +reach (blue); nan is empty."""
    share = np.clip(values / reach, -1, 1)
    rgba = np.zeros(values.shape + (4,))
    for channel in range(3):
        rgba[..., channel] = np.where(share < 0, ORANGE[channel], BLUE[channel])
    rgba[..., 3] = np.where(np.isfinite(share), np.abs(share) ** 1.2, 0)
    return rgba


def one_sided(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """RGBA of values from low to high in cividis; nan is empty."""
    share = np.clip((values - low) / (high - low if high > low else 1), 0, 1)
    rgba = matplotlib.colormaps["cividis"](np.nan_to_num(share)) if hasattr(matplotlib, "colormaps") else \
        matplotlib.cm.get_cmap("cividis")(np.nan_to_num(share))
    rgba[..., 3] = np.where(np.isfinite(values), 1, 0)
    return rgba


def show(axes, rgba: np.ndarray) -> None:
    """Row 0 at the top; one unit per cell."""
    rows, columns = rgba.shape[:2]
    axes.imshow(np.round(rgba * 255).astype(np.uint8), extent=(-0.5, columns - 0.5, rows - 0.5, -0.5), aspect="auto",
                interpolation="nearest", zorder=2)
