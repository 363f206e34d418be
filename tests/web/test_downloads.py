"""Files that the workbench offers for download."""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dumbbell.importers import Options, import_files
from dumbbell.results import result
from dumbbell.web.asgi import make_app
from dumbbell.web.live_figures import case_of, simulated
from dumbbell.web.page_limits import Limits
from dumbbell.web.scenario_catalogue import BLANK

SHORT = BLANK.replace("30s", "2s").replace("50mbit", "10mbit").replace("A dumbbell", 'BBR "&" Ü / CUBIC')
SHORT = SHORT.replace('"BBR "&" Ü / CUBIC"', "'BBR \"&\" Ü / CUBIC'")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(make_app()) as one:
        yield one


def got(client: TestClient, what: str, **more: Any) -> tuple[str, bytes]:
    """Name and content."""
    answer = client.post("/api/download", json={"what": what, "toml": SHORT, "seed": 5, **more})
    assert answer.status_code == 200, answer.text
    found = re.fullmatch(r'attachment; filename="([a-z0-9._-]+)"', answer.headers["content-disposition"])
    assert found
    return found[1], answer.content


def test_a_figure_is_a_file_of_its_kind(client: TestClient) -> None:
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for form, start in starts.items():
        name, content = got(client, f"figure.{form}", panels=["cwnd", "queue", "ping", "nonsense"][:2])
        assert name == f"bbr-cubic-seed5.{form}"
        assert content.startswith(start)


def test_the_experiment_is_the_text_as_it_stands(client: TestClient) -> None:
    assert got(client, "experiment.toml") == ("bbr-cubic-seed5.toml", SHORT.encode())


def test_the_report_is_the_run_s(client: TestClient) -> None:
    name, content = got(client, "report.html")
    assert name == "bbr-cubic-seed5.html"
    assert b"seed 5" in content
    assert b"<h2>Summary" in content


def test_data_are_the_run_s_and_read_back(client: TestClient, tmp_path: Path) -> None:
    run = simulated(case_of(SHORT), 5, Limits().patience())
    for form in ("csv", "parquet"):
        name, content = got(client, f"data.{form}")
        assert name == f"bbr-cubic-seed5-{form}.zip"
        zipfile.ZipFile(io.BytesIO(content)).extractall(tmp_path)
        folder = tmp_path / name.removesuffix(".zip")
        if form == "csv":
            folder = import_files([folder], tmp_path / "again", Options())
        back = result.load(folder)
        assert back.flows.equals(run.flows)
        assert back.queues.equals(run.queues)


def test_what_can_not_be_made_is_said_why(client: TestClient) -> None:
    asked = {"toml": SHORT, "seed": 1}
    for more, status, said in (
        ({"what": "figure.gif"}, 422, "what"),
        ({"what": "figure.svg", "panels": ["ping"], "toml": "["}, 422, "not TOML"),
        ({"what": "figure.svg", "panels": []}, 422, "none of these figures"),
        ({"what": "report.html", "job": "none"}, 404, "run it again"),
    ):
        answer = client.post("/api/download", json=asked | more)
        assert answer.status_code == status
        assert said in answer.json()["error"]


@pytest.mark.kernel
def test_a_run_on_the_kernel_can_be_kept_too(client: TestClient) -> None:
    job = client.post("/api/kernel", json={"toml": SHORT, "seed": 5}).json()["job"]
    last = client.get(f"/api/jobs/{job}/events").text.strip().splitlines()[-1]
    assert json.loads(last.removeprefix("data: "))["state"] == "done"
    name, content = got(client, "data.parquet", job=job)
    assert name == "bbr-cubic-seed5-kernel-parquet.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        manifest = json.loads(archive.read("bbr-cubic-seed5-kernel-parquet/run.json"))
    assert (manifest["engine"], manifest["seed"]) == ("kernel", 5)
