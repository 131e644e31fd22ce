"""The built documentation in a real browser, with the network off. ``make docs`` runs this."""

import os
import re
import shutil
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "_build" / "html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
if CHROMIUM is None and os.environ.get("KLSNMF_BROWSER") != "required":
    pytest.skip("needs chromium: apt-get install chromium", allow_module_level=True)
if not (PAGES / "index.html").exists():
    pytest.skip("the documentation is not built: make docs", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Opens a page; at the end, nothing may have come from elsewhere or failed to load."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked, failed = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: failed.append(request.url))

    def open_page(name):
        page.goto((PAGES / name).as_uri())
        return page

    yield open_page
    context.close()
    assert asked
    assert not [url for url in asked if not url.startswith(("file:", "data:"))]
    assert not failed


@pytest.mark.parametrize("name", ["mathematics", "family", "notation"])
def test_formulas_are_drawn_without_a_network(opened, name):
    page = opened(f"{name}.html")
    page.wait_for_selector("mjx-container svg", state="attached")
    page.evaluate("() => MathJax.startup.promise")
    formulas = page.locator(".math").count()
    assert formulas > 0
    assert page.locator(".math mjx-container svg").count() == formulas
    assert page.locator("[data-mjx-error], mjx-merror").count() == 0


def test_no_page_loads_anything_from_elsewhere():
    loads = re.compile(
        r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=[\"'](?:https?:)?//[^>]*>"
    )
    found = {}
    for path in sorted(PAGES.rglob("*.html")):
        tags = [
            tag for tag in loads.findall(path.read_text(encoding="utf-8")) if 'rel="can' not in tag
        ]
        if tags:
            found[path.name] = tags
    assert not found


def test_every_route_of_the_home_page_leads_somewhere(opened):
    page = opened("index.html")
    routes = page.locator(".routes .sd-card")
    assert routes.count() == 6
    for i in range(6):
        address = routes.nth(i).locator("a.sd-stretched-link").get_attribute("href")
        assert (PAGES / address.partition("#")[0]).exists()
        picture = routes.nth(i).locator("img")
        assert picture.get_attribute("alt")
        assert picture.evaluate("image => image.complete && image.naturalWidth > 0")


def test_choosing_stands_before_dask_in_the_navigation(opened):
    links = (
        opened("index.html")
        .locator(".sidebar-tree a")
        .evaluate_all("links => links.map(link => link.getAttribute('href'))")
    )
    assert links.index("choosing.html") < links.index("distributed.html")


def test_a_page_fits_a_phone(opened):
    page = opened("index.html")
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
