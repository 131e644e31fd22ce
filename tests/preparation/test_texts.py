"""Texts as numbers: the rules, against their slow twin, and models that a stranger made."""

import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from klsnmf.io.table import InputError, Table
from klsnmf.preparation.plan import fitted
from klsnmf.preparation.texts import WeighWords, fit_words, leading_words

TEXTS = [
    "A cat, a Cat and the_cat2 sat.",
    "The dog and the cat: sat!",
    "Ein Hund und eine Katze; und",
    "und der Hund",
    "",
    "Über alles, ÜBER 12345",
    "über die Katze",
]


def table(texts, **more):
    names = [str(i) for i in range(len(texts))]
    empty = np.empty((len(texts), 0))
    return Table("mine", empty, names, words={"text": texts}, text_column="text", **more)


def slowly(texts):
    """The rules of the module, word by word."""
    counts = [Counter(re.findall(r"[^\W\d_]{3,}", text.lower())) for text in texts]
    n, frequency = len(texts), Counter(word for each in counts for word in each)
    terms = sorted(word for word, texts_with in frequency.items() if texts_with > 1)
    rows = []
    for each in counts:
        row = [
            (1 + math.log(each[word])) * math.log((1 + n) / (1 + frequency[word]))
            if each[word]
            else 0.0
            for word in terms
        ]
        length = math.sqrt(sum(value**2 for value in row))
        rows.append([value / length if length else 0.0 for value in row])
    return terms, rows


def test_words_are_weighed_by_the_rules():
    found, preparation = fitted(table(TEXTS))
    terms, rows = slowly(TEXTS)
    assert found.features == terms == ["and", "cat", "hund", "katze", "sat", "the", "und", "über"]
    np.testing.assert_allclose(found.X.toarray(), rows, atol=1e-12)
    assert sparse.issparse(found.X)
    np.testing.assert_array_equal(found.blank, [not any(row) for row in rows])
    preparation.check(len(terms))
    assert preparation.text_column == "text"
    again = preparation.apply(table(TEXTS))
    np.testing.assert_array_equal(again.X.toarray(), found.X.toarray())


def test_new_texts_are_weighed_by_the_old_ones():
    step = fit_words(table(TEXTS), "text")
    found = step.apply(table(["cat dog zebra", "zebra"])).X.toarray()
    assert found[0, step.terms.index("cat")] == 1  # the others are not known
    assert not found[1].any()


def test_what_every_text_has_weighs_nothing():
    texts = ["same one two", "same two three", "same three one"]
    step = fit_words(table(texts), "text")
    assert step.weights[step.terms.index("same")] == 0
    assert (np.delete(step.weights, step.terms.index("same")) > 0).all()


@pytest.mark.parametrize("texts", [["", ""], ["a b c", "d e f"], ["alpha", "beta", "gamma"]])
def test_texts_without_common_words(texts):
    with pytest.raises(InputError, match="mine: no word of three letters or more is in 2 texts"):
        fitted(table(texts))


def test_a_column_of_another_name_will_do_if_it_is_the_only_one():
    step = fit_words(table(TEXTS), "abstract")
    other = replace(table(["cat"]), words={"a": ["cat"], "b": ["dog"]})
    with pytest.raises(InputError, match=r"no column of text 'abstract'.*--text-column"):
        step.apply(other)


@pytest.mark.parametrize(
    "change",
    [
        {"terms": ("cat", "cat")},
        {"terms": ()},
        {"terms": ["cat", "dog"]},
        {"terms": ("cat", 3)},
        {"weights": np.ones(3)},
        {"weights": np.array([1.0, np.nan])},
        {"weights": np.array([1.0, -1.0])},
        {"weights": [1.0, 1.0]},
        {"text_column": 3},
    ],
)
def test_steps_of_strangers(change):
    sound = WeighWords("text", ("cat", "dog"), np.ones(2))
    assert sound.check(0) == 2
    with pytest.raises(ValueError, match=r"\w"):
        replace(sound, **change).check(0)
    with pytest.raises(ValueError, match="beside text"):
        sound.check(1)


def test_leading_words_set_a_cluster_apart():
    texts = ["cat sat here", "cat ran here", "dog sat here", "dog ran here", "dog ran here"]
    found, _ = fitted(table(texts))
    words = leading_words(found.X, found.features, np.array([0, 0, 1, 1, 1]))
    assert (words[0][0], words[1][0]) == ("cat", "dog")
    assert "here" not in words[0] + words[1]
    assert leading_words(found.X, found.features, np.array([0, 0, 2, 2, 2]))[1] == []
