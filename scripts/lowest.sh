#!/bin/sh
# Runs the Python tests with the oldest package versions that pyproject.toml allows, in a separate environment.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/uv venv --quiet --clear --python .venv/bin/python target/lowest
.venv/bin/uv pip install --quiet --python target/lowest/bin/python --resolution lowest-direct --group dev --all-extras -r pyproject.toml
.venv/bin/uv pip install --quiet --python target/lowest/bin/python --no-deps --no-build-isolation -e .
exec target/lowest/bin/python -m pytest -n auto --dist worksteal "$@"
