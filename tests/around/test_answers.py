"""The rules of the defaults: decided from rows as in a fit, left out one by one, chosen anew."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import answer_tables, answers, planted, rows
from benchmarks.answer_rules import COLUMNS, DROPPED, Candidate, Case, Rules, as_row, cases_of
from benchmarks.answer_tables import PACKAGE, Measured, group_of, plateau, rule_of, value
from klsnmf import KLSNMF
from klsnmf.core.words import wrapped
from klsnmf.solve.choose import Evidence

RESULTS = Path(__file__).parents[2] / "docs" / "results"

# ------------------------------------------------------------------------- as a fit decides


def spirals(seed):
    """Three thin arms, near each other: fewer neighbours are better."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 90)
    t = np.tile(np.linspace(1, 4, 90), 3) * np.pi / 1.7
    angle = t + 2 * np.pi * y / 3
    X = t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.02 * rng.normal(size=X.shape), y


def noise(seed):
    """Clusters in many dimensions that hardly differ: many neighbours are better."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), [80, 60, 40, 30])
    return 0.5 * rng.normal(size=(4, 60))[y] + rng.normal(size=(len(y), 60)), y


def nothing(seed):
    """Noise in many dimensions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(1200, 100)), np.arange(1200) % 2


MADE = {
    "even": planted.SETS["two moons"],
    "free": planted.SETS["rings of 40 and 800 samples"],
    "thin": spirals,
    "dense": planted.SETS["two moons in noise"],
    "noisy": noise,
    "means": nothing,
}


def chosen(X, k, seed):
    """By the defaults."""
    model = KLSNMF(k, random_state=seed)
    setup = model._setup()
    samples = model._samples(setup, X)
    return model._choice(setup, samples, model._for_starts(setup, samples), k)


@pytest.mark.filterwarnings("ignore:.*pieces")
@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("seed", range(2))
def test_rows_lead_to_the_answer_of_a_fit(kind, seed):
    X, y = MADE[kind](seed)
    case, labels = answers.candidates(X, y.max() + 1, seed)
    case = replace(case, candidates=[replace(each, scores=SAME_SCORES) for each in case.candidates])
    (again,) = cases_of(read(as_row(case, each, "1") for each in case.candidates))
    taken = Rules().decide(again)
    answer = chosen(X, y.max() + 1, seed).answer
    np.testing.assert_array_equal(labels[again.candidates.index(taken)], answer.labels)
    assert taken.sizes == (kind if kind in ("free", "means") else "even")
    assert (taken.q < 10) == (kind == "thin")
    graphs = {"noisy": ["many"], "means": ["many"], "dense": ["few", "dense"]}
    assert taken.graphs in graphs.get(kind, ["few"])


# ------------------------------------------------------------------------------- made rows

SAME_SCORES = {"accuracy": 50.0, "nmi": 50.0, "ari": 50.0}


def points(all_of_them):
    return dict.fromkeys(SAME_SCORES, float(all_of_them))


def free(score, ratio=0.5, tells=0.1, kept=0.7, smallest=40, q=10, alone=0.5):
    judged, of_one = (Evidence(each, kept, tells, smallest) for each in (ratio, alone))
    return Candidate("few", q, "free", q, 1, 0.2, 0.2, smallest, judged, of_one, points(score))


def thin(score, lost, sizes="even", q=5, pieces=1, smallest=40):
    return Candidate("few", q, sizes, 10, pieces, lost, lost, smallest, scores=points(score))


def dense(score, ratio, sizes="even", q=10, smallest=40):
    judged = Evidence(ratio, 0.7, 0.1, smallest)
    return Candidate("dense", q, sizes, 10, 1, 0.1, 0.1, smallest, judged, scores=points(score))


def case_of(*others, even_lost=0.4, name="fcps/one", group="shapes", seed=0, k=3, share=0.1):
    even = Candidate("few", 10, "even", 10, 1, even_lost, even_lost, 90, scores=points(60))
    return Case(name, group, seed, 300, k, share, [even, *others])


def read(made):
    return [dict(zip(COLUMNS, row, strict=True)) for row in made]


def rows_of(*cases):
    return read(as_row(case, each, "1") for case in cases for each in case.candidates)


@pytest.mark.parametrize(
    ("case", "score", "without", "then"),
    [
        (case_of(free(80)), 80, "always even", 60),
        (case_of(free(80, ratio=0.9)), 60, "always free", 80),
        (case_of(free(80, ratio=0.5), free(90, ratio=0.4, q=25)), 90, "no second judge", 80),
        (case_of(free(80, alone=0.9)), 60, "no second judge", 60),
        (case_of(free(80, ratio=0.9, alone=0.5)), 60, "no second judge", 80),
        (case_of(free(30, tells=-0.1)), 60, "free answers may tell less", 30),
        (case_of(free(80, tells=-0.1, kept=0.9)), 80, "always even", 60),
        (case_of(free(30, smallest=10)), 60, "a few samples may be a cluster", 30),
        (case_of(thin(95, 0.2), free(1, ratio=2.0)), 95, "no fewer neighbours", 60),
        (case_of(thin(95, 0.39), free(1, ratio=2.0)), 60, "always even", 60),
        (
            case_of(thin(30, 0.01), free(1, ratio=2.0), even_lost=0.04),
            60,
            "separate pieces are looked at again",
            30,
        ),
        (
            case_of(thin(30, 0.2, pieces=4), thin(40, 0.1, q=7), free(1, ratio=2.0)),
            40,
            "graphs in more pieces are asked too",
            30,
        ),
        (
            case_of(free(80), thin(30, 0.1, sizes="free", smallest=9)),
            80,
            "a few samples may be a cluster",
            30,
        ),
        (case_of(dense(95, 0.8), free(1, ratio=2.0)), 95, "no links by density", 60),
        (case_of(dense(95, 0.9), free(1, ratio=2.0)), 60, "no links by density", 60),
        (case_of(free(80), dense(95, 0.8)), 80, "always even", 95),
        (
            case_of(thin(70, 0.2), dense(95, 0.8, q=5), dense(1, 0.2), free(1, ratio=2.0)),
            95,
            "no links by density",
            70,
        ),
        (
            case_of(free(80), dense(30, 0.5, sizes="free", smallest=9)),
            80,
            "a few samples may be a cluster",
            30,
        ),
    ],
)
def test_each_rule_has_its_say(case, score, without, then):
    assert Rules().decide(case).scores == points(score)
    assert DROPPED[without].decide(case).scores == points(then)


def test_many_neighbours_are_for_noise():
    many = replace(free(99, ratio=0.9), graphs="many", q=50, known=50)
    even = replace(many, sizes="even", judged=None, alone=None, scores=points(70))
    case = case_of(free(80, ratio=0.9), even, many, share=0.7)
    assert Rules().decide(case).scores == points(70)
    assert DROPPED["no many neighbours"].decide(case).scores == points(60)
    assert Rules(noisy=0.75).decide(case).scores == points(60)
    assert DROPPED["always free"].decide(case).scores == points(99)


@pytest.mark.parametrize(("lost", "score"), [(0.95, 40), (0.85, 70)])
def test_means_of_samples_are_for_graphs_that_say_nothing(lost, score):
    many = replace(free(99, ratio=0.9), graphs="many", q=50, known=50)
    even = replace(many, sizes="even", judged=None, lost_usual=lost, scores=points(70))
    means = replace(even, sizes="means", scores=points(40))
    case = case_of(even, many, means, share=0.7)
    assert Rules().decide(case).scores == points(score)
    assert DROPPED["no means of samples"].decide(case).scores == points(70)


def test_rows_are_what_was_written():
    case = case_of(free(80), thin(95, 0.2))
    assert cases_of(rows_of(case)) == [case]


def test_sets_are_in_groups():
    found = [
        group_of(case_of(name=name, group=group))
        for name, group in [
            ("fcps/one", "shapes"),
            ("digits", "paper"),
            ("coil20", "coil20 and tr41"),
            ("tr41", "coil20 and tr41"),
            ("mnist", "elsewhere"),
            ("newsgroups", "elsewhere"),
            ("splice", "elsewhere"),
            ("cells of 8 types", "planted"),
        ]
    ]
    images = "images and faces"
    assert found == ["shapes", images, images, "text", images, "text", "others", "planted"]


def test_a_set_counts_once_with_its_best_number_of_clusters():
    cases = [case_of(free(80)), case_of(free(90), k=4), case_of(free(70), seed=1)]
    measured = Measured(cases)
    assert measured.by(Rules()) == {"fcps/one": points(80)}  # 90 and 70
    assert measured.by(DROPPED["always even"]) == {"fcps/one": points(60)}


def test_thresholds_are_in_the_middle_of_those_as_good():
    # Free answers with ratios up to 0.75 are better, those above are worse.
    cases = [case_of(free(90, ratio=0.75)), case_of(free(10, ratio=0.85), name="fcps/two")]
    measured = Measured([*cases, case_of(free(80, ratio=0.55), name="yale", group="paper")])
    grid = measured.on_grid()
    assert grid[PACKAGE] == measured.values(measured.by(Rules()))
    both = plateau(grid, ["shapes", "images and faces"])
    assert {point.clear for point in both.points} == {0.8}
    images = plateau(grid, ["images and faces"])
    assert {point.clear for point in images.points} == {0.6, 0.68, 0.7, 0.8, 0.9}
    assert images.centre.clear == 0.68
    assert all(point.clear <= point.look for point in grid)
    middle = rule_of(look=0.9, clear=0.68, less=0.85, keeps=0.8, nothing=2.0)
    assert images.centre.rules() == Rules(middle, 2 / 3)


def test_the_page_has_a_line_for_each_rule_and_group():
    cases = [case_of(free(80)), case_of(free(90, ratio=0.55), name="yale", group="paper")]
    rivals = [
        {
            **{"set": name, "tool": tool, "scaling": "raw"},
            **{"accuracy": str(score), "nmi": "50", "ari": str(score / 100)},
        }
        for name in ("fcps/one", "yale")
        for tool, score in (("Genie", 75), ("Ward", 70), ("KLSNMF", 99))
    ]
    page = answer_tables.page(rows_of(*cases), rivals)
    assert "| **all rules** | 80.0 | 90.0 / 90.0 |" in page
    assert "| always even | 60.0 | 60.0 / 60.0 |" in page
    assert "| always even | 2 | 0 | yale -30.0, fcps/one -20.0 |" in page
    assert "| shapes | 80.0 | 80.0 | 80.0 | 60.0 | 80.0 | Genie 75.0 | +5.0 | 1 of 1 |" in page
    assert "Genie 75.0 / Genie 50.0 | +15.0 / +40.0 | 1 of 1 |" in page
    assert "| 0.40 to 0.60 | 2 | 2 | 0 | 0 | +25.0 |" in page
    nothing = answer_tables.page(rows_of(*cases), [])
    assert "| shapes | 80.0 | 80.0 | 80.0 | 60.0 | 80.0 |  |  |  |" in nothing


# ---------------------------------------------------------------------------- a run, and what is


def test_rows_are_made_once(tmp_path, monkeypatch):
    few = {"two moons": planted.SETS["two moons"]}
    monkeypatch.setattr(planted, "SETS", few)
    monkeypatch.setattr(answers, "DRAWS", 1)
    file = tmp_path / "answers.csv"
    answers.run(file, ["planted"], 1, tmp_path)
    made = file.read_text()
    (case,) = cases_of(rows.read_file(file))
    assert (case.set, case.group, case.n, case.k) == ("two moons", "planted", 600, 2)
    assert Rules().decide(case).scores["accuracy"] > 99
    answers.run(file, ["planted"], 1, tmp_path)
    assert file.read_text() == made


def test_large_sets_come_last_and_seeds_one_after_the_other(monkeypatch):
    sets = {"shapes": ["a"], "elsewhere": ["letter", "b"], "planted": ["c"]}
    monkeypatch.setattr(answers, "names", lambda group, folder: sets[group])
    monkeypatch.setattr(answers, "DRAWS", 3)
    order = [(name, seed) for _, name, seed in answers.wanted(list(sets), 2, Path())]
    first = [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1), ("c", 1), ("c", 2)]
    assert order == [*first, ("letter", 0), ("letter", 1)]


def test_the_numbers_on_the_page_are_those_of_the_rows():
    measured = Measured(cases_of(rows.read_file(RESULTS / "answers.csv")))
    page = (RESULTS / "answers.md").read_text(encoding="utf-8")
    assert wrapped("\n".join(answer_tables.worth(measured))) in page
    full, even = (
        measured.values(measured.by(rules)) for rules in (Rules(), DROPPED["always even"])
    )
    assert full["planted"] > even["planted"] + 10
    assert full["shapes"] > even["shapes"]


def test_one_number_counts_in_a_group():
    scores = {"accuracy": 80.0, "nmi": 60.0, "ari": 10.0}
    assert value("shapes", scores) == 10
    assert value("text", scores) == 70
    assert PACKAGE.rules() == Rules()
