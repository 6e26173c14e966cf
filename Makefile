# One command for each thing a developer does. `make help` lists them.

PYTHON ?= python3
# One more than there are cores: tests with nodes wait for them more than they compute.
WORKERS ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) + 1 )))
BIN := .venv/bin
FIGURES := $(CURDIR)/bench/out/figures.jsonl
# Slow tests come in rows: a worker that has none left takes over half of another's.
PYTEST := $(BIN)/pytest -q -n $(WORKERS) --dist worksteal
# A test with Spark is several processes that compute: no more of them at once than there are cores.
PYTEST_SPARK := $(BIN)/pytest -q -n $(shell nproc 2>/dev/null || echo 2) --dist worksteal
CODE := src tests tools bench demo examples setup.py

# The tests start hundreds of nodes, each of which would compile all that it imports, wherever this is set.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup check test lint types format docs spark-versions bench demo tour soak clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

setup: ## Make everything ready: system packages, .venv, the odradek command
	@PYTHON="$(PYTHON)" tools/setup.sh

lint: setup ## Formatting and lint
	@$(BIN)/ruff format --quiet --check $(CODE) || { echo "make format would change the files above"; exit 1; }
	@$(BIN)/ruff check --quiet $(CODE)

types: setup ## mypy --strict over the package, the tools, the benchmarks and the demo
	@$(BIN)/mypy --no-error-summary
	@MYPYPATH=src:tests:tools $(BIN)/mypy --no-error-summary tools/*.py setup.py
	@MYPYPATH=src:bench:tests $(BIN)/mypy --no-error-summary bench/*.py
	@$(BIN)/mypy --no-error-summary --explicit-package-bases demo/*.py

format: setup ## Let ruff format and fix what it can
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

check: lint types ## Lint, types and the quick tests: under two minutes
	@$(PYTEST) -m "not slow and not peer" tests/unit $(wildcard tests/spec)

test: lint types ## Everything but the soak: also Apache Kafka, simulation, fuzzing; prints its figures
	@$(BIN)/python tools/peers.py kafka spark-kafka >/dev/null
	@mkdir -p $(dir $(FIGURES)) && rm -f $(FIGURES)
	@export ODRADEK_FIGURES=$(FIGURES); $(PYTEST) --ignore tests/spark --ignore tests/soak; status=$$?; \
	$(PYTEST_SPARK) tests/spark || status=$$?; $(BIN)/python tools/report.py $(FIGURES); exit $$status

SOAK_FACTOR ?= 50
SOAK_FUZZ_SECONDS ?= 1800
SOAK_STEADY_SECONDS ?= 1800
UNLIMITED := --timeout 0 -o faulthandler_timeout=0
soak: setup ## The long counts: simulations SOAK_FACTOR times over, 50 million frames, a million requests, guided fuzzing, a node under load; hours
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/soak.lock
	@for target in frames records; do \
		$(BIN)/python tests/fuzz/guided.py $$target -max_total_time=$(SOAK_FUZZ_SECONDS) -print_final_stats=1 || exit 1; done
	@mkdir -p $(dir $(FIGURES)) && rm -f $(FIGURES)
	@export ODRADEK_FIGURES=$(FIGURES) ODRADEK_SOAK_FACTOR=$(SOAK_FACTOR) ODRADEK_FUZZ_FRAMES=$$((1000000 * $(SOAK_FACTOR))) \
	ODRADEK_ORACLE_EXAMPLES=$$((4 * $(SOAK_FACTOR))) ODRADEK_STEADY_SECONDS=$(SOAK_STEADY_SECONDS); \
	$(PYTEST) $(UNLIMITED) tests/sim tests/fuzz tests/unit/protocol/test_oracles.py tests/system/test_disk_full.py \
	tests/system/test_controllers_kill.py tests/system/test_data_kill.py tests/system/test_steady_load.py tests/system/test_service.py; \
	status=$$?; $(PYTEST_SPARK) $(UNLIMITED) tests/soak tests/spark/test_spark_exactly_once.py tests/spark/test_pipeline_live.py || status=$$?; \
	$(BIN)/python tools/report.py $(FIGURES); exit $$status

# An environment of its own: the site needs no Spark, and its packages do not have to agree with those of dev.lock.
DOCS_ENV := build/docs-env
$(DOCS_ENV)/.installed: requirements/docs.lock
	@$(PYTHON) -m venv --clear $(DOCS_ENV)
	@$(DOCS_ENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.lock
	@touch $@

docs: $(DOCS_ENV)/.installed ## The documentation site with an API reference, in build/docs; fails on a warning
	@$(DOCS_ENV)/bin/python tools/make_site.py
	@$(DOCS_ENV)/bin/mkdocs build --quiet --strict
	@echo "build/docs/index.html"

VERSIONS ?=
spark-versions: setup ## A part of tests/spark with each supported version of Spark; VERSIONS="4.1.4 4.3.0" takes some
	@$(BIN)/python tools/spark_versions.py $(VERSIONS)

BENCH ?=
bench: setup ## Operations beside their floor, nodes beside Apache Kafka's; BENCH="brokers --quick" runs some
	@$(BIN)/python bench/run.py $(BENCH)

DEMO ?=
demo: setup ## A shop's events through three nodes and a pipeline on Spark, with two kills, accounted for; DEMO="--seconds 60"
	@$(BIN)/python -m demo.run $(DEMO)

tour: setup ## A short tour of the quorum and of the disk, Apache Kafka beside them
	@$(BIN)/python tools/tour.py

clean: ## Remove everything that was built, and .venv; the peers' cache stays
	@rm -rf .venv build dist src/*.egg-info .mypy_cache .ruff_cache .hypothesis bench/out
	@find $(CODE) -name __pycache__ -prune -exec rm -rf {} +
	@find src -name '*.so' -delete
