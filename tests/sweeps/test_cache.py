"""The cache returns a row only for an identical run; its size is bounded, and its errors do not stop a sweep."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dumbbell.stacks.store import MANIFEST, Built, named
from dumbbell.sweeps import identity
from dumbbell.sweeps.identity import key_of
from dumbbell.sweeps.task import base_of, tasks_at
from dumbbell.sweeps.task_runner import Cache, Known, cache_file, case_of, clear
from sweeps.conftest import SMALL, sweep_from

KNOWN = Known("invalid", "a reason", {"jain": 0.1 + 0.2})


def key(folder: Path, text: str = SMALL, point: int = 0, **changes: Any) -> str | None:
    """The cache key of one run of a sweep."""
    sweep = sweep_from(text, folder)
    base = base_of(sweep)
    task = replace(tasks_at(sweep, sweep.points()[point], [1])[0], **changes)
    return key_of(base, task, case_of(base, task))


def test_a_stored_row_is_found_when_the_cache_is_reopened(tmp_path: Path) -> None:
    with Cache(tmp_path / "c" / "rows.sqlite") as cache:
        assert cache.get("a") is None
        cache.put("a", KNOWN)
        cache.put("a", Known("ok", None, {}))
    with Cache(tmp_path / "c" / "rows.sqlite") as cache:
        assert cache.get("a") == KNOWN
        assert cache.cache_error is None


def test_equal_experiments_in_different_notation_have_equal_keys(tmp_path: Path) -> None:
    assert key(tmp_path) == key(tmp_path)
    assert key(tmp_path) == key(tmp_path, SMALL.replace('duration = "1s"', 'duration = "1000ms"'))
    assert key(tmp_path) == key(
        tmp_path, SMALL.replace("title =", "#").replace("[experiment]", '[experiment]\ntitle = "x"')
    )
    assert key(tmp_path) == key(tmp_path, SMALL.replace('["5ms", "20ms", "80ms"]', '["5ms"]'))


@pytest.mark.parametrize(
    "changed",
    [
        {"point": 1},
        {"seed": 2},
        {"engine": "kernel"},
        {"text": SMALL.replace('duration = "1s"', 'duration = "2s"')},
        {"text": SMALL.replace('"utilization"]', '"jain"]')},
        {"text": SMALL.replace("[set]", 'window = "from 100ms"\n[set]')},
    ],
    ids=["point", "seed", "engine", "experiment", "metrics", "window"],
)
@pytest.mark.kernel
def test_different_runs_have_different_keys(tmp_path: Path, changed: dict[str, Any]) -> None:
    assert key(tmp_path, **changed) != key(tmp_path)


def test_a_different_build_has_a_different_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(tmp_path)
    monkeypatch.setattr(identity, "build", lambda: {"sources": "others"})
    assert key(tmp_path) != before


def test_the_content_of_a_referenced_file_changes_the_key(tmp_path: Path) -> None:
    text = (
        SMALL.replace('rate = "10mbit"', 'rate_trace = "up.trace"')
        .replace("{buffer}", "15000")
        .replace("\nbuffer", "\nduration")
    )
    text = text.replace('["0.5bdp", "1bdp", "4bdp", "16bdp"]', '["1s"]').replace('duration = "1s"\n', "")
    (tmp_path / "up.trace").write_text("1\n2\n")
    before = key(tmp_path, text)
    (tmp_path / "up.trace").write_text("1\n3\n")
    assert key(tmp_path, text) != before


def test_runs_that_are_not_reproducible_have_no_key(tmp_path: Path) -> None:
    assert key(tmp_path, engine="host") is None
    program = '\n[[experiment.programs]]\nname = "x"\non = "sender"\nrun = "true"\n[[axes]]\n"path.rtt"'
    assert key(tmp_path, SMALL.replace('\n[[axes]]\n"path.rtt"', program)) is None


def test_the_oldest_rows_are_removed_when_the_cache_is_full(tmp_path: Path) -> None:
    file, most = tmp_path / "rows.sqlite", 200_000
    with Cache(file, most) as cache:
        for number in range(2000):
            cache.put(f"key {number}", Known("ok", None, {f"metric {each}": 1.0 for each in range(10)}))
    assert file.stat().st_size <= most
    with Cache(file, most) as cache:
        assert cache.get("key 1999") is not None
        assert cache.get("key 0") is None


def test_an_unusable_cache_is_disabled_and_reports_its_error(tmp_path: Path) -> None:
    (tmp_path / "rows.sqlite").write_text("not a database, not a database, not a database")
    with Cache(tmp_path / "rows.sqlite") as cache:
        cache.put("a", KNOWN)
        assert cache.get("a") is None
        assert cache.cache_error == "file is not a database"


def test_clear_removes_every_row(cache: Path) -> None:
    with Cache(cache_file()) as kept:
        kept.put("a", KNOWN)
    assert cache_file().is_relative_to(cache)
    assert clear() > 0
    with Cache(cache_file()) as kept:
        assert kept.get("a") is None


def test_another_build_of_a_quic_stack_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = {name: Built(named(name), tmp_path / name) for name in ("quinn", "aioquic")}
    for each in built.values():
        each.folder.mkdir()
        (each.folder / MANIFEST).write_text("{}")
    monkeypatch.setattr(identity, "find", built.get)
    texts = [SMALL.replace('cc = "bbr"', f'kind = "quic"\nstack = "{name}"') for name in built]
    first = key(tmp_path, texts[0])
    assert first is not None
    assert len({first, key(tmp_path, texts[1]), key(tmp_path)}) == 3
    (built["quinn"].folder / MANIFEST).write_text('{"tool": "newer"}')
    assert key(tmp_path, texts[0]) != first
    # Its runs with the same seed differ: none is kept.
    differing = replace(built["quinn"].stack, repeats=False)
    monkeypatch.setattr(identity, "find", lambda _name: Built(differing, built["quinn"].folder))
    assert key(tmp_path, texts[0]) is None
