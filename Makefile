# The same checks as .ci/run, in the virtual environment that is active (or in .venv).
BIN := $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV)/bin/,$(if $(wildcard .venv/bin/python),.venv/bin/,))

.PHONY: check lint types layers test bench screenshots

check: lint types layers test

lint:
	$(BIN)ruff check .
	$(BIN)ruff format --check .

types:
	$(BIN)mypy

layers:
	$(BIN)lint-imports --no-cache

test:
	$(BIN)pytest

bench:
	$(BIN)python -m tests.benchmarks

screenshots:
	$(BIN)python screenshots/capture.py
