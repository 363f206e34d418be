"""Packet traces in the workbench."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from starlette.testclient import TestClient

import dumbbell as db
from dumbbell.web.asgi import make_app
from dumbbell.web.page_limits import Limits
from dumbbell.web.scenario_catalogue import BLANK

CLIENT = TestClient(make_app(), raise_server_exceptions=False)
SHORT = BLANK.replace("30s", "3s").replace("50mbit", "10mbit")
Columns = dict[str, npt.NDArray[np.float64]]


def told(toml: str = SHORT, client: TestClient = CLIENT, **asked: Any) -> tuple[dict[str, Any], Columns]:
    answer = client.post("/api/packets", json={"toml": toml, "from_s": 1.0, "to_s": 1.5} | asked)
    assert answer.status_code == 200, answer.text
    body = answer.content
    length = int.from_bytes(body[:4], "little")
    assert (4 + length) % 8 == 0
    header, numbers = json.loads(body[4 : 4 + length]), np.frombuffer(body, "<f8", offset=4 + length)
    spans = header.get("columns", {})
    return header, {name: numbers[at : at + rows] for name, (at, rows) in spans.items()}


def test_a_window_is_what_python_gets_of_it(tmp_path: Any) -> None:
    header, columns = told()
    (tmp_path / "experiment.toml").write_text(SHORT)
    packets = db.packet_traces(db.experiment(tmp_path / "experiment.toml"), "1s", "1.5s", seed=1).packets
    assert header["rows"] == packets.height > 500
    for name in ("sent", "queued", "dequeued", "departed", "received", "dropped"):
        expected = packets[f"{name}_ns"].to_numpy().astype(float) / 1e9
        assert np.array_equal(columns[name], expected, equal_nan=True), name
    for name, known in header["names"].items():
        said = [None if np.isnan(code) else known[int(code)] for code in columns[name]]
        assert said == packets[name].to_list(), name
    assert columns["size"].tolist() == packets["size_bytes"].to_list()
    assert columns["retransmit"].sum() == packets["retransmit"].sum() > 0


def test_the_path_is_told() -> None:
    header, _ = told(SHORT.replace('rtt = "40ms"', 'rtt = "40ms"\ndelay = "15ms"'))
    assert header["queues"] == [{"name": "bottleneck", "limit": 33.0, "written": "limit 33", "rate_bps": 10_000_000}]
    assert header["delays_s"] == {"before": 0.015, "after": 0.0, "back": 0.025}
    assert (header["from_s"], header["to_s"], header["complete_s"]) == (1.0, 1.5, 1.5)


def test_a_bottleneck_behind_other_queues_is_not_said_to_be_empty() -> None:
    behind = SHORT.replace('cc = "bbr"', 'cc = "bbr"\naccess = { rate = "20mbit", qdisc = "pfifo limit 50" }')
    one_flow = behind[: behind.rindex("[[flows]]")]
    assert told(one_flow)[0]["bottleneck"] is None
    assert told()[0]["bottleneck"] == "bottleneck"


def test_what_there_is_no_room_for_is_said_and_from_when_on() -> None:
    few = TestClient(make_app(limits=Limits(packet_rows=400)))
    header, columns = told(client=few)
    whole, _ = told()
    assert header["left_out"] == whole["rows"] - 400
    assert columns["sent"].max() == header["complete_s"] < 1.5


def test_a_window_ends_with_the_experiment() -> None:
    header, _ = told(from_s=2.5, to_s=4)
    assert (header["to_s"], header["complete_s"]) == (3.0, 3.0)
    header, columns = told(from_s=10, to_s=12)
    assert header["problem"] is None
    assert np.nanmin(columns["sent"], initial=3.0) >= 2


def test_a_wrong_text_is_said_with_its_line() -> None:
    header, columns = told(SHORT.replace("bbr", "bbbr"))
    assert header["problem"]["line"] == 12
    assert columns == {}


def test_what_takes_too_long_is_given_up() -> None:
    hasty = TestClient(make_app(limits=Limits(live_s=0.2)))
    long = SHORT.replace("3s", "1000s").replace("10mbit", "10gbit")
    header, _ = told(long, hasty, from_s=990, to_s=991)
    assert "make it shorter" in header["problem"]["text"]


@pytest.mark.parametrize(
    "asked",
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
def test_windows_that_can_not_be_are_refused(asked: dict[str, Any]) -> None:
    answer = CLIENT.post("/api/packets", json={"toml": SHORT} | asked)
    assert answer.status_code == 422
    assert answer.json()["error"]
