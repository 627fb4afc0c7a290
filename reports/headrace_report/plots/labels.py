"""Puts a direct label next to each line where it hides nothing: no legend to look up."""

from __future__ import annotations

from typing import List, Sequence, Tuple

import numpy as np

CHARACTER_PX = 6.9  # a generous mean width at 11.5 px: the reader's font is not known
HEIGHT_PX = 14.0


def label_lines(axes, lines: Sequence[Tuple[str, np.ndarray, np.ndarray]], taken: Sequence[Tuple] = ()) -> None:
    """Writes the name of each (name, x, y) next to its line, at the emptiest place.

    `taken` are boxes in pixels (x0, y0, x1, y1) that must stay free.
    """
    everything = np.vstack([_pixels(axes, x, y) for _, x, y in lines])
    boxes: List[Tuple[float, float, float, float]] = list(taken)
    frame = axes.get_window_extent()
    for name, x, y in lines:
        own = _pixels(axes, x, y)
        width = CHARACTER_PX * len(name) + 4
        best = None
        for anchor in own[np.linspace(0, len(own) - 1, min(len(own), 60)).astype(int)]:
            # The middle of the picture is where people look first.
            off_centre = abs((anchor[1] - frame.y0) / frame.height - 0.5) * 3
            for dx, dy, align in ((8, 0, "left"), (-8, 0, "right"), (6, 12, "left"), (-6, 12, "right"),
                                  (6, -12, "left"), (-6, -12, "right")):
                left = anchor[0] + dx - (width if align == "right" else 0)
                box = (left, anchor[1] + dy - HEIGHT_PX / 2, left + width, anchor[1] + dy + HEIGHT_PX / 2)
                cost = _cost(box, everything, boxes, frame) + off_centre
                if best is None or cost < best[0]:
                    best = (cost, box, align)
        _, box, align = best
        boxes.append(box)
        corner = axes.transData.inverted().transform((box[0] if align == "left" else box[2], (box[1] + box[3]) / 2))
        axes.text(corner[0], corner[1], name, ha=align, va="center_baseline", zorder=6)


def _pixels(axes, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    points = np.column_stack([x, y]).astype(float)
    points = axes.transData.transform(points[np.isfinite(points).all(axis=1)])
    if len(points) < 2:
        return points
    # Lines are walked, so that a long straight stretch counts too.
    steps = np.linspace(0, 1, 6)[:, None]
    pieces = [points[i] + steps * (points[i + 1] - points[i]) for i in range(len(points) - 1)]
    return np.vstack(pieces)


def _cost(box, points, boxes, frame) -> float:
    x0, y0, x1, y1 = box
    hidden = ((points[:, 0] > x0 - 2) & (points[:, 0] < x1 + 2) & (points[:, 1] > y0) & (points[:, 1] < y1)).sum()
    overlap = sum(max(0.0, min(x1, b[2]) - max(x0, b[0])) * max(0.0, min(y1, b[3]) - max(y0, b[1])) for b in boxes)
    outside = max(0.0, frame.x0 - x0) + max(0.0, x1 - frame.x1) + max(0.0, frame.y0 - y0) + max(0.0, y1 - frame.y1)
    return float(hidden) + overlap * 2 + outside * 50
