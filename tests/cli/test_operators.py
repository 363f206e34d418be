"""What operators ask of commands: an exit status of `doctor`, response times of requests."""

import json
from pathlib import Path

from conftest import Dumbbell

REQUESTS = """
duration = "3s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "pfifo limit 100"
[[flows]]
name = "web"
cc = "cubic"
request = "100b"
response = "50kB"
think = "50ms"
"""


def test_doctor_fails_on_what_is_asked(dumbbell: Dumbbell) -> None:
    assert dumbbell("doctor", "--json").returncode == 0
    for asked, counted in (("problem", ["problem"]), ("warning", ["problem", "warning"])):
        done = dumbbell("doctor", "--json", "--fail-on", asked)
        # Connections come and go: the same output has the findings that count.
        marks = json.loads(done.stdout)["marks"]
        assert done.returncode == (1 if sum(marks[mark] for mark in counted) else 0)
    # No host's buffers hold the BDP of this path.
    assert dumbbell("doctor", "--rate", "400gbit", "--rtt", "1s", "--fail-on", "warning").returncode == 1


def test_response_times_are_printed(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text(REQUESTS)
    done = dumbbell("run", tmp_path / "web.toml", "--out", tmp_path / "run")
    line = next(line for line in done.stdout.splitlines() if line.startswith("responses"))
    assert "web: mean" in line
    times = json.loads(dumbbell("stats", tmp_path / "run", "--json").stdout)["groups"]["web"]["response_s"]
    assert 0.04 < times["p50"] <= times["p95"] < 1
