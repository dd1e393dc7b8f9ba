# Each target is complete by itself on a machine with Python 3.11 or newer, git, make and a C compiler,
# and quick the second time: what is installed is noted in .venv, by the contents of two files.
PYTHON ?= python3
FOLDER ?= workbook
TESTS  ?= tests
# Two processes are enough on the smallest machines; `make test JOBS=8` on a larger one.
JOBS   ?= 2

VENV   := .venv
BIN    := $(VENV)/bin
WANTED := $(shell cat pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
# Tools that tools call by bare name (nbgrader calls alembic) are those of the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: lab test check gpu kernels bench exercises browser install install-test constraints help
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

lab: install ## the course: your workbook, opened in JupyterLab (ARGS="--no-browser --port 8890")
	@$(BIN)/counterpoint lab $(FOLDER) $(ARGS)

test: install-test browser check ## everything that CI runs (TESTS=tests/ranks for a part)
	$(BIN)/python -m pytest $(TESTS) --numprocesses $(JOBS) --dist loadgroup --durations 10

check: install-test ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

gpu: install-test ## the tests that need a CUDA device
	$(BIN)/python -m pytest $(TESTS) -m gpu --durations 10

kernels: install-test ## registers, spills and shared memory of each GPU kernel, without a GPU (ARGS=--save)
	$(BIN)/python tests/kernels/ahead.py $(ARGS)

bench: install ## ours beside its peers, quickly (BENCH=all_reduce ARGS=--save)
	@set -e; for script in $(or $(BENCH:%=benchmarks/%.py),$(shell grep -l -e "--quick" benchmarks/*.py)); do \
	    echo "== $$script"; $(BIN)/python $$script --quick $(ARGS); done

exercises: install-test ## the learners' notebooks, generated from solutions/
	$(BIN)/python -m counterpoint.grading.release

# -- what the targets stand on

install: $(VENV)/installed-$(WANTED)
install-test: $(VENV)/installed-test-$(WANTED)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Counterpoint needs Python 3.11 or newer, and $(PYTHON) is older or missing;" \
	         "say which to use: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	    echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(VENV)/installed-$(WANTED): | $(BIN)/python
	@echo "Installing Counterpoint into $(VENV) (once; a few minutes)"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/installed-test-$(WANTED): | $(BIN)/python
	@echo "Installing Counterpoint and its test tools into $(VENV) (once; a few minutes)"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $@ $(VENV)/installed-$(WANTED)

# Browser tests say themselves why they skip, or fail in CI, when this could not provide one.
browser:
	@if $(BIN)/python -c 'import sys; from counterpoint.cli.doctor import find_browser; sys.exit(find_browser() is None)'; then :; \
	elif ! command -v apt-get >/dev/null; then echo "No Chromium, and no apt to install it: browser tests will skip"; \
	elif [ "$$(id -u)" != 0 ]; then echo "No Chromium: browser tests will skip (sudo apt-get install chromium)"; \
	else apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core fonts-liberation >/dev/null \
	    || echo "apt could not install Chromium: browser tests will skip"; fi

browser: | install-test

# The versions that a fresh environment gets today; run the tests, then commit the file.
constraints:
	@rm -rf $(VENV)/fresh && $(PYTHON) -m venv $(VENV)/fresh
	@$(VENV)/fresh/bin/python -m pip install --quiet --editable '.[test]'
	@{ sed -n '/^#/p' constraints.txt; $(VENV)/fresh/bin/python -m pip freeze --exclude-editable --exclude triton \
	    | sed 's/+.*//'; sed -n '/^triton/p' constraints.txt; } > $(VENV)/constraints.txt
	@mv $(VENV)/constraints.txt constraints.txt && rm -rf $(VENV)/fresh
