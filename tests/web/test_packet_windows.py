"""Packet traces in the workbench."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from starlette.testclient import TestClient

import dumbbell as db
from dumbbell.web.experiment_text import BLANK
from dumbbell.web.handlers import Limits
from dumbbell.web.server import make_app
from web.test_app import unpacked

CLIENT = TestClient(make_app(), raise_server_exceptions=False)
SHORT = BLANK.replace("30s", "3s").replace("50mbit", "10mbit")
Columns = dict[str, npt.NDArray[np.float64]]


def fetch(toml: str = SHORT, client: TestClient = CLIENT, **options: Any) -> tuple[dict[str, Any], Columns]:
    response = client.post("/api/packets", json={"toml": toml, "from_s": 1.0, "to_s": 1.5} | options)
    assert response.status_code == 200, response.text
    header, numbers = unpacked(response.content)
    spans = header.get("columns", {})
    return header, {name: numbers[at : at + rows] for name, (at, rows) in spans.items()}


def test_a_window_equals_the_traces_of_the_python_api(tmp_path: Any) -> None:
    header, columns = fetch()
    (tmp_path / "experiment.toml").write_text(SHORT)
    packets = db.packet_traces(db.experiment(tmp_path / "experiment.toml"), "1s", "1.5s", seed=1).packets
    assert header["rows"] == packets.height > 500
    for name in ("sent", "queued", "dequeued", "departed", "received", "dropped"):
        expected = packets[f"{name}_ns"].to_numpy().astype(float) / 1e9
        assert np.array_equal(columns[name], expected, equal_nan=True), name
    for name, values in header["names"].items():
        names = [None if np.isnan(code) else values[int(code)] for code in columns[name]]
        assert names == packets[name].to_list(), name
    assert columns["size"].tolist() == packets["size_bytes"].to_list()
    assert columns["retransmit"].sum() == packets["retransmit"].sum() > 0


def test_the_header_describes_the_path() -> None:
    header, _ = fetch(SHORT.replace('forward_delay = "20ms"', 'forward_delay = "15ms"'))
    assert header["queues"] == [{"name": "bottleneck", "limit": 33.0, "written": "limit 33", "rate_bps": 10_000_000}]
    assert header["delays_s"] == {"before": 0.015, "after": 0.0, "back": 0.025}
    assert (header["from_s"], header["to_s"], header["complete_s"]) == (1.0, 1.5, 1.5)


def test_a_bottleneck_behind_other_queues_is_unknown() -> None:
    behind = SHORT.replace('cc = "bbr"', 'cc = "bbr"\naccess = { rate = "20mbit", qdisc = "pfifo limit 50" }')
    one_flow = behind[: behind.rindex("[[flows]]")]
    assert fetch(one_flow)[0]["bottleneck"] is None
    assert fetch()[0]["bottleneck"] == "bottleneck"


def test_packets_beyond_the_limit_are_counted_and_the_window_ends_early() -> None:
    limited = TestClient(make_app(limits=Limits(packet_rows=400)))
    header, columns = fetch(client=limited)
    complete, _ = fetch()
    assert header["left_out"] == complete["rows"] - 400
    assert columns["sent"].max() == header["complete_s"] < 1.5


def test_a_window_ends_with_the_experiment() -> None:
    header, _ = fetch(from_s=2.5, to_s=4)
    assert (header["to_s"], header["complete_s"]) == (3.0, 3.0)
    header, columns = fetch(from_s=10, to_s=12)
    assert header["problem"] is None
    assert np.nanmin(columns["sent"], initial=3.0) >= 2


def test_an_invalid_text_is_reported_with_its_line() -> None:
    header, columns = fetch(SHORT.replace("bbr", "bbbr"))
    assert header["problem"]["line"] == 13
    assert columns == {}


def test_a_simulation_beyond_its_time_limit_is_cancelled() -> None:
    limited = TestClient(make_app(limits=Limits(live_s=0.2)))
    long = SHORT.replace("3s", "1000s").replace("10mbit", "10gbit")
    header, _ = fetch(long, limited, from_s=990, to_s=991)
    assert "make it shorter" in header["problem"]["text"]


@pytest.mark.parametrize(
    "window",
    [
        {"from_s": 1, "to_s": 6.01},
        {"from_s": 1, "to_s": 1},
        {"from_s": 2, "to_s": 1},
        {"from_s": -1, "to_s": 1},
        {"from_s": 1e300, "to_s": 1e300},
        {"from_s": "NaN", "to_s": 1},
        {"from_s": 0},
        {"from_s": 0, "to_s": 1, "edits": []},
        {"from_s": 0, "to_s": 1, "seed": -1},
    ],
)
def test_an_invalid_window_is_refused(window: dict[str, Any]) -> None:
    response = CLIENT.post("/api/packets", json={"toml": SHORT} | window)
    assert response.status_code == 422
    assert response.json()["error"]
