# make run    judge the stock kube-scheduler and the reference extender on an embedded cluster
# make test   everything that CI checks
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup run test check defects scores parity benchmark lock clean

help:
	@echo "make run        judge the stock kube-scheduler and the reference extender (sets everything up first)"
	@echo "make test       lint, types, layers, fast tests, then tests in a browser, on live embedded clusters, and on kind"
	@echo "make check      the same without the live tests: seconds"
	@echo "make defects    judge every planted defect, and write docs/defects.md: minutes"
	@echo "make scores     what property tests of scores find in the described systems, and docs/scores.md: minutes"
	@echo "make parity     the same verdicts on kind as on embedded, and docs/parity.md: minutes (ARGS=--described: an hour)"
	@echo "make benchmark  how long a cluster takes to start"
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
	$(BIN)/python -m pytest -m "not live and not browser"

test: check
	$(BIN)/python -m pytest -m browser
	$(BIN)/python -m pytest -m "live and not kind"
	$(BIN)/python -m pytest -m kind

defects: setup
	$(BIN)/python tools/judge_defects.py --table docs/defects.md $(ARGS)

scores: setup
	$(BIN)/python tools/judge_scores.py --table docs/scores.md $(ARGS)

parity: setup
	$(BIN)/python tools/parity.py --table docs/parity.md $(ARGS)

benchmark: setup
	$(BIN)/python -m pytest benchmarks --benchmark-only $(ARGS)

lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet pip-tools
	.venv-lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --extra dev -o requirements.lock pyproject.toml
	rm -rf .venv-lock

clean:
	rm -rf .venv schedproof-results
