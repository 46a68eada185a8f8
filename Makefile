# The commands of the house; each sets up what it needs. PYTHON names the interpreter to build .venv from (3.11 or newer).
PYTHON ?= python3
# Test processes side by side; the suite is made for two cores.
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test soak bench lint clean browser

demo: .stamp-install
	$(BIN)/workbench demo $(if $(ISOLATION),--isolation $(ISOLATION))

test: .stamp-test browser
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

soak: .stamp-test browser
	$(BIN)/python -m pytest --soak --timeout 3600

bench: .stamp-test
	@for file in benchmarks/[a-z]*.py; do name=$$(basename $$file .py); echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

lint: .stamp-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --strict kernels/analyst
	$(BIN)/lint-imports

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

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name one with make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

.stamp-install: $(BIN)/python pyproject.toml constraints.txt $(wildcard kernels/analyst/* notebooks/*.ipynb)
	$(PIP) install -q -c constraints.txt -e .
	@touch $@

.stamp-test: $(BIN)/python pyproject.toml constraints.txt $(wildcard kernels/analyst/* notebooks/*.ipynb)
	$(PIP) install -q -c constraints.txt -e '.[test]'
	@touch $@ .stamp-install

clean:
	rm -rf $(VENV) .stamp-* out build dist
