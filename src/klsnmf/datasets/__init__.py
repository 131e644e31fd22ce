"""The data sets of the paper, by name: from a folder of yours, or from their publishers.

``digits`` is a part of scikit-learn and always there. The others are looked for in ``data_home``,
or in the folder that the environment variable ``KLSNMF_DATA`` names, or in ``~/klsnmf_data``.
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
