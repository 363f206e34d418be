"""What is said of a machine that was too slow, and of one that was not; and what is read of a machine."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.engine.host_machine import available_bytes, facts
from dumbbell.engine.host_watch import figures, judge_machine, looks, shaper_shares
from dumbbell.plan import QueuePlan, plan_case
from dumbbell.spec import parse
from engine.host_lab import plain

PLAN = plan_case(parse(plain("5s"), Path("experiment.toml"))[0], 1)
QUEUE = QueuePlan("bottleneck", "router", "right", "10:", "pfifo limit 50", rates=((0, 10_000_000),))
FLOWS = pl.DataFrame({"rtt_ns": [50_000_000, None, 52_000_000]})
SECONDS = 5


def seen(
    folder: Path, *, agent: float = 0.1, softirq: float = 0.1, busy: float = 0.2, steal: float = 0.0,
    late_p99_ns: int = 100_000, squeezed: int = 0, dropped: int = 0, shares: dict[str, float] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The figures of a machine with one core that did these parts of its time, all the time."""
    file = folder / "machine.jsonl"
    lines = [
        {
            "time_ns": tenth * 10**8, "late_ns": 1000, "agent_ns": round(agent * tenth * 10**8),
            "cores": [[round(part * tenth * 10) for part in (busy, softirq, steal, 1)]],
        }
        for tenth in range(SECONDS * 10 + 1)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def counters(*columns: int) -> dict[str, dict[str, str]]:
        return {"sender": {"softnet_stat": " ".join(f"{column:08x}" for column in columns) + "\n"}}

    end = {
        "machine": {"timers": 500, "p50_ns": 30_000, "p99_ns": late_p99_ns, "max_ns": late_p99_ns},
        "counters_before": counters(5, 1, 2), "counters": counters(9, 1 + dropped, 2 + squeezed),
    }  # fmt: skip
    return figures(looks(file), end, shares or {})


def judged(folder: Path, **machine: Any) -> tuple[list[str], list[str]]:
    verdict = judge_machine(PLAN, seen(folder, **machine), FLOWS, SECONDS * 10**9)
    return verdict.invalid, verdict.warnings


def test_a_machine_with_time_to_spare_is_not_mentioned(tmp_path: Path) -> None:
    assert judged(tmp_path, shares={"bottleneck": 0.999}) == ([], [])


def test_shares_are_of_the_time_that_passed(tmp_path: Path) -> None:
    got = seen(tmp_path, agent=0.3, softirq=0.2, busy=0.6, steal=0.1)
    assert got["agent_share"] == pytest.approx(0.3)
    assert got["cores"] == [pytest.approx({"busy": 0.6, "softirq": 0.2, "steal": 0.1})]
    assert got["softirq_full_share"] == got["agent_full_share"] == 0


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        ({"late_p99_ns": 10_000_001}, "1 % of its timers by more than 10 ms, and samples are 10 ms apart"),
        ({"agent": 0.99}, "the agent filled a core in 100% of the run's seconds: the machine was the limit"),
        ({"softirq": 0.97, "busy": 0.97}, "serving packets (softirq) filled a core in 100% of the run's seconds"),
        ({"shares": {"bottleneck": 0.9}}, "the shaper of 'bottleneck' sent 90.0% of its rate while packets waited"),
    ],
)
def test_a_machine_that_was_the_limit_makes_a_run_invalid(machine: dict[str, Any], told: str, tmp_path: Path) -> None:
    invalid, _ = judged(tmp_path, **machine)
    assert len(invalid) == 1
    assert told in invalid[0]
    assert "--engine kernel" in invalid[0]


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        ({"late_p99_ns": 6_000_000}, "a part of the flows' RTT (51 ms in the median)"),
        ({"busy": 1.0}, "no core had time left in 100% of the run's seconds"),
        ({"steal": 0.2}, "the hypervisor gave 20% of a core's time to other machines"),
        ({"dropped": 3}, "softnet_stat counts for the whole machine"),
        ({"squeezed": 1000}, "ran out of its budget for packets 1,000 times"),
    ],
)
def test_what_may_have_disturbed_a_run_is_a_warning(machine: dict[str, Any], told: str, tmp_path: Path) -> None:
    invalid, warnings = judged(tmp_path, **machine)
    assert invalid == []
    assert len(warnings) == 1
    assert told in warnings[0]


def test_a_run_of_no_time_has_no_shares(tmp_path: Path) -> None:
    file = tmp_path / "machine.jsonl"
    file.write_text(json.dumps({"time_ns": 0, "late_ns": 0, "agent_ns": 0, "cores": [[0, 0, 0, 0]]}) + "\n")
    end = {
        "machine": dict.fromkeys(("timers", "p50_ns", "p99_ns", "max_ns"), 0),
        "counters": {"a": {"softnet_stat": "0 0 0"}}, "counters_before": {"a": {"softnet_stat": "0 0 0"}},
    }  # fmt: skip
    got = figures(looks(file), end, {})
    assert got["agent_share"] is None
    assert judge_machine(PLAN, got, FLOWS, 0).invalid == []


def records(speed: float, backlog_bytes: int) -> pl.DataFrame:
    """A second of samples of a queue that sends so much of its 10 Mbit/s."""
    times = [10_000_000 * number for number in range(101)]
    return pl.DataFrame(
        {
            "time_ns": times,
            "queue": ["bottleneck"] * 101,
            "backlog_bytes": [backlog_bytes] * 101,
            "sent_bytes": [round(speed * 10_000_000 / 8 * time / 1e9) for time in times],
            "rate_bps": [10_000_000] * 101,
        }
    )


@given(st.floats(0.1, 1.0))
def test_a_shaper_s_share_is_what_it_sent_of_what_it_could(speed: float) -> None:
    assert shaper_shares([QUEUE], records(speed, 60_000))["bottleneck"] == pytest.approx(speed, abs=1e-4)


def test_a_queue_that_may_have_been_empty_says_nothing_of_its_shaper() -> None:
    # At 10 Mbit/s 12,500 bytes leave in the 10 ms between two samples.
    assert shaper_shares([QUEUE], records(0.5, 12_499)) == {}
    assert shaper_shares([QUEUE], records(0.5, 12_500)) != {}


def test_a_machine_is_told_from_its_files(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: A Chip\nflags\t\t: fpu hypervisor\nprocessor\t: 1\n",
        "proc/meminfo": "MemTotal:       2048 kB\nMemAvailable:    1024 kB\n",
        "proc/loadavg": "0.50 0.40 0.30 1/200 4711\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/class/dmi/id/product_name": "KVM Virtual Machine\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ_1000=y\nCONFIG_HZ=1000\n"))
    got = facts(tmp_path)
    expected = {
        "cpu": "A Chip", "cpus": 2, "governors": ["performance", "powersave"], "clocksource": "tsc", "hz": 1000,
        "virtualisation": "KVM Virtual Machine", "memory_bytes": 2 << 20, "load_before": 0.5,
    }  # fmt: skip
    assert {key: got[key] for key in expected} == expected
    assert available_bytes(tmp_path) == 1 << 20


def test_a_machine_without_files_is_unknown(tmp_path: Path) -> None:
    got = facts(tmp_path)
    assert {key for key, value in got.items() if value is not None} == {"cpus_allowed"}
    assert available_bytes(tmp_path) is None


@given(st.binary(max_size=200))
def test_any_bytes_in_its_files_are_harmless(content: bytes) -> None:
    import tempfile  # noqa: PLC0415 — tmp_path is one for all examples

    with tempfile.TemporaryDirectory() as name:
        for file in ("proc/cpuinfo", "proc/meminfo", "proc/loadavg", "proc/config.gz", "sys/fs/cgroup/memory.max"):
            (Path(name) / file).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / file).write_bytes(content)
        facts(Path(name))
        available_bytes(Path(name))
