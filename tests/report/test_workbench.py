"""What a reader does with the report, in a real browser: look, change, take away."""

import csv
import io
import json
from contextlib import suppress

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from klsnmf.cli.results import write_labels
from klsnmf.core.tables import harmless
from klsnmf.report import flow, write
from klsnmf.report.moves import moves
from klsnmf.report.workbench import workbench

from ..browsing import Opened, playwright
from ..helpers import blobs
from ..report_runs import HOSTILE, by_hand, hostile_run, run_of


@pytest.fixture
def digits(browser, reports):
    with Opened(browser, reports / "digits.html") as opened:
        yield opened
        assert opened.said == []
        assert opened.requests() == []


@pytest.fixture
def hostile(browser, reports):
    with Opened(browser, reports / "hostile.html") as opened:
        yield opened
        assert opened.said == []
        assert opened.requests() == []
        assert opened.page.locator("script").count() == 2
        assert opened.page.locator("img[src=x], iframe, [onload], [onerror]").count() == 0


def pick(page, cluster, **more):
    page.locator(f"[data-pick='{cluster}']").click(**more)


def rename(page, cluster, name):
    if page.locator(f"[data-pick='{cluster}']").get_attribute("aria-pressed") == "false":
        pick(page, cluster)
    page.fill("#new-name", name)
    page.keyboard.press("Enter")


def shown_rows(page):
    return [
        row.locator("th, td").all_inner_texts() for row in page.locator("#samples tbody tr").all()
    ]


def faded(page):
    """Which points are faded."""
    return np.array(
        page.eval_on_selector_all("#plot use", "all => all.map(u => u.matches('.faded'))")
    )


def downloaded(page, button="#download"):
    with page.expect_download() as waiting:
        page.locator(button).click()
    with open(waiting.value.path(), encoding="utf-8", newline="") as file:
        return waiting.value.suggested_filename, file.read()


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


# ---------------------------------------------------------------------- looking


def test_samples_are_found_by_name_and_by_label(digits):
    page, target = digits.page, load_digits().target[:150]
    page.fill("#search", "SAMPLE 14")
    assert [row[0] for row in shown_rows(page)[:2]] == ["sample 14", "sample 140"]  # exact first
    assert page.locator("#matches").inner_text().startswith("11 samples of 150")
    points = digits.unpacked("points", "<u4")
    np.testing.assert_array_equal(~faded(page), (points == 14) | (points >= 140))
    page.select_option("#scope", "label")
    page.fill("#search", "7")
    count = int((target == 7).sum())
    assert page.locator("#matches").inner_text().startswith(f"{count} samples of 150")
    np.testing.assert_array_equal(~faded(page), target[points] == 7)
    page.locator("#more-samples").click()
    assert {row[3] for row in shown_rows(page)} == {"7"}
    assert len(shown_rows(page)) == count
    page.fill("#search", "no such sample")
    assert shown_rows(page) == []
    assert page.locator("#download-part").is_disabled()


def test_a_found_sample_is_shown_on_the_map(digits):
    page = digits.page
    page.fill("#search", "sample 33")
    page.locator("#samples tbody button").first.click()
    assert page.locator("#readout").inner_text().startswith("sample 33\n")


def colours_of(page):
    return page.eval_on_selector_all("#plot use", "all => all.map(u => getComputedStyle(u).fill)")


def shapes_of(page):
    return page.eval_on_selector_all("#plot use", "all => all.map(u => u.getAttribute('href'))")


def test_points_are_coloured_by_label_and_by_strength(digits):
    page = digits.page
    points = digits.unpacked("points", "<u4")
    labels = load_digits().target[points]
    page.select_option("#colour", "label")
    seen = list(zip(colours_of(page), shapes_of(page), strict=True))
    assert len(set(seen)) == 10
    assert {len({seen[p] for p in np.flatnonzero(labels == c)}) for c in range(10)} == {1}
    assert page.locator("#legend bdi").all_inner_texts() == [str(c) for c in range(10)]
    page.select_option("#colour", "strength")
    order = np.argsort(points)  # strengths of the samples ascend
    ramp = [colours_of(page)[p] for p in order]
    assert len(set(ramp)) > 100
    assert ramp[0] != ramp[75] != ramp[-1]
    assert page.locator("#legend").inner_text().split() == ["0", "1"]
    page.select_option("#colour", "cluster")
    assert not page.locator("#legend").is_visible()


def test_points_are_coloured_by_a_column(hostile):
    page = hostile.page
    X = load_wine().data
    X = X / X.max(axis=0)
    options = page.locator("#colour optgroup").first.locator("option").all_text_contents()
    assert len(options) == X.shape[1]
    assert options[0] == HOSTILE[0] + "0"
    page.select_option("#colour", "column 1")
    points = hostile.unpacked("points", "<u4")
    values = X[points, 1]
    colours = colours_of(page)
    low, high = np.quantile(values, [0.02, 0.98])
    assert len({colours[p] for p in np.flatnonzero(values <= low)}) == 1
    assert len({colours[p] for p in np.flatnonzero(values >= high)}) == 1
    assert len(set(colours)) > 50
    page.locator("#plot").focus()
    page.keyboard.press("ArrowRight")
    name, _, told = page.locator("#readout bdi").last.inner_text().rpartition(": ")
    assert name == HOSTILE[1] + "1"
    assert float(told) == pytest.approx(values[0], abs=1e-3)


def test_a_value_that_is_not_known_has_no_colour(browser, tmp_path):
    X = np.random.default_rng(0).uniform(size=(40, 3))
    X[:7, 1] = np.nan
    write(run_of(by_hand(np.arange(40) % 2), X), tmp_path / "gaps.html")
    with Opened(browser, tmp_path / "gaps.html") as opened:
        opened.page.select_option("#colour", "column 1")
        assert opened.page.locator("#plot use.unknown").count() == 7
        assert opened.said == []


def test_a_click_picks_a_cluster_and_another_lets_it_go(digits):
    page = digits.page
    clusters = digits.unpacked("cluster", "u1")[digits.unpacked("points", "<u4")]
    pick(page, 3)
    np.testing.assert_array_equal(~faded(page), clusters == 3)
    assert page.locator("[data-pick='3']").get_attribute("aria-pressed") == "true"
    assert {row[1] for row in shown_rows(page)} == {"3"}
    page.locator("#plot").focus()
    page.keyboard.press("ArrowRight")
    assert "cluster 3," in page.locator("#readout").inner_text()
    pick(page, 4, modifiers=["Control"])
    np.testing.assert_array_equal(~faded(page), np.isin(clusters, [3, 4]))
    page.locator("#all").click()
    assert not faded(page).any()


def test_a_click_on_the_map_picks_the_cluster_of_the_point(digits):
    page = digits.page
    page.locator("#plot").scroll_into_view_if_needed()
    page.locator("#plot use").nth(100).hover(force=True)
    (cluster,) = page.locator("#readout bdi").nth(1).inner_text().split(",")[0].split()[1:]
    page.mouse.down()
    page.mouse.up()
    assert page.locator(f"[data-pick='{cluster}']").get_attribute("aria-pressed") == "true"


# --------------------------------------------------------------------- changing


def test_a_new_name_is_everywhere_and_can_be_undone(digits):
    page = digits.page
    rename(page, 2, "  threes ")
    assert page.locator("[data-name='2']").inner_text() == "2 threes"
    assert page.locator("#cluster-2 h3").inner_text() == "threes"
    assert "cluster 2" in page.locator("#cluster-2 .state").inner_text()
    assert page.locator(".numbers text").nth(2).text_content() == "threes"
    assert {row[1] for row in shown_rows(page)} == {"2 threes"}
    assert page.locator("#said").inner_text().startswith("Cluster 2 is called threes.")
    page.locator("#undo").click()
    assert page.locator("#cluster-2 h3").inner_text() == "Cluster 2"
    assert page.locator("#undo").is_disabled()
    page.locator("#redo").click()
    assert page.locator("#cluster-2 h3").inner_text() == "threes"
    rename(page, 2, "")
    assert page.locator("[data-name='2']").inner_text() == "2"


def test_merged_clusters_are_one_and_can_be_parted(digits):
    page = digits.page
    clusters = digits.unpacked("cluster", "u1")
    points = digits.unpacked("points", "<u4")
    before = colours_of(page), shapes_of(page)
    rename(page, 7, "kept")
    page.select_option("#merge-with", "2")
    page.locator("#merge button").click()
    both = np.isin(clusters, [2, 7])
    assert not page.locator("[data-row='7']").is_visible()
    assert page.locator("[data-size='2']").inner_text() == str(both.sum())
    assert page.locator("[data-name='2']").inner_text() == "2 kept"
    assert "9 clusters, 2 changes" in page.locator("#said").inner_text()
    assert "merged into 2" in page.locator("#cluster-7 .state").inner_text()
    strength = np.linspace(0, 1, 150)
    shown = float(page.locator("[data-strength='2']").inner_text())
    assert shown == pytest.approx(np.median(strength[both]), abs=0.006)
    np.testing.assert_array_equal(~faded(page), both[points])
    page.locator("#all").click()
    marks = set(zip(np.array(colours_of(page))[both[points]], shapes_of(page), strict=False))
    assert len({colour for colour, _ in marks}) == 1
    page.keyboard.press("Control+z")
    assert page.locator("[data-row='7']").is_visible()
    assert page.locator("[data-size='7']").inner_text() == str((clusters == 7).sum())
    page.keyboard.press("Control+z")
    assert (colours_of(page), shapes_of(page)) == before
    assert page.locator("[data-name='7']").inner_text() == "7"


def test_several_picked_clusters_are_merged_at_once(digits):
    page = digits.page
    pick(page, 9)
    for cluster in (4, 6):
        pick(page, cluster, modifiers=["Shift"])
    assert page.locator("#merge button").inner_text() == "Merge these 3 clusters"
    assert not page.locator("#rename").is_visible()
    page.locator("#merge button").click()
    assert "Merged 6, 9 into 4." in page.locator("#said").inner_text()
    assert page.locator("[data-row]:visible").count() == 8


def test_a_doubtful_cluster_is_marked(digits):
    page = digits.page
    pick(page, 5)
    page.locator("#doubt").click()
    assert page.locator("#doubt").get_attribute("aria-pressed") == "true"
    assert page.locator("[data-pick='5']").inner_text().split() == ["5", "?", "doubtful"]
    assert page.locator("#cluster-5 .state").inner_text() == "doubtful"
    page.locator("#undo").click()
    assert page.locator("[data-pick='5']").inner_text().split() == ["5"]


def test_doubts_of_the_fit_can_be_looked_at_and_acted_on(browser, tmp_path):
    """Where a fit says that two clusters may be one, a click merges them."""
    from klsnmf.estimators.doubtful import InDoubt
    from klsnmf.solve.solution import Doubts

    estimator = by_hand(np.arange(60) % 4)
    estimator.notes_ = (InDoubt(Doubts(one=((1, 3, 0.31),), loose=((2, 0.4),)), 4),)
    X = np.random.default_rng(0).uniform(size=(60, 4))
    write(run_of(estimator, X), tmp_path / "doubts.html")
    with Opened(browser, tmp_path / "doubts.html") as opened:
        page = opened.page
        top = page.locator(".findings")
        assert top.locator("h2").first.inner_text() == "3 of 4 clusters are doubtful."
        assert top.bounding_box()["y"] < page.locator("#map").bounding_box()["y"]
        top.locator("[data-focus='2']").click()
        assert page.locator("#picked").inner_text() == "Cluster 2: 15 samples."
        top.get_by_role("button", name="Merge 1 and 3").click()
        assert page.locator("[data-size='1']").inner_text() == "30"


# ------------------------------------------------------------------ taking away


def test_without_changes_the_download_is_the_labels_of_the_command(hostile):
    """Byte by byte, formulas and all."""
    run = hostile_run()
    expected = io.StringIO()
    write_labels(expected, run.ids, run.labels, run.strength)
    name, text = downloaded(hostile.page)
    assert name == "labels.csv"
    assert text == expected.getvalue()


def test_the_download_has_the_changes_and_python_repeats_them(digits, tmp_path, monkeypatch):
    page = digits.page
    original = downloaded(page)[1]
    rename(page, 0, '=HYPERLINK("x"), "zero"')
    pick(page, 8)
    page.select_option("#merge-with", "1")
    page.locator("#merge button").click()
    page.locator("#doubt").click()
    _, text = downloaded(page)
    rows, before = table(text), table(original)
    assert [row["id"] for row in rows] == [f"sample {i}" for i in range(150)]
    assert [row["strength"] for row in rows] == [row["strength"] for row in before]
    for row, old in zip(rows, before, strict=True):
        assert row["cluster"] == {"8": "1"}.get(old["cluster"], old["cluster"])
        named = harmless('=HYPERLINK("x"), "zero"') if old["cluster"] == "0" else ""
        assert row["name"] == named
        assert row["doubtful"] == str(int(old["cluster"] in "18"))
    # The same by the line of Python, from the file that the command wrote.
    (tmp_path / "labels.csv").write_text(original, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = {}
    exec(page.locator("#python").inner_text(), done)
    assert done["labels"].tolist() == [int(row["cluster"]) for row in rows]
    assert done["names"] == {0: '=HYPERLINK("x"), "zero"'}
    assert done["doubtful"] == [1]


def test_who_leaves_with_changes_is_asked_first(browser, reports):
    for keep in (False, True):
        with Opened(browser, reports / "long.html") as opened:
            rename(opened.page, 1, "mine")
            if keep:
                downloaded(opened.page)
            with suppress(playwright.Error):  # of one that stays
                opened.page.goto("about:blank")
            assert opened.said == ([] if keep else ["dialog"])


def test_the_selection_is_downloaded_alone(digits):
    page, target = digits.page, load_digits().target[:150]
    assert page.locator("#download-part").is_disabled()
    page.select_option("#scope", "label")
    page.fill("#search", "4")
    name, text = downloaded(page, "#download-part")
    assert name == "labels-selection.csv"
    assert [row["id"] for row in table(text)] == [f"sample {i}" for i in np.where(target == 4)[0]]


def test_python_begins_with_the_model_where_there_was_no_command(browser, reports):
    with Opened(browser, reports / "long.html") as opened:
        page = opened.page
        assert not page.locator("#python").is_visible()
        pick(page, 2)
        page.select_option("#merge-with", "0")
        page.locator("#merge button").click()

        class Model:
            labels_ = np.array([2, -1, 1, 0, 2])  # an outlier keeps its label

        done = {"model": Model}
        exec(page.locator("#python").inner_text(), done)
        assert done["labels"].tolist() == [0, -1, 1, 0, 0]


# --------------------------------------------------------------------- features


def features_of(page, cluster):
    place = page.locator(f"#cluster-{cluster} .features")
    if place.get_attribute("open") is None:
        place.locator("summary").click()
        place.locator("tbody tr").first.wait_for()
    rows = place.locator("tbody tr").all()
    cells = [row.locator("th, td").all_inner_texts() for row in rows]
    return {name: [_float(value) for value in values] for name, *values in cells}


def _float(text):
    return float(text.replace("−", "-").replace("over ", ""))


def cohen(X, inside):
    own, others = X[inside], X[~inside]
    pooled = (len(own) * own.var(axis=0) + len(others) * others.var(axis=0)) / len(X)
    return (own.mean(axis=0) - others.mean(axis=0)) / np.sqrt(pooled)


def test_every_feature_of_a_cluster_has_its_effect_size(hostile):
    page, run = hostile.page, hostile_run()
    for cluster, members in (("1", [1]), ("0", [0, 2])):
        if len(members) > 1:  # of merged clusters too
            pick(page, members[0])
            page.select_option("#merge-with", str(members[1]))
            page.locator("#merge button").click()
        inside = np.isin(run.labels, members)
        found = features_of(page, cluster)
        assert len(found) == run.X.shape[1]
        expected = cohen(run.X, inside)
        values = np.array(list(found.values()))
        order = np.argsort(-np.abs(expected), kind="stable")
        np.testing.assert_allclose(values[:, 0], expected[order], atol=0.02)
        np.testing.assert_allclose(values[:, 1], run.X[inside].mean(0)[order], atol=2e-3)
        np.testing.assert_allclose(values[:, 2], run.X[~inside].mean(0)[order], atol=2e-3)


def test_features_can_be_sorted_and_found(browser, reports):
    with Opened(browser, reports / "long.html") as opened:
        page = opened.page
        by_effect = [abs(d) for d, *_ in features_of(page, 1).values()]
        assert by_effect == sorted(by_effect, reverse=True)
        place = page.locator("#cluster-1 .features")
        place.get_by_role("button", name="feature", exact=True).click()
        names = list(features_of(page, 1))
        assert names == sorted(names)
        assert place.locator("th[aria-sort=ascending]").inner_text().startswith("feature")
        place.get_by_role("button", name="members").click()
        means = [own for _, own, _ in features_of(page, 1).values()]
        assert means == sorted(means, reverse=True)
        place.locator("input").fill("FEATURE4")
        assert len(features_of(page, 1)) == 1


# ----------------------------------------------------------------------- levels


def test_levels_are_a_tree_that_picks_clusters(browser, reports):
    with Opened(browser, reports / "levels.html") as opened:
        page = opened.page
        counts = page.locator(".level-facts th[scope=row]").all_inner_texts()
        assert counts == ["3 clusters", "9 clusters"]
        assert page.locator(".tree circle").count() == 12
        page.locator("#levels details summary").click()
        assert page.locator("#levels tbody").first.locator("tr").count() == 12
        page.locator(".tree g").first.click()
        assert page.locator("#merge button").inner_text() == "Merge these 3 clusters"
        page.select_option("#colour", "level 0")
        assert page.locator("#legend bdi").count() == 3
        assert opened.said == []


# ------------------------------------------------- names, fingers, keys, readers


def test_hostile_names_stay_text_in_every_new_place(hostile):
    page = hostile.page
    names = [name.strip() for name in HOSTILE[:4]]
    for place, name in enumerate(names):
        page.fill("#search", name)
        assert page.locator("#samples tbody th").first.inner_text() == f"{name}{place}"
        page.locator("#samples tbody button").first.click()
        assert page.locator("#readout bdi").first.inner_text() == f"{name}{place}"
    page.fill("#search", "")
    page.select_option("#colour", "label")
    assert page.locator("#legend bdi").all_inner_texts() == sorted(names[:3])
    found = features_of(page, 0)
    assert names[0] + "0" in found
    for name in (*names[:2], "a" * 200, "\u202eevil"):
        rename(page, 0, name)
        shown = name[:60].replace("\u202e", "")
        assert page.locator("#cluster-0 h3").inner_text() == shown
        assert page.locator("#merge-with").count() == 1
        pick(page, 1)
        assert f"0 {shown}" in page.locator("#merge-with option").all_text_contents()
        pick(page, 1)
        row = next(row for row in table(downloaded(page)[1]) if row["cluster"] == "0")
        assert row["name"] == harmless(shown)
    assert json.dumps("evil") in page.locator("#python").inner_text()


@pytest.mark.parametrize("width", [360, 1400])
def test_labels_of_40_letters_do_not_break_letter_by_letter(browser, reports, width):
    """No line of a long name is shorter than eight letters, and nothing hangs over the edge."""
    with Opened(browser, reports / "long.html", width) as opened:
        page = opened.page
        features_of(page, 0)
        page.select_option("#colour", "label")
        rename(page, 0, "n" * 40)
        pick(page, 0)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        tall = page.eval_on_selector_all(
            "bdi",
            """all => all.filter((one) => {
                if (!one.checkVisibility() || one.textContent.length < 40) return false;
                const range = document.createRange();
                range.selectNodeContents(one);
                const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
                return tops.size > 5;
            }).map((one) => one.parentElement.outerHTML.slice(0, 90))""",
        )
        assert tall == []
        table = page.locator("#samples").bounding_box()
        assert table["x"] + table["width"] <= width


def test_everything_can_be_done_by_keys(digits):
    page = digits.page
    page.locator("[data-pick='3']").focus()
    page.keyboard.press("Enter")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        here = page.evaluate("document.activeElement.id || document.activeElement.className")
        reached.append(here)
        if here == "new-name":
            page.keyboard.type("keyed")
            page.keyboard.press("Enter")
        if here == "doubt":
            page.keyboard.press("Space")
        if here == "undo":
            page.keyboard.press("Enter")
        if here == "download":
            break
    for name in ("new-name", "merge-with", "doubt", "all", "to-card", "undo"):
        assert name in reached
    assert page.locator("[data-name='3']").inner_text() == "3 keyed"
    assert page.locator("#redo").is_enabled()  # the mark was undone
    page.locator("#plot").focus()
    for pressed in ("false", "true"):  # it was picked, and is let go, and picked again
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        cluster = page.locator("#readout bdi").nth(1).inner_text().split()[1].strip(",")
        row = page.locator(f"[data-pick='{cluster}']")
        assert row.get_attribute("aria-pressed") == pressed


def test_a_screen_reader_finds_names_for_everything(digits):
    page = digits.page
    for role, name in (
        ("searchbox", "Search samples"),
        ("combobox", "Colour by"),
        ("application", "Map of the samples."),
        ("button", "Undo"),
        ("button", "Download labels.csv"),
        ("region", "Samples of the selection"),
        ("button", "Show cluster 4 on the map"),
    ):
        assert page.get_by_role(role, name=name).count() == 1
    pick(page, 1)
    assert page.get_by_role("textbox", name="Name").count() == 1
    assert page.get_by_role("combobox", name="Merge with").count() == 1
    assert page.get_by_role("button", name="Doubtful").get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("digits", 360, "dark"),
        ("hostile", 1400, "light"),
        ("levels", 1400, "dark"),
        ("long", 360, "light"),
    ],
)
def test_axe_has_nothing_to_object_to(browser, reports, name, width, scheme):
    """Contrast, names, headings, roles, with everything unfolded and a cluster picked."""
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, reports / f"{name}.html", width, scheme) as opened:
        page = opened.page
        page.eval_on_selector_all("details", "all => all.forEach((one) => one.open = true)")
        pick(page, 0)
        page.locator("#doubt").click()
        page.select_option("#colour", "strength")
        page.wait_for_timeout(200)  # colours that fade in
        but_points = {"exclude": [["#plot use"]]}  # hundreds, and none has words
        found = Axe().run(page, but_points).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []


def test_axe_has_nothing_to_object_to_in_two_runs(browser, tmp_path):
    """With landmarks: all is in the main part, and what scrolls can be reached by keys."""
    from axe_playwright_python.sync_playwright import Axe

    ids = [f"s{i}" for i in range(60)]
    one = [(name, str(i % 3)) for i, name in enumerate(ids)]
    two = [(name, str(i % 4)) for i, name in enumerate(ids)]
    path = tmp_path / "moves.html"
    path.write_text(flow.page(moves(one, two), ("a", "b")), encoding="utf-8")
    for width in (360, 1400):
        with Opened(browser, path, width) as opened:
            found = Axe().run(opened.page).response["violations"]
            assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []
            assert opened.page.get_by_role("main").count() == 1
            assert opened.page.get_by_role("region").count() == 3


def test_columns_that_were_not_used_colour_the_map(browser, tmp_path):
    X, y = blobs(90, 3, 6, seed=0)
    kinds = [None if i == 0 else f"kind {c}" for i, c in enumerate(y)]
    run = run_of(by_hand(y), X, aside={"kind": kinds, "year": 2000.0 + y})
    path = tmp_path / "aside.html"
    write(run, path)
    with Opened(browser, path) as opened:
        page = opened.page
        others = page.locator('optgroup[label="columns that were not used"] option')
        assert others.all_text_contents() == ["kind", "year"]
        page.select_option("#colour", label="kind")
        assert page.locator("#legend .chip").all_inner_texts() == ["kind 0", "kind 1", "kind 2"]
        assert page.locator("#plot use.unknown").count() == 1
        page.select_option("#colour", label="year")
        assert page.locator("#legend span").all_inner_texts() == ["2000", "", "2002"]


# ------------------------------------------------------------------- large data


def large_run(n=10_000):
    """In two dimensions, which are drawn as they are."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 12, n)
    X = rng.normal(size=(n, 2)) + np.column_stack([labels, labels % 5])
    return run_of(by_hand(labels), X, ids=[f"cell-{i:06d}.csv" for i in range(n)], target=labels)


def test_ten_thousand_samples_are_all_known(browser, tmp_path):
    path = tmp_path / "large.html"
    run = large_run()
    write(run, path)
    assert path.stat().st_size < 1_500_000
    with Opened(browser, path) as opened:
        page = opened.page
        page.fill("#search", "cell-009999")
        assert shown_rows(page)[0][0] == "cell-009999.csv"
        page.fill("#search", "")
        pick(page, 11)
        page.select_option("#merge-with", "3")
        page.locator("#merge button").click()
        rows = table(downloaded(page)[1])
        expected = np.where(run.labels == 11, 3, run.labels)
        assert [int(row["cluster"]) for row in rows] == expected.tolist()
        # Few enough for any machine; benchmarks/report_page.py has the milliseconds.
        assert page.evaluate("document.querySelectorAll('*').length") < 10_000


def test_what_does_not_fit_is_cut_and_then_left_out():
    n = 3000
    run = run_of(
        by_hand(np.arange(n) % 3), np.zeros((n, 2)), ids=["x" * 500 + str(i) for i in range(n)]
    )
    which = np.arange(0, n, 10)
    whole = workbench(run, which, 3_000_000)
    assert (whole["ids"][7], whole["cut"], whole["rows"]) == ("x" * 500 + "7", False, None)
    assert len(whole["shown"][7]) == 60
    cut = workbench(run, which, 300_000)
    assert (len(cut["ids"][7]), cut["cut"], cut["rows"]) == (60, True, None)
    part = workbench(run, which, 100_000)
    assert len(part["ids"]) == len(which)
    assert part["rows"] is not None
    counted = run_of(
        by_hand(np.arange(n) % 3), np.zeros((n, 2)), ids=[str(i + 1) for i in range(n)]
    )
    assert workbench(counted, which, 20_000)["ids"] is None


def test_a_page_that_knows_a_part_says_so_and_names_the_rows(browser, tmp_path, monkeypatch):
    from klsnmf.report import page as page_module

    less = [detail._replace(points=60, samples=100) for detail in page_module._DETAIL]
    monkeypatch.setattr(page_module, "_DETAIL", less)
    path = tmp_path / "part.html"
    write(run_of(by_hand(np.arange(600) % 3), np.random.default_rng(0).random((600, 2))), path)
    with Opened(browser, path) as opened:
        page = opened.page
        assert "only the 60 of 600 samples" in page.locator("#matches").inner_text()
        rows = table(downloaded(page)[1])
        assert len(rows) == 60
        assert all(row["id"] == f"sample {int(row['row']) - 1}" for row in rows)
