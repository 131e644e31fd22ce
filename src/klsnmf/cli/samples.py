"""The samples that a command works on: reading, preparing, and notes about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np
from scipy import sparse

from ..core.words import listed, plural
from ..datasets.store import DatasetError, load
from ..io import read as files
from ..io.table import Choice, Counted, InputError, Table, classes, numbers
from ..methods import DETAILS
from ..metrics import scores
from ..preparation.base import Preparation
from ..preparation.gaps import WAYS
from ..preparation.look import uneven
from ..preparation.plan import fitted
from ..preparation.roles import remarks
from ..preparation.texts import leading_words
from .options import Source

#: Columns named in a line.
_TOLD = 8


def read(source: Source) -> Table:
    """The samples that DATA or --dataset names."""
    data, dataset, wanted = source.data, str(source.dataset), source.wanted
    if data is not None:
        return files.read_all([data, *source.more], wanted)
    if wanted != Choice(skip_broken=wanted.skip_broken):
        raise click.UsageError(
            "Leave out the options for columns: a data set has no columns to choose."
        )
    try:
        found = load(dataset)
    except (DatasetError, ValueError) as error:
        raise InputError(str(error)) from error
    X, y = numbers(found.data, dataset), classes(found.target.tolist())
    return Table(dataset, X, Counted(len(X)), target=y, image_shape=found.image_shape)


def prepared(table: Table, source: Source, methods: Sequence[str]) -> tuple[Table, Preparation]:
    """The table after steps that suit the methods, with remarks; and these steps."""
    asked, chosen = source.steps, source.wanted.columns is not None
    auto = asked.prepare == "auto"
    if not auto and not chosen:
        table = replace(table, messages=[*table.messages, *remarks(table)])
    accepts = [DETAILS[method].accepts for method in methods]
    signed = all("signed" in each for each in accepts)
    table, found = fitted(
        table,
        auto=auto,
        any_role=chosen,
        signed=signed,
        gaps=all("nan" in each for each in accepts),
        **{name: getattr(asked, name) for name in ("scale", "missing", "pca")},
    )
    # --prepare auto has already decided on a scale, unless the method accepts none.
    looked_at = auto and asked.scale is None and signed
    if not found.scales and not looked_at and (note := uneven(table)):
        table = replace(table, warnings=[*table.warnings, note])
    return table, found


def not_used(before: Table, table: Table) -> dict[str, Any]:
    """The columns that were not used, for the samples that were clustered."""
    if table.rows is not None:
        before = before.only(table.rows)
    used = {*(table.features or ())}
    numbers = {}
    if before.features is not None and not sparse.issparse(before.X) and not table.image_shape:
        left = [j for j, name in enumerate(before.features) if name not in used]
        numbers = {before.features[j]: before.X[:, j] for j in left}
    words = {} if table.text_column else before.words
    return {**numbers, **words, **before.aside}


def size_of(table: Table) -> dict[str, Any]:
    """The size and the columns of a table, for results in JSON."""
    n, p = map(int, table.X.shape)
    words = table.features is None or table.text_column is not None
    columns = None if words else list(table.features or ())
    return {"n_samples": n, "n_features": p, "columns": columns, "text": table.text_column}


def columns_used(table: Table) -> str | None:
    """A line with the columns, if they have names."""
    if table.features is None:
        return None
    if table.text_column is not None:
        return f"Clustered by {plural(table.X.shape[1], 'word')} of {table.text_column!r}."
    names = listed(table.features, _TOLD)
    return f"Clustered by {plural(len(table.features), 'column')}: {names}."


def words_of(table: Table, labels: Any) -> list[list[str]] | None:
    """The words that set each cluster of texts apart, if texts were clustered."""
    if table.text_column is None or table.features is None or not sparse.issparse(table.X):
        return None
    return leading_words(table.X, table.features, labels)


def blank_samples(table: Table) -> tuple[Any, list[str]]:  # (n,)
    """Which samples are blank, so that their clusters mean nothing; and a note on them."""
    blank = np.zeros(len(table.ids), bool) if table.blank is None else table.blank
    if sparse.issparse(table.X):
        blank = blank | (np.diff(table.X.indptr) == 0)
    count = int(blank.sum())
    if not count:
        return blank, []
    text = table.text_column is not None
    noun, has = ("text" if text else "sample"), ("has" if count == 1 else "have")
    what = "no word that the clusters are made from" if text else "only zeros"
    its = "Its cluster means" if count == 1 else "Their clusters mean"
    note = f"{count} of {plural(len(blank), noun)} {has} {what}. {its} nothing (strength 0)."
    return blank, [note]


def scores_of(table: Table, labels: Any) -> dict[str, float] | None:
    """How well clusters agree with the classes, over the samples whose class is known."""
    if table.target is None:
        return None
    known = np.array([value is not None for value in table.target])
    if not known.any():
        return None
    return scores([str(value) for value in table.target[known]], labels[known])


def refusal(method: str, table: Table) -> str | None:
    """Why a method cannot use a table, as a sentence; None if it can."""
    values = table.X.data if sparse.issparse(table.X) else table.X
    accepts = DETAILS[method].accepts
    if "nan" not in accepts and np.isnan(values).any():
        return "it cannot use missing values"
    if "signed" not in accepts and np.fmin.reduce(values, axis=None, initial=0) < 0:
        return "it cannot use negative numbers"
    return None


def last_resort(table: Table, option: str) -> str:
    """The options for missing values, and what to try otherwise."""
    ways = f"The command does it for you: --missing {', '.join(WAYS[:-1])} or {WAYS[-1]}."
    if refusal("wnmf", table):
        return ways
    return f"{ways} Or use {option} wnmf with -k NUMBER, which takes missing values as they are."


def require_samples(k: int | str, table: Table, spare: int = 0) -> None:
    """Refuse more clusters than samples; some methods need ``spare`` more samples."""
    n = table.X.shape[0]
    most = n - spare
    if k == "auto" or int(k) <= most:
        return
    remedy = f"give {most} or fewer." if most > 1 else "give 1." if most else "use another method."
    raise InputError(f"{table.name} has {plural(n, 'sample')}: -k {k} is too many; {remedy}")
