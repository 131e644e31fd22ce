# Needs Python 3.11 or newer, pip and make. Everything is installed into .venv* in this folder.

PYTHON ?= python3
PIPFLAGS ?= -qq

# The tests run on all cores; make test PARALLEL= runs them one after the other.
PARALLEL ?= -n auto --dist worksteal -q

VENV := .venv
LOWEST := .venv-lowest
WHEEL := .venv-wheel

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Keep the stamps: make would delete them as intermediate files.
.SECONDARY:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(VENV)/.installed-demo ## cluster handwritten digits: a picture, and a report
	$(VENV)/bin/python examples/digits.py
	$(VENV)/bin/klsnmf cluster --dataset digits -k 10 --force
	@echo "Look at digits.png and digits-clusters/report.html. Your own data: $(VENV)/bin/klsnmf cluster --help"

.PHONY: test
test: $(VENV)/.installed-test-arrays ## run the tests
	$(VENV)/bin/python -m pytest $(PARALLEL)

.PHONY: lint
lint: $(VENV)/.installed-dev ## check style and formatting
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m ruff format --check .

.PHONY: format
format: $(VENV)/.installed-dev ## repair what the linter can repair
	$(VENV)/bin/python -m ruff check --fix .
	$(VENV)/bin/python -m ruff format .

.PHONY: types
types: $(VENV)/.installed-dev ## check the types
	$(VENV)/bin/python -m mypy src

.PHONY: docs
docs: $(VENV)/.installed-dev ## build the documentation, warnings are errors, and open it in a browser
	$(VENV)/bin/python -m sphinx -q -E -W --keep-going -b html docs docs/_build/html
	$(VENV)/bin/python -m pytest -q tests/around/test_built_pages.py
	@echo "docs/_build/html/index.html is ready"

# Programs around the library, which are tested once: with whatever versions, they ask of them what
# the library asks.
AROUND := around cli experiments datasets/test_downloads.py report/test_browser.py \
	report/test_workbench.py

# How good the answers are, and that a fit goes on where it was: neither depends on versions.
ANSWERS := estimators/test_defaults.py solve/test_race.py solve/test_regroup.py \
	solve/test_levels.py kernels/test_pieces.py solve/test_checkpoint.py

.PHONY: lowest
lowest: $(LOWEST)/.installed-test ## run the library's tests with the oldest supported dependencies
	$(LOWEST)/bin/python -m pytest $(PARALLEL) $(patsubst %,--ignore=tests/%,$(AROUND) $(ANSWERS))

.PHONY: wheel
wheel: $(VENV)/.installed-dev ## build the wheel and try it in an empty environment
	rm -rf dist $(WHEEL)
	$(VENV)/bin/python -m build --quiet --outdir dist
	$(VENV)/bin/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install $(PIPFLAGS) dist/*.whl
	cd $(WHEEL) && bin/python -I ../.ci/smoke.py

# Damaged and crafted files; the gate tries as many as half a minute allows, always the same first.
SECONDS ?= 60

.PHONY: fuzz
fuzz: $(VENV)/.installed-test ## read damaged and crafted files; SECONDS=60 says how long
	$(VENV)/bin/python -m benchmarks.fuzz --seconds $(SECONDS)

.PHONY: audit
audit: $(VENV)/bin/python ## look the packages of the gate up among known vulnerabilities
	$(VENV)/bin/python -m pip install $(PIPFLAGS) pip-audit
	$(VENV)/bin/python -m pip_audit --strict --require-hashes --disable-pip -r requirements-gate.txt

.PHONY: pins
pins: $(VENV)/bin/python ## write requirements-gate.txt anew: what the gate installs, with hashes
	$(VENV)/bin/python .ci/pins.py write

# What the gate installs first: these versions and no others. For other interpreters there are none.
.PHONY: pinned
pinned: $(VENV)/bin/python ## install the versions of requirements-gate.txt, hashes compared
	$(VENV)/bin/python .ci/pins.py fits
	$(VENV)/bin/python -m pip install $(PIPFLAGS) --no-deps --require-hashes -r requirements-gate.txt

.PHONY: bench-quick
bench-quick: $(VENV)/.installed-test ## run the reduced benchmark
	$(VENV)/bin/python -m benchmarks.run --quick

.PHONY: bench
bench: $(VENV)/.installed-all ## measure time and memory for docs/benchmarks: hours; MNIST=DIR adds MNIST
	$(VENV)/bin/python -m benchmarks.page run $(if $(MNIST),--mnist "$(MNIST)")

.PHONY: reproduce-quick
reproduce-quick: $(VENV)/.installed-test ## run a reduced table of the paper on digits
	$(VENV)/bin/klsnmf reproduce --quick --out build/reproduction

.PHONY: clean
clean: ## remove environments, builds and caches
	rm -rf $(VENV) $(LOWEST) $(WHEEL) build dist docs/_build docs/gallery docs/reference \
		docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# A half-made environment would look complete to the next run, so it is removed.
%/bin/python:
	$(PYTHON) -m venv $* || { rm -rf $*; exit 1; }

# One stamp for each set of extras: pip runs only after pyproject.toml has changed.
$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install $(PIPFLAGS) -e ".[$*]"
	@touch $@

$(LOWEST)/.installed-%: pyproject.toml requirements-lowest.txt | $(LOWEST)/bin/python
	$(LOWEST)/bin/python -m pip install $(PIPFLAGS) -c requirements-lowest.txt -e ".[$*]"
	@touch $@
