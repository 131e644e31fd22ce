"""The command ``klsnmf``. The commands themselves are in ``klsnmf.cli.commands``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what is missing for it."""
    try:
        from .commands import klsnmf
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit(
            "The command klsnmf needs the package click. "
            'Run: pip install ".[demo]" in a clone, or pip install "klsnmf[demo]"'
        )
    klsnmf(prog_name="klsnmf")
