"""`enable CC --route PREFIX`: a congestion control for connections to some addresses, by the route's `congctl`.

Source: ip-route(8), `RTAX_CC_ALGO`. A route of that very prefix gets the attribute; without one a route is added that
takes the way of its prefix and has protocol number 218, so that it can be told from others and removed again. Routes
last until the next boot or until their device goes down.
"""

import ipaddress

from dumbbell.errors import LocalHostError
from dumbbell.host.sources import LocalHost
from dumbbell.host.steps import Route
from dumbbell.host.switch import Change

__all__ = ["OURS", "route_change", "route_removal"]

OURS = "218"
"""`proto` of routes that we add; rt_protos names none of this number."""
Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network


def route_change(host: LocalHost, text: str, controller: str) -> Change:
    """Give connections to these addresses this congestion control. Raises `LocalHostError`."""
    prefix = _prefix(text)
    undo = f"dumbbell disable --route {prefix}"
    own = _exact(host, prefix)
    if not own:
        way = (str(prefix), *_way(host, prefix), "proto", OURS, "congctl", controller)
        note = f"no route was {prefix}; one is added on the way that its first address takes"
        return Change((_step(prefix, ("add", *way), ("del", *way)),), (note,), controller, undo=undo)
    new = [*_without(own, "congctl"), "congctl", controller]
    if own == new:
        return Change((), (f"the route {prefix} has {controller} already",), controller, undo=undo)
    return Change((_step(prefix, ("replace", *new), ("replace", *own)),), (), controller, undo=undo)


def route_removal(host: LocalHost, text: str) -> Change:
    """Undo `route_change`: remove our route, or the attribute of another. Raises `LocalHostError`."""
    prefix = _prefix(text)
    own = _exact(host, prefix)
    if not own or "congctl" not in own:
        raise LocalHostError(f"nothing to undo: no route {prefix} sets a congestion control; ip route show lists them")
    if "proto" in own and own[own.index("proto") + 1 :][:1] == [OURS]:
        return Change((_step(prefix, ("del", str(prefix), "proto", OURS), ("add", *own)),), undo="")
    return Change((_step(prefix, ("replace", *_without(own, "congctl")), ("replace", *own)),), undo="")


def _step(prefix: Prefix, command: tuple[str, ...], inverse: tuple[str, ...]) -> Route:
    ip = ("ip", "-6") if prefix.version == 6 else ("ip",)
    return Route((*ip, "route", *command), (*ip, "route", *inverse))


def _prefix(text: str) -> Prefix:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise LocalHostError(
            f"--route: {error}; write a prefix such as 203.0.113.0/24 or 2001:db8::/32, or an address"
        ) from None


def _ip(prefix: Prefix) -> tuple[str, ...]:
    return ("ip", "-6") if prefix.version == 6 else ("ip",)


def _exact(host: LocalHost, prefix: Prefix) -> list[str]:
    """The words of the route of this very prefix; empty if there is none. Raises `LocalHostError` for several."""
    read = host.command(*_ip(prefix), "route", "show", "exact", str(prefix))
    if read.text is None:
        raise LocalHostError(f"routes can't be read: {read.why}")
    lines = [line.split() for line in read.text.splitlines() if line.strip()]
    if len(lines) > 1:
        raise LocalHostError(f"several routes are {prefix}; change the one that you mean: ip route show exact {prefix}")
    # `linkdown`, `pref medium` and the like tell a state; ip refuses some of them.
    words = [word for word in (lines[0] if lines else []) if word not in ("linkdown", "dead", "onlink", "offload")]
    return _without(_without(words, "pref"), "expires")


def _without(words: list[str], name: str) -> list[str]:
    """Without a name and its value; `congctl` may have `lock` between them."""
    if name not in words:
        return words
    at = words.index(name)
    length = 3 if words[at + 1 : at + 2] == ["lock"] else 2
    return words[:at] + words[at + length :]


def _way(host: LocalHost, prefix: Prefix) -> list[str]:
    """`via` and `dev` of the route that the first address takes."""
    read = host.command(*_ip(prefix), "route", "get", str(prefix[0] if prefix.num_addresses == 1 else prefix[1]))
    words = (read.text or "").split()
    found = []
    for name in ("via", "dev"):
        if name in words:
            found += words[words.index(name) : words.index(name) + 2]
    if "dev" not in found:
        raise LocalHostError(f"no route to {prefix}: {read.why or 'ip route get finds none'}")
    return found
