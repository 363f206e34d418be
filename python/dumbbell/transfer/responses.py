"""Short responses of the server: pages and JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import Any

from dumbbell import __version__
from dumbbell.transfer.http_request import Refusal
from dumbbell.transfer.server_limits import Limits

__all__ = ["Answer", "about", "as_json", "front_page", "refused"]


@dataclass(frozen=True)
class Answer:
    """A response held in memory."""

    body: bytes
    kind: str
    status: HTTPStatus = HTTPStatus.OK
    fields: Mapping[str, str] = field(default_factory=dict)


def as_json(value: Mapping[str, Any]) -> Answer:
    """A JSON object."""
    return Answer(json.dumps(value, separators=(",", ":")).encode() + b"\n", "application/json")


def about(controllers: tuple[str, ...], limits: Limits, *, files: bool, metrics_saved: bool | None) -> Answer:
    """The response of /about: congestion controls and limits."""
    return as_json({
        "server": "dumbbell",
        "version": __version__,
        "controllers": list(controllers),
        "files": files,
        "metrics_saved": metrics_saved,
        "limits": asdict(limits),
    })  # fmt: skip


def front_page(controllers: tuple[str, ...]) -> Answer:
    """The page for browsers."""
    text = PAGE.format(version=__version__, controllers=", ".join(controllers))
    return Answer(text.encode(), "text/plain; charset=utf-8")


def refused(refusal: Refusal) -> Answer:
    """The response for a refused request."""
    return Answer(f"{refusal.why}\n".encode(), "text/plain; charset=utf-8", refusal.status, refusal.fields)


PAGE = """This is dumbbell serve {version}: it sends bytes to measure TCP congestion control.

/bytes/61MB           61 MB of random bytes
/bytes/61MB?cc=bbr    the same with a congestion control: {controllers}
/files/NAME           a file, if a folder is served
/about                congestion controls and limits, as JSON

dumbbell fetch URL --cc bbr,cubic --size 61MB  alternates downloads and reports which is faster.
"""
