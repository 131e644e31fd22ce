"""Numbers in few characters: as they lie in memory, in base64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

#: A value that is not known, where the others are from 0 to 65534.
UNKNOWN = 65535


def packed(values: Any, kind: Any) -> str:
    """Numbers as their bytes, the smallest first, in base64."""
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")


def unsigned(count: int) -> Any:
    """The smallest kind of number for places below a count."""
    return np.uint8 if count <= 256 else np.uint16 if count <= UNKNOWN else np.uint32
