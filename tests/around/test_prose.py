"""Pages in plain English: no long lines, and no phrase of docs/words.csv."""

import ast
import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIDTH = 100

with (ROOT / "docs" / "words.csv").open(encoding="utf-8", newline="") as file:
    WORDS = dict(list(csv.reader(file))[1:])

#: Directives of reStructuredText whose content is no prose.
NO_PROSE = re.compile(r"\s*\.\. (math|csv-table|code-block|literalinclude|image|include|\[\w+\])")
#: The rule above and below a table: = signs, and spaces between its columns.
RULE = re.compile(r"\s*=+( +=+)+\s*$")


def pages():
    """What people read, without the pages that Sphinx makes."""
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))
    yield ROOT / "CHANGELOG.md"
    made = (ROOT / "docs" / name for name in ("_build", "gallery", "reference"))
    made = tuple(str(folder) for folder in made)
    for ending in ("*.rst", "*.md"):
        found = sorted((ROOT / "docs").rglob(ending))
        yield from (path for path in found if not str(path).startswith(made))
    yield from sorted((ROOT / "examples" / "gallery").glob("*.rst"))


def prose_of_markdown(lines):
    inside = False
    for number, line in lines:
        if line.startswith("```"):
            inside = not inside
        elif not inside and not line.startswith(("|", "    ", "![")):
            yield number, line


def prose_of_restructured_text(lines):
    skipped = -1  # the indentation of a directive whose content is left out
    in_table = False
    for number, line in lines:
        indentation = len(line) - len(line.lstrip())
        if RULE.match(line):
            in_table = number + 1 < len(lines) and bool(lines[number][1].strip())
            continue
        if skipped >= 0 and (not line.strip() or indentation > skipped):
            continue
        skipped = indentation if NO_PROSE.match(line) else -1
        if skipped < 0 and not in_table:
            yield number, line


def prose(path):
    """Its lines without tables, formulas, code and references, each with its number."""
    lines = list(enumerate(path.read_text(encoding="utf-8").splitlines(), start=1))
    by_kind = prose_of_markdown if path.suffix == ".md" else prose_of_restructured_text
    return list(by_kind(lines))


def odd_words(text):
    """The phrases of the list in a text, which may go over several lines."""
    text = " ".join(text.split())
    return [odd for odd in WORDS if re.search(rf"(?<!\w){re.escape(odd)}(?!\w)", text, re.I)]


def texts_of_code(path):
    """Docstrings and messages: all strings of a module that have several words."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def named(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", list(pages()), ids=named)
def test_lines_of_prose_are_short(path):
    long = [f"line {number}: {line}" for number, line in prose(path) if len(line) > WIDTH]
    assert not long


@pytest.mark.parametrize("path", list(pages()), ids=named)
def test_pages_have_no_odd_words(path):
    found = odd_words("\n".join(line for _, line in prose(path)))
    assert not {odd: WORDS[odd] for odd in found}


@pytest.mark.parametrize("folder", ["src/klsnmf", "examples"])
def test_docstrings_and_messages_have_no_odd_words(folder):
    found = [
        f"{named(path)}, line {line}: {odd!r}, write {WORDS[odd]!r}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in texts_of_code(path)
        for odd in odd_words(text)
    ]
    assert not found, "\n".join(found)


def test_the_report_has_no_odd_words():
    folder = ROOT / "src" / "klsnmf" / "report" / "templates"
    found = {
        f"{path.name}: {odd}": WORDS[odd]
        for path in sorted(folder.iterdir())
        for odd in odd_words(path.read_text(encoding="utf-8"))
    }
    assert not found


def test_the_checks_see_what_they_are_for(tmp_path):
    page = tmp_path / "page.rst"
    long = "word " * 21
    page.write_text(
        f"Title\n\n.. math::\n\n   {long}\n\n{long}\n\n==  ==\n{long}\n==  ==\n\nanew\n"
    )
    assert [number for number, line in prose(page) if len(line) > WIDTH] == [7]
    assert odd_words("written\nANEW") == ["anew"]
    assert odd_words("renewed, a new one") == []
