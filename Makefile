# make demo   a newcomer's first look         make test   everything CI checks
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Development data lives beside the checkout here and in CI; nowhere else is it needed.
ifneq ($(wildcard ../shared/data),)
export CENTRALITY_DATA ?= $(abspath ../shared/data)
endif
SOURCES := src tests benchmarks docs paper

.PHONY: demo test mutation lint format web chromium java pictures tables benchmarks detection clean

demo: .venv/.demo
	$(BIN)/centrality demo

test: .venv/.test lint chromium java
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q

# Does a test fail when the code is wrong? All of it, or one module: make mutation MODULE=metrics
mutation: .venv/.test
	OMP_NUM_THREADS=1 nice -n 15 $(BIN)/python -m tests.mutation $(MODULE)

lint: .venv/.test
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.test
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

# The explorer's front end, from web/ into the package. Only who changes it needs Node; a test tells if it is stale.
web:
	cd web && npm ci --no-audit --no-fund && npm run build

# The explorer's page is tested in a real browser.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
chromium:
	@[ -n "$$CENTRALITY_CHROMIUM" ] || command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { $(SUDO) apt-get update -q && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qy chromium; } || \
	  echo "No Chromium: the tests of the explorer's page are skipped."

# Spark's adapter is tested on Spark, which runs on Java.
java:
	@command -v java >/dev/null || \
	  { $(SUDO) apt-get update -q && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qy default-jre-headless; } || \
	  echo "No Java: the test of the Spark adapter is skipped."

pictures: .venv/.test
	$(BIN)/python docs/pictures.py

tables: .venv/.test
	$(BIN)/python docs/tables.py

benchmarks: .venv/.test
	$(BIN)/python -m benchmarks.mixture
	$(BIN)/python -m benchmarks.learning
	$(BIN)/python -m benchmarks.depths
	$(BIN)/python -m benchmarks.modalities
	$(BIN)/python -m benchmarks.streams
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.onnx_runtime
	$(BIN)/python -m benchmarks.false_discoveries
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.explanations
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.explorer
	$(BIN)/python docs/tables.py

JOBS ?= 2
detection: .venv/.test
	$(BIN)/python -m benchmarks.detection --jobs $(JOBS)

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis demo

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[plots]"
	touch $@

.venv/.test: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	@# A peer for tests and benchmarks. Without its requirements: they ask for a torchvision that it does not use.
	$(BIN)/python -m pip install -q --no-deps data-depth==1.2.1.1 || echo "No data-depth: tests against it are skipped."
	touch $@ .venv/.demo
