"""Running commands in tests, and what they read and write."""

import csv
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from klsnmf.cli.commands import klsnmf


def run(*arguments, code=0):
    """The standard output, and the standard error, of a command that ends with this exit code."""
    result = CliRunner().invoke(klsnmf, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def as_labels(text):
    """What ``klsnmf predict`` prints, without the column that labels.csv of a fit has not."""
    lines = text.splitlines()
    if not lines[0].endswith(",novelty"):
        return text
    return "".join(f"{line.rpartition(',')[0]}\n" for line in lines)


def labels_of(folder):
    return np.array([int(row["cluster"]) for row in rows_of(Path(folder, "labels.csv"))])


def write_csv(path, X, delimiter=",", **more):
    names = [f"f{j}" for j in range(X.shape[1])]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([*more, *names])
        for i, row in enumerate(X.tolist()):
            writer.writerow([*(values[i] for values in more.values()), *row])


def names(n=60):
    return [f"sample {i}" for i in range(n)]


def words(y):
    return [f"class {label}" for label in y]
