"""`ss` output broken into lines of any width gives the original sample, or an error with its line."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumbbell.errors import ImportProblem
from dumbbell.importers import Options, read_run
from dumbbell.importers.ss_fields import fields, mended
from importers.samples import SS

PASTED = Path(__file__).parents[2] / "examples" / "logs" / "ss-tin-bbr.txt"
BARE = " ".join(PASTED.read_text().split())
NO_TIMES = "\n".join(line for line in SS.splitlines()[:6] if not line.startswith("Time")).replace("newfield:9", "")
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def flows(folder: Path, text: str, interval_ns: int | None = None) -> pl.DataFrame:
    file = folder / "log"
    file.write_text(text if text.endswith("\n") else text + "\n")
    return read_run([file], Options(interval_ns=interval_ns)).tables["flows"]


def wrapped(text: str, width: int) -> str:
    lines = text.expandtabs().split("\n")
    return "\n".join(line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width))


@pytest.mark.slow(keep="sockets")
@pytest.mark.parametrize("text", [NO_TIMES, BARE], ids=["sockets", "fields alone"])
def test_any_width_from_twenty_columns_gives_the_same_sample(text: str, tmp_path: Path) -> None:
    good = flows(tmp_path, text)
    assert good["time_ns"].unique().to_list() == [0]
    for width in range(20, 100):
        for broken in (wrapped(text, width), "\n".join(map(str.rstrip, wrapped(text, width).split("\n")))):
            assert flows(tmp_path, broken).equals(good), width


@pytest.mark.slow
@SAME_FOLDER
@given(st.integers(1, len(BARE) - 1))
def test_one_break_anywhere_is_repaired(tmp_path: Path, at: int) -> None:
    assert flows(tmp_path, f"{BARE[:at]}\n{BARE[at:]}").equals(flows(tmp_path, BARE))


@SAME_FOLDER
@given(st.sets(st.integers(1, len(BARE) - 1), max_size=30))
def test_breaks_anywhere_give_the_sample_or_an_error_with_a_line(tmp_path: Path, breaks: set[int]) -> None:
    places = [0, *sorted(breaks), len(BARE)]
    text = "\n".join(BARE[start:stop] for start, stop in pairwise(places))
    try:
        table = flows(tmp_path, text, interval_ns=10**9)
    except ImportProblem as caught:
        problem = str(caught)
    else:
        assert table["bytes_acked"].drop_nulls().max() == 68_157_360
        return
    assert "line " in problem


def test_double_spaced_text_is_one_sample(tmp_path: Path) -> None:
    """Each line was once read as a separate sample: 68 MB in five seconds, 109 Mbit/s, from one sample of a socket."""
    spaced = PASTED.read_text().replace("\n", "\n\n")
    assert flows(tmp_path, spaced, interval_ns=10**9).equals(flows(tmp_path, BARE))


def test_repeated_fields_start_the_next_sample(tmp_path: Path) -> None:
    table = flows(tmp_path, f"{wrapped(BARE, 40)}\n{wrapped(BARE.replace('cwnd:190', 'cwnd:7'), 33)}", interval_ns=100)
    assert (table["time_ns"].to_list(), table["cwnd_packets"].to_list()) == ([0, 100], [190, 7])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{BARE}\nfoo bar", "line 2: not a line of ss, got 'foo bar'"),
        (f"{NO_TIMES}\nESTAB 0 0 10.0.0.1:4", "line 6: not a socket of ss, got 'ESTAB 0 0 10.0.0.1:4'"),
        (f"{NO_TIMES}\n cwnd:7", "line 6: 'cwnd_packets' occurs twice"),
        ("\n".join([BARE, *(f"a{number}:1 cwndx:2" for number in range(99))]), "line 2: not a line of ss"),
        ("\n".join([BARE, *(["y"] * 999)]), "line 101: a socket with more than 100 lines"),
        ("\n".join(["cwnd:1 rtt:1/1", *(["bbr:(xxx"] * 999)]), "line 101: a socket with more than 100 lines"),
    ],
)
def test_unrepairable_breaks_are_errors_with_a_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ImportProblem) as caught:
        flows(tmp_path, text)
    assert str(caught.value).removeprefix(f"{tmp_path}/log: ").startswith(message)


@given(st.text("abcdeinrtw_:/(),.0123456789 ", max_size=30), st.text("abcdeinrtw_:/(),.0123456789 ", max_size=30))
def test_repairing_moves_characters_and_loses_none(before: str, text: str) -> None:
    joined = "".join("".join(mended(before, text)).split())
    assert joined == "".join((before + text).split())


def test_complete_fields_stay_separate() -> None:
    for before, text in (("cwnd:1", "mss:9"), ("send 3Mbps", "app_limited"), ("ts", "sack cubic"), ("bbr", "rtt:1/2")):
        assert mended(before, text) == (before, text)
        assert fields(f"{before} {text}").unknown == []
