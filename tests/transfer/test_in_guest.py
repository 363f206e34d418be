"""Server and client in a virtual-time kernel: netem causes the loss, and times do not depend on the host."""

import json
import sys
from pathlib import Path
from statistics import median

import pytest

from conftest import Dumbbell

ROOT = Path(__file__).parents[2]
DUMBBELL = f"{sys.executable} -m dumbbell"


@pytest.mark.slow
@pytest.mark.kernel
def test_at_5_percent_loss_bbr_is_faster_and_the_run_reports_it(dumbbell: Dumbbell, tmp_path: Path) -> None:
    server = f"{DUMBBELL} serve --host 0.0.0.0 --port 80"
    client = f"{DUMBBELL} fetch http://sender/ --cc bbr,cubic --size 8MB --json"
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
    # Run in the repository, so that the guest can read this Python's files.
    done = dumbbell("exec", *lossy, "--no-flows", "--server", server, "--", *client.split(), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["stopped"] == "known"
    assert result["verdicts"][0].endswith("bbr is faster")
    assert {each["cc"] for each in result["downloads"]} == {"bbr", "cubic"}
    assert all(each["cc"] == each["cc_asked"] for each in result["downloads"])
    # netem drops whole GSO packets of up to 45 segments, so a single download may by chance lose none.
    for cc in ("bbr", "cubic"):
        assert median(each["retransmits"] for each in result["downloads"] if each["cc"] == cc) > 0
    assert all(each["bytes"] == 8_000_000 for each in result["downloads"])
