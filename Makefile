# A fresh machine needs Python 3.11 or newer and make; the rest is installed into .venv. Java is found, or installed
# where apt-get may be used: see scripts/find-java.

PYTHON ?= python3
# More arguments for the command: make test ARGS="-k sweep", make bench-filters ARGS="--rows 100000"
ARGS ?=

BIN := .venv/bin
INSTALLED := .venv/.installed
DOCS_INSTALLED := .venv/.installed-docs
# The oldest PySpark we support, for the tests that ask whether that is true; py4j and the rest are those of .venv.
OLDEST_SPARK := 4.1.4
OLDEST := .cache/pyspark-4.1
# Not `export JAVA_HOME=$$(...)`: export would hide that find-java failed.
WITH_JAVA = JAVA_HOME=$$(scripts/find-java) && export JAVA_HOME &&
# Two processes, each with its own Spark, since tests of Spark mostly wait. A file runs in one process, and files run in
# the order of tests/conftest.py, not by their number of tests.
IN_PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder

# Python keeps what it has compiled, also where a shell or an image says not to: the tests start many processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup oldest-spark compiled check checked-and-compiled test test-all test-long coverage demo bench bench-filters bench-generated bench-joins-local bench-joins bench-plans bench-charts bench-mesh bench-sql walk house lab prose docs pictures format clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1 /p' Makefile | while read -r target line; do \
		printf '  make %-17s %s\n' "$$target" "$$line"; done

setup: $(INSTALLED) ## make .venv with everything in it, and find Java
	@scripts/find-java > /dev/null

# pip 25.3 and newer take the build's versions from PIP_BUILD_CONSTRAINT, older ones from PIP_CONSTRAINT.
$(INSTALLED) $(DOCS_INSTALLED): export PIP_CONSTRAINT := constraints.txt
$(INSTALLED) $(DOCS_INSTALLED): export PIP_BUILD_CONSTRAINT := constraints.txt
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Thalweg needs Python 3.11 or newer and '$(PYTHON)' is not: install one and name it, as in 'make setup PYTHON=python3.12'." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "setup: making .venv"; $(PYTHON) -m venv .venv 2> /dev/null \
		|| { $(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip -qq --python $(BIN)/python install pip; } \
		|| { rm -rf .venv; echo "'$(PYTHON)' can make no virtual environment: install pip or its venv package, as in 'apt-get install python3-venv'." >&2; exit 1; }; }
	@echo "setup: installing Thalweg and its dependencies into .venv (a few minutes the first time)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[spark,connect,lab,dev]'
	@touch $@

oldest-spark: $(OLDEST)/pyspark ## fetch PySpark 4.1 for the tests that run on it (about 450 MB)

# Moved when complete. Without the package index the tests are skipped with a message; if CI is set, they fail.
$(OLDEST)/pyspark: | $(INSTALLED)
	@echo "setup: fetching PySpark $(OLDEST_SPARK) into $(OLDEST)"
	@rm -rf $(OLDEST) $(OLDEST).part
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --target $(OLDEST).part \
		pyspark==$(OLDEST_SPARK) && mv $(OLDEST).part $(OLDEST) || echo "setup: the download failed; continuing without it" >&2

compiled: $(INSTALLED) ## compile the loops of joins; the result is cached beside the package
	@$(BIN)/python -m thalweg.kernels.warm_up

check: $(INSTALLED) ## lint, format, types (also of the examples), import contracts, language rules
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@for example in examples/*/run.py; do MYPYPATH=examples $(BIN)/mypy --no-error-summary $$example || exit 1; done
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python scripts/prose.py

# In parallel: each takes one core. Loops are compiled once in advance, not by every test process at the same time.
checked-and-compiled: setup
	@$(MAKE) --no-print-directory compiled & other=$$!; \
		$(MAKE) --no-print-directory check; checked=$$?; wait $$other && exit $$checked

# The markers are explained in pyproject.toml. ARGS come last: pytest uses the last -m.
test: setup checked-and-compiled ## check, then tests and doctests without clusters, kills and benchmarks (ARGS go to pytest)
	@$(WITH_JAVA) $(BIN)/pytest $(IN_PARALLEL) -m "not (deployment or benchmark or package)" $(ARGS)

test-all: setup oldest-spark checked-and-compiled ## check, then every test and doctest: what CI runs
	@$(WITH_JAVA) $(BIN)/pytest $(IN_PARALLEL) $(ARGS)

# Passed tests are recorded in .cache, so that an interrupted run continues; see tests/long_run.py.
test-long: setup oldest-spark compiled ## tests that are too long for make test-all, at most an hour; continues an interrupted run
	@$(WITH_JAVA) $(BIN)/pytest --long -v $(IN_PARALLEL) $(ARGS)

# The tests of `make test-all`, in the same processes, with more time for each.
coverage: setup oldest-spark compiled ## measure which lines and branches of src the tests run; pages go to build/coverage
	@$(WITH_JAVA) $(BIN)/python scripts/measure_coverage.py $(IN_PARALLEL) --timeout 600 $(ARGS)

demo: setup ## run plain Spark and Thalweg side by side on a drifting log stream
	@$(WITH_JAVA) $(BIN)/thalweg demo $(ARGS)

bench: bench-filters bench-generated bench-joins-local bench-joins bench-plans bench-charts bench-mesh bench-sql ## every benchmark

bench-filters: setup ## measure filter chains against plain Spark and hand-written code
	@$(WITH_JAVA) $(BIN)/python -m bench.filters $(ARGS)

bench-generated: setup ## measure every policy on filter chains drawn from a seed: ARGS="--seed 7", --virtual, --spark
	@$(WITH_JAVA) $(BIN)/python -m bench.generated $(ARGS)

bench-joins-local: $(INSTALLED) ## measure windowed joins in one process against DuckDB, Polars and trees
	@$(BIN)/python -m bench.joins.local $(ARGS)

bench-joins: setup ## measure windowed joins on Spark against Spark's own, about 40 minutes: ARGS="--part restart", --part endurance
	@$(WITH_JAVA) $(BIN)/python -m bench.joins.spark $(ARGS)

bench-plans: setup ## measure the plans of joins drawn from a seed, under an hour: ARGS="--seed 7", --spark
	@$(WITH_JAVA) $(BIN)/python -m bench.plans $(ARGS)

bench-charts: setup ## measure what charts of plans cost and gain if rates swing, under 15 minutes: ARGS="--seed 17", --spark
	@$(WITH_JAVA) $(BIN)/python -m bench.charts $(ARGS)

bench-mesh: setup ## measure what routes by class gain over one order for all rows: ARGS="--seed 7", --part sizes, --spark
	@$(WITH_JAVA) $(BIN)/python -m bench.mesh $(ARGS)

bench-sql: setup ## measure what SQL costs: planning, and queries against the same calls and Spark SQL
	@$(WITH_JAVA) $(BIN)/python -m bench.sql $(ARGS)

walk: setup ## count the files of src that a batch passes through: ARGS="filter join --list"
	@$(WITH_JAVA) $(BIN)/python -m bench.walk $(ARGS)

house: setup ## print the figures of the package's size with their limits; --no-walks leaves out what starts Spark
	@$(WITH_JAVA) $(BIN)/python -m scripts.house $(ARGS)

lab: $(INSTALLED) ## run the papers' experiments, a few minutes; pages and figures go to docs/lab
	@$(BIN)/thalweg lab --out docs/lab $(ARGS)

prose: $(INSTALLED) ## list words and docstrings that break the language rules, in docs and code
	@$(BIN)/python scripts/prose.py

docs: $(DOCS_INSTALLED) ## build the documentation as a site in build/docs
	@$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs $(ARGS)
	@echo "docs: build/docs/index.html"

pictures: $(INSTALLED) ## draw the pictures of the documentation into docs/images
	@$(BIN)/python scripts/pictures.py

$(DOCS_INSTALLED): $(INSTALLED)
	@echo "docs: installing Sphinx into .venv"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[docs]'
	@touch $@

format: $(INSTALLED) ## rewrite the code in the house format
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

clean: ## remove everything that make made
	rm -rf .venv .cache build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
