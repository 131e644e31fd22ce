"""Pages in a real browser. Tests that import this are skipped where there is none."""

import base64
import json
import os
import shutil

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser tests need playwright: pip install playwright"
)
if CHROMIUM is None:
    if os.environ.get("KLSNMF_BROWSER") == "required":
        pytest.fail("KLSNMF_BROWSER=required, and there is no chromium", pytrace=False)
    pytest.skip(
        "the browser tests need chromium: apt-get install chromium", allow_module_level=True
    )

#: In a container, and without the requests that chromium makes for itself.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Opened:
    """A page, and all that it said and asked for."""

    def __init__(self, browser, path, width=1400, scheme="light", **options):
        size = {"width": width, "height": 900}
        self.context = browser.new_context(
            viewport=size, color_scheme=scheme, offline=True, **options
        )
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    @property
    def data(self):
        """What the scripts of the page work with."""
        return json.loads(self.page.locator("#data").text_content())

    def unpacked(self, name, kind):
        """One of its arrays."""
        return np.frombuffer(base64.b64decode(self.data[name]), kind)

    def requests(self):
        """What the page asked for but itself, the pictures in it and the files it made."""
        inside = ("data:image/png;", "blob:")
        return [url for url in self.asked if not url.startswith(inside) and url != self.url]
