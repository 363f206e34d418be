"""Almost valid sweep files: each is read and its first points run, or it is refused by a `DumbbellError`."""

import itertools
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from dumbbell.spec.sweep import case_at, read_sweep
from hostile.almost_valid import CONTROLLERS, RATES, TIMES, disciplines, with_mistake
from hostile.bounded_run import expected_errors, run_case
from hostile.fuzzing import search

KEYS = st.sampled_from(
    ["path.rtt", "path.bottleneck.rate", "flows.0.cc", "buffer", "flows.*.count", "engine", "seed", "a.b"]
)
ENDS = st.one_of(TIMES, RATES, st.floats())
COUNTS = st.sampled_from([-1, 0, 1, 2, 5, 10_001])
SCALES = st.sampled_from(["log", "linear", "x"])
VALUES = st.one_of(
    st.lists(st.one_of(TIMES, RATES, CONTROLLERS, st.integers(0, 99)), max_size=4),
    st.fixed_dictionaries({"from": ENDS, "to": ENDS}, optional={"points": COUNTS, "scale": SCALES}),
)
SETTINGS = st.one_of(disciplines(), st.sampled_from(["bfifo limit {buffer}", "{buffer}{buffer}"]))
MOST = st.integers(-1, 10**9)
METRICS = st.sampled_from(["groups.*.throughput_mbps", "fairness", "queue.mean_ms", "", "*"])
EXPERIMENT = {"duration": "200ms", "path": {"rtt": "10ms", "bottleneck": {"rate": "5mbit"}}, "flows": [{"cc": "cubic"}]}


@st.composite
def sweeps(draw: st.DrawFn) -> dict[str, Any]:
    """A sweep with up to two mistakes."""
    document: dict[str, Any] = {
        "experiment": EXPERIMENT | {"title": draw(st.sampled_from(["x", "{buffer}"]))},
        "metrics": draw(st.lists(METRICS, max_size=2)),
        "axes": draw(st.lists(st.dictionaries(KEYS, VALUES, max_size=2), max_size=3)),
        "set": draw(st.dictionaries(st.sampled_from(["path.bottleneck.qdisc", "sample", "x"]), SETTINGS, max_size=2)),
    }  # fmt: skip
    more: dict[str, st.SearchStrategy[Any]] = {
        "seeds": st.sampled_from([[1, 2], "1..3", 7, "1..99999999"]),
        "until": st.fixed_dictionaries({"metric": METRICS, "precision": st.sampled_from(["1%", 0.1]), "most": MOST}),
        "refine": st.fixed_dictionaries({"metric": METRICS, "axes": st.lists(KEYS, max_size=2), "most": MOST}),
        "maps": st.lists(st.fixed_dictionaries({"value": METRICS, "x": KEYS}, optional={"y": KEYS}), max_size=2),
        "window": st.lists(TIMES, max_size=3),
    }  # fmt: skip
    for key in draw(st.lists(st.sampled_from(sorted(more)), max_size=2, unique=True)):
        document[key] = draw(more[key])
    for _ in range(draw(st.integers(0, 2))):
        document = with_mistake(draw, document)
    return document


def test_fuzz_sweeps(tmp_path: Path) -> None:
    def check(document: dict[str, Any]) -> None:
        with expected_errors():
            sweep = read_sweep(document, tmp_path / "x.toml")
            for point in itertools.islice(sweep.each_point(), 3):
                run_case(case_at(sweep, point.values))

    search(sweeps(), check, examples=100)
