# Everything a contributor or CI runs. `make` alone lists the targets.
# Needs Python 3.11+, a Rust toolchain and make; `.ci/preflight` reports what is missing.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The first Python new enough; `make PYTHON=...` overrides.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; exit; }; done; echo python3)

VENV := .venv
BIN := $(VENV)/bin
BUILD := .build
PYTEST := $(BIN)/python -m pytest
# Processes that run Python tests, twice as many as processors: half of their time they wait for servers and for processes
# of their own. `make test JOBS=0` runs them in one.
JOBS ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))
RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find rust/core rust/hook rust/py rust/session -name '*.rs' -o -name Cargo.toml 2>/dev/null)
PY_DIRS := python tests benches examples docs/site rust/profile
PROFILES := $(wildcard rust/profile/*.profdata rust/profile/*.py)
say = @printf '\n==> %s\n' "$(1)"

.PHONY: help
help:  ## list the targets
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):.*##/\1:/p' Makefile | awk -F': +' '{printf "  %-14s %s\n", $$1, $$2}'

.PHONY: preflight
preflight:  ## check this machine for the required tools
	@.ci/preflight "$(PYTHON)"

$(VENV)/pyvenv.cfg: | preflight
	$(call say,creating $(VENV) with $(PYTHON))
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(BUILD)/deps: .ci/requirements-dev.txt $(VENV)/pyvenv.cfg
	$(call say,installing the locked dependencies into $(VENV))
	$(BIN)/python -m pip install --progress-bar=off -r .ci/requirements-dev.txt
	@mkdir -p $(BUILD) && touch $@

$(BUILD)/extension: $(BUILD)/deps $(RUST_SOURCES) $(PROFILES) | preflight
	$(call say,building the Rust core in release mode (a few minutes the first time))
	eval "$(BIN)/python -m maturin develop --release --locked $$($(PYTHON) rust/profile/profile_flags.py)"
	$(BIN)/python rust/profile/hook_script.py $(BIN)
	@touch $@

.PHONY: setup
setup: $(BUILD)/deps  ## create .venv and install the dependencies

.PHONY: build
build: $(BUILD)/extension  ## build the Rust core and the native hook (release) into .venv, when their sources changed

.PHONY: profile
profile: setup  ## record a new profile of hot paths in rust/profile/, for this compiler
	$(call say,profile)
	$(BIN)/python benches/training.py

.PHONY: wheel
wheel: preflight  ## build the wheel into dist/
	$(call say,wheel)
	rm -f dist/*.whl
	.ci/wheel "$(PYTHON)" dist

.PHONY: demo
demo: build  ## compile a policy, run an agent behind it, explain a denial; no network, no key
	$(call say,demo)
	@$(BIN)/python examples/demo.py

.PHONY: test
test: test-rust test-python  ## run all tests: those of the Rust core, then those in Python, two processes a core

.PHONY: test-python
test-python: build  ## run the tests in Python
	$(call say,tests)
	.ci/tests $(BIN)/python -n $(JOBS) --dist loadfile --benchmark-disable

.PHONY: test-rust
test-rust: setup  ## run the tests of the Rust core
	$(call say,cargo test)
	cargo test --locked --package bobcat-core --package bobcat-hook --package bobcat-session --features bobcat-core/analysis

.PHONY: smoke-pythons
smoke-pythons: build  ## try the build on every other CPython from 3.11 on that this machine has
	$(call say,other versions of Python)
	@.ci/pythons smoke $(BIN)/python

.PHONY: test-pythons
test-pythons: wheel  ## test the wheel on every CPython from 3.11 on that this machine has
	$(call say,other versions of Python)
	.ci/pythons wheel $(BUILD) dist/*.whl

.PHONY: check-install
check-install: wheel  ## install the wheel in clean systems without Rust, and the source distribution; needs root and Debian's mirror
	$(call say,clean systems)
	.ci/chroot-smoke dist/*.whl
	$(call say,source distribution)
	.ci/sdist-smoke "$(PYTHON)" dist
	$(call say,crate)
	.ci/crate

.PHONY: check-doors
check-doors: build  ## run the doors of agent frameworks with the real frameworks, each in its environment; DOOR=NAME for one
	$(call say,doors)
	PYTHON=$(BIN)/python .ci/doors $(DOOR)

$(BUILD)/docs-env/done: .ci/requirements-docs.txt
	$(call say,an environment for the documentation site)
	$(PYTHON) -m venv $(BUILD)/docs-env
	$(BUILD)/docs-env/bin/python -m pip install --quiet --disable-pip-version-check -r .ci/requirements-docs.txt
	@touch $@

.PHONY: docs
docs: $(BUILD)/docs-env/done  ## build the documentation site into .build/site, and check its links
	$(call say,documentation site)
	NO_MKDOCS_2_WARNING=1 $(BUILD)/docs-env/bin/mkdocs build --strict --quiet
	$(BUILD)/docs-env/bin/python docs/site/check.py $(BUILD)/site

.PHONY: docs-serve
docs-serve: $(BUILD)/docs-env/done  ## show the documentation at http://127.0.0.1:8000, built again when a page changes
	NO_MKDOCS_2_WARNING=1 $(BUILD)/docs-env/bin/mkdocs serve --watch docs/site

.PHONY: docs-write
docs-write: build  ## write the pages and drawings that have a source: API reference, contents, drawings, badges, recording
	for maker in contents diagrams badges recording; do $(BIN)/python docs/site/$$maker.py || exit; done
	BOBCAT_UPDATE_API=1 $(PYTEST) -q tests/docs/test_api_reference.py

.PHONY: docs-test
docs-test: build  ## run the examples of the README and docs/
	$(PYTEST) tests/docs

.PHONY: check-hooks
check-hooks: build  ## run the hook in the real coding agents, installed into .build/hosts, with a model on this machine
	$(call say,coding agents)
	PYTHON=$(BIN)/python .ci/hosts $(BUILD)/hosts
	BOBCAT_HOSTS=$(BUILD)/hosts $(PYTEST) tests/hooks/real

.PHONY: check-mcp
check-mcp: build  ## run the MCP conformance suite with and without the proxy; installs it into .build/mcp-conformance
	$(call say,MCP conformance)
	.ci/mcp-conformance $(BUILD)/mcp-conformance
	BOBCAT_MCP_CONFORMANCE=$(abspath $(BUILD)/mcp-conformance) $(PYTEST) -s tests/mcp_proxy/test_conformance.py

.PHONY: fmt
fmt: setup  ## format Python and Rust
	$(BIN)/ruff format $(PY_DIRS)
	$(BIN)/ruff check --select I --fix --quiet $(PY_DIRS)
	cargo fmt --all

.PHONY: fmt-check
fmt-check: setup  ## fail if `make fmt` would change a file
	$(call say,formatting)
	$(BIN)/ruff format --check $(PY_DIRS)
	cargo fmt --all --check

.PHONY: lint
lint: setup  ## lint Python, Rust, its documentation and the import contracts
	$(call say,lint)
	$(BIN)/ruff check $(PY_DIRS)
	PYTHONPATH=python $(BIN)/lint-imports
	cargo clippy --locked --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --quiet --locked --workspace --no-deps --features bobcat-core/analysis

.PHONY: types
types: mypy stubs  ## mypy --strict, and the stub of the Rust module against the module

.PHONY: mypy
mypy: setup
	$(call say,types)
	$(BIN)/mypy

.PHONY: stubs
stubs: build
	$(call say,stubs)
	$(BIN)/python -m mypy.stubtest bobcat._core

.PHONY: bench-gate
bench-gate: gate-counts gate-times  ## measure decisions against lynx-agent and a floor in C, count instructions; fail when they are worse

.PHONY: gate-counts
gate-counts: build
	$(call say,instructions)
	$(BIN)/python benches/instructions/gate.py

.PHONY: gate-times
gate-times: build
	$(call say,performance gate)
	$(BIN)/python benches/gate.py
	$(call say,wide workloads beside a floor in C)
	PYTHONPATH=benches $(BIN)/python -m wide.gate

# Two at a time: the last step of the build has one thread. Nothing runs beside what is timed, or beside the tests, which
# use all cores themselves.
PAIRS := -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: check
check:  ## all that CI runs; the test summary comes last
	$(MAKE) $(PAIRS) build fmt-check lint docs test-rust mypy gate-counts stubs
	$(MAKE) gate-times smoke-pythons test-python

.PHONY: check-slow
check-slow: check test-pythons check-campaigns check-fuzz check-doors check-hooks check-mcp check-install check-audit  ## check, then all that takes long

.PHONY: check-campaigns
check-campaigns: build  ## run the long campaigns
	$(call say,campaigns)
	BOBCAT_CAMPAIGN=$${BOBCAT_CAMPAIGN:-20000} $(PYTEST) -m campaign --durations=20
	$(call say,wide workloads of random seeds)
	PYTHONPATH=benches $(BIN)/python -m wide.gate --random 10

.PHONY: check-fuzz
check-fuzz: setup  ## run every fuzz target
	$(call say,fuzzing)
	.ci/fuzz

.PHONY: check-audit
check-audit:  ## audit the Rust dependencies, and check the workflows against their schema
	$(call say,dependency audit)
	.ci/audit
	$(call say,workflows)
	PYTHON="$(PYTHON)" .ci/lint-workflows

.PHONY: bench
bench: build  ## measure everything against lynx-agent; writes benches/results.json and the README's figures
	$(call say,benchmarks)
	$(BIN)/python benches/compare.py

$(BUILD)/engines/pyvenv.cfg: benches/engines/requirements.txt | preflight
	$(call say,installing the engines to compare with into $(BUILD)/engines)
	$(PYTHON) -m venv $(BUILD)/engines
	$(BUILD)/engines/bin/python -m pip install --progress-bar=off -r benches/engines/requirements.txt
	@touch $@

.PHONY: bench-engines
bench-engines: build $(BUILD)/engines/pyvenv.cfg  ## measure decisions against other engines; writes benches/results-engines.json
	$(call say,other engines)
	PYTHONPATH=python:benches $(BUILD)/engines/bin/python -m engines.run

.PHONY: bench-shapes
bench-shapes: build  ## measure hard policies, single calls, batches and memory; writes benches/results-shapes.json
	$(call say,shapes)
	PYTHONPATH=benches $(BIN)/python -m shapes.run

.PHONY: bench-wide
bench-wide: build  ## measure decisions of wide workloads against a floor in C; writes benches/results-wide.json and the page's figures
	$(call say,wide workloads)
	PYTHONPATH=benches $(BIN)/python -m wide.run --keep benches/results-wide.json

.PHONY: bench-log
bench-log: build  ## measure appends to decision logs, starting PostgreSQL
	$(BIN)/python benches/decision_log.py

.PHONY: bench-hooks
bench-hooks: build  ## measure what the hook adds to a tool call in the real coding agents, installed into .build/hosts
	PYTHON=$(BIN)/python .ci/hosts $(BUILD)/hosts
	PYTHONPATH=tests BOBCAT_HOSTS=$(BUILD)/hosts $(BIN)/python tests/hooks/real/measure.py

.PHONY: bench-stores
bench-stores: build  ## measure stores, starting PostgreSQL and Redis; writes benches/stores_results.json
	$(call say,stores)
	$(BIN)/python benches/stores.py --json > $(BUILD)/stores_results.json
	mv $(BUILD)/stores_results.json benches/stores_results.json

.PHONY: bench-startup
bench-startup: build  ## measure the start of a worker, the commands and the hook; writes benches/startup_results.json and the page's figures
	$(call say,start-up)
	$(BIN)/python benches/startup.py --keep benches/startup_results.json

.PHONY: bench-threads
bench-threads: build  ## measure threads and the ledger, starting PostgreSQL; writes benches/threads_results.json and the page's figures
	$(call say,threads)
	$(BIN)/python benches/threads.py --keep benches/threads_results.json

.PHONY: bench-memory
bench-memory: build  ## measure rules that remember; writes benches/memory_results.json and the page's figures
	$(call say,rules that remember)
	$(BIN)/python benches/memory.py --keep benches/memory_results.json

$(BUILD)/durable-peers/pyvenv.cfg: benches/durable_peers/requirements.txt | preflight
	$(call say,an environment for DBOS)
	$(PYTHON) -m venv $(BUILD)/durable-peers
	$(BUILD)/durable-peers/bin/python -m pip install --progress-bar=off -r benches/durable_peers/requirements.txt
	touch $@

.PHONY: bench-dbos
bench-dbos: build $(BUILD)/durable-peers/pyvenv.cfg  ## measure durable runs beside DBOS on PostgreSQL; writes benches/dbos_results.json and the page's figures
	$(call say,beside DBOS)
	$(BIN)/python benches/beside_dbos.py --dbos-python $(BUILD)/durable-peers/bin/python --keep benches/dbos_results.json

.PHONY: bench-workers
bench-workers: build  ## measure workers, and the recovery of runs of killed ones; writes benches/workers_results.json
	$(call say,workers)
	$(BIN)/python benches/workers.py --json > $(BUILD)/workers_results.json
	mv $(BUILD)/workers_results.json benches/workers_results.json

.PHONY: release
release:  ## date the section of the version in CHANGELOG.md (DATE=YEAR-MONTH-DAY, today by default), and try to publish the crate
	@.ci/version --date $(DATE)
	$(PYTHON) docs/site/badges.py
	.ci/crate

.PHONY: next-version
next-version:  ## begin the version VERSION: in Cargo.toml, the locks, the pages that show it, and CHANGELOG.md
	@.ci/version --begin $(VERSION)
	$(PYTHON) docs/site/badges.py

.PHONY: lock
lock: setup  ## update the locked Python dependencies; writes uv.lock and .ci/requirements-dev.txt
	.ci/lock $(BIN)

.PHONY: clean
clean:  ## remove .venv and everything built
	rm -rf $(VENV) $(BUILD) target rust/fuzz/target .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .grimp_cache .hypothesis .benchmarks
	find python tests benches examples -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/bobcat/_core*.so
