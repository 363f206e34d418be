"""Two-way traffic, outages, changes of queues and links, traces on any link, drawn sizes: on both engines."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell.errors import ExperimentError
from dumbbell.plan import plan_case
from dumbbell.spec import parse
from engines import measured
from engines.measured import CUBIC, Outcome, experiment, measure


@pytest.fixture(params=measured.ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two engines."""
    monkeypatch.setattr(measured, "chosen", request.param)
    return str(request.param)


both = pytest.mark.usefixtures("engine")


def valid(folder: Path, text: str) -> Outcome:
    outcome = measure(folder, text)
    assert outcome.problems == []
    return outcome


def sent_mbps(got: Outcome, queue: str, start: float, end: float) -> float:
    """What left a queue between two times in seconds."""
    sampled = got.run.queues.filter(pl.col("queue") == queue).sort("time_ns")
    sent = dict(sampled.select("time_ns", "sent_bytes").iter_rows())
    return float(sent[int(end * 1e9)] - sent[int(start * 1e9)]) * 8 / (end - start) / 1e6


def largest(numbers: pl.Series) -> float:
    return max(float(number) for number in numbers)


@both
def test_a_reverse_flow_fills_the_other_direction(tmp_path: Path) -> None:
    down = '[[flows]]\nname = "down"\ncc = "cubic"\n'
    up = '[[flows]]\nname = "up"\ncc = "cubic"\ndirection = "reverse"\n'
    got = valid(tmp_path, experiment(down + up + '[path.reverse]\nrate = "4mbit"\nqdisc = "pfifo limit 50"\n'))
    assert 3 < got.mbps("up") < 4
    assert got.queue("reverse")["sent_bytes"] * 8 / 2 == pytest.approx(4e6, rel=0.1)
    # Data of one direction delays the acknowledgements of the other.
    assert got.ping_ms > 60
    assert 1 < got.mbps("down") < 10


@both
def test_an_outage_holds_the_queue(tmp_path: Path) -> None:
    changes = '[[changes]]\nat = "1s"\nup = false\n[[changes]]\nat = "1500ms"\nup = true\n'
    got = valid(tmp_path, experiment(CUBIC + changes, duration="3s"))
    assert sent_mbps(got, "bottleneck", 1.1, 1.4) < 0.1
    assert sent_mbps(got, "bottleneck", 2, 3) > 8
    assert got.queue("bottleneck")["rates"] == [[0.0, 10_000_000], [1.0, 0], [1.5, 10_000_000]]
    assert got.numbers["queue"]["delay_ms"]["max"] < 1000
    held = got.run.queues.filter((pl.col("queue") == "bottleneck") & (pl.col("time_ns") == 1_400_000_000))
    assert held["backlog_packets"].item() > 10


@both
def test_a_queue_s_limit_changes(tmp_path: Path) -> None:
    change = '[[changes]]\nat = "1s"\nqdisc = "pfifo limit 10"\n'
    got = valid(tmp_path, experiment(CUBIC + change, duration="3s"))
    backlog = got.run.queues.filter(pl.col("queue") == "bottleneck").select("time_ns", "backlog_packets")
    assert largest(backlog.filter(pl.col("time_ns") < 10**9)["backlog_packets"]) > 50
    assert largest(backlog.filter(pl.col("time_ns") > 1_500_000_000)["backlog_packets"]) <= 11


@both
def test_a_change_reaches_the_reverse_link(tmp_path: Path) -> None:
    reverse = '[path.reverse]\nrate = "1mbit"\n[[changes]]\nat = "1s"\nlink = "reverse"\nrate = "100kbit"\n'
    got = valid(tmp_path, experiment(CUBIC + reverse, duration="2s"))
    assert got.queue("reverse")["rates"] == [[0.0, 1_000_000], [1.0, 100_000]]
    assert sent_mbps(got, "reverse", 1.2, 2) <= 0.11


@both
def test_a_file_changes_rate_and_delay(tmp_path: Path) -> None:
    (tmp_path / "leo.csv").write_text("time,rate,delay\n500ms,4mbit,20ms\n1s,8mbit,5ms\n")
    got = valid(
        tmp_path,
        experiment(
            CUBIC + '[[changes]]\nat = "0s"\nfile = "leo.csv"\n', qdisc="pfifo limit 20", path='forward_delay = "5ms"'
        ),
    )
    assert got.queue("bottleneck")["rates"] == [[0.0, 10_000_000], [0.5, 4_000_000], [1.0, 8_000_000]]
    assert sent_mbps(got, "bottleneck", 1.5, 2) == pytest.approx(8, rel=0.1)


@both
def test_a_trace_sets_the_rate_of_any_link(tmp_path: Path) -> None:
    (tmp_path / "up").write_text("".join(f"{ms}\n" for ms in range(2, 1001, 2)))
    link = '[[path.links]]\nname = "air"\nrate_trace = "up"\nqdisc = "pfifo limit 50"\n'
    got = valid(tmp_path, experiment(CUBIC + link, rate="20mbit", duration="3s"))
    assert sent_mbps(got, "air", 1, 3) == pytest.approx(6, rel=0.05)


@both
def test_sizes_are_drawn_from_a_distribution_at_a_load(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("1000 0.5\n20000 0.9\n100000 1.0\n")
    rest = '[[flows]]\ncc = "cubic"\nbytes = { cdf = "sizes.txt" }\narrivals = { load = 0.5 }\n'
    got = valid(tmp_path, experiment(rest, rate="20mbit", duration="4s"))
    sizes = [flow["bytes_received"] for flow in got.run.manifest.flows if flow["completed"]]
    assert len(sizes) > 60
    assert len(set(sizes)) > 20
    assert 0.35 < sum(size <= 1000 for size in sizes) / len(sizes) < 0.65
    assert max(sizes) <= 100_000


@both
def test_a_jitter_needs_no_delay(tmp_path: Path) -> None:
    quiet = '[[flows]]\nkind = "udp"\nrate = "100kbit"\nname = "quiet"\n'
    got = valid(tmp_path, experiment(quiet, path='jitter = "5ms"'))
    rtt_ms = got.run.probes["rtt_ns"].drop_nulls() / 1e6
    assert rtt_ms.mean() == pytest.approx(20, abs=2)
    assert largest(rtt_ms) + largest(-rtt_ms) > 3


@pytest.mark.parametrize(
    ("rest", "key"),
    [
        ('[[flows]]\ncc = "bbr"\ndirection = "back"\n', "flows.0.direction"),
        (CUBIC + "bytes = { pareto = '10kB', shape = 1 }\n", "flows.0.bytes"),
        (CUBIC + "bytes = { cdf = 'missing' }\n", "flows.0.bytes.cdf"),
        (CUBIC + "bytes = '1kB'\narrivals = { load = 0 }\n", "flows.0.arrivals"),
        (CUBIC + "arrivals = { load = 0.5 }\n", "flows.0.arrivals"),
        (CUBIC + "[[changes]]\nat = '1s'\nqdisc = 'codel'\n", "changes.0.qdisc"),
        (CUBIC + "[[changes]]\nat = '1s'\nlink = 'none'\nrate = '1mbit'\n", "changes.0.link"),
        (CUBIC + "[[changes]]\nat = '1s'\nup = 3\n", "changes.0.up"),
        (CUBIC + "[[changes]]\nat = '0s'\nfile = 'missing.csv'\n", "changes.0.file"),
    ],
)
def test_a_bad_value_is_refused_by_name(tmp_path: Path, rest: str, key: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        plan_case(parse(experiment(rest), tmp_path / "mine.toml")[0], 1)
    assert caught.value.key == key


@pytest.mark.parametrize(
    "text", ["", "time,speed\n1,2\n", "time,rate\n1\n", "time,rate\n2s,1mbit\n1s,1mbit\n", "time,rate\nx,y\n"]
)
def test_a_bad_file_of_changes_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(ExperimentError) as caught:
        plan_case(parse(experiment(CUBIC + '[[changes]]\nat = "0s"\nfile = "c.csv"\n'), tmp_path / "mine.toml")[0], 1)
    assert caught.value.key == "changes.0.file"


LINKS = "".join(
    f'[[path.links]]\nname = "{name}"\nrate = "{rate}"\n' for name, rate in (("b", "6mbit"), ("c", "4mbit"))
)


@both
def test_each_group_is_limited_by_the_links_of_its_route(tmp_path: Path) -> None:
    routes = {"first": ["bottleneck"], "middle": ["b"], "last": ["b", "c"]}
    flows = "".join(f'[[flows]]\nname = "{name}"\ncc = "cubic"\nroute = {links}\n' for name, links in routes.items())
    got = valid(tmp_path, experiment(flows + LINKS, rtt="10ms", duration="4s"))
    assert got.mbps("first") == pytest.approx(9.5, abs=0.4)
    assert got.mbps("last") < 4
    assert got.mbps("middle") + got.mbps("last") == pytest.approx(5.7, abs=0.4)


def test_a_route_over_all_links_is_that_of_a_group_without_one(tmp_path: Path) -> None:
    def script(flow: str) -> str:
        case = parse(experiment(f'[[flows]]\ncc = "cubic"\n{flow}\n' + LINKS), tmp_path / "x.toml")[0]
        return plan_case(case, 1).script("x", [])

    assert script('route = ["bottleneck", "b", "c"]') == script("")
    assert script('route = ["b"]') == script('enter = "b"\nleave = "b"')


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        ('["b", "nowhere"]', "the route names no link: 'nowhere'"),
        ('["bottleneck", "c"]', "the route leaves out a link, or goes back"),
        ('["c", "b"]', "the route leaves out a link, or goes back"),
        ('["b"]\nenter = "b"', "both a route and 'enter' or 'leave'"),
    ],
)
def test_a_route_follows_the_path(tmp_path: Path, route: str, problem: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        parse(experiment(f'[[flows]]\ncc = "cubic"\nroute = {route}\n' + LINKS), tmp_path / "x.toml")
    assert problem in str(caught.value)
    assert caught.value.key == "flows.0.route"


def reports(got: Outcome, group: str) -> list[dict[str, Any]]:
    return [flow for flow in got.run.manifest["flows"] if flow["group"] == group]


@both
def test_a_group_starts_when_another_has_completed(tmp_path: Path) -> None:
    flows = (
        '[[flows]]\nname = "last"\ncc = "cubic"\nbytes = "100kB"\nafter = "middle"\n'
        '[[flows]]\nname = "first"\ncc = "cubic"\ncount = 2\nbytes = "200kB"\n'
        '[[flows]]\nname = "middle"\ncc = "reno"\ncount = 2\nbytes = "100kB"\nafter = "first"\nstart = "50ms"\n'
        'stagger = "10ms"\n'
    )
    got = valid(tmp_path, experiment(flows, duration="10s"))
    first, middle, last = (reports(got, name) for name in ("first", "middle", "last"))
    ends = [max(flow["start_s"] + flow["fct_s"] for flow in group) for group in (first, middle)]
    assert [flow["start_s"] for flow in middle] == pytest.approx([ends[0] + 0.05, ends[0] + 0.06], abs=1e-4)
    assert last[0]["start_s"] == pytest.approx(ends[1], abs=1e-4)
    # All are sized, so the run is over with the last.
    assert got.run.manifest.duration_s == pytest.approx(last[0]["start_s"] + last[0]["fct_s"], abs=1e-3)


@both
def test_a_group_whose_predecessor_does_not_complete_never_starts(tmp_path: Path) -> None:
    flows = '[[flows]]\nname = "long"\ncc = "cubic"\nbytes = "100MB"\n'
    flows += '[[flows]]\nname = "next"\ncc = "cubic"\nafter = "long"\n'
    got = valid(tmp_path, experiment(flows))
    assert [flow["start_s"] for flow in reports(got, "next")] == [None]
    assert "flow 'next' never started, because the flows of 'long' did not complete" in got.run.manifest.warnings


@both
@pytest.mark.parametrize("think", [0, 20])
def test_flows_behind_a_barrier_ask_together(tmp_path: Path, think: int) -> None:
    flows = '[[flows]]\nname = "server"\ncc = "cubic"\ncount = 3\nrequest = "100b"\nresponse = "30kB"\n'
    flows += f'think = "{think}ms"\n'
    apart, together = (
        valid(tmp_path / name, experiment(flows + barrier, duration="3s"))
        for name, barrier in (("apart", ""), ("together", "barrier = true\n"))
    )
    rounds = [len(flow["exchanges_s"]) for flow in reports(together, "server")]
    assert max(rounds) - min(rounds) <= 1
    took = [max(round) for round in zip(*(flow["exchanges_s"] for flow in reports(together, "server")), strict=False)]
    # A round lasts as long as its slowest response, and the pause: nobody asks in between.
    assert sum(took) + len(took) * think / 1e3 == pytest.approx(3, abs=0.25)
    assert sum(rounds) <= sum(len(flow["exchanges_s"]) for flow in reports(apart, "server"))


@pytest.mark.parametrize(
    ("rest", "key", "problem"),
    [
        (CUBIC + 'after = "none"\n', "flows.0.after", "'after' names no group: 'none'"),
        (CUBIC + CUBIC + 'after = "cubic"\n', "flows.1.after", "group 'cubic' has no 'bytes', so it never completes"),
        (CUBIC + 'bytes = "1kB"\nafter = "cubic"\n', "flows.0.after", "the groups wait for each other in a circle"),
        (
            CUBIC + 'name = "a"\nbytes = "1kB"\nafter = "b"\n' + CUBIC + 'name = "b"\nbytes = "1kB"\nafter = "a"\n',
            "flows.0.after",
            "the groups wait for each other in a circle",
        ),
        (CUBIC + "barrier = true\n", "flows.0.barrier", "'barrier' has no effect on a bulk flow"),
    ],
)
def test_a_group_that_cannot_wait_is_refused(tmp_path: Path, rest: str, key: str, problem: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        parse(experiment(rest), tmp_path / "mine.toml")
    assert caught.value.key == key
    assert problem in str(caught.value)


MOVES = '[[changes]]\nat = "2s"\ngroup = "moves"\nroute = {route}\n'


@both
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_group_takes_another_route(tmp_path: Path, direction: str) -> None:
    flow = f'[[flows]]\nname = "moves"\ncc = "cubic"\nroute = ["bottleneck"]\ndirection = "{direction}"\n'
    moves = MOVES.format(route=["c"]) + MOVES.format(route=["bottleneck", "b", "c"]).replace("2s", "4s")
    got = valid(tmp_path, experiment(flow + LINKS + moves, rtt="10ms", duration="6s"))
    passed = {name: [sent_mbps(got, name, at, at + 1.5) for at in (0.5, 2.5, 4.5)] for name in ("bottleneck", "b", "c")}
    if direction == "forward":
        assert passed["bottleneck"] == pytest.approx([10, 0, 4], abs=0.4)
        assert passed["b"] == pytest.approx([0, 0, 4], abs=0.4)
        assert passed["c"] == pytest.approx([0, 4, 4], abs=0.2)
    else:  # Acknowledgements go there.
        assert [rate > 0.1 for rate in passed["bottleneck"]] == [True, False, True]
        assert [rate > 0.1 for rate in passed["b"]] == [False, False, True]
        assert [rate > 0.1 for rate in passed["c"]] == [False, True, True]


@both
def test_a_new_route_leaves_other_groups_alone(tmp_path: Path) -> None:
    flows = (
        '[[flows]]\nname = "moves"\ncc = "cubic"\naccess = { delay = "5ms" }\n'
        '[[flows]]\nname = "stays"\ncc = "cubic"\nroute = ["b", "c"]\n'
    )
    got = valid(tmp_path, experiment(flows + LINKS + MOVES.format(route=["bottleneck"]), duration="6s"))
    assert sent_mbps(got, "bottleneck", 3, 6) > 9
    # Alone on its links.
    assert sent_mbps(got, "c", 3, 6) == pytest.approx(4, abs=0.2)


@pytest.mark.parametrize(
    ("change", "key", "problem"),
    [
        ('group = "none"\nroute = ["b"]', "changes.0.group", "unknown group in a change: 'none'"),
        ('group = "cubic"', "changes.0.group", "'group' and 'route' go together"),
        ('route = ["b"]', "changes.0.route", "'group' and 'route' go together"),
        ('group = "cubic"\nroute = []', "changes.0.route", "the route leaves out a link, or goes back"),
        ('group = "cubic"\nroute = ["c", "b"]', "changes.0.route", "the route leaves out a link, or goes back"),
        ('group = "cubic"\nroute = ["d"]', "changes.0.route", "the route names no link: 'd'"),
        ('group = "cubic"\nroute = ["b"]\nlink = "b"', "changes.0.link", "a change of a link and of a group's route"),
    ],
)
def test_a_new_route_that_there_is_not_is_refused(tmp_path: Path, change: str, key: str, problem: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        parse(experiment(CUBIC + LINKS + f'[[changes]]\nat = "1s"\n{change}\n'), tmp_path / "mine.toml")
    assert caught.value.key == key
    assert problem in str(caught.value)
