"""Clusters of cells for users of scanpy: ``klsnmf.scanpy.cluster(adata)``.

Nothing here imports scanpy or anndata; the AnnData that is passed in has all that is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from . import KLSNMF

__all__ = ["cluster"]


def cluster(
    adata: Any,
    n_clusters: int | str = "auto",
    *,
    use_rep: str | None = None,
    key_added: str = "klsnmf",
    random_state: int | None = 0,
    **params: Any,
) -> KLSNMF:
    """Cluster the cells of an AnnData, and write the clusters into its ``obs``.

    ``obs[key_added]`` holds the clusters as a categorical column, like that of
    ``scanpy.tl.leiden``. ``obs[key_added + "_strength"]`` says how clearly each cell belongs to its
    cluster, from 0 to 1. ``uns[key_added]`` holds the settings.

    Parameters
    ----------
    adata : AnnData
    n_clusters : int or "auto"
        "auto" chooses the number; ``levels_`` of the estimator has other good numbers.
    use_rep : str or None
        What to cluster by: a key of ``obsm``, or "X". None takes ``obsm["X_pca"]`` if it exists,
        and X otherwise. X should hold logarithms of normalized counts, not counts.
    key_added : str
        The name of the new column.
    random_state : int or None
    **params
        Further parameters of :class:`klsnmf.KLSNMF`.

    Returns
    -------
    KLSNMF
        The fitted estimator.
    """
    import pandas as pd  # which comes with anndata

    missing = [name for name in ("X", "obs", "obsm", "uns") if not hasattr(adata, name)]
    if missing:
        raise TypeError(
            f"cluster takes an AnnData, and {type(adata).__name__} has no {missing[0]}. For arrays "
            "and tables use klsnmf.KLSNMF."
        )
    used = use_rep or ("X_pca" if "X_pca" in adata.obsm else "X")
    model = KLSNMF(n_clusters, random_state=random_state, **params).fit(_samples(adata, used))
    names = [str(label) for label in np.unique(model.labels_)]
    adata.obs[key_added] = pd.Categorical(model.labels_.astype(str), names)
    adata.obs[f"{key_added}_strength"] = np.asarray(model.strengths_)
    settings = {"n_clusters": n_clusters, "use_rep": used, "random_state": random_state, **params}
    plain = (bool, int, float, str)
    adata.uns[key_added] = {
        "params": {name: value for name, value in settings.items() if isinstance(value, plain)}
    }
    return model


def _samples(adata: Any, used: str) -> Any:  # (n, p)
    """X or an embedding, as an array or a sparse matrix."""
    if used != "X" and used not in adata.obsm:
        known = ", ".join(repr(name) for name in ["X", *adata.obsm])
        raise ValueError(f"use_rep={used!r} is not in obsm. Use one of {known}.")
    found = adata.X if used == "X" else adata.obsm[used]
    if found is None:
        raise ValueError('This AnnData has no X. Name an embedding: use_rep="X_pca".')
    return sparse.csr_array(found) if sparse.issparse(found) else np.asarray(found)
