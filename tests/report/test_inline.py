"""The report inside a page of somebody else, as a notebook shows it, in a real browser."""

import pytest

from klsnmf.report import Page

from ..browsing import Opened
from ..report_runs import HOSTILE, hostile_run


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    path = tmp_path_factory.mktemp("notebook") / "notebook.html"
    frame = Page(hostile_run())._repr_html_()
    path.write_text(f"<!doctype html><title>Notebook</title><p>In</p>{frame}", encoding="utf-8")
    return path


def test_the_page_works_in_its_frame(browser, notebook):
    with Opened(browser, notebook) as opened:
        _, frame = opened.page.frames
        assert frame.locator("h1").inner_text() == HOSTILE[0]
        points = frame.locator("svg use")
        assert points.first.bounding_box()["width"] > 0
        # A link leads to its place in the page, and does not load the notebook into the frame.
        before = frame.evaluate("scrollY")
        link = frame.locator("nav a").last
        place = link.get_attribute("href")
        link.click()
        frame.wait_for_function(f"scrollY > {before}")
        assert frame.url == f"about:srcdoc{place}"
        assert opened.page.evaluate("scrollY") == 0
        assert opened.page.title() == "Notebook"
        assert opened.said == []
        assert opened.asked == [opened.url]


def test_labels_can_be_downloaded_from_the_frame(browser, notebook):
    with Opened(browser, notebook) as opened:
        _, frame = opened.page.frames
        button = frame.locator("#download")
        button.scroll_into_view_if_needed()
        with opened.page.expect_download() as waiting:
            button.click()
        assert waiting.value.suggested_filename.endswith(".csv")
        assert opened.said == []


def test_the_frame_cannot_reach_the_notebook(browser, notebook):
    with Opened(browser, notebook) as opened:
        _, frame = opened.page.frames
        assert (
            frame.evaluate(
                "() => { try { return parent.document.title } catch (error) { return error.name } }"
            )
            == "SecurityError"
        )
