# Everything happens in .venv; nothing else on the machine is touched.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint bench clean

help: ## show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed ## run the demo on the built-in model and language: demo-report.html
	$(BIN)/bertscope demo

# A worker for each core that this process may use; a file's tests stay together, as they share what is slow to make.
WORKERS = $(shell $(BIN)/python -c 'import os; \
	cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(); \
	print("-n", cores, "--dist loadfile") if cores > 1 else None')

test: $(VENV)/.tested ## run the tests that take seconds
	$(BIN)/python -m pytest -m "not slow and not alone" $(WORKERS)
	$(BIN)/python -m pytest -m "not slow and alone"

test-all: $(VENV)/.tested ## run every test
	$(BIN)/python -m pytest -m "not alone" $(WORKERS)
	$(BIN)/python -m pytest -m alone

lint: $(VENV)/.tested ## check style and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

bench: $(VENV)/.tested ## measure the speed claims, side by side
	$(BIN)/python -m benchmarks

clean: ## remove the environment and what the demo made
	rm -rf $(VENV) bertscope-store demo-report.html

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "installing into $(VENV) (a few minutes the first time)"
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bertscope needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(PIP) -e '.[test,lint,deploy,cluster]'
	@touch $@
