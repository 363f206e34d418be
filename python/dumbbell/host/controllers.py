"""Findings about congestion controls: available, allowed, default, BBR version, and per route."""

from collections.abc import Callable, Iterator

from dumbbell.host import kernel_modules
from dumbbell.host.boot_settings import ALLOWED, CONTROLLER, DROPIN, in_force
from dumbbell.host.kernel_modules import AVAILABLE, presence
from dumbbell.host.sources import ROUTES, Finding, LocalHost, Mark, rows, unknown, word
from dumbbell.host.tcp_connections import controllers_in_use

__all__ = ["ROUTES", "allowed", "at_boot", "available", "bbr", "connections", "default", "opened", "routes"]

GROUP = "controller"
BBR = "bbr"
ENABLE = ("sudo dumbbell enable bbr",)


def available(host: LocalHost) -> Finding:
    """The available congestion controls."""
    what = ("controller.available", GROUP, "available")
    read = host.sysctl(AVAILABLE)
    if read.text is None:
        return unknown(*what, read.source, f"can't be read: {read.why}")
    names = read.fields()
    if BBR in names:
        return Finding(*what, "ok", names, ", ".join(names), read.source, "BBR is available.")
    has = presence(host, BBR)
    if has.kind == "loadable":
        meaning = "BBR is a module that is not loaded; 'dumbbell enable bbr' loads it."
        return Finding(*what, "warning", names, ", ".join(names), read.source, meaning, ENABLE)
    meaning = "This kernel has no BBR: CONFIG_TCP_CONG_BBR is off, or the package with its module is not installed."
    return Finding(*what, "problem", names, ", ".join(names), read.source, meaning)


def allowed(host: LocalHost) -> Finding:
    """The congestion controls that unprivileged programs may choose."""
    what = ("controller.allowed", GROUP, "allowed")
    read = host.sysctl(ALLOWED)
    if read.text is None:
        return unknown(*what, read.source, f"can't be read: {read.why}")
    names, ready = read.fields(), host.sysctl(AVAILABLE).fields()
    shut = [name for name in ready if name not in names]
    if not shut:
        return Finding(*what, "ok", names, ", ".join(names), read.source, "Every program may choose any of them.")
    mark: Mark = "warning" if BBR in shut else "ok"
    meaning = f"A program needs CAP_NET_ADMIN to choose {', '.join(shut)} for a socket."
    change = (f"sudo sysctl -w {ALLOWED}='{' '.join([*names, *shut])}'",) if mark == "warning" else ()
    return Finding(*what, mark, names, ", ".join(names), read.source, meaning, change)


def default(host: LocalHost) -> Finding:
    """The default congestion control."""
    what = ("controller.default", GROUP, "default")
    read = host.sysctl(CONTROLLER)
    name = read.first()
    if not name:
        return unknown(*what, read.source, f"can't be read: {read.why or 'empty'}")
    if name == BBR:
        return Finding(*what, "ok", name, name, read.source, "New connections use BBR unless they choose another.")
    meaning = f"New connections use {name}; open connections keep theirs."
    change = ENABLE if presence(host, BBR).kind in ("built in", "loaded", "loadable") else ()
    return Finding(*what, "ok", name, name, read.source, meaning, change)


def bbr(host: LocalHost, info: Callable[[str], bytes] = kernel_modules.cc_info) -> Iterator[Finding]:
    """How the kernel has BBR, and which version."""
    has = presence(host, BBR)
    kind = ("controller.bbr", GROUP, "BBR is")
    if has.kind == "unknown":
        yield unknown(*kind, has.source, f"can't be determined: {has.why}")
        return
    meaning = {
        "built in": "No module needs to be loaded.",
        "loaded": "Must be loaded at each boot, by modules-load.d or by the first privileged program that chooses BBR.",
        "loadable": "Is loaded when a privileged program first chooses BBR.",
        "absent": "The kernel was built without BBR, or the package with its modules is not installed.",
    }[has.kind]
    shown = {"loaded": "a module, loaded", "loadable": "a module, not loaded"}.get(has.kind, has.kind)
    yield Finding(*kind, "problem" if has.kind == "absent" else "ok", has.kind, shown, has.source, meaning)
    if has.kind == "absent":
        return
    version = ("controller.bbr_version", GROUP, "BBR version")
    found = kernel_modules.which(host, has, info)
    if found.version is None:
        yield unknown(*version, found.source, f"{'; '.join(found.seen)}.")
        return
    name = {"v1": "v1, as in Linux", "v3": "v3, as in Google's tree"}.get(found.version, found.version)
    found_values = "; ".join(found.seen)
    yield Finding(*version, "ok", found.version, name, found.source, f"{found_values[:1].upper()}{found_values[1:]}.")


def opened(host: LocalHost) -> Finding:
    """What a new connection gets, tested with a real one."""
    what = ("controller.new_connection", GROUP, "a new connection")
    source = "a connection over loopback, TCP_CONGESTION"
    if not host.live:
        return unknown(*what, source, "not tested: --root names a folder, not the running host")
    try:
        found = kernel_modules.opened()
    except OSError as error:
        return unknown(*what, source, f"can't open a socket: {error}")
    found_values = list(dict.fromkeys(found.controllers))
    meant = host.sysctl(CONTROLLER).first()
    if found_values == [meant]:
        meaning = "Tested: it gets the default." if found.connected else f"A socket gets the default; {found.why}."
        return Finding(*what, "ok", found_values, found_values[0], source, meaning)
    meaning = f"Does not get the default, {meant}: a BPF program of a control group may override it."
    return Finding(*what, "warning", found_values, ", ".join(found_values), source, meaning)


def at_boot(host: LocalHost) -> Finding:
    """The default that the host's files set at boot."""
    what = ("controller.at_boot", GROUP, "at the next boot")
    last = in_force(host, CONTROLLER)
    now = host.sysctl(CONTROLLER).first()
    if last is None:
        return _kernel_default(host, what, now)
    source = f"{last.file}, line {last.line}"
    by = " 'dumbbell disable' undoes it." if last.file == DROPIN else ""
    if now is None or last.value == now:
        return Finding(*what, "ok", last.value, last.value, source, f"This file sets it.{by}")
    meaning = f"This file sets it at boot; currently it is {now}.{by}"
    return Finding(*what, "warning", last.value, last.value, source, meaning)


def _kernel_default(host: LocalHost, what: tuple[str, str, str], now: str | None) -> Finding:
    """The default that the kernel was built with (`CONFIG_DEFAULT_TCP_CONG`), for hosts whose files set none."""
    built = kernel_modules.option(host, "DEFAULT_TCP_CONG")
    name = built.strip('"') if built and built != "n" else None
    meaning = "No file in sysctl.d sets it: the kernel's default applies after the next boot."
    if name is None:
        shown, source = "the kernel's default", "sysctl.d"
        return Finding(*what, "ok", None, shown, source, f"{meaning} Its configuration, which names it, can't be read.")
    source = "sysctl.d, CONFIG_DEFAULT_TCP_CONG"
    if now in (None, name):
        return Finding(*what, "ok", None, f"the kernel's default, {name}", source, meaning)
    meaning = f"{meaning} Currently it is {now}, set by hand or by a program."
    change = (f"sudo dumbbell enable {now}",)
    return Finding(*what, "warning", None, f"the kernel's default, {name}", source, meaning, change)


def routes(host: LocalHost) -> Finding:
    """Routes that set a congestion control."""
    what = ("controller.routes", GROUP, "by route")
    read = host.command(*ROUTES)
    found, why = rows(read)
    if why:
        return unknown(*what, read.source, why)
    chosen = [(word(row, "dst"), _congctl(row)) for row in found]
    found_values = {dst: name for dst, name in chosen if name}
    if not found_values:
        return Finding(*what, "ok", {}, "none", read.source, "No route sets a congestion control.")
    shown = ", ".join(f"{dst}: {name}" for dst, name in found_values.items())
    meaning = "Connections over these routes ignore the default."
    change = tuple(f"ip route show {dst}" for dst in found_values)
    return Finding(*what, "warning", found_values, shown, read.source, meaning, change)


def connections(host: LocalHost) -> Finding:
    """Congestion controls of open connections."""
    what = ("connections.controllers", "connections", "open now")
    found = controllers_in_use(host)
    if found.counts is None:
        return unknown(*what, found.source, found.why)
    found_values = dict(found.counts.most_common())
    shown = ", ".join(f"{count} × {name}" for name, count in found_values.items()) or "none"
    meant = host.sysctl(CONTROLLER).first()
    if not found_values:
        return Finding(*what, "ok", {}, shown, found.source, "No open connections in this network namespace.")
    others = {name for name in found_values if name != meant}
    if not others:
        return Finding(*what, "ok", found_values, shown, found.source, "All open connections use the default.")
    meaning = (
        f"A connection keeps its initial congestion control; those without {meant} were opened "
        "before it became the default, or chose another. Restart the program that holds them to change that."
    )
    return Finding(*what, "warning", found_values, shown, found.source, meaning)


def _congctl(row: dict[str, object]) -> str:
    """The congestion control of a route; iproute2 prints it among the metrics."""
    for place in (row, *(one for one in _listed(row.get("metrics")) if isinstance(one, dict))):
        if name := word(place, "congestion") or word(place, "congctl"):
            return name
    return ""


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
