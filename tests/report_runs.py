"""Runs that the tests of the report share."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from klsnmf import KLSNMF
from klsnmf.report import Run

from .helpers import blobs

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'/**/--></style></title><svg/onload=alert(3)>",
    "{{ 7 * 7 }}{% raw %}&lt;b&gt;",
    "\u202egnp.exe\x00\udc80\u2028",
    "long " * 400,
]


def run_of(estimator, X, **more):
    """A run of a fitted estimator; what is not given is plain."""
    n = X.shape[0]
    parts = {
        "name": "data.csv",
        "command": "klsnmf cluster data.csv",
        "method": "kmeans",
        "ids": [f"sample {i}" for i in range(n)],
        "features": None,
        "target": None,
        "image_shape": None,
        "strength": np.linspace(0, 1, n),
        "seconds": 1.5,
        "messages": [],
    }
    return Run(estimator=estimator, X=X, **(parts | more))


def by_hand(labels):
    """An estimator that has given these labels."""
    estimator = KMeans(int(labels.max()) + 1)
    estimator.labels_ = labels
    return estimator


def hostile_run():
    """Wine, with names that attack the page wherever there can be names."""
    X, y = load_wine(return_X_y=True)
    X = X / X.max(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the number of clusters is not clear
        model = KLSNMF("auto", random_state=0).fit(X)
    return run_of(
        model,
        X,
        name=HOSTILE[0],
        command=f"klsnmf cluster '{HOSTILE[2]}'",
        method="kls-nmf",
        ids=[HOSTILE[i % len(HOSTILE)] + str(i) for i in range(len(X))],
        features=[HOSTILE[j % len(HOSTILE)] + str(j) for j in range(X.shape[1])],
        target=np.array([HOSTILE[c] for c in y]),
        aside={f"{HOSTILE[2]} aside": [HOSTILE[c] for c in y], HOSTILE[1]: y.astype(float)},
        messages=HOSTILE,
        notes=HOSTILE,
    )


def long_run():
    """Names of 40 letters without a space: of samples, features and labels."""
    X, y = blobs(90, 3, 6, seed=0)

    def long(word, number):
        return f"{word}{number}".ljust(40, "x")

    return run_of(
        by_hand(y),
        X,
        command="",
        ids=[long("sample", i) for i in range(len(X))],
        features=[long("feature", j) for j in range(X.shape[1])],
        target=np.array([long("label", c) for c in y]),
    )


def nested_run():
    """Three groups of three clusters each, whose number was chosen."""
    rng = np.random.default_rng(0)
    group, part = np.divmod(np.arange(360) % 9, 3)
    means = 60 * np.eye(6)[group] + 12 * np.eye(6)[3 + part]
    X = np.abs(means + rng.normal(size=means.shape))
    return run_of(KLSNMF("auto", random_state=0).fit(X), X, method="kls-nmf")
