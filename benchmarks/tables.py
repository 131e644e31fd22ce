"""The page of benchmarks in words and tables, from its rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import numpy as np

from klsnmf.core.tables import as_csv

from . import rows
from .cases import BARE, METHODS, MODELS, PRODUCTS, SAMPLES, TRANSCRIPTIONS
from .pictures import LEAST, Measured, gigabytes_per_second, parts_of_fit, threaded
from .rows import Row, number


def page(measured: Measured, machine: dict[str, str], pictures: Sequence[str]) -> str:
    """The page: a section for each question that there are rows for."""
    sections = [
        ("Compared with a literal transcription", "dense", ["dense"], transcription_section),
        ("Compared with the limit: dense", "dense", [], dense_section),
        ("Compared with the limit: tiled", "tiled", ["tiled"], tiled_section),
        ("Compared with the limit: sparse", "sparse", ["sparse"], sparse_section),
        ("Compared with other tools", "fit", ["clusters", "curves"], methods_section),
        ("By the number of samples", "fit", ["growth"], growth_section),
        ("By threads", "threads", ["threads"], threads_section),
        ("By the width of a batch", "width", ["width"], width_section),
    ]
    found = {row["version"] for some in measured.values() for row in some}
    versions = {"klsnmf": ", ".join(sorted(found))} if found else {}
    lines = [
        *heading("Time and memory", "="),
        *words(
            """``python -m benchmarks.page run`` makes this page from the rows in
            ``docs/benchmarks``. Each measurement has its own process. Its peak memory includes
            Python, the libraries and the samples. Times are the fastest of several runs; a fit
            that takes more than 20 seconds is run once. The tools run one after the other. Fits
            of all methods have the better of one thread and of all."""
        ),
        *table(["", "the machine"], (machine | versions).items()),
    ]
    shown = [section for section in sections if measured[section[1]]]
    for title, case, names, section in shown:
        lines += [*heading(title, "-"), *section(measured[case])]
        for name in names:
            if name in pictures:
                lines += [f".. image:: {name}.png", f"   :alt: {title}: {name}", ""]
    if not shown:
        lines += ["Nothing has been measured yet.", ""]
    return "\n".join(lines).rstrip() + "\n"


def heading(text: str, mark: str) -> list[str]:
    return [text, mark * len(text), ""]


def words(text: str) -> list[str]:
    """A paragraph, in lines of the usual length."""
    return [*textwrap.wrap(" ".join(text.split()), 100, break_on_hyphens=False), ""]


def table(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    body = list(body)
    if not body:
        return []
    lines = ["   " + line for line in as_csv(header, body).splitlines()]
    return [".. csv-table::", "   :header-rows: 1", "", *lines, ""]


def short(value: float, digits: int = 3) -> str:
    """A number with so many digits that count; nothing where there is none."""
    if not np.isfinite(value):
        return ""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{places}f}"


def ratio(one: Row | None, other: Row | None, name: str = "seconds") -> float:
    return number(one, name) / number(other, name)


def milliseconds(row: Row | None) -> str:
    return short(1e3 * number(row, "seconds"))


def transcription_section(found: list[Row]) -> list[str]:
    body = []
    for n in rows.values(found, "n"):
        here = rows.select(found, n=n)
        literal, single = (rows.first(here, what=what) for what in TRANSCRIPTIONS)
        one, many = (rows.first(here, what="paper", fits=fits) for fits in (1, 35))
        every = (literal, single, one, many)
        body.append(
            [
                n,
                *[milliseconds(row) for row in every],
                short(ratio(literal, one)),
                short(ratio(literal, many)),
                *[short(number(row, "peak_megabytes")) for row in every],
            ]
        )
    names = ["float64", "float32", "one fit", "35 fits"]
    return [
        *words(
            """The transcription is the published rules in numpy as they are printed, with the
            products in a good order. It is compared with ``solver="paper"`` in float32, alone and
            with 35 fits in a batch. The table has the milliseconds per iteration of one fit, how
            many times faster that is than the transcription in float64, and the peak memory in
            MB, including that for making the kernel matrix. p = 20, k = 10, and the kernel is an
            rbf kernel of all pairs."""
        ),
        *table(
            [
                "n",
                *[f"{name}, ms" for name in names],
                "float64 / one",
                "float64 / 35",
                *[f"{name}, MB" for name in names],
            ],
            body,
        ),
    ]


MODELS_HEADER = ["n", "fits", "bare products, ms", *MODELS, "peak, MB"]


def models_body(found: list[Row], by: str) -> list[list[str]]:
    """Bare products in ms, the ratio of each model's iteration to them, and peak memory."""
    body = []
    for value in rows.values(found, by):
        for fits in rows.values(rows.select(found, **{by: value}), "fits"):
            here = rows.select(found, **{by: value, "fits": fits})
            bare = rows.first(here, what=BARE)
            if bare:
                models = [rows.first(here, what=model) for model in MODELS]
                told = [short(ratio(model, bare)) for model in models]
                memory = short(number(bare, "peak_megabytes"))
                body.append([bare["n"], fits, milliseconds(bare), *told, memory])
    return body


def dense_section(found: list[Row]) -> list[str]:
    return [
        *words(
            """An iteration cannot be faster than its two products with the kernel matrix. The
            table has the milliseconds of the bare products per fit, and how many times longer an
            iteration of each solver takes."""
        ),
        *table(MODELS_HEADER, models_body(found, "n")),
    ]


def tiled_section(found: list[Row]) -> list[str]:
    body = []
    for n in rows.values(found, "n"):
        bare, mine = (rows.first(found, n=n, what=w) for w in ("bare tiles", "iteration"))
        told = [short(number(row, "seconds")) for row in (bare, mine)]
        memory = short(number(mine, "peak_megabytes"))
        body.append([n, *told, short(ratio(mine, bare)), memory, short(int(n) ** 2 * 4 / 1e6)])
    return [
        *words(
            """The kernel matrix is computed again for each product. "Bare tiles" is the time to
            compute the tiles of the two products of an iteration, multiply and drop them, with
            as many threads. The package also uses each tile for its mirror image, so it can be
            faster. p = 50, k = 10."""
        ),
        *table(
            ["n", "bare tiles, s", "iteration, s", "ratio", "peak, MB", "K as an array, MB"], body
        ),
    ]


def sparse_section(found: list[Row]) -> list[str]:
    body = []
    for n in rows.values(rows.select(found, data="sparse"), "n"):
        scipy, mine, whole = (rows.first(found, n=n, what=what) for what in PRODUCTS)
        body.append(
            [
                n,
                milliseconds(scipy),
                milliseconds(mine),
                short(ratio(mine, scipy)),
                milliseconds(whole),
                short(ratio(whole, scipy) / 2),
                short(gigabytes_per_second(mine)),
                short(number(mine, "peak_megabytes")),
            ]
        )
    speeds = [
        f"{what} {short(gigabytes_per_second(row))} GB/s"
        for what in ("copy", "triad")
        if (row := rows.first(found, what=what))
    ]
    memory = f"The memory of this machine: {', '.join(speeds)}." if speeds else ""
    return [
        *words(
            f"""Products with a graph of 10 neighbours, k = 20, are compared with scipy's, and an
            iteration with its two products by scipy. GB/s are the bytes of the matrix, V and the
            result, each counted once, divided by the time of a product. In fact a product reads
            rows of V several times. {memory}"""
        ),
        *table(
            [
                "n",
                "scipy, ms",
                "product, ms",
                "ratio",
                "iteration, ms",
                "ratio to two",
                "GB/s",
                "peak, MB",
            ],
            body,
        ),
    ]


def methods_section(found: list[Row]) -> list[str]:
    lines = words(
        f"""Each method has its defaults, except for ``KMeans(n_init=10)``,
        ``MiniBatchKMeans(n_init=3)`` and ``SpectralClustering(affinity="nearest_neighbors")``. A
        label of ``NMF`` is the component that explains most of a sample. Features with negative
        entries are shifted for it. ``UMAP+KMeans`` and ``Leiden``, at the resolution that gives k
        clusters, are as on the page of other tools, and what they compile on first use is not
        counted. SpectralClustering gets up to {METHODS["SpectralClustering"]:,} samples,
        UMAP+KMeans and Leiden up to {METHODS["Leiden"]:,}. "Clusters" are 20 Gaussian clusters of
        different widths that touch, with 2 % outliers. "Curves" are rings and arcs inside each
        other, with noise, in 50 dimensions. Both are simulated, and all data are in float32."""
    )
    header = ["n", "method", "seconds", "threads", "peak, MB", "accuracy", "NMI"]
    for data in rows.values(found, "data"):
        here = rows.select(found, data=data)
        body = [
            [
                n,
                method,
                short(number(row, "seconds")),
                row["threads"] if row["seconds"] else "",
                short(number(row, "peak_megabytes")),
                *[short(number(row, score)) for score in ("accuracy", "nmi")],
            ]
            for n in rows.values(here, "n")
            for method in METHODS
            if (row := rows.first(here, n=n, what=method))
        ]
        name = "MNIST" if data == "mnist" else data.capitalize()
        p, k = here[0]["p"], here[0]["k"]
        lines += [f"{name}, p = {p}, k = {k}:", "", *table(header, body)]
    return lines


def growth_section(found: list[Row]) -> list[str]:
    body = []
    counts = [int(row["iterations"]) for row in found if row.get("iterations")] or [0]
    for data in rows.values(found, "data"):
        for method in METHODS:
            chosen = rows.select(found, data=data, what=method)
            sizes = [int(row["n"]) for row in chosen]
            parts = {"": [number(row, "seconds") for row in chosen]}
            if method == "KLSNMF":
                parts |= parts_of_fit(chosen)
            for part, seconds in parts.items():
                slopes = [rows.exponent(sizes, seconds, least) for least in (0, LEAST)]
                if method != SAMPLES and np.isfinite(slopes[0]):
                    told = f"{method}, {part}" if part else method
                    body.append([data, told, *map(short, slopes), f"{max(sizes):,}"])
    return [
        *words(
            f"""Seconds grow as nᵇ. The exponent b is the slope of the best line in a log-log plot,
            through all sizes, and through n ≥ {LEAST:,} as in the picture. For KLSNMF, the search
            for neighbours (graph) and the rest (fit) are also shown apart. The search is exact or
            approximate, whichever suits the size. A fit takes as many iterations as it needs,
            between {min(counts)} and {max(counts)} here, and that is part of the exponent."""
        ),
        *table(["data", "method", "all n", f"n ≥ {LEAST:,}", "up to n"], body),
    ]


def threads_section(found: list[Row]) -> list[str]:
    counts = rows.values(found, "threads")
    body = []
    for name, chosen in threaded(found).items():
        cells = [rows.first(chosen, threads=count) for count in counts]
        speed = ratio(cells[0], cells[-1])
        body.append([name, *[short(number(row, "seconds")) for row in cells], short(speed)])
    header = ["", *[f"s, threads: {count}" for count in counts], f"{counts[0]} / {counts[-1]}"]
    return [
        *words(
            """The seconds of an iteration of one fit (n = 4000 dense, 10,000 tiled, 200,000
            sparse), of the triad a = b + 3c of three long arrays, and of a whole fit of 30,000
            samples."""
        ),
        *table(header, body),
    ]


def width_section(found: list[Row]) -> list[str]:
    return [
        *words(
            """Fits that share a kernel share its products: one pass over the matrix serves all.
            The table has the bare products in milliseconds per fit, and the ratio of an iteration
            of one fit to them."""
        ),
        *table(MODELS_HEADER, models_body(found, "fits")),
    ]
