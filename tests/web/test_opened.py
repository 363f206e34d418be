"""Results that the workbench opens."""

import gzip
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from dumbbell.engines import Request, Simulator
from dumbbell.errors import DumbbellError, ExperimentError, ResultError
from dumbbell.importers import FORMATS
from dumbbell.web.experiment_text import BLANK
from dumbbell.web.handlers import Limits
from dumbbell.web.live_figures import case_of
from dumbbell.web.results import Opened
from dumbbell.web.server import make_app
from importers.samples import IPERF3
from sweep_fixtures import TWO, ran

SHORT = BLANK.replace("30s", "2s").replace("50mbit", "10mbit")
RAW = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a result, a sweep and experiments; next to it a folder that a page may not open."""
    above = tmp_path_factory.mktemp("above")
    folder = above / "here"
    folder.mkdir()
    Simulator().run(Request("one", case_of(SHORT), 7, folder / "one"), lambda _seconds: None)
    (above / "elsewhere").mkdir()
    (above / "elsewhere" / "x.toml").write_text(SHORT)
    (folder / "way-out").symlink_to(above / "elsewhere")
    ran(TWO.replace('"5s"', '"1s"'), folder / "two")
    (folder / "mine.toml").write_text(SHORT)
    (folder / "cases.toml").write_text(
        SHORT.replace('forward_delay = "20ms"\n', "") + '[[cases]]\nset = { "path.rtt" = ["5ms", "9ms"] }\n'
    )
    (folder / "bad.toml").write_text("[")
    return folder


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(make_app(opened=Opened(folder, [folder / "one", folder / "two"]))) as running:
        yield running


def test_paths_of_the_command_line_are_listed(client: TestClient) -> None:
    things = client.get("/api/results").json()["things"]
    assert [(thing["kind"], thing["path"], thing["about"]) for thing in things] == [
        ("run", "one", "sim, seed 7"), ("sweep", "two", "36 runs"),
    ]  # fmt: skip


def test_a_result_s_report_can_send_no_requests(client: TestClient) -> None:
    response = client.get("/results/r1/report")
    assert "<h1>A dumbbell</h1>" in response.text
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy


def test_a_result_s_experiment_is_the_one_that_ran(client: TestClient) -> None:
    reply = client.get("/api/results/r1/experiment").json()
    assert reply["seed"] == 7
    assert case_of(reply["toml"]).experiment == case_of(SHORT).experiment


def test_a_run_of_a_sweep_has_its_cell_s_settings_and_seed(client: TestClient) -> None:
    page = client.get("/results/r2/report").text
    points = json.loads(re.findall(r"^const points = (\{.*\});$", page, re.MULTILINE)[0])
    assert points["opens"]
    number, point = next((n, p) for n, p in points["points"].items() if p["at"] == "path.rtt 80ms, buffer 4bdp")
    seed = point["runs"][-1]["seed"]
    reply = client.get("/api/results/r2/experiment", params={"point": number, "seed": seed}).json()
    experiment = case_of(reply["toml"]).experiment
    assert reply["seed"] == seed
    assert experiment.path.rtt == 80_000_000
    assert experiment.path.bottleneck is not None
    assert experiment.path.bottleneck.qdisc.text == "bfifo limit 4bdp"


def test_a_point_outside_the_sweep_is_an_error(client: TestClient) -> None:
    for query in ({}, {"point": "999", "seed": "1"}, {"point": "-1", "seed": "x"}, {"point": "9" * 99}):
        response = client.get("/api/results/r2/experiment", params=query)
        assert response.status_code == 422
        assert "contains no run" in response.json()["error"]


def test_a_page_may_open_a_path_below_the_folder(client: TestClient) -> None:
    reply = client.post("/api/results", json={"path": "cases.toml"}).json()["things"]
    assert [(thing["kind"], thing["about"]) for thing in reply] == [("experiment", "5ms"), ("experiment", "9ms")]
    repeated = client.post("/api/results", json={"path": "./cases.toml"}).json()["things"]
    assert repeated == reply
    text = client.get(f"/api/results/{reply[1]['name']}/experiment").json()["toml"]
    assert case_of(text).experiment.path.rtt == 9_000_000


OUTSIDE = ["..", "../elsewhere/x.toml", "/etc/passwd", "way-out/x.toml", "", " ", "none", "a\0b", "x" * 4000, "~"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_page_may_open_no_path_outside_the_folder(client: TestClient, path: str) -> None:
    response = client.post("/api/results", json={"path": path})
    assert response.status_code == 422
    assert "no such file or folder below" in response.json()["error"]
    assert len(client.get("/api/results").json()["things"]) == 2


def test_a_path_that_can_not_be_opened_is_an_error(folder: Path) -> None:
    with pytest.raises(ExperimentError, match="not TOML"):
        Opened(folder, [folder / "bad.toml"])
    with pytest.raises(ResultError, match="neither a result folder"):
        Opened(folder, [folder / "nothing"])


def test_opening_a_folder_skips_damaged_results_and_symbolic_links(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "one", tmp_path / "monday" / "one")
    (tmp_path / "two").symlink_to(folder / "two")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{")
    assert [thing.path.name for thing in Opened(tmp_path, [tmp_path]).things] == ["one"]
    assert [thing.kind for thing in Opened(folder, [folder]).things] == ["run", "sweep"]


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=60))
def test_any_path_in_a_folder_without_results_is_refused(text: str) -> None:
    with pytest.raises(DumbbellError):
        Opened(Path("/proc/self/fdinfo")).add_below(text)


def test_a_dropped_log_becomes_a_result(client: TestClient) -> None:
    reply = client.post("/api/import", params={"name": "down load.log"}, content=IPERF3.encode(), headers=RAW)
    (thing,) = reply.json()["things"]
    assert (thing["kind"], thing["playable"]) == ("run", False)
    assert "Imported logs" in client.get(f"/results/{thing['name']}/report").text
    assert client.get(f"/api/results/{thing['name']}/experiment").status_code == 422
    assert len(client.get("/api/results").json()["things"]) == 3


def test_an_unknown_log_format_is_reported_with_the_file_s_name(client: TestClient) -> None:
    for name, shown_name in (("../../etc/x.log", "x.log"), ("", "log"), ("C:\\logs\\y.txt", "y.txt")):
        response = client.post("/api/import", params={"name": name}, content=b"hello\n", headers=RAW)
        assert response.status_code == 422
        assert response.json()["error"].startswith(f"{shown_name}: line 1: unknown log format")
        assert FORMATS[0].key in response.json()["error"]


def test_a_log_that_is_too_large_is_refused_compressed_or_not(folder: Path) -> None:
    limits = Limits(import_bytes=5000, unpacked_bytes=1 << 20)
    with TestClient(make_app(limits=limits, opened=Opened(folder))) as small:
        assert small.post("/api/import", content=b"x" * 6000, headers=RAW).status_code == 413
        bomb = gzip.compress(b"0" * 3_000_000)
        assert len(bomb) < 5000
        response = small.post("/api/import", params={"name": "b.gz"}, content=bomb, headers=RAW)
        assert response.status_code == 422
        assert "exceeds 1 MiB when unpacked" in response.json()["error"]
        assert small.post("/api/import", content=b"\x1f\x8bdamaged", headers=RAW).status_code == 422
        assert small.post("/api/import", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=400), st.text(max_size=300))
def test_any_bytes_are_imported_or_refused(content: bytes, name: str) -> None:
    with TestClient(make_app(opened=Opened(Path("/proc/self/fdinfo"))), raise_server_exceptions=False) as client:
        assert client.post("/api/import", params={"name": name}, content=content, headers=RAW).status_code in {200, 422}


def test_a_result_that_is_not_open_is_not_found(client: TestClient) -> None:
    for path in ("/results/r99/report", "/api/results/r99/experiment", "/results/../one/report"):
        assert client.get(path).status_code == 404
