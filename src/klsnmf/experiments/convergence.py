"""How the factors and the objective settle: the paper's convergence figures as rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from ..core.types import Array
from ..core.version import __version__
from ..core.work import steps
from ..methods import METHODS
from .cost import exponent
from .protocol import KERNEL, fingerprint
from .published import Claim
from .rows import read_rows, write_rows
from .subsets import classes_of, identity, samples, width

#: Set -> N: the smallest of its table. The paper draws Yale too, and has no table of it.
SIZES = {"pix": 2, "alphadigit": 5, "semeion": 2, "jaffe": 2, "yale": 5}

#: The fits whose way is shown: solvers by their name in the page, random subsets of classes, λ, σ
#: and iterations.
SOLVERS = {"paper": "as printed", "soft": "symmetrised", "exact": "exact"}
SUBSETS = 10
LAM, RADIUS = 0.001, 1.0
ITERATIONS = 500

#: What is shown of a fit: all of the first hundred iterations, then fewer and fewer.
_SHOWN = ("objective", "change_W", "change_G")
SHOWN = np.unique(np.r_[1:101, np.geomspace(100, ITERATIONS, 60).astype(int)])

#: A change below this share of the scale is only rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Point:
    """One iteration of a fit, and facts about the whole fit.

    Attributes
    ----------
    rises : how often the objective rose, beyond rounding
    settled : the iteration from which on it is within 1/1000 of its lowest value
    rate : the factor by which changes of W and G shrink from one iteration to the next, at the end
    """

    set: str
    N: int
    subset: int
    solver: str
    rises: int
    settled: int
    rate: float
    iteration: int
    objective: float
    change_W: float
    change_G: float
    version: str
    protocol: str


def protocol_of(name: str, data_home: str | None) -> str:
    """The fingerprint of everything that the rows of a set depend on."""
    data_hash, _ = identity(name, data_home)
    told = [SIZES[name], SUBSETS, LAM, RADIUS, ITERATIONS, *SOLVERS, KERNEL]
    return fingerprint(convergence=name, data=data_hash, told=told)


def points(name: str, data_home: str | None) -> Iterator[Point]:
    """The fits of one set: as printed, symmetrised, and exact, from the same starts."""
    data = samples(name, data_home)
    made_by = __version__, protocol_of(name, data_home)
    fixed = {"kernel": "rbf", "n_neighbors": None, "row_norm": None, "lam": LAM, "init": "kmeans"}
    fixed |= {"n_init": 1, "regroup": False, "max_iter": ITERATIONS, "tol": 0}
    for subset in steps(range(SUBSETS), f"{name}, convergence: subsets"):
        chosen = np.isin(data.y, classes_of(data.n_classes, SIZES[name], subset, seed=0))
        X = normalize(data.X[chosen].astype(np.float64))
        fixed |= {"radius": width(X, RADIUS), "random_state": subset}
        for solver in SOLVERS:
            model = METHODS["kls-nmf"](SIZES[name], solver=solver, **fixed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                history = model.fit(X).history_
            objective = history["objective"]
            change = np.hypot(history["change_W"], history["change_G"])
            fit = rises(objective, len(X)), settled_after(objective), round(rate(change), 5)
            for iteration in SHOWN[len(objective) >= SHOWN].tolist():
                told = (history[kind][iteration - 1] for kind in _SHOWN)
                value, change_W, change_G = (float(f"{number:.6g}") for number in told)
                which = name, SIZES[name], subset, solver
                yield Point(*which, *fit, iteration, value, change_W, change_G, *made_by)


def rises(objective: Array, scale: float) -> int:  # (t,) -> count
    """How often the objective goes up; ``scale`` is the size of what it is a difference of."""
    return int((np.diff(objective) > _ROUNDING * scale).sum())


def settled_after(objective: Array) -> int:  # (t,) -> iteration
    """The iteration from which on the objective is within 1/1000 of its lowest value."""
    far = np.flatnonzero(objective > 1.001 * objective.min())
    return int(far[-1]) + 2 if far.size else 1


def rate(change: Array) -> float:  # (t,) -> factor
    """The median factor from a change to the next, over the last half of those above rounding."""
    still = np.flatnonzero(change < _ROUNDING * change[0])
    moving = change[: still[0]] if still.size else change
    late = moving[len(moving) // 2 :]
    return float(np.median(late[1:] / late[:-1])) if len(late) > 1 else 0.0


def write(folder: Path, name: str, data_home: str | None) -> None:
    """Make the rows of one set, unless they exist."""
    if not read_one(folder, name, data_home):
        write_rows(_file(folder, name), Point, points(name, data_home))


def read(folder: Path, data_home: str | None) -> list[Point]:
    """The rows of all sets that exist."""
    return [point for name in SIZES for point in read_one(folder, name, data_home)]


def read_one(folder: Path, name: str, data_home: str | None) -> list[Point]:
    """The rows of one set, if they exist; rows of another version are refused."""
    return read_rows(_file(folder, name), Point, protocol_of(name, data_home))


def _file(folder: Path, name: str) -> Path:
    return folder / "rows" / f"{name}-convergence.csv.gz"


def claim(points: Sequence[Point]) -> Claim:
    """Rises of the objective, iterations until it settles, the rate at the end."""
    fits: dict[tuple[str, str], dict[int, list[Point]]] = {}
    for point in points:
        subsets = fits.setdefault((point.set, point.solver), {})
        subsets.setdefault(point.subset, []).append(point)
    lines, printed, powers, unsettled = [], [], [], 0
    for (name, solver), curves in fits.items():
        firsts = [curve[0] for curve in curves.values()]
        falling = sum(map(_still_falls, curves.values()))
        found = [power for curve in curves.values() if (power := _power(curve)) is not None]
        powers.append(float(np.median(found)) if found else np.nan)
        if solver == "paper":
            unsettled += falling
            printed += firsts
        settled = [point.settled for point in firsts]
        told = (
            f"{sum(point.rises > 0 for point in firsts)} of {len(firsts)}",
            f"{np.mean(settled):.0f}, {max(settled)}",
            f"{falling} of {len(firsts)}",
            f"{np.median([point.rate for point in firsts]):.4f}",
            f"{powers[-1]:.1f}",
        )
        lines.append([name, firsts[0].N, SOLVERS[solver], *told])
    text = (
        f"Here, with the printed rules, it rises in {sum(p.rises > 0 for p in printed)} of "
        f"{len(printed)} fits. It has settled after 100 iterations in "
        f"{sum(p.settled <= 100 for p in printed)} fits, and after 200 in "
        f"{sum(p.settled <= 200 for p in printed)}. In {unsettled} fits it still falls by more "
        f"than 1/1000 in the last fifth of the {ITERATIONS} iterations, so it has not settled at "
        "all. Near the end the change of W and G shrinks by a factor of "
        f"{np.median([p.rate for p in printed]):.4f} per iteration (median). As a power of the "
        f"iteration, t to the minus a, a goes from {min(powers):.1f} to {max(powers):.1f}.\n\n"
        f"The fits have λ = {LAM:g}, radius {RADIUS:g}, {SUBSETS} subsets of each set, and "
        f"{ITERATIONS} iterations from labels of k-means. A rise counts if it is larger than "
        "rounding. A fit has settled at the iteration from which the objective is within 1/1000 of "
        "its lowest value. For fits that still fall, it would be later with more iterations."
    )
    columns = ["set", "N", "rules", "fits with a rise", "settled, mean and most"]
    title = "Claim: the objective falls at every step, and settles within about 100 iterations"
    return Claim(title, text, [*columns, "still falling", "factor", "a"], lines)


def _still_falls(curve: Sequence[Point]) -> bool:
    """Whether the objective of one fit falls by more than 1/1000 in the last fifth."""
    late = [point.objective for point in curve if point.iteration >= 0.8 * ITERATIONS]
    return bool(late) and late[0] > 1.001 * late[-1]


def _power(curve: Sequence[Point]) -> float | None:
    """a of a change that falls like t to the minus a, in one fit."""
    late = [(p.iteration, np.hypot(p.change_W, p.change_G)) for p in curve if p.iteration >= 100]
    moving = [(iteration, change) for iteration, change in late if change > 0]
    return -exponent(*zip(*moving, strict=True)) if len(moving) > 1 else None
