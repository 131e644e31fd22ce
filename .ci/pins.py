"""The packages of the gate, with versions and hashes.

    python .ci/pins.py write [REPORT]   # requirements-gate.txt anew: make pins
    python .ci/pins.py fits             # whether they are for this interpreter: exit code 0 or 1

Pins are for one kind of interpreter, named in the first line: on others the gate goes without. The
report is what ``pip install --dry-run --ignore-installed --report REPORT ".[dev]"`` writes; without
one pip is asked.
"""

import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

PINS = Path(__file__).parent.parent / "requirements-gate.txt"


def here() -> str:
    python = ".".join(platform.python_version_tuple()[:2])
    return f"# for Python {python} on {platform.system()} {platform.machine()}; made by: make pins"


def asked() -> str:
    """What pip would install."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "-q"]
        subprocess.run([*command, "--report", report, ".[dev]"], check=True)
        return report.read_text(encoding="utf-8")


def write(report: str) -> None:
    lines = [here()]
    for each in json.loads(report)["install"]:
        name, version = each["metadata"]["name"], each["metadata"]["version"]
        if name == "klsnmf":
            continue
        digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name.lower().replace('_', '-')}=={version} --hash=sha256:{digest}")
    PINS.write_text("\n".join([lines[0], *sorted(lines[1:])]) + "\n", encoding="utf-8")
    print(f"{len(lines) - 1} packages in {PINS.name}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]).read_text(encoding="utf-8") if sys.argv[2:] else asked())
    elif sys.argv[1:] == ["fits"]:
        there = PINS.exists() and PINS.read_text(encoding="utf-8").splitlines()[0] == here()
        sys.exit(not there)
    else:
        sys.exit(__doc__)
