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

from dumbbell.analysis import measures
from dumbbell.engines import Request, Simulator
from dumbbell.web.asgi import make_app
from dumbbell.web.live_figures import case_of
from dumbbell.web.scenario_catalogue import BLANK
from web.serving import PATIENCE_S, listening, served
from web.test_app import unpacked

SHORT = BLANK.replace("30s", "2s").replace("50mbit", "10mbit")
LONG = BLANK.replace("30s", "300s")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without kernels."""
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "none"))
    monkeypatch.delenv("DUMBBELL_KERNEL", raising=False)


def events(client: TestClient, job: str) -> list[dict[str, Any]]:
    """All of them, to the last."""
    lines = client.get(f"/api/jobs/{job}/events").text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def guests(folder: Path) -> list[int]:
    """Processes that live in a folder below this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.usefixtures("nowhere")
def test_without_a_kernel_the_answer_names_the_command_that_builds_one() -> None:
    client = TestClient(make_app())
    here = client.get("/api/kernel").json()
    assert here["name"] is None
    assert "dumbbell kernel build" in here["problem"]
    answer = client.post("/api/kernel", json={"toml": SHORT}).json()
    assert answer["job"] is None
    assert "dumbbell kernel build" in answer["problem"]["text"]


@pytest.mark.kernel
def test_a_run_gives_curves_and_how_far_both_engines_agree() -> None:
    with TestClient(make_app()) as client:
        begun = client.post("/api/kernel", json={"toml": SHORT, "seed": 3}).json()
        told = events(client, begun["job"])
        assert told[-1]["state"] == "done"
        assert told[-1]["share"] == 1
        assert [one["seconds"] for one in told] == sorted(one["seconds"] for one in told)
        asked = {"panels": ["throughput", "queue"]}
        header, numbers = unpacked(client.post(f"/api/jobs/{begun['job']}/figure", json=asked).content)
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
    "program": (SHORT + '[[programs]]\non = "sender"\nrun = "id"\nname = "who"\n', "programs.0", "starts no programs"),
    "toml": ("[", "", "not TOML"),
}


@pytest.mark.kernel
@pytest.mark.parametrize("what", REFUSED)
def test_what_a_kernel_can_not_do_is_a_problem_with_its_key(what: str) -> None:
    text, key, said = REFUSED[what]
    answer = TestClient(make_app()).post("/api/kernel", json={"toml": text}).json()
    assert answer["job"] is None
    assert answer["problem"]["key"] == key
    assert said in answer["problem"]["text"]
    assert key in {"", "loss"} or answer["problem"]["line"] is not None


@pytest.mark.kernel
def test_a_cancelled_run_leaves_no_process_and_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(tmp_path) as server, server.asks as asks:
        job = asks.post("/api/kernel", json={"toml": LONG}).json()["job"]
        with listening(asks, job) as told:
            while json.loads(next(told))["seconds"] == 0:
                pass
            assert guests(tmp_path) != []
            assert asks.delete(f"/api/jobs/{job}").status_code == 200
            *_, last = told
        assert json.loads(last)["state"] == "cancelled"
        assert guests(tmp_path) == [server.process.pid]
        assert list(tmp_path.glob("dumbbell-ui-*/*/*")) == []


@pytest.mark.kernel
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_ends_its_guests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: int) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(tmp_path) as server, server.asks as asks:
        job = asks.post("/api/kernel", json={"toml": LONG}).json()["job"]
        with listening(asks, job) as told:
            while json.loads(next(told))["seconds"] == 0:
                pass
        left = [guest for guest in guests(tmp_path) if guest != server.process.pid]
        assert left
        os.kill(server.process.pid, how)
        server.process.wait(timeout=PATIENCE_S)
        while guests(tmp_path):
            time.sleep(0.01)
        if how != signal.SIGKILL:
            assert list(tmp_path.glob("dumbbell-ui-*")) == []


def test_a_job_that_is_not_known_is_said_so() -> None:
    client = TestClient(make_app())
    for answer in (client.get("/api/jobs/x/events"), client.delete("/api/jobs/x")):
        assert answer.status_code == 404
        assert "no such run" in answer.json()["error"]
    assert client.post("/api/jobs/x/figure", json={"panels": []}).status_code == 404
    assert client.post("/api/kernel", json={"toml": SHORT, "seeds": 99}).status_code == 422
