"""Names for the types that signatures share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: A dense array of real numbers, float32 or float64.
Array = NDArray[Any]

#: One integer per sample.
Labels = NDArray[np.intp]

#: A matrix given by its entries: a dense array or one of scipy's sparse forms.
Matrix = NDArray[Any] | sparse.sparray | sparse.spmatrix
