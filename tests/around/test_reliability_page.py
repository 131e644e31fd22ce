"""The page of reliability: the tests it names are there, and faults show that they can fail."""

import re
from pathlib import Path

import pytest

from tests.faults import FAULTS

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "reliability.rst").read_text(encoding="utf-8").partition("list-table::")[2]
ROWS = TABLE.partition("\nMeasured\n")[0].split("   * - ")[2:]
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
FAULTY = set(re.findall(r"test_\w+", " ".join(fault.tests for fault in FAULTS)))


def test_the_table_is_read():
    assert len(ROWS) >= 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.partition("\n")[0])
def test_what_a_row_names_is_tested_and_a_fault_is_caught_by_it(row):
    names = re.findall(r"``(test_\w+)``", row)
    assert names
    for name in names:
        assert re.search(rf"def {name}\(", TESTS), f"there is no {name}"
    assert any(name.startswith(faulty) for name in names for faulty in FAULTY), names
