"""The page of benchmarks: rows, what is derived from them, and a tiny run from end to end."""

import json
import math
import platform

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from benchmarks import ablation, cases, elsewhere, machine, page, pictures, rows, tables


def synthetic_rows(mnist=True, cores=2):
    """A row for everything that a full run makes: powers of n, shared among fits and threads."""
    made = {case: [] for case in page.CASES}
    for job in cases.jobs(cores, mnist):
        for what in job.makes:
            graph = 1e-7 * job.n**1.5
            fit = 1e-5 * job.n**1.05
            row = {
                "case": job.case,
                "data": job.data,
                "what": what,
                "n": job.n,
                "fits": job.fits,
                "threads": job.threads,
                "p": 50,
                "k": 10,
                "seconds": (graph + fit) / job.threads,
                "graph_seconds": graph / job.threads if what == "KLSNMF" else "",
                "gigabytes": 4.0,
                "peak_megabytes": 100 + job.n / 1000,
                "accuracy": 90.0,
                "nmi": 80.0,
                "version": "1.2.3",
            }
            made[job.case].append({name: str(value) for name, value in row.items()})
    return made | {"fit": rows.with_best_threads(made["fit"])}


# ------------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize("power", [0.5, 1.0, 2.3])
def test_the_exponent_of_a_power_is_found(power):
    sizes = [10, 100, 1000, 10_000]
    seconds = [3e-4 * n**power for n in sizes]
    assert rows.exponent(sizes, seconds) == pytest.approx(power)
    seconds[0] = 5.0  # what a small problem takes says nothing
    assert rows.exponent(sizes, seconds, least=100) == pytest.approx(power)
    assert rows.exponent(sizes, seconds) != pytest.approx(power)


def test_the_exponent_needs_two_sizes():
    assert math.isnan(rows.exponent([], []))
    assert math.isnan(rows.exponent([10, 10], [1.0, 2.0]))
    assert math.isnan(rows.exponent([10, 100], [1.0, 2.0], least=50))
    assert math.isnan(rows.exponent([10, 100], [1.0, float("nan")]))


def test_rows_are_kept_and_replaced_by_their_keys(tmp_path):
    one, two = synthetic_rows()["width"][:2]
    rows.add(tmp_path, "width", [one])
    rows.add(tmp_path, "width", [two])
    assert rows.read(tmp_path, "width") == [
        {name: row.get(name, "") for name in rows.KEYS + rows.MEASURED} for row in (one, two)
    ]
    rows.add(tmp_path, "width", [{**one, "seconds": "7"}])
    assert [row["seconds"] for row in rows.read(tmp_path, "width")] == ["7", two["seconds"]]
    assert [file.name for file in tmp_path.iterdir()] == ["width.csv"]
    assert rows.read(tmp_path, "dense") == []


def test_the_best_number_of_threads_counts():
    one, two = ({**synthetic_rows()["fit"][0], "threads": count} for count in ("1", "2"))
    other = {**one, "n": "77", "seconds": ""}  # nothing was measured
    one["seconds"], two["seconds"] = "3.0", "2.0"
    assert rows.with_best_threads([one, two, other]) == [two, other]
    assert rows.with_best_threads([two, one]) == [two]


def test_methods_of_packages_that_are_not_there_are_left_out(monkeypatch):
    monkeypatch.setitem(cases.PACKAGES, "Leiden", ["no_such_package"])
    made = {what for job in cases.jobs(2, mnist=False) for what in job.makes}
    assert "Leiden" not in made
    assert "KLSNMF" in made
    counts = {job.threads for job in cases.jobs(8, mnist=False) if job.makes == ("KMeans",)}
    assert counts == {1, 8}


@pytest.mark.parametrize("cores", [1, 2, 6, 8])
def test_jobs_make_every_row_once(cores):
    wanted = list(cases.jobs(cores, mnist=True))
    keys = [key for job in wanted for key in job.row_keys()]
    assert len(keys) == len(set(keys))
    assert {job.case for job in wanted} == set(page.CASES)
    threads = {job.threads for job in wanted if job.case == "threads"}
    assert {1, cores} <= threads
    assert max(threads) == cores
    assert {job.n for job in wanted if job.kind == "fit"} >= {10**3, 10**4, 10**5, 10**6}
    assert {job.fits for job in wanted if job.case == "width"} == {1, 2, 4, 8, 16, 35}
    assert not any(job.data == "mnist" for job in cases.jobs(cores, mnist=False))


# ---------------------------------------------------------------------------------------- machine


def test_the_machine_is_described_without_its_name():
    described = machine.describe()
    assert {"processor", "cores", "memory", "python", "BLAS", "numpy", "scipy"} <= set(described)
    assert all(described.values())
    text = json.dumps(described)
    assert "/" not in text.replace(described["processor"], "")
    if len(platform.node()) > 4:
        assert platform.node() not in text


def test_rows_of_another_machine_are_not_added_to(tmp_path):
    machine.remember(tmp_path)
    machine.remember(tmp_path)
    there = machine.read(tmp_path)
    newer = {**there, "klsnmf": "0.0.1"}
    (tmp_path / "machine.json").write_text(json.dumps(newer))
    machine.remember(tmp_path)
    assert machine.read(tmp_path) == there
    (tmp_path / "machine.json").write_text(json.dumps({**there, "processor": "abacus"}))
    with pytest.raises(SystemExit, match="other processor"):
        machine.remember(tmp_path)


# ------------------------------------------------------------------------------------------- page


def test_the_page_tells_what_the_rows_say(tmp_path):
    measured = synthetic_rows()
    drawn = pictures.draw(tmp_path, measured)
    assert drawn == list(pictures.PICTURES)
    for name in drawn:
        assert 5_000 < (tmp_path / f"{name}.png").stat().st_size < 150_000
    text = tables.page(measured, {"processor": "abacus"}, drawn)
    assert text.count(".. image:: ") == len(drawn)
    assert "processor,abacus" in text
    assert "klsnmf,1.2.3" in text
    assert 'clusters,"KLSNMF, graph",1.50,1.50,"1,000,000"' in text
    assert 'clusters,"KLSNMF, fit",1.05,1.05,"1,000,000"' in text
    (speed_up,) = {line.rsplit(",", 1)[1] for line in text.splitlines() if "whole fit," in line}
    assert float(speed_up) == pytest.approx(2, abs=0.01)
    assert "MNIST, p = 50, k = 10:" in text


def test_numbers_of_the_tables(tmp_path):
    measured = {case: [] for case in page.CASES}
    seconds = {"bare tiles": 0.5, "iteration": 0.75}
    template = next(row for row in synthetic_rows()["tiled"])
    measured["tiled"] = [
        {**template, "n": "20000", "what": what, "seconds": str(value), "peak_megabytes": "321"}
        for what, value in seconds.items()
    ]
    text = tables.page(measured, {}, [])
    assert '20000,0.500,0.750,1.50,321,"1,600"' in text
    assert "other tools" not in text  # a section without rows is left out
    assert ".. image" not in text


def test_a_page_without_rows_says_so(tmp_path):
    page.write(tmp_path)
    assert "Nothing has been measured yet." in (tmp_path / "measured.rst").read_text(
        encoding="utf-8"
    )
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize("given", [{}, {"fit": 1}, {"dense": 1, "sparse": 2, "threads": 3}])
def test_the_page_is_well_formed_while_rows_are_few(tmp_path, given):
    core = pytest.importorskip("docutils.core")
    writers = pytest.importorskip("docutils.writers.null")
    every = synthetic_rows(mnist=False)
    measured = {case: every[case][: given.get(case, 0)] for case in page.CASES}
    text = tables.page(measured, {"processor": "abacus"}, pictures.draw(tmp_path, measured))
    core.publish_string(text, writer=writers.Writer(), settings_overrides={"halt_level": 2})


@pytest.mark.parametrize(
    ("value", "told"),
    [(1234567.0, "1,234,567"), (0.012345, "0.0123"), (9.999, "10.00"), (0, "0"), (np.nan, "")],
)
def test_numbers_keep_three_digits(value, told):
    assert tables.short(value) == told


# -------------------------------------------------------------------------------------- end to end


def test_a_tiny_run(tmp_path, monkeypatch, capfd):
    wanted = [
        cases.dense("dense", 60, 1, 2),
        cases.Job("sparse", "bandwidth", 10_000, ("copy", "triad"), 1, data="memory"),
        cases.fit("fit", 120, 1, "curves", "KLSNMF"),
    ]
    assert page.measure(tmp_path, wanted) == 0
    for job in wanted:
        made = rows.read(tmp_path, job.case)
        assert {rows.key(row) for row in made} == job.row_keys()
        for row in made:
            assert rows.number(row, "seconds") > 0
            assert rows.number(row, "peak_megabytes") > 30
    (fitted,) = rows.read(tmp_path, "fit")
    assert 0 < rows.number(fitted, "graph_seconds") < rows.number(fitted, "seconds")
    assert 0 < rows.number(fitted, "nmi") <= 100
    page.write(tmp_path)
    assert "Curves, p = 50, k = 6:" in (tmp_path / "measured.rst").read_text(encoding="utf-8")

    # What is there is not measured again, unless asked for; a job that fails does not end the run.
    started = []

    def fail(what, job, samples, mnist):
        started.append(job)
        raise ChildProcessError("killed")

    monkeypatch.setattr(page, "start", fail)
    assert page.measure(tmp_path, wanted) == 0
    assert not started
    assert page.measure(tmp_path, wanted[:2], again=True) == 2
    assert started == wanted[:2]
    assert "killed" in capfd.readouterr().out
    assert rows.read(tmp_path, "fit") == [fitted]


def test_a_job_that_cannot_be_done_is_an_error(tmp_path):
    with pytest.raises(ChildProcessError, match="ended with"):
        page.start("measure", cases.fit("fit", 10, 1, "nothing", "KLSNMF"), tmp_path, None)


def test_who_is_chosen_without_a_set():
    accuracies = {"lucky": np.array([99.0, 99.0, 40.0]), "steady": np.array([59.0, 59.0, 99.0])}
    assert ablation.chosen(accuracies, ["lucky", "steady"]) == ["steady", "steady", "lucky"]
    assert ablation.chosen(accuracies, []) == []


# -------------------------------------------------------------------------- sets from elsewhere


def test_tables_of_other_packages_are_read():
    numbers = b"@relation x\n@data\n1.5, 2, a\n3, 4.5, b\n"
    X, y = elsewhere.keel("x")(lambda name: numbers)
    np.testing.assert_array_equal(X, [[1.5, 2], [3, 4.5]])
    assert y == ["a", "b"]
    X, _ = elsewhere.keel("x", first=1)(lambda name: b"@data\n1,G,a\n2,T,b\n3,G,b\n")
    np.testing.assert_array_equal(X, [[1, 0], [0, 1], [1, 0]])


def test_series_of_any_length_are_read_at_the_same_times():
    even = b"@data\n1,2,3:4,5,6:one\n"
    X, y = elsewhere.series("x")(lambda name: even)
    np.testing.assert_array_equal(X, 2 * [[1, 2, 3, 4, 5, 6]])
    assert y == ["one", "one"]
    X, _ = elsewhere.series("x")(lambda name: b"@data\n0,1:one\n0,0.5,1:two\n")
    np.testing.assert_allclose(X, 4 * [np.linspace(0, 1, elsewhere.TIMES)])


def test_the_page_of_sets_from_elsewhere(tmp_path, monkeypatch):
    file = tmp_path / "rows.csv"
    scores = dict(zip(elsewhere.METHODS, (80, 70, 90, 60), strict=True))
    lines = [",".join(ablation.COLUMNS)]
    lines += [
        f'{name},"{method}",{seed},{score + seed},50,1,0'
        for name in ("mnist", "letter")
        for method, score in scores.items()
        for seed in range(2)
    ]
    file.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(elsewhere, "ROWS", file)
    page = elsewhere.tables()
    assert "2 sets" in page
    assert "| mnist | digits, images | 80.5 / 50.0 | 70.5 / 50.0 | **90.5** / 50.0 |" in page
    assert "| letter |" in page
    assert "default minus KMeans(n_init=10): -10.0 ± 0.0" in page
