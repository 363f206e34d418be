"""Guests that fail: each error states the cause, and no guest outlives its run."""

import dataclasses
import json
from pathlib import Path

import pytest

from dumbbell.engines.guest import Guest, _judge, run_guest
from dumbbell.engines.kernel import KernelEngine
from dumbbell.errors import EngineError, ExperimentError, GuestHang, GuestOutOfMemory, GuestPanic
from dumbbell.plan import Plan, plan_case
from dumbbell.spec import parse
from processes import processes_in

pytestmark = pytest.mark.kernel

TEXT = """
duration = "30s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "500mbit"
qdisc = "pfifo limit 1000"
[[flows]]
cc = "bbr"
count = 4
"""


def plan() -> Plan:
    return plan_case(parse(TEXT, Path("grief.toml"))[0], 1)


def guest(folder: Path, agent_plan: Plan, *, memory_mib: int = 512, wall_limit_s: float = 60) -> Guest:
    (folder / "plan.json").write_text(agent_plan.for_agent(), encoding="utf-8")
    engine = KernelEngine()
    return Guest(engine.kernel, engine.agent, folder, 1, memory_mib, wall_limit_s)


def test_a_guest_that_exceeds_its_limit_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(GuestHang, match="still running after"):
        run_guest(guest(tmp_path, plan(), wall_limit_s=0.3), lambda: 0.0)
    assert processes_in(tmp_path) == []


def test_a_guest_with_too_little_memory_reports_it(tmp_path: Path) -> None:
    with pytest.raises(GuestOutOfMemory, match="ran out of its 12 MiB of memory; its last output:\nToo few"):
        run_guest(guest(tmp_path, plan(), memory_mib=12), lambda: 0.0)
    assert processes_in(tmp_path) == []


def test_a_guest_without_an_agent_panics_with_an_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken-agent"
    broken.write_text("not a program")
    broken.chmod(0o755)
    failing_guest = dataclasses.replace(guest(tmp_path, plan()), agent=broken)
    with pytest.raises(GuestPanic, match="panic - not syncing"):
        run_guest(failing_guest, lambda: 0.0)


def test_a_refused_command_is_named_in_the_error(tmp_path: Path) -> None:
    refusing_guest, file = guest(tmp_path, plan()), tmp_path / "plan.json"
    values = json.loads(file.read_text(encoding="utf-8"))
    command = "qdisc add dev nowhere root netem".split()
    values["setup"].append({"host": values["hosts"][0], "operation": {"tc": command}})
    file.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"refused 'tc qdisc add dev nowhere root netem'.*nowhere"):
        run_guest(refusing_guest, lambda: 0.0)


def test_an_invalid_plan_is_reported(tmp_path: Path) -> None:
    failing_guest = guest(tmp_path, plan())
    (tmp_path / "plan.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EngineError, match=r"plan\.json: missing field"):
        run_guest(failing_guest, lambda: 0.0)


def test_an_interrupted_watch_ends_the_guest(tmp_path: Path) -> None:
    def interrupt() -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_guest(guest(tmp_path, plan()), interrupt)
    assert processes_in(tmp_path) == []


def test_a_kernel_fault_gives_no_result(tmp_path: Path) -> None:
    (tmp_path / "end.json").write_text("{}")
    one = guest(tmp_path, plan())
    _judge(one, "Using a channel type which is configured out of UML\n")
    with pytest.raises(GuestPanic, match="continued after a fault"):
        _judge(one, "BUG: Bad page map in process agent  pte:010fd061\n")


def test_a_change_forks_a_guest_with_rings_and_harms_nothing(tmp_path: Path) -> None:
    """Linux 6.12's `set_ptes` mapped unrelated pages there."""
    changing = TEXT.replace('"30s"', '"1s"') + '[[changes]]\nat = "500ms"\nrate = "50mbit"\n'
    run_guest(guest(tmp_path, plan_case(parse(changing, Path("changes.toml"))[0], 1)), lambda: 0.0)
    assert "BUG" not in (tmp_path / "console.txt").read_text()
