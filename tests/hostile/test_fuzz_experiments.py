"""Almost valid experiments: each gives a result or a `DumbbellError`, no other exception, no panic."""

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from dumbbell.spec.document import as_toml, parse, split_setting
from hostile.almost_valid import documents, with_mistake
from hostile.bounded_run import expected_errors, run_experiment
from hostile.fuzzing import search


@st.composite
def with_mistakes(draw: st.DrawFn) -> dict[str, Any]:
    """An experiment with up to two mistakes."""
    document = draw(documents())
    for _ in range(draw(st.integers(0, 2))):
        document = with_mistake(draw, document)
    return document


def test_fuzz_experiments(tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text("1\n5\n9\n")
    search(with_mistakes(), lambda document: run_experiment(document, tmp_path / "x.toml"), examples=60)


def test_fuzz_experiments_as_text(tmp_path: Path) -> None:
    """Replaced characters, and settings as given on the command line."""
    text = as_toml(
        {"duration": "1s", "path": {"rtt": "1ms", "bottleneck": {"rate": "1mbit"}}, "flows": [{"cc": "bbr"}]}
    )
    characters = st.sampled_from([*"[]{}=.,\"'#\n\\", '"""', "'''", "[[", "]]", "0x", "1e9999", "\x00", "é"])

    def check(example: tuple[list[tuple[int, str]], list[str]]) -> None:
        changes, settings = example
        damaged_text = text
        for index, character in changes:
            damaged_text = (
                damaged_text[: index % len(damaged_text)] + character + damaged_text[index % len(damaged_text) + 1 :]
            )
        with expected_errors():
            parse(damaged_text, tmp_path / "x.toml", settings)

    setting = st.builds(
        "{}={}".format, st.sampled_from(["path.rtt", "flows.*.cc", "a.b", "*", "flows.0", "cases", ""]), characters
    )
    search(
        st.tuples(st.lists(st.tuples(st.integers(0, 999), characters), max_size=6), st.lists(setting, max_size=2)),
        check,
    )


def test_fuzz_settings() -> None:
    def check(setting: str) -> None:
        with expected_errors():
            split_setting(setting)

    search(st.text(max_size=30), check)
