"""How large a report is and how soon it answers: ``python -m benchmarks.report_page``.

Tables of normal samples in 12 clusters, 20 features, with a name and a label each. Every page is
opened several times by Debian's chromium, without a network. Times are medians, in milliseconds.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from klsnmf.core.tables import head, line
from klsnmf.report import Run, write

from .machine import cores

PAGE = Path(__file__).parents[1] / "docs" / "results" / "report_page.md"
SIZES = (1_000, 10_000, 100_000)
REPEATS = 5

#: What is done, and the script that does it. Handlers run before the event returns.
ACTS = {
    "search": "byId('search').value = '99'; fire('search', 'input')",
    "colour by a column": "byId('colour').value = 'column 3'; fire('colour', 'change')",
    "pick a cluster": "document.querySelector('[data-pick=\"2\"]').click()",
    "merge": "document.querySelector('#merge button').click()",
    "undo": "byId('undo').click()",
}
TIMED = """() => {{
    const byId = (id) => document.getElementById(id);
    const fire = (id, kind) => byId(id).dispatchEvent(new Event(kind, {{ bubbles: true }}));
    const begun = performance.now();
    {act};
    document.body.getBoundingClientRect();
    return performance.now() - begun;
}}"""
#: From the beginning of loading until the script has run and everything answers, and is laid out.
READY = """() => {
    const load = performance.getEntriesByType("navigation")[0];
    return load.domContentLoadedEventEnd - load.startTime;
}"""


def run_of(n: int) -> Run:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 12
    estimator = KMeans(12)
    estimator.labels_ = labels
    return Run(
        name="samples",
        estimator=estimator,
        X=rng.normal(size=(n, 20)) + 3 * np.eye(20)[labels],
        ids=[f"sample-{i:07d}.csv" for i in range(n)],
        target=labels,
        strength=rng.uniform(size=n),
    )


def measured(browser: Any, path: Path) -> dict[str, float]:
    found: dict[str, list[float]] = {"ready": [], **{name: [] for name in ACTS}}
    for _ in range(REPEATS):
        context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
        page = context.new_page()
        page.goto(path.as_uri())
        found["ready"].append(page.evaluate(READY))
        for name, act in ACTS.items():
            found[name].append(page.evaluate(TIMED.format(act=act)))
        context.close()
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    rows = [*head("samples", "megabytes", "ready", *ACTS)]
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for n in SIZES:
            path = Path(folder, f"{n}.html")
            write(run_of(n), path)
            times = measured(browser, path)
            size = path.stat().st_size / 1e6
            rows.append(line(f"{n:,}", f"{size:.2f}", *(f"{t:.0f}" for t in times.values())))
        version = browser.version
        browser.close()
    words = (
        f"Milliseconds, median of {REPEATS}, chromium {version} on {cores()} busy cores. Ready is "
        "the time from the\nbeginning of loading until everything on the page answers."
    )
    PAGE.write_text("\n".join([words, "", *rows, ""]), encoding="utf-8")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
