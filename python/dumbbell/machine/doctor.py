"""All findings about a machine, in a fixed order; one reading that fails never hides the others."""

from collections.abc import Callable, Iterable

from dumbbell.machine import buffers, controllers, devices, kernels, knobs
from dumbbell.machine.finding import Finding, unknown
from dumbbell.machine.sources import Machine

__all__ = ["examined"]

Reading = Callable[[], Finding | Iterable[Finding]]


def examined(machine: Machine, path: buffers.Path) -> list[Finding]:
    """Every finding, group by group."""
    machine = machine.at_one_time()
    readings: list[tuple[str, str, Reading]] = [
        ("kernel.version", "kernel", lambda: kernels.version(machine)),
        ("kernel.namespace", "kernel", lambda: kernels.namespace(machine)),
        ("kernel.clocksource", "kernel", lambda: kernels.clocksource(machine)),
        ("kernel.virtual", "kernel", lambda: kernels.virtual(machine)),
        ("controller.default", "controller", lambda: controllers.default(machine)),
        ("controller.new_connection", "controller", lambda: controllers.opened(machine)),
        ("controller.at_boot", "controller", lambda: controllers.at_boot(machine)),
        ("controller.available", "controller", lambda: controllers.available(machine)),
        ("controller.allowed", "controller", lambda: controllers.allowed(machine)),
        ("controller.bbr", "controller", lambda: controllers.bbr(machine)),
        ("controller.routes", "controller", lambda: controllers.routes(machine)),
        ("queues.default", "queues", lambda: devices.default_qdisc(machine)),
        ("queues", "queues", lambda: devices.queues(machine)),
        ("offloads", "queues", lambda: devices.offloads(machine)),
        ("buffers", "buffers", lambda: buffers.buffers(machine, path)),
        ("protocol", "protocol", lambda: knobs.knobs(machine)),
        ("connections.controllers", "connections", lambda: controllers.connections(machine)),
    ]
    return [finding for key, group, reading in readings for finding in _found(key, group, reading)]


def _found(key: str, group: str, reading: Reading) -> list[Finding]:
    try:
        told = reading()
        return [told] if isinstance(told, Finding) else list(told)
    # A machine that we have never seen may say anything.
    except Exception as error:
        return [unknown(key, group, key, "", f"what was read can't be made out: {type(error).__name__}: {error}")]
