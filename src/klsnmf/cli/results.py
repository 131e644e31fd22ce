"""Results on the disk: made aside, then put in place, so that earlier ones are never half gone."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..core.writing import write_whole

#: The file that says that a folder is ours, put in place last.
SUMMARY = "result.json"

#: What its entry "made_by" says.
MADE_BY = "klsnmf cluster"

#: What else a run may write; what an earlier one wrote and this one does not is removed.
_RESULTS = ("labels.csv", "model.npz", "report.html")

#: The longest summary that is read, in bytes: names of columns are the most of it.
_LONGEST_SUMMARY = 2**26

#: Cells that begin so are formulas to a spreadsheet, and formulas can run programs.
_FORMULA = ("=", "+", "-", "@")


class OutputError(RuntimeError):
    """Results that could not be written; the message says why and what to do."""

    exit_code = 4


@contextmanager
def result_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """A new folder to write results into; when all is well its files move to ``folder``.

    If anything fails, nothing is left of it, and ``folder`` is as it was.
    """
    _require_ours(folder, force)
    ours = earlier(folder) is not None
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield aside
        with explained(folder):
            folder.mkdir(exist_ok=True)
            for name in _RESULTS:
                if ours and not (aside / name).exists():
                    (folder / name).unlink(missing_ok=True)
            for file in sorted(aside.iterdir(), key=lambda file: file.name == SUMMARY):
                file.replace(folder / file.name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def explained(place: Path) -> Iterator[None]:
    """An OSError from inside as an OutputError that names the place."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"The results could not be written to {place}: {error.strerror or error}. What was "
            "there before is as it was. Make room or get permission there, or name another place "
            "with --out."
        ) from error


def _require_ours(folder: Path, force: bool) -> None:
    """Refuse a folder with files of others, unless forced."""
    if folder.is_dir():
        if force or earlier(folder) is not None or not any(folder.iterdir()):
            return
        raise OutputError(
            f"{folder} exists and holds files that klsnmf did not make. Name another folder with "
            "--out, or use --force to write into it; files of the same names are replaced then."
        )
    if folder.exists() or folder.is_symlink():
        raise OutputError(f"{folder} is not a folder. Name another one with --out.")


def earlier(folder: Path) -> dict[str, Any] | None:
    """The summary of results that klsnmf put into a folder, if it did."""
    try:
        with (folder / SUMMARY).open("rb") as file:
            found = json.loads(file.read(_LONGEST_SUMMARY))
    except (OSError, ValueError, RecursionError):
        return None
    ours = isinstance(found, dict) and found.get("made_by") == MADE_BY
    return found if ours else None


def write_labels(
    stream: IO[str],
    ids: Sequence[str],
    labels: Any,
    strengths: Any,
    levels: Mapping[int, Any] | None = None,
) -> None:  # (n,), (n,), (n,), each (n,)
    """The table that people take on: id, cluster, strength; and the cluster at each level."""
    writer = csv.writer(stream, lineterminator="\n")
    others = levels or {}
    writer.writerow(["id", "cluster", "strength", *(f"level_{k}" for k in others)])
    each = [labels.tolist(), strengths.tolist(), *(one.tolist() for one in others.values())]
    for name, label, strength, *more in zip(ids, *each, strict=True):
        writer.writerow([harmless(name), label, f"{strength:.4f}", *more])


def harmless(name: str) -> str:
    """A name that no spreadsheet takes for a formula, and that commands no terminal."""
    if not name.isprintable():
        name = "".join(_visible(each) for each in name)
    if not name.lstrip().startswith(_FORMULA):
        return name
    try:
        float(name)
    except ValueError:
        return f"'{name}"
    return name


def _visible(character: str) -> str:
    """A space for a tab or the end of a line, a mark for other controls and broken text."""
    if unicodedata.category(character) not in ("Cc", "Cs"):
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def write_file(path: Path, text: str, *, force: bool) -> None:
    """One file of results, all at once."""
    if path.exists() and not force:
        raise OutputError(
            f"{path} exists. Name another file with --out, or use --force to replace it."
        )
    with explained(path):
        write_whole(path, text.encode())
