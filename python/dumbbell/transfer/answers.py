"""Short answers: what this server is, and JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import Any

from dumbbell import __version__
from dumbbell.transfer.limits import Limits
from dumbbell.transfer.wire import Refusal

__all__ = ["Answer", "about", "as_json", "front_page", "refused"]


@dataclass(frozen=True)
class Answer:
    """A response that is short enough to be in memory."""

    body: bytes
    kind: str
    status: HTTPStatus = HTTPStatus.OK
    fields: Mapping[str, str] = field(default_factory=dict)


def as_json(value: Mapping[str, Any]) -> Answer:
    """An object."""
    return Answer(json.dumps(value, separators=(",", ":")).encode() + b"\n", "application/json")


def about(controllers: tuple[str, ...], limits: Limits, *, files: bool, metrics_saved: bool | None) -> Answer:
    """What a client may ask for."""
    return as_json({
        "server": "dumbbell",
        "version": __version__,
        "controllers": list(controllers),
        "files": files,
        "metrics_saved": metrics_saved,
        "limits": asdict(limits),
    })  # fmt: skip


def front_page(controllers: tuple[str, ...]) -> Answer:
    """For somebody with a browser."""
    text = PAGE.format(version=__version__, controllers=", ".join(controllers))
    return Answer(text.encode(), "text/plain; charset=utf-8")


def refused(refusal: Refusal) -> Answer:
    """The sentence, with its status."""
    return Answer(f"{refusal.why}\n".encode(), "text/plain; charset=utf-8", refusal.status, refusal.fields)


PAGE = """This is dumbbell serve {version}: it sends bytes to measure TCP congestion control.

/bytes/61MB           so many bytes of dice
/bytes/61MB?cc=bbr    the same with that controller: {controllers}
/files/NAME           a file, where a folder is served
/about                the controllers and the limits, as JSON

dumbbell fetch URL --cc bbr,cubic --size 61MB  downloads each in turn and says which is faster.
"""
