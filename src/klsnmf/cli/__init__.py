"""The command ``klsnmf``. The commands themselves are in ``klsnmf.cli.commands``."""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    """Run the command line, or say which package is missing."""
    begun = time.monotonic()
    _open_closed()
    try:
        from .commands import klsnmf
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit(
            "The command klsnmf needs the package click. "
            'Run: pip install ".[demo]" in a clone, or pip install "klsnmf[demo]"'
        )
    klsnmf(prog_name="klsnmf", obj=begun)


def _open_closed() -> None:
    """Open those of the three standard files that the caller has closed, onto nothing.

    Otherwise the next file to be opened would get the number of a standard file, and libraries
    would print into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
