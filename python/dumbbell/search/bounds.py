"""The bounds of a search: those of a sweep file, those of `--vary`, or else common ones for the experiment's own keys.

A search is a sweep file with `[search]`. Its `[[axes]]` are the bounds: a range may take any value between its ends, a
list one of its values. This module makes that document; `dumbbell.spec.sweep` reads it, so that the file in the
search's folder can be edited and searched again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.analysis.formula import check_names_a_metric
from dumbbell.errors import ExperimentError
from dumbbell.spec import document as documents
from dumbbell.spec.axes import axis
from dumbbell.spec.built_in import find, sweeps
from dumbbell.spec.document import Experiment
from dumbbell.spec.sweep import Sweep, read_sweep
from dumbbell.spec.units import Wrong
from dumbbell.sweeps.trials import objective

__all__ = ["SearchOptions", "common_bounds", "definition"]

RATE = {"from": "1mbit", "to": "100mbit", "scale": "log"}
RTT = {"from": "2ms", "to": "200ms", "scale": "log"}
PACKETS = {"from": 5, "to": 1000, "scale": "log"}
LOSS = {"from": "0.01%", "to": "20%", "scale": "log"}
SLOT = {"from": "1ms", "to": "50ms", "scale": "log"}
PACKET_DELAY = {"from": "1ms", "to": "500ms", "scale": "log"}
LEAST_PACKETS, MOST_PACKET_NUMBER = 100, 1_000_000
START_SHARE = 0.5
"""Other groups start in the first half, so that both are measured."""
CHANGE_SHARES = (0.2, 0.8)
"""A change happens after the start and before the end."""
SEEDS = "1..5"
"""Of the best points, so that chance is not taken for a failure."""
OTHERS = ("cubic", "reno", "bbr")
"""Cross traffic that most hosts send."""


@dataclass(frozen=True)
class SearchOptions:
    """A search as the command states it."""

    target: str
    """A scenario, an experiment file, a built-in sweep or a sweep file."""
    minimize: str | None = None
    maximize: str | None = None
    vary: Sequence[str] = ()
    """`KEY=RANGE` or `KEY=LIST`, instead of the common bounds."""
    settings: Sequence[str] = ()
    case: str | None = None
    trials: int | None = None
    seed: int | None = None
    seeds: str | None = None
    window: str | None = None
    packets: int | None = None
    """Search over the fates of at most so many packets, in addition to `vary`."""


def definition(given: SearchOptions) -> Sweep:
    """The sweep to run. Raises `ExperimentError`; `ResultError` for an objective without a metric."""
    sweep = _definition(given)
    assert sweep.search is not None
    check_names_a_metric(objective(sweep.search))
    return sweep


def _definition(given: SearchOptions) -> Sweep:
    options = {
        name: made for name in ("minimize", "maximize", "trials", "seed") if (made := getattr(given, name)) is not None
    }
    if _is_sweep(given.target):
        file = sweeps().get(given.target, Path(given.target))
        document = dict(documents.toml(documents.text_of(file), file))
        document["search"] = _merged(document.get("search"), options)
        for key in ("until", "refine", "validate"):
            document.pop(key, None)
        return _read(document, file, given)
    file = find(given.target)
    # Times of the common bounds follow the duration.
    lasting = [setting for setting in given.settings if documents.split_setting(setting)[0] == "duration"]
    case = documents.chosen(documents.load(file, lasting, (given.case,) if given.case else ()), given.case, str(file))
    document = {"experiment": file.name, "title": f"The worst network: {case.experiment.title}", "search": options}
    if case.name:
        document["case"] = case.name
    if given.vary or given.packets:
        axes = _axes(given.vary) + (_packets(case.experiment, given.packets) if given.packets else [])
        document["axes"] = axes
    else:
        document |= common_bounds(case.experiment, _text(options))
    return _read(document, Path(f"{file.stem}.toml"), given, named=file)


def common_bounds(experiment: Experiment, objective: str) -> dict[str, Any]:
    """`set` and `axes` for what the experiment has: rate, rtt, queue, loss, batches, one change, the other group."""
    fixed: dict[str, Any] = {}
    axes: list[dict[str, Any]] = [{"path.rtt": RTT}]
    path, bottleneck = experiment.path, experiment.path.bottleneck
    if not path.tc and bottleneck is not None and bottleneck.rate is not None:
        fixed["path.bottleneck.qdisc"] = "{queue}"
        axes += [
            {"path.bottleneck.rate": RATE},
            {"queue": ["pfifo limit {packets}", "codel limit 1000", "pie limit 1000", "fq_codel limit 1000"]},
            {"packets": PACKETS},
        ]
        if not experiment.changes:
            at = [f"{experiment.duration / 1e9 * share:.3g}s" for share in CHANGE_SHARES]
            axes += [
                {"changes": [[], [{"at": "{change_at}", "rate": "{changed_rate}"}],
                             [{"at": "{change_at}", "rtt": "{changed_rtt}"}]]},
                {"change_at": {"from": at[0], "to": at[1]}},
                {"changed_rate": RATE},
                {"changed_rtt": RTT},
            ]  # fmt: skip
    if not path.tc and path.loss is None:
        axes += [{"path.loss": ["0%", "{loss_rate}", "gemodel {loss_rate} 20%"]}, {"loss_rate": LOSS}]
    if not path.tc and path.reverse is None:
        axes += [{"path.reverse": [{}, {"slot": "0ms {ack_batches}"}]}, {"ack_batches": SLOT}]
    if not path.tc and not path.links:
        link = {"name": "batches", "where": "before", "slot": "0ms {batches}"}
        axes += [{"path.links": [[], [link]]}, {"batches": SLOT}]
    return {"set": fixed, "axes": axes + _others(experiment, objective)}


def _others(experiment: Experiment, objective: str) -> list[dict[str, Any]]:
    """Cross traffic: other groups than those in the searched value, or one that joins the only group."""
    written = experiment.document()["flows"]
    named = [f"groups.{name}." in objective or f"flows.{name}" in objective for name in experiment.group_names]
    start = {"from": "0s", "to": f"{experiment.duration / 1e9 * START_SHARE:.3g}s"}
    if len(written) == 1:
        joined = [[*written, {"name": "cross", "cc": cc, "start": "{cross_start}"}] for cc in OTHERS]
        return [{"flows": [written, *joined]}, {"cross_start": start}]
    axes: list[dict[str, Any]] = []
    for group, name, is_named in zip(experiment.flows, experiment.group_names, named, strict=True):
        if any(named) and not is_named and group.kind == "tcp":
            axes.append({f"flows.{name}.start": start})
    return axes


def _axes(vary: Sequence[str]) -> list[dict[str, Any]]:
    return [{key: _bounds(key, value)} for key, value in map(documents.split_setting, vary)]


def _packets(experiment: Experiment, most: int) -> list[dict[str, Any]]:
    """No packet, or one to `most` of them that are all dropped or all delayed."""
    dropped = [{"number": f"{{packet{index}}}"} for index in range(1, most + 1)]
    delayed = [fate | {"delay": "{packet_delay}"} for fate in dropped]
    fates = [[], *(each[: count + 1] for each in (dropped, delayed) for count in range(most))]
    numbers = {"from": 1, "to": _packets_carried(experiment), "scale": "log"}
    return [
        {"path.packets": fates},
        *({f"packet{index}": numbers} for index in range(1, most + 1)),
        {"packet_delay": PACKET_DELAY},
    ]


def _packets_carried(experiment: Experiment) -> int:
    """Full packets that the bottleneck carries in the experiment, as far as a fate may name them."""
    bottleneck = experiment.path.bottleneck
    if bottleneck is None or bottleneck.rate is None:
        right = "path.bottleneck with a rate, or --vary with bounds of their numbers"
        raise ExperimentError("how many packets cross this path is unknown", key="--packets", right=right)
    carried = bottleneck.rate * experiment.duration // (8 * 10**9 * experiment.path.mtu)
    return min(max(carried, LEAST_PACKETS), MOST_PACKET_NUMBER)


def _bounds(key: str, value: Any) -> Any:
    """A list, a table, or `5ms..200ms`, which is a range; logarithmic if it spans a factor of ten."""
    if isinstance(value, list | dict):
        return value
    low, dots, high = str(value).partition("..")
    if not dots:
        right = f'such as --vary {key}=5ms..200ms, or --vary \'{key}=["5ms", "20ms"]\''
        raise ExperimentError("neither a range nor a list", key=f"--vary {key}", value=value, right=right)
    ends = [_number(low), _number(high)]
    try:
        scale = axis(key, ends).scale
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=f"--vary {key}", right=wrong.right) from None
    return {"from": ends[0], "to": ends[1]} | ({"scale": "log"} if scale == "log" else {})


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _read(document: Mapping[str, Any], file: Path, given: SearchOptions, named: Path | None = None) -> Sweep:
    settings = list(given.settings)
    if given.seeds or "seeds" not in document:
        settings.append(f"seeds={given.seeds or SEEDS}")
    settings += [f"window={given.window}"] if given.window else []
    return read_sweep(document, file, settings, named)


def _is_sweep(target: str) -> bool:
    """Is it a sweep file, which names an experiment, and not an experiment itself?"""
    if target in sweeps():
        return True
    file = Path(target)
    return file.is_file() and "experiment" in documents.toml(documents.text_of(file), file)


def _merged(search: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """The file's `[search]` with the options; an option's direction replaces the file's."""
    held = dict(search) if isinstance(search, Mapping) else {}
    if "minimize" in options or "maximize" in options:
        held.pop("minimize", None)
        held.pop("maximize", None)
    return held | dict(options)


def _text(options: Mapping[str, Any]) -> str:
    return str(options.get("minimize") or options.get("maximize") or "")
