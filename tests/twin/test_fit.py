"""`fit` and `predict` on recordings of the simulator whose path is known."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell.errors import ImportProblem
from dumbbell.identification.facts import Estimate, _buffer_of_levels, facts_of, poisson_interval
from dumbbell.reports.fit_page import fit_page
from dumbbell.spec import parse
from dumbbell.twin.experiment_file import experiment_text
from dumbbell.twin.fit import Fit, fit
from dumbbell.twin.hypotheses import models
from dumbbell.twin.predict import predict
from dumbbell.twin.readings import Reading, misfit, of_connection
from dumbbell.twin.recording import read_recording
from dumbbell.twin.traces import pairs_of
from twin.recorded import capture, document, folder, throughput

PORT = ":5201"


def fitted(tmp_path: Path, experiment: dict[str, Any], end: str = "sender.right") -> Fit:
    file = capture(tmp_path / "recording.pcap", experiment, end)
    several = len(experiment["flows"]) > 1
    return fit([read_recording(file, experiment["flows"][0]["cc"], PORT if several else None)])


def accepted(found: Fit) -> list[str]:
    return [each.model.name for each in found.accepted]


@pytest.mark.parametrize("end", ["sender.right", "receiver.left"])
def test_a_drop_tail_path_is_rebuilt(tmp_path: Path, end: str) -> None:
    found = fitted(tmp_path, document(), end)
    assert accepted(found) == ["drop-tail"]
    assert found.facts.rtt_s.value == pytest.approx(0.030, rel=0.001)
    assert found.facts.rate_bps.value == pytest.approx(10e6, rel=0.001)
    assert found.accepted[0].values["buffer"] == pytest.approx(40_000, rel=0.02)
    assert found.refused is None


def test_a_buffer_that_never_filled_is_unknown(tmp_path: Path) -> None:
    found = fitted(tmp_path, document(qdisc="bfifo limit 400000", cc="vegas", duration="5s"))
    assert found.facts.buffer_bytes.value is None
    assert accepted(found)[0] == "drop-tail, never full"
    bdp = 10e6 * 0.030 / 8
    limits = sorted(
        case.experiment.path.bottleneck.qdisc.words[1] for case in parse(experiment_text(found), Path("path.toml"))
        if case.experiment.path.bottleneck is not None and case.experiment.path.bottleneck.qdisc.kind == "bfifo"
    )  # fmt: skip
    assert str(round(4 * bdp)) in limits
    assert len(limits) >= 2


@pytest.mark.slow(keep="fq_codel")
@pytest.mark.parametrize("kind", ["codel", "fq_codel", "pie"])
def test_an_aqm_is_recognised_and_no_fifo_claimed(tmp_path: Path, kind: str) -> None:
    found = fitted(tmp_path, document(qdisc=kind, duration="15s"))
    assert kind in accepted(found)
    assert "drop-tail" not in accepted(found)


@pytest.mark.slow
def test_random_loss_is_estimated_with_its_interval(tmp_path: Path) -> None:
    experiment = document(rate="40mbit", qdisc="bfifo limit 300000", duration="20s", path={"loss": "0.3%"})
    found = fitted(tmp_path, experiment)
    loss = found.facts.loss
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low < 0.003 < loss.high
    assert "random loss" in accepted(found)
    assert any("buffer of 4 BDP" in case.name for case in found.cases)


@pytest.mark.slow
def test_a_rate_that_changes_is_found(tmp_path: Path) -> None:
    found = fitted(tmp_path, document(rate="20mbit", changes=[{"at": "5s", "rate": "12mbit"}], duration="12s"))
    assert accepted(found)[0] == "rate steps"
    first, second = found.facts.levels
    assert first.rate_bps == pytest.approx(20e6, rel=0.01)
    assert second.rate_bps == pytest.approx(12e6, rel=0.01)
    assert second.start_s == pytest.approx(5, abs=0.1)


@pytest.mark.slow
def test_a_policer_is_recognised(tmp_path: Path) -> None:
    found = fitted(tmp_path, document(rate="", qdisc="police rate 20mbit burst 100kb", duration="15s"))
    assert accepted(found) == ["policer"]
    assert found.accepted[0].values["rate"] == pytest.approx(20e6, rel=0.15)


@pytest.mark.slow(keep="unresponsive traffic")
@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"name": "other", "kind": "udp", "rate": "3mbit"}, "unresponsive traffic"),
        ({"name": "other", "cc": "cubic", "start": "4s"}, "a cubic flow from 4 s"),
    ],
    ids=["unresponsive traffic", "cubic"],
)
def test_other_traffic_is_recognised(tmp_path: Path, other: dict[str, Any], name: str) -> None:
    found = fitted(tmp_path, document(others=[other]))
    assert accepted(found)[0] == name


@pytest.mark.parametrize("cc", ["bbr", "reno"])
def test_other_controllers_are_predicted(tmp_path: Path, cc: str) -> None:
    experiment = document()
    found = fitted(tmp_path, experiment)
    (prediction,) = predict(experiment_text(found), Path("path.toml"), [cc])
    predicted = prediction.numbers["throughput_mbps"]
    assert predicted is not None
    assert predicted.value == pytest.approx(throughput(experiment, cc), rel=0.02)
    assert predicted.low <= predicted.value <= predicted.high


def test_an_interval_is_wider_by_the_error_of_the_replay(tmp_path: Path) -> None:
    text = experiment_text(fitted(tmp_path, document(duration="5s")))
    (exact,), (wider,) = (predict(text, Path("path.toml"), ["reno"], errors=[error]) for error in (0.0, 0.02))
    before, after = exact.numbers["throughput_mbps"], wider.numbers["throughput_mbps"]
    assert before is not None
    assert after is not None
    assert after.low == pytest.approx(0.98 * before.low)
    assert after.high == pytest.approx(1.02 * before.high)


def test_what_an_engine_lacks_has_a_reason(tmp_path: Path) -> None:
    text = experiment_text(fitted(tmp_path, document(duration="5s")))
    (prediction,) = predict(text, Path("path.toml"), ["tahoe"])
    assert prediction.numbers == {}
    assert "no congestion control with this name, got 'tahoe'" in (prediction.reason or "")


def test_a_shapers_bucket_is_estimated_and_recognised(tmp_path: Path) -> None:
    found = fitted(tmp_path, document(rate="", qdisc="tbf rate 10mbit burst 60000b limit 40000"))
    assert found.facts.burst_bytes == pytest.approx(60_000, rel=0.05)
    assert accepted(found) == ["shaper"]
    assert found.accepted[0].values["buffer"] == pytest.approx(40_000, rel=0.02)


def test_cake_is_recognised(tmp_path: Path) -> None:
    found = fitted(tmp_path, document(rate="", qdisc="cake bandwidth 20mbit"))
    assert accepted(found)[0] == "cake"
    assert "drop-tail" not in accepted(found)


def test_a_regular_neighbour_does_not_hide_the_links_rate(tmp_path: Path) -> None:
    """Beside 3 Mbit/s most acknowledgements come at 7 of the link's 10 Mbit/s."""
    other = {"name": "other", "kind": "udp", "rate": "3mbit"}
    facts = read_recording(
        capture(tmp_path / "recording.pcap", document(others=[other], duration="30s")), "cubic", PORT
    ).facts
    assert facts.rate_bps.value == pytest.approx(7.1e6, rel=0.02)
    assert facts.faster_bps == pytest.approx(10e6, rel=0.01)
    (model,) = (each for each in models(facts) if each.name == "unresponsive traffic on a faster link")
    parts = model.build(model.start)
    assert parts["path"]["bottleneck"]["rate"].startswith(("10000", "9999"))
    assert float(parts["flows"][0]["rate"][:-3]) == pytest.approx(3e6, rel=0.1)


def test_losses_at_a_full_queue_differ_from_those_of_red(tmp_path: Path) -> None:
    qdisc = "red limit 240000 min 10000 max 30000 avpkt 1000 burst 20 bandwidth 10mbit probability 0.02"
    full, red = (
        read_recording(capture(tmp_path / f"{name}.pcap", document(qdisc=each, duration="15s")), "cubic").readings
        for name, each in (("full", "bfifo limit 40000"), ("red", qdisc))
    )
    assert full["loss_queue_low"] > 0.9
    assert red["loss_queue_low"] < 0.7


@pytest.mark.parametrize("end", ["sender.right", "receiver.left"])
def test_the_queues_of_both_directions_are_told_apart(tmp_path: Path, end: str) -> None:
    """Time stamps show which way the round trip's 32 ms of queue are."""
    facts = read_recording(capture(tmp_path / "recording.pcap", document(duration="6s"), end), "cubic").facts
    assert facts.forward_queue_s.value == pytest.approx(0.032, abs=0.004)
    assert facts.reverse_queue_s.value is not None
    if end == "receiver.left":  # With the sender's waits: an upper bound.
        assert facts.reverse_queue_s.low == 0
    assert facts.reverse_queue_s.value < (0.003 if end == "sender.right" else 0.016)
    assert facts.acks.value == 2


@pytest.mark.slow
def test_a_slow_return_is_seen(tmp_path: Path) -> None:
    back = {"rate": "300kbit", "qdisc": "bfifo limit 3000"}
    experiment = document(rate="20mbit", path={"reverse": back}, duration="15s")
    facts = read_recording(capture(tmp_path / "recording.pcap", experiment), "cubic").facts
    assert facts.reverse_queue_s.value == pytest.approx(0.08, abs=0.02)
    (model,) = (each for each in models(facts) if each.name == "slow return")
    rate = float(model.build(model.start)["path"]["reverse"]["rate"][:-3])
    assert rate == pytest.approx(300e3, rel=0.02)


@pytest.mark.slow
def test_a_red_queue_is_recognised(tmp_path: Path) -> None:
    qdisc = "red limit 240000 min 10000 max 30000 avpkt 1000 burst 20 bandwidth 10mbit probability 0.02"
    found = fitted(tmp_path, document(qdisc=qdisc, duration="20s"))
    assert accepted(found) == ["red"]
    assert found.accepted[0].values["largest mean queue"] == pytest.approx(30_000, rel=0.1)


@pytest.mark.slow
def test_losses_in_bursts_are_recognised(tmp_path: Path) -> None:
    """On average four packets are lost in a row."""
    found = fitted(tmp_path, document(qdisc="pfifo limit 1000", path={"loss": "gemodel 0.05% 25%"}, duration="20s"))
    assert accepted(found)[0] == "bursty loss"
    assert 2 < found.facts.loss_run < 9


def test_single_losses_are_no_bursts(tmp_path: Path) -> None:
    experiment = document(qdisc="pfifo limit 1000", path={"loss": "0.2%"}, duration="10s")
    facts = read_recording(capture(tmp_path / "recording.pcap", experiment), "cubic").facts
    assert facts.loss.value
    assert facts.loss_run == pytest.approx(1, abs=0.3)
    assert "bursty loss" not in [model.name for model in models(facts)]


def test_a_small_share_may_be_that_of_several_neighbours(tmp_path: Path) -> None:
    experiment = document(others=[{"name": "others", "cc": "cubic", "count": 2}])
    facts = read_recording(capture(tmp_path / "recording.pcap", experiment), "cubic", PORT).facts
    (several,) = (model for model in models(facts) if model.name == "2 cubic flows")
    assert several.build(several.start)["flows"] == [{"name": "other", "cc": "cubic", "count": 2}]


@pytest.mark.parametrize("end", ["sender.right", "receiver.left"])
def test_a_window_that_limits_is_found_and_limits_predictions(tmp_path: Path, end: str) -> None:
    experiment = document(rate="20mbit", qdisc="bfifo limit 100000", duration="8s")
    experiment["flows"][0]["rcvbuf"] = "40kB"
    found = fitted(tmp_path, experiment, end)
    # (2 × 40 000 − 2280) × 162 / 256 bytes, in whole segments.
    assert found.facts.window_bytes.high == pytest.approx(49_182, rel=0.04)
    assert found.refused is None
    assert all("the receiver's window limits" in each.model.says for each in found.accepted)
    (prediction,) = predict(experiment_text(found), Path("path.toml"), ["bbr"])
    assert prediction.numbers["throughput_mbps"] is not None
    assert prediction.numbers["throughput_mbps"].value == pytest.approx(throughput(experiment, "bbr"), rel=0.03)


def test_an_autotuned_window_does_not_limit(tmp_path: Path) -> None:
    facts = read_recording(capture(tmp_path / "recording.pcap", document(duration="5s")), "cubic").facts
    assert facts.window_bytes.value is None
    assert "0 % of" in facts.window_bytes.evidence


@pytest.mark.parametrize("accepts", [True, False])
def test_a_page_has_both_lines_and_the_evidence(tmp_path: Path, accepts: bool) -> None:
    found = fitted(tmp_path, document(duration="5s"))
    if not accepts:
        wrong = Reading("throughput_mbps", 9.4, 8.0, 0.0)
        found = replace(found, tried=[replace(each, readings=((wrong,),)) for each in found.tried])
    pairs = pairs_of(found)
    page = fit_page(found, pairs)
    (pair,) = pairs
    known = ~np.isnan(pair.recorded.rtt_ms) & ~np.isnan(pair.replayed.rtt_ms)
    assert known.mean() > 0.8
    if accepts:  # The replay on the right path is the recording.
        np.testing.assert_allclose(pair.recorded.rtt_ms[known], pair.replayed.rtt_ms[known], rtol=0.02)
        assert np.mean(pair.recorded.throughput_mbps) == pytest.approx(
            found.recordings[0].readings["throughput_mbps"], rel=0.02
        )
    text = "<strong>The path is a drop-tail queue." if accepts else "<strong>Refused: </strong>"
    for part in (text, "smallest of", "figure-0", "recording.pcap", "cubic as given"):
        assert part in page
    assert ("The experiment file" in page) == accepts


def test_samples_have_a_page_too(tmp_path: Path) -> None:
    recording = read_recording(folder(tmp_path / "result", document()))
    found = fit([recording])
    (pair,) = pairs_of(found)
    assert np.nanmean(pair.recorded.throughput_mbps) == pytest.approx(
        np.nanmean(pair.replayed.throughput_mbps), rel=0.1
    )
    assert 30 < np.nanmean(pair.recorded.rtt_ms) < 70


def damaged(capture_file: Path, kind: str) -> bytes:
    """An empty file, one without packets, a part, one direction, or all of it within ESP."""
    data = capture_file.read_bytes()
    if kind in ("empty", "header", "short"):
        return data[: {"empty": 0, "header": 24, "short": 20_000}[kind]]
    at, first, kept = 24, b"", bytearray(data[:24])
    while at < len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "little")
        head, packet = bytearray(data[at : at + 16]), data[at + 16 : at + 16 + size]
        at += 16 + size
        source = packet[26:30]
        first = first or source
        if kind == "esp":
            packet = packet[:14] + bytes([0x45, 0, *(len(packet) + 14).to_bytes(2, "big"), 0, 0, 0, 0, 64, 50, 0, 0])
            packet += source + source + bytes(size - 6)
            head[8:12] = head[12:16] = len(packet).to_bytes(4, "little")
        if kind == "esp" or source == first:
            kept += head + packet
    return bytes(kept)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("empty", "empty file"),
        ("header", "no complete packet"),
        ("short", "data segments are too few"),
        ("one direction", "no acknowledgements of its data"),
        ("esp", r"no TCP connection outside of ESP \(IPsec\) \(\d+ packets\); a capture behind the tunnel's end"),
    ],
)
def test_what_shows_no_path_is_refused_clearly(tmp_path: Path, kind: str, message: str) -> None:
    whole = capture(tmp_path / "whole.pcap", document(duration="5s"))
    (tmp_path / "bad.pcap").write_bytes(damaged(whole, kind))
    with pytest.raises(ImportProblem, match=message):
        read_recording(tmp_path / "bad.pcap", "cubic")


@pytest.mark.slow
def test_a_path_outside_the_models_is_refused(tmp_path: Path) -> None:
    """Jitter that reorders is in no model: the sender takes late packets for losses."""
    experiment = document(rate="40mbit", qdisc="bfifo limit 400000", path={"delay": "15ms", "jitter": "10ms"})
    found = fitted(tmp_path, experiment)
    assert found.refused is not None
    assert "replayed on the nearest model" in found.refused
    assert found.cases == []


@pytest.mark.slow
def test_two_recordings_of_a_path_are_fitted_together(tmp_path: Path) -> None:
    """BBR alone can't tell a drop-tail queue from CoDel by its throughput; CUBIC can."""
    files = [capture(tmp_path / f"{cc}.pcap", document(cc=cc)) for cc in ("cubic", "bbr")]
    found = fit([read_recording(file, file.stem) for file in files])
    assert accepted(found) == ["drop-tail"]
    assert all(len(each.readings) == 2 for each in found.accepted)


@pytest.mark.slow
def test_recordings_of_two_paths_are_refused(tmp_path: Path) -> None:
    files = [capture(tmp_path / f"{rate}.pcap", document(rate=rate)) for rate in ("10mbit", "20mbit")]
    found = fit([read_recording(file, "cubic") for file in files])
    assert found.refused is not None


def test_samples_show_a_busy_path(tmp_path: Path) -> None:
    found = fit([read_recording(folder(tmp_path / "run", document()))])
    (recording,) = found.recordings
    assert (recording.cc, recording.cc_known) == ("cubic", "as the log states")
    assert "lower bound of the rate" in recording.warnings[0]
    assert found.facts.rate_bps.high is None
    assert accepted(found) == ["drop-tail"]
    assert found.facts.rate_bps.value == pytest.approx(10e6, rel=0.02)
    assert found.accepted[0].values["buffer"] == pytest.approx(40_000, rel=0.1)


def test_samples_of_an_idle_path_do_not_show_its_rate(tmp_path: Path) -> None:
    experiment = document(rate="50mbit", qdisc="bfifo limit 400000", path={"loss": "1%"})
    with pytest.raises(ImportProblem, match=r"busy in only .* % of the samples, so they do not show the rate"):
        read_recording(folder(tmp_path / "run", experiment))


def test_too_short_is_an_error(tmp_path: Path) -> None:
    file = capture(tmp_path / "short.pcap", document(duration="1s"))
    with pytest.raises(ImportProblem, match="too short to say"):
        read_recording(file, "cubic")


@pytest.mark.parametrize(("count", "low", "high"), [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.39)])
def test_the_interval_of_a_count(count: int, low: float, high: float) -> None:
    """Garwood's table."""
    least, most = poisson_interval(count)
    assert least == pytest.approx(low, abs=0.001)
    assert most == pytest.approx(high, abs=0.01)


def test_the_gate_allows_three_percent_or_chance() -> None:
    assert Reading("rtt_ms", 100.0, 102.9, 0.0).fits
    assert not Reading("rtt_ms", 100.0, 103.1, 0.0).fits
    assert Reading("rtt_ms", 100.0, 110.0, 0.12).fits


def test_the_misfit_grows_with_each_difference() -> None:
    recorded = {"throughput_mbps": 10.0, "rtt_ms": 50.0, "retransmits": 30.0}
    assert misfit(recorded, recorded) == 0
    costs = [misfit(recorded, recorded | {"rtt_ms": 50.0 * (1 + off)}) for off in np.linspace(0, 0.2, 5)]
    assert costs == sorted(costs)
    assert costs[-1] > 1


def test_acknowledgements_sent_at_once_are_no_rate(tmp_path: Path) -> None:
    """Pairs 0.1 µs apart, and everything else as it was: they were taken for a link of 100 Gbit/s."""
    flow = read_recording(capture(tmp_path / "recording.pcap", document(duration="5s")), "cubic").flow
    assert flow is not None
    pairs = flow.ack_time.copy()
    pairs[201::4] = pairs[200:-1:4] + 1e-7
    facts = facts_of(replace(flow, ack_time=pairs), "recording.pcap")
    assert facts.rate_bps.value is not None
    assert facts.rate_bps.value <= 11e6


def test_acknowledgements_a_packet_late_do_not_double_the_rate(tmp_path: Path) -> None:
    """Every second one in turn: two segments in three times and two in one time; FQ-CoDel on the kernel had a tenth."""
    flow = read_recording(capture(tmp_path / "recording.pcap", document(duration="5s")), "cubic").flow
    assert flow is not None
    late = flow.ack_time.copy()
    late[500:1500:2] += 8 * 1514 / 10e6
    facts = facts_of(replace(flow, ack_time=late), "recording.pcap")
    assert facts.rate_bps.value == pytest.approx(10e6, rel=0.01)


def test_a_model_that_no_queue_can_be_is_left_out(tmp_path: Path) -> None:
    """RED's arithmetic ends before the buffer of a mistaken rate does; the others are still tried."""
    recording = read_recording(capture(tmp_path / "recording.pcap", document(duration="5s")), "cubic")
    facts = replace(recording.facts, buffer_bytes=Estimate(1e9, 1e9, 1e9, "mistaken"))
    found = fit([replace(recording, facts=facts)])
    assert "red" not in [each.model.name for each in found.tried]
    assert found.tried


def test_no_window_with_a_rate_has_no_level(tmp_path: Path) -> None:
    """Beside a BBR flow at a policer; the fit ended with a traceback."""
    flow = read_recording(capture(tmp_path / "recording.pcap", document(duration="5s")), "cubic").flow
    assert flow is not None
    uneven = np.cumsum(np.random.default_rng(1).exponential(0.001, flow.ack_time.size))
    assert facts_of(replace(flow, ack_time=uneven), "recording.pcap").levels == ()


def test_a_starved_replay_is_far_from_any_recording(tmp_path: Path) -> None:
    """Without one measured round trip; the fit ended with a traceback."""
    recording = read_recording(capture(tmp_path / "recording.pcap", document(duration="5s")), "cubic")
    assert recording.flow is not None
    none = np.empty(0)
    starved = of_connection(replace(recording.flow, ahead=(none, none)), at_sender=True)
    assert misfit(recording.readings, starved) > 3


def test_no_level_has_no_queue() -> None:
    """Beside a BBR flow no window showed a rate of its own, and the fit ended with a traceback."""
    none = np.empty(0)
    assert _buffer_of_levels((), none, none, 0.03) == 0
