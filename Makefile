# One command per intent, the same here and in CI. `make help` lists them.
SHELL := /bin/sh
BIN := .venv/bin
PY := $(BIN)/python

.DEFAULT_GOAL := help
# Tests start Python a hundred times: without its bytecode each of them compiles all libraries again.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: licences help setup wheels clean-roots release-check kernel demo docs docs-check transcripts test lint unit lock audit wasm wasm-test site test-lowest fmt validation conformance bench gallery reports pages hpcc versions kernels evaluations identifications bbr-cases notebook programs sweeps searches fuzz nightly same-bytes test-all clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: ## Install what is needed (apt packages, virtual environment, simulator, agent)
	@scripts/setup.sh

kernel: setup ## Build the kernel in virtual time (once)
	@$(BIN)/dumbbell kernel build

demo: setup ## Run cyclic on the simulator and on the kernel engine, and compare
	@scripts/demo.sh

wheels: kernel ## Build the wheels, the source distribution and the kernel's source package in dist/
	@$(PY) scripts/wheels.py

clean-roots: wheels ## Install the wheels in clean roots of Debian 12 and 13, as an ordinary user, and run both engines
	@DUMBBELL_TEST_WHEELS=dist $(BIN)/pytest tests/wheels
	@scripts/clean-roots.sh

release-check: clean-roots ## Do all of a release but the upload; with TAG=v0.2.0 also check version and changelog
	@$(PY) scripts/release.py $(TAG)

docs: setup ## Build the documentation site in target/site; a broken link is an error
	@$(PY) scripts/docs.py

docs-check: kernel ## Check links, names in comments, figures against results, generated pages, console blocks; build the site
	@$(PY) scripts/docs_check.py

transcripts: kernel ## Run the commands of the console blocks in README and docs, and write what they print
	@$(PY) scripts/transcripts.py

test: kernel lint unit ## Run everything that must pass: kernel, lints, types, tests, documentation

lint: setup ## Check formatting, lints and types
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/npm --prefix ui --silent run check

unit: setup ## Run the tests of all languages, with the built kernel
	@scripts/setup.sh tests
	@scripts/test-tools.sh
	cargo test --workspace --quiet
	$(BIN)/npm --prefix ui --silent test
	@$(PY) scripts/wheels.py --for-tests
	$(BIN)/pytest -n auto --dist worksteal

lock: setup ## Update requirements.lock to the newest versions that pyproject.toml allows, with hashes
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --annotation-style line --custom-compile-command "make lock" --all-extras --group dev pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --annotation-style line --custom-compile-command "make lock" --group wheels -o requirements-wheels.lock

audit: setup ## Check licences, sources and known vulnerabilities of all packages
	@$(PY) scripts/audit.py

wasm: setup ## Build the npm package with the simulator as WebAssembly, in target/npm
	@$(PY) scripts/wasm.py

site: wasm ## Build documentation and playground as one static site in target/site
	@$(PY) scripts/static_site.py

wasm-test: wasm ## Test the npm package, and compare its tables with the native simulator's
	$(BIN)/node --test crates/wasm/package/test/*.test.mjs
	$(PY) validation/webassembly.py
	DUMBBELL_TEST_STATIC=1 $(BIN)/pytest tests/web/test_static_page.py tests/web/test_static_site.py

licences: setup ## List the licences of linked and bundled packages in THIRD-PARTY-LICENSES.md
	@$(PY) scripts/licences.py

test-lowest: kernel ## Run the Python tests with the oldest packages that pyproject.toml allows
	@scripts/lowest.sh

fmt: setup ## Format both languages
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/npm --prefix ui --silent run format

validation: kernel ## Run the matrix on both engines, the independent harness, published results and formulas
	-$(PY) validation/matrix.py -o docs/fidelity.md
	$(PY) validation/divergence.py -o validation/divergence.md >/dev/null
	$(PY) validation/theory.py -o validation/theory.md >/dev/null
	-$(PY) validation/against_reference.py --engine sim -o validation/reference-sim.md >/dev/null
	-$(PY) validation/against_reference.py -o validation/reference.md >/dev/null
	$(PY) validation/published.py -o validation/published.md >/dev/null

conformance: kernel ## Compare both engines in 200 random experiments, each day others, in target/random.md
	$(PY) validation/random_comparison.py --most-pairs 40 -o target/random.md

bench: kernel ## Measure speed and memory of the simulator, the kernel engine and ns-3
	@scripts/setup.sh bench
	@scripts/ns3.sh
	$(PY) bench/peers.py -o docs/benchmarks.md
	$(PY) bench/simulator.py -o bench/simulator.md
	$(PY) bench/sweep_overhead.py -o bench/sweep-overhead.md
	$(PY) bench/sweep_runs.py -o bench/sweep.md
	$(PY) bench/cluster.py
	$(PY) bench/speed.py -o bench/speed.md
	$(PY) bench/serve.py -o bench/serve.md
	$(PY) bench/control_to_figure.py -o bench/control-to-figure.md
	$(PY) bench/figure.py -o bench/figure.md
	$(PY) bench/startup.py -o bench/startup.md

gallery: kernel ## Run the six scenarios and draw docs/gallery
	$(PY) scripts/gallery.py
	$(PY) scripts/readme.py

reports: kernel ## Run the five reports' scenarios on both engines and write docs/results/reports.md
	$(PY) scripts/reports.py

pages: kernel ## Measure the experiments of the pages about controllers and queues
	$(PY) scripts/pages.py

hpcc: setup ## Run the incast of docs/hpcc.md and draw it
	$(PY) scripts/hpcc.py

evaluations: setup ## Evaluate the simulator's controllers by RFC 9743, all against all, and write docs/results/evaluate
	$(PY) scripts/evaluations.py

identifications: kernel ## Identify captures of all Linux controllers and write docs/results/identify
	$(PY) scripts/identification.py capture develop --seeds 1
	$(PY) scripts/identification.py describe develop --seeds 1
	$(PY) scripts/identification.py develop
	$(PY) scripts/identification.py capture test --seeds 1
	$(PY) scripts/identification.py describe test --seeds 1
	$(PY) scripts/identification.py test

bbr-cases: setup ## Run the example test cases of BBR's draft and write docs/results/bbr-cases.md
	$(PY) scripts/bbr_cases.py

versions: setup ## Run BBR 1, 2 and 3 through the same experiments and write docs/bbr1-against-bbr3.md
	$(PY) scripts/bbr_versions.py

kernels: kernel ## Build Linux 6.1, 7.2 and 7.3 too, compare them with 6.12, write docs/results/linux-6.1-6.12-7.3.md and docs/kernel-versions.md
	$(BIN)/dumbbell kernel build 6.1
	$(BIN)/dumbbell kernel build 7.2
	$(BIN)/dumbbell kernel build 7.3
	$(PY) scripts/kernels.py 6.1 6.12 -o docs/results/linux-6.1-6.12-7.3.md
	$(PY) scripts/kernels.py 6.12 7.3 -o docs/results/linux-6.1-6.12-7.3.md
	$(PY) scripts/kernel_controllers.py 6.1 6.12 7.3 -o docs/results/linux-6.1-6.12-7.3.md
	$(PY) validation/random_kernels.py 6.1 6.12 7.3 -o docs/results/linux-6.1-6.12-7.3.md
	$(PY) scripts/kernel_versions.py 6.1 6.12 7.2 7.3

notebook: setup ## Execute the examples into notebooks
	$(PY) scripts/notebook.py

programs: kernel ## Compare nginx and curl with the built-in sender and write docs/programs.md
	$(PY) scripts/programs.py

sweeps: kernel ## Run the built-in sweeps and write docs/sweeps
	$(PY) scripts/sweeps.py

searches: kernel ## Search for known failures of controllers and write docs/results/search
	$(PY) scripts/searches.py

fuzz: setup ## Fuzz every parser and state machine for longer than the tests do
	PROPTEST_CASES=5000 cargo test --release --quiet -p dumbbell-core -p dumbbell-sim
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -k "any_text or any_value or any_bytes or or_wrong or harmless" -p no:cacheprovider

nightly: kernel ## Search for inputs that break something, ten minutes per target
	DUMBBELL_FUZZ_SECONDS=600 $(BIN)/pytest tests/hostile -k test_fuzz -p no:cacheprovider

same-bytes: kernel ## Run all scenarios in clean roots of Debian 12 and 13, by two users and agents: the tables must be the same
	$(PY) validation/same_bytes.py -o validation/same-bytes.md

test-all: test audit wasm-test test-lowest fuzz nightly same-bytes validation clean-roots ## Run everything, with audits, oldest packages, long searches, the whole matrix and clean roots

clean: ## Remove build products (kernels stay in the user's cache)
	rm -rf .venv target runs dist python/dumbbell/bin python/dumbbell/_sim.abi3.so python/dumbbell/web/page ui/node_modules
