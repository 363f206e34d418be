"""The pages' script: bundled once, cached, and replaced if the cached file is damaged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dumbbell.plots import render
from dumbbell.plots.render import library


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    """Clear the cache, as in a new process."""
    render._kept.cache_clear()
    yield
    render._kept.cache_clear()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(render, "_bundled", lambda: "var vegaEmbed = 1;\r\n\u2028")
    return tmp_path / "cache"


def test_the_second_page_uses_the_cached_script(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = library()
    assert len(list((cache / "pages").iterdir())) == 1
    render._kept.cache_clear()
    monkeypatch.setattr(render, "_bundled", lambda: pytest.fail("bundled a second time"))
    assert library() == first


@pytest.mark.parametrize("damage", [b"", b"// sha256 0\nalert(1)", b"\xff\xfe", b"alert(1)"])
def test_a_damaged_cache_is_replaced(cache: Path, damage: bytes) -> None:
    script = library()
    (file,) = (cache / "pages").iterdir()
    cached = file.read_bytes()
    file.write_bytes(damage)
    render._kept.cache_clear()
    assert library() == script
    assert file.read_bytes() == cached


def test_the_script_works_without_a_cache(cache: Path) -> None:
    cache.write_text("a file")
    assert "vegaEmbed" in library()
    assert cache.read_text() == "a file"


def test_the_real_script_defines_vegaembed_and_is_embeddable() -> None:
    script = library()
    assert "vegaEmbed" in script
    assert "</script" not in script.lower()
