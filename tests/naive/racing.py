"""Starts fitted one by one in single precision, and then the best of them in double."""

from __future__ import annotations

import numpy as np

from klsnmf.solve.loop import solve


def winner(model, starts, **how):
    """The place of the first start that ends lowest, but for rounding; None if none can be told."""
    rough = model.in_single_precision()
    rounding = np.finfo(np.float32).eps * rough.scale
    ends = []
    for start in starts:
        light = {name: V.astype(np.float32) for name, V in start.items()}
        ends.append(solve([rough], [light], **how)[0].objective)
    if min(ends) <= 10 * rounding / (how["tol"] or 1e-4):
        return None
    for place, end in enumerate(ends):
        if end <= min(ends) + 10 * rounding:
            return place
    return None
