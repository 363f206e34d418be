"""Experiments that are almost valid: each gives a result or an error of ours, no other exception, no panic."""

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from dumbbell.spec.document import parse, split_setting
from dumbbell.spec.tomlout import as_toml
from hostile.carried import carried_out, refusals
from hostile.fuzzing import search
from hostile.near import changed, documents


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """An experiment with up to two mistakes."""
    document = draw(documents())
    for _ in range(draw(st.integers(0, 2))):
        document = changed(draw, document)
    return document


def test_fuzz_experiments(tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text("1\n5\n9\n")
    search(damaged(), lambda document: carried_out(document, tmp_path / "x.toml"), examples=60)


def test_fuzz_experiments_as_text(tmp_path: Path) -> None:
    """Characters in the place of others, and settings as the command has them."""
    text = as_toml(
        {"duration": "1s", "path": {"rtt": "1ms", "bottleneck": {"rate": "1mbit"}}, "flows": [{"cc": "bbr"}]}
    )
    signs = st.sampled_from([*"[]{}=.,\"'#\n\\", '"""', "'''", "[[", "]]", "0x", "1e9999", "\x00", "é"])

    def check(example: tuple[list[tuple[int, str]], list[str]]) -> None:
        changes, settings = example
        made = text
        for place, sign in changes:
            made = made[: place % len(made)] + sign + made[place % len(made) + 1 :]
        with refusals():
            parse(made, tmp_path / "x.toml", settings)

    setting = st.builds(
        "{}={}".format, st.sampled_from(["path.rtt", "flows.*.cc", "a.b", "*", "flows.0", "cases", ""]), signs
    )
    search(st.tuples(st.lists(st.tuples(st.integers(0, 999), signs), max_size=6), st.lists(setting, max_size=2)), check)


def test_fuzz_settings() -> None:
    def check(setting: str) -> None:
        with refusals():
            split_setting(setting)

    search(st.text(max_size=30), check)
