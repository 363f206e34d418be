"""Lessons beside a kernel: the recordings that the page ships, and the figures that show them."""

import json
import struct
from pathlib import Path

import pytest

from web.browsing import OpenPage
from web.test_lessons import LESSONS

RECORDED = Path(__file__).parents[2] / "ui" / "src" / "lessons" / "recorded"
MOST_BYTES = 300_000
"""Of all recordings together: a page loads one at a time."""


def test_every_lesson_has_a_run_of_a_kernel() -> None:
    files = {file.stem: file.read_bytes() for file in RECORDED.glob("*.bin")}
    assert files.keys() == set(LESSONS)
    assert sum(map(len, files.values())) <= MOST_BYTES
    for name, content in files.items():
        (length,) = struct.unpack_from("<I", content)
        header = json.loads(content[4 : 4 + length])
        assert header["valid"], name
        assert header["panels"], name
        assert header["kernel"], name
        assert header["duration_s"] > 0, name


@pytest.mark.slow(keep="bufferbloat")
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_shows_the_recording_of_its_first_run(opened: OpenPage, lesson: str) -> None:
    page = opened(f"#lesson={lesson}")
    linux = page.get_by_label("Show the same run on Linux")
    linux.check()
    page.locator(".plot canvas").first.wait_for()
    assert page.locator(".plot canvas").count() >= 2
    assert linux.is_checked()
