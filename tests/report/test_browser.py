"""The report in a real browser, on a phone and on a desk, light and dark."""

import pytest
from sklearn.datasets import load_digits

from ..browsing import Opened


# Colours do not depend on the width, nor what is drawn on the colours.
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1400, "light")])
@pytest.mark.parametrize("name", ["digits", "hostile"])
def test_the_page_is_whole(browser, reports, name, width, scheme):
    with Opened(browser, reports / f"{name}.html", width, scheme) as opened:
        page = opened.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        drawn = page.eval_on_selector_all("img", "all => all.map((one) => one.naturalWidth)")
        assert drawn
        assert min(drawn) > 0
        page.eval_on_selector_all(".fold", "all => all.forEach((one) => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for selector in ("#plot", ".chart", ".sizes li", ".cluster"):
            box = page.locator(selector).first.bounding_box()
            assert box["width"] > 100
            assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        page.mouse.wheel(0, 5000)
        assert opened.said == []
        assert opened.requests() == []


def test_lists_of_members_begin_short_on_a_phone(browser, reports):
    with Opened(browser, reports / "hostile.html", 360) as opened:
        page = opened.page
        members = page.locator(".members").first.locator("tbody tr")
        button = page.locator("button.more").first
        assert members.count() == 8
        assert [one.is_visible() for one in members.all()] == [True] * 3 + [False] * 5
        button.click()
        assert all(one.is_visible() for one in members.all())
        assert not button.is_visible()
    with Opened(browser, reports / "hostile.html", 1400) as opened:
        page = opened.page
        assert all(one.is_visible() for one in page.locator(".members tbody tr").all())
        assert not page.locator("button.more").first.is_visible()


@pytest.mark.parametrize(("width", "rows"), [(360, 3), (800, 3), (1400, 1)])
def test_no_chart_of_the_evidence_stands_alone(browser, reports, width, rows):
    with Opened(browser, reports / "hostile.html", width) as opened:
        opened.page.locator("#evidence > summary").click()
        panels = opened.page.locator("#evidence .panel").all()
        assert len(panels) == 3
        assert len({round(one.bounding_box()["y"]) for one in panels}) == rows


@pytest.mark.parametrize(("width", "unfolded"), [(360, 1), (1400, 10)])
def test_long_reports_fold(browser, reports, width, unfolded):
    with Opened(browser, reports / "digits.html", width) as opened:
        page = opened.page
        assert page.locator(".cluster > details[open]").count() == unfolded
        assert page.locator(".fold[open]").count() == 0
        order = ["#top", "#map", "#clusters", "#agreement", "#again", "#mathematics"]
        heights = [page.locator(one).bounding_box()["y"] for one in order]
        assert heights == sorted(heights)
        page.evaluate("location.hash = 'cluster-7'")
        page.locator("#cluster-7 > details[open]").wait_for()
        page.locator("#unfold").click()
        assert page.locator(".cluster > details[open]").count() in (0, 10)
        page.evaluate("location.hash = 'fit'")  # a link leads into what is folded
        assert page.locator("#fit .chart").first.is_visible()


def _brightness(page, selector, what):
    colour = page.locator(selector).first.evaluate(f"one => getComputedStyle(one).{what}")
    red, green, blue = (int(part) for part in colour[4:-1].split(",")[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_light_and_dark_are_light_and_dark(browser, reports):
    for scheme, light in (("light", True), ("dark", False)):
        with Opened(browser, reports / "digits.html", scheme=scheme) as opened:
            paper = _brightness(opened.page, "body", "backgroundColor")
            ink = _brightness(opened.page, "body", "color")
            assert (paper > ink) is light
            assert abs(paper - ink) > 150
            dim = _brightness(opened.page, ".lead", "color")
            assert abs(paper - dim) > 75


@pytest.mark.parametrize("width", [360, 1400])
def test_pointing_at_a_sample_shows_it(browser, reports, width):
    with Opened(browser, reports / "digits.html", width) as opened:
        page = opened.page
        tip = page.locator("#tip")
        assert not tip.is_visible()
        points = page.locator("#plot use")
        assert points.count() == 150
        # A point that no other is near, so that there is no doubt which is meant.
        lonely = page.evaluate(
            """() => {
                const at = [...document.querySelectorAll("#plot use")].map(
                    (one) => [one.x.baseVal.value, one.y.baseVal.value]);
                const room = at.map((a, i) => Math.min(...at.map((b, j) =>
                    i === j ? Infinity : Math.hypot(a[0] - b[0], a[1] - b[1]))));
                return room.indexOf(Math.max(...room));
            }"""
        )
        page.locator("#plot").scroll_into_view_if_needed()
        points.nth(lonely).hover(force=True)
        assert tip.is_visible()
        row = opened.unpacked("points", "<u4")[lonely]
        shown = page.locator("#readout").inner_text().split("\n")
        assert shown[0] == f"sample {row}"
        assert shown[1].endswith(f"strength {row / 149:.2f}")
        assert shown[2] == f"label {load_digits().target[row]}"
        box = tip.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        paper = page.evaluate(
            """() => {
                const canvas = document.querySelector("#tip canvas");
                const data = canvas.getContext("2d").getImageData(
                    0, 0, canvas.width, canvas.height).data;
                return [...data].filter((_, i) => i % 4 === 0);
            }"""
        )
        assert min(paper) < 60 < 200 < max(paper)
        page.mouse.move(2, 2)
        assert not tip.is_visible()
        assert opened.said == []


def test_a_finger_works_as_well(browser, reports):
    with Opened(browser, reports / "digits.html", 360, has_touch=True, is_mobile=True) as opened:
        point = opened.page.locator("#plot use").nth(7)
        point.scroll_into_view_if_needed()
        box = point.bounding_box()
        opened.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert opened.page.locator("#tip").is_visible()


def test_words_and_buttons_suit_a_finger(browser, reports):
    for touch in (True, False):
        options = {"has_touch": touch, "is_mobile": touch}
        with Opened(browser, reports / "digits.html", 360, **options) as opened:
            words = opened.page.locator("#map").inner_text()
            assert ("Tap a sample" in words) is touch
            assert ("Point at a sample" in words) is not touch
            for button in opened.page.locator("#map button:visible:not(.plain)").all():
                assert (button.bounding_box()["height"] >= 40) is touch


@pytest.mark.parametrize("width", [360, 1400])
def test_pictures_have_their_strength_in_numbers(browser, reports, width):
    with Opened(browser, reports / "digits.html", width) as opened:
        tiles = opened.page.locator(".gallery figure").all()[:6]
        for tile in tiles:
            number = tile.locator(".with-bar")
            assert 0 <= float(number.inner_text()) <= 1
            box, room = number.bounding_box(), tile.bounding_box()
            assert box["x"] + box["width"] <= room["x"] + room["width"] + 1


def test_keys_walk_over_the_map(browser, reports):
    with Opened(browser, reports / "digits.html") as opened:
        page = opened.page
        page.locator("#plot").focus()
        names = [f"sample {i}" for i in opened.unpacked("points", "<u4")]
        for key, name in (
            ("ArrowRight", names[0]),
            ("ArrowRight", names[1]),
            ("ArrowLeft", names[0]),
        ):
            page.keyboard.press(key)
            assert page.locator("#readout").inner_text().startswith(name + "\n")
        page.keyboard.press("ArrowLeft")
        assert page.locator("#readout").inner_text().startswith(names[-1] + "\n")
        page.keyboard.press("Escape")
        assert not page.locator("#tip").is_visible()


def test_the_policy_stops_what_should_not_be_there(browser, reports, tmp_path):
    """Were a name ever to get through, the browser would not run it."""
    text = (reports / "digits.html").read_text(encoding="utf-8")
    attack = "<script>document.title='run'</script><img src=x onerror=document.title='run'>"
    path = tmp_path / "attacked.html"
    path.write_text(text.replace("</main>", attack + "</main>"), encoding="utf-8")
    with Opened(browser, path) as opened:
        opened.page.wait_for_timeout(200)
        assert opened.page.title() != "run"
        assert any("Content Security Policy" in one for one in opened.said)


def test_the_page_can_be_printed(browser, reports):
    with Opened(browser, reports / "digits.html", scheme="dark") as opened:
        assert opened.page.pdf(format="A4")[:5] == b"%PDF-"
        opened.page.emulate_media(media="print")
        assert not opened.page.locator("nav").is_visible()
        assert opened.page.locator("#map").is_visible()
        assert _brightness(opened.page, "body", "backgroundColor") > 200
