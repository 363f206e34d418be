"""Real hosts: whom to call by ssh, and the devices under test.

What is done there `dumbbell.plan.remote` says, how they are reached `dumbbell.engines.remote` knows. Only the engine
`host` looks at them.
"""

import ipaddress
import re
from typing import Annotated

from pydantic import BeforeValidator, model_validator

from dumbbell.spec.strict import Strict
from dumbbell.spec.units import Wrong

__all__ = ["End", "Hosts", "Router"]

_USER = r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*@)*"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_IPV6 = r"[A-Fa-f0-9:]+[A-Fa-f0-9.:]*(?:%[A-Za-z0-9_][A-Za-z0-9_.-]*)?"
TARGET = re.compile(
    rf"(?=.{{1,255}}\Z)(?:ssh://{_USER}{_NAME}(?::[0-9]{{1,5}})?|{_USER}(?:{_NAME}|{_IPV6}|\[{_IPV6}\]))\Z"
)
"""[user@]host, or a URI with a port: no white space, nothing that a shell knows, and neither a user nor a host that
begins with a dash. No `%` in a URI, where ssh would read it as the code of any character."""
DEVICE = re.compile(r"(?![.-])[A-Za-z0-9_.@:-]{1,15}\Z")
"""`dev_valid_name` (net/core/dev.c), without what would need quotes."""


def _target(value: object) -> str:
    if not isinstance(value, str) or not TARGET.match(value):
        raise Wrong(
            "not a host that ssh knows", 'what one types to ssh: "root@192.0.2.1", or an alias of ~/.ssh/config'
        )
    return value


def _device(value: object) -> str:
    if not isinstance(value, str) or not DEVICE.match(value):
        raise Wrong("not the name of a device", 'as ip link shows it, such as "eth1"')
    return value


def _address(value: object) -> str:
    right = 'the IPv4 address of the device under test, such as "192.168.7.1"'
    try:
        address = ipaddress.ip_address(value) if isinstance(value, str) else None
    except ValueError:
        address = None
    if address is None:
        raise Wrong("not an IPv4 address", right)
    if address.version != 4:
        raise Wrong("an IPv6 address; experiments use IPv4", f"{right}; ssh itself may use IPv6")
    if address.is_unspecified or address.is_multicast or address.is_loopback or address.is_reserved:
        raise Wrong("not an address of a device on a network", right)
    return str(address)


Target = Annotated[str, BeforeValidator(_target)]
DeviceName = Annotated[str, BeforeValidator(_device)]
Address = Annotated[str, BeforeValidator(_address)]


class End(Strict):
    """A sender or a receiver."""

    ssh: Target
    address: Address
    device: DeviceName


class Router(Strict):
    """A machine between them that forwards."""

    ssh: Target
    to_receiver: DeviceName
    to_sender: DeviceName

    @model_validator(mode="after")
    def _two_devices(self) -> "Router":
        if self.to_receiver == self.to_sender:
            raise Wrong("one device for both directions", "a router has a device on either side")
        return self


class Hosts(Strict):
    """Who does which part of an experiment."""

    sender: End
    receiver: End
    router: Router | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """Whom ssh would call."""
        return tuple(each.ssh for each in (self.sender, self.receiver, self.router) if each is not None)

    @model_validator(mode="after")
    def _different(self) -> "Hosts":
        if len(set(self.targets)) < len(self.targets):
            raise Wrong("one host in two roles", "sender, receiver and router need distinct hosts")
        if self.sender.address == self.receiver.address:
            raise Wrong("one address at both ends", "each end has an address of its own")
        return self
