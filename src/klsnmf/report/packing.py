"""Numbers in few characters: their bytes in base64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

#: Stands for an unknown value; known values are from 0 to 65534.
UNKNOWN = 65535


def packed(values: Any, kind: Any) -> str:
    """The bytes of numbers in base64, the least significant byte first."""
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")


def unsigned(count: int) -> Any:
    """The smallest unsigned type for numbers below a count."""
    return np.uint8 if count <= 256 else np.uint16 if count <= UNKNOWN else np.uint32
