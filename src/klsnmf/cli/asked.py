"""What ``klsnmf cluster`` was asked for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import options


@dataclass(frozen=True)
class Asked:
    """What the user asked for."""

    source: options.Source
    k: int | str
    method: str
    seed: int
    max_iter: int | None
    folder: Path
    sizes: str | None = None
    checkpoint: Path | None = None
    levels: bool = False
    join: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the estimator that were given and that only some methods have."""
        given = {"sizes": self.sizes, "checkpoint": self.checkpoint}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def command(self) -> str:
        """The command line that repeats the run."""
        data, wanted, steps = self.source.data, self.source.wanted, self.source.steps
        parts = [] if data is None else [data, *self.source.more]
        words = [_path_word(part) for part in parts] or ["--dataset", str(self.source)]
        words += ["-k", str(self.k), "--method", self.method, "--seed", str(self.seed)]
        columns = {"columns": wanted.columns, "exclude": wanted.exclude, "encode": wanted.words}
        given: list[tuple[str, object]] = [
            (f"--{name}", text) for name, texts in columns.items() for text in texts or ()
        ]
        given += [("--id-column", wanted.id_column), ("--label-column", wanted.label_column)]
        given += [("--prepare", steps.prepare if steps.prepare != "auto" else None)]
        given += [("--scale", steps.scale)]
        given += [("--missing", steps.missing), ("--pca", steps.pca), ("--max-iter", self.max_iter)]
        given += [("--text-column", wanted.text_column)]
        given += [("--sheet", name) for name in wanted.sheets]
        given += [("--sizes", self.sizes)]
        for name, value in given:
            words += _option(name, value) if value else []
        words += ["--skip-broken"] if wanted.skip_broken else []
        words += ["--levels"] if self.levels else []
        words += ["--join"] if self.join else []
        words += _option("--out", _path_word(self.folder))
        return shlex.join(["klsnmf", "cluster", *words])


def _path_word(path: Path) -> str:
    """A path that is not taken for an option; - alone is the standard input."""
    return f"./{path}" if str(path).startswith("-") and str(path) != "-" else str(path)


def _option(name: str, value: object) -> list[str]:
    """An option and its value, in one word if the value could be taken for an option."""
    return [f"{name}={value}"] if str(value).startswith(("-", "./-")) else [name, str(value)]
