# Weft: two commands to know, `make demo` and `make test`; the rest is in `make help`.
#
# Two stamps, so that the demo needs only what a user of Weft needs:
#   .venv/.stamp-run   the package and its run-time dependencies   -> demo
#   .venv/.stamp-dev   the tools as well                           -> test, check, fmt

PYTHON ?= python3
JOBS ?= 2
PROGRAMS ?= 20000
SEED ?= 1

VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.stamp-run
DEV := $(VENV)/.stamp-dev
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

# Where bytecode is not to be kept, every process of the tests would compile the compiler anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help demo test test-all fuzz check check-format check-lint check-types check-imports check-sizes fmt clean compiler

help:
	@echo "make demo    compile the kernels, run each against NumPy, print one table"
	@echo "make test    run the tests (JOBS=2 processes; ARGS=... goes to pytest)"
	@echo "make test-all  the slow ones too"
	@echo "make fuzz    random programs against CPython (PROGRAMS=20000 SEED=1 JOBS=2; ARGS=... as in tests/fuzz/__main__.py)"
	@echo "make check   format, lint, types, import layers, sizes"
	@echo "make fmt     rewrite the sources in the one format, fix what ruff can fix"
	@echo "make clean   remove the environment, builds and tool caches"

# ---------------------------------------------------------------- the environment

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	    echo "weft: no '$(PYTHON)' found. Install Python 3.11 or newer: apt-get install python3 python3-venv" >&2; \
	    echo "      (another name or place: make PYTHON=/path/to/python3.11 ...)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "weft: Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	    echo "      Name a newer one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	    echo "weft: $(PYTHON) comes without the venv module. Install it: apt-get install python3-venv" >&2; exit 1; }
	@echo "weft: creating $(VENV)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml | $(BIN)/python
	@echo "weft: installing Weft and what it needs to run"
	@$(PIP_INSTALL) -e . || { echo "weft: pip could not install Weft; its message is above (is a package index reachable?)" >&2; exit 1; }
	@touch $@

$(DEV): pyproject.toml $(RUN)
	@echo "weft: installing the development tools"
	@$(PIP_INSTALL) -e '.[dev]' || { echo "weft: pip could not install the tools; its message is above (is a package index reachable?)" >&2; exit 1; }
	@touch $@

# Weft needs a C compiler when it runs, not to be installed.
compiler: $(RUN)
	@test -n "$$WEFT_CC" || command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 \
	    || command -v cc >/dev/null 2>&1 \
	    || $(BIN)/python -c 'import ziglang' 2>/dev/null || { \
	    echo "weft: no C compiler found (gcc, clang, or the one in WEFT_CC). Install one:" >&2; \
	    echo "      apt-get install gcc                              the system's" >&2; \
	    echo "      $(BIN)/python -m pip install -e '.[compiler]'    or one from the Python package index (pip install weft[compiler])" >&2; \
	    exit 1; }

# ---------------------------------------------------------------- the commands

demo: $(RUN) compiler
	@$(BIN)/python -m weft_bench.demo $(ARGS)

test: $(DEV) compiler
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(ARGS)

test-all: $(DEV) compiler
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

fuzz: $(DEV) compiler
	@$(BIN)/python -m tests.fuzz --programs $(PROGRAMS) --seed $(SEED) --jobs $(JOBS) $(ARGS)

# Five steps, in this order; `make -k check` goes on after one that fails.
check: check-format check-lint check-types check-imports check-sizes

check-format: $(DEV)
	@$(BIN)/ruff format --check

check-lint: $(DEV)
	@$(BIN)/ruff check

check-types: $(DEV)
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

check-imports: $(DEV)
	@$(BIN)/lint-imports

check-sizes: $(DEV)
	@$(BIN)/python tools/size_ratchet.py

fmt: $(DEV)
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
