"""Inferred, counted and measured values, compared with the engine's own and with theory."""

from pathlib import Path

import polars as pl
import pytest

from dumbbell.analysis.bottleneck import flow_loss
from dumbbell.analysis.native import cycle
from dumbbell.analysis.states import phases, probe_rtt_dips, sawtooth
from dumbbell.engines import Engine, KernelEngine, Request, Simulator
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import parse

FLOW = '[[flows]]\nname = "{}"\ncc = "{}"\ncount = {}\n'
ENGINES = ["sim", pytest.param("kernel", marks=pytest.mark.kernel)]


def measured(
    folder: Path,
    engine: str,
    *flows: tuple[str, str, int],
    duration: str,
    path: tuple[str, str, str],
    seed: int = 1,
    sample: str = "10ms",
    each: str = "",
) -> Run:
    """One run of these groups: name, controller, number of flows; `each` are common keys."""
    rtt, rate, qdisc = path
    text = f'duration = "{duration}"\nsample = "{sample}"\n[path]\nrtt = "{rtt}"\n'
    text += f'[path.bottleneck]\nrate = "{rate}"\nqdisc = "{qdisc}"\n'
    case = parse(text + "".join(FLOW.format(*flow) + each for flow in flows), folder / "experiment.toml")[0]
    runner: Engine = Simulator() if engine == "sim" else KernelEngine()
    out = folder / f"seed-{seed}"
    runner.run(Request("experiment", case, seed, out), lambda _: None)
    return result.load(out)


DEEP = ("40ms", "20mbit", "bfifo limit 1.5bdp")
CYCLIC = ("13ms", "80mbit", "bfifo limit 225000")


def test_states_inferred_from_gains_are_the_simulator_s_own(tmp_path: Path) -> None:
    run = measured(tmp_path, "sim", ("bbr", "bbr", 2), ("reno", "reno", 1), duration="12s", path=DEEP)
    reported = phases(run)
    silent = run.replaced(flows=run.flows.with_columns(cc_phase=pl.lit(None, pl.String)))
    assert set(reported["phase"]) == {"startup", "drain", "probe_bw", "probe_rtt", "slow_start", "avoidance"}
    assert phases(silent).drop("inferred").equals(reported.drop("inferred"))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_senders_losses_are_the_queue_s_drops(engine: str, tmp_path: Path) -> None:
    run = measured(tmp_path, engine, ("bbr", "bbr", 1), ("cubic", "cubic", 1), duration="10s", path=CYCLIC)
    dropped = next(queue["drops"] for queue in run.manifest["queues"] if queue["name"] == "bottleneck")
    lost = flow_loss(run, 10**9)["lost_packets"].sum()
    assert dropped > 100
    assert lost == pytest.approx(
        dropped, rel=0.02
    )  # Pings are dropped too, and the run ends before the last are missed.


@pytest.mark.slow(keep="reno-0.5-sim")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("cc", "depth"), [("reno", 0.5), ("cubic", 0.3)])
def test_a_single_flow_has_the_sawtooth_of_its_standard(engine: str, cc: str, depth: float, tmp_path: Path) -> None:
    run = measured(tmp_path, engine, (cc, cc, 1), duration="40s", path=DEEP)
    found = sawtooth(run)[cc]
    assert found is not None
    assert found.depth == pytest.approx(depth, abs=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_bbr_has_dips_and_no_sawtooth(engine: str, tmp_path: Path) -> None:
    run = measured(tmp_path, engine, ("bbr", "bbr", 1), duration="22s", path=DEEP)
    assert sawtooth(run) == {"bbr": None}
    dips = probe_rtt_dips(run)
    assert dips.height == 2
    # Four packets per smoothed RTT at the start of PROBE_RTT, for 200 ms and a round trip.
    at_start = run.flows.join(dips.select("time_ns"), on="time_ns", how="semi")["rtt_ns"].to_numpy() / 1e9
    assert dips["lowest_bps"].to_numpy() == pytest.approx(4 * 8 * 1448 / at_start, rel=1e-3)
    assert dips["lasted_ns"].to_numpy() / 1e9 == pytest.approx(0.25, abs=0.06)


@pytest.mark.slow(keep="sim")
@pytest.mark.parametrize("engine", ENGINES)
def test_bbr_and_cubic_alternate_at_a_shallow_buffer(engine: str, tmp_path: Path) -> None:
    """Single changes fail at random: two of three seeds must show the period."""
    flows = (("bbr", "bbr", 2), ("cubic", "cubic", 2))
    runs = [
        measured(tmp_path, engine, *flows, duration="120s", path=CYCLIC, seed=seed, sample="100ms")
        for seed in (1, 2, 3)
    ]
    found = [one for run in runs if (one := cycle(run)) is not None and one.phase is not None]
    # Two of BBR's intervals of 10 s.
    assert sum(abs(one.period_s - 20.5) < 0.5 and abs((one.phase or 0) - 0.5) < 0.1 for one in found) >= 2


@pytest.mark.slow(keep="sim")
@pytest.mark.parametrize("engine", ENGINES)
def test_four_cubic_flows_do_not_alternate(engine: str, tmp_path: Path) -> None:
    """A significance level of 2.5 % gives false alarms: one of thirty seeds, on either engine."""
    flows, late = (("a", "cubic", 2), ("b", "cubic", 2)), 'start_jitter = "1s"\n'
    runs = [
        measured(tmp_path, engine, *flows, duration="120s", path=CYCLIC, seed=seed, sample="100ms", each=late)
        for seed in (1, 2, 3)
    ]
    assert sum(cycle(run) is None for run in runs) >= 2
