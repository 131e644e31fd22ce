"""``klsnmf reproduce``: the tables and figures of the paper, from real runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .estimate import Part
from .output import show_table
from .working import Display, working

if TYPE_CHECKING:
    from ..experiments.protocol import Table
    from ..experiments.runner import Progress

#: The parts that the work of a table is divided into, to show progress.
_PARTS = 100_000
_STAGE = "parts of the work"


@click.command(short_help="Run the experiments of the paper again.")
@click.argument("names", nargs=-1, metavar="[TABLE]...")
@click.option("--quick", is_flag=True, help="A reduced table on digits, in a minute or two.")
@click.option(
    "--out",
    type=options.FOLDER,
    show_default="reproduction, or reproduction-quick",
    help="The folder of the results. Existing rows are not computed again.",
)
@click.option("-N", "sizes", type=int, multiple=True, help="Only this number of classes.")
@click.option("--column", "columns", multiple=True, help='Only this column, such as "KLS-NMF".')
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="How many processes to use. [default: one per core]",
)
@click.option("--no-run", is_flag=True, help="Write only tables and figures, from existing rows.")
@click.option("--no-figures", is_flag=True, help="Draw nothing.")
@options.data_home
@click.option("--quiet", is_flag=True, help="No progress.")
def reproduce(
    names: Sequence[str],
    quick: bool,
    out: Path | None,
    sizes: Sequence[int],
    columns: Sequence[str],
    processes: int | None,
    no_run: bool,
    no_figures: bool,
    data_home: Path | None,
    quiet: bool,
) -> None:
    """Run the experiments of the paper, and write its tables and figures beside ours.

    TABLES are semeion, jaffe, pix, alphadigit and faces94 (tables I to V of the paper), and
    semeion-gls, jaffe-gls, pix-gls and alphadigit-gls (GLS-NMF over λ × γ); all of them unless
    some are named. Run the same command again to continue a run that was stopped or killed. If a
    set is missing, its name and what to do are printed, and the others are run; the exit code is
    then 1.
    """
    from ..experiments import convergence, cost, pages, runner

    def say(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    out = out or Path("reproduction-quick" if quick else "reproduction")
    asked = _tables(names, quick)
    known = {trial.column for table in asked.values() for trial in table.trials}
    if wrong := sorted(set(columns) - known):
        raise click.BadParameter(
            f"there is no column {wrong[0]!r}; there are {', '.join(sorted(known))}.",
            param_hint="--column",
        )
    if wrong_sizes := sorted(set(sizes) - {n for table in asked.values() for n in table.sizes}):
        raise click.BadParameter(
            f"no table that is asked for has N = {wrong_sizes[0]}.", param_hint="-N"
        )
    home = None if data_home is None else str(data_home)
    whole = not no_run and not columns and not sizes and not quick
    # The paper also shows the convergence on a set for which it has no table.
    curves = [name for name in convergence.SIZES if whole and (not names or name in asked)]
    needed = [table.dataset for table in asked.values()] + curves
    missing = {} if no_run else _missing(needed, home)
    for message in missing.values():
        say(message)
    if not no_run:
        pages.require_own_rows(out, home)
    here = [] if no_run else [each for each in asked.values() if each.dataset not in missing]

    only: dict[str, Any] = {"sizes": sizes or None, "columns": columns or None}
    begun = time.perf_counter()
    for table in here:
        try:
            with working(quiet) as display:
                display.title(f"{table.title}, {table.name}")
                # The time of further tables and curves is not known before they begin.
                rest = [Part("the rest", None)] if whole or table is not here[-1] else []
                display.plan([Part(_STAGE, None), *rest])
                show = partial(_show, display)
                runner.run(table, out, data_home=home, processes=processes, report=show, **only)
        except KeyboardInterrupt as error:
            say(f"Stopped. Finished rows are in {out}; run the same command again to continue.")
            sys.exit(getattr(error, "exit_code", 130))
    with working(quiet) as display:
        display.title("Convergence")
        for name in curves:
            if name not in missing:
                convergence.write(out, name, home)
    if whole and not names:
        cost.write(out, say)
    if shown := pages.tables_in(out):  # also of earlier runs: a page is about the whole folder
        gathered = pages.gather(shown, out, home)
        written = pages.write_pages(shown, gathered, out, home, figures=not no_figures)
        averages = pages.averages(gathered[1])
        rows = [(name, column, f"{value:.1f}") for name, column, value in averages]
        show_table(["table", "column", "mean accuracy, %"], rows)
        for path in written:
            if path.suffix in (".md", ".png"):
                click.echo(path)
    say(f"{time.perf_counter() - begun:.0f} s")
    for message in missing.values():
        click.echo(message, err=True)
    if missing:
        sys.exit(1)


def _tables(names: Sequence[str], quick: bool) -> dict[str, Table]:
    from ..experiments.protocol import GRIDS, QUICK, TABLES

    if quick and names:
        raise click.UsageError("Name no tables with --quick: it has a table of its own.")
    if quick:
        return {QUICK.name: QUICK}
    known = {**TABLES, **GRIDS}
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"there is no table {name!r}; there are {', '.join(known)}.", param_hint="TABLE"
            )
    return {name: table for name, table in known.items() if not names or name in names}


def _missing(datasets: Sequence[str], home: str | None) -> dict[str, str]:
    """For each data set that is missing and cannot be downloaded, a message with a remedy."""
    from ..datasets.store import DatasetError
    from ..experiments.subsets import samples

    messages: dict[str, str] = {}
    for name in dict.fromkeys(datasets):
        try:
            samples(name, home)
        except DatasetError as error:
            messages[name] = str(error)
    return messages


def _show(display: Display, progress: Progress) -> None:
    # Parts of the work, not cells: those with many classes take much longer.
    display.update(_STAGE, int(_PARTS * progress.share), _PARTS)
