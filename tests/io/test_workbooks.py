"""Workbooks: what is read of them, and how hostile ones are refused."""

import io
import zipfile
from datetime import date, datetime
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from klsnmf.io import xlsx
from klsnmf.io.read import read
from klsnmf.io.table import Choice, InputError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path="a.xlsx", **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def change(name, content, path="a.xlsx"):
    """Another content of an entry of a workbook."""
    with zipfile.ZipFile(path) as archive:
        entries = {each: archive.read(each) for each in archive.namelist()}
    entries[name] = content(entries[name]) if callable(content) else content
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, data in entries.items():
            archive.writestr(each, data)


SHEET = "xl/worksheets/sheet1.xml"
ROWS = [
    ["id", "a", "b", "kind", "when", "ok"],
    [1, 1.5, None, "u", datetime(2020, 1, 1), True],
    [2, -3, "#N/A", "v", date(2020, 1, 2), False],
    [],
    [3, 1e300, 4, "u", None, True],
]


def test_cells_of_every_kind():
    write(One=ROWS)
    found = read(Path("a.xlsx"), Choice(id_column="id", label_column="kind"))
    assert found.ids == ["1", "2", "3"]
    assert found.features == ["a", "b", "ok"]
    np.testing.assert_array_equal(found.X, [[1.5, np.nan, 1], [-3, np.nan, 0], [1e300, 4, 1]])
    assert found.target.tolist() == ["u", "v", "u"]
    assert found.lines == [2, 3, 5]
    (message,) = found.messages
    assert "hold text: 'when'." in message


def test_formulas_are_not_run():
    write(One=[["a", "b"], [1, "=1+1"], [2, 4]])
    found = read(Path("a.xlsx"), Choice())
    np.testing.assert_array_equal(found.X, [[1, np.nan], [2, 4]])  # nobody computed it


def test_sheets_by_name():
    write(One=[["a", "b"], [1, 2]], Two=[["b", "a"], [3, 4], [5, None]], Other=[["x"], [1]])
    found = read(Path("a.xlsx"), Choice())
    assert found.X.tolist() == [[1, 2]]
    assert found.messages == [
        "a.xlsx has 3 sheets, and 'One' was read. Choose others with --sheet: 'Two', 'Other'."
    ]
    assert read(Path("a.xlsx"), Choice(sheets=["Two"])).features == ["b", "a"]
    both = read(Path("a.xlsx"), Choice(sheets=["One", "Two"]))
    np.testing.assert_array_equal(both.X, [[1, 2], [4, 3], [np.nan, 5]])
    with pytest.raises(InputError, match=r"in line 3 of a\.xlsx, sheet Two, column 'a'"):
        both.require_numbers(gaps=False)
    with pytest.raises(InputError, match=r"a\.xlsx has no sheet 'Too'\. Did you mean 'Two'\?"):
        read(Path("a.xlsx"), Choice(sheets=["Too"]))
    with pytest.raises(InputError, match=r"sheet Other does not fit below a\.xlsx, sheet One"):
        read(Path("a.xlsx"), Choice(sheets=["One", "Other"]))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], "a.xlsx is empty"),
        ([["a", "b"]], "no rows. Add rows"),
        ([["a", "b"], [1, 2], [3, 4, 5]], "a.xlsx, line 3, from column 3: the line has 3 cells"),
        ([["a", "b"], [1, 2], [2, 3], [3, "#DIV/0!"]], "line 4, column 'b': '#DIV/0!' is not a n"),
        ([["a"], ["x"]], "no column of numbers"),
    ],
)
def test_wrong_sheets(rows, expected):
    write(One=rows)
    with pytest.raises(InputError) as refusal:
        read(Path("a.xlsx"), Choice())
    assert expected in str(refusal.value)


def test_a_row_may_end_early_or_in_empty_cells():
    write(One=[["a", "b", None], [1], [2, 3, None, None]])
    np.testing.assert_array_equal(read(Path("a.xlsx"), Choice()).X, [[1, np.nan], [2, 3]])


@pytest.mark.parametrize("entry", [SHEET, "xl/workbook.xml", "xl/styles.xml", "_rels/.rels"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(entry, encoding):
    write(One=ROWS)
    laughs = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    change(entry, laughs.encode(encoding))
    with pytest.raises(InputError, match=r"a\.xlsx: '.*' declares entities"):
        read(Path("a.xlsx"), Choice())


def test_a_declaration_across_two_pieces_is_seen():
    for place in range(xlsx._CHUNK - 12, xlsx._CHUNK + 2):
        content = b"<x>".ljust(place) + b"<!DOCTYPE x>"
        assert xlsx._declares(io.BytesIO(content))
    assert not xlsx._declares(io.BytesIO(b"<x>".ljust(3 * xlsx._CHUNK)))


def test_a_workbook_that_unpacks_to_gigabytes(monkeypatch):
    write(One=ROWS)
    change(SHEET, lambda sheet: sheet + b" " * 10**8)
    assert Path("a.xlsx").stat().st_size < 200_000
    monkeypatch.setattr("klsnmf.core.memory.available", lambda: 10**8)
    with pytest.raises(InputError, match=r"a\.xlsx"):
        read(Path("a.xlsx"), Choice())


def test_cells_that_claim_to_be_far_away(monkeypatch):
    write(One=ROWS)
    monkeypatch.setattr(xlsx, "_MOST_CELLS", 10**5)
    rows = "".join(f'<row r="{i}"><c r="XFD{i}"><v> </v></c></row>' for i in range(1, 50))
    sheet = f'<worksheet xmlns="{{}}"><sheetData>{rows}</sheetData></worksheet>'
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    change(SHEET, sheet.format(space).encode())
    with pytest.raises(InputError, match=r"a\.xlsx"):
        read(Path("a.xlsx"), Choice())


def test_damaged_workbooks():
    write(One=ROWS)
    whole = Path("a.xlsx").read_bytes()
    for content in (b"", b"PK", whole[:-100], whole[: len(whole) // 2], b"a,b\n1,2\n"):
        Path("b.xlsx").write_bytes(content)
        with pytest.raises(InputError, match=r"b\.xlsx"):
            read(Path("b.xlsx"), Choice())
    for name in (SHEET, "xl/workbook.xml", "[Content_Types].xml"):
        write(One=ROWS)
        change(name, b"<broken")
        with pytest.raises(InputError, match=r"a\.xlsx is not a valid workbook"):
            read(Path("a.xlsx"), Choice())
