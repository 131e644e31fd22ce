"""The browser, and the pages that the tests of the report share."""

import pytest
from sklearn.datasets import load_digits

from klsnmf import KLSNMF
from klsnmf.report import write

from ..report_runs import hostile_run, long_run, nested_run, run_of


# Not for the whole session: while it is there, no other test can run an event loop of its own.
@pytest.fixture(scope="module")
def browser():
    from ..browsing import CHROMIUM, FLAGS, playwright

    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Reports of images, of a table with hostile names, of one with long names, and of levels."""
    folder = tmp_path_factory.mktemp("reports")
    X, y = load_digits(return_X_y=True)
    X, y = X[:150], y[:150]
    digits = KLSNMF(10, random_state=0).fit(X)
    write(run_of(digits, X, image_shape=(8, 8), target=y), folder / "digits.html")
    write(hostile_run(), folder / "hostile.html")
    write(long_run(), folder / "long.html")
    write(nested_run(), folder / "levels.html")
    return folder
