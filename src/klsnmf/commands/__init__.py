"""The command line: a file for each command or group of commands.

Modules here import only what their ``--help`` needs; the rest is imported inside the commands. Exit
codes: 0 all went well, 1 something failed, 2 the command was not understood.
"""

from __future__ import annotations

import errno
from typing import Any

import click

from .. import __version__
from .data import data
from .reproduce import reproduce

#: Errors whose message is written for the user. All others are mistakes of the program.
_EXPLAINED = (OSError, ValueError, RuntimeError, MemoryError, ImportError)


class _ShortErrors(click.Group):
    """A group that tells an error in one paragraph, without a traceback unless asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            closed_pipe = isinstance(error, OSError) and error.errno == errno.EPIPE
            if ctx.params["debug"] or closed_pipe:
                raise
            text = " ".join(str(error).split()) or type(error).__name__
            if not isinstance(error, _EXPLAINED):
                text = f"{type(error).__name__}: {text}. This is a mistake in klsnmf."
            raise click.ClickException(f"{text} (klsnmf --debug shows where.)") from error


@click.group(cls=_ShortErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def klsnmf(debug: bool) -> None:
    """Clustering by nonnegative matrix factorization with local similarity learning."""


klsnmf.add_command(data)
klsnmf.add_command(reproduce)
