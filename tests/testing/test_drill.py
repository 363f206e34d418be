"""packetdrill's scripts on the simulator: what is read, what is skipped by name, and what an endpoint does."""

import contextlib
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Dumbbell
from dumbbell.testing.drill.reader import read
from dumbbell.testing.drill.run import run_script
from dumbbell.testing.drill.statements import Call, Code, Command, Packet, ScriptError, Time, Timestamp, Unsupported

SCRIPTS = Path(__file__).with_name("scripts")
LISTEN = """
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
 +.01 < . 1:1(0) ack 1 win 1000
   +0 accept(3, ..., ...) = 4
"""


def run(text: str) -> str:
    return run_script(text, SCRIPTS).trace


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.pkt")), ids=lambda script: script.stem)
def test_our_scripts_pass_on_the_simulator(script: Path) -> None:
    run_script(script.read_text(), script.parent)


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.skipif("DUMBBELL_PACKETDRILL" not in os.environ, reason="DUMBBELL_PACKETDRILL names no packetdrill")
def test_our_scripts_pass_on_the_kernel(dumbbell: Dumbbell) -> None:
    done = dumbbell("selftest", str(SCRIPTS), "--packetdrill", os.environ["DUMBBELL_PACKETDRILL"])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("option", ["--kernel", "--packetdrill"])
def test_the_simulator_needs_no_kernel_and_no_packetdrill(dumbbell: Dumbbell, option: str) -> None:
    done = dumbbell("selftest", "--engine", "sim", option, "x", str(SCRIPTS))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option}: the simulator needs none, got 'x'; leave it out" in done.stderr


def test_a_shell_selftest_is_skipped_and_a_failure_names_its_line(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("exit 1\n")
    (tmp_path / "b.pkt").write_text(LISTEN + "+0 %{ assert tcpi_unacked == 1 }%\n")
    files = [str(tmp_path / "a.sh"), str(tmp_path / "b.pkt")]
    done = dumbbell("selftest", "--engine", "sim", "--repeat", "2", "--junit", str(tmp_path / "x.xml"), *files)
    assert done.returncode == 1
    assert done.stdout.splitlines()[2:4] == [
        "ok 1 a.sh # SKIP a shell selftest needs a kernel",
        "not ok 2 b.pkt # b.pkt:9: assert tcpi_unacked == 1: tcpi_unacked is 0",
    ]
    assert 'name="sim"' in (tmp_path / "x.xml").read_text()


def test_results_are_ktap(dumbbell: Dumbbell) -> None:
    done = dumbbell("selftest", "--engine", "sim", "--repeat", "3", str(SCRIPTS))
    count = len(list(SCRIPTS.glob("*.pkt")))
    assert done.returncode == 0, done.stdout
    assert f"1..{count}" in done.stdout.splitlines()
    assert f"# Totals: pass:{count} fail:0 xfail:0 xpass:0 skip:0 error:0" in done.stdout


def test_a_packet_has_numbers_and_options() -> None:
    [packet] = read(
        "+.25 < P. 1:1001(1000) ack 5 win 77 <nop,nop,TS val 7 ecr 9,nop,nop,sack 10:20 30:40> // comment\n"
    )
    assert packet == Packet(
        1, Time(250_000_000, 250_000_000, is_relative=True), is_inbound=True, flags=frozenset("P."), seq=1, length=1000,
        ack=5, window=77, sack=((10, 20), (30, 40)), timestamp=Timestamp(7, 9),
    )  # fmt: skip


def test_statements_of_all_kinds_are_read() -> None:
    text = """--ip_version=ipv4
`sysctl -q a=b
sysctl c=d`
/* over
   lines */
0...0.5 connect(3, ..., {sa_family = AF_INET, "a, b)"}) = -1 EINPROGRESS (Operation now in progress)
+1~+2 > S 0:0(0) <...>
* > [ect0] . 1:1(0) ack 1
+0 %{ assert tcpi_unacked == 1
x = tcpi_snd_cwnd
print(x) }%
+0 `sleep 1`
"""
    command, connect, syn, ack, code, sleep = read(text)
    assert isinstance(command, Command)
    assert command.time is None
    assert isinstance(connect, Call)
    assert connect.time.blocks
    assert connect.time.end_ns == 500_000_000
    assert (connect.args[2], connect.result, connect.error) == ('{sa_family = AF_INET, "a, b)"}', -1, "EINPROGRESS")
    assert isinstance(syn, Packet)
    assert syn.any_options
    assert (syn.time.start_ns, syn.time.end_ns) == (10**9, 2 * 10**9)
    assert isinstance(ack, Packet)
    assert ack.ecn == "ect0"
    assert ack.time.is_any
    assert isinstance(code, Code)
    assert [step.line for step in code.steps] == [9, 10]
    assert isinstance(sleep, Command)
    assert sleep.line == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("+0 < . 1:3(1) ack 1", r"line 1: 1:3\(1\): the numbers differ by another length"),
        ("+2~+1 > . 1:1(0) ack 1", r"line 1: '\+2~\+1' ends before it starts"),
        ("+2~3 > . 1:1(0) ack 1", r"line 1: '\+2~3' mixes a relative and an absolute time"),
        ("\n+0 %{ assert 1", r"line 2: %\{ without \}%"),
        ("`sysctl a=b", "line 1: ` without `"),
        ("/* comment", r"line 1: /\* without \*/"),
        ("+0 write(4, ..., 10", "line 1: the call's brackets do not close"),
        ("+0 write(4, [..., 10) = 1", r"line 1: '\)' closes another bracket"),
        ("+0 write(4, ..., 10)", "line 1: write without '= result'"),
        ("+0 < . 4294967296:4294967296(0) ack 1", "line 1: 4294967296 exceeds 32 bits"),
        ("+0 < . 1:1(0) ack 1 <sack 9:9>", "line 1: the SACK block 9:9 ends before it starts"),
        ("+0 < S 0:0(0) win 1 <mss 99999>", "line 1: '99999' is no number up to 65535"),
        ("+9999999 < . 1:1(0) ack 1", "line 1: the time 9999999 s exceeds 1,000,000 s"),
    ],
)
def test_a_script_that_contradicts_itself_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ScriptError, match=f"^{message}$"):
        read(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("+0 < R 1:1(0)", "line 1: a reset in a packet"),
        ("+0 < icmp unreachable net_unreachable", "line 1: a packet 'icmp'"),
        ("+0 < udp (100)", "line 1: a packet 'udp'"),
        ("+0 < S 0:0(0) win 1 <FO abcd>", "line 1: the TCP option 'FO abcd'"),
        ("+0 < [tos 0x10] . 1:1(0) ack 1", "line 1: [tos 0x10] of a packet"),
        ("--strict_segments", "line 1: the option --strict_segments"),
        ("+0 %{ import os }%", "line 1: import os in %{ }%"),
        ("+0 %{ assert open('x') }%", "line 1: open('x') in %{ }%"),
        ("+0 %{ assert 2 ** 99 == 1 }%", "line 1: 2 ** 99 in %{ }%"),
        ("+0 %{ assert x == 1 }%", "line 1: x in %{ }%"),
        ("+0 %{\nassert tcpi_ato == 1 }%", "line 2: tcpi_ato, which the simulator does not have"),
        ("sendmsg(3) = 1", "line 1: a statement without a time, 'sendmsg(3) = 1'"),
    ],
)  # fmt: skip
def test_what_the_reader_does_not_know_is_named(text: str, what: str) -> None:
    with pytest.raises(Unsupported, match=f"^{re.escape(what)}$"):
        read(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("`sysctl -q net.ipv4.tcp_sack=0`" + LISTEN, "line 1: the setting net.ipv4.tcp_sack = 0"),
        ("`rm -rf /`" + LISTEN, "line 1: the command 'rm -rf /'"),
        ("`./nothing.sh`" + LISTEN, "line 1: the command 'nothing.sh', which can't be read: No such file or directory"),
        (LISTEN + "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0", "line 9: setsockopt(SOL_TCP, TCP_NODELAY)"),
        (LISTEN + "+0 poll([{fd=4}], 1, 0) = 0", "line 9: the call poll"),
        (LISTEN + "+0 send(4, ..., 10, MSG_EOR) = 10", "line 9: send with MSG_EOR"),
        (LISTEN + "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5", "line 9: a second socket"),
        (LISTEN + "+0 < P. 1:11(10) ack 1 win 9\n+0 > . 1:1(0) ack 11\n+0 read(4, ..., 5) = 5",
         "line 11: a read of 5 bytes when 10 are there"),
        (LISTEN.replace("sackOK,", "") .replace("<mss 1460,nop,nop,sackOK,nop,", "<mss 1460,nop,")
         + "+0 write(4, ..., 9000) = 9000\n+0 > P. 1:9001(9000) ack 1\n+0 < . 1:1(0) ack 1 win 1000",
         "line 11: loss with a peer without SACK"),
    ],
)  # fmt: skip
def test_what_the_simulator_does_not_have_is_named(text: str, what: str) -> None:
    with pytest.raises(Unsupported, match=f"^{re.escape(what)}$"):
        run(text)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("+0 > . 1:1(0) ack 1", r"no packet until 0\.014000"),
        ("+0 write(4, ..., 3000) = 3000\n+0 > P. 1:2001(2000) ack 1\n+0 > P. 2001:4001(2000) ack 1",
         r"no packet until 0\.014000 after P\. 2001:3001\(1000\) ack 1"),
        ("+0 write(4, ..., 1000) = 1000\n+.1 > P. 1:1001(1000) ack 1", r"sent at 0\.010000, expected at 0\.110000: .*"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1", r"flags P\., expected \.: .*"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 2", r"ack 1, expected 2: .*"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1 <sack 5:6>", r"sack none, expected 5:6: .*"),
        ("+0 %{ assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd }%", r"assert tcpi_snd_cwnd == 11: tcpi_snd_cwnd is 10"),
        ("+0 %{ assert 1 / (tcpi_unacked) == 1 }%", r"1 / tcpi_unacked == 1: division by zero"),
        ("+0 read(4, ..., 1000) = 1000", "read would block"),
        ("+0...0.02 read(4, ..., 1000) = 1000\n+1 %{ assert 1 }%", r"read has not returned at .*"),
        ("+400 %{ assert 1 }%", r"not done after 300 s of virtual time"),
    ],
)  # fmt: skip
def test_what_the_endpoint_does_otherwise_fails_the_script(statement: str, message: str) -> None:
    with pytest.raises(ScriptError, match=rf"^line \d+: {message}$"):
        run(LISTEN + statement)


def test_a_time_counts_from_when_the_statement_before_was_and_tolerance_grows_with_it() -> None:
    write = LISTEN + "+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1\n"
    # The probe comes 26 ms after the write, the timeout 216 ms after the probe.
    assert "0.036000 > P. 1001:2001(1000) ack 1" in run(write + "+.023 > P. 1001:2001(1000) ack 1\n")
    with pytest.raises(ScriptError, match=r"no packet until 0\.035000"):
        run(write + "+.021 > P. 1001:2001(1000) ack 1\n")
    both = write + "+.023 > P. 1001:2001(1000) ack 1\n{} > . 1:1001(1000) ack 1\n"
    assert "0.252000 > . 1:1001(1000) ack 1" in run(both.format("+.2"))
    with pytest.raises(ScriptError, match="no packet until"):
        run(both.format("+.19"))


def test_settings_are_those_of_the_scripts_that_a_command_starts(tmp_path: Path) -> None:
    (tmp_path / "defaults.sh").write_text(
        '#!/bin/sh\n# comment\nsysctl -q net.ipv4.tcp_rmem="4096 540000 $((15*1024*1024))" > /dev/null 2>&1\n'
    )
    text = "`./defaults.sh`" + LISTEN.replace("<mss 1460,nop,nop,sackOK,nop,wscale 7>", "<mss 1460,sackOK,wscale 8>")
    run_script(text, tmp_path)
    (tmp_path / "defaults.sh").write_text("./defaults.sh\n")
    with pytest.raises(Unsupported, match="scripts that start each other"):
        run_script(text, tmp_path)


WORDS = st.sampled_from(
    "0 +0 +.1 * +1~+2 0...1 < > S S. . P. F. 1:1001(1000) 0:0(0) 1:1(0) ack win 1 1000 <mss sackOK,wscale 7> <sack "
    "1001:2001> `sysctl ` %{ }% assert tcpi_lost == x = socket( bind( listen( accept( write( read( close( connect( 3, "
    "4, ..., ) ) = 0 = 3 = -1 EINVAL // /* */ \n \n \n SOCK_STREAM,".split(" ")
)


@given(st.lists(WORDS, max_size=60).map(" ".join) | st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ScriptError, Unsupported):
        run(text)


@st.composite
def packets(draw: st.DrawFn) -> str:
    seq, length = draw(st.integers(0, 1 << 20)), draw(st.integers(0, 3_000))
    flags = draw(st.sampled_from([".", "P.", "F.", "S.", "S", "E.", "FP."]))
    ack = f" ack {draw(st.integers(0, 1 << 20))}" if "." in flags else ""
    starts = draw(st.lists(st.integers(0, 30_000), max_size=3))
    sack = f" <sack {' '.join(f'{start}:{start + 1000}' for start in starts)}>" if starts else ""
    after = draw(st.sampled_from(["+0", "+.001", "+.05", "+.4", "+3"]))
    return f"{after} < {flags} {seq}:{seq + length}({length}){ack} win {draw(st.integers(0, 1000))}{sack}"


CALLS = st.sampled_from(
    ["+0 write(4, ..., 5000) = 5000", "+0 close(4) = 0", "+0 shutdown(4, SHUT_WR) = 0", "+.3 `true`"]
)


@given(st.lists(packets() | CALLS, max_size=25))
@settings(max_examples=200, deadline=None)
def test_no_peer_breaks_the_endpoint(statements: list[str]) -> None:
    """Whatever arrives, the simulator has no internal error, and its counts fit each other."""
    fits = "+0 %{ assert tcpi_sacked + tcpi_lost <= tcpi_unacked and tcpi_retrans <= tcpi_unacked <= 9999 }%"
    text = LISTEN + "\n".join(part for statement in statements for part in (statement, fits))
    problem = ""
    try:
        run(text)
    except Unsupported as unsupported:
        problem = unsupported.what
    except ScriptError as error:
        problem = error.problem
    assert "tcpi" not in problem
