# The developer's whole interface. Needed: Python >= 3.11 with its headers and venv, a C++ compiler, make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
KERNELS := $(shell find src/capra -name '*.cpp' -o -name '*.hpp' -o -name '*.inl') CMakeLists.txt

.PHONY: setup demo test faults fuzz lint check docs wheel sanitize bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml $(KERNELS)
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@for compiler in $(CXX) c++ clang++; do command -v $$compiler > /dev/null && exit 0; done; \
	  echo "A C++ compiler is needed: apt-get install g++ (Debian, Ubuntu)"; exit 1
	@$(PYTHON) -c 'import sys, sysconfig, os.path; found = os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")); sys.exit(0 if found else "The headers of Python (Python.h) are needed: apt-get install python3-dev (Debian, Ubuntu)")'
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || { echo "The module venv is needed: apt-get install python3-venv (Debian, Ubuntu)"; exit 1; }
	@echo "Setting up .venv: this downloads packages and compiles for some minutes, without a word"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/capra demo

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Half an hour of nemesis for each engine, at the same time; `make faults MINUTES=1` is shorter.
MINUTES ?= 30

faults: setup
	CAPRA_KILLS=200 CAPRA_NEMESIS=$$((60 * $(MINUTES))) $(BIN)/python -m pytest -n 2 -rP tests/faults

# Every reader of files from elsewhere with damaged input, led by coverage, for so many seconds each.
SECONDS ?= 60

fuzz: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test

# A site that opens from the disk: build/site/index.html.
docs: setup
	$(BIN)/python docs/gather.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# dist/: the wheel of this machine's Python; cibuildwheel (pyproject.toml) makes those of all.
wheel: setup
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# Drives every kernel that has a tests/models/sanitize_NAME.cpp under the sanitizers: bad addresses, undefined behaviour, races.
SANITIZED := $(patsubst tests/models/sanitize_%.cpp,%,$(wildcard tests/models/sanitize_*.cpp))
PLAIN := $(filter-out %bindings.cpp %module.cpp,$(wildcard src/capra/models/kernels/*.cpp src/capra/models/kernels/*/*.cpp))

sanitize: $(foreach name,$(SANITIZED),build/sanitize/$(name).address build/sanitize/$(name).thread)
	set -e; for program in $^; do ./$$program; done

build/sanitize/%.address build/sanitize/%.thread: tests/models/sanitize_%.cpp $(KERNELS)
	mkdir -p $(@D)
	for kind in address,undefined thread; do \
	  $(CXX) -std=c++17 -O1 -g -march=native -Wall -Wextra -Werror -Wno-psabi -pthread -fno-sanitize-recover=all -fsanitize=$$kind \
	    -Isrc/capra/models/kernels $< $(PLAIN) -o build/sanitize/$*.$${kind%%,*} || exit 1; \
	done

# The experiments behind our figures, and what each needs; `.venv/bin/capra bench run NAME` makes one again.
bench: setup
	$(BIN)/capra bench list

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
