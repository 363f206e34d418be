"""Requests that the workbench refuses: other sites, other host names."""

import pytest
from starlette.testclient import TestClient

from dumbbell.web.access import COOKIE
from dumbbell.web.experiment_text import BLANK
from dumbbell.web.server import make_app

ORIGIN = "http://127.0.0.1:8080"
REQUEST = {"toml": BLANK.replace("30s", "1s")}


@pytest.fixture
def client() -> TestClient:
    return TestClient(make_app(("127.0.0.1:8080",)), base_url=ORIGIN)


def test_a_request_of_the_own_page_is_accepted(client: TestClient) -> None:
    assert client.post("/api/figures", json=REQUEST, headers={"Origin": ORIGIN}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://example.org"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/api/figures", "/api/state"])
def test_a_request_of_another_site_is_refused(client: TestClient, headers: dict[str, str], path: str) -> None:
    assert client.post(path, json=REQUEST, headers=headers).status_code == 403


def test_another_site_can_not_read_a_response(client: TestClient) -> None:
    response = client.get("/api/start", headers={"Sec-Fetch-Site": "cross-site"})
    assert response.status_code == 403
    assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:9", "", "127.0.0.1:8080.evil.example"])
def test_another_host_name_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/api/start", headers={"Host": host}).status_code == 421


def test_the_content_types_of_forms_are_refused(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert client.post("/api/figures", content="{}", headers={"Content-Type": kind}).status_code == 415


def test_every_response_forbids_other_sources(client: TestClient) -> None:
    for path in ("/", "/api/start", "/nothing"):
        assert "default-src 'none'" in client.get(path).headers["Content-Security-Policy"]


@pytest.fixture
def public() -> TestClient:
    return TestClient(make_app(token="sesame"), base_url="http://192.0.2.1:8080", follow_redirects=False)


def test_a_client_on_another_host_needs_the_token(public: TestClient) -> None:
    assert public.get("/").status_code == 403
    assert public.get("/?token=open").status_code == 403
    assert public.post("/api/state?token=sesame", json=REQUEST).status_code == 403
    opened = public.get("/?token=sesame&x=1")
    assert (opened.status_code, opened.headers["location"]) == (303, "/?x=1")
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in opened.headers["set-cookie"].split(";")}
    assert public.cookies[COOKIE] == "sesame"
    assert public.post("/api/state", json=REQUEST).status_code == 200
