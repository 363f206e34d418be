"""What is held against each other is the same thing, and the arithmetic of the page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from experiments import EXPERIMENTS, Bench, bench
from instructions import SPANS_S, a_packet, total
from ns3_peer import measured, words
from peers_page import agreement, ratios, spread_of, why

from dumbbell.analysis import measures
from dumbbell.engine import Request
from dumbbell.engine.sim import Simulator
from dumbbell.plan import plan_case


def asked(name: str) -> dict[str, str]:
    case = bench(name).case()
    return dict(word.removeprefix("--").split("=") for word in words(case, plan_case(case, 3), 3))


@pytest.mark.parametrize("each", EXPERIMENTS, ids=lambda each: each.name)
def test_every_experiment_can_be_told_to_ns3(each: Bench) -> None:
    assert asked(each.name).keys() == {"rate", "rtt", "duration", "sample", "limit", "codel", "groups", "seed"}
    assert each.name in SPANS_S


def test_ns3_gets_as_many_full_packets_a_second_and_in_the_queue() -> None:
    told = asked("cyclic")
    assert int(told["rate"]) / (8 * 1502) == pytest.approx(80e6 / (8 * 1514))
    assert told["limit"] == str(225_000 // 1514)
    assert (told["rtt"], told["groups"], told["codel"], told["seed"]) == ("13000000ns", "TcpBbr:2,TcpCubic:2", "0", "3")


def test_codels_limit_is_in_packets_already() -> None:
    assert (asked("codel")["limit"], asked("codel")["codel"]) == ("1000", "1")


def test_counts_mean_for_ns3_what_they_mean_for_us(tmp_path: Path) -> None:
    case = bench("cyclic").case("duration=2s")
    run = Simulator().simulate(Request("cyclic", case, 1, tmp_path / "run"))
    flows, groups = run.birth["flows"], ["bbr", "cubic"]
    queues = run.queues.filter(run.queues["queue"] == "bottleneck")
    entry = next(queue for queue in run.birth["queues"] if queue["name"] == "bottleneck")
    told: dict[str, Any] = {
        "groups": [groups.index(flow["group"]) for flow in flows],
        "bytes_received": [flow["bytes_received"] for flow in flows],
        "segments": [flow["data_segs_out"] for flow in flows],
        "retransmits": [flow["retransmits"] for flow in flows],
        "backlog_packets": queues["backlog_packets"].to_list(),
        "sent_packets": entry["sent_packets"],
        "drops": entry["drops"],
    }
    found, ours = measured(told, plan_case(case, 1)), measures(run)
    # Pings and handshakes are smaller than the full packets that stand for all.
    assert found == pytest.approx({name: ours[name] for name in found}, rel=0.02)


def test_instructions_a_packet_are_those_of_the_packets_that_came_later() -> None:
    assert a_packet((5_000, 10), (9_000, 30)) == 200
    assert total("events: Ir\nfl=a.c\n1 7\nsummary: 1234\n") == 1234
    with pytest.raises(ValueError, match="summary"):
        total("events: Ir\n")


def runs(*rates: float) -> Sequence[dict[str, float]]:
    return [{"packets": rate, "wall_s": 1.0} for rate in rates]


def test_a_ratio_is_of_two_runs_of_one_round() -> None:
    assert ratios(runs(10, 40), runs(5, 10)) == [2, 4]


def test_a_spread_that_reads_the_same_is_one_number() -> None:
    assert spread_of([1.001, 1.002], "{:.2f}") == "1.00"
    assert spread_of([3, 1, 2], "{:.0f}") == "2 (1 to 3)"


def test_how_far_off_is_a_share_of_the_reference() -> None:
    rows = agreement({"kernel": [{"utilisation": 0.8}], "other": [{"utilisation": 0.9}, {"utilisation": 0.7}]})
    assert list(rows) == ["| utilisation | 0.8 | 0.8 ± 0.14 (+0.0%) |"]


def test_what_a_person_wrote_below_the_tables_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert why(page) == ""
    page.write_text("# Tables\n\n## What it means\n\nMuch.\n", encoding="utf-8")
    assert why(page) == "## What it means\n\nMuch."
