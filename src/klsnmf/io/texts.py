"""Folders of texts: every .txt file is a sample."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ..core import memory
from ..core.files import LIMIT, size_of_regular_file
from ..core.words import listed, plural
from ..core.work import steps
from .folders import as_text, find
from .table import Choice, InputError, Table, classes

#: The endings of the names of texts.
SUFFIXES = (".txt",)

#: The name of the column of texts.
COLUMN = "text"

#: Bytes of memory for a byte of text; most characters take one, two or four.
_GROWTH = 4


def read(path: Path, choice: Choice) -> Table:
    """The texts of a folder and its subfolders, in the order of their names."""
    named = choice.columns, choice.exclude, choice.words, choice.text_column, choice.id_column
    if any(named) or choice.label_column not in (None, "folder"):
        raise InputError(
            f"{path} is a folder of texts, which has no columns. Leave out what names columns; "
            "--label-column folder takes the names of the subfolders for classes."
        )
    found = find(path, SUFFIXES)
    total = sum(size_of_regular_file(path / name) for name in found.names)
    if total > LIMIT:
        raise InputError(f"{path} holds {total} bytes of text, {LIMIT} are allowed. Give a part.")
    memory.require(_GROWTH * total, f"The texts of {path}", "Cluster a part of them.")
    texts: dict[str, str] = {}
    other, broken = [], []
    for name in steps(found.names, "reading texts"):
        content = (path / name).read_bytes()
        if b"\0" in content:  # a picture or a program, or UTF-16
            broken.append(as_text(name))
            continue
        try:
            texts[name] = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            texts[name] = content.decode("latin-1")
            other.append(as_text(name))
    if broken:
        are = f"{plural(len(broken), 'file')} in {path} {'is' if len(broken) == 1 else 'are'} no "
        told = f"{are}text in UTF-8: {listed(broken)}."
        if not choice.skip_broken or not texts:
            raise InputError(
                f"{told} Save them as text in UTF-8, or leave them out with --skip-broken."
            )
        found.others.extend(broken)
    messages = found.told("text")
    if other:
        messages.append(
            f"{plural(len(other), 'text')} in {path} {'is' if len(other) == 1 else 'are'} not in "
            f"UTF-8, and read as Latin-1: {listed(other)}."
        )
    folders = [os.path.dirname(name) or "." for name in texts]
    return Table(
        name=str(path),
        X=np.empty((len(texts), 0)),
        ids=[as_text(name) for name in texts],
        target=classes(folders) if choice.label_column else None,
        messages=messages,
        words={COLUMN: list(texts.values())},
        text_column=COLUMN,
    )
