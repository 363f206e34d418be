"""Errors of an experiment's text with their position."""

import pytest

from dumbbell.web.experiment_text import BLANK, line_of
from dumbbell.web.live_figures import FigureRequest, state


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (BLANK.replace('"50mbit"', '"50mbbit"'), 9, "path.bottleneck.rate"),
        (BLANK.replace('cc = "cubic"', 'cc = "CUBIC"'), 16, "flows.1.cc"),
        (BLANK.replace('cc = "cubic"', 'cc = "cubic"\ncount = -1'), 17, "flows.1.count"),
        (BLANK.replace('rtt = "40ms"', ""), 4, "path.rtt"),
        (BLANK + "[probe]\n", 17, "probe"),
        (BLANK.replace("[path]", "[path"), 4, ""),
    ],
)
def test_an_error_has_its_line_and_key(text: str, line: int, key: str) -> None:
    problem = state(FigureRequest(toml=text))["problem"]
    assert (problem["line"], problem["key"]) == (line, key)


def test_tables_of_nested_lists_are_numbered() -> None:
    text = '[[path.links]]\nname = "a"\n[[path.links]]\nname = "b"\n[path.links.extra]\nx = 1\n'
    assert line_of("path.links.0.name", text) == 2
    assert line_of("path.links.1.name", text) == 4
    assert line_of("path.links.1.extra.x", text) == 6
    assert line_of("nothing", text) is None
