# Every target sets up what it needs in .venv; only Python 3.11 or newer and pip are assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Another version of JAX than constraints.txt pins: JAX="==0.8.*", JAX=">=0.8" for the newest, JAX=nightly.
JAX ?=
# Tests of one file stay together, in one of so many processes.
WORKERS ?= 2
# Modules are compiled by the first process that imports them, and not by each of hundreds anew.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadfile --durations=25

.PHONY: help demo test test-all test-faults test-wheel coverage fuzz lint hooks bench gallery notebooks pictures figures docs dist clean

help:
	@echo "make demo      which inputs shape which laws, on data that ships with forebear; writes forebear-demo/"
	@echo "make test      lint, types and all tests that take seconds"
	@echo "make test-all  the same, and the tests that train for minutes"
	@echo "make test-faults  runs killed at random moments and disks that are full; writes results/faults.json (minutes)"
	@echo "make test-wheel  the wheel, alone in an environment of its own, without extras (minutes)"
	@echo "make coverage  the share of the code that the tests run; writes results/coverage.json (a quarter of an hour)"
	@echo "make fuzz      half an hour of damaged files for every loader; writes results/fuzz.json"
	@echo "make lint      lint and types alone"
	@echo "make hooks     have git run lint and types before every commit"
	@echo "make bench     every benchmark, as JSON, into results/ (hours)"
	@echo "make gallery   the pages of experiments and benchmarks, docs/experiments.md and docs/benchmarks.md with its charts"
	@echo "make notebooks the notebooks of docs/gallery, run anew (some minutes)"
	@echo "make pictures  the pictures of README and docs/method.md"
	@echo "make figures   the numbers and tables in the documentation, from results/"
	@echo "make docs      the documentation as a site, site/index.html"
	@echo "make dist      wheels and source archives of forebear and of its experiments, into dist/"
	@echo "make clean     remove .venv and caches"

demo: $(READY)
	$(BIN)/forebear demo

test: lint
	$(PYTEST) -m "not slow"

# With the extra for training policies, whose tests are left out otherwise.
test-all: lint $(VENV)/.sb3
	$(PYTEST)

test-faults: $(READY)
	FOREBEAR_FAULTS=results/faults.json $(BIN)/pytest tests/run/test_faults.py

test-wheel: $(VENV)/.docs
	$(BIN)/pytest tests/repository/test_packaging.py

# One process, so that what is counted does not depend on how tests are shared out; those that tests start count too.
coverage: $(READY)
	$(PIP) -c constraints.txt coverage
	rm -f .coverage .coverage.*
	$(BIN)/python -m coverage run -m pytest -m "not slow"
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python docs/making/coverage.py results/coverage.json

# Once, by hand or at night: atheris is not among the tools of every day.
fuzz: $(READY)
	$(PIP) -c constraints.txt atheris
	$(BIN)/python fuzz/run.py --minutes 30 --out results/fuzz.json

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

hooks: $(READY)
	$(PIP) -c constraints.txt pre-commit
	$(BIN)/pre-commit install

# Each benchmark in a process of its own: `lorenz63` counts what a cold start costs. The file appears only when whole.
bench: $(READY)
	@mkdir -p results
	for name in $$($(BIN)/python -c 'from forebear_experiments.benchmarks import BENCHES; print(*BENCHES)'); do \
	  $(BIN)/forebear bench $$name --json > results/.$$name.part && mv results/.$$name.part results/bench-$$name.json \
	    || { rm -f results/.$$name.part; exit 1; }; \
	done

gallery: $(READY)
	$(BIN)/python -m forebear_experiments.framework.gallery results docs/experiments.md
	$(BIN)/python -m forebear_experiments.benchmarks.page results docs/benchmarks.md

notebooks: $(READY)
	$(BIN)/python docs/making/notebooks.py docs/gallery/*.ipynb

pictures: $(READY)
	$(BIN)/python docs/making/pictures.py docs/pictures
	$(BIN)/python docs/making/law_picture.py docs/law.png

figures: $(READY)
	$(BIN)/python docs/making/figures.py --fix

# Broken links and anything else that mkdocs warns about are errors.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html, or, to have the search too: $(BIN)/python -m http.server --directory site"

dist: $(VENV)/.docs
	rm -rf build dist experiments/build
	$(BIN)/python -m build --quiet
	$(BIN)/python -m build --quiet --outdir dist experiments

$(VENV)/.sb3: $(READY)
	$(PIP) -c constraints.txt -e ".[sb3]"
	@touch $@

$(VENV)/.docs: $(READY)
	$(PIP) -c constraints.txt -e ".[docs]"
	@touch $@

$(READY): pyproject.toml experiments/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; old = sys.version_info < (3, 11); sys.exit(f"forebear needs Python 3.11 or newer and $(PYTHON) is {sys.version.split()[0]}: try make PYTHON=python3.12" if old else 0)' \
	  || { command -v $(PYTHON) > /dev/null || echo "there is no $(PYTHON): install Python 3.11 or newer, or name it with make PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -c constraints.txt -e ".[dev]" -e ./experiments
	$(if $(JAX),$(PIP) --upgrade $(if $(filter nightly,$(JAX)),--pre jax jaxlib,"jax$(JAX)" "jaxlib$(JAX)"))
	@touch $@

clean:
	rm -rf $(VENV) .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis build dist site *.egg-info experiments/build experiments/*.egg-info
