"""Errors about files. Quick to import, so that a missing file is reported at once."""

from __future__ import annotations

from pathlib import Path


class InputError(ValueError):
    """Data that cannot be used; the message names the file and says what to do."""

    exit_code = 3


class ModelError(ValueError):
    """A model that cannot be saved, or a file without a model; the message says why."""

    exit_code = 3


#: What stands for the standard input in place of a file.
STANDARD_INPUT = Path("-")


def require_exists(path: Path) -> None:
    """Refuse a file or a folder that is not there."""
    if path != STANDARD_INPUT and not path.exists():
        raise InputError(
            f"{path} does not exist. Check the name; the current folder is {Path.cwd()}."
        )
