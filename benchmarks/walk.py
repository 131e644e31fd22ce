"""The numbers of the house: what a default fit walks through, and how modules lean on each other.

``python -m benchmarks.walk`` prints them. ``tests/test_layers.py`` reads imports with the same
functions, and fails where one goes against the plan.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).parent.parent / "src" / "klsnmf"

#: A module (``grams.sparse``; a package by its folder's name; the root is "") -> those it imports.
Imports = Mapping[str, frozenset[str]]

#: Modules that name others by strings, or for type checkers only, and import them on first use.
LAZY = ("", "methods")

#: Words for kinds of matrices, kernels and factors: which of them it is, only they should know.
_KINDS = ("Gram", "Kernel", "Tiles", "Diffusion", "Graph", "Links", "Steps")


def modules() -> dict[str, Path]:
    """Every module of the package by its name, without the name of the package."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> Imports:
    """What each module imports from the package, at its top, in functions or for types."""
    known = modules()
    return {
        name: frozenset(_imported(name, path, known)) - {name} if name not in LAZY else frozenset()
        for name, path in known.items()
    }


def _imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == SOURCE.name:
                    yield alias.name.partition(".")[2]
        if not isinstance(node, ast.ImportFrom):
            continue
        module = (node.module or "").split(".")
        if node.level:
            base = [*package[: len(package) - node.level + 1], *module]
        elif module[0] == SOURCE.name:
            base = module[1:]
        else:
            continue
        home = ".".join(part for part in base if part)
        for alias in node.names:
            inner = f"{home}.{alias.name}".removeprefix(".")
            yield inner if inner in known else home


def longest_chain(graph: Imports) -> list[str]:
    """Modules of which each imports the next, as many as there are; cycles are an error."""

    @cache
    def chain(name: str) -> tuple[str, ...]:
        return (name, *max((chain(other) for other in graph[name]), key=len, default=()))

    return list(max((chain(name) for name in graph), key=len))


def cycle(graph: Imports) -> list[str]:
    """Modules of which each imports the next and the last the first; empty if there are none."""
    done: set[str] = set()

    def search(name: str, way: tuple[str, ...]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph[name]):
            if found := search(other, (*way, name)):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := search(name, ()))), [])


def walked() -> list[str]:
    """The files that ``KLSNMF(10).fit_predict(digits)`` goes through, by first call."""
    from sklearn.datasets import load_digits

    from klsnmf import KLSNMF

    seen: dict[str, None] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        # What runs while a module is imported is not a part of the walk.
        if event == "call" and file.startswith(str(SOURCE)) and frame.f_code.co_name != "<module>":
            seen[file] = None

    X = load_digits().data
    model = KLSNMF(10, random_state=0)
    sys.setprofile(look)
    try:
        model.fit_predict(X)
    finally:
        sys.setprofile(None)
    return [str(Path(file).relative_to(SOURCE)) for file in seen]


def asked_kinds() -> dict[str, int]:
    """How often each file asks by isinstance for a kind of matrix or kernel."""
    found = {}
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        count = sum(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "isinstance"
            and any(word in ast.unparse(node.args[1]) for word in _KINDS)
            for node in ast.walk(tree)
        )
        if count:
            found[name] = count
    return found


def mentioning(word: str) -> list[str]:
    """The modules that mention a word."""
    return [name for name, path in modules().items() if word in path.read_text(encoding="utf-8")]


def main() -> None:
    walk, chain = walked(), longest_chain(imports())
    kinds, hosts = asked_kinds(), [*mentioning("on_host"), *mentioning("follows_lists")]
    sizes = [len(path.read_text(encoding="utf-8").splitlines()) for path in modules().values()]
    root = sorted(path.stem for path in SOURCE.glob("*.py"))
    print(f"A default fit walks through {len(walk)} files: {', '.join(walk)}")
    print(f"Modules at the root: {len(root)}: {', '.join(root)}")
    print(f"Longest chain of imports: {len(chain)}: {' -> '.join(chain)}")
    print(f"Lines of source: {sum(sizes)}, at most {max(sizes)} in a file")
    print(f"isinstance on kinds: {sum(kinds.values())}: {kinds}")
    asking = sorted(set(hosts))
    print(f"Files that ask where an array is: {len(asking)}: {', '.join(asking)}")


if __name__ == "__main__":
    main()
