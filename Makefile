# make demo   a newcomer's first look    make quick   the inner loop    make test   everything CI checks
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Development data lives beside the checkout here and in CI; nowhere else is it needed.
ifneq ($(wildcard ../shared/data),)
export CENTRALITY_DATA ?= $(abspath ../shared/data)
endif
# Tests start hundreds of processes: each would compile every module anew where Python may not keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE
SOURCES := src tests benchmarks docs paper web/header.py engine/hatch_build.py
ENGINE := $(wildcard engine/*.h engine/*.cpp engine/*.txt engine/*.map engine/hatch_build.py)

.PHONY: demo quick test test-engine test-cpus test-versions faults fuzz sanitize test-arm mutation coverage lint format web lint-web test-web chromium java docs release pictures house tables benchmarks detection clean

demo: .venv/.demo
	$(BIN)/centrality demo

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q

# Checks and the site, which fill no two cores by themselves, beside each other, and each one's words in one piece.
BESIDE := $(MAKE) --no-print-directory -j 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
test: .venv/.clusters chromium java
	$(BESIDE) docs lint test-web
	$(PYTEST)

# The numerical tests as on other CPUs, of which `make test` runs a few; ARGS=--record writes benchmarks/results/cpus.csv.
test-cpus: .venv/.test
	$(BIN)/python -m tests.cpus $(ARGS)

# The oldest and newest requirements, other Pythons, and the package without extras. Makes environments: minutes, GBs.
test-versions: .venv/.test
	$(BIN)/python tests/versions.py

# While one writes: what takes seconds, a browser, a cluster or data sets is left to `make test`.
quick: .venv/.test
	$(PYTEST) -m "not (slow or browser or cluster or spark or data)"

# Lines and branches that no test reaches, processes that tests start included.
coverage: .venv/.clusters chromium java
	$(PYTEST) --cov --cov-report=term

# Kills, full disks, cut inputs, lost folders, over every kind of job: results go to benchmarks/results/faults.csv.
faults: .venv/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.faults --record $(ARGS)

# Changed bytes into every way in: 100,000 cases, about a quarter of an hour; ARGS="--only csv --cases 1000" does less.
fuzz: .venv/.test
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --record $(ARGS)

# The kernels against long double, and the engine's sources without a warning, by each compiler that is here; and laid
# out as engine/.clang-format says, where there is a clang-format.
test-engine: .venv/.test
	! command -v clang-format >/dev/null || clang-format --dry-run --Werror engine/*.h engine/*.cpp
	for compiler in $$(command -v g++ clang++ clang++-14); do \
	  made=build/strict/$$(basename $$compiler); \
	  PATH=$(abspath $(BIN)):$$PATH cmake -S engine -B $$made -G Ninja -DSTRICT=ON -DUNIT_TESTS=ON -DCMAKE_CXX_COMPILER=$$compiler -DPython_EXECUTABLE=$(abspath $(BIN))/python >/dev/null && \
	  PATH=$(abspath $(BIN)):$$PATH cmake --build $$made && $(BIN)/python engine/run_tests.py $$made || exit 1; done

# The engine's tests with every access to memory and every piece of arithmetic watched.
SANITIZED := build/sanitized
sanitize: .venv/.test
	PATH=$(abspath $(BIN)):$$PATH cmake -S engine -B $(SANITIZED)/made -G Ninja -DSANITIZE=ON -DSTRICT=ON -DUNIT_TESTS=ON -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE=$(abspath $(BIN))/python
	PATH=$(abspath $(BIN)):$$PATH cmake --build $(SANITIZED)/made
	$(BIN)/python engine/run_tests.py $(SANITIZED)/made
	rm -rf $(SANITIZED)/src && cp -r src $(SANITIZED)/src && cp $(SANITIZED)/made/*.so $(SANITIZED)/src/centrality/engine/
	rm -f $(SANITIZED)/report.*
	for build in avx2 avx512 portable; do \
	  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" CENTRALITY_ENGINE=$$build \
	  ASAN_OPTIONS=detect_leaks=0:log_path=$(abspath $(SANITIZED))/report \
	  UBSAN_OPTIONS=print_stacktrace=1:log_path=$(abspath $(SANITIZED))/report \
	  PYTHONPATH=$(SANITIZED)/src $(BIN)/python -m pytest -q -p no:cacheprovider -m "not slow" tests/engine \
	  || { cat $(SANITIZED)/report.* 2>/dev/null; exit 1; }; done
	@! cat $(SANITIZED)/report.* 2>/dev/null  # pytest swallows what is printed: reports lie in files

# The engine as on an ARM CPU, emulated: its results must be the bits of this machine's.
FINGERPRINT := -std=c++17 -O3 -ffp-contract=off engine/fingerprint.cpp
test-arm:
	@mkdir -p build
	c++ $(FINGERPRINT) -DTARGET=portable -o build/fingerprint
	aarch64-linux-gnu-g++ $(FINGERPRINT) -static -DTARGET=neon -DENGINE_NEON -o build/fingerprint-arm
	@here=$$(build/fingerprint); there=$$(qemu-aarch64 build/fingerprint-arm); echo "here $$here, ARM $$there"; [ $$here = $$there ]

# Does a test fail when the code is wrong? All of it, or one module: make mutation MODULE=metrics
mutation: .venv/.test
	OMP_NUM_THREADS=1 nice -n 15 $(BIN)/python -m tests.mutation $(MODULE)

lint: .venv/.test lint-web
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/house.py --check

format: .venv/.test
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

# The explorer's front end, from web/ into the package. Only who changes it needs Node; a test tells if it is stale.
web: .venv/.test web/node_modules/.installed
	$(BIN)/python web/header.py
	cd web && npm run build

web/node_modules/.installed: web/package-lock.json web/.npmrc
	cd web && npm ci
	touch $@

# Its types, rules and tests: run where there is a Node for them, which CI must have.
NODE := $(shell node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null && command -v npm)
ifeq ($(NODE),)
lint-web test-web:
	@[ -z "$$CI" ] || { echo "CI wants Node 20 and npm for $@, and there is none."; exit 1; }
	@echo "No Node 20 with npm: $@, the front end's own checks, is skipped."
else
lint-web test-web: %-web: web/node_modules/.installed
	cd web && npm run -s $*
endif

# The explorer's page is tested in a real browser, and Spark's adapter on Spark, which runs on Java. Where one is missing
# and may not be installed from here, its tests are skipped; CI fails then.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
install = { $(SUDO) apt-get update -q && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qy $(1); } 2>/dev/null
chromium:
	@[ -n "$$CENTRALITY_CHROMIUM" ] || command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  $(call install,chromium) || \
	  echo "No Chromium: tests of the page are skipped. Install chromium, or set CENTRALITY_CHROMIUM to a browser's path."

java:
	@command -v java >/dev/null || $(call install,default-jre-headless) || \
	  echo "No Java: the test of the Spark adapter is skipped. Install a Java runtime (apt: default-jre-headless)."

# The site, in docs/_build/html: warnings are errors, pages with code are executed, those that did not change are kept.
# What pages show as printed is printed again and compared; every number in them must say where it comes from.
docs: .venv/.test
	@mkdir -p docs/_build/html/_static  # where a build fails, the theme would write its logo to a file of this name
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going -j 2 -b html docs docs/_build/html
	$(BIN)/python docs/check.py
	$(BIN)/python docs/number_sources.py
	$(BIN)/python docs/printed.py

# What is left to a person before a release; it uploads nothing.
release: .venv/.test
	$(BIN)/python .ci/release.py

pictures: .venv/.test
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/pictures_of_heads.py

house: .venv/.test
	$(BIN)/python docs/house.py

tables: .venv/.test
	$(BIN)/python docs/tables.py

# Every routine benchmark; ARGS=--old: those alone whose figures are old; ARGS=--check lists these, and fails.
benchmarks: .venv/.test
	$(BIN)/python -m benchmarks $(ARGS)
	$(BIN)/python docs/tables.py

JOBS ?= 2
detection: .venv/.test
	$(BIN)/python -m benchmarks.detection --jobs $(JOBS)

clean:
	rm -rf .venv .versions build dist docs/_build docs/api docs/cli web/node_modules .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis demo

.venv/bin/python:
	$(PYTHON) -m venv .venv

# The engine is compiled on the way: this needs a C++ compiler. Python compiles what is imported when it is: most of what
# lies there never is.
.venv/.demo: pyproject.toml constraints.txt $(ENGINE) | .venv/bin/python
	$(BIN)/python -m pip install -q --no-compile -c constraints.txt -e ".[plots]"
	touch $@

.venv/.test: pyproject.toml constraints.txt $(ENGINE) | .venv/bin/python
	$(BIN)/python -m pip install -q --no-compile -c constraints.txt -e ".[dev]"
	@# A peer for tests and benchmarks. Without its requirements: they ask for a torchvision that it does not use.
	$(BIN)/python -m pip install -q --no-deps data-depth==1.2.1.1 || echo "No data-depth: tests against it are skipped."
	touch $@ .venv/.demo

# Ray and Spark, which a sixth of the environment would be for: only `make test` needs them.
.venv/.clusters: pyproject.toml constraints.txt | .venv/.test
	$(BIN)/python -m pip install -q --no-compile -c constraints.txt -e ".[cluster,spark]"
	touch $@
