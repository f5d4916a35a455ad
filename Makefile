# make run    a first look: judge the reference extender by a choice of clauses, on an embedded cluster
# make test   the gate: what CI checks, in ten minutes
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# The tests start hundreds of Python processes: each would compile what it imports, and rewrite every test's assertions.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test test-all gate-soak check docs planted described live kind fast defects scores parity
.PHONY: field gates differential differential-groups varied soak worlds whole mutants power benchmark bounds lock clean

help:
	@echo "make run        a first look: judge the reference extender by a choice of clauses (sets everything up first)"
	@echo "make check      lint, types, layers, fast tests: two minutes"
	@echo "make test       the gate, which CI runs: make check, and a little of all live tests: ten minutes"
	@echo "make test-all   everything, in parts (ARGS='planted kind': these), each once for a commit: two hours"
	@echo "make gate-soak  the gate N times (N=6), every second time beside a busy core, and a table"
	@echo "make docs       the site, into build/site: open build/site/index.html"
	@echo "make fields     the tables of fields in docs/, from the schemas"
	@echo "make defects    judge every planted defect, and write docs/defects.md, failures.yaml and fixtures/recorded.tar.xz: an hour"
	@echo "make gates      the feature gates of each version of Kubernetes, from its sources, and their table in docs/versions.md"
	@echo "make scores     what property tests of scores find in the described systems, and docs/scores.md: minutes"
	@echo "make parity     the same verdicts on kind as on embedded, and docs/parity.md: minutes (ARGS=--described: an hour)"
	@echo "make field      real schedulers, fetched, built and judged, and docs/field.md (ARGS='tas --seed 2'): minutes to hours each"
	@echo "make varied     which fields of pods and nodes have which values in a run, for docs/varied.md: four minutes"
	@echo "make soak       judge what is correct again and again, half of the time on a busy machine (ARGS='--loops 0 --minutes 10'): an hour"
	@echo "make worlds     which planted defects of placement random worlds find alone: half an hour"
	@echo "make whole      what else fails where twenty planted defects are tried on all clauses: an hour"
	@echo "make differential  the oracle's decisions beside kube-scheduler's own code (WORLDS=300000: a million, ten minutes)"
	@echo "make differential-groups  the same for groups of pods, with kube-scheduler 1.37 (WORLDS=8000: 100,000 decisions)"
	@echo "make mutants    whether fast tests notice that the code was changed: hours (ARGS='--room oracle --sample 60': minutes)"
	@echo "make power      which changes of kube-scheduler's own code a run finds (ARGS='--minutes 300'): minutes each, resumed"
	@echo "make pairs      by what pods waited and what freed them, and faults, in the worlds of saved runs (ARGS=REPORT...)"
	@echo "make benchmark  how long a cluster takes to start"
	@echo "make bounds     the fast tests with the lowest and the highest versions of all dependencies, on each Python: half an hour"
	@echo "make image      the image of the harness, for \`schedproof submit\` and Sonobuoy (ARGS='--tag REF --python IMAGE')"
	@echo "make lock       pin the Python dependencies anew"
	@echo "make clean      remove the virtual environment and results"

setup:
	@tools/setup "$(PYTHON)"

# A few clauses of each kind. All that it claims takes some minutes.
FIRST_LOOK := core/binds core/fit-cpu core/node-affinity core/taint-noschedule core/pod-affinity core/preemption-lower \
    network/least-traffic network/flip network/real-traffic network/zero-traffic extender/prioritize-range normalize/order
# Where no server of releases can be reached, Debian's Prometheus does for a first look: building one takes minutes.
run: setup
	SCHEDPROOF_DOWNLOAD=$${SCHEDPROOF_DOWNLOAD-packages} $(BIN)/schedproof run least-traffic-extender $(or $(ARGS),$(FIRST_LOOK:%=--clause=%))
	@echo "all that it claims, beside the stock kube-scheduler: $(BIN)/schedproof run stock least-traffic-extender"

check: setup
	$(BIN)/python tools/run_tests.py --again check

test: setup
	$(BIN)/python tools/run_tests.py --again gate

test-all: setup
	$(BIN)/python tools/run_tests.py $(ARGS)

N ?= 6
gate-soak: setup
	$(BIN)/python tools/gate_soak.py $(N)

# Parts of `make test-all`.
docs fast planted described live kind: setup
	$(BIN)/python tools/run_tests.py --again $@

# Compared by a fast test.
.PHONY: fields
fields: setup
	$(BIN)/python tools/write_fields.py

defects: setup
	$(BIN)/python tools/judge_defects.py --record --table docs/defects.md --failures docs/failures.yaml $(ARGS)

gates: setup
	$(BIN)/python tools/feature_gates.py

scores: setup
	$(BIN)/python tools/judge_scores.py --table docs/scores.md $(ARGS)

parity: setup
	$(BIN)/python tools/parity.py --table docs/parity.md $(ARGS)

# Goes on where it was interrupted. ARGS: configurations, --clause, --profile, --seed.
field: setup
	$(BIN)/python tools/field.py $(ARGS)

varied: setup
	rm -rf build/varied
	for name in stock least-traffic-controller; do $(BIN)/schedproof run $$name --report build/varied/$$name || exit; done
	cd tests && PYTHONPATH=../tools ../$(BIN)/python -m differential.fields ../build/varied

worlds: setup
	$(BIN)/python tools/world_defects.py $(ARGS)

# Goes on where it was interrupted.
whole: setup
	$(BIN)/python tools/whole_defects.py $(ARGS)

# Goes on where it was interrupted; ARGS=--afresh begins anew.
soak: setup
	$(BIN)/python tools/soak.py $(ARGS)

WORLDS ?= 12000
SEED ?= 1
differential-groups: setup
	cd tests && ../$(BIN)/python -m differential.group_comparison $(WORLDS) $(SEED)

differential: setup
	cd tests && ../$(BIN)/python -m differential.comparison $(WORLDS) $(SEED) $(KUBERNETES)

# Not among the pinned dependencies, because CI does not need it.
mutants: setup
	[ -x .venv-mutants/bin/cosmic-ray ] || { $(PYTHON) -m venv .venv-mutants && \
	    .venv-mutants/bin/pip install --quiet --disable-pip-version-check cosmic-ray==8.7.0; }
	.venv-mutants/bin/python tools/mutants.py $(BIN)/python $(ARGS)

power: setup
	$(BIN)/python tools/power.py --write $(ARGS)

# ARGS: the folders of reports.
pairs: setup
	$(BIN)/python tools/pairs.py $(ARGS)

benchmark: setup
	$(BIN)/python -m pytest benchmarks --benchmark-only $(ARGS)

bounds:
	@tools/bounds "$(PYTHON)" $(VERSIONS)

.PHONY: image
image: setup
	$(BIN)/python tools/build_image.py $(ARGS)

lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet pip-tools
	.venv-lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --extra dev -o requirements.lock pyproject.toml
	rm -rf .venv-lock

clean:
	rm -rf .venv .venv-mutants schedproof-results
