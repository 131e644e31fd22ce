"""The data sets of the paper, by name: from your own folder, or from their publishers.

``digits`` is part of scikit-learn and always available. The others are searched in ``data_home``,
else in the folder named by the environment variable ``KLSNMF_DATA``, else in ``~/klsnmf_data``.
"""

from __future__ import annotations

from .registry import REGISTRY, DataSet, Original
from .store import DatasetError, DatasetNotFoundError, data_folder, load

__all__ = [
    "REGISTRY",
    "DataSet",
    "DatasetError",
    "DatasetNotFoundError",
    "Original",
    "data_folder",
    "load",
]
