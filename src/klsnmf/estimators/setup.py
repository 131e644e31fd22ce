"""How kernel methods read their parameters and samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.types import Matrix
from ..kernels.build import KernelSettings
from ..kernels.inputs import scaled
from ..solve.loop import solve
from ..solve.phases import Phase
from ..solve.solution import Solution


@dataclass(frozen=True)
class Setup:
    """What the parameters of a method mean: its kernel, its problem, and how it is solved.

    Fields are like the parameters of :class:`KLSNMF` with the same names. If a method has its own
    phases or its own loop, these are in ``phases`` and ``run``.
    """

    kernel: KernelSettings
    lam: float | str = 0.0
    orthogonal: bool = False
    solver: str = "soft"
    graph_weight: float = 0.0
    graph_neighbors: Any = 5
    regroup: bool = True
    phases: Sequence[Phase] = ()
    run: Callable[..., list[Solution]] = solve
    engine: Any = None
    checkpoint: str | os.PathLike[str] | None = None

    @classmethod
    def of(cls, estimator: Any, kernel: KernelSettings, *, orthogonal: bool) -> Setup:
        """The setup of an estimator with all these parameters."""
        given = (
            *("lam", "solver", "graph_weight", "graph_neighbors", "regroup"),
            *("engine", "checkpoint"),
        )
        parameters = {name: getattr(estimator, name) for name in given}
        return cls(kernel, orthogonal=orthogonal, **parameters)

    @property
    def precomputed(self) -> bool:
        return bool(self.kernel.kernel == "precomputed")

    def as_seen(self, X: Matrix, row_norm: str | None, unit: float) -> Matrix:  # (n, p)
        """The samples as the kernel sees them."""
        return X if self.precomputed else scaled(X, row_norm, unit)

    @property
    def screens(self) -> bool:
        """Whether good starts can be recognised early, which needs fits that end exactly."""
        return self.solver in ("auto", "exact") and self.orthogonal and not self.graph_weight


@dataclass(frozen=True)
class Samples:
    """Samples that were checked, and how a kernel sees them."""

    X: Matrix
    scaled: Matrix
    row_norm: str | None
    unit: float
    settings: KernelSettings  # with the workers that have the samples too
    names: dict[str, Any]  # what scikit-learn notes about X
