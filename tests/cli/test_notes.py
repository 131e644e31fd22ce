"""What the commands tell of the data and of the result, so that no answer misleads."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from scipy import sparse

from klsnmf.cli.commands import klsnmf
from klsnmf.io import model_file
from klsnmf.io.table import InputError, Table, text_left_out
from klsnmf.metrics import accuracy
from klsnmf.preparation.look import uneven
from klsnmf.preparation.numbers import fit_standard
from klsnmf.preparation.roles import remarks
from klsnmf.report.findings import findings

from ..command_runs import as_labels, labels_of, names, rows_of, run, words, write_csv
from ..helpers import blobs

N, K, P = 60, 3, 6


@pytest.fixture
def units(samples):
    """Clear clusters, and beside them a column of noise in a small unit, so that it is large."""
    X, y = samples
    noise = np.random.default_rng(0).uniform(0, 50_000, N)
    return np.column_stack([X, noise]), y


def summary(folder="mine-clusters"):
    return json.loads(Path(folder, "result.json").read_text())


def table(X, **more):
    features = [f"f{j}" for j in range(X.shape[1])]
    return Table(**{"name": "t", "X": X, "ids": names(X.shape[0]), "features": features} | more)


# ---------------------------------------------------------------------- scales


def test_a_column_of_another_unit_is_remarked_on_and_can_be_scaled(units):
    X, y = units
    write_csv("mine.csv", X)
    _, error = run("cluster", "mine.csv", "-k", K, "--method", "kmeans", "--prepare", "none")
    assert "different spreads ('f6' has " in error
    assert "decides almost alone. If the columns have different units, use --scale" in error
    assert any("--scale standard" in message for message in summary()["messages"])
    assert "different spreads" in Path("mine-clusters/report.html").read_text(encoding="utf-8")
    assert accuracy(y, labels_of("mine-clusters")) < 0.9
    _, error = run("cluster", "mine.csv", "-k", K, "--scale", "standard", "--force")
    assert "different spreads" not in error
    assert accuracy(y, labels_of("mine-clusters")) == 1
    assert summary()["scale"] == "standard"
    assert "--scale standard" in summary()["command"]


@pytest.mark.parametrize("method", ["kls-nmf", "kmeans"])
def test_new_samples_are_scaled_like_the_old(method, units):
    X, _ = units
    X[:, 1] = 7  # a constant column is no reason to divide by zero
    write_csv("mine.csv", X)
    run("cluster", "mine.csv", "-k", K, "--scale", "standard", "--method", method)
    again, error = run("predict", "mine-clusters", "mine.csv")
    assert as_labels(again) == Path("mine-clusters/labels.csv").read_text()
    assert error == ""
    write_csv("one.csv", X[:1])  # its own mean and spread would not do
    assert (
        rows_of("mine-clusters/labels.csv")[0]["cluster"]
        == run("predict", "mine-clusters", "one.csv")[0].splitlines()[1].split(",")[1]
    )
    sparse.save_npz("sparse.npz", sparse.csr_array(X))
    assert "Give a dense table" in run("predict", "mine-clusters", "sparse.npz", code=3)[1]


@pytest.mark.parametrize(
    "scale",
    [
        "standard",
        {"mean": np.zeros(P)},
        {"mean": np.zeros(P), "spread": np.zeros(P)},
        {"mean": np.zeros(P), "spread": np.ones(P + 1)},
        {"mean": np.full(P, np.nan), "spread": np.ones(P)},
        {"mean": [{}], "spread": "x"},
    ],
)
def test_a_scale_from_a_stranger_is_checked(scale, samples):
    X, _ = samples
    np.save("mine.npy", X)
    run("cluster", "mine.npy", "-k", K, "--method", "kmeans")
    estimator, about = model_file.load("mine-clusters/model.npz")
    about["preparation"] = None  # as in files of klsnmf 0.1
    model_file.save(estimator, "old.npz", **about)
    run("predict", "old.npz", "mine.npy")
    model_file.save(estimator, "bad.npz", **about | {"scale": scale})
    _, error = run("predict", "bad.npz", "mine.npy", code=3)
    assert "bad.npz is not a model that this version of klsnmf can read" in error


def test_what_cannot_be_scaled(samples):
    X, _ = samples
    sparse.save_npz("sparse.npz", sparse.csr_array(X))
    np.save("images.npy", X.reshape(N, 2, 3))
    for data, reason in (("sparse.npz", "is sparse"), ("images.npy", "holds images")):
        for command in ("cluster", "compare"):
            _, error = run(command, data, "-k", K, "--scale", "standard", code=3)
            assert reason in error
            assert "--debug" not in error


def test_numbers_too_large_to_scale(samples):
    X, _ = samples
    write_csv("mine.csv", X * 1e300)
    _, error = run("cluster", "mine.csv", "-k", K, "--scale", "standard", code=3)
    assert "mine.csv has numbers too large to scale" in error


def test_standard_columns_have_mean_0_and_variance_1(units):
    X, _ = units
    X[3, 2] = np.nan
    X[:, 4] = 1e9
    scaled = fit_standard(table(X)).apply(table(X)).X
    np.testing.assert_allclose(np.nanmean(scaled, axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.nanstd(scaled, axis=0), [1, 1, 1, 1, 0, 1, 1], atol=1e-9)
    assert np.isnan(scaled[3, 2])


def test_only_uneven_columns_are_remarked_on(samples):
    X, _ = samples
    assert uneven(table(X)) is None
    even = X / X.std(axis=0)
    assert uneven(table(even * [1, 1, 1, 1, 1, 9])) is None
    assert "('f5' has 12 times that of " in uneven(table(even * [1, 1, 1, 1, 1, 12]))
    assert uneven(table(X * [1, 1, 1, 1, 1, 0])) is None  # constant
    far = X * [1, 1, 1, 1, 1, 1000]
    assert "'f5' has " in uneven(table(far))
    assert "the widest dominate" in uneven(table(X * [1, 1, 1, 1, 1, 1e-3]))
    assert "'f5' has " in uneven(table(far * 1e300))
    gaps = far.copy()
    gaps[0] = np.nan
    assert uneven(table(gaps)) is not None
    assert uneven(table(far, features=None)) is None
    assert uneven(table(far, image_shape=(2, 3))) is None
    assert uneven(table(sparse.csr_array(far))) is None


# ---------------------------------------------------------------------- columns


def test_the_columns_used_are_told(samples):
    X, _ = samples
    write_csv("mine.csv", X, sample_id=range(100, 100 + N))
    shown, error = run("cluster", "mine.csv", "-k", K, "--prepare", "none")
    assert "Clustered by 7 columns: 'sample_id', 'f0', 'f1'" in shown
    assert "'sample_id' looks like names of samples, but is used as a measurement. If that" in error
    assert "--id-column sample_id" in error
    assert summary()["columns"] == ["sample_id", *(f"f{j}" for j in range(P))]
    shown, error = run("cluster", "mine.csv", "-k", K, "--id-column", "sample_id", "--force")
    assert "Clustered by 6 columns: 'f0'" in shown
    assert "looks like" not in error
    assert rows_of("mine-clusters/labels.csv")[0]["id"] == "100"
    _, error = run("cluster", "mine.csv", "-k", K, "--columns", "sample_id,f0,f1", "--force")
    assert "looks like" not in error  # it was asked for
    shown, _ = run("compare", "mine.csv", "-k", K, "--methods", "kmeans", "--seeds", 1)
    assert "Clustered by 6 columns" in shown


def test_names_of_columns_may_have_commas(samples):
    X, _ = samples
    more = {"Petal, length": X[:, 0], "a": X[:, 1], "-b": X[:, 2]}
    write_csv("mine.csv", X[:, 3:], **more)
    for texts, expected in (
        (["Petal, length"], ["Petal, length"]),
        (["Petal, length", "a, f0"], ["Petal, length", "a", "f0"]),
        (['f0,"Petal, length", -b'], ["f0", "Petal, length", "-b"]),
        (["-b"], ["-b"]),
    ):
        words = [f"--columns={text}" for text in texts]
        run("cluster", "mine.csv", "-k", K, "--method", "kmeans", "--force", *words)
        assert summary()["columns"] == expected
        again = run("predict", "mine-clusters", "mine.csv")[0]
        assert as_labels(again) == Path("mine-clusters/labels.csv").read_text()
        assert "replaced" not in run(*shlex.split(summary()["command"])[1:], "--force")[1]
        assert summary()["columns"] == expected
    assert (
        "no column 'Petal'"
        in run("cluster", "mine.csv", "--columns", "Petal, a", "--force", code=3)[1]
    )
    run("cluster", "mine.csv", "-k", K, "--force", "--columns", "Petal, length")
    write_csv("other.csv", X[:, :1], Petal=X[:, 0], length=X[:, 1])
    _, error = run("predict", "mine-clusters", "other.csv", code=3)
    assert "no column 'Petal, length'" in error


def test_a_name_that_looks_like_an_option(samples):
    np.save("-weird.npy", samples[0])
    run("cluster", "-k", K, "--method", "kmeans", "--", "-weird.npy")
    command = summary("./-weird-clusters")["command"]
    assert command.startswith("klsnmf cluster ./-weird.npy -k 3")
    assert command.endswith(" --out=./-weird-clusters")
    assert "replaced" not in run(*shlex.split(command)[1:], "--force")[1]


def test_columns_that_look_like_names_or_classes():
    rng = np.random.default_rng(0)
    columns = {
        "length": rng.uniform(size=20),
        "year": np.arange(20) + 2000,
        "patient_id": rng.integers(0, 1000, 20),
        "fluid": rng.integers(0, 1000, 20),
        "refractive_index": rng.integers(0, 1000, 20),
        "index": rng.uniform(size=20),
        "class": rng.integers(0, 3, 20),
        "count": rng.integers(0, 3, 20),
        "target": rng.permutation(20) * 2,
    }
    X = np.column_stack(list(columns.values())).astype(float)
    names, classes = remarks(table(X, features=list(columns)))
    assert names.startswith("'year', 'patient_id' look like names of samples")
    assert "--id-column NAME" in names
    assert classes.startswith("'class' looks like known classes")
    assert "--label-column class" in classes


# ---------------------------------------------------------------------- the number of clusters


def test_doubts_about_the_number_of_clusters(samples):
    X, _ = samples
    np.save("mine.npy", X)
    shown, error = run("cluster", "mine.npy")
    evidence = summary()["evidence"]
    assert (evidence["chosen"], evidence["clear"]) == (K, True)
    assert evidence["levels"][0] == K
    assert evidence["verdict"] in shown
    assert "not clear" not in error
    run("cluster", "mine.npy", "-k", K, "--force")
    assert summary()["evidence"] is None


@pytest.mark.parametrize("method", ["kls-nmf", "kmeans"])
def test_a_number_of_clusters_that_does_not_stand_out(method, monkeypatch):
    monkeypatch.setattr("klsnmf.kernels.count.CLEAR", 1e9)  # so that nothing is clear
    np.save("mine.npy", blobs(N, K, P, seed=0)[0])
    _, error = run("cluster", "mine.npy", "--method", method)
    assert "clusters were chosen" in error
    assert "Give another number with -k NUMBER." in error
    assert summary()["evidence"]["clear"] is False
    assert "choice is not clear" in Path("mine-clusters/report.html").read_text(encoding="utf-8")
    found = json.loads(run("compare", "mine.npy", "--methods", method, "--json")[0])
    assert "choice is not clear" in found["messages"][0]
    assert found["evidence"]["chosen"] == K


def test_more_clusters_than_samples(samples):
    np.save("mine.npy", samples[0])
    for command in ("cluster", "compare"):
        _, error = run(command, "mine.npy", "-k", N + 1, code=3)
        assert "mine.npy has 60 samples: -k 61 is too many; give 60 or fewer." in error


def test_as_many_clusters_as_samples():
    np.save("mine.npy", np.eye(12))
    _, error = run("cluster", "mine.npy", "-k", 12, "--method", "spectral", code=3)
    assert "-k 12 is too many; give 11 or fewer." in error
    options = ["--methods", "spectral,kmeans", "--seeds", 1, "--json"]
    found = json.loads(run("compare", "mine.npy", "-k", 12, *options, code=1)[0])
    spectral, kmeans = found["methods"]
    assert "too many" in spectral["failure"]
    assert kmeans["failure"] is None


def test_classes_for_other_samples_are_ignored_with_a_note(samples):
    X, y = samples
    np.savez("mine.npz", X=X, y=y[:-1])
    _, error = run("cluster", "mine.npz", "-k", K, "--method", "kmeans")
    assert "Note: y was ignored: it is for 59 samples, and X has 60." in error
    assert summary()["scores"] is None


def test_what_the_report_finds_is_told_by_the_command(samples):
    X, _ = samples
    np.save("mine.npy", np.vstack([X, 100 + X[:1]]))
    _, error = run("cluster", "mine.npy", "-k", K + 1, "--method", "kmeans")
    tiny = "Tiny next to the others: cluster "
    assert f"Note: {tiny}" in error
    assert sum(message.startswith(tiny) for message in summary()["messages"]) == 1
    assert Path("mine-clusters/report.html").read_text(encoding="utf-8").count(tiny) == 1


def test_fewer_clusters_than_asked_for():
    np.save("mine.npy", np.repeat(np.eye(2), 10, axis=0))
    for method in ("kmeans", "gnmf"):
        _, error = run("cluster", "mine.npy", "-k", 3, "--method", method, "--force")
        found = summary()
        assert (found["n_clusters_asked"], found["n_clusters"]) == (3, 2)
        assert error.count("Note: Only 2 of 3 clusters have samples") == 1
    run("cluster", "mine.npy", "-k", "auto", "--force")
    assert summary()["n_clusters_asked"] == "auto"


# ---------------------------------------------------------------------- iterations


def test_more_iterations_can_be_asked_for(samples):
    np.save("mine.npy", samples[0])
    _, error = run("cluster", "mine.npy", "-k", K, "--method", "wnmf", "--max-iter", 1)
    assert "WNMF stopped after 1 iterations, before it converged. Allow more" in error
    assert "max_iter" not in error
    assert summary()["iterations"] == 1
    assert "--max-iter 1" in summary()["command"]
    options = ["--method", "spectral", "--max-iter", 9, "--force"]
    _, error = run("cluster", "mine.npy", "-k", K, *options)
    assert "--max-iter was ignored: spectral" in error
    options = ["--methods", "wnmf,spectral", "--max-iter", 1, "--seeds", 1]
    assert "wnmf: WNMF stopped after 1" in run("compare", "mine.npy", "-k", K, *options)[1]


# ---------------------------------------------------------------------- new samples


def test_new_samples_like_nothing_known(samples):
    X, _ = samples
    np.save("mine.npy", X)
    run("cluster", "mine.npy", "-k", K)
    new = X[:10].copy()
    new[:9] *= 1e6
    np.save("new.npy", new)
    shown, error = run("predict", "mine-clusters", "new.npy")
    strengths = [float(line.split(",")[2]) for line in shown.splitlines()[1:]]
    alone = sum(strength == 0 for strength in strengths)
    assert alone == 9
    assert f"{alone} of 10 samples are unlike every sample of the model" in error
    assert run("predict", "mine-clusters", "new.npy", "--quiet")[1] == ""
    assert run("predict", "mine-clusters", "new.npy", "--out", "a.csv", "-q") == ("", "")


# ---------------------------------------------------------------------- comparing


def test_usual_methods_that_cannot_are_left_out(samples):
    np.save("signed.npy", samples[0] - 3)
    shown, _ = run("compare", "signed.npy", "-k", K, "--seeds", 1)
    assert "gnmf\t\t\tleft out: it cannot use negative numbers" in shown
    found = json.loads(run("compare", "signed.npy", "-k", K, "--seeds", 1, "--json", "-q")[0])
    rows = {row["method"]: row for row in found["methods"]}
    assert rows["gnmf"]["left_out"] == "it cannot use negative numbers"
    assert rows["gnmf"]["failure"] is None
    assert "gnmf" not in {name for pair in found["agreement"] for name in pair["methods"]}


def test_a_method_with_a_mistake_does_not_stop_the_others(samples, monkeypatch):
    def fail(*_, **__):
        raise TypeError("no such axis")

    monkeypatch.setattr("sklearn.cluster.SpectralClustering.fit", fail)
    np.save("mine.npy", samples[0])
    options = ["--methods", "spectral,kmeans", "--seeds", 1, "--json"]
    found = json.loads(run("compare", "mine.npy", "-k", K, *options, code=1)[0])
    spectral, kmeans = found["methods"]
    assert spectral["failure"] == "TypeError('no such axis')"
    assert kmeans["failure"] is None


# ---------------------------------------------------------------------- results


def test_results_of_another_command_are_replaced_with_a_note(samples):
    np.save("mine.npy", samples[0])
    run("cluster", "mine.npy", "-k", K)
    assert "replaced" not in run("cluster", "mine.npy", "-k", K, "--force")[1]
    _, error = run("cluster", "mine.npy", "-k", K, "--method", "spectral", "--force")
    assert "The earlier results in mine-clusters were replaced. They came from: klsnmf" in error
    assert not Path("mine-clusters/model.npz").exists()  # it was another method's
    Path("mine-clusters/notes.txt").write_text("mine")
    run("cluster", "mine.npy", "-k", K, "--force")
    assert Path("mine-clusters/notes.txt").read_text() == "mine"


def test_strengths_of_clusters_are_medians(samples):
    X, y = samples
    write_csv("mine.csv", X, kind=words(y))
    run("cluster", "mine.csv", "-k", K)
    rows, labels = rows_of("mine-clusters/labels.csv"), labels_of("mine-clusters")
    strengths = np.array([float(row["strength"]) for row in rows])
    medians = [np.median(strengths[labels == cluster]) for cluster in range(K)]
    np.testing.assert_allclose(summary()["strengths"], medians, atol=1e-4)


@pytest.fixture
def runs(monkeypatch):
    """What reports are made from; each fails."""
    seen = []

    def fail(run, path):
        seen.append(run)
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("klsnmf.report.page.write", fail)
    return seen


def test_a_report_that_fails_leaves_the_labels(samples, runs):
    np.save("mine.npy", samples[0])
    line = ["cluster", "mine.npy", "-k", K, "--method", "kmeans"]
    for more in ([], ["--quiet", "--force"]):
        shown, error = run(*line, *more, code=1)
        assert error.count("There is no report.html") == 1
        assert "(ZeroDivisionError: by nought). The labels and the other results were" in error
        assert bool(shown) is not bool(more)
        assert len(labels_of("mine-clusters")) == N
        assert summary()["files"] == ["labels.csv", "model.npz", "result.json"]
        assert "by nought" in summary()["messages"][-1]
    debugged = CliRunner().invoke(klsnmf, [*map(str, line), "--force", "--debug"])
    assert debugged.exit_code == 1
    assert isinstance(debugged.exception.__cause__, ZeroDivisionError)


def test_warnings_and_notes_are_apart_in_the_report(units, runs):
    write_csv("mine.csv", units[0], remark=["text"] * N)
    asked = ["--method", "ls-nmf", "--max-iter", 1, "--prepare", "none"]
    run("cluster", "mine.csv", "-k", K, *asked, code=1)
    (made,) = runs
    (about_columns,) = made.messages
    assert "'f6'" in about_columns
    first, second = findings(made)[:2]
    assert first == about_columns
    assert second.startswith("LSNMF ")
    assert made.notes == [text_left_out(["remark"])]
    assert set(findings(made)) <= set(summary()["messages"])


# ---------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["cluster", "a.csv", "--method", "k-means"], "Did you mean 'kmeans'?"),
        (["compare", "a.csv", "--methods", "kls_nmf"], "Did you mean 'kls-nmf'?"),
        (["cluster", "--dataset", "digit"], "Did you mean 'digits'?"),
        (["cluster", "a.csv", "--dataset", "digits"], "You gave both DATA, 'a.csv', and --dataset"),
        (["cluster"], "Give DATA"),
    ],
)
def test_names_that_do_not_exist(arguments, expected):
    Path("a.csv").touch()
    assert expected in run(*arguments, code=2)[1]


def test_mistakes_in_data_are_not_hunted_in_the_program(samples, monkeypatch):
    assert "--debug" not in run("cluster", "missing.csv", code=3)[1]
    np.save("mine.npy", samples[0])
    assert "--debug" not in run("cluster", "mine.npy", "--out", "mine.npy", code=4)[1]

    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("klsnmf.cli.fits.fit", fail)
    assert "--debug" in run("cluster", "mine.npy", code=1)[1]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_debug_may_stand_anywhere(place):
    line = ["cluster", "missing.csv"]
    line.insert(place, "--debug")
    with pytest.raises(InputError, match="does not exist"):
        CliRunner().invoke(klsnmf, line, catch_exceptions=False)
    assert "Show the traceback" in run("data", "check", "--help")[0]


@pytest.mark.parametrize("group", [[], ["data"]])
def test_help_is_not_cut(group):
    shown = run(*group, "--help")[0]
    assert "Commands:" in shown
    assert "..." not in shown.partition("Commands:")[2]


def test_one_sample_in_one_cluster():
    np.save("mine.npy", np.zeros((1, 3)))
    shown, _ = run("cluster", "mine.npy", "-k", 1)
    assert "1 sample in 1 cluster, " in shown
    assert summary()["strengths"] == [1]


def test_broken_images_can_be_left_out(samples):
    X, _ = samples
    Path("pics").mkdir()
    for i, row in enumerate(np.rint(40 * X).astype(np.uint8)):
        Image.fromarray(row.reshape(2, 3)).save(f"pics/{i:02}.png")
    Path("pics/07.png").write_text("text")
    for command in ("cluster", "compare"):
        assert "--skip-broken" in run(command, "pics", "-k", K, code=3)[1]
    _, error = run("cluster", "pics", "-k", K, "--skip-broken")
    assert "1 of 60 images in pics cannot be used: pics/07.png is not a valid image" in error
    assert "07.png" not in {row["id"] for row in rows_of("pics-clusters/labels.csv")}
    assert "--skip-broken" in summary("pics-clusters")["command"]
    shown, _ = run("predict", "pics-clusters", "pics", "--skip-broken")
    assert as_labels(shown) == Path("pics-clusters/labels.csv").read_text()


def test_levels_are_told_and_written(monkeypatch):
    monkeypatch.setattr("klsnmf.kernels.count.CLEAR", 1e9)
    rng = np.random.default_rng(0)
    centres = np.repeat(60 * np.eye(3, 4), 3, axis=0) + np.tile(9 * np.eye(3, 4), (3, 1))
    np.save("mine.npy", np.repeat(centres, 40, axis=0) + rng.normal(size=(360, 4)))
    shown, _ = run("cluster", "mine.npy", "--levels")
    assert "Levels, the chosen one first:" in shown
    levels = [one["n_clusters"] for one in summary()["levels"]]
    assert levels[0] == 9
    assert 3 in levels
    header = Path("mine-clusters/labels.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.split(",") == [
        "id",
        "cluster",
        "strength",
        *(f"level_{k}" for k in sorted(levels)),
    ]
    assert "--levels" in summary()["command"]
    assert "A tree of levels" in Path("mine-clusters/report.html").read_text(encoding="utf-8")
    run("cluster", "mine.npy", "--force")
    header = Path("mine-clusters/labels.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == "id,cluster,strength"


@pytest.mark.parametrize("wrong", [["-k", "3"], ["--method", "kmeans"]])
def test_levels_need_a_number_that_is_found(wrong):
    np.save("mine.npy", blobs(N, K, P, seed=0)[0])
    _, error = run("cluster", "mine.npy", "--levels", *wrong, code=2)
    assert "--levels needs -k auto" in error


def test_compare_has_hdbscan_where_the_number_is_found():
    np.save("mine.npy", blobs(N, K, P, seed=0)[0])
    shown, _ = run("compare", "mine.npy", "--methods", "kmeans", "--seeds", 1)
    assert "hdbscan" in shown
    assert "hdbscan" not in run("compare", "mine.npy", "--methods", "kmeans", "-k", K)[0]
