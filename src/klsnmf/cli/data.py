"""``klsnmf data``: list, describe, download and check the data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import options
from .output import show_json, show_table

if TYPE_CHECKING:
    from ..datasets.registry import DataSet


class _Outcome(NamedTuple):
    """What became of a data set: ok, fetched, missing, by hand, refused or failed."""

    name: str
    status: str
    path: str = ""
    message: str = ""


@click.group(short_help="List, describe, download and check data sets.")
def data() -> None:
    """The data sets of the paper: list, describe, download and check them."""


@data.command("list", short_help="List the data sets.")
@options.data_home
@options.as_json
def list_sets(data_home: Path | None, as_json: bool) -> None:
    """List the data sets, and which of them are here."""
    from ..datasets.registry import REGISTRY

    records = [_record(dataset, data_home) for dataset in REGISTRY.values()]
    if as_json:
        show_json(records)
        return
    header = ["name", "samples", "features", "classes", "licence", "here"]
    fields = ["name", "n_samples", "n_features", "n_classes", "licence", "path"]
    show_table(header, [[record[field] or "no" for field in fields] for record in records])


@data.command(short_help="Describe a data set.")
@click.argument("name", type=options.DATA_SET)
@options.data_home
@options.as_json
def info(name: str, data_home: Path | None, as_json: bool) -> None:
    """Describe the data set NAME: its publisher, its licence, how to get it."""
    (dataset,) = _sets([name])
    record = _record(dataset, data_home)
    if as_json:
        show_json(record)
        return
    original = record.pop("original") or {}
    record["path"] = record["path"] or "not here"
    record |= {f"original {key}": value for key, value in original.items()}
    rows = [[key.replace("_", " "), _plain(value)] for key, value in record.items()]
    show_table(["field", "value"], rows)


@data.command(short_help="Download data sets from their publishers.")
@click.argument("names", nargs=-1, type=options.DATA_SET)
@click.option("--all", "every", is_flag=True, help="All sets that may be downloaded.")
@options.data_home
@options.as_json
def fetch(names: Sequence[str], every: bool, data_home: Path | None, as_json: bool) -> None:
    """Download the data sets NAMES from their publishers, unless they are here.

    Some sets cannot be downloaded: you have to ask their publisher. They count as failures if you
    name them, and are only mentioned with --all.
    """
    if bool(names) == every:
        raise click.UsageError("Name data sets, or use --all.")

    def get(dataset: DataSet) -> _Outcome:
        found = _check(dataset, data_home)
        if found.status != "missing":
            return found
        if dataset.original is not None and dataset.original.url is None:
            return _Outcome(dataset.name, "by hand", message=found.message)
        from ..datasets.store import DatasetError, data_folder, read
        from ..datasets.store import fetch as download

        try:
            path = download(dataset, data_folder(data_home))
            read(dataset, path)
        except DatasetError as error:
            return _Outcome(dataset.name, "failed", message=str(error))
        return _Outcome(dataset.name, "fetched", str(path))

    failures = {"refused", "failed", "by hand"} if names else {"refused", "failed"}
    _report(_sets(names), get, failures, as_json)


@data.command(short_help="Check the files of data sets.")
@click.argument("names", nargs=-1, type=options.DATA_SET)
@options.data_home
@options.as_json
def check(names: Sequence[str], data_home: Path | None, as_json: bool) -> None:
    """Check the files of the data sets NAMES, or of all that are here.

    A set that is missing is a failure only if it is named.
    """
    failures = {"refused", "missing"} if names else {"refused"}
    _report(_sets(names), lambda dataset: _check(dataset, data_home), failures, as_json)


def _sets(names: Sequence[str]) -> list[DataSet]:
    from ..datasets.registry import REGISTRY

    return [REGISTRY[name] for name in dict.fromkeys(names or REGISTRY)]


def _check(dataset: DataSet, data_home: Path | None) -> _Outcome:
    from ..datasets.store import DatasetError, data_folder, find, missing, read

    if dataset.original is None:
        return _Outcome(dataset.name, "ok", "scikit-learn")
    folder = data_folder(data_home)
    path = find(dataset, folder)
    if path is None:
        return _Outcome(dataset.name, "missing", message=missing(dataset, folder))
    try:
        read(dataset, path)
    except DatasetError as error:
        return _Outcome(dataset.name, "refused", str(path), str(error))
    return _Outcome(dataset.name, "ok", str(path))


def _record(dataset: DataSet, data_home: Path | None) -> dict[str, Any]:
    from ..datasets.store import data_folder, find

    path = "scikit-learn" if dataset.original is None else find(dataset, data_folder(data_home))
    features = {"n_features": dataset.n_features, "path": None if path is None else str(path)}
    return asdict(dataset) | features


def _report(
    sets: Sequence[DataSet], act: Callable[[DataSet], _Outcome], failures: set[str], as_json: bool
) -> None:
    """Act on each set, even if others fail, and show the outcomes."""
    outcomes: list[_Outcome] = []
    try:
        for dataset in sets:
            outcomes.append(act(dataset))
    except KeyboardInterrupt as error:
        if fetched := [outcome.name for outcome in outcomes if outcome.status == "fetched"]:
            vars(error)["state"] = f"Already downloaded: {', '.join(fetched)}."
        raise
    if as_json:
        show_json([outcome._asdict() for outcome in outcomes])
    else:
        rows = [[name, status, message or path] for name, status, path, message in outcomes]
        show_table(["name", "status", "where or why"], rows)
    if any(outcome.status in failures for outcome in outcomes):
        raise click.exceptions.Exit(1)


def _plain(value: object) -> object:
    if isinstance(value, tuple | list):
        return ", ".join(str(each) for each in value)
    return "no" if value is None else value
