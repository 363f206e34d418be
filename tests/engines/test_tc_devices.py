"""Scripts with an ifb, hfsc or stab, in the virtual-time kernel and, where it has them, in the simulator."""

from pathlib import Path
from typing import Any

import pytest

from dumbbell.analysis.summary import summary
from dumbbell.engines import KernelEngine, Request, Simulator
from dumbbell.errors import DumbbellError
from dumbbell.results import result
from dumbbell.spec import read

ARRIVALS = """
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root handle 1: htb default 10
tc class add dev ifb0 parent 1: classid 1:10 htb rate 20mbit
tc qdisc add dev ifb0 parent 1:10 handle 2: fq_codel
"""
CURVES = """
tc qdisc add dev eth1 root handle 1: hfsc default 20
tc class add dev eth1 parent 1: classid 1:1 hfsc ls m2 20mbit ul m2 20mbit
tc class add dev eth1 parent 1:1 classid 1:10 hfsc sc m2 15mbit
tc class add dev eth1 parent 1:1 classid 1:20 hfsc sc m2 5mbit
tc qdisc add dev eth1 parent 1:10 handle 10: pfifo limit 50
tc qdisc add dev eth1 parent 1:20 handle 20: pfifo limit 50
tc filter add dev eth1 parent 1: protocol ip u32 match ip dport 5201 0xffff flowid 1:10
"""


def run(folder: Path, engine: Any, tc: Any, *ports: int) -> dict[str, Any]:
    flows = [{"name": f"port-{port}", "cc": "cubic", "port": port} for port in ports or (5201,)]
    document = {"duration": "10s", "path": {"rtt": "20ms", "tc": tc}, "flows": flows}
    (case,) = read(document, folder / "mine.toml")
    return summary(result.load(engine.run(Request("mine", case, 1, folder / engine.name), lambda _: None)))


def script(host: str, commands: str, **more: str) -> dict[str, str]:
    return {"interface": "eth1" if "eth1" in commands else "eth0", "host": host, "commands": commands} | more


@pytest.mark.kernel
def test_a_shaper_of_what_arrives_is_the_same_in_kernel_and_simulator(tmp_path: Path) -> None:
    tc = script("receiver", ARRIVALS, queue="ifb0 2:")
    runs = [run(tmp_path, engine, tc) for engine in (KernelEngine(), Simulator())]
    by_kernel, by_sim = runs
    assert by_kernel["valid"]
    # 20 Mbit/s of frames of 1514 bytes, of which 1448 are data.
    assert by_kernel["flows"][0]["throughput_mbps"] == pytest.approx(20 * 1448 / 1514, rel=0.02)
    assert by_kernel["queue"]["drops"] > 0
    assert by_sim["flows"][0]["throughput_mbps"] == pytest.approx(by_kernel["flows"][0]["throughput_mbps"], rel=0.005)
    assert by_sim["queue"]["drops"] == pytest.approx(by_kernel["queue"]["drops"], rel=0.1)
    assert by_sim["queue"]["delay_ms"]["mean"] == pytest.approx(by_kernel["queue"]["delay_ms"]["mean"], rel=0.05)


@pytest.mark.kernel
def test_acknowledgements_pass_an_ifb_of_the_sender(tmp_path: Path) -> None:
    commands = "\n".join(ARRIVALS.splitlines()[:3]) + "\ntc qdisc add dev ifb0 root handle 1: netem delay 30ms"
    for engine in (KernelEngine(), Simulator()):
        document = {
            "duration": "2s", "flows": [{"cc": "cubic"}],
            "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit"}, "tc": script("sender", commands)},
        }  # fmt: skip
        (case,) = read(document, tmp_path / "mine.toml")
        done = result.load(engine.run(Request("mine", case, 1, tmp_path / engine.name), lambda _: None))
        assert summary(done)["valid"]
        assert summary(done)["ping_ms"]["p50"] >= 50
        assert not any("own device" in warning for warning in done.manifest.warnings)


@pytest.mark.kernel
def test_hfsc_shares_by_its_curves(tmp_path: Path) -> None:
    done = run(tmp_path, KernelEngine(), script("router", CURVES, queue="1:"), 5201, 5202)
    assert done["valid"]
    shares = {name: group["share"] for name, group in done["groups"].items()}
    assert shares["port-5201"] == pytest.approx(0.75, abs=0.01)
    assert done["utilization"] > 0.98


@pytest.mark.kernel
def test_stab_counts_cells_of_atm(tmp_path: Path) -> None:
    shaper = "tc qdisc add dev eth0 root handle 1: {}tbf rate 10mbit burst 3000 limit 60000"
    plain, cells = (
        run(tmp_path / stab.strip().replace(" ", "-"), KernelEngine(), script("router", shaper.format(stab)))
        for stab in (" ", "stab linklayer atm overhead 10 ")
    )
    # 1514 + 10 bytes are 32 cells of 53.
    assert cells["flows"][0]["throughput_mbps"] == pytest.approx(10 * 1448 / (32 * 53), rel=0.02)
    assert plain["flows"][0]["throughput_mbps"] == pytest.approx(10 * 1448 / 1514, rel=0.02)


@pytest.mark.parametrize(
    ("commands", "lacks"),
    [
        (CURVES, "the simulator has no 'hfsc'"),
        ("tc qdisc add dev eth0 root stab overhead 10 tbf rate 1mbit burst 3kb limit 9kb", "sizes of a link layer"),
        (
            ARRIVALS.replace("match u32 0 0", "match ip dport 5201 0xffff"),
            "redirects all packets that arrive, not some",
        ),
        (ARRIVALS.replace("redirect", "mirror"), "does nothing else to them"),
        ("tc qdisc add dev ifb0 root fq_codel", "nothing is redirected to ifb0"),
    ],
)
def test_what_the_simulator_lacks_is_named_with_the_engine_that_has_it(
    tmp_path: Path, commands: str, lacks: str
) -> None:
    with pytest.raises(DumbbellError) as error:
        run(tmp_path, Simulator(), script("router", commands))
    assert lacks in str(error.value)
    assert "run it with --engine kernel" in str(error.value)
