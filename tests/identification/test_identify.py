"""`dumbbell identify` on captures of the simulator and of the kernel engine: path, verdict, refusals."""

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Dumbbell

EXPERIMENT = """
duration = "{duration}"
sample = "1s"
[path]
rtt = "30ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "bfifo limit 40000"
[[flows]]
cc = "{cc}"
count = {count}
"""
ENDS = {"sender": "sender.right", "receiver": "receiver.left"}
CANDIDATES = "reno,cubic,bbr,vegas"
Capture = Callable[..., Path]


@pytest.fixture
def capture(dumbbell: Dumbbell, tmp_path: Path) -> Capture:
    def made(cc: str, end: str = "sender", engine: str = "sim", duration: str = "8s", count: int = 1) -> Path:
        experiment = tmp_path / "experiment.toml"
        experiment.write_text(EXPERIMENT.format(cc=cc, duration=duration, count=count))
        file = tmp_path / f"{cc}-{end}-{engine}.pcap"
        done = dumbbell(
            "run", experiment, "--engine", engine, "--pcap", file, "--pcap-device", ENDS[end], "--out",
            tmp_path / f"run-{file.stem}",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return file

    return made


def answer(dumbbell: Dumbbell, file: Path, *options: str) -> dict[str, Any]:
    done = dumbbell("identify", file, *options, "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (5 if found["verdict"] == "unknown" else 0), done.stderr
    return found


def refusal(dumbbell: Dumbbell, file: Path, *options: str) -> str:
    done = dumbbell("identify", file, *options)
    assert done.returncode == 2, done.stdout
    return done.stderr


@pytest.mark.slow(keep="reno-sender")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("cc", CANDIDATES.split(","))
def test_a_capture_is_named_after_its_controller(dumbbell: Dumbbell, capture: Capture, cc: str, end: str) -> None:
    found = answer(dumbbell, capture(cc, end), "--candidates", CANDIDATES)
    assert found["ranking"][0]["cc"] == cc
    assert found["verdict"] in (cc, "unknown")
    assert sum(each["confidence"] for each in found["ranking"]) < 1


def test_a_near_candidate_is_named_with_its_confidence(dumbbell: Dumbbell, capture: Capture) -> None:
    done = dumbbell("identify", capture("cubic"), "--candidates", CANDIDATES)
    assert done.stdout.splitlines()[-1].startswith("The flow behaves like cubic (confidence ")


@pytest.mark.slow(keep="sender")
@pytest.mark.parametrize("end", ENDS)
def test_the_path_is_estimated(dumbbell: Dumbbell, capture: Capture, end: str) -> None:
    path = answer(dumbbell, capture("reno", end), "--candidates", "reno")["path"]
    assert path["captured_at"] == end
    assert path["rtt_ms"] == pytest.approx(30, rel=0.02)
    assert path["rate_mbps"] == pytest.approx(10, rel=0.02)
    assert path["buffer_bytes"] == pytest.approx(40_000, rel=0.1)
    assert path["buffer_filled"]
    assert path["other_share"] == 0
    assert path["random_loss"] == 0


@pytest.mark.kernel
@pytest.mark.parametrize("end", ENDS)
def test_a_capture_of_linux_is_named(dumbbell: Dumbbell, capture: Capture, end: str) -> None:
    assert answer(dumbbell, capture("cubic", end, "kernel"), "--candidates", CANDIDATES)["verdict"] == "cubic"


@pytest.mark.slow
def test_a_controller_that_is_no_candidate_is_unknown(dumbbell: Dumbbell, capture: Capture) -> None:
    file = capture("vegas")
    found = answer(dumbbell, file, "--candidates", "cubic,reno")
    assert found["verdict"] == "unknown"
    done = dumbbell("identify", file, "--candidates", "cubic,reno")
    assert done.stdout.splitlines()[-1].startswith("Unknown: the nearest candidate, ")


@pytest.mark.slow
def test_without_the_start_the_rest_suffices(dumbbell: Dumbbell, capture: Capture) -> None:
    file = capture("cubic", duration="12s")
    write(file, (each for each in records(file) if each[0] >= 2.0))
    found = answer(dumbbell, file, "--candidates", CANDIDATES)
    assert found["ranking"][0]["cc"] == "cubic"
    assert "the connection's start is missing" in found["warnings"][0]


@pytest.mark.slow
def test_a_connection_is_chosen_by_its_ends(dumbbell: Dumbbell, capture: Capture) -> None:
    file = capture("reno", count=2)
    error = refusal(dumbbell, file)
    assert "2 connections with data; choose one with --flow: '10.0.0." in error
    assert "no connection matches, got '443'" in refusal(dumbbell, file, "--flow", "443")
    first = error.split("'")[1]
    found = answer(dumbbell, file, "--flow", first, "--candidates", "reno")
    assert found["flow"] == first
    assert found["path"]["other_share"] > 0.2


@pytest.mark.slow
def test_what_tells_nothing_is_refused(dumbbell: Dumbbell, capture: Capture, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no packets")
    assert "not a capture; a pcap or pcapng file" in refusal(dumbbell, tmp_path / "text")
    file = capture("cubic", duration="2s")
    assert "are too short to say" in (error := refusal(dumbbell, file))
    assert "at least 3 s with this round trip time (30 ms)" in error
    write(file, (each for each in records(file) if len(each[1]) == 0))
    assert "no complete packet" in refusal(dumbbell, file)
    assert "no such controller, got 'tahoe'" in refusal(dumbbell, file, "--candidates", "tahoe")


def test_a_capture_that_lost_packets_is_refused(dumbbell: Dumbbell, capture: Capture) -> None:
    file = capture("cubic")
    write(file, (each for number, each in enumerate(records(file)) if number % 30))
    assert "% of the data that was acknowledged" in refusal(dumbbell, file)


@pytest.mark.parametrize("at", [0, 500, -1])
def test_a_wrong_time_stamp_does_not_take_the_memory(dumbbell: Dumbbell, capture: Capture, at: int) -> None:
    """It made the connection last 136 years; the first 60 s count."""
    file = capture("reno")
    packets = records(file)
    _, data, header = packets[at]
    stamp = 0 if at == 0 else 2**32 - 1
    packets[at] = (0.0, data, struct.pack("<I", stamp) + header[4:])
    if at == 0:
        packets[1:] = [(t, d, struct.pack("<I", int(t) + 2**31) + h[4:]) for t, d, h in packets[1:]]
    write(file, iter(packets))
    done = dumbbell("identify", file, "--candidates", "reno")
    assert "Traceback" not in done.stderr
    assert ("data segments are too few" in done.stderr) if at == 0 else done.returncode == 0, done.stderr


@pytest.mark.slow(keep="receiver")
@pytest.mark.parametrize("end", ENDS)
def test_without_time_stamps_the_handshake_tells_the_round_trip_time(
    dumbbell: Dumbbell, capture: Capture, end: str
) -> None:
    file = capture("reno", end)
    write(file, ((time, without_stamps(data), header) for time, data, header in records(file)))
    path = answer(dumbbell, file, "--candidates", "reno")["path"]
    assert (path["captured_at"], path["rtt_ms"]) == (end, pytest.approx(30, rel=0.02))


def without_stamps(data: bytes) -> bytes:
    """A packet whose TCP time stamp option is padding."""
    begin, is_tcp = 14 + 20, data[14 + 9 : 14 + 10] == b"\x06"
    if not is_tcp:
        return data
    options = bytearray(data[begin + 20 : begin + 4 * (data[begin + 12] >> 4)])
    at = 0
    while at < len(options) and options[at]:
        size = 1 if options[at] == 1 else options[at + 1]
        if options[at] == 8:
            options[at : at + size] = bytes([1]) * size
        at += size
    return data[: begin + 20] + bytes(options) + data[begin + 20 + len(options) :]


def records(file: Path) -> list[tuple[float, bytes, bytes]]:
    """Each packet's time, bytes, and header in the file."""
    data, at, found = file.read_bytes(), 24, []
    while at < len(data):
        seconds, nanos, size, _ = struct.unpack_from("<IIII", data, at)
        found.append((seconds + nanos / 1e9, data[at + 16 : at + 16 + size], data[at : at + 16]))
        at += 16 + size
    return found


def write(file: Path, packets: Iterator[tuple[float, bytes, bytes]]) -> None:
    content = b"".join(header + data for _, data, header in packets)
    file.write_bytes(file.read_bytes()[:24] + content)
