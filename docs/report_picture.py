"""Draw docs/report.png, a report of digits at work: ``python docs/report_picture.py``.

It needs playwright and chromium.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from klsnmf import KLSNMF
from klsnmf.report import Run, write

PICTURE = Path(__file__).parent / "report.png"


def main() -> None:
    X, y = load_digits(return_X_y=True)
    model = KLSNMF(n_clusters=10, random_state=0).fit(X)
    run = Run("digits", model, X, target=y, image_shape=(8, 8))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder, "report.html")
        write(run, path)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1240, "height": 820})
        page.goto(path.as_uri())
        page.locator("[data-pick]").nth(5).click()
        page.fill("#new-name", "sixes")
        page.keyboard.press("Enter")
        page.locator("#all").click()
        page.locator("[data-pick]").nth(5).click()
        page.locator(".bench").evaluate("bench => scrollTo(0, bench.offsetTop - 60)")
        page.locator("#plot g").nth(5).locator("use").nth(20).hover(force=True)
        page.wait_for_timeout(300)  # points that fade
        seen = page.screenshot()
        browser.close()
    with Image.open(io.BytesIO(seen)) as image:
        image.convert("P", palette=Image.Palette.ADAPTIVE, colors=160).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
