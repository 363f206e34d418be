"""All findings about a host, in a fixed order; a failing check doesn't prevent the others."""

from collections.abc import Callable, Iterable

from dumbbell.host import buffers, controllers, devices, kernel_findings, tcp_settings
from dumbbell.host.finding import Finding, unknown
from dumbbell.host.sources import LocalHost

__all__ = ["run_checks"]

Reading = Callable[[], Finding | Iterable[Finding]]


def run_checks(machine: LocalHost, path: buffers.Path) -> list[Finding]:
    """Every finding, group by group."""
    machine = machine.at_one_time()
    readings: list[tuple[str, str, Reading]] = [
        ("kernel.version", "kernel", lambda: kernel_findings.version(machine)),
        ("kernel.namespace", "kernel", lambda: kernel_findings.namespace(machine)),
        ("kernel.clocksource", "kernel", lambda: kernel_findings.clocksource(machine)),
        ("kernel.virtual", "kernel", lambda: kernel_findings.virtual(machine)),
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
        ("protocol", "protocol", lambda: tcp_settings.tcp_settings(machine)),
        ("connections.controllers", "connections", lambda: controllers.connections(machine)),
    ]
    return [finding for key, group, reading in readings for finding in _found(key, group, reading)]


def _found(key: str, group: str, reading: Reading) -> list[Finding]:
    try:
        found = reading()
        return [found] if isinstance(found, Finding) else list(found)
    # An unfamiliar host may give unexpected output.
    except Exception as error:
        return [unknown(key, group, key, "", f"can't be parsed: {type(error).__name__}: {error}")]
