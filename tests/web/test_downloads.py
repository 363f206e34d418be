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
from dumbbell.web.experiment_text import BLANK
from dumbbell.web.handlers import Limits
from dumbbell.web.live_figures import case_of, simulate
from dumbbell.web.server import make_app

SHORT = BLANK.replace("30s", "2s").replace("50mbit", "10mbit").replace("A dumbbell", 'BBR "&" Ü / CUBIC')
SHORT = SHORT.replace('"BBR "&" Ü / CUBIC"', "'BBR \"&\" Ü / CUBIC'")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(make_app()) as one:
        yield one


def download(client: TestClient, what: str, **options: Any) -> tuple[str, bytes]:
    """Return the name and the content of a file."""
    response = client.post("/api/download", json={"what": what, "toml": SHORT, "seed": 5, **options})
    assert response.status_code == 200, response.text
    found = re.fullmatch(r'attachment; filename="([a-z0-9._-]+)"', response.headers["content-disposition"])
    assert found
    return found[1], response.content


@pytest.mark.slow
def test_a_figure_is_a_file_of_its_kind(client: TestClient) -> None:
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for form, start in starts.items():
        name, content = download(client, f"figure.{form}", panels=["cwnd", "queue", "ping", "nonsense"][:2])
        assert name == f"bbr-cubic-seed5.{form}"
        assert content.startswith(start)


def test_the_experiment_is_the_unchanged_text(client: TestClient) -> None:
    assert download(client, "experiment.toml") == ("bbr-cubic-seed5.toml", SHORT.encode())


def test_the_report_describes_the_run(client: TestClient) -> None:
    name, content = download(client, "report.html")
    assert name == "bbr-cubic-seed5.html"
    assert b"seed 5" in content
    assert b"<h2>Summary" in content


def test_downloaded_data_equal_the_run(client: TestClient, tmp_path: Path) -> None:
    run = simulate(case_of(SHORT), 5, Limits().deadline())
    for form in ("csv", "parquet"):
        name, content = download(client, f"data.{form}")
        assert name == f"bbr-cubic-seed5-{form}.zip"
        zipfile.ZipFile(io.BytesIO(content)).extractall(tmp_path)
        folder = tmp_path / name.removesuffix(".zip")
        if form == "csv":
            folder = import_files([folder], tmp_path / "imported", Options())
        loaded = result.load(folder)
        assert loaded.flows.equals(run.flows)
        assert loaded.queues.equals(run.queues)


def test_a_failed_download_reports_the_reason(client: TestClient) -> None:
    body = {"toml": SHORT, "seed": 1}
    for options, status, message in (
        ({"what": "figure.gif"}, 422, "what"),
        ({"what": "figure.svg", "panels": ["ping"], "toml": "["}, 422, "not TOML"),
        ({"what": "figure.svg", "panels": []}, 422, "none of these figures"),
        ({"what": "report.html", "job": "none"}, 404, "run it again"),
    ):
        response = client.post("/api/download", json=body | options)
        assert response.status_code == status
        assert message in response.json()["error"]


@pytest.mark.kernel
def test_a_run_on_the_kernel_can_be_downloaded(client: TestClient) -> None:
    job = client.post("/api/kernel", json={"toml": SHORT, "seed": 5}).json()["job"]
    last = client.get(f"/api/jobs/{job}/events").text.strip().splitlines()[-1]
    assert json.loads(last.removeprefix("data: "))["state"] == "done"
    name, content = download(client, "data.parquet", job=job)
    assert name == "bbr-cubic-seed5-kernel-parquet.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        manifest = json.loads(archive.read("bbr-cubic-seed5-kernel-parquet/run.json"))
    assert (manifest["engine"], manifest["seed"]) == ("kernel", 5)
