# `make demo` and `make test` set up all they need in .venv, once; Python 3.10+ and make are enough.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types docs benchmark clean
.DEFAULT_GOAL := demo

# The environment is made anew only when what it is made from has changed.
.venv/ready: pyproject.toml constraints.txt
	@echo "Setting up .venv (once) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

demo: .venv/ready
	@$(BIN)/expunge demo $(ARGS)

# The data and vectors that some tests read; those tests say so and skip where EXPUNGE_SHARED is unset.
test: .venv/ready
	@$(BIN)/python -m pytest $(ARGS)

lint: .venv/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: .venv/ready
	@$(BIN)/basedpyright

docs: .venv/ready
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict # --quiet would count no warnings, and let broken links pass

# Small, and only ratios: fails where one is more than twice its target.
benchmark: .venv/ready
	@OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks --smoke

clean:
	rm -rf .venv site demo .pytest_cache .ruff_cache .hypothesis
