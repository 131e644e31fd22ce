"""The tables of the family: what they say of rows."""

from benchmarks import converged


def row(method="wnmf", solver="auto", status="converged", objective="2.0", warnings=""):
    return {
        "set": "made",
        "method": method,
        "solver": solver,
        "status": status,
        "warnings": warnings,
        "iterations": "7",
        "seconds": "0.5",
        "objective": objective,
    }


def test_the_end_of_a_fit_stands_beside_that_of_the_rules(monkeypatch):
    rows = [
        row(),
        row(solver="multiplicative", objective="2.5"),
        row("gnmf", objective="1.0"),
        row("gnmf", "multiplicative", objective="0.8"),
        row("kls-nmf", status="exhausted", warnings="not converged"),
    ]
    monkeypatch.setattr(converged, "read_file", lambda _: rows)
    told = converged.page()
    assert told[0].startswith("2 of 3 fits have converged, and 1 had a warning. 1 of 2 ended no")
    assert "| made | WNMF | converged | 7 | 0.50 | 2 | 2.5 (+25.00%) |" in told
    assert "| made | GNMF | converged | 7 | 0.50 | 1 | 0.8 (-20.00%) |" in told
    assert told[-1].endswith("| 2 | – |")


def test_objectives_that_differ_by_rounding_are_equal():
    assert converged.excess(row(objective="2.0000001"), row()) == 0
    assert converged.excess(row(objective="2.1"), row()) > 0
