"""Damaged logs, one kind each: unreadable text is an error with its file and line."""

import ast
import json
from pathlib import Path

import pytest

import dumbbell
from dumbbell.analysis.summary import summary
from dumbbell.errors import ImportProblem
from dumbbell.exporters import export_run
from dumbbell.importers import Options, import_files, read_run
from dumbbell.importers.merge import _unique
from dumbbell.results.result import load
from importers.samples import IPERF2, IPERF3, PING, SAMPLES, SS, TC, TCP_PROBE, TIME

DIGITS = "9" * 5000


def import_error(text: str, folder: Path, options: Options | None = None) -> str:
    file = folder / "log"
    file.write_text(text)
    with pytest.raises(ImportProblem) as caught:
        read_run([file], options or Options())
    return str(caught.value).removeprefix(f"{file}: ")


ENDLESS = {
    "ss, a queue": (SS.replace("ESTAB 0      1448", f"ESTAB {DIGITS} 1448", 1), "line 3: '99"),
    "ss, a field": (SS.replace("segs_out:21", f"segs_out:{DIGITS}"), "line 4: '99"),
    "iperf3, a size": (IPERF3.replace("1.00 MBytes  8", f"{DIGITS} MBytes  8"), "line 16: '99"),
    "iperf3, retransmits": (IPERF3.replace("8.39 Mbits/sec    3", f"8.39 Mbits/sec    {DIGITS}"), "line 16: '99"),
    "iperf3, a summary": (IPERF3.replace("12.6 Mbits/sec    7 ", f"12.6 Mbits/sec    {DIGITS} "), "line 26: '99"),
    "iperf2, an RTT": (IPERF2.replace("14K/335(2)", f"14K/{DIGITS}(2)"), "line 9: '99"),
    "ping, a number": (PING.replace("icmp_seq=3", f"icmp_seq={DIGITS}"), "line 3: '99"),
    "ping, how many": (PING.replace("4 packets", f"{DIGITS} packets"), "line 6: '99"),
    "tcp_probe, a window": (TCP_PROBE.replace(" 14 7 ", f" {DIGITS} 7 "), "line 2: '99"),
    "tcp_probe, a sequence": (TCP_PROBE.replace("0x00001000", f"0x{DIGITS}"), "line 2: '99"),
    "tc, a counter": (TC.replace("Sent 500 bytes", f"Sent {DIGITS} bytes"), "line 8: '99"),
    "tc, marks": (TC.replace("ecn_mark 7", f"ecn_mark {DIGITS}"), "line 14: '99"),
    "time, minutes": (TIME.replace("0m1.052s", f"{DIGITS}m1.052s"), "line 1: '99"),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_number_of_five_thousand_digits_is_an_error_with_its_line(what: str, tmp_path: Path) -> None:
    text, message = ENDLESS[what]
    assert DIGITS in text
    assert import_error(text, tmp_path).startswith(message)


def test_only_one_module_parses_numbers_of_logs() -> None:
    """`int` and `float` of a text have no bounds; `quantity` has them."""
    text_readers = (
        "flent",
        "fping",
        "iperf2",
        "iperf3_text",
        "ping",
        "probe_log",
        "ss",
        "ss_fields",
        "stamps",
        "tc",
        "tcp_probe",
        "timing",
    )
    for name in text_readers:
        tree = ast.parse((Path(dumbbell.__file__).parent / "importers" / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("int", "Decimal"):
                assert "match" not in ast.unparse(node), f"{name}.py, line {node.lineno}: {ast.unparse(node)}"
            if isinstance(node, ast.ExceptHandler) and node.type is not None:
                assert ast.unparse(node.type) not in ("Exception", "BaseException"), f"{name}.py, line {node.lineno}"


def test_a_sample_of_ss_without_a_socket_needs_a_time_too(tmp_path: Path) -> None:
    header = "State Recv-Q Send-Q Local Address:Port  Peer Address:Port\n"
    listening = f"{header}LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n"
    assert import_error(listening + SS, tmp_path).startswith(
        "line 1: a sample without a time, although others have one"
    )
    untimed = "\n".join(line for line in SS.splitlines()[:5] if not line.startswith("Time")) + "\n"
    assert import_error(untimed + listening, tmp_path).startswith("line 5: samples without times")


def test_a_counter_that_restarts_has_no_total(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(TC.replace("Sent 5000 bytes 50 pkt (dropped 4", "Sent 5 bytes 1 pkt (dropped 0"))
    run = load(import_files([tmp_path / "log"], tmp_path / "run", Options(queue="eth0 10:")))
    assert (run.manifest.queues[0]["drops"], run.manifest.queues[0]["sent_bytes"]) == (None, None)
    (tmp_path / "log").write_text(SS.replace("retrans:0/5", "retrans:0/1"))
    run = load(import_files([tmp_path / "log"], tmp_path / "run2", Options()))
    assert run.manifest.flows[0]["retransmits"] is None


def test_times_before_the_first_are_an_error(tmp_path: Path) -> None:
    text = PING.replace("1700000002.030000", "1600000002.030000").replace("icmp_seq=3", "icmp_seq=9")
    assert import_error(text, tmp_path) == "line 3: an answer that is older than the previous one; one ping per file"


def test_many_flows_of_one_name_are_numbered_in_one_pass() -> None:
    names = _unique(["a", "b", "a", "a-1", *["c"] * 50_000])
    assert names[:4] == ["a-1", "b", "a-2", "a-1-1"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duration_s": "abc"}, 'not a valid run.json: `duration_s` is "abc"; a number of seconds'),
        ({"flows": [{}]}, "not a valid run.json: `flows[0].name` is missing"),
        ({"title": "\ud800"}, "line 1: invalid JSON: 'utf-8' codec can't encode character"),
        ({"format": 2}, "format: format 2 is newer"),
    ],
)
def test_an_export_is_checked_by_the_schema_of_results(change: dict[str, object], message: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(SAMPLES["ss"])
    run = load(import_files([tmp_path / "log"], tmp_path / "run", Options()))
    out = export_run(run, tmp_path / "out")
    (out / "run.json").write_text(json.dumps(run.manifest.as_dict() | change))
    with pytest.raises(ImportProblem, match=r"run\.json: ") as caught:
        read_run([out], Options())
    assert message in str(caught.value)


def test_an_import_writes_only_valid_results(tmp_path: Path) -> None:
    """A table of an export with a negative counter is invalid: nothing is written."""
    (tmp_path / "log").write_text(SAMPLES["ping"])
    run = load(import_files([tmp_path / "log"], tmp_path / "run", Options()))
    out = export_run(run, tmp_path / "out")
    text = (out / "probes.csv").read_text()
    (out / "probes.csv").write_text(text.replace(",20000000,", ",-5,"))
    with pytest.raises(ImportProblem, match="column 'rtt_ns' has -5; numbers from 0"):
        import_files([out], tmp_path / "imported", Options())
    assert not (tmp_path / "imported").exists()
    assert summary(run)["ping_ms"]["mean"] == pytest.approx(25.25)
