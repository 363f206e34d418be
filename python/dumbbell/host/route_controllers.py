"""`enable CC --route PREFIX`: a congestion control for connections to some addresses, by the route's `congctl`.

Source: ip-route(8), `RTAX_CC_ALGO`. A route of that very prefix gets the attribute; without one a route is added that
takes the way of its prefix and has protocol number 218, so that it can be told from others and removed again. Routes
last until the next boot or until their device goes down.
"""

import ipaddress
import shlex
from dataclasses import dataclass

from dumbbell.errors import LocalHostError
from dumbbell.host.sources import LocalHost

__all__ = ["OURS", "RouteChange", "route_change", "route_removal"]

OURS = "218"
"""`proto` of routes that we add; rt_protos names none of this number."""
Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class RouteChange:
    """Commands of `ip` in order, the command that undoes them, and a note for the user."""

    commands: tuple[tuple[str, ...], ...]
    undo: str = ""
    note: str = ""

    def perform(self, host: LocalHost) -> None:
        """Run the commands. Raises `LocalHostError` with the reason."""
        for command in self.commands:
            done = host.command(*command)
            if done.text is None:
                raise LocalHostError(f"{shlex.join(command)}: {done.why}; changing routes needs root (CAP_NET_ADMIN)")


def route_change(host: LocalHost, text: str, controller: str) -> RouteChange:
    """Give connections to these addresses this congestion control. Raises `LocalHostError`."""
    prefix = _prefix(text)
    ip = _ip(prefix)
    undo = f"dumbbell disable --route {prefix}"
    own = _exact(host, prefix)
    if own:
        words = _without(own, "congctl")
        if " ".join(own) == " ".join([*words, "congctl", controller]):
            return RouteChange((), undo, f"the route {prefix} has {controller} already")
        return RouteChange(((*ip, "route", "replace", *words, "congctl", controller),), undo)
    way = _way(host, prefix)
    added = (*ip, "route", "add", str(prefix), *way, "proto", OURS, "congctl", controller)
    return RouteChange((added,), undo, f"no route was {prefix}; one is added on the way that its first address takes")


def route_removal(host: LocalHost, text: str) -> RouteChange:
    """Undo `route_change`: remove our route, or the attribute of another. Raises `LocalHostError`."""
    prefix = _prefix(text)
    own = _exact(host, prefix)
    if not own or "congctl" not in own:
        raise LocalHostError(f"nothing to undo: no route {prefix} sets a congestion control; ip route show lists them")
    if own[own.index("proto") + 1 :][:1] == [OURS] if "proto" in own else False:
        return RouteChange(((*_ip(prefix), "route", "del", str(prefix), "proto", OURS),))
    return RouteChange(((*_ip(prefix), "route", "replace", *_without(own, "congctl")),))


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
