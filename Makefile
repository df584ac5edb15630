# Everything from a bare checkout: each target makes .venv ready first. Needs make and Python 3.11 or later.

PYTHON ?= python3
ROUNDS ?= 25
SECONDS ?= 300
SEED ?=
ARGS ?=

venv := .venv/bin/python
apart := --ignore=tests/perf --ignore=tests/browser
browser := $(venv) -m pytest -n 2 --dist loadfile tests/browser -m "not slow"

# Where it is set, each of the hundreds of processes that the tests start would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

# What is measured beside us; nothing else needs it.
peers := .venv/bin/python -c "import numpy, phevaluator" 2>/dev/null \
	|| .venv/bin/python -m pip install -qq --no-build-isolation -e ".[perf]"

.DEFAULT_GOAL := help
.PHONY: help setup run test test-browser slow check mutants perf perf-data flame fuzz soak test-vm test-linked deb test-deb sbom kill-sweep lost-sync lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

setup: .venv/ready ## make .venv ready; the other targets do it by themselves
	@:

run: .venv/ready ## a demonstration with simulated devices (ROUNDS=25)
	@.venv/bin/feltd demo --rounds $(ROUNDS) --irregularities --seed 1

# Playwright has an event loop of its own: the browser's tests are a second process. Exit code 5 is that
# ARGS chose none of its tests.
test: .venv/ready ## all tests but the slow ones, the browser's at the end (ARGS= for pytest)
	@failed=; \
	$(venv) -m pytest -n 5 --dist worksteal $(apart) -m "not slow and not soak and not vm and not deb" $(ARGS) || failed=1; \
	$(browser) $(ARGS) || test "$$?$(if $(ARGS),,none)" = 5 || failed=1; \
	test -z "$$failed"

test-browser: .venv/ready ## the console in a real browser alone
	@$(browser) $(ARGS)

slow: .venv/ready ## the tests that take long
	@$(venv) -m pytest -n 2 --dist worksteal $(apart) -m slow $(ARGS)

test-linked: .venv/ready ## the linked pool at length: kill -9, failover, a thousand royals at once (a PostgreSQL server)
	@$(venv) -m pytest tests/linked $(ARGS)

test-vm: .venv/ready ## in a virtual machine: real USB, real systemd (root; docs/testing-vm.md)
	@$(venv) -m tests.vm.image
	@$(venv) -m pytest -m vm tests/vm $(ARGS)

deb: .venv/ready ## the Debian package, into dist/
	@$(venv) -m tools.deb

test-deb: .venv/ready ## that package in a fresh Debian: install, upgrade, remove, purge (root)
	@$(venv) -m pytest -m deb tests/packaging $(ARGS)

sbom: .venv/ready ## what the package brings, as CycloneDX, into dist/
	@$(venv) -m tools.sbom

soak: .venv/ready ## devices that are away (four minutes), and faults on fresh seeds (SECONDS=300 SEED=)
	@SOAK_SIMULATE=$(SECONDS) SOAK_SEED=$(SEED) $(venv) -m pytest -m soak --timeout 900 -s tests/soak $(ARGS)

fuzz: .venv/ready ## random and changed bytes for every decoder (FUZZ_N=1000000), then Atheris (FUZZ_SECONDS=20)
	@$(venv) -c "import atheris" 2>/dev/null || $(venv) -m pip install -qq --no-build-isolation -e ".[fuzz]" \
		|| echo "no Atheris for this Python: only random and changed bytes" >&2
	@$(venv) -m tests.fuzz

kill-sweep: .venv/ready ## kill the table at every point of a round, fail every call (long; docs/durability.md)
	@$(venv) -m tests.durability kill-sweep $(ARGS)

lost-sync: .venv/ready ## 500 power cuts a round: nothing that was acknowledged is lost
	@$(venv) -m tests.durability lost-sync $(ARGS)

mutants: .venv/ready ## one deliberate mistake for each clause: its test must find it
	@$(venv) -m tools.mutants

check: .venv/ready ## lint, format, types, import rules: all four, then fail if one did
	@failed=; \
	$(venv) -m ruff check . || failed=1; \
	$(venv) -m ruff format --check . || failed=1; \
	$(venv) -m mypy || failed=1; \
	.venv/bin/lint-imports --no-logo || failed=1; \
	test -z "$$failed"

perf: .venv/ready perf-data ## measure what has a figure to keep (docs/performance.md)
	@$(peers)
	@$(venv) -m tests.perf

flame: .venv/ready ## where the time of an event goes, as docs/images/event-path.svg
	@$(peers)
	@.venv/bin/py-spy record --rate 500 --format flamegraph --output docs/images/event-path.svg \
		-- $(venv) -m tests.perf.flame

perf-data: .venv/ready ## two journals for it, of a million inputs and of a thousand; built once, in minutes
	@$(venv) -m tests.perf.history

lock: .venv-lock/bin/pip-compile ## pin the newest releases that pyproject.toml allows
	@CUSTOM_COMPILE_COMMAND="make lock" .venv-lock/bin/python -m piptools compile --quiet --upgrade \
		--generate-hashes --allow-unsafe --strip-extras --all-build-deps --extra dev \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
		--output-file requirements.lock pyproject.toml

clean: ## remove .venv and everything that tools left behind
	rm -rf .venv .venv-lock build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# The editable install names this folder: a checkout that was moved or copied is set up again.
ifneq ($(shell cat .venv/ready 2>/dev/null),$(shell pwd))
.PHONY: .venv/ready
endif

.venv/ready: requirements.lock pyproject.toml tools/setup.sh
	@sh tools/setup.sh "$(PYTHON)"

.venv-lock/bin/pip-compile:
	@"$(PYTHON)" -m venv .venv-lock
	@.venv-lock/bin/python -m pip install --quiet pip-tools
