# Everything is installed into .venv (.venv-docs and .venv-peers for two targets); nothing else on the machine is touched.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
PEERS  := .venv-peers
DOCS   := .venv-docs
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps
# Installs only files whose SHA-256 is in lock/, and only wheels: building a package would run code that nobody pinned.
LOCKED := $(PIP) --require-hashes --only-binary=:all:

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all test-gpu lint lock docs figures notebooks wheel bench bench-peers clean

help: ## show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed ## install into .venv: `. .venv/bin/activate` then puts bertscope on the path

demo: $(VENV)/.installed ## run the demo on the built-in model and language: demo-report.html
	$(BIN)/bertscope demo

# One pytest worker for each core that this process may use (more workers than cores gain nothing). Each worker runs its
# share of the tests in order, since tests of one file share fixtures that are slow to make. A worker that has finished
# takes tests from the end of another worker's share.
WORKERS = $(shell $(BIN)/python -c 'import os; \
	cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(); \
	print("-n", cores, "--dist worksteal") if cores > 1 else None')
# Only the files that have tests marked `alone`: collecting all files takes half a minute.
ALONE = $(shell grep -rl --include='*.py' 'mark\.alone' tests)

test: $(VENV)/.tested ## run the tests that take seconds
	$(BIN)/python -m pytest -m "not slow and not alone" $(WORKERS)
	$(BIN)/python -m pytest -m "not slow and alone" $(ALONE)

test-all: $(VENV)/.tested ## run every test
	$(BIN)/python -m pytest -m "not alone" $(WORKERS)
	$(BIN)/python -m pytest -m alone $(ALONE)

test-gpu: $(VENV)/.tested ## run the tests that use a GPU, where there is one
	BERTSCOPE_TEST_DEVICE=cuda $(BIN)/python -m pytest -m "not slow" $(shell $(BIN)/python tests/support/gpu_tests.py)

lint: $(VENV)/.tested ## check style and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

lock: $(VENV)/.tested ## write lock/ anew from constraints.txt (asks the package index)
	$(BIN)/python tests/support/lock.py
	$(BIN)/python tests/support/bill_of_materials.py

notebooks: $(VENV)/.tested ## run the notebooks in docs/notebooks anew, and keep what they show
	$(BIN)/python tests/support/notebooks.py

figures: $(VENV)/.tested ## draw the figures of docs/questions anew, of the built-in model
	$(BIN)/python tests/support/question_figures.py

# The same files give the same wheel, byte for byte: hatchling gives all files one time and one mode, in a fixed order.
wheel: $(VENV)/.installed ## build the package: dist/bertscope-VERSION-py3-none-any.whl
	$(BIN)/python -m hatchling build --target wheel --directory dist

# mkdocs-material says at every build that it has a successor; the variable silences that.
docs: $(DOCS)/.installed ## build the documentation as a site, in .venv-docs: site/index.html
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict --site-dir site

bench: $(VENV)/.tested ## measure the speed claims, side by side
	$(BIN)/python -m benchmarks

bench-peers: $(PEERS)/.installed ## measure beside other libraries, in .venv-peers: docs/benchmarks.md
	$(PEERS)/bin/python -m benchmarks.peers

clean: ## remove the environment and what the demo made
	rm -rf $(VENV) $(PEERS) $(DOCS) site bertscope-store demo-report.html

$(VENV)/.installed: pyproject.toml lock/torch.txt lock/cuda.txt lock/run.txt
	@echo "installing into $(VENV) (a few minutes the first time)"
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bertscope needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	@# If torch is both in a local folder (--find-links) and on the index, pip takes the index's. So a local CPU build goes first.
	$(LOCKED) --no-index -r lock/torch.txt >/dev/null 2>&1 || echo "no CPU build of torch at hand: the package index's"
	$(LOCKED) -r lock/torch.txt -r lock/run.txt
	@# On Linux, torch from the package index needs CUDA libraries; a build from elsewhere (+cpu) brings what it needs.
	if $(BIN)/python -c 'import sys; from importlib.metadata import version; \
		sys.exit(sys.platform != "linux" or "+" in version("torch"))'; then $(LOCKED) -r lock/cuda.txt; fi
	$(PIP) --no-build-isolation -e .
	@touch $@

$(VENV)/.tested: $(VENV)/.installed lock/test.txt
	$(LOCKED) -r lock/test.txt
	@touch $@

$(DOCS)/.installed: lock/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: -r lock/docs.txt
	@touch $@

# The libraries that benchmarks compare with (peers) aren't in lock/: they are never installed into .venv. The packages that
# decide speed have the versions of constraints.txt. Not all packages can: boto3, which BertViz needs, wants an older
# python-dateutil.
SAME := torch|transformers|tokenizers|safetensors|numpy|scipy|scikit-learn|pandas|accelerate|sentence-transformers

$(PEERS)/.installed: benchmarks/peers/requirements.txt constraints.txt
	$(PYTHON) -m venv $(PEERS)
	grep -E '^($(SAME))==' constraints.txt > $(PEERS)/constraints.txt
	$(PEERS)/bin/pip install --quiet --no-deps --no-index -c $(PEERS)/constraints.txt torch >/dev/null 2>&1 || echo "no CPU build of torch at hand: the package index's"
	$(PEERS)/bin/pip install --quiet --prefer-binary -c $(PEERS)/constraints.txt -e . -r benchmarks/peers/requirements.txt
	@touch $@
