"""The command line: a file for each command or group of commands.

Modules here import only what their ``--help`` needs; the rest is imported inside the commands. Exit
codes: 0 success, 1 something failed, 2 the command was not understood, 3 a given file cannot be
used, 4 the results could not be written, 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from typing import Any

import click

from ..core.version import __version__
from .cluster import cluster
from .compare import compare
from .compare_runs import compare_runs
from .data import data
from .options import APPEND
from .output import printable
from .predict import append, predict
from .reproduce import reproduce
from .stopping import stoppable

#: Errors whose message is written for the user. All others are bugs.
_EXPLAINED = (OSError, ValueError, RuntimeError, MemoryError, ImportError)

_SHOW_TRACEBACK = "Show the traceback of an error."
_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}

#: The exit code after Ctrl-C: 128 plus the number of the signal.
_INTERRUPTED = 130

#: What is added to the message about an interrupt, unless it came too late.
_UNCHANGED = "Nothing was written; earlier results are unchanged."

#: Errors of a standard output that accepts no more, and the exit code then. Files of results have
#: their own errors.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_NO_OUTPUT = 4


def _with_notes(text: str, error: BaseException) -> str:
    """A message, with the notes that were added to the error, such as where a checkpoint is."""
    return " ".join([text, *getattr(error, "__notes__", [])])


def _output_failed(error: OSError) -> click.ClickException:
    """The message about a standard output that accepts no more."""
    # Python would try again at exit, and change the exit code.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    failure = click.ClickException(f"The output could not be written: {error.strerror}.")
    failure.exit_code = _NO_OUTPUT  # type: ignore[misc]  # click reads it from the instance
    return failure


class _ShortErrors(click.Group):
    """A group that prints an error as one paragraph, with a traceback only on request."""

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.obj is None:
            ctx.obj = time.monotonic()  # when the command began
        try:
            with stoppable():
                result = super().invoke(ctx)
                sys.stdout.flush()  # before success is reported: a disk may be full
                return result
        except KeyboardInterrupt as error:
            state = vars(error).get("state", _UNCHANGED)
            click.echo(f"\n{_with_notes(f'Interrupted. {state}', error)}", err=True)
            code = getattr(error, "exit_code", _INTERRUPTED)
            raise click.exceptions.Exit(code) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            number = error.errno if isinstance(error, OSError) else None
            if ctx.params["debug"] or number == errno.EPIPE:
                raise
            if isinstance(error, OSError) and number in _FULL:
                raise _output_failed(error) from error
            text = " ".join(_with_notes(str(error), error).split()) or type(error).__name__
            if not isinstance(error, _EXPLAINED):
                text = f"{type(error).__name__}: {text}. This is a bug in klsnmf; please report it."
            code = getattr(error, "exit_code", 1)
            # A traceback helps with bugs, not with faults in the data.
            hint = " (klsnmf --debug shows where.)" if code == 1 else ""
            failure = click.ClickException(f"{printable(text)}{hint}")
            failure.exit_code = code  # type: ignore[misc]  # click reads it from the instance
            raise failure from error


def _debug(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    """Store --debug for the group, wherever it stands in the command line."""
    if given:
        ctx.find_root().params["debug"] = True


def _add_debug(command: click.Command) -> None:
    option = click.option(
        "--debug", is_flag=True, expose_value=False, callback=_debug, help=_SHOW_TRACEBACK
    )
    option(command)
    for each in getattr(command, "commands", {}).values():
        _add_debug(each)


@click.group(cls=_ShortErrors, context_settings=_SETTINGS)
@click.version_option(__version__)
@click.option("--debug", is_flag=True, help=_SHOW_TRACEBACK)
@click.pass_context
def klsnmf(ctx: click.Context, debug: bool) -> None:
    """Clustering by nonnegative matrix factorization with local similarity learning."""
    ctx.meta[APPEND] = append  # an option of cluster that works with models, as predict does


for command in (cluster, predict, compare, compare_runs, reproduce, data):
    klsnmf.add_command(command)
    _add_debug(command)
