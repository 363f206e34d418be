"""`[hosts]`: valid values, and errors with the key, the value and a remedy."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import ExperimentError
from dumbbell.spec import parse
from dumbbell.spec.document import read

FILE = Path("x.toml")
HOSTS: dict[str, Any] = {
    "sender": {"ssh": "root@192.0.2.1", "address": "192.168.7.1", "device": "eth1"},
    "receiver": {"ssh": "lab-receiver", "address": "192.168.7.2", "device": "eth1"},
    "router": {"ssh": "lab-router", "to_receiver": "eth2", "to_sender": "eth1"},
}


def document(**hosts: Any) -> dict[str, Any]:
    path = {"rtt": "10ms", "bottleneck": {"rate": "10mbit"}}
    return {"duration": "5s", "path": path, "flows": [{"cc": "cubic"}], "hosts": HOSTS | hosts}


def test_hosts_are_read() -> None:
    hosts = read(document(), FILE)[0].experiment.hosts
    assert hosts is not None
    assert hosts.sender.ssh == "root@192.0.2.1"
    assert hosts.router is not None
    assert hosts.router.to_receiver == "eth2"


def test_a_router_is_optional() -> None:
    hosts = {key: HOSTS[key] for key in ("sender", "receiver")}
    parsed_hosts = read(document() | {"hosts": hosts}, FILE)[0].experiment.hosts
    assert parsed_hosts is not None
    assert parsed_hosts.router is None


@pytest.mark.parametrize(
    ("role", "key", "value", "message"),
    [
        ("sender", "ssh", "-oProxyCommand=touch /tmp/x", "not a host that ssh knows"),
        ("sender", "ssh", "a b", "not a host that ssh knows"),
        ("sender", "address", "eth1", "not an IP address"),
        ("sender", "address", "127.0.0.1", "not an address of a device"),
        ("sender", "address", "fe80::1", "not an address of a device"),
        ("sender", "address", "2001:db8::1", "addresses of two families"),
        ("receiver", "device", "eth1; reboot", "not the name of a device"),
        ("receiver", "device", "a-name-that-is-too-long", "not the name of a device"),
        ("router", "to_sender", "eth2", "one device for both directions"),
        ("receiver", "ssh", "root@192.0.2.1", "one host in two roles"),
        ("receiver", "address", "192.168.7.1", "one address at both ends"),
    ],
)
def test_an_invalid_host_is_an_error_with_its_key(role: str, key: str, value: str, message: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        read(document(**{role: HOSTS[role] | {key: value}}), FILE)
    assert message in str(caught.value)
    assert caught.value.key.startswith("hosts")
    assert caught.value.right


@given(st.text(max_size=40))
def test_ssh_gets_no_option_and_no_second_argument(text: str) -> None:
    try:
        hosts = read(document(sender=HOSTS["sender"] | {"ssh": text}), FILE)[0].experiment.hosts
    except ExperimentError:
        return
    assert hosts is not None
    assert not hosts.sender.ssh.startswith("-")
    assert len(hosts.sender.ssh.split()) == 1
    assert not set(hosts.sender.ssh) & set("'\"$`;|&<>\\*?(){}!#~\n")


def test_only_real_hosts_may_omit_the_bottleneck() -> None:
    without = document() | {"path": {"rtt": "0ms"}}
    assert read(without, FILE)[0].experiment.path.bottleneck is None
    del without["hosts"]
    with pytest.raises(ExperimentError, match="no bottleneck"):
        read(without, FILE)


def test_a_missing_host_is_an_error() -> None:
    text = 'duration = "5s"\n[path]\nrtt = "0ms"\n[[flows]]\ncc = "bbr"\n[hosts.sender]\nssh = "a"\n'
    with pytest.raises(ExperimentError, match="this key is missing"):
        parse(text, FILE)
