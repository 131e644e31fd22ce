"""Tables in Parquet files, read with pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core import memory
from ..core.files import LIMIT
from ..core.words import listed
from .table import (
    OF_TEXT,
    Choice,
    Counted,
    InputError,
    Table,
    classes,
    column_places,
    known_words,
    may_name,
    needs,
    require_some,
    taken_as_names,
    text_left_out,
)


def read(path: Path, choice: Choice) -> Table:
    """The table of a Parquet file, a row for each sample."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise needs(path, "pyarrow", ", or save the table as CSV.") from error
    try:
        with pq.ParquetFile(path) as file:
            return _read(file, path, choice)
    except (pa.ArrowException, EOFError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is not a valid Parquet file ({error}). Save the table again, or get the file "
            "again."
        ) from error


def _read(file: Any, path: Path, choice: Choice) -> Table:
    import pyarrow as pa
    from pyarrow import types

    schema, n = file.schema_arrow, file.metadata.num_rows
    names = list(schema.names)
    if not names or n <= 0:
        raise InputError(f"{path} has {n} rows and {len(names)} columns. Give a table with data.")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(
            f"{path} has several columns called {listed(twice)}. Give them different names, and "
            "save the table again."
        )
    places = column_places(path, names, choice)
    features = places.features
    known = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    kept = [place for place in features if any(is_it(schema.field(place).type) for is_it in known)]
    others = [names[place] for place in features if place not in kept]
    mistaken = [name for name in others if names.index(name) in places.named]
    if mistaken:
        kind = schema.field(names.index(mistaken[0])).type
        raise InputError(
            f"{path}, column {mistaken[0]!r} holds {kind}, not numbers. {OF_TEXT}, or choose other "
            "columns with --columns."
        )
    require_some(path, [*kept, *places.words], names)
    # The number of rows is only a claim: a page of a few bytes may stand for millions of rows.
    size = 8 * n * len(kept)
    if size > LIMIT:
        raise InputError(
            f"{path} unpacks to {size} bytes; at most {LIMIT} are allowed. Use fewer rows or "
            "columns."
        )
    memory.require(2 * size, f"The table of {path}", "Use fewer rows or columns.")

    def column(place: int) -> Any:
        found = file.read(columns=[names[place]]).column(0)
        if len(found) != n:
            raise InputError(
                f"{path}, column {names[place]!r} has {len(found)} rows, and the table {n}. Save "
                "the table again, or get the file again."
            )
        return found

    X = np.empty((n, len(kept)))
    for j, place in enumerate(kept):
        values = column(place).cast(pa.float64(), safe=False)
        X[:, j] = values.to_numpy(zero_copy_only=False)

    def words(place: int) -> list[str]:
        # A text that is stored once may be in every row, so it is made only once.
        found = column(place).combine_chunks().dictionary_encode()
        names = ["" if value is None else str(value) for value in found.dictionary.to_pylist()]
        return ["" if i is None else names[i] for i in found.indices.to_pylist()]

    texts = [
        place
        for place in places.free
        if any(
            is_it(schema.field(place).type) for is_it in (types.is_string, types.is_large_string)
        )
    ]
    ids: Sequence[str] = Counted(n) if places.ids is None else words(places.ids)
    messages = []
    if texts and len(set(found := words(texts[0]))) == n and all(map(may_name, found)):
        ids = found
        messages.append(taken_as_names(names[texts[0]]))
        others = [name for name in others if name != names[texts[0]]]
    return Table(
        name=str(path),
        X=X,
        ids=ids,
        features=[names[place] for place in kept],
        target=None if places.labels is None else classes(words(places.labels)),
        messages=[*messages, *([text_left_out(others)] if others else [])],
        words={names[place]: known_words(words(place)) for place in places.words},
        text_column=choice.text_column,
    )
