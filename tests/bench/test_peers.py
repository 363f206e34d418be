"""The peer simulators run the same experiment; ratios and differences on their page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from experiments import EXPERIMENTS, Bench, bench
from instructions import SPANS_S, a_packet, total
from ns3_peer import arguments, measured
from peers_page import agreement, ratios, spread_of

from dumbbell.analysis.summary import measures
from dumbbell.engines import Request
from dumbbell.engines.sim import Simulator
from dumbbell.plan import plan_case


def arguments_of(name: str) -> dict[str, str]:
    case = bench(name).case()
    return dict(word.removeprefix("--").split("=") for word in arguments(case, plan_case(case, 3), 3))


@pytest.mark.parametrize("each", EXPERIMENTS, ids=lambda each: each.name)
def test_every_experiment_has_arguments_for_ns3(each: Bench) -> None:
    assert arguments_of(each.name).keys() == {"rate", "rtt", "duration", "sample", "limit", "codel", "groups", "seed"}
    assert each.name in SPANS_S


def test_ns3_gets_the_same_rate_and_limit_in_full_packets() -> None:
    given = arguments_of("cyclic")
    assert int(given["rate"]) / (8 * 1502) == pytest.approx(80e6 / (8 * 1514))
    assert given["limit"] == str(225_000 // 1514)
    assert (given["rtt"], given["groups"], given["codel"], given["seed"]) == (
        "13000000ns",
        "TcpBbr:2,TcpCubic:2",
        "0",
        "3",
    )


def test_codel_s_limit_is_passed_in_packets() -> None:
    assert (arguments_of("codel")["limit"], arguments_of("codel")["codel"]) == ("1000", "1")


def test_ns3_s_metrics_have_dumbbell_s_definitions(tmp_path: Path) -> None:
    case = bench("cyclic").case("duration=2s")
    run = Simulator().simulate(Request("cyclic", case, 1, tmp_path / "run"))
    flows, groups = run.manifest.flows, ["bbr", "cubic"]
    queues = run.queues.filter(run.queues["queue"] == "bottleneck")
    entry = next(queue for queue in run.manifest.queues if queue.name == "bottleneck")
    given: dict[str, Any] = {
        "groups": [groups.index(flow["group"]) for flow in flows],
        "bytes_received": [flow["bytes_received"] for flow in flows],
        "segments": [flow["data_segs_out"] for flow in flows],
        "retransmits": [flow["retransmits"] for flow in flows],
        "backlog_packets": queues["backlog_packets"].to_list(),
        "sent_packets": entry["sent_packets"],
        "drops": entry["drops"],
    }
    found, expected = measured(given, plan_case(case, 1)), measures(run)
    # Pings and handshakes are smaller than full packets.
    assert found == pytest.approx({name: expected[name] for name in found}, rel=0.02)


def test_instructions_per_packet_exclude_the_start() -> None:
    assert a_packet((5_000, 10), (9_000, 30)) == 200
    assert total("events: Ir\nfl=a.c\n1 7\nsummary: 1234\n") == 1234
    with pytest.raises(ValueError, match="summary"):
        total("events: Ir\n")


def runs(*rates: float) -> Sequence[dict[str, float]]:
    return [{"packets": rate, "wall_s": 1.0} for rate in rates]


def test_a_ratio_compares_two_runs_of_one_round() -> None:
    assert ratios(runs(10, 40), runs(5, 10)) == [2, 4]


def test_a_spread_that_rounds_to_one_number_is_shown_as_one() -> None:
    assert spread_of([1.001, 1.002], "{:.2f}") == "1.00"
    assert spread_of([3, 1, 2], "{:.0f}") == "2 (1 to 3)"


def test_a_difference_is_relative_to_the_reference() -> None:
    rows = agreement({"kernel": [{"queue.drops": 0.8}], "other": [{"queue.drops": 0.9}, {"queue.drops": 0.7}]})
    assert list(rows) == [["queue.drops", "0.8", "0.8 ± 0.14 (+0.0%)"]]
