"""Server and client inside the virtual-time kernel, where loss is what netem makes it and time what TCP needs."""

import json
import sys
from pathlib import Path

import pytest

from conftest import Dumbbell

ROOT = Path(__file__).parents[2]
OURS = f"{sys.executable} -m dumbbell"


@pytest.mark.kernel
def test_where_5_of_100_packets_are_lost_bbr_takes_less_time_and_the_run_says_so(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    server = f"{OURS} serve --host 0.0.0.0 --port 80"
    client = f"{OURS} fetch http://sender/ --cc bbr,cubic --size 8MB --json"
    lossy = (
        "lossy-download-plain",
        "--case",
        "cubic at 5% loss",
        "--set",
        "sample=1s",
        "--timeout",
        "600s",
        "--out",
        tmp_path / "run",
    )
    # Typed here, so that the guest sees this Python wherever it lies.
    done = dumbbell("exec", *lossy, "--no-flows", "--server", server, "--", *client.split(), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["stopped"] == "known"
    assert told["verdicts"][0].endswith("bbr is faster")
    assert {each["cc"] for each in told["downloads"]} == {"bbr", "cubic"}
    assert all(each["cc"] == each["cc_asked"] for each in told["downloads"])
    assert all(each["retransmits"] > 0 for each in told["downloads"])
    assert all(each["bytes"] == 8_000_000 for each in told["downloads"])
