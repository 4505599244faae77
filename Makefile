# `make check` is what .ci/run runs, in the virtual environment that is active (or in .venv).
BIN := $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV)/bin/,$(if $(wildcard .venv/bin/python),.venv/bin/,))
CHECKS := lint types layers test test-long test-oldest readme

.PHONY: check check-list $(CHECKS) bench screenshots

check: $(CHECKS)

check-list:
	@echo $(CHECKS)

lint:
	$(BIN)ruff check .
	$(BIN)ruff format --check .

types:
	$(BIN)mypy

layers:
	$(BIN)lint-imports --no-cache

# On the embedded Postgres, a temporary one.
test:
	$(BIN)pytest

# What the suite leaves out, about eight minutes: ten thousand generated values, kills at random, 200 MB, a million runs.
test-long:
	$(BIN)pytest -m long

# On Postgres 15, the oldest that Stepwell takes.
test-oldest:
	.ci/with-postgres-15 $(BIN)pytest

# The README's two commands in fresh copies, in homes of mode 0700; by root as an ordinary user too.
readme:
	.ci/readme

bench:
	$(BIN)python -m tests.benchmarks

screenshots:
	$(BIN)python screenshots/capture.py
