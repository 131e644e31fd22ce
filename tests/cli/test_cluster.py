"""The commands cluster, predict and compare, run as a user would in a folder of their own."""

import csv
import json
import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import sparse
from scipy.io import mmwrite, savemat

from klsnmf import METHODS
from klsnmf.cli.output import show_lines
from klsnmf.core.tables import harmless
from klsnmf.metrics import accuracy
from klsnmf.report import shell

from ..command_runs import as_labels, labels_of, names, rows_of, run, words, write_csv

N, K, P = 60, 3, 6


def write_images(folder, X, y, side=(2, 3)):
    for i, row in enumerate(np.rint(40 * X).astype(np.uint8)):
        place = Path(folder, f"class {y[i]}")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(row.reshape(side)).save(place / f"{i:03}.png")


# ---------------------------------------------------------------------- one test for each format


def make(kind, X, y):
    """A file of this kind, and the options to read it with."""
    data = f"mine.{kind.partition(' ')[0]}"
    if kind == "csv":
        write_csv(data, X, name=names(), kind=words(y), remark=["some text"] * N)
        return data, ["--id-column", "name", "--label-column", "kind"]
    if kind == "csv with semicolons":
        write_csv(data, X, ";", kind=words(y))
        Path(data).write_text(Path(data).read_text().replace(".", ","))
        return data, ["--label-column", "kind"]
    if kind == "tsv":
        write_csv(data, X, "\t", other=np.arange(N), kind=words(y))
        columns = [f"f{j}" for j in range(P)]
        return data, ["--columns", ",".join(columns), "--label-column", "kind"]
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {f"f{j}": X[:, j] for j in range(P)}
        pq.write_table(pa.table({"name": names(), "kind": words(y), **columns}), data)
        return data, ["--id-column", "name", "--label-column", "kind"]
    if kind == "npy":
        np.save(data, X)
        return data, []
    if kind == "npz":
        np.savez(data, X=X, y=y, ids=names())
        return data, []
    if kind == "npz of images":
        np.savez(data, pixels=X.reshape(N, 2, 3), kinds=y)
        return data, ["--columns", "pixels", "--label-column", "kinds"]
    if kind == "npz sparse":
        sparse.save_npz(data, sparse.csr_array(X))
        return data, []
    if kind == "mat":
        savemat(data, {"fea": X, "gnd": y[:, None] + 1.0}, do_compression=True)
        return data, ["--columns", "fea", "--label-column", "gnd"]
    if kind == "mat sparse":
        savemat(data, {"X": sparse.csc_array(X)})
        return data, []
    if kind == "mtx":
        mmwrite(data, sparse.coo_array(X))
        return data, []
    assert kind == "images"
    write_images("mine", X, y)
    return "mine", ["--label-column", "folder"]


KINDS = [
    "csv",
    "csv with semicolons",
    "tsv",
    "parquet",
    "npy",
    "npz",
    "npz of images",
    "npz sparse",
    "mat",
    "mat sparse",
    "mtx",
    "images",
]


@pytest.mark.parametrize("kind", KINDS)
def test_cluster_and_predict(kind, samples, folder):
    X, y = samples
    if kind == "images":
        order = np.argsort(y, kind="stable")  # as the names of their folders come
        X, y = X[order], y[order]
    data, options = make(kind, X, y)
    shown = json.loads(run("cluster", data, *options, "-k", K, "--json", "--quiet")[0])
    results = folder / "mine-clusters"
    assert shown["files"] == ["labels.csv", "model.npz", "report.html", "result.json"]
    assert shown["files"] == sorted(each.name for each in results.iterdir())
    assert shown == json.loads((results / "result.json").read_text())
    assert (shown["n_samples"], shown["n_features"]) == (N, P)
    assert accuracy(y, labels_of(results)) == 1
    assert shown["sizes"] == np.bincount(labels_of(results)).tolist()
    if options or kind == "npz":
        assert shown["scores"]["accuracy"] == 1
    rows = rows_of(results / "labels.csv")
    assert list(rows[0]) == ["id", "cluster", "strength"]
    assert all(0 <= float(row["strength"]) <= 1 for row in rows)
    if kind in ("csv", "parquet", "npz"):
        assert [row["id"] for row in rows] == names()
    again = run("predict", "mine-clusters", data, "--quiet")[0]
    assert as_labels(again) == (results / "labels.csv").read_text()
    shown, _ = run("predict", results / "model.npz", data, "--out", "new.csv")
    assert shown == f"{N} samples written to new.csv\n"
    assert Path("new.csv").read_text() == again
    found = json.loads(run("predict", results, data, "--json")[0])
    assert [each["cluster"] for each in found] == labels_of(results).tolist()


def test_a_command_as_the_shell_starts_it(samples, folder):
    X, y = samples
    write_csv("my data.csv", X, kind=words(y))
    command = [Path(sys.prefix, "bin", "klsnmf"), "cluster", "my data.csv", "-k", "3"]
    done = subprocess.run(
        [*command, "--label-column", "kind"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy\t1.000" in done.stdout
    assert "60 samples in 3 clusters" in done.stdout
    line = json.loads(Path("my data-clusters/result.json").read_text())["command"]
    before = Path("my data-clusters/labels.csv").read_bytes()
    Path("my data-clusters/labels.csv").unlink()
    program, *arguments = shlex.split(line)
    assert program == "klsnmf"
    run(*arguments, "--force")
    assert Path("my data-clusters/labels.csv").read_bytes() == before


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method, samples):
    X, y = samples
    np.save("mine.npy", X)
    _, error = run("cluster", "mine.npy", "-k", K, "--method", method)
    if method == "spectral":  # clusters as clear as these are separate pieces, and not its strength
        assert labels_of("mine-clusters").max() == K - 1
        assert "cannot place new samples" in error
        assert not Path("mine-clusters/model.npz").exists()
        _, error = run("predict", "mine-clusters", "mine.npy", code=3)
        assert "spectral cannot place new samples" in error
    else:
        assert accuracy(y, labels_of("mine-clusters")) > 0.9
        found = [int(row.split(",")[1]) for row in _predicted("mine-clusters", "mine.npy")]
        assert accuracy(y, np.array(found)) > 0.9


def _predicted(model, data):
    return run("predict", model, data, "--quiet")[0].splitlines()[1:]


@pytest.mark.parametrize("method", ["kls-nmf", "kmeans"])
def test_the_number_of_clusters_is_found(method, samples):
    X, y = samples
    np.save("mine.npy", X)
    shown = json.loads(run("cluster", "mine.npy", "--method", method, "--json", "-q")[0])
    assert shown["n_clusters"] == K
    assert accuracy(y, labels_of("mine-clusters")) == 1


def test_a_data_set_by_name():
    shown = json.loads(
        run("cluster", "--dataset", "digits", "-k", 10, "--method", "kmeans", "--json", "-q")[0]
    )
    assert shown["n_samples"] == 1797
    assert shown["scores"]["accuracy"] > 0.6
    assert shown["folder"] == "digits-clusters"


def test_gaps_are_for_wnmf(samples):
    X, y = samples
    X[4, 2] = np.nan
    write_csv("gaps.csv", X)
    Path("gaps.csv").write_text(Path("gaps.csv").read_text().replace("nan", ""))
    _, error = run("cluster", "gaps.csv", "-k", K, "--prepare", "none", code=3)
    assert "gaps.csv has 1 missing value, in line 6, column 'f2'. Fill it in" in error
    assert "--missing drop-rows, drop-columns, median or knn. Or use " in error
    assert "--method wnmf" in error
    _, error = run("compare", "gaps.csv", "-k", K, "--prepare", "none", code=3)
    assert "line 6, column 'f2'" in error
    assert "--methods wnmf" in error
    run("cluster", "gaps.csv", "-k", K, "--method", "wnmf")
    assert accuracy(y, labels_of("gaps-clusters")) == 1
    run("predict", "gaps-clusters", "gaps.csv")
    write_csv("full.csv", np.nan_to_num(X))
    run("cluster", "full.csv", "-k", K)
    _, error = run("predict", "full-clusters", "gaps.csv")
    assert "1 missing value is filled in" in error
    _, error = run("cluster", "gaps.csv", "--method", "wnmf", "--force", code=3)
    assert "-k NUMBER" in error


# ---------------------------------------------------------------------- what is shown


def test_classes_of_some_samples(samples):
    X, y = samples
    known = [f"class {label}" if i % 3 else "" for i, label in enumerate(y)]
    write_csv("mine.csv", X, kind=known)
    options = ["-k", K, "--label-column", "kind", "--json", "-q"]
    assert json.loads(run("cluster", "mine.csv", *options)[0])["scores"]["accuracy"] == 1
    found = json.loads(run("compare", "mine.csv", *options, "--methods", "kmeans")[0])
    assert found["methods"][0]["scores"]["accuracy"] == 1


def test_the_report(samples):
    X, y = samples
    write_csv("mine.csv", X, kind=words(y), name=["<script>alert(1)</script>"] * N)
    run("cluster", "mine.csv", "--label-column", "kind", "--id-column", "name")
    page = Path("mine-clusters/report.html").read_text(encoding="utf-8")
    assert "klsnmf cluster mine.csv -k auto" in page
    assert "<script>alert(1)" not in page


def test_results_without_a_report(samples, monkeypatch):
    np.save("mine.npy", samples[0])
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(shell, "_environment", shell._environment.__wrapped__)
    _, error = run("cluster", "mine.npy", "-k", K)
    assert "Note: There is no report.html: The report needs jinja2" in error
    assert len(labels_of("mine-clusters")) == N


def test_quiet_and_notes(samples):
    X, _ = samples
    write_csv("mine.csv", X, remark=["text"] * N)
    shown, error = run("cluster", "mine.csv", "-k", K)
    assert "Note: Left out, because they hold text: 'remark'. To use one" in error
    lines = shown.splitlines()
    assert lines[0] == "cluster\tsamples\tmedian strength\tbelow 0.3"
    assert lines[1].split("\t")[0] == "0"
    assert run("cluster", "mine.csv", "-k", K, "--quiet", "--force") == ("", "")


# ---------------------------------------------------------------------- compare


def test_compare_with_known_classes(samples):
    X, y = samples
    np.savez("mine.npz", X=X, y=y)
    methods = ["kls-nmf", "gnmf", "semi-nmf", "kernel-kmeans", "kmeans"]
    chosen = ["--methods", ",".join(methods)]
    found = json.loads(run("compare", "mine.npz", "-k", K, "--json", "-q", *chosen)[0])
    assert found["n_clusters"] == K
    assert [row["method"] for row in found["methods"]] == methods
    for row in found["methods"]:
        assert row["failure"] is None
        assert row["scores"]["accuracy"] == 1
        assert row["stability"] == 1
    assert len(found["agreement"]) == 10
    assert all(pair["nmi"] == pytest.approx(1) for pair in found["agreement"])


def test_compare_without_classes(samples):
    np.save("mine.npy", samples[0])
    shown, _ = run("compare", "mine.npy", "-k", "auto", "--methods", "kmeans,cnmf", "--seeds", 2)
    rows = [line.split("\t") for line in shown.splitlines()]
    assert rows[0] == ["mine.npy: 60 samples, 3 clusters, 2 seeds"]
    assert rows[1] == ["method", "stability", "seconds", "remark"]
    assert [row[0] for row in rows[2:4]] == ["kmeans", "cnmf"]
    assert rows[2][1] == "1.000"
    assert ["kmeans", "cnmf", "1.000", "1.000"] in [row[:4] for row in rows]


def test_disagreement_is_seen():
    rng = np.random.default_rng(0)
    np.save("noise.npy", rng.uniform(size=(80, 5)))
    arguments = ["compare", "noise.npy", "-k", 5, "--methods", "kmeans,wnmf", "--json", "-q"]
    found = json.loads(run(*arguments)[0])
    assert found["methods"][0]["stability"] < 1
    assert found["agreement"][0]["ari"] < 0.9
    assert found["agreement"][0]["nmi"] < 0.9


def test_a_method_that_cannot_does_not_stop_the_others(samples):
    np.save("signed.npy", samples[0] - 3)
    found = run("compare", "signed.npy", "-k", K, "--methods", "gnmf,kmeans", "--json", code=1)[0]
    gnmf, kmeans = json.loads(found)["methods"]
    assert gnmf["failure"] == "it cannot use negative numbers"
    assert kmeans["failure"] is None
    assert kmeans["stability"] == 1


# ---------------------------------------------------------------------- usage


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster"],
        ["cluster", "mine.npy", "--dataset", "digits"],
        ["cluster", "mine.npy", "-k", "0"],
        ["cluster", "mine.npy", "-k", "many"],
        ["cluster", "mine.npy", "--method", "magic"],
        ["cluster", "mine.npy", "--seed", "-1"],
        ["cluster", "--dataset", "digits", "--columns", "a"],
        ["cluster", "--dataset", "mnist"],
        ["cluster", "mine.npy", "--scale", "root"],
        ["cluster", "mine.npy", "--scale", "standard", "--method", "gnmf"],
        ["cluster", "mine.npy", "--max-iter", "0"],
        ["predict", "model.npz"],
        ["compare", "mine.npy", "--methods", "kmeans,magic"],
        ["compare", "mine.npy", "--methods", ","],
    ],
)
def test_usage(arguments, samples):
    np.save("mine.npy", samples[0])
    _, error = run(*arguments, code=2)
    assert "Usage:" in error
    assert sorted(os.listdir()) == ["mine.npy"]


def test_help_is_light():
    code = (
        "import sys\nfrom klsnmf.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    assert not {'numpy', 'scipy', 'sklearn', 'rich'} & set(sys.modules)"
    )
    for command in ("cluster", "predict", "compare"):
        done = subprocess.run(
            [sys.executable, "-c", code, command, "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert f"Usage: klsnmf {command}" in done.stdout


# ---------------------------------------------------------------------- where results go


def test_a_folder_of_others_is_left_alone(samples):
    np.save("mine.npy", samples[0])
    Path("mine-clusters").mkdir()
    Path("mine-clusters/labels.csv").write_text("mine")
    _, error = run("cluster", "mine.npy", "-k", K, code=4)
    assert "--force" in error
    assert Path("mine-clusters/labels.csv").read_text() == "mine"
    assert sorted(os.listdir()) == ["mine-clusters", "mine.npy"]
    Path("mine-clusters/notes.txt").write_text("mine")
    run("cluster", "mine.npy", "-k", K, "--force")
    assert Path("mine-clusters/notes.txt").read_text() == "mine"
    assert len(labels_of("mine-clusters")) == N


def test_earlier_results_are_kept(samples):
    np.save("mine.npy", samples[0])
    run("cluster", "mine.npy", "-k", K)
    before = Path("mine-clusters/labels.csv").read_bytes()
    for k in (2, K):  # other settings, and the same
        _, error = run("cluster", "mine.npy", "-k", k, code=4)
        assert "--out mine-clusters-2" in error
        assert "--force" in error
        assert f"They came from: klsnmf cluster mine.npy -k {K}" in error
    assert Path("mine-clusters/labels.csv").read_bytes() == before
    run("cluster", "mine.npy", "-k", 2, "--out", "mine-clusters-2")
    assert "--out mine-clusters-3" in run("cluster", "mine.npy", code=4)[1]
    run("cluster", "mine.npy", "-k", 2, "--force")
    assert labels_of("mine-clusters").max() == 1


def test_a_fit_that_goes_on_writes_its_own_results_again(samples):
    np.save("mine.npy", samples[0])
    line = ("cluster", "mine.npy", "-k", K, "--checkpoint", "fit.npz")
    run(*line)
    before = Path("mine-clusters/labels.csv").read_bytes()
    run(*line)
    assert Path("mine-clusters/labels.csv").read_bytes() == before
    assert "--force" in run(*line, "--seed", 1, code=4)[1]  # another fit


def test_sizes_of_clusters(folder):
    """Three samples far away are a cluster where sizes are free, and not where they are even."""
    rng = np.random.default_rng(0)
    near = rng.normal(size=(120, 4)) + np.repeat([[0.0], [5.0]], 60, axis=0) * [1, 0, 0, 0]
    np.save("mine.npy", np.vstack([near, 30 + rng.normal(size=(3, 4))]))
    smallest = {}
    for sizes in ("even", "free"):
        run("cluster", "mine.npy", "-k", 2, "--sizes", sizes, "--out", sizes)
        smallest[sizes] = np.bincount(labels_of(sizes)).min()
        command = json.loads(Path(sizes, "result.json").read_text())["command"]
        assert f"--sizes {sizes}" in command
    assert smallest["free"] == 3
    assert smallest["even"] > 40
    error = run("cluster", "mine.npy", "-k", 2, "--method", "onmf", "--sizes", "free", code=2)[1]
    assert "--sizes" in error
    assert "kls-nmf" in error


def test_results_that_were_not_all_put_in_place_are_replaced(samples):
    np.save("mine.npy", samples[0])
    Path("mine-clusters").mkdir()
    summary = {"made_by": "klsnmf cluster", "unfinished": True}
    Path("mine-clusters/result.json").write_text(json.dumps(summary))
    run("cluster", "mine.npy", "-k", K)
    assert len(labels_of("mine-clusters")) == N


def test_results_where_there_can_be_none(samples):
    np.save("mine.npy", samples[0])
    for place in ("mine.npy", "mine.npy/folder"):
        _, error = run("cluster", "mine.npy", "-k", K, "--out", place, code=4)
        assert "mine.npy" in error
        assert "--out" in error
        assert len(error.splitlines()) == 1
    np.testing.assert_array_equal(np.load("mine.npy"), samples[0])


def test_a_folder_without_permission(samples, monkeypatch):
    np.save("mine.npy", samples[0])

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("klsnmf.cli.results.made_aside", refuse)
    _, error = run("cluster", "mine.npy", "-k", K, "--out", "results", code=4)
    assert "could not be written to results: Permission denied" in error


def test_a_full_disk_leaves_earlier_results(samples):
    np.save("mine.npy", samples[0])
    run("cluster", "mine.npy", "-k", K)
    before = {each.name: each.read_bytes() for each in Path("mine-clusters").iterdir()}

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

    command = [Path(sys.prefix, "bin", "klsnmf"), "cluster", "mine.npy", "-k", "2", "--force"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=little_room
    )
    assert done.returncode == 4, done.stderr
    assert "earlier results are unchanged" in done.stderr
    assert "Traceback" not in done.stderr
    assert {each.name: each.read_bytes() for each in Path("mine-clusters").iterdir()} == before
    assert sorted(os.listdir()) == ["mine-clusters", "mine.npy"]


def test_predictions_do_not_replace_a_file(samples):
    np.save("mine.npy", samples[0])
    run("cluster", "mine.npy", "-k", K)
    _, error = run("predict", "mine-clusters", "mine.npy", "--out", "mine.npy", code=4)
    assert "--force" in error
    np.testing.assert_array_equal(np.load("mine.npy"), samples[0])
    Path("new.csv").write_text("old")
    run("predict", "mine-clusters", "mine.npy", "--out", "new.csv", "--force")
    assert len(rows_of("new.csv")) == N


def test_ctrl_c(samples, monkeypatch):
    np.save("mine.npy", samples[0])

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("klsnmf.cli.fits.fit", interrupt)
    _, error = run("cluster", "mine.npy", "-k", K, code=130)
    assert "Interrupted" in error
    assert sorted(os.listdir()) == ["mine.npy"]


@pytest.mark.parametrize(
    "name",
    [
        *("=cmd|' /C calc'!A0", "+a", "-a", "@sum(1)", "\t=1", "\r=1", "a\r=1", "a\n=1"),
        *("\uff1dcmd", "\uff0b1", " \uff0d1", "\uff20sum(1)"),
    ],
)
def test_no_name_becomes_a_formula(name, samples):
    write_csv("mine.csv", samples[0][:9], name=[name] * 9)
    run("cluster", "mine.csv", "-k", K, "--id-column", "name")
    (found,) = {row["id"] for row in rows_of("mine-clusters/labels.csv")}
    assert found.lstrip()[0] in "'a"
    assert found.removeprefix("'") == re.sub(r"[\r\n\t]", " ", name)


@pytest.mark.parametrize("separator", ",;|")
@pytest.mark.parametrize("formula", ["=cmd", "+1", "-1", "@sum", " =cmd", "'=cmd", '"=cmd', "＝a"])
def test_no_name_becomes_a_formula_whatever_separates_cells(formula, separator):
    """A spreadsheet may take another separator than ours, and begin a cell inside of a name."""
    for cell in harmless(f"a{separator}{formula}").split(separator):
        assert cell.strip()[0] in "a'"
    assert "\t" not in harmless(f"a\t{formula}")


def test_no_name_commands_a_terminal(samples, monkeypatch, capsys):
    write_csv("mine.csv", samples[0][:9], name=["a\x1b[2J\x9b\u202eé\tb"] * 9)
    run("cluster", "mine.csv", "-k", K, "--id-column", "name", "--method", "kmeans")
    (found,) = {row["id"] for row in rows_of("mine-clusters/labels.csv")}
    assert found == "a\ufffd[2J\ufffd\u202eé b"
    shown = run("predict", "mine-clusters", "mine.csv", "--json")[0]
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert json.loads(shown)[0]["id"] == "a\x1b[2J\x9b\u202eé\tb"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show_lines(f"{found}\nb\n")
    assert capsys.readouterr().out == "a\ufffd[2J\ufffd\ufffdé b\nb\n"
    assert harmless("\udcff") == "\ufffd"


def test_numbers_are_names_as_they_are():
    assert [harmless(name) for name in ("-5", "+1.5", "a=b", "")] == ["-5", "+1.5", "a=b", ""]


# ---------------------------------------------------------------------- new samples


def test_new_columns_may_come_in_any_order(samples):
    X, _ = samples
    write_csv("old.csv", X, name=names())
    run("cluster", "old.csv", "-k", K, "--id-column", "name")
    with open("new.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["extra", *(f"f{j}" for j in reversed(range(P))), "name"])
        writer.writerows([i, *row[::-1], names()[i]] for i, row in enumerate(X.tolist()))
    expected = Path("old-clusters/labels.csv").read_text()
    assert as_labels(run("predict", "old-clusters", "new.csv", "-q")[0]) == expected
    write_csv("short.csv", X[:, :-1], name=names())
    _, error = run("predict", "old-clusters", "short.csv", code=3)
    assert "short.csv has no column 'f5'" in error


def test_data_that_a_model_does_not_know(samples):
    X, y = samples
    np.save("mine.npy", X)
    run("cluster", "mine.npy", "-k", K)
    np.save("short.npy", X[:, 1:])
    _, error = run("predict", "mine-clusters", "short.npy", code=3)
    assert "short.npy has 5 features" in error
    assert "made from 6" in error
    write_images("images", X, y)
    assert "not made from images" in run("predict", "mine-clusters", "images", code=3)[1]


def test_new_images_take_the_shape_of_the_old(samples):
    X, y = samples
    write_images("old", X, y)
    run("cluster", "old", "-k", K)
    write_images("new", np.repeat(X, 4, axis=1), y, side=(4, 6))
    shown, error = run("predict", "old-clusters", "new")
    assert len(shown.splitlines()) == N + 1
    assert "resized to 2 × 3 pixels" in error
