"""Validity checks of a slow host, and facts read from a host's files."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import _sim
from dumbbell.engines.host_load import (
    available_bytes,
    facts,
    judge_host,
    load_statistics,
    read_load_samples,
    shaper_shares,
)
from dumbbell.plan import Queue, plan_case
from dumbbell.spec import parse
from engines.on_host import plain

PLAN = plan_case(parse(plain("5s"), Path("experiment.toml"))[0], 1)
QUEUE = Queue("bottleneck", "router", "right", "10:", "pfifo limit 50", rates=((0, 10_000_000),))
FLOWS = pl.DataFrame({"rtt_ns": [50_000_000, None, 52_000_000]})
SECONDS = 5


def load(
    folder: Path, *, agent: float = 0.1, softirq: float = 0.1, busy: float = 0.2, steal: float = 0.0,
    late_p99_ns: int = 100_000, squeezed: int = 0, dropped: int = 0, shares: dict[str, float] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Load statistics of a host with one core and constant shares."""
    file = folder / "machine.jsonl"
    lines = [
        {
            "time_ns": tenth * 10**8, "late_ns": 1000, "agent_ns": round(agent * tenth * 10**8),
            "cores": [[round(share * tenth * 10) for share in (busy, softirq, steal, 1)]],
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
    return load_statistics(read_load_samples(file), _sim.End(end), shares or {})


def judge_run(folder: Path, **statistics: Any) -> tuple[list[str], list[str]]:
    verdict = judge_host(PLAN, load(folder, **statistics), FLOWS, SECONDS * 10**9)
    return verdict.invalid, verdict.warnings


def test_an_idle_host_gives_no_warning(tmp_path: Path) -> None:
    assert judge_run(tmp_path, shares={"bottleneck": 0.999}) == ([], [])


def test_shares_refer_to_elapsed_time(tmp_path: Path) -> None:
    got = load(tmp_path, agent=0.3, softirq=0.2, busy=0.6, steal=0.1)
    assert got["agent_share"] == pytest.approx(0.3)
    assert got["cores"] == [pytest.approx({"busy": 0.6, "softirq": 0.2, "steal": 0.1})]
    assert got["softirq_full_share"] == got["agent_full_share"] == 0


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (
            {"late_p99_ns": 10_000_001},
            "1 % of its timers by more than 10 ms, which exceeds the sampling interval (10 ms)",
        ),
        ({"agent": 0.99}, "the agent used a full core in 100% of the run's seconds: the host was the limit"),
        ({"softirq": 0.97, "busy": 0.97}, "packet processing (softirq) used a full core in 100% of the run's seconds"),
        (
            {"shares": {"bottleneck": 0.9}},
            "the shaper of 'bottleneck' sent 90.0% of its rate while packets were queued",
        ),
    ],
)
def test_an_overloaded_host_makes_a_run_invalid(conditions: dict[str, Any], message: str, tmp_path: Path) -> None:
    invalid, _ = judge_run(tmp_path, **conditions)
    assert len(invalid) == 1
    assert message in invalid[0]
    assert "--engine kernel" in invalid[0]


@pytest.mark.parametrize(
    ("statistics", "message"),
    [
        ({"late_p99_ns": 6_000_000}, "flows' median RTT (51 ms)"),
        ({"busy": 1.0}, "all cores were busy in 100% of the run's seconds"),
        ({"steal": 0.2}, "the hypervisor gave 20% of a core's time to other virtual machines"),
        ({"dropped": 3}, "softnet_stat is system-wide"),
        ({"squeezed": 1000}, "exhausted its packet budget 1,000 times"),
    ],
)
def test_possible_disturbances_are_warnings(statistics: dict[str, Any], message: str, tmp_path: Path) -> None:
    invalid, warnings = judge_run(tmp_path, **statistics)
    assert invalid == []
    assert len(warnings) == 1
    assert message in warnings[0]


def test_a_run_without_duration_has_no_shares(tmp_path: Path) -> None:
    file = tmp_path / "machine.jsonl"
    file.write_text(json.dumps({"time_ns": 0, "late_ns": 0, "agent_ns": 0, "cores": [[0, 0, 0, 0]]}) + "\n")
    end = {
        "machine": dict.fromkeys(("timers", "p50_ns", "p99_ns", "max_ns"), 0),
        "counters": {"a": {"softnet_stat": "0 0 0"}}, "counters_before": {"a": {"softnet_stat": "0 0 0"}},
    }  # fmt: skip
    got = load_statistics(read_load_samples(file), _sim.End(end), {})
    assert got["agent_share"] is None
    assert judge_host(PLAN, got, FLOWS, 0).invalid == []


def records(speed: float, backlog_bytes: int) -> pl.DataFrame:
    """A second of samples of a queue that sends this share of its 10 Mbit/s."""
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


@pytest.mark.slow
@given(st.floats(0.1, 1.0))
def test_a_shaper_s_share_is_sent_over_possible_bytes(speed: float) -> None:
    assert shaper_shares([QUEUE], records(speed, 60_000))["bottleneck"] == pytest.approx(speed, abs=1e-4)


def test_a_queue_that_may_have_been_empty_gives_no_share() -> None:
    # At 10 Mbit/s 12,500 bytes are sent in the 10 ms between two samples.
    assert shaper_shares([QUEUE], records(0.5, 12_499)) == {}
    assert shaper_shares([QUEUE], records(0.5, 12_500)) != {}


def sampled(idle: float = 0.0, blocked: float = 0.0, rtt_ns: int = 50_000_000) -> pl.DataFrame:
    """Five seconds of a connected flow that had nothing to send, or a full receive window, for these shares of them."""
    times = pl.Series([second * 10**9 for second in range(SECONDS + 1)])
    columns = {"time_ns": times, "busy_ns": times * (1 - idle), "rwnd_limited_ns": times * blocked}
    return pl.DataFrame(columns).with_columns(flow=pl.lit("cubic"), state=pl.lit(1), rtt_ns=pl.lit(rtt_ns))


@pytest.mark.parametrize(
    ("flow", "late_ms", "limits", "share"),
    [
        ("", 60, sampled(idle=0.3), "30%"),
        ("", 60, sampled(blocked=0.2), "20%"),
        ("", 60, sampled(idle=0.04), None),
        ("", 40, sampled(idle=0.3), None),
        ('bytes = "1MB"\n', 60, sampled(idle=0.3), None),
        ('on_time = "1s"\noff_time = "1s"\n', 60, sampled(idle=0.3), None),
        ('sndbuf = "10kB"\n', 60, sampled(idle=0.3), None),
        ('rcvbuf = "10kB"\n', 60, sampled(blocked=0.2), None),
    ],
)
def test_a_flow_without_limits_never_waits_for_an_agent_that_is_later_than_an_rtt(
    flow: str, late_ms: int, limits: pl.DataFrame, share: str | None, tmp_path: Path
) -> None:
    text = 'sample = "1s"\n' + plain("5s", rest=f'[[flows]]\ncc = "cubic"\n{flow}')
    plan = plan_case(parse(text, Path("experiment.toml"))[0], 1)
    measured = load(tmp_path, late_p99_ns=late_ms * 1_000_000)
    invalid = judge_host(plan, measured, limits, SECONDS * 10**9).invalid
    expected = f"flow 'cubic' waited for the agent in {share} of its time"
    assert [reason.startswith(expected) for reason in invalid] == ([True] if share else [])


def test_host_facts_are_read_from_files(tmp_path: Path) -> None:
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


def test_without_files_host_facts_are_unknown(tmp_path: Path) -> None:
    got = facts(tmp_path)
    assert {key for key, value in got.items() if value is not None} == {"cpus_allowed"}
    assert available_bytes(tmp_path) is None


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_any_bytes_in_its_files_are_harmless(content: bytes) -> None:
    import tempfile  # noqa: PLC0415 — tmp_path is one for all examples

    with tempfile.TemporaryDirectory() as name:
        for file in ("proc/cpuinfo", "proc/meminfo", "proc/loadavg", "proc/config.gz", "sys/fs/cgroup/memory.max"):
            (Path(name) / file).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / file).write_bytes(content)
        facts(Path(name))
        available_bytes(Path(name))
