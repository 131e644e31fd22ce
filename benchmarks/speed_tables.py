"""The tables of ``benchmarks.speed``."""

from __future__ import annotations

from .rows import Row, exponent, select

STAGES = ("neighbours", "graphs", "eigenvectors", "answers", "steps")
RIVALS = ("SpectralClustering", "KMeans")


def page(rows: list[Row]) -> str:
    return "\n".join(
        [
            "# Where the time goes",
            "",
            "The seconds of the best of three fits (of one above 50,000 samples). Each tool has "
            "its better number of threads. The tools are measured in turns in one process. Seconds "
            "vary from hour to hour, so compare ratios. The rows are in `docs/results/speed.csv`. "
            "`python -m benchmarks.speed run` makes them, and `python -m benchmarks.speed tables` "
            "makes these tables.",
            *of_sets(select(rows, case="sets")),
            *of_stages(select(rows, case="stages")),
            *of_others(rows),
            "",
        ]
    )


def of_sets(rows: list[Row]) -> list[str]:
    lines = [
        "",
        "## The paper's sets",
        "",
        "| set | n × p | k | KLSNMF | SpectralClustering | KMeans(n_init=10) | times spectral "
        "| times KMeans |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["data"] for row in rows):
        of = {row["tool"]: row for row in rows if row["data"] == name}
        mine, (one, two) = of["KLSNMF"], (float(of[rival]["value"]) for rival in RIVALS)
        took = float(mine["value"])
        lines.append(
            f"| {name} | {mine['n']} × {mine['p']} | {mine['k']} | {took:.3f} | {one:.3f} "
            f"| {two:.3f} | {took / one:.1f} | {took / two:.1f} |"
        )
    return lines


def of_stages(rows: list[Row]) -> list[str]:
    names = (*STAGES, "rest", "all")
    lines = [
        "",
        "## Stages",
        "",
        "Twenty clusters that touch, with outliers, in 50 dimensions, single precision.",
        "",
        f"| n | {' | '.join(names)} | all / neighbours | MB | KMeans | Spectral |",
        "|" + "---|" * (len(names) + 5),
    ]
    sizes = sorted({int(row["n"]) for row in rows})
    for n in sizes:
        of = {(row["tool"], row["stage"]): float(row["value"]) for row in select(rows, n=n)}
        mine = [of["KLSNMF", name] for name in names]
        told = " | ".join(f"{took:.3g}" for took in mine)
        rivals = [
            f"{of[tool, 'all']:.3g}" if (tool, "all") in of else ""
            for tool in ("KMeans", "Spectral")
        ]
        lines.append(
            f"| {n:,} | {told} | {mine[-1] / mine[0]:.1f} | {of['KLSNMF', 'MB']:.0f} "
            f"| {rivals[0]} | {rivals[1]} |"
        )
    all_of = [row for row in rows if row["tool"] == "KLSNMF" and row["stage"] == "all"]
    grows = exponent([int(row["n"]) for row in all_of], [float(row["value"]) for row in all_of])
    return [*lines, "", f"The time grows as n to the power of {grows:.2f}."]


def of_others(rows: list[Row]) -> list[str]:
    lines = ["", "## New samples, and a busy machine", ""]
    for row in select(rows, case="predict"):
        lines.append(
            f"- `predict` for a fit of {row['n']} × {row['p']}: {float(row['value']):,.0f} samples "
            f"per second, {row['threads']} threads."
        )
    busy = select(rows, case="busy")
    for n in sorted({int(row["n"]) for row in busy}):
        took = {row["stage"]: float(row["value"]) for row in select(busy, n=n)}
        lines.append(
            f"- {n:,} samples: {took['alone']:.3g} s alone, and {took['beside']:.3g} s while "
            f"another process keeps one core busy, {took['beside'] / took['alone']:.1f} times as "
            "long."
        )
    return lines
