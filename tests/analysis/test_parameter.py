"""Runs by the one number in which their experiments differ."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.parameter import by_parameter, parameter_of, wide
from dumbbell.results.result import Run
from dumbbell.spec import parse
from synthetic import Bench, Flow


def case(path: dict[str, Any] | None, cc: str = "cubic", fct_s: float | None = None, **manifest: Any) -> Run:
    experiment = None if path is None else {"title": cc, "path": path, "flows": [{"cc": cc, "name": None}]}
    flow = Flow(cc, cc, cc=cc, bytes_asked=None if fct_s is None else 1000, fct_s=fct_s)
    return Bench([flow], manifest={"experiment": experiment, **manifest}).make()


@pytest.mark.parametrize(
    ("paths", "title", "values"),
    [
        ([{"loss": "0%"}, {"loss": "2.5%"}], "path.loss, %", (0, 2.5)),
        ([{"mtu": 1500}, {"mtu": 9000}], "path.mtu", (1500, 9000)),
        ([{"rtt": "500us"}, {"rtt": "13ms"}, {"rtt": "1s"}], "path.rtt, ms", (0.5, 13, 1000)),
        ([{"rate": "50mbit"}, {"rate": "1gbit"}], "path.rate, Mbit/s", (50, 1000)),
        ([{"tc": {"commands": [f"a netem loss {share}% limit 9"]}} for share in (1, 5)], "loss, %", (1, 5)),
    ],
)  # fmt: skip
def test_the_number_that_differs_is_found(paths: list[dict[str, Any]], title: str, values: tuple[float, ...]) -> None:
    found = parameter_of([case(path, cc) for path in paths for cc in ("cubic", "bbr")])
    assert found is not None
    assert found.title == title
    assert found.values == tuple(value for value in values for _ in range(2))


@pytest.mark.parametrize(
    "paths",
    [
        [{"loss": "1%"}],
        [{"loss": "1%"}, {"loss": "1%"}],
        [{"loss": "1%", "mtu": 1500}, {"loss": "2%", "mtu": 9000}],
        [{"qdisc": "pfifo limit 10"}, {"qdisc": "bfifo limit 20"}],
        [{"qdisc": "pfifo limit 10"}, {"qdisc": "codel"}],
        [{"loss": None}, {"loss": "2%"}],
        [{"rtt": "5ms"}, {"rtt": "2%"}],
        [None, None],
    ],
)
def test_without_exactly_one_number_there_is_no_parameter(paths: list[dict[str, Any] | None]) -> None:
    assert parameter_of([case(path) for path in paths]) is None


def test_each_value_has_mean_and_extent_over_its_valid_runs() -> None:
    runs = [case({"loss": "0%"}, cc, 1.0) for cc in ("cubic", "bbr")]
    runs += [case({"loss": "5%"}, "cubic", seconds) for seconds in (4.0, 6.0)]
    runs += [
        case({"loss": "5%"}, "cubic", 99.0, valid=False, invalid=["a packet was lost elsewhere"]),
        case({"loss": "5%"}, "bbr"),
    ]
    found = parameter_of(runs)
    assert found is not None
    table = by_parameter(runs, found)
    times = table.filter(metric="fct_s").drop("metric").rows()
    assert times == [("cubic", 0, 1, 1, 1, 1), ("cubic", 5, 5, 4, 6, 2), ("bbr", 0, 1, 1, 1, 1)]
    heads, rows = wide(table)
    assert heads == ["cubic, s", "bbr, s", "cubic, Mbit/s", "bbr, Mbit/s"]
    assert [row[:3] for row in rows] == [[0, 1, 1], [5, 5, None]]


@pytest.mark.slow
@given(st.lists(st.floats(0, 100).map(lambda share: f"{share:.6f}%"), min_size=2, max_size=6, unique=True))
def test_any_valid_loss_is_parsed_back(shares: list[str]) -> None:
    text = (
        'duration = "1s"\n[path]\nrtt = "1ms"\nloss = "{}"\n[path.bottleneck]\nrate = "1mbit"\n[[flows]]\ncc = "bbr"\n'
    )
    experiments = [parse(text.format(share), Path("x.toml"))[0].experiment for share in shares]
    runs = [
        Bench([Flow("a", "a")], manifest={"experiment": each.document(complete=True)}).make() for each in experiments
    ]
    found = parameter_of(runs)
    assert found is not None
    assert found.values == tuple(float(share.rstrip("%")) for share in shares)
