"""All findings about a host, in a fixed order; a failing check doesn't prevent the others."""

from collections.abc import Callable, Iterable

from dumbbell.host import controllers, kernel_findings, tcp_settings
from dumbbell.host.sources import Finding, LocalHost, unknown

__all__ = ["run_checks"]

Reading = Callable[[], Finding | Iterable[Finding]]


def run_checks(host: LocalHost, path: tcp_settings.Path) -> list[Finding]:
    """Every finding, group by group."""
    host = host.at_one_time()
    readings: list[tuple[str, str, Reading]] = [
        ("kernel.version", "kernel", lambda: kernel_findings.version(host)),
        ("kernel.namespace", "kernel", lambda: kernel_findings.namespace(host)),
        ("kernel.clocksource", "kernel", lambda: kernel_findings.clocksource(host)),
        ("kernel.virtual", "kernel", lambda: kernel_findings.virtual(host)),
        ("controller.default", "controller", lambda: controllers.default(host)),
        ("controller.new_connection", "controller", lambda: controllers.opened(host)),
        ("controller.at_boot", "controller", lambda: controllers.at_boot(host)),
        ("controller.available", "controller", lambda: controllers.available(host)),
        ("controller.allowed", "controller", lambda: controllers.allowed(host)),
        ("controller.bbr", "controller", lambda: controllers.bbr(host)),
        ("controller.routes", "controller", lambda: controllers.routes(host)),
        ("queues.default", "queues", lambda: kernel_findings.default_qdisc(host)),
        ("queues", "queues", lambda: kernel_findings.queues(host)),
        ("offloads", "queues", lambda: kernel_findings.offloads(host)),
        ("buffers", "buffers", lambda: tcp_settings.buffers(host, path)),
        ("protocol", "protocol", lambda: tcp_settings.tcp_settings(host)),
        ("connections.controllers", "connections", lambda: controllers.connections(host)),
    ]
    return [finding for key, group, reading in readings for finding in _found(key, group, reading)]


def _found(key: str, group: str, reading: Reading) -> list[Finding]:
    try:
        found = reading()
        return [found] if isinstance(found, Finding) else list(found)
    # An unfamiliar host may give unexpected output.
    except Exception as error:
        return [unknown(key, group, key, "", f"can't be parsed: {type(error).__name__}: {error}")]
