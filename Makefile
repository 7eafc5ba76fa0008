# Two commands matter: `make run` fits a model, `make test` runs every check that CI runs.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt

# Stamps live inside .venv: removing it forgets them, and a second run does not reinstall.
READY := .venv/.ready
READY_DEV := .venv/.ready-dev

# -E reads every page again, so that warnings of an earlier build are shown.
DOCS := $(BIN)/python -m sphinx -W --keep-going -q -E -b html docs docs/_build/html

# Each of two processes begins with half of the tests, in their order, so that those of a file share
# its fixtures; the first to be idle takes over half of what the other has left.
TWO := -n 2 --dist worksteal
TESTS := $(BIN)/python -m pytest -q $(TWO)

.DEFAULT_GOAL := help
.PHONY: help run test coverage types docs format dist oldest clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

run: $(READY)  ## Fit the model to the built-in Cora, 5 labels per class
	$(BIN)/nodecopy fit cora --labels-per-class 5

test: $(READY_DEV)  ## Run every check: format, lint, types, import layers, docs, tests
	@echo "== format (ruff format)"
	@$(BIN)/ruff format --check --quiet --diff .
	@echo "== lint (ruff check)"
	@$(BIN)/ruff check --quiet .
	@echo "== import layers (import-linter)"
	@$(BIN)/lint-imports --no-logo
	@echo "== types (mypy --strict), and the user guide, warnings are errors (sphinx)"
	@$(MAKE) --no-print-directory --jobs=2 --output-sync types docs
	@echo "== tests and doctests (pytest)"
	@$(TESTS)
	@echo "== all checks passed"

coverage: $(READY_DEV)  ## Run the tests and list the lines that none of them executes (half as slow again)
	$(TESTS) --cov --cov-report=term

types: $(READY_DEV)
	@$(BIN)/mypy --no-error-summary

docs: $(READY_DEV)  ## Build the user guide: docs/_build/html/index.html
	@$(DOCS)

format: $(READY_DEV)  ## Format the code and fix what lint can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

assets:  ## Bundle the library that draws the map, from assets/ (needs Node 20)
	@npm --prefix assets ci --no-audit --no-fund
	@npm --prefix assets run build

dist: $(READY_DEV)  ## Build wheel and sdist, check them, and try the wheel in an empty environment
	@$(PIP) -e '.[release]'
	@.ci/dist

oldest:  ## Run the tests with the oldest versions that pyproject.toml allows (Python 3.11)
	@$(PYTHON) -m venv .venv/oldest
	@.venv/oldest/bin/python -m pip --disable-pip-version-check install -q -c constraints-oldest.txt -e '.[cluster,excel,networkx,pyg,report,test]'
	@.venv/oldest/bin/python -m pytest -q -W default $(TWO)

clean:  ## Remove the virtual environment, caches and builds
	rm -rf .venv .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist docs/_build
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv .venv

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing the pinned set of constraints.txt into .venv"
	@$(PIP) -e .
	@touch $@

# The development set contains the other one.
$(READY_DEV): pyproject.toml constraints.txt | $(BIN)/python
	@echo "== installing the pinned development set of constraints.txt into .venv"
	@$(PIP) -e '.[dev]'
	@touch $(READY) $@
