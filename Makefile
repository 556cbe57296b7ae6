# The developer's whole interface. Only Python >= 3.11, a C++ compiler and make are needed.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
KERNELS := $(shell find src/capra -name '*.cpp' -o -name '*.hpp') CMakeLists.txt

.PHONY: setup demo test faults lint check bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml $(KERNELS)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/capra demo

test: setup
	$(BIN)/python -m pytest -n 2

faults: setup
	CAPRA_KILLS=200 CAPRA_NEMESIS=30 $(BIN)/python -m pytest -n 2 -rP tests/faults

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test

bench: setup
	$(BIN)/python -m benchmarks.space

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
