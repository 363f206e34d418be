# One command per intent, the same here and in CI. `make help` lists them; CONTRIBUTING.md says which to run after a change.
SHELL := /bin/sh
BIN := .venv/bin
PY := $(BIN)/python
PARTS ?=
NAME ?=

.DEFAULT_GOAL := help
# Tests start Python a hundred times: without its bytecode each of them compiles all libraries again.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup kernel demo quick test test-all nightly lint fmt docs docs-check transcripts page wasm site wheels release-check lock audit clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 15

setup: ## Install what is needed (apt packages, virtual environment, simulator, agent, page)
	@scripts/setup.sh

kernel: setup ## Build the kernel in virtual time (once)
	@$(BIN)/dumbbell kernel build

demo: ## Set up, run cyclic on the simulator and on the kernel engine, and compare
	@scripts/demo.sh

quick: lint ## Check formatting, lints, types, units and properties: no guest, browser or compiler
	@$(PY) scripts/run_tests.py quick

test: lint ## Run what must pass before a change lands: quick, each engine, one test a page, kills, fuzzers
	@scripts/setup.sh tests
	@$(BIN)/dumbbell kernel build
	@$(PY) scripts/run_tests.py test

test-all: lint ## Run everything, in parts of at most ten minutes: make test-all PARTS="kills web"; PARTS=list lists them
	@scripts/setup.sh tests
	@$(BIN)/dumbbell kernel build
	@$(PY) scripts/run_tests.py $(or $(PARTS),all)

nightly: kernel ## Search for inputs that break something, ten minutes per target
	DUMBBELL_FUZZ_SECONDS=600 $(BIN)/pytest tests/hostile -k test_fuzz -p no:cacheprovider

lint: setup ## Check formatting, lints and types
	cargo fmt --all --check
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/mypy
	$(BIN)/npm --prefix ui --silent run check

fmt: setup ## Format all languages
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/npm --prefix ui --silent run format

docs: setup ## Build the documentation site in target/site; a broken link is an error
	@$(PY) scripts/docs.py

docs-check: kernel ## Check links, names in comments, figures against results, generated pages and console blocks
	@$(PY) scripts/docs_check.py

transcripts: kernel ## Run the console blocks of README and docs and write what they print
	@$(PY) scripts/transcripts.py

page: setup ## Repeat a study and write its page: make page NAME=gallery; without NAME list the studies
	@$(PY) -m studies $(NAME)

wasm: setup ## Build the npm package with the simulator as WebAssembly, in target/npm
	@$(PY) scripts/wasm.py

site: wasm ## Build documentation and playground as one static site in target/site
	@$(PY) scripts/static_site.py

wheels: kernel ## Build the wheels, the source distribution and the kernel's source package in dist/
	@$(PY) scripts/wheels.py

release-check: wheels ## Do all of a release but the upload; with TAG=v0.2.0 also check version and changelog
	@$(PY) scripts/run_tests.py clean-roots
	@$(PY) scripts/release.py $(TAG)

lock: setup ## Update requirements.lock to the newest versions that pyproject.toml allows, with hashes
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --annotation-style line --custom-compile-command "make lock" --all-extras --group dev pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --annotation-style line --custom-compile-command "make lock" --group wheels -o requirements-wheels.lock

audit: setup ## Check licences, sources and known vulnerabilities of all packages
	@$(PY) scripts/audit.py

clean: ## Remove build products (kernels stay in the user's cache)
	rm -rf .venv target runs dist python/dumbbell/bin python/dumbbell/_sim.abi3.so python/dumbbell/web/page ui/node_modules
