# A fresh machine needs Python 3.11 or newer and make; the rest is installed into .venv. Java is found, or installed
# where apt-get may be used: see scripts/find-java.

PYTHON ?= python3
# More words for the command that is run: make test ARGS="-k sweep", make bench-filters ARGS="--rows 100000"
ARGS ?=

BIN := .venv/bin
INSTALLED := .venv/.installed
# The oldest PySpark we support, for the tests that ask whether that is true; py4j and the rest are those of .venv.
OLDEST_SPARK := 4.1.4
OLDEST := .cache/pyspark-4.1
# Not `export JAVA_HOME=$$(...)`: export would hide that find-java failed.
WITH_JAVA = JAVA_HOME=$$(scripts/find-java) && export JAVA_HOME &&

# Python keeps what it has compiled, also where a shell or an image says not to: the tests start many processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup oldest-spark compiled check checked-and-compiled test test-long demo bench bench-filters bench-generated bench-joins-local bench-joins bench-sql walk lab format clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1 /p' Makefile | while read -r target line; do \
		printf '  make %-17s %s\n' "$$target" "$$line"; done

setup: $(INSTALLED) ## make .venv with everything in it, and find Java
	@scripts/find-java > /dev/null

# pip 25.3 and newer take the build's versions from PIP_BUILD_CONSTRAINT, older ones from PIP_CONSTRAINT.
$(INSTALLED): export PIP_CONSTRAINT := constraints.txt
$(INSTALLED): export PIP_BUILD_CONSTRAINT := constraints.txt
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Thalweg needs Python 3.11 or newer and '$(PYTHON)' is not: install one and name it, as in 'make setup PYTHON=python3.12'." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "setup: making .venv"; $(PYTHON) -m venv .venv 2> /dev/null \
		|| { $(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip -qq --python $(BIN)/python install pip; } \
		|| { rm -rf .venv; echo "'$(PYTHON)' can make no virtual environment: install pip or its venv package, as in 'apt-get install python3-venv'." >&2; exit 1; }; }
	@echo "setup: installing Thalweg and its dependencies into .venv (some minutes the first time)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[spark,connect,lab,dev]'
	@touch $@

oldest-spark: $(OLDEST)/pyspark ## fetch PySpark 4.1 for the test that runs on it (some 450 MB)

# Moved when complete. Without the package index the test says that it was left out; where CI is set, it fails.
$(OLDEST)/pyspark: | $(INSTALLED)
	@echo "setup: fetching PySpark $(OLDEST_SPARK) into $(OLDEST)"
	@rm -rf $(OLDEST) $(OLDEST).part
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --target $(OLDEST).part \
		pyspark==$(OLDEST_SPARK) && mv $(OLDEST).part $(OLDEST) || echo "setup: that failed; going on without it" >&2

compiled: $(INSTALLED) ## compile the loops of joins, which are cached beside the package
	@$(BIN)/python -c 'from thalweg.kernels.warm_up import warm_up; warm_up()'

check: $(INSTALLED) ## lint, format, types, import contracts
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

# Side by side: each takes one core.
checked-and-compiled: setup
	@$(MAKE) --no-print-directory compiled & other=$$!; \
		$(MAKE) --no-print-directory check; checked=$$?; wait $$other && exit $$checked

# Two processes, each with a Spark of its own, since tests of Spark mostly wait; files stay whole, and are taken in the
# order that tests/conftest.py gives them, not by how many tests they have. Loops are compiled before, once, and not by
# every process of the tests at the same time.
test: setup oldest-spark checked-and-compiled ## check, then every test and doctest: what CI runs (ARGS go to pytest)
	@$(WITH_JAVA) $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

# What passes is kept in .cache, so that a run that was interrupted goes on; see tests/long_run.py.
test-long: setup oldest-spark compiled ## what is too long for make test, at most an hour; goes on where it was interrupted
	@$(WITH_JAVA) $(BIN)/pytest --long -v -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

demo: setup ## see the adaptive filters at work on a local Spark
	@$(WITH_JAVA) $(BIN)/thalweg demo $(ARGS)

bench: bench-filters bench-generated bench-joins-local bench-joins bench-sql ## every benchmark

bench-filters: setup ## filter chains against plain Spark and what a careful user writes
	@$(WITH_JAVA) $(BIN)/python -m bench.filters $(ARGS)

bench-generated: setup ## filter chains drawn from a seed, every policy on each: ARGS="--seed 7", --virtual, --spark
	@$(WITH_JAVA) $(BIN)/python -m bench.generated $(ARGS)

bench-joins-local: $(INSTALLED) ## windowed joins in one process against DuckDB, Polars and trees
	@$(BIN)/python -m bench.joins.local $(ARGS)

bench-joins: setup ## windowed joins on Spark against Spark's own, a quarter of an hour
	@$(WITH_JAVA) $(BIN)/python -m bench.joins.spark $(ARGS)

bench-sql: setup ## what going through SQL costs: planning, and against the same calls and Spark SQL
	@$(WITH_JAVA) $(BIN)/python -m bench.sql $(ARGS)

walk: setup ## count the files of src that a batch passes through: ARGS="filter join --list"
	@$(WITH_JAVA) $(BIN)/python -m bench.walk $(ARGS)

lab: $(INSTALLED) ## the papers' experiments, some minutes; pages and figures go to docs/lab
	@$(BIN)/thalweg lab --out docs/lab $(ARGS)

format: $(INSTALLED) ## rewrite the code in the house format
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

clean: ## remove everything that make made
	rm -rf .venv .cache build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
