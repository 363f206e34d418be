"""Scripts for tc from its grammar, in any order: each is carried out or refused by an error of ours."""

from pathlib import Path

from hypothesis import strategies as st

from hostile.carried import carried_out
from hostile.fuzzing import search
from hostile.near import tc_lines


def test_fuzz_tc(tmp_path: Path) -> None:
    def check(lines: list[str]) -> None:
        path = {"rtt": "10ms", "tc": {"interface": "eth0", "commands": lines}}
        carried_out({"duration": "200ms", "path": path, "flows": [{"cc": "cubic"}]}, tmp_path / "x.toml")

    search(tc_lines(), check, examples=150)


def test_fuzz_a_script_s_words(tmp_path: Path) -> None:
    """Lines that nobody would write."""

    def check(script: str) -> None:
        (tmp_path / "x.sh").write_text(script, encoding="utf-8", newline="")
        path = {"rtt": "10ms", "tc": {"interface": "eth0", "script": "x.sh"}}
        carried_out({"duration": "200ms", "path": path, "flows": [{"cc": "cubic"}]}, tmp_path / "x.toml")

    words = st.sampled_from(
        ["tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "parent", "pfifo", "\n", "'", "\\", "#"]
    )
    search(
        st.lists(st.one_of(words, st.text(max_size=3, alphabet=st.characters(codec="utf-8"))), max_size=12).map(
            " ".join
        ),
        check,
    )
