"""Findings about controllers: which there are, who may use them, the default, which BBR it is, and by route."""

from collections.abc import Callable, Iterator

from dumbbell.machine import probe, versions
from dumbbell.machine.dropin import ALLOWED, CONTROLLER, DROPIN
from dumbbell.machine.finding import Finding, Mark, unknown
from dumbbell.machine.inuse import in_use
from dumbbell.machine.modules import AVAILABLE, presence
from dumbbell.machine.rows import ROUTES, rows, word
from dumbbell.machine.sources import Machine
from dumbbell.machine.sysctld import assignments

__all__ = ["ROUTES", "allowed", "at_boot", "available", "bbr", "connections", "default", "opened", "routes"]

GROUP = "controller"
BBR = "bbr"
ENABLE = ("sudo dumbbell enable bbr",)


def available(machine: Machine) -> Finding:
    """Controllers that are ready."""
    what = ("controller.available", GROUP, "available")
    read = machine.sysctl(AVAILABLE)
    if read.text is None:
        return unknown(*what, read.source, f"controllers can't be read: {read.why}")
    names = read.words()
    if BBR in names:
        return Finding(*what, "ok", names, ", ".join(names), read.source, "BBR is ready.")
    has = presence(machine, BBR)
    if has.kind == "loadable":
        meaning = "BBR is a module that is not loaded yet; enabling it loads it."
        return Finding(*what, "look", names, ", ".join(names), read.source, meaning, ENABLE)
    meaning = "This kernel has no BBR: no CONFIG_TCP_CONG_BBR, or its module is in a package that is not installed."
    return Finding(*what, "problem", names, ", ".join(names), read.source, meaning)


def allowed(machine: Machine) -> Finding:
    """Controllers that a program without powers may choose."""
    what = ("controller.allowed", GROUP, "allowed")
    read = machine.sysctl(ALLOWED)
    if read.text is None:
        return unknown(*what, read.source, f"it can't be read: {read.why}")
    names, ready = read.words(), machine.sysctl(AVAILABLE).words()
    shut = [name for name in ready if name not in names]
    if not shut:
        return Finding(*what, "ok", names, ", ".join(names), read.source, "Any program may choose any of them.")
    mark: Mark = "look" if BBR in shut else "ok"
    meaning = f"A program needs CAP_NET_ADMIN to choose {', '.join(shut)} for a socket of its own."
    change = (f"sudo sysctl -w {ALLOWED}='{' '.join([*names, *shut])}'",) if mark == "look" else ()
    return Finding(*what, mark, names, ", ".join(names), read.source, meaning, change)


def default(machine: Machine) -> Finding:
    """What new connections get."""
    what = ("controller.default", GROUP, "default")
    read = machine.sysctl(CONTROLLER)
    name = read.first()
    if not name:
        return unknown(*what, read.source, f"it can't be read: {read.why or 'it is empty'}")
    if name == BBR:
        return Finding(*what, "ok", name, name, read.source, "New connections use BBR, unless they ask for another.")
    meaning = f"New connections use {name}; those that are open keep what they have."
    change = ENABLE if presence(machine, BBR).kind in ("built in", "loaded", "loadable") else ()
    return Finding(*what, "look", name, name, read.source, meaning, change)


def bbr(machine: Machine, info: Callable[[str], bytes] = probe.cc_info) -> Iterator[Finding]:
    """Whether BBR is a module, and which BBR it is."""
    has = presence(machine, BBR)
    kind = ("controller.bbr", GROUP, "BBR is")
    if has.kind == "unknown":
        yield unknown(*kind, has.source, f"it can't be known: {has.why}")
        return
    meaning = {
        "built in": "Nothing needs to be loaded.",
        "loaded": "It needs to be loaded at each boot, by modules-load.d or by whoever first asks for it.",
        "loadable": "It is loaded when somebody with powers first asks for it.",
        "absent": "This kernel was built without it, or its package of modules is not installed.",
    }[has.kind]
    shown = {"loaded": "a module, loaded", "loadable": "a module, not loaded"}.get(has.kind, has.kind)
    yield Finding(*kind, "problem" if has.kind == "absent" else "ok", has.kind, shown, has.source, meaning)
    if has.kind == "absent":
        return
    version = ("controller.bbr_version", GROUP, "BBR version")
    found = versions.which(machine, has, info)
    if found.version is None:
        yield unknown(*version, found.source, f"{'; '.join(found.seen)}.")
        return
    name = {"v1": "v1, as in Linux", "v3": "v3, as in Google's tree"}.get(found.version, found.version)
    told = "; ".join(found.seen)
    yield Finding(*version, "ok", found.version, name, found.source, f"{told[:1].upper()}{told[1:]}.")


def opened(machine: Machine) -> Finding:
    """What a connection that is opened now really gets."""
    what = ("controller.new_connection", GROUP, "a new connection")
    source = "a connection over loopback, TCP_CONGESTION"
    if not machine.live:
        return unknown(*what, source, "not tried: this is a folder, not the machine that runs")
    try:
        found = probe.opened()
    except OSError as error:
        return unknown(*what, source, f"no socket can be had: {error}")
    told = list(dict.fromkeys(found.controllers))
    meant = machine.sysctl(CONTROLLER).first()
    if told == [meant]:
        meaning = "Tried: it gets the default." if found.connected else f"A socket gets the default; {found.why}."
        return Finding(*what, "ok", told, told[0], source, meaning)
    meaning = f"It does not get the default, {meant}: a BPF program of a control group may choose for it."
    return Finding(*what, "look", told, ", ".join(told), source, meaning)


def at_boot(machine: Machine) -> Finding:
    """What the machine's files make the default at boot."""
    what = ("controller.at_boot", GROUP, "at the next boot")
    lines = [line for line in assignments(machine) if line.sets(CONTROLLER)]
    now = machine.sysctl(CONTROLLER).first()
    if not lines:
        meaning = "No file in sysctl.d sets it: the kernel's own default returns at the next boot."
        return Finding(*what, "ok", None, "the kernel's default", "sysctl.d", meaning)
    last = lines[-1]
    source = f"{last.file}, line {last.line}"
    by = " 'dumbbell disable' undoes it." if last.file == DROPIN else ""
    if now is None or last.value == now:
        return Finding(*what, "ok", last.value, last.value, source, f"That file sets it.{by}")
    meaning = f"That file sets it at boot; now it is {now}.{by}"
    return Finding(*what, "look", last.value, last.value, source, meaning)


def routes(machine: Machine) -> Finding:
    """Routes that choose a controller for what is sent by them."""
    what = ("controller.routes", GROUP, "by route")
    read = machine.command(*ROUTES)
    found, why = rows(read)
    if why:
        return unknown(*what, read.source, why)
    chosen = [(word(row, "dst"), _congctl(row)) for row in found]
    told = {dst: name for dst, name in chosen if name}
    if not told:
        return Finding(*what, "ok", {}, "none", read.source, "No route has a controller of its own.")
    shown = ", ".join(f"{dst}: {name}" for dst, name in told.items())
    meaning = "Connections by these routes ignore the default."
    change = tuple(f"ip route show {dst}" for dst in told)
    return Finding(*what, "look", told, shown, read.source, meaning, change)


def connections(machine: Machine) -> Finding:
    """Controllers of the connections that are open."""
    what = ("connections.controllers", "connections", "open now")
    found = in_use(machine)
    if found.counts is None:
        return unknown(*what, found.source, found.why)
    told = dict(found.counts.most_common())
    shown = ", ".join(f"{count} × {name}" for name, count in told.items()) or "none"
    meant = machine.sysctl(CONTROLLER).first()
    if not told:
        return Finding(*what, "ok", {}, shown, found.source, "No connection is open in this network namespace.")
    others = {name for name in told if name != meant}
    if not others:
        return Finding(*what, "ok", told, shown, found.source, "All that are open have the default controller.")
    meaning = (
        f"A connection keeps the controller that it began with; those without {meant} were opened "
        "before, or asked for it. Restart the program that holds them to change that."
    )
    return Finding(*what, "look", told, shown, found.source, meaning)


def _congctl(row: dict[str, object]) -> str:
    """The controller of a route, which iproute2 writes among its metrics."""
    for place in (row, *(one for one in _listed(row.get("metrics")) if isinstance(one, dict))):
        if name := word(place, "congestion") or word(place, "congctl"):
            return name
    return ""


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
