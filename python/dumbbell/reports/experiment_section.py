"""The experiment that ran: its file, a diagram of its path, and a shell script for any Linux host.

The manifest holds the experiment with all defaults filled in. This module parses that, so the page shows what ran. The
diagram is SVG in the text's colour, 360 px wide so that a phone shows it unscaled.
"""

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import _sim
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case
from dumbbell.plots.colours import shades
from dumbbell.reports.markup import Markup, details, element, join, tagged
from dumbbell.results.result import Run
from dumbbell.spec import Case, Experiment, read
from dumbbell.spec.document import as_toml
from dumbbell.spec.units import Wrong, rate_text, time_text

if TYPE_CHECKING:
    from dumbbell.spec.keys import Flows, Impairment, Link

__all__ = ["by_hand", "dumbbell", "experiment_of", "experiment_section", "text_of"]


WIDTH = 360
ROW = 34
GROUPS_MAX = 6
LEFT, RIGHT = 148, 268
"""The x positions of the two routers."""
LINE = {"stroke": "currentColor", "fill": "none"}


def dumbbell(experiment: Experiment, queue: Mapping[str, Any] | None = None) -> Markup:
    """The diagram with its caption; `queue`: the manifest's entry of the bottleneck's queue, which tc commands set."""
    rows = min(len(experiment.flows), GROUPS_MAX + 1)
    middle = max(rows * ROW, 2 * ROW) / 2 + 8
    labels = _bottleneck(experiment, queue)
    height = middle + max(rows * ROW / 2, 14 * len(labels) + 10) + 30
    parts = [*_senders(experiment, middle), *_link(labels, middle), *_receivers(middle), *_reverse(experiment, height)]
    description = (
        f"{', '.join(experiment.group_names)} through {' '.join(labels)}, rtt {time_text(experiment.path.rtt)}"
    )
    box = {"viewBox": f"0 0 {WIDTH} {height:g}", "role": "img", "aria-label": description, "class": "path"}
    return element("figure", tagged("svg", box, *parts), element("figcaption", _caption(experiment), css="quiet"))


def _senders(experiment: Experiment, middle: float) -> Iterator[Markup]:
    groups = list(zip(experiment.group_names, experiment.flows, strict=True))
    left_out = len(groups) - GROUPS_MAX
    rows = min(len(groups), GROUPS_MAX + 1)
    top = middle - rows * ROW / 2
    colours = shades([{"name": name, "group": name, "cc": group.cc} for name, group in groups])
    for index in range(rows):
        y = top + (index + 0.5) * ROW
        yield _stroke(f"M116 {y:g}L{LEFT - 9} {middle:g}")
        if index == GROUPS_MAX:
            yield _text(4, y + 4, f"and {left_out} more groups")
            return
        name, group = groups[index]
        box = {"x": 2, "y": y - 13, "width": 114, "height": 26, "rx": 5, **LINE}
        yield tagged("rect", box)
        yield tagged("circle", {"cx": 14, "cy": y, "r": 5, "fill": colours[name]})
        yield _text(24, y + 4, _group_label(name, group))


def _group_label(name: str, group: "Flows") -> str:
    count = f" ×{group.count}" if group.count > 1 else ""
    controller = " ".join(each for each in (group.stack, group.cc) if each)
    what = name if controller in ("", name) else f"{name}: {controller}"
    return textwrap.shorten(what, 14 - len(count), placeholder="…") + count if len(what + count) > 14 else what + count


def _link(labels: list[str], middle: float) -> Iterator[Markup]:
    yield _stroke(f"M{LEFT} {middle:g}H{RIGHT}", width=3)
    # The queue: packets in front of the link.
    for index in range(5):
        box = {"x": LEFT + 12 + 7 * index, "y": middle - 8, "width": 5, "height": 16, "fill": "currentColor"}
        yield tagged("rect", box)
    for x in (LEFT, RIGHT):
        yield tagged("circle", {"cx": x, "cy": middle, "r": 9, "class": "router", "stroke": "currentColor"})
    centre = (LEFT + RIGHT) / 2
    yield _text(centre, middle - 18, labels[0], anchor="middle", bold=True)
    for index, label in enumerate(labels[1:]):
        yield _text(centre, middle + 28 + 14 * index, label, anchor="middle")


def _receivers(middle: float) -> Iterator[Markup]:
    yield _stroke(f"M{RIGHT + 9} {middle:g}H290")
    yield tagged("rect", {"x": 290, "y": middle - 13, "width": 68, "height": 26, "rx": 5, **LINE})
    yield _text(324, middle + 4, "receivers", anchor="middle")


def _reverse(experiment: Experiment, height: float) -> Iterator[Markup]:
    y = height - 14
    yield _stroke(f"M350 {y - 9:g}V{y:g}H10V{y - 9:g}", dashed=True)
    yield _stroke(f"M6 {y - 5:g}l4 -5l4 5")
    label = f" rtt {time_text(experiment.path.rtt)} "
    yield tagged("rect", {"x": 180 - 4 * len(label), "y": y - 8, "width": 8 * len(label), "height": 16, "class": "gap"})
    yield _text(180, y + 4, label.strip(), anchor="middle")


def _bottleneck(experiment: Experiment, queue: Mapping[str, Any] | None) -> list[str]:
    """The rate of the slowest link, then its queueing discipline in wrapped lines."""
    bottleneck = experiment.path.bottleneck
    if bottleneck is None:
        if queue is None:
            return ["set by tc commands"]
        rates = queue.get("rates") or []
        rate = rate_text(round(rates[0][1])) if rates else "shaped by tc"
        return [rate, *textwrap.wrap(str(queue["qdisc"]), 22)[:4]]
    if (link := _slower(experiment)) is not None:
        discipline = link.qdisc.text if link.qdisc else ""
        return [f"{link.name}: {rate_text(link.rate or 0)}", *textwrap.wrap(discipline, 22)[:4]]
    rate = rate_text(bottleneck.rate) if bottleneck.rate else "a trace" if bottleneck.rate_trace else "shaped"
    return [rate, *textwrap.wrap(bottleneck.qdisc.text, 22)[:4]]


def _slower(experiment: Experiment) -> "Link | None":
    """The slowest link, if it is slower than `path.bottleneck`."""
    bottleneck = experiment.path.bottleneck
    if bottleneck is None or not bottleneck.rate:
        return None
    rated = [link for link in experiment.path.links if link.rate and link.rate < bottleneck.rate]
    return min(rated, key=lambda link: link.rate or 0, default=None)


def _caption(experiment: Experiment) -> str:
    path = experiment.path
    parts = [f"{time_text(experiment.duration)}, {sum(group.count for group in experiment.flows)} flows"]
    parts += [f"on the path: {text}" for text in [_impaired(path)] if text]
    if _slower(experiment) and path.bottleneck and path.bottleneck.rate:
        parts.append(f"path.bottleneck, {rate_text(path.bottleneck.rate)}, is not the slowest link")
    for link in path.links:
        rate = f", {rate_text(link.rate)}" if link.rate else ""
        impaired = _impaired(link)
        parts.append(f"link {link.name} {link.where} the bottleneck{rate}{', ' + impaired if impaired else ''}")
    if any(group.access for group in experiment.flows):
        parts.append("groups with their own access links")
    if path.reverse:
        parts.append("a different reverse path")
    if experiment.changes:
        parts.append(f"{len(experiment.changes)} changes during the run")
    return "; ".join(parts)


def _impaired(stretch: "Impairment") -> str:
    values = {key: getattr(stretch, key) for key in _sim.keys_by_table()["Impairment"]}
    shown = {key: time_text(value) if isinstance(value, int) else value for key, value in values.items() if value}
    return ", ".join(f"{key} {value}" for key, value in shown.items())


def _stroke(path: str, width: float = 1.2, *, dashed: bool = False) -> Markup:
    return tagged("path", {"d": path, "stroke-width": width, **LINE} | ({"stroke-dasharray": "4 3"} if dashed else {}))


def _text(x: float, y: float, text: str, anchor: str = "start", *, bold: bool = False) -> Markup:
    weight = {"font-weight": 600} if bold else {}
    return tagged("text", {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor, **weight}, join([text]))


def experiment_section(run: Run) -> Markup:
    """The experiment as a diagram and as a file."""
    if run.manifest.experiment is None:
        logs = json.dumps(run.manifest.import_, indent=1, ensure_ascii=False)
        log_details = details("Logs: format, rounding, missing fields", element("pre", logs))
        return join([element("h3", "Imported logs"), log_details])
    experiment = experiment_of(run)
    if experiment is None:
        written = json.dumps(run.manifest.experiment, indent=1, ensure_ascii=False)
        return join([element("h3", "Experiment"), element("pre", written)])
    text = text_of(experiment)
    named = run.manifest.bottleneck
    queue = next((each for each in run.manifest.queues if each.name == named), None)
    seed = element("p", f"Random seed {run.manifest['seed']}, engine {run.manifest['engine']}.", css="quiet")
    return join([element("h3", "Experiment"), dumbbell(experiment, queue), element("pre", text), seed])


def text_of(experiment: Experiment) -> str:
    """The experiment as TOML, without keys that have their default value."""
    return as_toml({key: value for key, value in experiment.document().items() if key != "source"})


def experiment_of(run: Run) -> Experiment | None:
    """The experiment that ran; None if the manifest has none that this version can parse."""
    try:
        return read(run.manifest["experiment"], Path(str(run.manifest.get("name"))))[0].experiment
    except (DumbbellError, KeyError, TypeError):
        return None


def by_hand(run: Run) -> str:
    """A shell script that runs the same experiment with iperf3; the recorded commands if no script can be made."""
    experiment = experiment_of(run)
    commands = "\n".join(str(line) for line in run.manifest.commands or [])
    if experiment is None:
        return commands
    case = Case(str(run.manifest.get("case") or ""), experiment, Path(str(run.manifest.get("name"))), {})
    try:
        return plan_case(case, int(run.manifest["seed"])).script(experiment.title, [])
    except (DumbbellError, Wrong, OSError):
        return commands  # The trace or script next to the experiment file is not part of the result.
