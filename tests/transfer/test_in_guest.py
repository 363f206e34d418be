"""Server and client inside the virtual-time kernel, where loss is what netem makes it and time what TCP needs."""

import json
import sys
from pathlib import Path

import pytest

import dumbbell as package
from conftest import Dumbbell

PREFIX, SOURCE = Path(sys.prefix).resolve(), Path(package.__file__).resolve().parents[1]
OURS = f"env PYTHONPATH={SOURCE} {PREFIX}/bin/python -m dumbbell"
UNSEEN = ("/tmp", "/var/tmp", "/mnt", "/run")  # what a guest covers


@pytest.mark.kernel
def test_where_5_of_100_packets_are_lost_bbr_takes_less_time_and_the_run_says_so(dumbbell: Dumbbell) -> None:
    for path in (PREFIX, SOURCE):
        if any(path.is_relative_to(folder) for folder in UNSEEN):
            pytest.skip(f"programs of a guest don't see {path}: it lies in a folder that is theirs there")
    server = f"{OURS} serve --host 0.0.0.0 --port 80"
    client = f"{OURS} fetch http://sender/ --cc bbr,cubic --size 8MB --json"
    lossy = ("lossy-download", "--case", "cubic at 5% loss", "--set", "sample=1s", "--timeout", "600s")
    done = dumbbell("exec", *lossy, "--no-flows", "--server", server, "--", *client.split())
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["stopped"] == "known"
    assert told["verdicts"][0].endswith("bbr is faster")
    assert {each["cc"] for each in told["downloads"]} == {"bbr", "cubic"}
    assert all(each["cc"] == each["cc_asked"] for each in told["downloads"])
    assert all(each["retransmits"] > 0 for each in told["downloads"])
    assert all(each["bytes"] == 8_000_000 for each in told["downloads"])
