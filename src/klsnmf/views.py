"""From parameters to kernels: the part of the estimators that makes K."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import devices, kernels
from ._typing import Matrix
from .checks import check_definite, check_gram, precomputed_gram
from .device_kernels import fit_device_kernel
from .grams import DeviceGram, Gram, SpectralDiffusion, diffuse, diffuse_enough
from .graphs import how_many_neighbors
from .mixing import View
from .plans import make_plan


class KernelParameters:
    """The parameters of the kernel and of its matrix, and what they make of samples."""

    kernel: Any
    radius: float | str
    n_neighbors: int | str | None
    diffusion: int | str
    gram: str = "auto"
    max_memory: float | None = None
    neighbor_search: str = "auto"
    verbose: int

    def _kernels(self) -> list[Any]:
        """The kernels, one or several."""
        if not isinstance(self.kernel, list | tuple):
            return [self.kernel]
        if not self.kernel:
            raise ValueError("kernel is an empty list; it must hold at least one kernel.")
        for kernel in self.kernel:
            if not callable(kernel) and kernel not in kernels.KERNELS:
                raise ValueError(
                    f"kernel={self.kernel!r} holds {kernel!r}; a list of kernels holds functions "
                    f"and names among {', '.join(kernels.KERNELS)}."
                )
        return list(self.kernel)

    def _view(self, kernel: Any, X: Matrix, unit: float, k: int | None, local: bool) -> View:
        """A kernel on the samples; with k = None as far as it does not depend on k."""
        base, fitted = self._fit_kernel(kernel, X, unit, k)
        check_gram(base, local=local)
        if not base.nonnegative and (kernel == "precomputed" or callable(kernel)):
            check_definite(base)
        if k is None:
            return View(base, base, fitted)
        K, fitted = self._diffuse(kernel, base, fitted, k)
        # Starts come from K before diffusion, where that is not the more expensive of the two.
        spectral = isinstance(getattr(fitted, "diffusion", None), SpectralDiffusion)
        return View(K if spectral else base, K, fitted)

    def _fit_kernel(self, kernel: Any, X: Matrix, unit: float, k: int | None) -> tuple[Gram, Any]:
        if kernel == "precomputed":
            K = precomputed_gram(X)
            return K, kernels.PrecomputedKernel(float(np.median(devices.to_host(K.diagonal))))
        radius = self.radius if self.radius == "auto" else float(self.radius) / unit
        n_neighbors: Any = self.n_neighbors
        if n_neighbors == "auto":
            sparse = kernel == "self-tuning" and self.gram == "auto"
            n_neighbors = how_many_neighbors(X.shape[0], k) if sparse else None
        if not devices.on_host(X):
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
        )
        if self.verbose:
            print("; ".join(plan.reasons))
        return kernels.fit_kernel(X, kernel, radius, n_neighbors, plan)

    def _require_array(self, X: Matrix) -> None:
        """On a device K is an array: refuse what would be another, or have no room."""
        for name, value in (("gram", self.gram), ("neighbor_search", self.neighbor_search)):
            if value in ("tiled", "low-rank", "approximate"):
                raise ValueError(
                    f"{name}={value!r} is for samples on the host, and X is {devices.place(X)}: "
                    f'set {name}="auto", or give X as a numpy array.'
                )
        size = devices.require_memory(
            X,
            1,
            "The kernel matrix",
            "On a device it is held as an array: fit a part of the rows, or give X as a numpy "
            "array.",
            self.max_memory,
        )
        if self.verbose:
            print(f"dense kernel, an array of {size:.2g} GB, where X is: {devices.place(X)}")

    def _diffuse(self, kernel: Any, base: Gram, fitted: Any, k: int) -> tuple[Gram, Any]:
        """K after some steps of diffusion, if there are any."""
        steps: Any = self.diffusion
        if steps == 0 or (steps == "auto" and kernel != "self-tuning"):
            return base, fitted
        if not base.nonnegative:
            raise ValueError(
                f"diffusion={steps} needs a kernel with no negative entry, and this one has some: "
                "set diffusion=0."
            )
        if isinstance(base, DeviceGram):
            devices.require_memory(
                base.K, 5, "Diffusion", "Set diffusion=0, or fit a part of the rows."
            )
        K, diffusion = diffuse_enough(base, k) if steps == "auto" else diffuse(base, steps)
        if self.verbose:
            way = "eigenvectors" if isinstance(diffusion, SpectralDiffusion) else "products"
            print(f"{diffusion.steps} steps of diffusion, by {way}")
        return K, kernels.DiffusedKernel(fitted, diffusion)
