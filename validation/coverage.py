"""Tables for both pages: which engines have each controller and queue, and how well they agree."""

from collections.abc import Iterable, Iterator, Sequence

from verdicts import Compared, Expected

from dumbbell.analysis.difference import Verdict
from dumbbell.cli.list_commands import entries
from dumbbell.plan import plan_case
from dumbbell.spec import Case
from dumbbell.spec.built_in import pages

__all__ = ["acceptance", "agreement", "controllers_of", "queues_of"]

ENGINES = ("sim", "kernel")


def controllers_of(case: Case) -> frozenset[str]:
    """Controllers of an experiment's flows."""
    return frozenset(flows.cc for flows in case.experiment.flows if flows.cc)


def queues_of(case: Case) -> frozenset[str]:
    """Kinds of qdiscs that an experiment names, for links and hosts or in a tc script."""
    own = [flows.host_qdisc for flows in case.experiment.flows if flows.host_qdisc]
    path = case.experiment.path
    links = [path.bottleneck, *path.links, path.reverse, *(flows.access for flows in case.experiment.flows)]
    own += [link.qdisc for link in links if link is not None and link.qdisc is not None]
    kinds = frozenset(qdisc.kind for qdisc in own)
    return kinds | _in_script(case) if path.tc else kinds


def _in_script(case: Case) -> frozenset[str]:
    """Kinds of qdiscs in the tc script of an experiment."""
    return frozenset(queue.text.split()[0] for queue in plan_case(case, seed=1).queues)


def agreement(kind: str, cases: Sequence[Compared]) -> Iterator[str]:
    """For each of `controllers` or `queues`: the engines that have it, and the cases in which the engines agree."""
    yield f"| {kind.removesuffix('s')} | simulator | kernel | cases | agree | inconclusive | differ |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: |"
    for entry in entries(kind):
        having = [case.verdict for case in cases if entry["name"] in (case.controllers | case.queues)]
        counts = [having.count(verdict) for verdict in (Verdict.AGREES, Verdict.INCONCLUSIVE, Verdict.DIFFERS)]
        cells = (str(len(having)), *map(str, counts)) if having else ("none", "", "", "")
        yield f"| {_name(kind, entry['name'])} | {' | '.join((*_support(entry['engines']), *cells))} |"


def acceptance(rows: Sequence[Expected], cases: Iterable[tuple[str, Case]]) -> Iterator[str]:
    """For each controller: the expectations of published experiments that are met, by engine."""
    using = {(scenario, case.name): controllers_of(case) for scenario, case in cases}
    yield "| controller | simulator | kernel |"
    yield "| --- | ---: | ---: |"
    for name in sorted(set().union(*using.values())):
        mine = [row for row in rows if name in using[row.scenario, row.case] and not row.problem.startswith("refused")]
        met = [[row.passed for row in mine if row.engine == engine] for engine in ENGINES]
        yield f"| {name} | {' | '.join(f'{sum(each)} of {len(each)}' if each else '–' for each in met)} |"


def _support(engines: Sequence[str]) -> list[str]:
    return ["yes" if engine in engines else "–" for engine in ENGINES]


def _name(kind: str, name: str) -> str:
    return f"[{name}]({kind}/{name}.md)" if name in pages(kind) else name
