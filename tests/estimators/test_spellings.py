"""Values that were once spelled differently: they still work, and the user is told of it."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from klsnmf import KLSNMF, KNMF, LSNMF, KernelKMeans, n_clusters_evidence, path
from klsnmf.io.model_file import load, save
from klsnmf.solve.checkpoint_files import CheckpointError

from ..helpers import blobs

OLD, NEW = {"diffusion": "unweighed"}, {"diffusion": "unweighted"}
X, _ = blobs(90, 3, 6, seed=0)
QUICK = {"n_init": 2, "random_state": 0, "max_iter": 60, "tol": 0}


def told(act):
    """The result of a call, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = act()
    return result, caught


@pytest.mark.parametrize("method", [KLSNMF, LSNMF, KNMF, KernelKMeans])
@pytest.mark.parametrize("seed", range(3))
def test_the_old_spelling_warns_once_in_a_fit_and_changes_nothing(method, seed):
    old, new = (method(3, **QUICK | spelling | {"random_state": seed}) for spelling in (OLD, NEW))
    _, warned = told(lambda: old.fit(X))
    _, silent = told(lambda: new.fit(X))
    assert [one.category for one in warned] == [FutureWarning]
    assert not silent
    np.testing.assert_array_equal(old.labels_, new.labels_)
    np.testing.assert_array_equal(old.W_, new.W_)
    # What was told in the fit is not told again.
    predicted, silent = told(lambda: old.predict(X[:10]))
    np.testing.assert_array_equal(predicted, new.predict(X[:10]))
    assert not silent


def test_the_warning_names_the_remedy_and_the_line_of_the_user():
    for act in (
        lambda: KLSNMF(3, **QUICK, **OLD).fit(X),
        lambda: KLSNMF(3, **QUICK, **OLD).fit_predict(X),
        lambda: path(X, 3, lams=[0.0, 1e-3], **QUICK, **OLD),
        lambda: n_clusters_evidence(X, random_state=0, **OLD),
    ):
        _, (warning,) = told(act)
        assert warning.category is FutureWarning
        assert str(warning.message).startswith('diffusion="unweighed" is now spelled')
        assert str(warning.message).endswith('write diffusion="unweighted".')
        assert (warning.filename, warning.lineno) == (__file__, act.__code__.co_firstlineno)


def test_parameters_stay_as_they_were_given():
    model = KLSNMF(3, **QUICK, **OLD)
    told(lambda: model.fit(X))
    assert model.get_params()["diffusion"] == clone(model).diffusion == "unweighed"


@pytest.mark.parametrize("value", ["unweightedd", "none", -1, None, ["unweighed"]])
def test_messages_name_the_spelling_of_today_only(value):
    with pytest.raises(ValueError, match="'diffusion' parameter") as caught:
        KLSNMF(3, diffusion=value).fit(X)
    allowed, _, _ = str(caught.value).partition("Got")
    assert "'unweighted'" in allowed
    assert "unweighed" not in allowed


def test_model_files_with_the_old_spelling(tmp_path):
    model, _ = told(lambda: KLSNMF(3, **QUICK, **OLD).fit(X))
    save(model, tmp_path / "model.npz")
    (again, _), silent = told(lambda: load(tmp_path / "model.npz"))
    assert again.diffusion == "unweighed"
    predicted, also_silent = told(lambda: again.predict(X))
    np.testing.assert_array_equal(predicted, model.predict(X))
    assert not silent
    assert not also_silent


def interrupted(file, **parameters):
    """Begin a fit that leaves a checkpoint."""

    def interrupt(progress):
        if progress.iteration == 20:
            raise KeyboardInterrupt

    model = KLSNMF(3, **QUICK, **parameters, checkpoint=file, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        told(lambda: model.fit(X))


def kept(file):
    """The value of diffusion that a checkpoint was made with."""
    with np.load(file) as archive:
        return json.loads(archive["checkpoint"].tobytes())["fingerprint"]["dict"]["diffusion"]


@pytest.mark.parametrize("now", [OLD, NEW])
@pytest.mark.parametrize("earlier", [True, False])
def test_checkpoints_with_the_old_spelling(now, earlier, tmp_path, monkeypatch, capsys):
    """Those of earlier versions too, which kept the spelling as it was given."""
    file = tmp_path / "fit.npz"
    with monkeypatch.context() as patch:
        if earlier:
            patch.setattr("klsnmf.solve.fingerprints.spelled_now", lambda name, value: value)
        interrupted(file, **OLD)
    assert kept(file) == ("unweighed" if earlier else "unweighted")
    model, _ = told(lambda: KLSNMF(3, **QUICK, **now, checkpoint=file, verbose=1).fit(X))
    assert "continuing from" in capsys.readouterr().out
    np.testing.assert_array_equal(model.labels_, KLSNMF(3, **QUICK, **NEW).fit(X).labels_)


def test_checkpoints_of_another_diffusion_are_refused(tmp_path):
    interrupted(tmp_path / "fit.npz", **NEW)
    with pytest.raises(CheckpointError, match=r"diffusion was 'unweighted', and is 'auto'"):
        KLSNMF(3, **QUICK, checkpoint=tmp_path / "fit.npz").fit(X)
