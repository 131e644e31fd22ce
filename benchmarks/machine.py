"""The machine in words, without its name: what has to be known to read a time."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ["klsnmf", "numpy", "scipy", "scikit-learn"]


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe() -> dict[str, str]:
    import scipy.linalg  # noqa: F401  (its BLAS may be another than numpy's)
    from threadpoolctl import threadpool_info

    blas = {
        f"{library['internal_api']} {library['version']}"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return {
        "processor": _processor(),
        "cores": str(cores()),
        "threads": f"{cores()}, where a table does not say otherwise",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.0f} GB",
        "system": f"{platform.system()}, {platform.machine()}",
        "python": platform.python_version(),
        "BLAS": ", ".join(sorted(blas)),
        **{name: _version(name) for name in PACKAGES},
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def read(folder: Path) -> dict[str, str]:
    file = folder / "machine.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def remember(folder: Path) -> None:
    """Store the description; refuse to mix times of another machine with those that are there."""
    here, there = describe(), read(folder)
    other = [
        name for name in here if name != "klsnmf" and there.get(name, here[name]) != here[name]
    ]
    if other:
        raise SystemExit(
            f"The rows in {folder} were made with other {', '.join(other)}: times are compared "
            "within one machine. Remove these rows, or take another folder with --out."
        )
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(here, indent=2, ensure_ascii=False)
    (folder / "machine.json").write_text(text + "\n", encoding="utf-8")
