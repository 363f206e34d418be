"""Two sides of an experiment, and what weakens what they say."""

from pathlib import Path
from typing import Any

from dumbbell.analysis import Comparison, Measured, Side, confront, unlike

BIRTH = {"engine": "sim", "seed": 1, "valid": True, "invalid": [], "warnings": [], "experiment": {"duration": "9s"}}


def side(name: str, *values: dict[str, float], **birth: Any) -> Side:
    return Side(name, tuple(Measured(Path(f"{name}/{n}"), BIRTH | birth, each) for n, each in enumerate(values)))


def many_flows(count: int) -> Comparison:
    values = {f"flows.{number}.throughput_mbps": 1.0 for number in range(count)} | {"ping_ms.mean": 1.0}
    return confront("", side("a", values), side("b", values))


def test_single_flows_are_shown_up_to_a_dozen() -> None:
    assert len(many_flows(12).shown) == 13
    assert [row.metric for row in many_flows(13).shown] == ["ping_ms.mean"]
    assert len(many_flows(13).as_json()["metrics"]) == 14


def test_nothing_judged_is_no_agreement() -> None:
    found = confront("", side("a", {"free": 1.0}), side("b", {"free": 1.0}))
    assert (found.agrees, found.worst) == (False, None)


def test_seeds_without_dice_are_told() -> None:
    same, other = {"ping_ms.mean": 1.0}, {"ping_ms.mean": 1.1}
    warnings = confront("", side("a", same, same), side("b", same, other)).warnings
    assert warnings == ["all 2 seeds of a gave the same numbers: nothing there is left to chance"]


LOG = {"engine": "import", "seed": None, "flows": [{"name": "x-1", "group": "x"}, {"name": "x-2", "group": "x"}]}


def test_what_a_log_lacks_is_left_out_and_listed_once() -> None:
    log = {"groups.x.throughput_mbps": 1.0}
    run = log | {"groups.x.rtt_ms.mean": 9.0, "groups.x.rtt_ms.p95": 9.9, "ping_ms.mean": 9.0, "cycle.period_s": 4.0}
    found = confront("", side("log", log, **LOG), side("run", run))
    assert (found.agrees, found.one_sided) == (True, [])
    assert found.not_in_log == ["groups.x.rtt_ms.mean", "groups.x.rtt_ms.p95", "ping_ms.mean"]
    assert found.as_json()["not_in_log"] == found.not_in_log
    assert found.warnings[-1] == "not in the log, and left out: groups.*.rtt_ms, ping_ms"
    turned = confront("", side("run", run), side("log", log, **LOG))
    assert (turned.agrees, turned.not_in_log) == (True, found.not_in_log)


def test_a_group_that_the_log_does_not_have_is_no_silence_of_the_log() -> None:
    log, run = {"groups.x.throughput_mbps": 1.0}, {"groups.x.throughput_mbps": 1.0, "groups.y.throughput_mbps": 1.0}
    found = confront("", side("log", log, **LOG), side("run", run))
    assert (found.agrees, found.one_sided, found.not_in_log) == (False, ["groups.y.throughput_mbps"], [])


def test_what_a_run_lacks_and_a_log_has_stays_one_sided() -> None:
    log, run = {"groups.x.throughput_mbps": 1.0, "ping_ms.mean": 2.0}, {"groups.x.throughput_mbps": 1.0}
    found = confront("", side("log", log, **LOG), side("run", run))
    assert (found.one_sided, found.not_in_log) == (["ping_ms.mean"], [])


def test_downloads_that_did_not_end_are_told() -> None:
    ended = {"groups.x.fct_s": 1.0}
    not_ended: dict[str, float] = {}
    warnings = confront("", side("a", ended, {"groups.x.fct_s": 1.1}), side("b", ended, not_ended)).warnings
    assert any(text.startswith("groups.x.fct_s is known of 2 of 2 runs of a and of 1 of 2 of b") for text in warnings)


def test_a_run_s_own_warnings_are_told_once() -> None:
    values = ({"ping_ms.mean": 1.0}, {"ping_ms.mean": 1.2})
    warnings = confront("", side("a", *values, warnings=["it was late"]), side("b", *values)).warnings
    assert warnings == ["a: it was late"]


def test_where_experiments_differ_is_named_by_key() -> None:
    first = {"experiment": {"title": "x", "seeds": [1], "path": {"rtt": "1ms", "loss": None}, "flows": [{"cc": "bbr"}]}}
    second = {"experiment": {"title": "y", "path": {"rtt": "2ms", "loss": "1%"}, "flows": [{"cc": "bbr"}, {"cc": "x"}]}}
    assert unlike(first, first) == []
    assert unlike(first, second) == ["path.rtt: 1ms and 2ms", "path.loss: nothing and 1%", "flows.1.cc: nothing and x"]
    long = {"experiment": {str(number): number for number in range(9)}}
    assert unlike({"experiment": {}}, long)[-1] == "3 more keys"


def test_kernels_that_take_no_seed_are_not_paired_with_those_that_do() -> None:
    """Each seed's two runs go up and down together, so the difference is sure only where they are pairs."""
    left, right = ([{"ping_ms.mean": value + more} for value in (10.0, 20.0, 30.0)] for more in (0.0, 3.0))
    unseeded = {"kernel": {"name": "linux-6.1", "unseeded": True}}

    def verdict(first: dict[str, Any], second: dict[str, Any]) -> str:
        one, other = (
            Side(
                name,
                tuple(
                    Measured(Path(f"{name}/{seed}"), BIRTH | {"seed": seed} | birth, each)
                    for seed, each in enumerate(values)
                ),
            )
            for name, values, birth in (("a", left, first), ("b", right, second))
        )
        return confront("", one, other).rows[0].verdict

    assert [verdict({}, {}), verdict(unseeded, unseeded), verdict(unseeded, {})] == ["differs", "differs", "chance"]
