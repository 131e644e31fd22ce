"""The floor plan: which folder may import from which, in one direction and not too deep."""

import ast

import pytest

from benchmarks.walk import LAZY, SOURCE, cycle, imports, longest_chain, modules

#: Folder -> the folders and root modules it may import from, besides itself. Function-level imports
#: and those for types count.
PLAN = {
    "core": "",
    "grams": "core",
    "kernels": "grams core",
    "models": "grams core",
    "solve": "models kernels grams core",
    "estimators": "solve models kernels grams core",
    "io": "core",
    "preparation": "io core",
    "datasets": "io core",
    "metrics": "core",
    "report": "core metrics methods",
    "experiments": "estimators datasets metrics methods io core",
    "cli": "experiments report datasets preparation io estimators kernels metrics methods core",
    "scanpy": "",
    "__main__": "cli",
}

#: Modules with more freedom than their folder, and what it is.
EXCEPTIONS = {
    # Files hold fitted estimators, part by part.
    "io.model_file": "estimators solve models kernels grams methods preparation",
    # How sure a sample is of its cluster, and what a fit notes, in data.
    "report.run": "estimators.strengths",
    "report.page": "estimators.strengths",
    "report.findings": "estimators.strengths estimators.notes estimators.doubtful",
}

#: Methods of estimators that stand above them: who asks for which public name, at the last moment.
EDGES = {"estimators.habits": {"walk_score"}, "estimators.shown": {"report"}}

#: Folders that use the package as its users do, by its public names.
PROGRAMS = ("cli", "experiments", "report", "scanpy")

#: Modules in the longest chain of imports.
MOST = 12

ARROWS = sorted((one, two) for one, others in imports().items() for two in others)


@pytest.mark.parametrize("folder", PLAN)
def test_imports_follow_the_plan(folder):
    against = []
    for one, two in ARROWS:
        home, other = one.split(".")[0], two.split(".")[0]
        if home != folder or other == home:
            continue
        # The package itself has the public names, each imported on first use: for programs.
        if two == "" and folder in PROGRAMS:
            continue
        allowed = f"{PLAN[folder]} {EXCEPTIONS.get(one, '')}".split()
        if not {other, two} & set(allowed):
            against.append(f"{one} imports {two}")
    assert not against


def test_estimators_ask_for_few_names_above_them():
    asked = {}
    for name, path in modules().items():
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "public":
                asked.setdefault(name, set()).add(ast.literal_eval(call.args[0]))
    assert asked == EDGES


def test_every_folder_is_in_the_plan():
    assert {name.split(".")[0] for name in imports()} - set(LAZY) == PLAN.keys()


def test_no_cycle():
    assert not cycle(imports())


def test_chains_are_short():
    chain = longest_chain(imports())
    assert len(chain) <= MOST, " -> ".join(chain)


def test_few_modules_at_the_root():
    assert len(list(SOURCE.glob("*.py"))) <= 6
