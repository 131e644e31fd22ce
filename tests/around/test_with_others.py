"""The code of the page "With other packages" runs, and clusterers keep what others ask of them."""

import pickle
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from klsnmf import KLSNMF, METHODS
from klsnmf.metrics import accuracy

from ..helpers import blobs

# What a fit of few iterations says about convergence is not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PAGE = (Path(__file__).parents[2] / "docs" / "with_others.rst").read_text(encoding="utf-8")
OURS = {name: method for name, method in METHODS.items() if name not in ("kmeans", "spectral")}


def code(words):
    """The block of the page that has these words."""
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", PAGE)
    (block,) = (block for block in blocks if words in block)
    return re.sub(r"^   ", "", block, flags=re.MULTILINE)


class Topics:
    """What BERTopic asks of ``hdbscan_model``, by its documentation of custom cluster models.

    Texts are numbers of a sample, of which the embeddings are known. Topics are numbered by size.
    """

    embeddings = None

    def __init__(self, hdbscan_model=None):
        self.hdbscan_model = hdbscan_model or pytest.fail("an estimator must not be false")

    def fit_transform(self, documents, y=None):
        reduced = self.embeddings[documents].astype(np.float32)
        self.hdbscan_model.fit(reduced, y=y)
        labels = self.hdbscan_model.labels_
        assert len(labels) == len(documents)
        frame = pytest.importorskip("pandas").DataFrame({"Document": documents, "Topic": labels})
        sizes = frame.groupby("Topic").size().sort_values(ascending=False)
        known = [topic for topic in sizes.index if topic != -1]
        self.topic = {old: new for new, old in enumerate(known)} | {-1: -1}
        return [self.topic[label] for label in labels], None

    def transform(self, documents):
        reduced = self.embeddings[documents].astype(np.float32)
        return [self.topic[label] for label in self.hdbscan_model.predict(reduced)], None


@pytest.fixture
def embedded(monkeypatch):
    X, y = blobs(160, 4, 12, 0)
    monkeypatch.setattr(Topics, "embeddings", X)
    return X, y


def test_the_code_for_bertopic_runs(embedded, monkeypatch):
    _, y = embedded
    monkeypatch.setitem(sys.modules, "bertopic", SimpleNamespace(BERTopic=Topics))
    names = {"texts": list(range(120)), "new_texts": list(range(120, 160))}
    exec(code("BERTopic(hdbscan_model="), names)
    assert accuracy(y[:120], names["topics"]) == 1
    assert accuracy(y, names["topics"] + names["new_topics"]) == 1
    model = names["topic_model"].hdbscan_model
    shares = model.memberships(embedded[0].astype(np.float32), top=3)
    assert shares.shape == (160, 4)


@pytest.mark.parametrize("method", OURS.values(), ids=OURS.keys())
def test_every_method_is_a_clusterer_of_topics(method, embedded):
    _, y = embedded
    topics = Topics(hdbscan_model=method(4, n_init=2, random_state=0))
    found, _ = topics.fit_transform(list(range(120)), y=y[:120])
    assert np.all(np.diff(np.bincount(found)) <= 0)
    twin = pickle.loads(pickle.dumps(topics))
    assert twin.transform(list(range(160))) == topics.transform(list(range(160)))


def test_texts_like_no_others_have_the_topic_of_outliers(embedded):
    X, _ = embedded
    Topics.embeddings = np.vstack([X, 50 * X.max() * np.ones((1, 12))])
    topics = Topics(hdbscan_model=KLSNMF(4, outliers="label", random_state=0))
    found, _ = topics.fit_transform(list(range(161)))
    assert found[-1] == -1
    assert set(found[:-1]) <= {-1, 0, 1, 2, 3}
    assert topics.transform([160])[0] == [-1]


def test_the_code_for_a_search_runs():
    X, y = blobs(150, 3, 4, 0)
    names = {"X": X}
    exec(code("GridSearchCV"), names)
    assert names["search"].best_params_ == {"klsnmf__n_clusters": 3}
    assert accuracy(y, names["labels"]) == 1


def test_the_code_for_cells_runs():
    anndata = pytest.importorskip("anndata")
    X, y = blobs(150, 3, 20, 0)
    adata = anndata.AnnData(np.asarray(X, dtype=np.float32))
    adata.obsm["X_pca"] = X[:, :8]
    names = {"adata": adata}
    exec(code("klsnmf.scanpy.cluster"), names)
    exec(code("pd.Categorical"), names)
    assert accuracy(y, np.asarray(adata.obs["klsnmf"], dtype=str)) == 1
    np.testing.assert_array_equal(
        np.asarray(adata.obs["klsnmf"], dtype=str), np.asarray(adata.obs["cluster"], dtype=str)
    )
    assert adata.obs["cluster_strength"].between(0, 1).all()
