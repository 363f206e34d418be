"""Requests of the live figure: an edited text gives curves and numbers."""

import json
from typing import Any

import anyio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from dumbbell.web.experiment_text import BLANK, catalogue
from dumbbell.web.handlers import Limits
from dumbbell.web.server import make_app

CLIENT = TestClient(make_app(), raise_server_exceptions=False)
SHORT = BLANK.replace("30s", "3s")
LONG = BLANK.replace("30s", "1000s").replace("50mbit", "10gbit")
"""An experiment whose simulation exceeds every time limit."""


def unpacked(body: bytes) -> tuple[dict[str, Any], Any]:
    length = int.from_bytes(body[:4], "little")
    assert (4 + length) % 8 == 0
    return json.loads(body[4 : 4 + length]), np.frombuffer(body, "<f8", offset=4 + length)


def test_a_text_has_its_values_and_its_figure() -> None:
    body = {"toml": SHORT.replace("40ms", "25ms"), "panels": ["cwnd", "queue"]}
    header, numbers = unpacked(CLIENT.post("/api/figures", json=body).content)
    assert header["toml"] == body["toml"]
    assert header["case"]["experiment"]["path"]["rtt"] == 25_000_000
    assert header["case"]["groups"] == ["bbr", "cubic"]
    assert [panel["name"] for panel in header["panels"]] == ["cwnd", "queue"]
    line = header["panels"][0]["layers"][0]["lines"][0]
    offset, length = line["s"]
    times = numbers[offset : offset + length]
    assert 0 <= times.min() < times.max() <= 3
    assert header["numbers"]["groups.bbr.throughput_mbps"] > 1


def test_the_same_request_has_the_same_response() -> None:
    (first_header, first), (second_header, second) = (
        unpacked(CLIENT.post("/api/figures", json={"toml": SHORT, "seed": 4}).content) for _ in range(2)
    )
    assert first_header | {"took_ms": 0} == second_header | {"took_ms": 0}
    assert np.array_equal(first, second)


def test_only_the_requested_numbers_are_computed() -> None:
    body = {"toml": SHORT, "numbers": ["groups.*.share", "utilization"]}
    header, _ = unpacked(CLIENT.post("/api/figures", json=body).content)
    assert set(header["numbers"]) == {"groups.bbr.share", "groups.cubic.share", "utilization"}


def test_an_invalid_text_has_a_problem_and_no_figure() -> None:
    header, numbers = unpacked(CLIENT.post("/api/figures", json={"toml": SHORT.replace("bbr", "bbbr")}).content)
    assert header["problem"]["line"] == 13
    assert "bbbr" in header["problem"]["text"]
    assert "panels" not in header
    assert numbers.size == 0


def test_a_text_with_several_cases_is_an_error() -> None:
    text = SHORT + '\n[[cases]]\nname = "a"\nset = {}\n[[cases]]\nname = "b"\nset = {}\n'
    assert "one at a time" in CLIENT.post("/api/state", json={"toml": text}).json()["problem"]["right"]


def test_a_disconnect_of_the_client_cancels_the_simulation() -> None:
    body = json.dumps({"toml": LONG}).encode()
    received = iter([{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}])
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        return next(received)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/figures", "query_string": b"", "headers": headers}
    anyio.run(make_app(limits=Limits(live_s=1000)), scope, receive, send)
    assert sent[0]["status"] == 499


def test_a_simulation_beyond_its_time_limit_is_cancelled() -> None:
    limited = TestClient(make_app(limits=Limits(live_s=0.2)))
    header, _ = unpacked(limited.post("/api/figures", json={"toml": LONG}).content)
    assert "make it shorter" in header["problem"]["text"]


def test_a_request_that_is_too_large_is_refused() -> None:
    small = TestClient(make_app(limits=Limits(body_bytes=1000)))
    assert small.post("/api/state", json={"toml": "#" * 2000}).status_code == 413


MALFORMED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"toml": 3}',
    b'{"toml": "", "points": 1e9}',
    b'{"toml": "", "other": 1}',
    b'{"toml": "", "seed": -1}',
    b"\xff" * 9,
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", MALFORMED)
def test_malformed_requests_are_refused_with_a_reason(body: bytes) -> None:
    response = CLIENT.post("/api/figures", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert response.json()["error"]


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300))
def test_any_text_has_a_response_without_an_internal_error(text: str) -> None:
    assert CLIENT.post("/api/state", json={"toml": text}).status_code == 200


def test_no_url_leads_to_files_of_the_host() -> None:
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "//etc/passwd", "/assets/../../app.py"):
        assert CLIENT.get(path).status_code in {400, 404}


def test_an_experiment_reads_no_file_of_the_host() -> None:
    for name in ("/etc/passwd", "../pyproject.toml", "../../../../../etc/passwd"):
        text = SHORT.replace('rate = "50mbit"', f'rate_trace = "{name}"')
        header, _ = unpacked(CLIENT.post("/api/figures", json={"toml": text}).content)
        assert header["problem"] is not None
        assert "root:" not in json.dumps(header)


@pytest.mark.slow
def test_every_entry_of_the_catalogue_is_valid() -> None:
    entries = catalogue()
    assert entries[0]["toml"] == BLANK
    assert {"cyclic", "lossy-download", "hpcc-incast"} <= {entry["name"] for entry in entries}
    for entry in entries:
        assert CLIENT.post("/api/state", json={"toml": entry["toml"]}).json()["problem"] is None, entry["name"]
