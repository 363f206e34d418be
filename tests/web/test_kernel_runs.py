"""Runs on the kernel engine that the workbench starts."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from dumbbell.analysis.summary import measures
from dumbbell.engines import Request, Simulator
from dumbbell.web.experiment_text import BLANK
from dumbbell.web.live_figures import case_of
from dumbbell.web.server import make_app
from web.serving import TIMEOUT_S, event_stream, served
from web.test_app import unpacked

SHORT = BLANK.replace("30s", "2s").replace("50mbit", "10mbit")
LONG = BLANK.replace("30s", "300s")


@pytest.fixture
def no_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host without kernels."""
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "none"))
    monkeypatch.delenv("DUMBBELL_KERNEL", raising=False)


def events(client: TestClient, job: str) -> list[dict[str, Any]]:
    """Return all events of a job."""
    lines = client.get(f"/api/jobs/{job}/events").text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def guests(folder: Path) -> list[int]:
    """Return the processes whose working directory is in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.usefixtures("no_kernel")
def test_without_a_kernel_the_response_names_the_command_that_builds_one() -> None:
    client = TestClient(make_app())
    status = client.get("/api/kernel").json()
    assert status["name"] is None
    assert "dumbbell kernel build" in status["problem"]
    response = client.post("/api/kernel", json={"toml": SHORT}).json()
    assert response["job"] is None
    assert "dumbbell kernel build" in response["problem"]["text"]


@pytest.mark.kernel
def test_a_run_gives_curves_and_the_agreement_of_both_engines() -> None:
    with TestClient(make_app()) as client:
        started = client.post("/api/kernel", json={"toml": SHORT, "seed": 3}).json()
        states = events(client, started["job"])
        assert states[-1]["state"] == "done"
        assert states[-1]["share"] == 1
        assert [state["seconds"] for state in states] == sorted(state["seconds"] for state in states)
        body = {"panels": ["throughput", "queue"]}
        header, numbers = unpacked(client.post(f"/api/jobs/{started['job']}/figure", json=body).content)
    assert [panel["name"] for panel in header["panels"]] == ["throughput", "queue"]
    assert header["seed"] == 3
    assert header["valid"]
    assert np.isfinite(numbers).all()
    assert header["numbers"]["groups.bbr.throughput_mbps"] > 1
    agreement = header["agreement"]
    row = next(row for row in agreement["judged"] if row["metric"] == "groups.cubic.throughput_mbps")
    simulated = measures(Simulator().simulate(Request("one", case_of(SHORT), 3, Path("nowhere"))))
    assert float(row["cells"][0]) == pytest.approx(simulated["groups.cubic.throughput_mbps"], rel=0.01)
    assert float(row["cells"][1]) == pytest.approx(header["numbers"]["groups.cubic.throughput_mbps"], rel=0.01)
    assert any("only one run" in warning for warning in agreement["warnings"])


@pytest.mark.kernel
def test_several_seeds_have_a_spread() -> None:
    text = SHORT.replace("[[flows]]", '[[flows]]\nstart_jitter = "500ms"', 1)
    with TestClient(make_app()) as client:
        job = client.post("/api/kernel", json={"toml": text, "seeds": 2}).json()["job"]
        last = events(client, job)[-1]
        assert (last["state"], last["of_s"]) == ("done", 4)
        header, _ = unpacked(client.post(f"/api/jobs/{job}/figure", json={"panels": ["cwnd"]}).content)
    agreement = header["agreement"]
    assert "±" in agreement["judged"][0]["cells"][0]
    assert not any("only one run" in warning for warning in agreement["warnings"])


REFUSED = {
    "cc": (SHORT.replace('cc = "bbr"', 'cc = "hpcc"'), "flows.0.cc", "hpcc"),
    "loss": (SHORT.replace("[path]", '[path]\nloss = "every 1000"'), "loss", "can't drop every N-th packet"),
    "telemetry": (
        SHORT.replace("[path]", "[path]\ntelemetry = true"),
        "path.telemetry",
        "write no telemetry into packets",
    ),
    "program": (
        SHORT + '[[programs]]\non = "sender"\nrun = "id"\nname = "who"\n',
        "programs.0",
        "cannot start programs",
    ),
    "toml": ("[", "", "not TOML"),
}


@pytest.mark.kernel
@pytest.mark.parametrize("setting", REFUSED)
def test_an_unsupported_setting_is_a_problem_with_its_key(setting: str) -> None:
    text, key, message = REFUSED[setting]
    response = TestClient(make_app()).post("/api/kernel", json={"toml": text}).json()
    assert response["job"] is None
    assert response["problem"]["key"] == key
    assert message in response["problem"]["text"]
    assert key in {"", "loss"} or response["problem"]["line"] is not None


@pytest.mark.slow
@pytest.mark.kernel
def test_a_cancelled_run_leaves_no_process_and_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(tmp_path) as server, server.asks as client:
        job = client.post("/api/kernel", json={"toml": LONG}).json()["job"]
        with event_stream(client, job) as received:
            while json.loads(next(received))["seconds"] == 0:
                pass
            assert guests(tmp_path) != []
            assert client.delete(f"/api/jobs/{job}").status_code == 200
            *_, last = received
        assert json.loads(last)["state"] == "cancelled"
        assert guests(tmp_path) == [server.process.pid]
        assert list(tmp_path.glob("dumbbell-ui-*/*/*")) == []


@pytest.mark.slow(keep="9")
@pytest.mark.kernel
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_ends_its_guests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signal_number: int
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(tmp_path) as server, server.asks as client:
        job = client.post("/api/kernel", json={"toml": LONG}).json()["job"]
        with event_stream(client, job) as received:
            while json.loads(next(received))["seconds"] == 0:
                pass
        running = [guest for guest in guests(tmp_path) if guest != server.process.pid]
        assert running
        os.kill(server.process.pid, signal_number)
        server.process.wait(timeout=TIMEOUT_S)
        while guests(tmp_path):
            time.sleep(0.01)
        if signal_number != signal.SIGKILL:
            assert list(tmp_path.glob("dumbbell-ui-*")) == []


def test_an_unknown_job_is_an_error() -> None:
    client = TestClient(make_app())
    for response in (client.get("/api/jobs/x/events"), client.delete("/api/jobs/x")):
        assert response.status_code == 404
        assert "no such run" in response.json()["error"]
    assert client.post("/api/jobs/x/figure", json={"panels": []}).status_code == 404
    assert client.post("/api/kernel", json={"toml": SHORT, "seeds": 99}).status_code == 422
