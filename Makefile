# make run    judge the stock kube-scheduler and the reference extender on an embedded cluster
# make test   everything that CI checks
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# The tests start hundreds of Python processes: each would compile what it imports, and rewrite every test's assertions.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test check docs planted live kind browser defects scores parity differential mutants benchmark bounds lock clean

help:
	@echo "make run        judge the stock kube-scheduler and the reference extender (sets everything up first)"
	@echo "make test       lint, types, layers, fast tests, then the site, planted defects, live embedded clusters, kind, and a browser"
	@echo "make check      the same without the live tests: seconds"
	@echo "make docs       the site, into build/site: open build/site/index.html"
	@echo "make fields     the tables of fields in docs/, from the schemas"
	@echo "make defects    judge every planted defect, and write docs/defects.md, failures.yaml and fixtures/recorded.tar.xz: an hour"
	@echo "make scores     what property tests of scores find in the described systems, and docs/scores.md: minutes"
	@echo "make parity     the same verdicts on kind as on embedded, and docs/parity.md: minutes (ARGS=--described: an hour)"
	@echo "make differential  the oracle's decisions beside kube-scheduler's own code (WORLDS=300000: a million, ten minutes)"
	@echo "make mutants    whether fast tests notice that the code was changed: hours (ARGS='--room oracle --sample 60': minutes)"
	@echo "make benchmark  how long a cluster takes to start"
	@echo "make bounds     the fast tests with the lowest and the highest versions of all dependencies, on each Python: half an hour"
	@echo "make lock       pin the Python dependencies anew"
	@echo "make clean      remove the virtual environment and results"

setup:
	@tools/setup "$(PYTHON)"

run: setup
	$(BIN)/schedproof run stock least-traffic-extender $(ARGS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -m "not live and not browser" -n auto --maxprocesses 8 --dist worksteal --benchmark-disable

# Two parts at a time: each mostly waits, or judges on clusters of its own.
test: check
	$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target docs planted live kind browser

# Warnings are errors: links between pages and to their headings hold.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

planted: setup
	$(BIN)/python -m pytest --durations=15 -m planted

live: setup
	$(BIN)/python -m pytest --durations=25 -m "live and not planted and not kind"

kind: setup
	$(BIN)/python -m pytest --durations=10 -m kind

browser: setup
	$(BIN)/python -m pytest -m browser

# Compared by a fast test.
.PHONY: fields
fields: setup
	$(BIN)/python tools/write_fields.py

defects: setup
	$(BIN)/python tools/judge_defects.py --record --table docs/defects.md --failures docs/failures.yaml $(ARGS)

scores: setup
	$(BIN)/python tools/judge_scores.py --table docs/scores.md $(ARGS)

parity: setup
	$(BIN)/python tools/parity.py --table docs/parity.md $(ARGS)

WORLDS ?= 12000
SEED ?= 1
differential: setup
	cd tests && ../$(BIN)/python -m differential.comparison $(WORLDS) $(SEED)

# Not among the pinned dependencies, because CI does not need it.
mutants: setup
	[ -x .venv-mutants/bin/cosmic-ray ] || { $(PYTHON) -m venv .venv-mutants && \
	    .venv-mutants/bin/pip install --quiet --disable-pip-version-check cosmic-ray==8.7.0; }
	.venv-mutants/bin/python tools/mutants.py $(BIN)/python $(ARGS)

benchmark: setup
	$(BIN)/python -m pytest benchmarks --benchmark-only $(ARGS)

bounds:
	@tools/bounds "$(PYTHON)" $(VERSIONS)

lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet pip-tools
	.venv-lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --extra dev -o requirements.lock pyproject.toml
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-mutants schedproof-results
