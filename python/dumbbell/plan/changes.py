"""Scheduled changes and traces to commands at their times."""

from dumbbell.errors import PlanError
from dumbbell.plan.building import Building
from dumbbell.plan.model import TimedCommand
from dumbbell.plan.shaping import Netem, netem_change, rate_change, with_rates
from dumbbell.spec.model import Change, Experiment

__all__ = ["brings_loss", "changes", "needs_path_netem", "needs_reverse_netem"]


def needs_path_netem(experiment: Experiment) -> bool:
    """Will the data's direction need a netem later, though it needs none at first?"""
    return any(change.link is None and (change.loss or change.delay or change.jitter) for change in experiment.changes)


def needs_reverse_netem(experiment: Experiment) -> bool:
    """Will the reverse path need a netem later, though it needs none at first?"""
    return any(change.rtt is not None for change in experiment.changes)


def brings_loss(experiment: Experiment, netem: str) -> bool:
    """Will this netem be asked to lose packets at some time?"""
    return any(change.loss and _netem_name(change) == netem for change in experiment.changes)


def _netem_name(change: Change) -> str:
    return f"{change.link}.netem" if change.link else "path.netem"


def changes(building: Building) -> list[TimedCommand]:
    """Every change as commands, sorted by time; the queues' rates are filled in on the way."""
    commands: list[TimedCommand] = _trace(building)
    for change in sorted(building.experiment.changes, key=lambda change: change.at):
        commands += _rate(building, change) + _netem(building, change)
    return sorted(commands, key=lambda command: command.at_ns)


def _trace(building: Building) -> list[TimedCommand]:
    rates = building.attachments.trace
    if not rates:
        return []
    building.queues = with_rates(building.queues, "bottleneck", tuple(rates))
    device, mtu = building.shapers["bottleneck"], building.experiment.path.mtu
    return [TimedCommand(at_ns, rate_change(device, rate, mtu)) for at_ns, rate in rates[1:]]


def _rate(building: Building, change: Change) -> list[TimedCommand]:
    if change.rate is None:
        return []
    name = change.link or "bottleneck"
    if name not in building.shapers:
        raise PlanError(f"the rate of '{name}' can't change: its qdisc shapes by itself; give the link a 'rate'")
    before = next(queue.rates for queue in building.queues if queue.name == name)
    building.queues = with_rates(building.queues, name, (*before, (change.at, change.rate)))
    return [TimedCommand(change.at, rate_change(building.shapers[name], change.rate, building.experiment.path.mtu))]


def _netem(building: Building, change: Change) -> list[TimedCommand]:
    """New settings for the netems that a change touches; what it doesn't name stays."""
    updates = {key: value for key in ("delay", "jitter", "loss") if (value := getattr(change, key)) is not None}
    targets: list[tuple[str, dict[str, object]]] = []
    if updates:
        targets.append((_netem_name(change), updates))
    if change.rtt is not None:
        forward = building.netems["path.netem"][1].impairment.delay if "path.netem" in building.netems else 0
        if change.rtt < forward:
            raise PlanError(
                f"the rtt ({change.rtt / 1e6:g} ms) is below the delay of the forward path ({forward / 1e6:g} ms)"
            )
        targets.append(("reverse.netem", {"delay": change.rtt - forward}))
    commands = []
    for name, update in targets:
        if name not in building.netems:
            raise PlanError(f"'{change.link}' has no delay or loss that could change; give it one from the start")
        devices, netem = building.netems[name]
        netem = Netem(netem.impairment.model_copy(update=update), netem.rate_bps)
        building.netems[name] = (devices, netem)
        commands += [TimedCommand(change.at, netem_change(device, netem)) for device in devices]
    return commands
