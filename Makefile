# What people and CI run. `make demo` and `make test` need Python 3.11 or newer, and nothing else.
#
#   make demo     install what the demo needs, then run three real jobs interleaved
#   make test     install what the tests need, then run all of them
#   make check    format, lint, types, layers and tests: what a change must pass
#   make fmt      format, and fix what can be fixed by itself
#   make venv     only install
#   make clean    remove all that was made
#
# Every path is relative, so that the directory may have any name. PYTHON=... chooses another interpreter.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

CANDIDATES := $(if $(PYTHON),'$(PYTHON)',python3.11 python3.12 python3.13 python3 python)
BIN := .venv/bin
comma := ,
# The pins hold in every pip command, also in those that pip runs itself to build the project.
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# A .venv that was copied here with the directory would run the code of the place it came from.
ifneq ($(shell test -f .venv/.here && test "$$(cat .venv/.here)" != "$$PWD" && echo moved),)
$(shell rm -rf .venv)
endif

.PHONY: help venv demo test lint check fmt coverage clean

help:
	@sed -n 's/^#   //p' Makefile

demo: .venv/.installed-demo
	$(BIN)/dagrl demo

test: .venv/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: .venv/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check: lint test

fmt: .venv/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

coverage: .venv/.installed-dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -m "not slow"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

venv: .venv/.installed-dev

define install
@echo "installing dagrl with $(1): a few minutes, once"
@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip
$(BIN)/python -m pip install --quiet -e '.[$(1)]'
endef

# A stamp is written last: an install that was interrupted is taken up again, a complete one is never repeated.
.venv/.installed-demo: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,torch$(comma)recipes)
	@touch $@

.venv/.installed-dev: pyproject.toml constraints.txt | .venv/bin/python
	$(call install,torch$(comma)recipes$(comma)dev)
	@touch $@ .venv/.installed-demo

.venv/bin/python:
	@for python in $(CANDIDATES); do \
	  if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "making .venv with $$("$$python" --version)"; \
	    rm -rf .venv && "$$python" -m venv .venv && pwd > .venv/.here && exit 0 || exit 1; \
	  fi; \
	done; \
	echo "dagrl needs Python 3.11 or newer with the venv module (Debian: apt-get install python3.11-venv);" >&2; \
	echo "none of these will do: $(subst ',,$(CANDIDATES)). Name another one: make PYTHON=/path/to/python" >&2; \
	exit 1

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
