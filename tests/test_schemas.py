"""The schemas are valid and accept every experiment and sweep file; the dataclasses are those of the declarations."""

import json
import random
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dumbbell import _sim

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "schemas"
FILES = sorted(
    file
    for pattern in (
        "scenarios/*.toml",
        "scenarios/*/*.toml",
        "validation/*/*.toml",
        "bench/*.toml",
        "docs/queues/*.toml",
    )
    for file in ROOT.glob(pattern)
    if file.name not in ("reasons.toml", "measured.toml")
)
SWEEPS = [file for file in FILES if "[[axes]]" in file.read_text(encoding="utf-8")]
EXPERIMENTS = [file for file in FILES if file not in SWEEPS and file.name != "criteria.toml"]


def schema(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / name).read_text(encoding="utf-8")))


def errors(document: dict[str, Any], name: str = "experiment.json") -> list[str]:
    validator = jsonschema.Draft7Validator(schema(name))
    return sorted(error.json_path for error in validator.iter_errors(document))


def test_the_dataclasses_are_those_of_the_declarations() -> None:
    checked = subprocess.run(
        [sys.executable, "scripts/model.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("name", ["experiment.json", "sweep.json"])
def test_a_schema_is_valid(name: str) -> None:
    jsonschema.Draft7Validator.check_schema(schema(name))


def test_every_experiment_file_is_valid() -> None:
    assert len(EXPERIMENTS) > 60
    found = {file.name: errors(tomllib.loads(file.read_text(encoding="utf-8"))) for file in EXPERIMENTS}
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_every_sweep_file_is_valid() -> None:
    assert len(SWEEPS) > 8
    found = {file.name: errors(tomllib.loads(file.read_text(encoding="utf-8")), "sweep.json") for file in SWEEPS}
    assert {name: paths for name, paths in found.items() if paths} == {}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("duratoin = '1s'\npath = { rtt = '1ms' }", ["$"]),
        ("path = { rtt = ['1ms'] }", ["$.path.rtt"]),
        ("path = { rtt = '1ms', mtu = 100 }", ["$.path.mtu"]),
        ("path = { rtt = '1ms' }\nflows = [{ cc = 'BBR' }]", ["$.flows[0].cc"]),
        ("path = { rtt = '1ms' }\nflows = [{ cc = 'bbr', kind = 'sctp' }]", ["$.flows[0].kind"]),
        ("path = { rtt = '1ms' }\ncases = [{ name = 'a' }]", ["$.cases[0]"]),
    ],
)
def test_an_error_has_its_key(text: str, where: list[str]) -> None:
    assert errors(tomllib.loads(text)) == where


def test_random_experiments_are_valid() -> None:
    """The generator and the schema are made of the same declarations."""
    draws = random.Random(1)
    documents = [_sim.random_experiment(draws.randbytes(draws.randrange(600))) for _ in range(200)]
    assert [(document, paths) for document in documents if (paths := errors(document))] == []
