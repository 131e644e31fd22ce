"""From parameters to kernels and graphs: the part of the estimators that makes K."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, Self

from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from ..core import arrays, memory
from ..core.types import Matrix
from ..grams import DeviceGram, Gram, SpectralDiffusion, diffuse, diffuse_enough, weigh_links
from ..grams.data import filled_share
from ..grams.graph import DeviceGraph, Graph
from ..kernels.build import fit_kernel
from ..kernels.checks import (
    check_definite,
    check_device_graph,
    check_gram,
    check_graph,
    precomputed_gram,
)
from ..kernels.device import fit_device_kernel
from ..kernels.engines import RemoteSamples
from ..kernels.functions import KERNELS, never_negative
from ..kernels.mix import View
from ..kernels.neighbors import binary_graph, how_many_neighbors
from ..kernels.plan import choose_search, make_plan
from ..kernels.similarity import DiffusedKernel, LinkedKernel, PrecomputedKernel


class KernelParameters(BaseEstimator):
    """The parameters of the kernel and of its matrix, and what they make of samples."""

    kernel: Any
    radius: float | str
    n_neighbors: int | str | None
    diffusion: int | str
    gram: str = "auto"
    max_memory: float | None = None
    neighbor_search: str = "auto"
    graph_neighbors: Any
    engine: Any = None
    verbose: int
    _workers: RemoteSamples | None = None  # while a fit goes on

    def __getstate__(self) -> dict[str, Any]:
        # A client is a connection of this process: it goes into no file, and no other process.
        state: dict[str, Any] = super().__getstate__()
        return {**state, "engine": None} if "engine" in state else state

    def __sklearn_clone__(self) -> Self:
        # And it is nothing to copy: the clone shares it.
        twin: Self = super(KernelParameters, copy(self)).__sklearn_clone__()
        if self.engine is not None:
            twin.engine = self.engine
        return twin

    def _kernels(self) -> list[Any]:
        """The kernels, one or several."""
        if not isinstance(self.kernel, list | tuple):
            return [self.kernel]
        if not self.kernel:
            raise ValueError("kernel is an empty list; it must hold at least one kernel.")
        for kernel in self.kernel:
            if not callable(kernel) and kernel not in KERNELS:
                raise ValueError(
                    f"kernel={self.kernel!r} holds {kernel!r}; a list of kernels holds functions "
                    f"and names among {', '.join(KERNELS)}."
                )
        return list(self.kernel)

    @memory.explained("The kernel matrix", memory.SMALLER_KERNEL)
    def _view(self, kernel: Any, X: Matrix, unit: float, k: int | None, local: bool) -> View:
        """A kernel on the samples; with k = None as far as it does not depend on k."""
        base, fitted = self._fit_kernel(kernel, X, unit, k)
        check_gram(base, local=local)
        if not base.nonnegative and (kernel == "precomputed" or callable(kernel)):
            check_definite(base)
        if k is None:
            return View(base, base, fitted)
        base, K, fitted = self._diffuse(kernel, base, fitted, k)
        # Starts come from K before diffusion, where that is not the more expensive of the two.
        spectral = isinstance(getattr(fitted, "diffusion", None), SpectralDiffusion)
        return View(K if spectral else base, K, fitted)

    def _fit_kernel(self, kernel: Any, X: Matrix, unit: float, k: int | None) -> tuple[Gram, Any]:
        if kernel == "precomputed":
            K = precomputed_gram(X)
            return K, PrecomputedKernel(K.diagonal)
        radius = self.radius if self.radius == "auto" else float(self.radius) / unit
        n_neighbors: Any = self.n_neighbors
        if n_neighbors == "auto":
            sparse = kernel == "self-tuning" and self.gram == "auto"
            n_neighbors = how_many_neighbors(X.shape[0], k) if sparse else None
        if not arrays.on_host(X):
            self._require_array(X)
            return fit_device_kernel(X, kernel, radius, n_neighbors)
        plan = make_plan(
            X.shape,
            X.dtype.itemsize,
            kernel,
            n_neighbors,
            gram=self.gram,
            max_memory=self.max_memory,
            neighbor_search=self.neighbor_search,
            room=self._workers.workers.memory() if self._workers is not None else None,
            filled=filled_share(X),
            nonnegative=never_negative(kernel, X),
            by_samples=not issparse(X)
            and len(self._kernels()) == 1
            and self.diffusion in (0, "auto", "unweighed"),
        )
        if self.verbose:
            print("; ".join(plan.reasons))
        return fit_kernel(X, kernel, radius, n_neighbors, plan, self._workers)

    def _require_array(self, X: Matrix) -> None:
        """On a device K is an array: refuse what would be another, or have no room."""
        for name, value in (("gram", self.gram), ("neighbor_search", self.neighbor_search)):
            if value in ("tiled", "low-rank", "approximate"):
                raise ValueError(
                    f"{name}={value!r} is for samples on the host, and X is {arrays.place(X)}: "
                    f'set {name}="auto", or give X as a numpy array.'
                )
        size = arrays.require_memory(
            X,
            1,
            "The kernel matrix",
            "On a device it is held as an array: fit a part of the rows, or give X as a numpy "
            "array.",
            self.max_memory,
        )
        if self.verbose:
            print(f"dense kernel, an array of {size:.2g} GB, where X is: {arrays.place(X)}")

    def _diffuse(self, kernel: Any, base: Gram, fitted: Any, k: int) -> tuple[Gram, Gram, Any]:
        """K before and after some steps of diffusion, if there are any; "auto" weighs links too."""
        steps: Any = self.diffusion
        by_rule = isinstance(steps, str)
        if steps == 0 or (by_rule and kernel != "self-tuning"):
            return base, base, fitted
        if not base.nonnegative:
            raise ValueError(
                f"diffusion={steps} needs a kernel with no negative entry, and this one has some: "
                "set diffusion=0."
            )
        if isinstance(base, DeviceGram):
            arrays.require_memory(
                base.K, 7, "Diffusion", "Set diffusion=0, or fit a part of the rows."
            )
        if steps == "auto" and fitted.n_neighbors is not None:
            base, links = weigh_links(base)
            fitted = LinkedKernel(fitted, links)
        K, diffusion = diffuse_enough(base, k) if by_rule else diffuse(base, steps, k)
        if self.verbose:
            way = "eigenvectors" if isinstance(diffusion, SpectralDiffusion) else "products"
            print(f"{diffusion.steps} steps of diffusion, by {way}")
        return base, K, DiffusedKernel(fitted, diffusion)

    def _graph(self, X: Matrix | None, K: Gram) -> Graph | DeviceGraph:
        """The graph of GLS-NMF, where K is."""
        if not isinstance(self.graph_neighbors, Integral):
            if isinstance(K, DeviceGram):
                return check_device_graph(self.graph_neighbors, K)
            arrays.require_same_place(self.graph_neighbors, "graph_neighbors", K.diagonal, "X")
            return check_graph(self.graph_neighbors, K.shape[0], K.dtype)
        if X is None:
            raise ValueError(
                'graph_neighbors is a number, and with kernel="precomputed" there are no samples '
                "to find neighbours of: give the graph as a matrix."
            )
        approximate, *_ = choose_search(X.shape, self.neighbor_search, filled=filled_share(X))
        X = X.astype(K.dtype, copy=False)
        graph = binary_graph(X, int(self.graph_neighbors), approximate=approximate)
        return DeviceGraph(K.hold(graph.K.toarray())) if isinstance(K, DeviceGram) else graph
