"""Has this machine what a plan needs? Found by trying each kind of discipline, filter and controller on its kernel.

A worker of the agent tries them in a network of its own, before anything runs. Pure but for `try_out`: what is tried
comes from the plan's own commands, and what is missing is told with the keys of the experiment that ask for it.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.engine.host_worker import Worker, employ
from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan, QueuePlan
from dumbbell.publish import explained
from dumbbell.spec.document import Case
from dumbbell.spec.model import Impairment
from dumbbell.spec.qdisc import POLICE
from dumbbell.spec.units import time_text

__all__ = ["Tried", "askers", "missing", "trials", "try_out"]

DEVICE = "trial"
WALL_LIMIT_S = 60.0
FIFOS = ("pfifo", "bfifo", "pfifo_head_drop")
PLACE_WORDS = {"dev": 2, "root": 1, "parent": 2, "handle": 2, "classid": 2}
"""Of a tc command, words that stand before its kind, and how many each takes."""
FILTER_WORDS = PLACE_WORDS | {"protocol": 2, "prio": 2, "pref": 2}
"""The same of a filter; `prio` is a kind of discipline, too."""


@dataclass(frozen=True)
class Tried:
    """What the machine has."""

    refused: Mapping[str, str | None]
    """By what was tried: what tc said, or None."""
    controllers: Sequence[str]
    """Those of the wanted ones that a socket got."""
    available: Sequence[str]
    large_buffers: bool
    """May a socket's buffers be larger than the machine's limit?"""


def try_out(agent: Path, plan: Plan) -> Tried:
    """Try what the plan needs. Raises `PlanError` where the machine has no namespaces, `OutputError` on a full disk."""
    try:
        with tempfile.TemporaryDirectory(prefix="dumbbell-trial-") as name:
            folder = Path(name)
            wanted = {
                "commands": trials(plan),
                "controllers": sorted({flow.cc for flow in plan.flows if flow.cc is not None}),
            }
            (folder / "trial.json").write_text(json.dumps(wanted), encoding="utf-8")
            employ(Worker(agent, "try", folder, WALL_LIMIT_S))
            return Tried(**json.loads((folder / "tried.json").read_text(encoding="utf-8")))
    except OSError as error:
        raise explained(error, Path(tempfile.gettempdir())) from error


def trials(plan: Plan) -> dict[str, list[str]]:
    """For each kind of discipline and filter in the plan: tc commands that try it, on a wire with nothing on it."""
    found: dict[str, list[str]] = {}
    holders: dict[tuple[str, str, str], str] = {}
    commands = [*plan.setup, *(change.command for change in plan.changes)]
    for command in (command for command in commands if command.argv[0] == "tc"):
        object_, _, *words = command.argv[1:]
        known = FILTER_WORDS if object_ == "filter" else PLACE_WORDS
        told = _before_kind(words, known)
        rest = words[sum(known[word] for word in told) :]
        if not rest:
            continue
        place = (command.host, told.get("dev", ""))
        if object_ == "qdisc":
            line = f"tc qdisc add dev {DEVICE} root handle 1: {' '.join(rest)}"
            holders[*place, told.get("handle", "").rstrip(":")] = line
            found.setdefault(rest[0], [line])
        elif object_ == "filter":
            holder = holders.get((*place, told.get("parent", "").partition(":")[0]))
            what = f"filter {rest[0]}" + (" with police" if "police" in rest else "")
            line = (
                f"tc filter add dev {DEVICE} parent 1: protocol {told.get('protocol', 'all')} prio 1 {' '.join(rest)}"
            )
            found.setdefault(what, [*([holder] if holder else []), line])
    return found


def missing(tried: Tried, plan: Plan, case: Case, kernel: str) -> ExperimentError | None:
    """One error for everything that the machine lacks, with the keys that ask for it; None where it has all.

    `kernel` is its release.
    """
    lacking = {kind: reason for kind, reason in tried.refused.items() if reason is not None}
    # A filter that was tried on a missing discipline says nothing of its own.
    lacking = {
        kind: reason for kind, reason in lacking.items()
        if not kind.startswith("filter ") or reason not in [lacking.get(each) for each in tried.refused if each != kind]
    }  # fmt: skip
    if not lacking:
        return None
    keys = {kind: askers(kind, plan, case) for kind in lacking}
    parts = [_told(kind, reason, keys[kind]) for kind, reason in lacking.items()]
    symbols = " and ".join(dict.fromkeys(_symbol(kind) for kind in lacking))
    first = next((texts[0].partition(" = ")[0] for texts in keys.values() if texts), "")
    return ExperimentError(
        f"this machine's kernel ({kernel}) has {'; '.join(parts)}", file=str(case.file), key=first,
        right=f"run it with --engine kernel, which has them all, or on a kernel with {symbols}",
    )  # fmt: skip


def askers(kind: str, plan: Plan, case: Case) -> list[str]:
    """Keys of the experiment, with their values where they are short, that ask for a kind of discipline or filter."""
    asked = []
    for queue in plan.queues:
        if queue.name.partition(".netem")[0] != queue.name and kind == "netem":
            asked += _netem_keys(case, queue.name.partition(".netem")[0])
        elif queue.name.endswith(".shaper") and kind == "htb":
            asked += [
                f"{other.key.removesuffix('.qdisc')}.rate" for other in plan.queues if _is_leaf(queue.name, other)
            ]
        elif queue.key and _is_made_of(queue, kind):
            asked.append(f'{queue.key} = "{queue.text}"')
    if not asked and case.experiment.path.tc is not None:
        asked.append("path.tc")
    return list(dict.fromkeys(asked))


def _is_leaf(shaper: str, other: QueuePlan) -> bool:
    return bool(other.key) and f"{other.name}.shaper" == shaper


def _is_made_of(queue: QueuePlan, kind: str) -> bool:
    """A policer is a `prio` with a filter (`dumbbell.plan.shaping`)."""
    own = queue.text.split()[0]
    return kind == own or (own == POLICE and (kind == "prio" or kind.startswith("filter ")))


def _netem_keys(case: Case, owner: str) -> list[str]:
    """What makes a netem of this owner (path, reverse, a link, access-GROUP) necessary."""
    experiment, path = case.experiment, case.experiment.path
    if owner == "path":
        return _set_of(path, "path", path.rtt, there=True) + _of_changes(case, None)
    if owner.startswith("reverse"):
        keys = _set_of(path.reverse, "path.reverse", path.rtt) if path.reverse else []
        return [f"path.rtt = {time_text(path.rtt)}", *keys] if path.rtt and not keys else keys
    if owner.startswith("access-"):
        number = experiment.group_names.index(owner.removeprefix("access-"))
        access = experiment.flows[number].access
        return _set_of(access, f"flows.{number}.access", 0) if access else []
    link = next((link for link in path.links if link.name == owner), None)
    return (_set_of(link, f"path.links.{owner}", 0) if link else []) + _of_changes(case, owner)


def _set_of(what: Impairment, place: str, rtt_ns: int, *, there: bool = False) -> list[str]:
    keys = []
    for option in ("delay", "jitter", "loss", "reorder", "duplicate", "corrupt", "slot"):
        if value := getattr(what, option):
            keys.append(f"{place}.{option} = {time_text(value) if isinstance(value, int) else value}")
    if there and not what.delay and not keys and rtt_ns:
        keys.append(f"path.rtt = {time_text(rtt_ns)}")
    return keys


def _of_changes(case: Case, link: str | None) -> list[str]:
    changes = [change for change in case.experiment.changes if change.link == link]
    return ["changes"] if any(change.rtt or change.delay or change.jitter or change.loss for change in changes) else []


def _told(kind: str, reason: str, keys: Sequence[str]) -> str:
    who = f", which {' and '.join(keys)} need{'s' if len(keys) == 1 else ''}" if keys else ""
    first = reason.splitlines()[0].removeprefix("Error: ").rstrip(".")
    known = "unknown" in first.lower() or "not found" in first.lower() or "failed to load" in first.lower()
    return f"no {kind}{who}" + ("" if known else f" (tc: {first})")


def _symbol(kind: str) -> str:
    if kind in FIFOS:
        return "CONFIG_NET_SCH_FIFO"
    if kind.startswith("filter "):
        police = " and CONFIG_NET_ACT_POLICE" if "police" in kind else ""
        return f"CONFIG_NET_CLS_{kind.split()[1].upper()}{police}"
    return f"CONFIG_NET_SCH_{kind.upper()}"


def _before_kind(words: Sequence[str], known: Mapping[str, int]) -> dict[str, str]:
    """The words that stand before a command's kind, each with what it says."""
    told: dict[str, str] = {}
    place = 0
    while place < len(words) and (taken := known.get(words[place])):
        if words[place] in told:
            break
        told[words[place]] = words[place + 1] if taken == 2 and place + 1 < len(words) else ""
        place += taken
    return told
