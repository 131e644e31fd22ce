"""The protocol, the runner that survives being killed, and what is made of rows."""

from __future__ import annotations

import csv
import dataclasses
import errno
import gzip
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from klsnmf import METHODS, __version__
from klsnmf.cli.commands import klsnmf
from klsnmf.cli.reproduce import reproduce
from klsnmf.datasets.registry import REGISTRY
from klsnmf.experiments import claims, convergence, cost, pages, protocol, runner, tables
from klsnmf.experiments.figures import draw_convergence, draw_graph_weights
from klsnmf.experiments.protocol import GRIDS, QUICK, TABLES, Cell, S, Trial, cells
from klsnmf.experiments.published import METRICS, published, published_average
from klsnmf.experiments.rows import ForeignRowsError, Row, Store, _alone
from klsnmf.experiments.runner import run, store_of
from klsnmf.experiments.selection import by_lam, by_radius, choose, difference, results, settings
from klsnmf.experiments.subsets import classes_of, identity, samples, width
from klsnmf.experiments.work import run_cell

from .small_table import KMEANS, SMALL, Here


def without_times(rows: list[Row]) -> set[Row]:
    return {dataclasses.replace(row, seconds="") for row in rows}


def row(**values: object) -> Row:
    plain = dict.fromkeys((field.name for field in dataclasses.fields(Row)), "0")
    return Row(
        **{**plain, "set": "small", "N": 2, "subset": 0, "seed": 0, "iterations": 1, **values}
    )


# ---------------------------------------------------------------------- the protocol


@pytest.mark.parametrize("table", [*TABLES.values(), *GRIDS.values(), QUICK])
def test_cells_have_names_of_their_own_that_are_safe_in_a_folder(table):
    found = list(cells(table, n_classes=max(table.sizes)))
    assert len({cell.key for cell in found}) == len(found)
    for cell in found:
        assert Path(cell.key).name == cell.key
        assert not cell.key.startswith(".")


def test_the_five_tables_are_those_of_the_paper():
    printed = {(name, size) for name, size, _ in published()}
    assert {(name, size) for name, table in TABLES.items() for size in table.sizes} == printed
    assert len(S) ** 2 == 49
    for table in TABLES.values():
        assert {trial.column for trial in table.trials if trial.source == "paper"} == {
            method for _, _, method in published()
        }


def test_a_fingerprint_changes_with_what_could_change_a_row():
    before = SMALL.fingerprints("hash")
    wider = dataclasses.replace(KMEANS, fixed={"n_init": 2})
    after = dataclasses.replace(SMALL, trials=(wider, *SMALL.trials[1:])).fingerprints("hash")
    assert [column for column in before if before[column] != after[column]] == ["KMeans"]
    for change in ({"seed": 1}, {"name": "other"}):
        other = dataclasses.replace(SMALL, **change).fingerprints("hash")
        assert not set(before.values()) & set(other.values())
    assert not set(before.values()) & set(SMALL.fingerprints("other data").values())
    revised = dataclasses.replace(KMEANS, revision=1)
    after = dataclasses.replace(SMALL, trials=(revised, *SMALL.trials[1:])).fingerprints("hash")
    assert [column for column in before if before[column] != after[column]] == ["KMeans"]
    # More subsets are more rows, not other rows.
    assert dataclasses.replace(SMALL, subsets=5).fingerprints("hash") == before


def test_a_fingerprint_changes_with_the_defaults_of_a_method(monkeypatch):
    before = SMALL.fingerprints("hash")
    params = METHODS["kls-nmf"]().get_params()
    monkeypatch.setattr(METHODS["kls-nmf"], "get_params", lambda self: {**params, "tol": 0.5})
    after = SMALL.fingerprints("hash")
    assert [column for column in before if before[column] != after[column]] == ["KLS-NMF"]
    monkeypatch.setattr(protocol, "REVISION", -1)
    assert not set(after.values()) & set(SMALL.fingerprints("hash").values())


def test_a_set_that_is_not_here_is_known_as_it_is_published(tmp_path):
    assert identity("semeion", str(tmp_path)) == (REGISTRY["semeion"].content, 10)
    assert identity("digits", str(tmp_path)) == (samples("digits", None).hash, 10)


def test_subsets_are_random_choices_of_classes_that_stay():
    found = [tuple(classes_of(36, 5, subset, seed=0)) for subset in range(10)]
    assert found == [tuple(classes_of(36, 5, subset, seed=0)) for subset in range(10)]
    assert len(set(found)) > 5
    for classes in found:
        assert len(set(classes)) == 5
        assert set(classes) <= set(range(36))
    assert list(classes_of(36, 36, 0, seed=0)) == list(range(36))


def test_radius_is_in_units_of_the_largest_distance():
    X = np.random.default_rng(0).random((20, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    expected = np.exp(-squared / (0.1 * squared.max()))
    np.testing.assert_allclose(np.exp(-squared / (2 * width(X, 0.1) ** 2)), expected)


def test_a_cell_has_a_row_for_each_lam_and_each_reading():
    cell = Cell("small", 2, 0, "KLS-NMF", (("radius", 1.0),))
    rows = run_cell(SMALL, cell, None)
    assert [json.loads(row.parameters)["lam"] for row in rows] == [0.001, 0.1, 0.0]
    assert {json.loads(row.parameters)["radius"] for row in rows} == {1.0}
    rows = run_cell(SMALL, Cell("small", 2, 1, "WNMF", ()), None)
    assert [json.loads(row.parameters)["labels"] for row in rows] == ["argmax", "kmeans"]
    assert len({row.objective for row in rows}) == 1
    for one in rows:
        assert 50 <= float(one.accuracy) <= float(one.purity) <= 100
        assert float(one.nmi_max) <= float(one.nmi) <= 100
        assert one.version == __version__


# ---------------------------------------------------------------------- the runner


@pytest.fixture
def no_processes(monkeypatch) -> None:
    """For what does not depend on where cells are worked out."""
    monkeypatch.setattr(runner, "_pool", lambda processes: Here())


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The folder of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    run(SMALL, folder, processes=1)
    return folder


def test_a_run_makes_every_row_once_and_packs_them(whole):
    rows = store_of(SMALL, whole, None).rows()
    assert len(rows) == 2 * 2 * (1 + 2 + 2 * 3)
    assert sorted(path.name for path in (whole / "rows").glob("*.gz")) == [
        "small-002.csv.gz",
        "small-003.csv.gz",
    ]
    assert not (whole / "rows" / "small.cells").exists()


def test_a_second_run_has_nothing_to_do(whole):
    told: list[object] = []
    before = {path: path.stat().st_mtime_ns for path in (whole / "rows").glob("*.gz")}
    run(SMALL, whole, processes=1, report=told.append)
    assert told == []
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_run_of_some_columns_is_completed_by_the_next(whole, tmp_path, no_processes):
    run(SMALL, tmp_path, processes=1, columns=["KMeans"], sizes=[3])
    found = store_of(SMALL, tmp_path, None).rows()
    assert {(one.method, one.N) for one in found} == {("KMeans", 3)}
    told = []
    run(SMALL, tmp_path, processes=1, report=told.append)
    assert len(told) == 2 * 2 * 4 - 2
    assert told[-1].done == told[-1].total == 16
    assert told[-1].share == pytest.approx(1)
    assert sorted(progress.share for progress in told) == [progress.share for progress in told]
    assert without_times(store_of(SMALL, tmp_path, None).rows()) == without_times(
        store_of(SMALL, whole, None).rows()
    )


PROGRAM = """
from pathlib import Path
import sys
from klsnmf.experiments import runner
from tests.experiments.small_table import SMALL, Here
if __name__ == "__main__":
    processes = int(sys.argv[2])
    if not processes:
        runner._pool = lambda _: Here()
    told = lambda progress: print(progress.done, flush=True)
    runner.run(SMALL, Path(sys.argv[1]), processes=processes or 1, report=told)
"""


def start(tmp_path: Path, folder: Path, processes: int) -> subprocess.Popen[str]:
    """A run in a process of its own, which does all work itself if it has no others."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, str(program), str(folder), str(processes)],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )


def test_a_run_that_is_killed_goes_on_and_ends_with_the_same_rows(whole, tmp_path, no_processes):
    folder = tmp_path / "killed"
    chance = random.Random()
    for processes in (0, 2):
        process = start(tmp_path, folder, processes)
        assert process.stdout is not None
        for _ in range(chance.randint(1, 3)):
            process.stdout.readline()
        time.sleep(chance.random() / 10)
        process.kill()
        process.wait()
        process.stdout.close()
    store = store_of(SMALL, folder, None)
    finished, left = store.rows(), len(store.missing(cells(SMALL, 10)))
    told: list[object] = []
    run(SMALL, folder, processes=1, report=told.append)
    rows = store_of(SMALL, folder, None).rows()
    assert all(row in rows for row in finished), "it was made again, in another time"
    assert len(told) == left < 16
    assert len(rows) == len(without_times(rows))
    assert without_times(rows) == without_times(store_of(SMALL, whole, None).rows())


def test_two_runs_share_a_folder(whole, tmp_path):
    folder = tmp_path / "shared"
    both = [start(tmp_path, folder, processes=0) for _ in range(2)]
    for process in both:
        process.communicate()
        assert process.returncode == 0
    assert without_times(store_of(SMALL, folder, None).rows()) == without_times(
        store_of(SMALL, whole, None).rows()
    )


def test_a_full_disk_leaves_earlier_rows_as_they_are(tmp_path, monkeypatch, no_processes):
    run(SMALL, tmp_path, processes=1, sizes=[2], columns=["KMeans"])
    before = {path: path.read_bytes() for path in (tmp_path / "rows").glob("*")}

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        run(SMALL, tmp_path, processes=1, sizes=[3], columns=["KMeans"])
    assert {path: path.read_bytes() for path in (tmp_path / "rows").glob("*.gz")}.items() <= (
        before.items()
    )
    assert not [path for path in tmp_path.rglob(".*") if path.name != ".lock"]


@pytest.mark.parametrize("change", [{"version": "0.0.1"}, {"protocol": "abcdefabcdef"}])
def test_rows_of_another_version_or_protocol_are_refused(tmp_path, change):
    store = Store(tmp_path, "small", {"KMeans": "0123"})
    good = row(method="KMeans", parameters="{}", version=__version__, protocol="0123")
    cell = Cell("small", 2, 0, "KMeans", ())
    store.write(cell, [good])
    assert store.rows() == [good]
    store.write(cell, [dataclasses.replace(good, **change)])
    with pytest.raises(ForeignRowsError, match=r"not mixed.*--out"):
        store.rows()
    with pytest.raises(ForeignRowsError):
        store.pack()


@pytest.mark.parametrize("text", [b"", b"a,b\n1,2\n", b"\xff\xfe", b"N\nmany\n"])
def test_a_file_that_holds_no_rows_is_refused_by_name(tmp_path, text):
    store = Store(tmp_path, "small", {})
    (tmp_path / "small-002.csv.gz").write_bytes(text)
    with pytest.raises(ForeignRowsError, match=r"small-002.csv.gz"):
        store.rows()


# ---------------------------------------------------------------------- from rows to tables


def scored(trial: Trial, accuracies: dict[tuple[float, object], list[float]]) -> list[Row]:
    """Rows of KLS-NMF: (radius, λ) -> accuracy of each subset."""
    return [
        row(
            method=trial.column,
            subset=subset,
            parameters=json.dumps({"lam": lam, "radius": radius}),
            accuracy=f"{value:.2f}",
        )
        for (radius, lam), values in accuracies.items()
        for subset, value in enumerate(values)
    ]


def test_the_labels_choose_the_best_mean_over_subsets_among_the_grid():
    trial = SMALL.trial("KLS-NMF")
    found = {
        (0.1, 0.001): [50.0, 90.0],
        (0.1, 0.1): [80.0, 81.0],  # the best mean
        (1.0, 0.001): [95.0, 60.0],
        (1.0, 0.1): [10.0, 10.0],
        (0.1, 0.0): [100.0, 100.0],  # beside the grid
        (1.0, 0.0): [100.0, 100.0],
    }
    chosen = choose(settings(scored(trial, found), "KLS-NMF", 2), trial)
    assert chosen is not None
    assert chosen.setting == {"radius": 0.1, "lam": 0.1}
    assert chosen.scores["accuracy"].tolist() == [80.0, 81.0]
    assert chosen.mean("accuracy") == 80.5
    assert chosen.deviation("accuracy") == pytest.approx(np.std([80, 81], ddof=1))


def test_an_n_that_is_not_finished_has_no_result():
    trial = SMALL.trial("KLS-NMF")
    found = {(r, lam): [1.0, 2.0] for r in (0.1, 1.0) for lam in (0.001, 0.1, 0.0)}
    rows = scored(trial, found)
    assert results(SMALL, rows, 10)["KLS-NMF"].keys() == {2}
    for missing in range(len(rows)):
        if json.loads(rows[missing].parameters)["lam"]:
            fewer = rows[:missing] + rows[missing + 1 :]
            assert results(SMALL, fewer, 10)["KLS-NMF"] == {}


def test_differences_are_paired():
    rng = np.random.default_rng(0)
    hard = rng.normal(50, 20, 40)  # subsets differ much, methods little
    one, two = (
        {2: type("R", (), {"scores": {"accuracy": hard + shift + rng.normal(0, 0.1, 40)}})()}
        for shift in (1.0, 0.0)
    )
    mean, half, count = difference(one, two, "accuracy")
    assert count == 40
    assert mean == pytest.approx(1, abs=0.2)
    assert half < 0.2


def test_averages_of_the_paper_are_recomputed():
    # Printed: 60.98, 54.84, 76.35.
    assert published_average("alphadigit", "KLS-NMF", "purity") == pytest.approx(57.09, abs=0.005)
    assert published_average("alphadigit", "KNMF", "purity") == pytest.approx(55.06, abs=0.005)
    assert published_average("faces94", "CNMF", "accuracy") == pytest.approx(72.01, abs=0.005)
    assert published_average("jaffe", "KMeans", "accuracy") is None


def test_tables_say_what_the_rows_say(whole):
    rows = store_of(SMALL, whole, None).rows()
    found = results(SMALL, rows, samples("digits", None).n_classes)
    markdown = tables.as_markdown(SMALL, found)
    records = list(csv.DictReader(io.StringIO(tables.as_csv(SMALL, found))))
    latex = tables.as_latex(SMALL, found)
    assert latex.count("{") == latex.count("}")
    plain = [float(one.accuracy) for one in rows if (one.method, one.N) == ("KMeans", 3)]
    shown = f"{np.mean(plain):.2f} ± {np.std(plain, ddof=1):.2f}"
    assert shown in markdown
    assert shown.replace(" ± ", "$\\pm$") in latex
    (record,) = (
        r for r in records if (r["score"], r["N"], r["column"]) == ("accuracy", "3", "KMeans")
    )
    assert record["ours"] == f"{np.mean(plain):.2f}"
    for metric in METRICS:
        for name, entries in tables.lines(SMALL, found, metric):
            means = [round(entry.mean, 2) for entry in entries]
            *six, _ = means  # KMeans is the last column
            marked = [entry.best for entry in entries]
            assert marked == [m in (max(means), max(six)) for m in six] + [means[-1] == max(means)]
            if name == "Average":
                means = [found["KMeans"][size].mean(metric) for size in SMALL.sizes]
                assert entries[-1].mean == pytest.approx(np.mean(means))


def test_the_paper_stands_beside_ours():
    table = TABLES["jaffe"]
    entries = dict(tables.lines(table, {trial.column: {} for trial in table.trials}, "accuracy"))
    assert [entry.paper for entry in entries["2"]][5] == 100.0
    assert entries["2"][5].mean is None
    assert "(100.00 ± 0.00)" in tables.as_markdown(table, {"KLS-NMF": {}})
    assert "(96.24)" in tables.as_markdown(table, {"KLS-NMF": {}})  # the whole set is one
    assert "(100.00$\\pm$0.00)" in tables.as_latex(table, {"KLS-NMF": {}})
    assert "jaffe,accuracy,2,KLS-NMF,,,100.00,0.00," in tables.as_csv(table, {"KLS-NMF": {}})


# ---------------------------------------------------------------------- convergence


def test_rises_are_counted_beyond_rounding():
    assert convergence.rises(np.array([5.0, 4.0, 4.5, 3.0, 3.0 + 1e-15]), scale=5) == 1


def test_an_objective_has_settled_when_it_stays_close_to_its_lowest_value():
    assert convergence.settled_after(np.array([9.0, 2.0, 1.5, 1.0005, 1.0])) == 4
    assert convergence.settled_after(np.array([1.0, 1.0])) == 1


@pytest.mark.parametrize("factor", [0.5, 0.9, 0.999])
def test_the_rate_of_a_geometric_sequence_is_its_factor(factor):
    assert convergence.rate(3 * factor ** np.arange(200.0)) == pytest.approx(factor)


@pytest.fixture
def short_curves(monkeypatch) -> None:
    monkeypatch.setattr(convergence, "SIZES", {"digits": 2})
    monkeypatch.setattr(convergence, "SUBSETS", 2)
    monkeypatch.setattr(convergence, "ITERATIONS", 20)


def test_curves_are_made_once_read_again_and_told_of(short_curves, tmp_path, monkeypatch):
    convergence.write(tmp_path, "digits", None)
    found = convergence.read(tmp_path, None)
    fits = {(point.subset, point.solver) for point in found}
    assert fits == {(subset, solver) for subset in range(2) for solver in convergence.SOLVERS}
    assert max(point.iteration for point in found) == 20
    for fit in fits:
        line = [point.objective for point in found if (point.subset, point.solver) == fit]
        assert line[-1] < line[0]
    monkeypatch.setattr(convergence, "points", None)  # not asked again
    convergence.write(tmp_path, "digits", None)
    page = convergence.claim(found).found
    rises = sum(p.rises > 0 for p in found if (p.iteration, p.solver) == (1, "paper"))
    assert f"it rises in {rises} of 2 fits" in page
    draw_convergence(found, tmp_path / "convergence.png")
    assert (tmp_path / "convergence.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("damage", ["LAM", "gzip", "column"])
def test_curves_of_another_program_are_refused(short_curves, tmp_path, monkeypatch, damage):
    convergence.write(tmp_path, "digits", None)
    path = tmp_path / "rows" / "digits-convergence.csv.gz"
    if damage == "LAM":
        monkeypatch.setattr(convergence, "LAM", 0.5)
    elif damage == "gzip":
        path.write_bytes(b"not packed")
    else:
        path.write_bytes(gzip.compress(b"set,N\ndigits,2\n"))
    for read in (convergence.read, partial(convergence.write, name="digits", data_home=None)):
        with pytest.raises(ForeignRowsError, match=r"digits-convergence.*--out"):
            read(tmp_path, None) if read is convergence.read else read(tmp_path)


def test_what_an_iteration_costs_is_measured_once_and_refused_from_others(tmp_path, monkeypatch):
    monkeypatch.setattr(
        cost, "GROWTH", {"n": [(30, 2, 3), (60, 2, 3)], "k": [(30, 2, 3), (30, 4, 3)]}
    )
    cost.write(tmp_path)
    found = cost.read(tmp_path)
    assert [(one.grows, one.n, one.k) for one in found] == [
        *(("n", 30, 2), ("n", 60, 2)),
        *(("k", 30, 2), ("k", 30, 4)),
    ]
    power = cost.exponent([30, 60], [one.iteration for one in found[:2]])
    assert f"n to the power {power:.2f}" in cost.claim(found).found
    monkeypatch.setattr(cost, "measure", None)  # not asked again
    cost.write(tmp_path)
    monkeypatch.setattr(cost, "_REPEATS", 99)
    with pytest.raises(ForeignRowsError, match=r"cost\.csv.*--out"):
        cost.read(tmp_path)


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_the_exponent_of_a_power_is_it(power):
    sizes = np.array([10.0, 20.0, 80.0])
    assert cost.exponent(sizes, 3 * sizes**power) == pytest.approx(power)


# ---------------------------------------------------------------------- parameters


def test_scores_by_parameter_are_means_over_subsets():
    trial = SMALL.trial("KLS-NMF")
    found = {
        (0.1, 0.001): [50.0, 70.0],
        (0.1, 0.1): [80.0, 82.0],
        (1.0, 0.001): [90.0, 92.0],
        (1.0, 0.1): [10.0, 10.0],
        (0.1, 0.0): [100.0, 100.0],
    }
    rows = scored(trial, found)
    rows += [
        dataclasses.replace(one, lam="0.02") for one in scored(trial, {(0.1, "auto"): [60.0, 60.0]})
    ]
    curve = by_lam(rows, 2, 0.1)
    assert [(lam, share) for lam, share, _ in curve] == [
        (0.001, pytest.approx(0.0005)),  # auto is a hundredth of λ*
        (0.1, pytest.approx(0.05)),
    ]
    assert [one.mean("accuracy") for *_, one in curve] == [60.0, 81.0]
    assert [(r, one.mean("accuracy")) for r, one in by_radius(rows, 2)] == [
        (0.1, 81.0),
        (1.0, 91.0),
    ]


def test_a_graph_term_is_told_of_and_drawn(tmp_path):
    rows = [
        row(
            set="jaffe-gls",
            method="GLS-NMF",
            subset=subset,
            parameters=json.dumps({"lam": lam, "graph_weight": weight}),
            accuracy=str(50 + 10 * (weight == 1.0) + (lam == 0.1)),
        )
        for lam in S
        for weight in S
        for subset in range(2)
    ]
    text = claims.page({}, {"jaffe-gls": rows}, [], [])
    assert "| jaffe | 2 | 50.0 to 61.0 | λ = 0.1, γ = 1 | 51.0 |" in text
    assert "gains 10.0 to 10.0 points" in text
    assert "Claim" not in text  # nothing else has been run
    draw_graph_weights({"jaffe": rows}, tmp_path / "weights.png")
    assert (tmp_path / "weights.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_claimed_against_rivals_that_have_not_been_run(whole):
    rows = store_of(SMALL, whole, None).rows()
    found = results(SMALL, rows, 10)
    alone = {"small": {**found, "WNMF": {}}}
    page = claims.page(alone, {"small": rows}, [], [])
    assert "best of the six" not in page
    assert "3 to 6" not in page


# ---------------------------------------------------------------------- the command


def test_the_command_writes_tables_figures_and_claims(tmp_path, no_processes):
    some = ["--column", "KMeans", "--column", "KLS-NMF", "-N", "2", "--processes", "1"]
    done = CliRunner().invoke(klsnmf, ["reproduce", "--quick", "--out", str(tmp_path), *some])
    assert done.exit_code == 0, done.stderr
    assert re.search(r"\d+ s\n$", done.stderr)
    for name in ("tables/quick.md", "tables/quick.csv", "tables/quick.tex", "claims.md"):
        assert (tmp_path / name).stat().st_size > 100
    for name in ("figures/parameters.png", "figures/samples-digits.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    before = (tmp_path / "tables" / "quick.csv").read_bytes()
    again = CliRunner().invoke(
        reproduce, ["--quick", "--out", str(tmp_path), "--no-run", "--no-figures", "--quiet"]
    )
    assert (again.exit_code, again.stderr) == (0, "")
    assert (tmp_path / "tables" / "quick.csv").read_bytes() == before


def test_a_missing_set_is_named_with_what_to_do(tmp_path):
    program = [Path(sys.executable).with_name("klsnmf"), "reproduce", "jaffe"]
    done = subprocess.run(
        [*program, "--out", tmp_path / "out", "--data-home", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "jaffe is not in" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_rest_goes_on_when_a_set_is_missing(tmp_path, monkeypatch, no_processes):
    monkeypatch.setattr(protocol, "TABLES", {"jaffe": TABLES["jaffe"], "small": SMALL})
    monkeypatch.setitem(pages.TABLES, "small", SMALL)
    out = tmp_path / "out"
    where = ["--data-home", str(tmp_path), "--out", str(out)]
    done = CliRunner().invoke(reproduce, ["jaffe", "small", *where, "--no-figures", "--quiet"])
    assert done.exit_code == 1
    assert "jaffe is not in" in done.output
    assert len(store_of(SMALL, out, None).rows()) == 2 * 2 * (1 + 2 + 2 * 3)
    assert (out / "tables" / "small.md").exists()
    assert not (out / "tables" / "jaffe.md").exists()


def test_foreign_rows_of_any_table_are_refused_before_the_work(whole, tmp_path):
    """Not after hours, when the pages are written."""
    store = store_of(TABLES["jaffe"], tmp_path, None)
    (row, *_) = store_of(SMALL, whole, None).rows()
    cell = Cell("jaffe", 2, 0, "KMeans", ())
    store.write(cell, [dataclasses.replace(row, set="jaffe", method="KMeans", version="0.0.9")])
    some = ["--quick", "--column", "KMeans", "-N", "2", "--out", str(tmp_path)]
    done = CliRunner().invoke(klsnmf, ["reproduce", *some])
    assert done.exit_code == 1
    assert "version 0.0.9" in done.stderr
    assert not list((tmp_path / "rows").glob("quick*"))


def test_pages_are_about_the_whole_folder_and_need_no_data(whole, tmp_path, monkeypatch):
    """A later run of another table does not make the page forget this one."""
    monkeypatch.setitem(pages.TABLES, "small", SMALL)
    assert pages.tables_in(whole) == {"small": SMALL}
    gathered = pages.gather({"small": SMALL}, whole, str(tmp_path))
    written = pages.write_pages({"small": SMALL}, gathered, whole, str(tmp_path), figures=False)
    assert {path.name for path in written} >= {"small.md", "claims.md", "README.md"}
    assert "| A small table, small | 36 | 2, 3 |" in (whole / "README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mnist"], "there is no table 'mnist'; there are semeion"),
        (["--quick", "jaffe"], "--quick: it has a table of its own"),
        (["--quick", "--column", "NMF"], "there is no column 'NMF'; there are CNMF"),
        (["--quick", "-N", "4"], "no table that is asked for has N = 4"),
    ],
)
def test_what_is_not_understood_is_named(tmp_path, arguments, said):
    done = CliRunner().invoke(reproduce, [*arguments, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_ctrl_c_keeps_what_is_done_and_shows_no_traceback(tmp_path):
    program = [Path(sys.executable).with_name("klsnmf"), "reproduce", "--quick"]
    options = ["--column", "KMeans", "--column", "RMNMF", "--processes", "1", "--out", tmp_path]
    # Programs in the background are started deaf to Ctrl-C, and so would this one be.
    listening = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        [*program, *options], stderr=subprocess.PIPE, text=True, preexec_fn=listening
    ) as process:
        try:
            cells_folder = tmp_path / "rows" / "quick.cells"
            while process.poll() is None and not list(cells_folder.glob("*.csv")):
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "to continue" in said
    assert store_of(QUICK, tmp_path, None).rows()


def test_claims_compare_the_same_n(whole):
    rows = store_of(SMALL, whole, None).rows()
    found = results(SMALL, rows, samples("digits", None).n_classes)
    short = {**found, "KLS-NMF": {2: found["KLS-NMF"][2]}}
    page = claims.page({"small": short}, {"small": rows}, [], [])
    only_two = {name: {2: column[2]} for name, column in found.items()}
    assert page == claims.page({"small": only_two}, {"small": rows}, [], [])
    assert f"| {found['KMeans'][2].mean('accuracy'):.2f} |" in page


def test_averages_of_the_paper_over_some_n():
    some = [published()["jaffe", size, "KLS-NMF"]["nmi"] for size in (3, 5)]
    assert published_average("jaffe", "KLS-NMF", "nmi", [3, 5]) == pytest.approx(np.mean(some))


def test_who_writes_waits_for_who_packs(tmp_path):
    """Who packs removes the folder of loose rows: nobody may be about to write into it."""
    store = Store(tmp_path, "small", {"KMeans": "0123"})
    good = row(method="KMeans", parameters="{}", version=__version__, protocol="0123")
    with _alone(tmp_path):
        writer = threading.Thread(
            target=store.write, args=(Cell("small", 2, 0, "KMeans", ()), [good])
        )
        writer.start()
        writer.join(0.3)
        assert writer.is_alive()
        assert not store.loose.exists()
    writer.join()
    assert store.rows() == [good]
