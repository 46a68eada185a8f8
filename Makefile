# The commands of the house; each sets up what it needs. PYTHON names the interpreter to build .venv from (3.11 to 3.14).
PYTHON ?= python3
# Test processes side by side: three for two cores, since a third of what a test takes is waiting.
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo docs gallery check test test-long test-all soak screenshots bench map lint audit sbom release hooks new-source new-grounder lock locked clean browser model-check

demo: .stamp-install
	$(BIN)/workbench demo $(if $(ISOLATION),--isolation $(ISOLATION))

# With bytecode, also where the machine's default is to write none: a third of the start of every process of ours.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
DEALT = -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The manual, built anew without a warning into out/manual; `workbench docs` serves it.
docs: .stamp-test
	rm -rf out/manual
	$(BIN)/workbench docs out/manual

# Before a change is shown to anybody.
check: lint test

# The fast tier, for every change: all that is not marked long, laws on a few examples that stay the same.
test: .stamp-test browser
	$(PYTEST) $(DEALT) -m 'not long' --hypothesis-profile fast

# The long tier: browsers, Lab, Dask, killed processes; and every law again, on more examples; soak draws new ones.
test-long: .stamp-test browser
	$(PYTEST) $(DEALT) -m 'long or hypothesis'

# Both, the fast one first, as each is by itself: what it finds is said minutes earlier.
test-all:
	$(MAKE) test
	$(MAKE) test-long

soak: .stamp-test browser
	$(PYTEST) --soak --timeout 3600

# The pictures of docs/start/screens.md, all anew.
gallery: screenshots

# The pictures in docs/, as the browser tests take them; docs/dashboard.png is the page of `make demo` itself, with its record:
# the tests' own run is taken in from a package and has none.
screenshots: .stamp-test browser
	$(BIN)/python -m pytest -q --soak tests/browser/test_screenshots.py tests/browser/test_lab_axe.py
	mkdir -p docs/screens
	cp out/screenshots/dashboard-scenarios.png docs/screens/scenarios.png
	for name in large note; do cp out/screenshots/$$name.png docs/screens/$$name.png; done
	cp out/screenshots/lab-views-light.png docs/screens/lab.png
	$(BIN)/python -m tests.browser.demo_picture

bench: .stamp-test
	@failed=; for file in $$(grep -l __main__ benchmarks/*.py); do name=$$(basename $$file .py); echo "== $$name"; \
	  $(BIN)/python -m benchmarks.$$name $(if $(SMOKE),--smoke) || failed="$$failed $$name"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

# Every file of the product with the first line of its docstring, by folder.
map:
	@$(PYTHON) -c 'from benchmarks.file_map import drawn_map; print(drawn_map())'

# The demo claim by a real model: MODEL=provider/name, with API_BASE=URL for a server of your own, or MODEL_FILE=x.gguf.
model-check: $(if $(MODEL_FILE),.stamp-local-model,.stamp-install)
	$(BIN)/python -m benchmarks.real_models.check $(if $(MODEL),--model $(MODEL)) $(if $(API_BASE),--api-base $(API_BASE)) \
	  $(if $(MODEL_FILE),--model-file $(MODEL_FILE)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ISOLATION),--isolation $(ISOLATION))

lint: .stamp-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --strict kernels/analyst
	$(BIN)/lint-imports
	$(MAKE) audit

# Tools that look at the environment have one of their own: in ours they would raise versions that are locked.
TOOLS := out/tools
$(TOOLS)/bin/python: $(BIN)/python
	@$(BIN)/python -m venv $(TOOLS)

# Licences of what is installed, and its known holes. The first needs no network; the second says so where no index answers.
audit: .stamp-test $(TOOLS)/bin/python
	$(BIN)/python -m benchmarks.licences
	@mkdir -p out; if $(TOOLS)/bin/python -m pip install -q pip-audit >out/audit.txt 2>&1; then \
	  $(TOOLS)/bin/pip-audit --progress-spinner off --disable-pip --require-hashes -r constraints-hashes.txt >out/audit.txt 2>&1 && echo "pip-audit: no known holes" \
	    || { grep -q "known vulnerabilit" out/audit.txt && { cat out/audit.txt >&2; exit 1; } || echo "not audited for known holes: no index of advisories answers"; }; \
	else echo "not audited for known holes: pip-audit cannot be had here"; fi

# What a release is made of, as a CycloneDX document.
sbom: $(TOOLS)/bin/python
	$(TOOLS)/bin/python -m pip --disable-pip-version-check install -q cyclonedx-bom
	mkdir -p dist
	$(TOOLS)/bin/cyclonedx-py requirements constraints-hashes.txt --pyproject pyproject.toml -o dist/analyst-workbench.cdx.json

# The files of a release in dist/: wheel, source archive, bill of materials, hashes. The tag of this commit, the version in
# workbench/version.py and the newest section of CHANGELOG.md must say the same; DRY=1 builds without that.
release: .stamp-test
	$(if $(DRY),,$(BIN)/python -m tests.release_check)
	rm -rf dist
	$(PIP) install -q build
	$(BIN)/python -m build --outdir dist .
	$(MAKE) sbom
	cd dist && sha256sum * > SHA256SUMS

# Style, types of changed files and links at every commit.
hooks: .stamp-test
	$(PIP) install -q pre-commit
	$(BIN)/pre-commit install

# A file to fill in, and its place in the contract suite: NAME=acme.
new-source new-grounder: $(BIN)/python
	$(BIN)/python -m tests.scaffold $(patsubst new-%,%,$@) "$(NAME)"

# A browser for the browser tests: only where the package manager gives one without asking anybody. A failed update is no
# reason not to try: one source of several may be away, or the lists may be there already.
browser:
	@found() { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; \
	if found; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=env; else as_root="sudo -n env"; fi; \
	if command -v apt-get && $$as_root true; then \
	  $$as_root DEBIAN_FRONTEND=noninteractive apt-get update -qq; \
	  $$as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; \
	fi </dev/null >/dev/null 2>&1; \
	found || echo "no Chromium here, and apt-get gives none unasked: browser tests will $(if $(REQUIRE_BROWSER),fail,be skipped)" >&2

# Which interpreter was found and what is needed, said behind anything that fails to install.
FOUND = $$($(PYTHON) -c 'import platform, sys; print(platform.python_implementation(), platform.python_version(), "at", sys.executable)' 2>/dev/null || echo "nothing that runs as $(PYTHON)")
NEEDED := CPython 3.11 to 3.14 with its venv module; name one with make PYTHON=python3.12 ...

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null \
	  || { echo "found $(FOUND), needed: $(NEEDED)" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "no environment could be made by $(FOUND), needed: $(NEEDED)" >&2; exit 2; }

INSTALL = $(PIP) install -q -c constraints.txt
FAILED = { echo "the installation failed with $$($(BIN)/python --version) in $(VENV), made by $(FOUND); needed: CPython 3.11 to 3.14 and a package index that can be reached" >&2; exit 2; }

.stamp-install: $(BIN)/python pyproject.toml constraints.txt $(wildcard kernels/analyst/*.* notebooks/*.ipynb)
	@$(INSTALL) -e . || $(FAILED)
	@touch $@

.stamp-test: $(BIN)/python pyproject.toml constraints.txt $(wildcard kernels/analyst/*.* notebooks/*.ipynb)
	@$(INSTALL) -e '.[test]' || $(FAILED)
	@touch $@ .stamp-install

# Resolve the versions anew, for the lowest interpreter promised and every later one; versions that still fit stay as they are.
lock: $(BIN)/python
	$(PIP) install -q uv
	cp constraints.txt constraints.new
	$(BIN)/uv pip compile pyproject.toml --extra test --extra dask --extra own --universal --python-version 3.11.0 --quiet --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --output-file constraints.new
	{ grep '^#' constraints.txt; cat constraints.new; } > constraints.lock && mv constraints.lock constraints.txt && rm constraints.new
	$(BIN)/uv pip compile pyproject.toml --extra test --extra dask --extra own --universal --python-version 3.11.0 --quiet --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --constraints constraints.txt --generate-hashes --output-file constraints.new
	{ grep '^#' constraints-hashes.txt; cat constraints.new; } > constraints.lock && mv constraints.lock constraints-hashes.txt && rm constraints.new

# An environment of exactly the files that were locked: pip refuses any other.
locked: $(BIN)/python
	$(PIP) install -q --require-hashes --no-deps -r constraints-hashes.txt
	$(PIP) install -q --no-deps --no-build-isolation -e .

# Not for this very processor: some virtual machines name matrix instructions that they do not give, and llama.cpp dies of it.
.stamp-local-model: .stamp-install
	@CMAKE_ARGS="$${CMAKE_ARGS:--DGGML_NATIVE=OFF}" $(INSTALL) -e '.[local-model]' || $(FAILED)
	@touch $@

clean:
	rm -rf $(VENV) .stamp-* out build dist
