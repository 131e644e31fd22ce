"""What is run for each table of the paper: sets, subsets, methods and grids, as data.

Nothing here computes. ``cells`` turns a table into pieces of work, and all that the rows of a
column depend on goes into its fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

from ..methods import METHODS

#: Part of every fingerprint, and raised when code changes what rows say: the rules of a method, how
#: starts are chosen, how labels are scored.
REVISION = 2

#: The kernel and the samples of every set that say "unit"; r is the paper's radius. ``work`` has it
#: as code.
KERNEL = "exp(-d²/(r max d²)) of samples of length 1 in single precision"

#: The values that the paper chooses radius and weights from.
S = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)

#: The same for every method: ten starts, the lowest value of its own objective is kept. About 100
#: iterations are what the paper says that its method takes. With 500 (N = 4 to 10, four subsets
#: of four sets) the mean accuracy of the rivals moved by less than a point, CNMF's fell by two.
STARTS = {"n_init": 10, "max_iter": 100}

#: For a hundred clusters: starts are close to where they end, and a fit costs a thousand times as
#: much.
FEW_STARTS = {**STARTS, "n_init": 2}


def fingerprint(**told: Any) -> str:
    """Twelve digits that change with the given values and with the revision."""
    text = json.dumps({"revision": REVISION, **told}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


#: The rules as their papers print them.
_AS_PRINTED = {"solver": "multiplicative"}

#: What other kernels than the default one do not use.
_AS_BEFORE = {"fit_on": "auto", "outliers": "cluster", "sizes": "auto"}

#: Parameters that are younger than the rows: with these values methods are what they were before.
_YOUNGER: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("onmf", "cnmf", "knmf", "rmnmf"), _AS_PRINTED),
    "wnmf": {**_AS_PRINTED, "alpha_W": 0.0, "alpha_H": "same", "l1_ratio": 0.0},
    "kls-nmf": _AS_BEFORE,
    "gls-nmf": _AS_BEFORE,
}


def _defaults(method: str) -> dict[str, str]:
    """The parameters of a method of ours that no trial gives; scikit-learn's are its own."""
    estimator = METHODS[method]
    if not estimator.__module__.startswith(f"{__package__.partition('.')[0]}."):
        return {}
    return {name: repr(value) for name, value in estimator().get_params().items()}


@dataclass(frozen=True)
class Trial:
    """A method, a key of ``klsnmf.METHODS``, and the settings tried of it: a column of the tables.

    Attributes
    ----------
    source : "paper" if the paper has this column, "ours" for kernels it does not use, "plain"
        for what scikit-learn has
    grid : parameter -> values, chosen among with the labels. "radius" is r of the kernel
        exp(-d²/(r max d²)).
    beside : values of ``lam`` that are run with the grid, and are not chosen among
    fixed : the other parameters
    rows : "unit" for samples at length 1, "stored" for the arrays as they are
    readings : how labels are read from the coefficients, chosen among like the grid
    revision : raised when code changes what the rows of this column say, and of no other
    """

    column: str
    method: str
    source: str = "paper"
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    beside: tuple[Any, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    rows: str = "unit"
    readings: tuple[str, ...] = ()
    revision: int = 0

    def settings(self) -> list[dict[str, Any]]:
        """The settings that are fits of their own; values of λ share one batch."""
        outer = {name: values for name, values in self.grid.items() if name != "lam"}
        return [dict(zip(outer, values, strict=True)) for values in product(*outer.values())]

    def lams(self) -> tuple[Any, ...]:
        return (*self.grid.get("lam", ()), *self.beside)


@dataclass(frozen=True)
class Table:
    """A table of results: random subsets of the classes of a data set, and what is run on them.

    Attributes
    ----------
    name : of the table, and of its files; its ``title`` is "Table I" and the like
    sizes : N, how many classes; as many as there are is one subset, the whole set
    trials : the columns
    subsets : how many random subsets for each N
    seed : of the subsets, and of all starts
    """

    name: str
    title: str
    dataset: str
    sizes: tuple[int, ...]
    trials: tuple[Trial, ...]
    subsets: int = 10
    seed: int = 0

    def trial(self, column: str) -> Trial:
        return next(trial for trial in self.trials if trial.column == column)

    def count(self, size: int, n_classes: int) -> int:
        """How many subsets of N classes there are."""
        return 1 if size == n_classes else self.subsets

    def fingerprints(self, data_hash: str) -> dict[str, str]:
        """For each column twelve digits that change with anything that could change its rows."""
        found = {}
        for trial in self.trials:
            told = {"table": self.name, "seed": self.seed, "data": data_hash, **asdict(trial)}
            # Of a column that was never revised nothing is told: its rows are older than revisions.
            if told.pop("revision"):
                told["revision of the column"] = trial.revision
            told |= {"kernel": KERNEL, "defaults": _defaults(trial.method)}
            for name, value in _YOUNGER.get(trial.method, {}).items():
                default = told["defaults"].pop(name)
                fixed = {**told["fixed"]}
                if fixed.pop(name, default) not in (value, repr(value)):
                    told["defaults"][name] = default
                else:
                    told["fixed"] = fixed
            found[trial.column] = fingerprint(**told)
        return found


@dataclass(frozen=True)
class Cell:
    """A piece of work: one subset, one trial, one setting; all its λ in one batch."""

    table: str
    size: int
    subset: int
    column: str
    setting: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> str:
        """A name for its file."""
        told = [f"{name}={value}" for name, value in sorted(self.setting)]
        safe = re.sub(r"[^\w.=-]", "-", "_".join([self.column, *told]).lower())
        return f"{self.size:03d}-{self.subset:02d}-{safe}"


def cells(table: Table, n_classes: int) -> Iterator[Cell]:
    """All work for a table, the smallest N first."""
    for size in table.sizes:
        for subset in range(table.count(size, n_classes)):
            for trial in table.trials:
                for setting in trial.settings():
                    yield Cell(table.name, size, subset, trial.column, tuple(setting.items()))


_RBF = {"kernel": "rbf", "n_neighbors": None}

#: For columns that are compared with methods that cannot: starts are fitted as they are.
_AS_THEY_ARE = {"regroup": False}

#: Of columns with the default kernel: 1 since links are weighed by shared neighbours, 2 since the
#: graph and the sizes of clusters are chosen.
_SELF_TUNING = 2


#: Of columns of KLS-NMF with a given kernel: 1 since the exact step for G is taken from the first
#: iteration on. The rows of Faces94, which take hours, are older: half of their iterations have G
#: free.
_EXACT = 1


def _trials(starts: Mapping[str, int], rmnmf_iterations: int, revision: int) -> tuple[Trial, ...]:
    """The columns of tables I to V, the same starts for every method.

    "KLS-NMF" is the paper's; its λ = 0 and λ = "auto" are run for the questions what the local term
    is worth, and where λ lies relative to λ*.
    """
    neighbors = {"affinity": "nearest_neighbors"}
    printed = {**_RBF, **_AS_THEY_ARE, **starts}
    # A start of RMNMF takes as long as ten of the others, and its starts end much alike.
    rmnmf = {"graph_neighbors": 5, "n_init": 1, "max_iter": rmnmf_iterations, **_AS_PRINTED}
    rival = {**starts, **_AS_PRINTED}
    both = partial(Trial, readings=("argmax", "kmeans"))
    default = partial(Trial, method="kls-nmf", source="ours", revision=_SELF_TUNING)
    return (
        Trial("KMeans", "kmeans", "plain", fixed={"n_init": 10}, rows="stored"),
        Trial("SpectralClustering", "spectral", "plain", fixed=neighbors, rows="stored"),
        default("KLS-NMF, no labels", rows="stored"),
        default("KLS-NMF, self-tuning", grid={"lam": S}, fixed={**_AS_THEY_ARE, **starts}),
        both("WNMF", "wnmf", fixed=rival),
        both("ONMF", "onmf", fixed=rival),
        both("CNMF", "cnmf", fixed=rival),
        both("KNMF", "knmf", grid={"radius": S}, fixed={**_RBF, **rival}),
        Trial(
            *("KLS-NMF", "kls-nmf", "paper", {"radius": S, "lam": S}, (0.0, "auto"), printed),
            revision=revision,
        ),
        both("RMNMF", "rmnmf", grid={"graph_weight": S}, fixed=rmnmf),
    )


#: The μ of RMNMF grows for 582 iterations, and labels are the same after 1000. With many clusters
#: they hardly move after 100: accuracy by half a point with 50 classes of Faces94.
TRIALS = _trials(STARTS, rmnmf_iterations=600, revision=_EXACT)
FEW_TRIALS = _trials(FEW_STARTS, rmnmf_iterations=100, revision=0)

_TO_TEN = tuple(range(2, 11))

#: The five tables of the paper.
TABLES = {
    table.name: table
    for table in (
        Table("semeion", "Table I", "semeion", _TO_TEN, TRIALS),
        Table("jaffe", "Table II", "jaffe", _TO_TEN, TRIALS),
        Table("pix", "Table III", "pix", _TO_TEN, TRIALS),
        Table("alphadigit", "Table IV", "alphadigit", (*range(5, 36, 5), 36), TRIALS),
        Table("faces94", "Table V", "faces94", (*range(10, 111, 10), 113), FEW_TRIALS),
    )
}

_GRAPH = {**_RBF, **STARTS, "radius": 1.0, "graph_neighbors": 5}
_GLS_NMF = Trial(
    "GLS-NMF", "gls-nmf", grid={"graph_weight": S, "lam": S}, fixed=_GRAPH, revision=_EXACT
)

#: GLS-NMF over λ × γ, on the smallest subsets of the first four tables.
GRIDS = {
    f"{name}-gls": Table(f"{name}-gls", "λ × γ", name, TABLES[name].sizes[:1], (_GLS_NMF,))
    for name in ("semeion", "jaffe", "pix", "alphadigit")
}


def _shortened(trial: Trial) -> Trial:
    few = {name: tuple(v for v in values if 0.01 <= v <= 10) for name, values in trial.grid.items()}
    return replace(trial, grid=few)


#: A table that takes a minute or two, on data that is always there.
_FEW = tuple(_shortened(trial) for trial in TRIALS)
QUICK = Table("quick", "Reduced table", "digits", (2, 3, 5), _FEW, subsets=3)
