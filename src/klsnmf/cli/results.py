"""Results on the disk: written elsewhere first, then put in place all at once."""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO, Any

from ..core.files import size_of_regular_file
from ..core.signals import undisturbed
from ..core.tables import harmless
from ..core.writing import exchange, lock_now, made_aside, sync_folder, write_whole

#: The file that marks a folder as ours, and lists the files of one run.
SUMMARY = "result.json"

#: The value of its entry "made_by".
MADE_BY = "klsnmf cluster"

#: What else a run may write. Files of an earlier run that are not written again are removed.
_JOINED = tuple(f"joined{kind}" for kind in (".csv", ".tsv", ".xlsx", ".parquet", ".h5ad"))
_RESULTS = ("labels.csv", "model.npz", "report.html", *_JOINED)

#: The largest summary that is read, in bytes. Names of columns are most of it.
_LONGEST_SUMMARY = 2**26

#: At most so many letters of an earlier command are shown.
_TOLD = 300

#: Seconds that a run waits for others that put their results in place nearby.
_PATIENCE = 60.0


class ResultsError(ValueError):
    """A folder whose results are not those of one run; the message says why."""

    exit_code = 3


class OutputError(RuntimeError):
    """Results that could not be written; the message says why and what to do."""

    exit_code = 4


@contextmanager
def result_folder(folder: Path) -> Iterator[Path]:
    """A new folder to write results into. On success they move to ``folder``, all at once.

    What is in ``folder`` is replaced, so call ``require_free`` first. Write the summary last, with
    ``finish``. If anything fails, the new folder is removed, and ``folder`` is unchanged.
    """
    real = Path(os.path.realpath(folder))
    with explained(folder):
        real.parent.mkdir(parents=True, exist_ok=True)
    # A new folder beside the old one can take its place. If the old one is a disk of its own, or
    # nothing may be written beside it, the new folder is inside it, and files are moved.
    place = real if _beside(real) else real / "results"
    with Placing(folder) as placing, ExitStack() as stack:
        with explained(folder):
            aside = stack.enter_context(made_aside(place, Path.mkdir))
        yield aside
        with explained(folder), _alone(real.parent), undisturbed():
            _put_in_place(aside, real)
            placing.done = True


class Placing:
    """An interrupt inside says if it came too late to stop anything."""

    def __init__(self, folder: Path, *, done: bool = False) -> None:
        self.folder, self.done = folder, done

    def __enter__(self) -> Placing:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self.done and isinstance(error, KeyboardInterrupt):
            vars(error)["state"] = f"The results were already complete: they are in {self.folder}."


def _beside(folder: Path) -> bool:
    """Whether a folder beside this one could take its place."""
    if not folder.exists():
        return True
    one_disk = folder.stat().st_dev == folder.parent.stat().st_dev
    return one_disk and os.access(folder.parent, os.W_OK | os.X_OK)


def finish(aside: Path, summary: dict[str, Any]) -> None:
    """Write the summary of all results, and make sure that everything is on the disk."""
    summary["sha256"] = {file.name: _digest(file) for file in sorted(aside.iterdir())}
    summary["files"] = sorted([*summary["sha256"], SUMMARY])
    _write_summary(aside, summary)
    for name in summary["sha256"]:
        with (aside / name).open("rb+") as file:
            os.fsync(file.fileno())
    sync_folder(aside)


def _put_in_place(aside: Path, folder: Path) -> None:
    """Put all results in the place of the earlier ones."""
    if not folder.exists():
        aside.rename(folder)
    elif not _exchanged(aside, folder):
        _move(aside, folder)
    sync_folder(folder.parent)


def _exchanged(aside: Path, folder: Path) -> bool:
    """Exchange the folders, if the old one holds only results; return whether this was done.

    It is not done if the current folder is inside the old one, because that would disappear.
    """
    strange = {file.name for file in folder.iterdir()} - {*_RESULTS, SUMMARY}
    if strange or aside.parent != folder.parent or Path.cwd().is_relative_to(folder):
        return False
    if not all(file.is_file() for file in folder.iterdir()):
        return False
    with suppress(OSError):
        shutil.copymode(folder, aside)
        exchange(aside, folder)
        return True
    return False


def _move(aside: Path, folder: Path) -> None:
    """Move file by file, if the folder must stay. The summary says so until all are there.

    If a file cannot be moved, the earlier results are put back.
    """
    for name in (*_RESULTS, SUMMARY):
        if (folder / name).exists() and not (folder / name).is_file():
            raise OSError(errno.EEXIST, f"{name} exists and is not a file")
    new = [name for name in _RESULTS if (aside / name).exists()]
    gone = new if earlier(folder) is None else _RESULTS
    before = aside / "before"
    moves = [(folder / name, before / name) for name in gone if (folder / name).exists()]
    moves += [(aside / name, folder / name) for name in (*new, SUMMARY)]
    before.mkdir()
    if (folder / SUMMARY).exists():
        shutil.copy2(folder / SUMMARY, before)
    _write_summary(folder, {"made_by": MADE_BY, "unfinished": True})
    done = []
    try:
        for source, target in moves:
            source.replace(target)
            done.append((target, source))
    except OSError:
        _put_back(done, folder, before)
        raise


def _put_back(done: Sequence[tuple[Path, Path]], folder: Path, before: Path) -> None:
    """Undo moves, the last one first, and then put the earlier summary in its place."""
    try:
        for target, source in reversed(done):
            target.replace(source)
        if (before / SUMMARY).exists():
            (before / SUMMARY).replace(folder / SUMMARY)
        else:
            (folder / SUMMARY).unlink()
    except OSError as error:
        raise OutputError(
            f"Run the same command again: only some of the new results are in {folder} "
            f"({error.strerror or error})."
        ) from error


def _write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    write_whole(folder / SUMMARY, json.dumps(summary, indent=2).encode())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let others wait while this process puts results in place, if there are locks."""
    with ExitStack() as stack:
        try:
            lock = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, lock)
            _wait_for(lock)
        except _Locked as error:
            raise OSError(errno.EAGAIN, str(error)) from error
        except OSError:  # there are no locks here
            pass
        yield


class _Locked(Exception):  # noqa: N818
    """Another process holds the lock."""


def _wait_for(lock: int) -> None:
    begun = time.monotonic()
    while True:
        try:
            return lock_now(lock)
        except BlockingIOError as error:
            if time.monotonic() - begun > _PATIENCE:
                raise _Locked("another process has locked its parent folder") from error
            time.sleep(0.02)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def require_one_run(folder: Path, name: str) -> None:
    """Refuse a folder whose results do not all come from one run."""
    for last in (False, False, True):
        summary = earlier(folder)
        if summary is None:
            why = "has no valid result.json of klsnmf cluster"
        elif summary.get("unfinished"):
            why = "holds incomplete results"
        else:
            stored = summary.get("sha256")
            known = stored.get(name) if isinstance(stored, dict) else None
            if known is None or known == _digest(folder / name):
                return
            why = f"has a {name} from another run than its result.json"
        if last:
            raise ResultsError(
                f"{folder} {why}. Run klsnmf cluster again, or, if you trust it, give the file "
                f"itself: {folder / name}"
            )
        time.sleep(0.05)  # another run may be putting its results in place


@contextmanager
def explained(place: Path) -> Iterator[None]:
    """Turn an OSError inside into an OutputError that names the place."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"The results could not be written to {place}: {error.strerror or error}. Make room "
            "or get permission there, or choose another place with --out. Nothing was written; "
            "earlier results are unchanged."
        ) from error


def require_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder with earlier results or other files, unless forced."""
    if not folder.is_dir():
        if folder.exists() or folder.is_symlink():
            raise OutputError(f"{folder} is not a folder. Use another name with --out.")
        return
    before = earlier(folder)
    unfinished = before is not None and before.get("unfinished")
    if force or unfinished or not any(folder.iterdir()):
        return
    if before is not None:
        raise OutputError(
            f"{folder} already holds results. Use another folder, --out {free_name(folder)}, or "
            f"replace them with --force. {came_from(before)}"
        )
    raise OutputError(
        f"{folder} exists and holds files that klsnmf did not make. Use another folder, --out "
        f"{free_name(folder)}, or write into this one with --force; files of the same names are "
        "replaced then."
    )


def came_from(before: Mapping[str, Any]) -> str:
    """The command that made earlier results, in a sentence."""
    return f"They came from: {str(before.get('command', 'an unknown command'))[:_TOLD]}"


def free_name(path: Path) -> Path:
    """A name beside this one that is not in use: digits-clusters-2, digits-clusters-3, ..."""
    ending = path.suffix if path.is_file() else ""
    name = path.name.removesuffix(ending)
    names = (path.with_name(f"{name}-{number}{ending}") for number in count(2))
    return next(each for each in names if not os.path.lexists(each))


def earlier(folder: Path) -> dict[str, Any] | None:
    """The summary of the results in a folder, if klsnmf wrote them."""
    try:
        if size_of_regular_file(folder / SUMMARY) > _LONGEST_SUMMARY:
            return None
        found = json.loads((folder / SUMMARY).read_bytes())
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
    words: Sequence[Sequence[str]] | None = None,
    novelty: Any = None,
) -> None:  # (n,), (n,), (n,), each (n,), (k,), (n,)
    """Write labels.csv: id, cluster and strength of each sample; the leading words of its cluster,
    if texts were clustered; its cluster at each level; and the novelty of new samples.
    """
    writer = csv.writer(stream, lineterminator="\n")
    others = levels or {}
    leading = None if words is None else [harmless(" ".join(some)) for some in words]
    head = ["id", "cluster", "strength", *(["words"] if leading else [])]
    columns = {f"level_{k}": one.tolist() for k, one in others.items()}
    if novelty is not None:
        columns["novelty"] = [f"{value:.4f}" for value in novelty.tolist()]
    writer.writerow([*head, *columns])
    each = [labels.tolist(), strengths.tolist(), *columns.values()]
    for name, label, strength, *more in zip(ids, *each, strict=True):
        told = [leading[label]] if leading else []
        writer.writerow([harmless(name), label, f"{strength:.4f}", *told, *more])


def require_new(path: Path, option: str, *, force: bool) -> None:
    """Refuse a file that exists, unless forced; ``option`` is the one that names it."""
    if path.exists() and not force:
        raise OutputError(
            f"{path} already exists. Use another name, {option} {free_name(path)}, or replace it "
            "with --force."
        )


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write one file of results, all at once."""
    require_new(path, "--out", force=force)
    with explained(path):
        write_whole(path, text.encode())
