"""Comparisons of two arms, and their caveats."""

from pathlib import Path
from typing import Any

import pytest

from dumbbell.analysis.comparison import Arm, Comparison, Measured, compare_runs, unlike
from dumbbell.analysis.difference import Tolerance
from dumbbell.analysis.paired_groups import names_by_difference
from dumbbell.reports.comparison_text import verdict

MANIFEST = {"engine": "sim", "seed": 1, "valid": True, "invalid": [], "warnings": [], "experiment": {"duration": "9s"}}


def arm(name: str, *values: dict[str, float], **manifest: Any) -> Arm:
    return Arm(name, tuple(Measured(Path(f"{name}/{n}"), MANIFEST | manifest, each) for n, each in enumerate(values)))


def many_flows(count: int) -> Comparison:
    values = {f"flows.{number}.throughput_mbps": 1.0 for number in range(count)} | {"ping_ms.mean": 1.0}
    return compare_runs("", arm("a", values), arm("b", values))


def test_single_flows_are_shown_up_to_a_dozen() -> None:
    assert len(many_flows(12).shown) == 13
    assert [row.metric for row in many_flows(13).shown] == ["ping_ms.mean"]
    assert len(many_flows(13).as_json()["metrics"]) == 14


def test_nothing_judged_is_no_agreement() -> None:
    found = compare_runs("", arm("a", *[{"free": 1.0}] * 2), arm("b", *[{"free": 1.0}] * 2))
    assert (found.agrees, found.worst) == (False, None)


def test_seeds_without_randomness_are_reported() -> None:
    same, other = {"ping_ms.mean": 1.0}, {"ping_ms.mean": 1.1}
    warnings = compare_runs("", arm("a", same, same), arm("b", same, other)).warnings
    assert warnings == ["all 2 seeds of a gave the same numbers: nothing in the experiment is random"]


LOG = {"engine": "import", "seed": None, "flows": [{"name": "x-1", "group": "x"}, {"name": "x-2", "group": "x"}]}


def test_unrecorded_metrics_are_omitted_and_listed_once() -> None:
    log = {"groups.x.throughput_mbps": 1.0}
    run = log | {"groups.x.rtt_ms.mean": 9.0, "groups.x.rtt_ms.p95": 9.9, "ping_ms.mean": 9.0, "cycle.period_s": 4.0}
    found = compare_runs("", arm("log", log, log, **LOG), arm("run", run, run))
    assert (found.agrees, found.one_sided) == (True, [])
    assert found.not_in_log == ["groups.x.rtt_ms.mean", "groups.x.rtt_ms.p95", "ping_ms.mean"]
    assert found.as_json()["not_in_log"] == found.not_in_log
    assert found.warnings[-1] == "omitted, because the log doesn't record it: groups.*.rtt_ms, ping_ms"
    turned = compare_runs("", arm("run", run, run), arm("log", log, log, **LOG))
    assert (turned.agrees, turned.not_in_log) == (True, found.not_in_log)


def test_a_group_that_the_log_lacks_is_not_an_unrecorded_metric() -> None:
    log, run = {"groups.x.throughput_mbps": 1.0}, {"groups.x.throughput_mbps": 1.0, "groups.y.throughput_mbps": 1.0}
    found = compare_runs("", arm("log", log, log, **LOG), arm("run", run, run))
    assert (found.agrees, found.one_sided, found.not_in_log) == (False, ["groups.y.throughput_mbps"], [])


def test_what_a_run_lacks_and_a_log_has_stays_one_sided() -> None:
    log, run = {"groups.x.throughput_mbps": 1.0, "ping_ms.mean": 2.0}, {"groups.x.throughput_mbps": 1.0}
    found = compare_runs("", arm("log", log, log, **LOG), arm("run", run, run))
    assert (found.one_sided, found.not_in_log) == (["ping_ms.mean"], [])


def test_incomplete_downloads_are_reported() -> None:
    ended = {"groups.x.fct_s": 1.0}
    not_ended: dict[str, float] = {}
    warnings = compare_runs("", arm("a", ended, {"groups.x.fct_s": 1.1}), arm("b", ended, not_ended)).warnings
    assert any(text.startswith("groups.x.fct_s is known in 2 of 2 runs of a and in 1 of 2 of b") for text in warnings)


def test_a_run_s_own_warnings_are_listed_once() -> None:
    values = ({"ping_ms.mean": 1.0}, {"ping_ms.mean": 1.2})
    warnings = compare_runs("", arm("a", *values, warnings=["it was late"]), arm("b", *values)).warnings
    assert warnings == ["a: it was late"]


def test_experiment_differences_are_listed_by_key() -> None:
    first = {"experiment": {"title": "x", "seeds": [1], "path": {"rtt": "1ms", "loss": None}, "flows": [{"cc": "bbr"}]}}
    second = {"experiment": {"title": "y", "path": {"rtt": "2ms", "loss": "1%"}, "flows": [{"cc": "bbr"}, {"cc": "x"}]}}
    assert unlike(first, first) == []
    assert unlike(first, second) == ["path.rtt: 1ms and 2ms", "path.loss: nothing and 1%", "flows.1.cc: nothing and x"]
    long = {"experiment": {str(number): number for number in range(9)}}
    assert unlike({"experiment": {}}, long)[-1] == "3 more keys"


def test_kernels_that_take_no_seed_are_not_paired_with_those_that_do() -> None:
    """Each seed's two runs vary together, so the difference is significant only in pairs."""
    left, right = ([{"ping_ms.mean": value + more} for value in (10.0, 20.0, 30.0)] for more in (0.0, 3.0))
    unseeded = {"kernel": {"name": "linux-6.1", "unseeded": True}}

    def row_verdict(first: dict[str, Any], second: dict[str, Any]) -> str:
        one, other = (
            Arm(
                name,
                tuple(
                    Measured(Path(f"{name}/{seed}"), MANIFEST | {"seed": seed} | manifest, each)
                    for seed, each in enumerate(values)
                ),
            )
            for name, values, manifest in (("a", left, first), ("b", right, second))
        )
        return compare_runs("", one, other).rows[0].verdict

    assert [row_verdict({}, {}), row_verdict(unseeded, unseeded), row_verdict(unseeded, {})] == [
        "differs",
        "differs",
        "inconclusive",
    ]


FLOWS = {"flows": [{"name": name, "group": "x"} for name in ("x-1", "x-2")]}


def shared(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    """Runs whose two flows have these rates."""
    return [
        {"groups.x.throughput_mbps": a + b, "flows.x-1.throughput_mbps": a, "flows.x-2.throughput_mbps": b}
        for a, b in pairs
    ]


def test_flows_that_moved_inside_a_group_that_did_not_are_a_change() -> None:
    even, uneven = shared((5.0, 5.1), (5.1, 5.0), (5.0, 5.0)), shared((5.9, 4.1), (6.0, 4.1), (5.9, 4.2))
    found = compare_runs("", arm("a", *even, **FLOWS), arm("b", *uneven, **FLOWS))
    assert [row.metric for row in found.moved] == ["flows.x-1.throughput_mbps", "flows.x-2.throughput_mbps"]
    assert (found.agrees, found.answer) == (False, "changed")
    assert verdict(found).startswith(
        "changed within groups that are the same as a whole; throughput of x-1 +17.9 %, x-2"
    )
    same = compare_runs("", arm("a", *even, **FLOWS), arm("b", *even, **FLOWS))
    assert (same.moved, same.answer) == ([], "no change")
    assert "every number is the same" in verdict(same)


def test_flows_that_vary_do_not_move() -> None:
    left, right = shared((2.0, 8.0), (8.0, 2.0), (5.0, 5.0)), shared((8.0, 2.0), (2.0, 8.0), (8.0, 2.0))
    assert compare_runs("", arm("a", *left, **FLOWS), arm("b", *right, **FLOWS)).moved == []


def test_chance_that_allows_a_quarter_decides_nothing() -> None:
    left = [{"groups.x.throughput_mbps": value} for value in (2.0, 10.0, 18.0)]
    right = [{"groups.x.throughput_mbps": value} for value in (18.0, 2.0, 10.0)]
    found = compare_runs("", arm("a", *left), arm("b", *right), method="welch")
    assert (found.agrees, found.answer) == (None, "not known")
    assert "varies so much between seeds" in verdict(found)
    stated = compare_runs("", arm("a", *left), arm("b", *right), {"groups.*": Tolerance(relative=0.9)}, method="welch")
    assert stated.answer == "no change"


def test_engines_agree_or_differ() -> None:
    left, right = [{"ping_ms.mean": 10.0}] * 2, [{"ping_ms.mean": 20.0}] * 2
    found = compare_runs("", arm("a", *left), arm("b", *right, engine="kernel"))
    assert found.answer == "differs"
    assert compare_runs("", arm("a", *left), arm("b", *left, engine="kernel")).answer == "agrees"


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ([{"cc": "bbr"}], [{"cc": "cubic"}], ["bbr", "cubic"]),
        ([{"cc": "bbr"}, {"cc": "bbr"}], [{"cc": "reno"}, {"cc": "reno"}], ["bbr", "reno"]),
        ([{"cc": "bbr", "rtt": "1ms"}], [{"cc": "bbr", "rtt": "2ms"}], ["rtt=1ms", "rtt=2ms"]),
        ([{"cc": "bbr", "rtt": "1ms"}], [{"cc": "cubic", "rtt": "2ms"}], ["", ""]),
    ],
)
def test_arms_are_named_by_the_one_thing_that_differs(first: Any, second: Any, names: list[str]) -> None:
    assert names_by_difference({"experiment": {"flows": first}}, {"experiment": {"flows": second}}) == names
