"""Scripts of tc commands in any order: each runs or is refused by a `DumbbellError`."""

from pathlib import Path

from hypothesis import strategies as st

from hostile.almost_valid import tc_lines
from hostile.bounded_run import run_experiment
from hostile.fuzzing import search


def test_fuzz_tc(tmp_path: Path) -> None:
    def check(lines: list[str]) -> None:
        path = {"rtt": "10ms", "tc": {"interface": "eth0", "commands": lines}}
        run_experiment({"duration": "200ms", "path": path, "flows": [{"cc": "cubic"}]}, tmp_path / "x.toml")

    search(tc_lines(), check, examples=150)


def test_fuzz_tokens_of_a_script(tmp_path: Path) -> None:
    """Random tokens that need not form commands."""

    def check(script: str) -> None:
        (tmp_path / "x.sh").write_text(script, encoding="utf-8", newline="")
        path = {"rtt": "10ms", "tc": {"interface": "eth0", "script": "x.sh"}}
        run_experiment({"duration": "200ms", "path": path, "flows": [{"cc": "cubic"}]}, tmp_path / "x.toml")

    tokens = st.sampled_from(
        ["tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "parent", "pfifo", "\n", "'", "\\", "#"]
    )
    search(
        st.lists(st.one_of(tokens, st.text(max_size=3, alphabet=st.characters(codec="utf-8"))), max_size=12).map(
            " ".join
        ),
        check,
    )
