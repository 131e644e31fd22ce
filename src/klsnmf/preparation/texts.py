"""Text as numbers: how often each word occurs in a text, and how few texts have it (tf-idf).

The rules, and their reasons:

* A word has three letters or more, because shorter words rarely tell the subject. Digits and
  underscores separate words, so that the parts of ``csr_matrix`` count as words. Capital and small
  letters are the same.
* A word that only one text has is left out, because it links this text with no other.
* A word that occurs ten times does not count ten times as much, but 1 + log of the count.
* The weight of a word is log(n / texts with it), so that a word of every text weighs nothing.
  scikit-learn adds 1, and then words that all texts share make them alike. So no list of stop words
  is needed, and the rules are the same for every language.
* Texts are scaled to unit length, so that a long text is near a short one on the same subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from ..core import checks
from ..core.checks import need
from ..core.types import Array, Labels, Matrix
from ..io.table import InputError, Table
from .base import Step, Units, need_names

_WORD = r"(?u)[^\W\d_]{3,}"

#: A word must be in at least this many texts.
_LEAST = 2

#: At most this many words are kept, the most frequent ones.
_MOST_WORDS = 100_000

#: The number of words that describe a cluster.
LEADING = 6


@dataclass(frozen=True)
class WeighWords(Step):
    """A column for each word of a column of text, with its weight in each sample."""

    text_column: str
    terms: tuple[str, ...]  # (q,)
    weights: Array  # (q,)

    @property
    def words(self) -> tuple[str, ...]:
        return (self.text_column,)

    def units(self, before: Units) -> None:
        return None

    def apply(self, table: Table) -> Table:
        texts = _texts(table, self.text_column)
        counter = CountVectorizer(token_pattern=_WORD, vocabulary=self.terms, dtype=np.float64)
        counts = sparse.csr_array(counter.transform(texts))
        counts.data = (1 + np.log(counts.data)) * self.weights[counts.indices]
        X = sparse.csr_array(normalize(counts))
        return replace(table, X=X, features=list(self.terms), blank=np.diff(X.indptr) == 0)

    def check(self, p: int) -> int:
        need(type(self.text_column) is str, "a column of text has no name")
        need(p == 0, "it takes columns of numbers beside text")
        need_names(self.terms, "its words")
        need(0 < len(set(self.terms)) == len(self.terms), "its words are none, or not different")
        checks.array(self.weights, "the weights of its words", shape=(len(self.terms),), least=0)
        return len(self.terms)


def fit_words(table: Table, column: str) -> WeighWords:
    """The words that several texts have, and the weight of each."""
    texts = _texts(table, column)
    counter = CountVectorizer(token_pattern=_WORD, min_df=_LEAST, max_features=_MOST_WORDS)
    try:
        counts = counter.fit_transform(texts)
    except ValueError as error:  # no word is left
        raise InputError(
            f"{table.name}: no word of three letters or more is in {_LEAST} texts of {column!r}. "
            "Give more texts, or longer ones."
        ) from error
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    weights = np.log((1 + len(texts)) / (1 + frequency))
    return WeighWords(column, tuple(counter.get_feature_names_out().tolist()), weights)


def leading_words(X: Matrix, terms: Sequence[str], labels: Labels) -> list[list[str]]:
    """The words that set each cluster apart, by their mean weight in it minus that in others."""
    n, k = len(labels), int(labels.max()) + 1
    member = sparse.csr_array((np.ones(n), (labels, np.arange(n))), (k, n))
    sums: Any = sparse.csr_array(member @ X)
    total, sizes = np.asarray(sums.sum(axis=0)).ravel(), np.bincount(labels, minlength=k)
    found = []
    for cluster, size in enumerate(sizes):
        inside = sums[[cluster]].toarray().ravel()
        apart = inside / max(size, 1) - (total - inside) / max(n - size, 1)
        first = np.argsort(-apart, kind="stable")[:LEADING]
        found.append([terms[j] for j in first if apart[j] > 0])
    return found


def _texts(table: Table, column: str) -> list[str]:
    """The texts in a column. If a table has only one column of text, its name does not matter."""
    words = table.words
    name = column if column in words or len(words) != 1 else next(iter(words))
    if name not in words:
        raise InputError(
            f"{table.name} has no column of text {column!r}. Name it with --text-column."
        )
    return [text or "" for text in words[name]]
