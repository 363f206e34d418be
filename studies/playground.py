"""Which experiments each figure of the documentation shows, as links to the playground.

A study that draws figures says in `figures()` what they show; nothing is listed twice. `scripts/docs.py` writes the
links below the figures of the static site. A figure of many runs has links to some of them, the first and the last
among these.
"""

import base64
import importlib
import re
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import dumbbell as db
from dumbbell.spec.document import as_toml, split_setting, text_of, toml, with_settings, without_cases
from dumbbell.spec.sweep import ABOUT_THE_RUN, Sweep, settings_at
from studies.study import DOCS

Item = TypeVar("Item")
MOST = 8
"""Links below one figure of a sweep or of a study."""
STUDIES = ("controllers", "gallery", "hpcc", "reports", "sweeps", "versions")
"""Those that draw figures."""
NOT_SIMULATED = {
    "guides/controller-against-cubic.svg": "a controller that only the guide's kernel has",
    "guides/controller-queue.svg": "a controller that only the guide's kernel has",
    "guides/controller-two.svg": "a controller that only the guide's kernel has",
    "guides/quinn-bbr.png": "a QUIC stack, which the simulator does not have",
    "guides/watch-detail.png": "a terminal",
    "guides/watch.png": "a terminal",
    "workbench.png": "the page itself",
}
"""Figures below docs/ that show no run of the simulator's, and why."""


@dataclass(frozen=True)
class Shown:
    """An experiment behind a figure."""

    name: str
    """What distinguishes it from the figure's others; empty: it is the only one."""
    text: str
    """As TOML, a single case."""

    @property
    def fragment(self) -> str:
        """The end of the playground's address, as `ui/src/share/link.ts` reads it."""
        packed = base64.urlsafe_b64encode(zlib.compress(self.text.encode(), 9)).decode().rstrip("=")
        return f"#e={packed}&seed=1"


def of_figures() -> dict[Path, list[Shown]]:
    """The experiments of every figure that shows runs of the simulator, or of the kernel with the same experiment."""
    return {file: list(shown) for file, shown in _all()}


def links(shown: list[Shown], playground: str) -> str:
    """A paragraph that opens these experiments; `playground` is the path of its page."""
    anchors = [
        f'<a href="{playground}{escape(each.fragment)}">{escape(each.name or "Open in the playground")}</a>'
        for each in shown
    ]
    before = "" if len(shown) == 1 and not shown[0].name else "Open in the playground: "
    return f'<p class="open">{before}{"; ".join(anchors)}</p>'


def _all() -> Iterator[tuple[Path, Iterable[Shown]]]:
    yield DOCS / "concepts" / "bbr-states.png", [Shown("", _text_on(DOCS / "concepts" / "bbr-states.md"))]
    for name in STUDIES:
        for figure, of in importlib.import_module(f"studies.{name}").figures():
            yield figure, points(of) if isinstance(of, Sweep) else _named(of)


def _named(experiments: Mapping[str, db.Experiment]) -> Iterator[Shown]:
    """Some of the experiments, by their names."""
    return (Shown(name, text(experiment)) for name, experiment in _some(list(experiments.items())))


def _text_on(page: Path) -> str:
    """The experiment file that a page shows."""
    found = re.search(r'^```toml title="[^"]+"\n(.*?)^```$', page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None, page
    return found[1]


def text(experiment: db.Experiment) -> str:
    """An experiment with its settings as TOML; the text of a file stays as it was written if nothing changes it."""
    whole = text_of(experiment.file) if experiment.document is None else ""
    document = toml(whole, experiment.file) if experiment.document is None else dict(experiment.document)
    case = experiment.one().name
    if whole and not case and not experiment.settings:
        return whole
    settings = dict(map(split_setting, experiment.settings))
    return as_toml(without_cases(with_settings(document, settings, experiment.file), experiment.file, case or None))


def points(sweep: Sweep) -> Iterator[Shown]:
    """Some of a sweep's points on the simulator, named by the axes on which they differ."""
    every = [(point.values, settings_at(sweep, point.values)) for point in sweep.each_point()]
    some = _some([(values, settings) for values, settings in every if settings["engine"] == "sim"])
    for values, settings in some:
        own = {key: value for key, value in settings.items() if key not in ABOUT_THE_RUN}
        differing = [key for key in values if len({str(other[key]) for other, _ in some}) > 1]
        name = _label({key.rpartition(".")[2]: values[key] for key in differing}, values)
        yield Shown(name, as_toml(with_settings(sweep.experiment, own, sweep.experiment_file)))


def _label(values: Mapping[str, Any], placeholders: Mapping[str, Any]) -> str:
    """Numbers and texts by name, without tables and what is off; a text may have placeholders."""
    texts = {key: value.format_map(placeholders) if isinstance(value, str) else value for key, value in values.items()}
    told = [
        key if value is True else f"{key} {value}"
        for key, value in texts.items()
        if value is not False and not isinstance(value, Mapping)
    ]
    return ", ".join(told)


def _some(every: list[Item]) -> list[Item]:
    """At most `MOST`, evenly spread."""
    last = len(every) - 1
    return [every[at] for at in sorted({round(each * last / (MOST - 1)) for each in range(MOST)})]


def experiment_of(arguments: str) -> dict[str, db.Experiment]:
    """The experiments of the arguments of `dumbbell run` by case; without its seeds."""
    name, *options = shlex.split(arguments)
    experiment = db.scenario(name)
    pairs = list(zip(options[::2], options[1::2], strict=True))
    # The case first: a setting must not be one that cases set.
    for option, value in sorted(pairs, key=lambda pair: pair[0] != "--case"):
        if option == "--case":
            experiment = experiment.case(value)
        elif option == "--set":
            experiment = experiment.set(**dict([split_setting(value)]))
    names = [experiment.only] if experiment.only else experiment.cases
    return {case if len(names) > 1 else "": experiment.case(case) for case in names}
