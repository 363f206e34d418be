"""Recordings whose path is known: captures and results of the simulator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell.engines import Request, Simulator
from dumbbell.plan.recordings import RecordingOptions
from dumbbell.results.result import write_run
from dumbbell.spec import read

SEED = 7
"""No seed of the replays, so that chance differs."""


def document(
    rate: str = "10mbit", qdisc: str = "bfifo limit 40000", cc: str = "cubic", duration: str = "10s", **more: Any
) -> dict[str, Any]:
    """One flow through one bottleneck of 30 ms; `more`: other tables, `path` among them."""
    bottleneck = {"qdisc": qdisc} | ({"rate": rate} if rate else {})
    path = {"rtt": "30ms", "bottleneck": bottleneck} | more.pop("path", {})
    flows = [{"name": "own", "cc": cc}, *more.pop("others", [])]
    return {"duration": duration, "sample": "100ms", "path": path, "flows": flows, **more}


def capture(file: Path, experiment: Mapping[str, Any], end: str = "sender.right") -> Path:
    """The experiment's capture."""
    (case,) = read(dict(experiment), Path("truth.toml"))
    Simulator().simulate(
        Request("truth", case, SEED, file.parent / "run", capture=file, recordings=RecordingOptions(end))
    )
    return file


def folder(out: Path, experiment: Mapping[str, Any]) -> Path:
    """The experiment's result folder."""
    (case,) = read(dict(experiment), Path("truth.toml"))
    run = Simulator().simulate(Request("truth", case, SEED, out))
    out.mkdir()
    write_run(out, run)
    return out


def throughput(experiment: Mapping[str, Any], cc: str) -> float:
    """What another controller really gets there, in Mbit/s."""
    from dumbbell.analysis.summary import summary  # noqa: PLC0415

    flows = [{**experiment["flows"][0], "cc": cc}, *experiment["flows"][1:]]
    (case,) = read({**experiment, "flows": flows}, Path("truth.toml"))
    found: float = summary(Simulator().simulate(Request("truth", case, SEED, Path("run"))))["flows"][0][
        "throughput_mbps"
    ]
    return found
