"""`scripts/transcripts.py`: blocks are read and written without loss, cuts stay, masked parts are not compared."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

transcripts: Any = importlib.import_module("transcripts")

COMMANDS = st.text("ab' \n", max_size=8).map(lambda text: f"run '{text.replace(chr(39), '')}' x")
LINES = st.lists(st.text("aé=0 .$", max_size=12).map(lambda text: f"x{text}"), max_size=6)
WORDS = st.lists(st.text("abcdefghij", min_size=8, max_size=12), min_size=3, max_size=9, unique=True)


def page(body: str, marks: str = "") -> str:
    return f"# Title\n\nText.\n\n{marks}```console\n{body}```\n\nMore.\n"


@given(st.lists(st.tuples(COMMANDS, LINES), min_size=1, max_size=4))
def test_a_block_is_read_and_written_without_loss(session: list[tuple[str, list[str]]]) -> None:
    body = "".join(f"$ {command}\n" + "".join(f"{line}\n" for line in lines) for command, lines in session)
    text = page(body)
    (block,) = transcripts.blocks(text)
    assert [(command.text, command.shown) for command in block.commands] == session
    assert text[slice(*block.span)] == body == transcripts.rendered(block)
    for command in block.commands:
        command.printed = list(command.shown)
    assert transcripts.rendered(block) == body


@given(WORDS, st.data())
def test_what_is_cut_stays_cut(output: list[str], data: Any) -> None:
    """Any lines may be cut; those around them are found again, with other numbers in them."""
    is_cut = data.draw(st.lists(st.booleans(), min_size=len(output), max_size=len(output)))
    numbered = [f"{line} {number}" for number, line in enumerate(output)]
    shown: list[str] = []
    for line, cut in zip(output, is_cut, strict=True):
        if not cut:
            shown.append(f"{line} 7")
        elif shown[-1:] != ["…"]:
            shown.append("…")
    expected = [
        "…" if line == "…" else next(new for new in numbered if new.split()[0] == line.split()[0]) for line in shown
    ]
    if set(shown) - {"…"} and shown[0] != "…":
        assert transcripts.fitted(shown, numbered) == expected


@given(st.floats(0.1, 999), st.integers(1, 9999), WORDS)
def test_a_page_stays_when_only_wall_times_and_dates_differ(seconds: float, factor: int, words: list[str]) -> None:
    def output(seconds: float, factor: int, date: str) -> list[str]:
        return [
            f"sim, seed 1, 120 s in {seconds:.1f} s ({factor}× real time)",
            *words,
            f"3 runs on sim, {seconds:.1f} s",
            f"dumbbell: 0.51 s of virtual time, {seconds:.1f} s of real time; result: runs/cyclic-exec-{date}-{factor}",
        ]

    shown = output(0.6, 210, "20261124-022135")
    assert transcripts.kept(shown, output(seconds, factor, "20270101-000000")) == shown
    changed = [f"{words[0]} 5", *shown]
    assert transcripts.kept(shown, changed) == changed


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("kernel 6.12.117, seed 1", "kernel 6.12.120, seed 1", True),
        ("flow   cc   9.5", "flow cc 9.5", True),
        ("bbr 28.45 4372", "bbr 28.45 4575", False),
        ("5.00011 s of virtual time", "5.00012 s of virtual time", True),
        ("4.5e-05 s of virtual time", "2e-05 s of virtual time", True),
        ("0.51 s of virtual time", "0.52 s of virtual time", False),
    ],
)
def test_results_are_compared(old: str, new: str, is_same: bool) -> None:
    assert (transcripts.masked(old) == transcripts.masked(new)) is is_same


def test_words_cut_in_a_line_stay_cut() -> None:
    old = ["10:00 IP a.1 > b.2: seq 5, win 7, options [mss …", "…", "sum 3"]
    new = ["10:00 IP a.1 > b.2: seq 99, win 8, options [mss 1460,sackOK]", "other", "sum 4"]
    assert transcripts.fitted(old, new) == ["10:00 IP a.1 > b.2: seq 99, win 8, options [mss …", "…", "sum 4"]


def test_a_lost_line_is_an_error() -> None:
    with pytest.raises(ValueError, match="no longer a line like 'throughput 5'"):
        transcripts.fitted(["…", "throughput 5", "…"], ["nothing of that", "kind"])


def test_marks_say_what_is_run() -> None:
    marks = '<!-- transcript: needs sh no-such-program -->\n<!-- transcript: setup printf "%s" a > b -->\n'
    (block,) = transcripts.blocks(page("$ ls\nb\n", marks))
    assert (block.setup, block.skipped) == (['printf "%s" a > b'], "no no-such-program here")
    (block,) = transcripts.blocks(page("$ ls\nb\n", "<!-- transcript: not run, needs root -->\n"))
    assert block.skipped == "needs root"
    (block,) = transcripts.blocks(page("$ ls\nb\n", "<!-- transcript: not compared, times -->\n"))
    assert (block.skipped, block.not_compared) == ("", "times")
    (block,) = transcripts.blocks(page("$ ls\nb\n", "<!-- transcript: needs README.md scripts/docs.py -->\n"))
    assert block.skipped == "no README.md here"


SESSION = """\
Before.

```text title="given.txt"
a file
```

<!-- transcript: setup cp given.txt copied.txt -->
```console
$ cat copied.txt; printf 'no line end'
$ mkdir folder && cd folder && variable=kept
$ basename "$PWD"; echo "$variable"; cat
$ ls nowhere; echo "status $?"
```

```console
$ no-such-command
$ echo 'Traceback (most recent call last)'
$ sleep 100 & echo started
$ exit 3
$ echo never
```
"""


def test_commands_run_in_order_in_one_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "WORK", tmp_path / "work")
    monkeypatch.setattr(transcripts, "private_cache", lambda _: None)
    found = transcripts.blocks(SESSION)
    errors = transcripts.run(tmp_path / "page.md", SESSION, found)
    assert [command.printed for command in found[0].commands] == [
        ["a file", "no line end"],
        [],
        ["folder", "kept"],
        ["ls: cannot access 'nowhere': No such file or directory", "status 2"],
    ]
    assert found[1].commands[2].printed == ["started"]
    named = [(error.split("`")[1], error.split()[-1]) for error in errors]
    assert named == [
        ("no-such-command", "exist"),
        ("echo 'Traceback (most recent call last)'", "crashed"),
        ("exit 3", "end"),
        ("echo never", "end"),
    ]
    text, stale = transcripts.renewed(tmp_path / "page.md", SESSION, found)
    assert "$ cat copied.txt; printf 'no line end'\na file\nno line end\n$ mkdir" in text
    assert [line.partition(" shows ")[0].rpartition(":")[0][-2:] for line in stale] == ["10", "19"]
