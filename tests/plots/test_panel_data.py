"""The response with the data of a page's panels, parsed as the page does, for any run."""

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.errors import ResultError
from dumbbell.plots import PANELS, available, columns, packed
from dumbbell.plots.layers import PICKED
from dumbbell.results.result import Run
from synthetic import Bench, Flow, alternating, sawtooth, with_bbr

Floats = npt.NDArray[np.float64]
RUN = with_bbr(alternating(12, 4, 0.05)).make()
KINDS = {"lines", "rule", "ticks", "bands", "points"}


def response_of(run: Run, panels: list[str], points: int = 900) -> bytes:
    heads, arrays = columns(run, panels, points)
    return packed({"panels": heads}, arrays)


def read(response: bytes) -> tuple[dict[str, Any], Floats]:
    """Parse like the page: the header, and all numbers after it as one array."""
    (length,) = struct.unpack_from("<I", response)
    assert (4 + length) % 8 == 0
    return json.loads(response[4 : 4 + length], parse_constant=pytest.fail), np.frombuffer(
        response, "<f8", -1, 4 + length
    )


def column_refs(value: object, key: str = "") -> Iterator[tuple[str, list[int]]]:
    """Every column that a header names, with its key."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from column_refs(inner, name)
    elif isinstance(value, list):
        if key in {"s", "v", "e", "packets"}:
            yield key, value
        else:
            for inner in value:
                yield from column_refs(inner)


def check(run: Run, panels: list[str], points: int) -> None:
    header, numbers = read(response_of(run, panels, points))
    assert [panel["name"] for panel in header["panels"]] == panels
    assert np.isfinite(numbers).all()
    expected_offset = 0
    for key, (offset, length) in column_refs(header):
        assert offset == expected_offset
        expected_offset += length
        if key in {"s", "e"}:
            times = numbers[offset : offset + length]
            assert ((times >= 0) & (times <= run.manifest.duration_s)).all()
    assert expected_offset == numbers.size
    for layer in (layer for panel in header["panels"] for layer in panel["layers"]):
        assert layer["kind"] in KINDS
        for line in layer.get("lines", [layer]):
            assert len({line[key][1] for key in ("s", "v", "e", "packets") if isinstance(line.get(key), list)}) <= 1


RATES = st.floats(0, 1e9)
FLOWS = st.lists(st.tuples(st.sampled_from(["bbr", "cubic"]), RATES, st.floats(0, 0.5)), max_size=15)


@pytest.mark.slow
@settings(max_examples=40)
@given(FLOWS, st.integers(2, 300), st.integers(0, 400), st.integers(0, 9), st.integers(2, 2000), st.booleans())
def test_packed_data_can_be_parsed(
    flows: list[tuple[str, float, float]], samples: int, drops: int, lost: int, points: int, has_gains: bool
) -> None:
    bench_flows = [
        Flow(f"f{n}", cc, rate, sawtooth(2, 50 + n, 0.7), sawtooth(0, 30, 1), cc, retransmit_rate=loss)
        for n, (cc, rate, loss) in enumerate(flows)
    ]
    bench = Bench(bench_flows, samples * 0.01, drops=drops, marks=drops, lost_pings=min(lost, samples // 10))
    run = with_bbr(bench).make() if has_gains else bench.make()
    check(run, available(run, list(PANELS)), points)


def test_numbers_are_those_of_the_run() -> None:
    header, numbers = read(response_of(RUN, ["cwnd", "queue", "ping"], 10_000))
    cwnd, queue, ping = header["panels"]
    line = next(line for line in cwnd["layers"][0]["lines"] if line["name"] == "cubic-1")
    rows = RUN.flows.filter(pl.col("flow") == "cubic-1")
    (s, length), (v, _) = line["s"], line["v"]
    assert numbers[s : s + length] == pytest.approx(rows["time_ns"].to_numpy() / 1e9)
    assert numbers[v : v + length].tolist() == rows["cwnd_packets"].to_list()
    assert queue["y"]["domain"][1] > 150
    assert [layer["kind"] for layer in queue["layers"]] == ["lines", "rule", "ticks", "ticks"]
    assert [layer["kind"] for layer in ping["layers"]] == ["lines", "points", "ticks"]


def test_a_panel_describes_its_style() -> None:
    heads, _ = columns(RUN, ["throughput", "groups", "inflight", "states"])
    throughput, groups, inflight, states = heads
    assert (throughput["title"], throughput["note"]) == (
        "Throughput in order, Mbit/s", "bins of 0.05 s; dashed: link rate"
    )  # fmt: skip
    assert throughput["legend"] is None
    first, second = throughput["layers"][0]["lines"][:2]
    assert (first["dash"], second["dash"]) == ([], [6, 2])  # The first of a group is solid.
    assert throughput["layers"][0]["opacity"] == PICKED
    assert groups["legend"] == "group"
    assert [entry["name"] for entry in groups["entries"]] == ["bbr", "cubic"]
    assert [layer["of"] for layer in inflight["layers"]] == ["flows", "none"]
    assert [line["name"] for line in inflight["layers"][1]["lines"]] == ["BDP"]
    assert states["rows"] == ["bbr-1", "bbr-2", "cubic-1", "cubic-2"]
    assert {layer["phase"] for layer in states["layers"]} == {entry["name"] for entry in states["entries"]}
    assert states["height"] > throughput["height"] / 2


def test_missing_data_is_refused_as_in_a_figure() -> None:
    with pytest.raises(ResultError, match="can't draw 'gains'"):
        columns(Bench([Flow("cubic", "cubic")], sample_s=0.1).make(), ["throughput", "gains"])
    with pytest.raises(ResultError, match="unknown panel 'cwmd'"):
        columns(RUN, ["cwmd"])


def test_nan_is_never_sent() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        packed({"panels": float("nan")}, [])


def test_untrusted_names_stay_text() -> None:
    untrusted = 'ö"\\</script>\n\u2028'
    run = Bench([Flow(untrusted, untrusted)], sample_s=0.1).make()
    header, _ = read(response_of(run, ["throughput"]))
    assert header["panels"][0]["layers"][0]["lines"][0]["name"] == untrusted
