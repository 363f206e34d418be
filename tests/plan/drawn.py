"""Hypothesis strategies for experiments that use every key of the plan; most are valid, and many can't be planned."""

from typing import Any

from hypothesis import strategies as st

from plan.test_world import LOSSES, QDISCS, RATES, TIMES

__all__ = ["documents", "documents_for_hosts", "traces"]

NAMES = st.sampled_from(["a", "a-2", "cubic", "x y"])
LINK_NAMES = st.sampled_from(["lan", "wifi", "reverse", "path"])
ROW = st.sampled_from(["bottleneck", "bottleneck", "lan", "wifi"])
SIZES = st.sampled_from(["1", "1500", "64KiB", "1MB", "4GiB"])
DISCIPLINES = st.one_of(
    QDISCS,
    st.sampled_from(
        [
            "police rate 1mbit burst 20kb", "police rate 1mbit", "police rate 8mbit burst 1bdp mtu 9000",
            "cake bandwidth 2mbit", "tbf rate 1mbit burst 3kb limit 1.7bdp", "netem delay 1ms seed 3", "sfb", "hhf",
            "fq_codel limit 0.3bdp memory_limit 2bdp", "netem rate 2mbit delay 2ms",
        ]
    ),
)  # fmt: skip
SCRIPTS = st.sampled_from(
    [
        "tc qdisc add dev eth0 root handle 1: htb default 10\n"
        "tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit ceil 8mbit\n"
        "tc class add dev eth0 parent 1: classid 1:20 htb rate 1mbit\n"
        "tc qdisc add dev eth0 parent 1:10 handle 0a: netem delay 10ms loss 1%\n"
        "tc filter add dev eth0 parent 1: protocol ip prio 1 handle 10 fw flowid 1:20\n"
        "iptables -A OUTPUT -t mangle -p tcp --dport 5201 -j MARK --set-mark 10",
        "tc qdisc add dev eth0 root netem delay 5ms",
        "tc qdisc add dev eth0 root handle 1: tbf rate 1mbit burst 3kb limit 30kb\n"
        "tc qdisc add dev eth0 parent 1:1 handle 2: netem delay 1ms\n"
        "tc qdisc change dev eth0 parent 1:1 handle 2: netem delay 2ms",
        "tc qdisc add dev eth0 parent 1:1 handle 1: tbf rate 1mbit burst 3kb limit 30kb",
        "tc filter add dev eth0 parent 1: protocol all prio 1 matchall classid 1:1 action police rate 1mbit burst 9k",
        "tc qdisc add dev eth0 root handle fffffff: prio\n"
        "iptables -A OUTPUT -t mangle -p tcp --dport 5201 -j MARK --set-mark 70000",
    ]
)
SETTINGS = (
    "net.ipv4.tcp_ecn", "net.ipv4.tcp_sack", "net.core.somaxconn", "net.core.rmem_max", "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_min_tso_segs", "net.ipv4.tcp_mem", "net.ipv4.tcp_fin_timeout",
)  # fmt: skip
SYSCTLS = st.dictionaries(
    st.sampled_from(SETTINGS), st.sampled_from(["0", "1", "2", "007", "256", "1 2 3"]), max_size=3
)
PARAMETERS = st.dictionaries(
    st.sampled_from(["beta", "hystart", "slow_start"]), st.sampled_from([0, 717, "5ms", "8mbit", "word"]), max_size=2
)


IMPAIRMENTS = {
    "delay": TIMES,
    "loss": LOSSES,
    "jitter": st.just("1ms"),
    "reorder": st.just("25% 50%"),
    "duplicate": st.just("1%"),
    "corrupt": st.just("0.1%"),
    "slot": st.just("1ms"),
    "distribution": st.just("normal"),
}
SEGMENTS = IMPAIRMENTS | {"rate": RATES, "qdisc": DISCIPLINES}


def few(keys: dict[str, st.SearchStrategy[Any]], most: int = 3, least: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """A few of these keys; with all of them hardly any experiment would be valid."""
    chosen = st.lists(st.sampled_from(sorted(keys)), min_size=least, max_size=most, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: keys[name] for name in names}))


def with_delay(keys: dict[str, Any]) -> dict[str, Any]:
    """Jitter needs a delay, and so on."""
    needs = keys.keys() & {"jitter", "reorder", "distribution"}
    more = {"delay": "3ms"} if needs else {}
    return keys | more | ({"jitter": "1ms"} if "distribution" in keys else {})


def segments() -> st.SearchStrategy[dict[str, Any]]:
    return few(SEGMENTS).map(with_delay)


TCP_KEYS = {
    "name": NAMES, "count": st.integers(0, 4), "start": st.just("100ms"), "stop": st.just("1500ms"),
    "stagger": TIMES, "start_jitter": st.sampled_from(["1ns", "300ms"]), "bytes": SIZES,
    "port": st.sampled_from([5201, 5202, 80, 65535]),
    "think": TIMES, "ecn": st.booleans(), "sndbuf": SIZES, "rcvbuf": SIZES, "initial_window": st.integers(1, 40),
    "delayed_ack": st.booleans(), "prompt_reads": st.booleans(), "pacing_rate": RATES, "enter": ROW, "leave": ROW,
    "access": segments(), "host_qdisc": DISCIPLINES, "cc_parameters": PARAMETERS,
}  # fmt: skip
TOGETHER = st.sampled_from(
    [
        {}, {}, {"bytes": "10kB", "arrivals": "7.5/s"}, {"on_time": "100ms", "off_time": "3ms"},
        {"request": "100", "response": "1kB"}, {"request": "1", "response": "2", "on_time": "1s", "off_time": "1s"},
    ]
)  # fmt: skip
TCP = st.builds(
    lambda cc, keys, more: {"cc": cc} | keys | more, st.sampled_from(["cubic", "reno", "bbr"]), few(TCP_KEYS), TOGETHER
)
UDP = st.builds(
    lambda rate, keys: {"kind": "udp", "rate": rate} | keys,
    st.sampled_from(["1mbit", "3kbit", "999bit"]),
    few({"payload": st.integers(16, 8900), "count": st.integers(0, 3), "start": st.just("7us"), "name": NAMES}),
)
LINKS = st.lists(
    st.builds(
        lambda name, keys, where: {"name": name, "where": where} | keys,
        LINK_NAMES, segments(), st.sampled_from(["before", "after"]),
    ),
    max_size=2, unique_by=lambda link: link["name"],
)  # fmt: skip
CHANGE = {"rate": RATES, "rtt": TIMES, "delay": TIMES, "jitter": st.just("0s"), "loss": LOSSES}
CHANGES = st.builds(
    lambda at, keys, link: {"at": at} | keys | link,
    TIMES, few(CHANGE, 2, 1), st.one_of(st.just({}), st.fixed_dictionaries({"link": ROW})),
)  # fmt: skip
PROGRAMS = st.builds(
    lambda name, on, keys: {"name": name, "host": on, "run": "echo 'a b' $c"} | keys,
    st.sampled_from(["p", "q", "r.s"]),
    st.sampled_from(["sender", "receiver", "router", "sender2", "nowhere"]),
    few(
        {
            "group": st.just("cubic"), "start": st.just("7us"), "ends": st.booleans(),
            "stop": st.sampled_from(["end", "1900ms"]),
            "serves": st.sampled_from([80, "any"]), "env": st.just({"A": "it's", "B": ""}), "expect_status": st.just(3),
            "writable": st.just(["/var/lib/x"]), "cc": st.sampled_from(["cubic", "reno"]),
            "files": st.just({"a/b c": "x\u200by\\", "z": {"bytes": "5kB"}, "plain": "héllo 'x'", "d": "न\u200dम"}),
        }
    ),
)  # fmt: skip
HOSTS = {
    "sender": {"ssh": "root@one", "address": "192.168.7.1", "device": "eth1"},
    "receiver": {"ssh": "two", "address": "192.168.8.2", "device": "eth5"},
}
ROUTER = {"ssh": "ssh://three:22", "to_receiver": "eth2", "to_sender": "eth3"}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """An experiment as its file's tables; `path.bottleneck.rate_trace` is left to the caller."""
    path = with_delay(draw(few(IMPAIRMENTS)))
    path["rtt"] = "2s" if "delay" in path else draw(st.sampled_from(["0s", "7us", "20ms", "2s"]))
    path |= draw(few({"offloads": st.booleans(), "mtu": st.integers(576, 9000)}))
    if draw(st.integers(0, 5)):
        path["bottleneck"] = {"qdisc": draw(DISCIPLINES), "rate": draw(RATES)}
    path["links"] = draw(LINKS)
    if draw(st.booleans()):
        path["reverse"] = draw(segments())
        if "delay" in path:
            path["reverse"].pop("delay", None)
        path["reverse"] = {key: value for key, value in path["reverse"].items() if key in ("delay", "rate", "qdisc")}
    hosts = draw(st.sampled_from([None, None, None, HOSTS, HOSTS | {"router": ROUTER}]))
    if draw(st.integers(0, 3)) == 0 or ("bottleneck" not in path and hosts is None):
        path["tc"] = {"interface": "eth0", "commands": draw(SCRIPTS)} | draw(few({"queue": st.just("1:")}))
    else:
        path["telemetry"] = draw(st.booleans())
    tcp = {"ecn": st.booleans(), "rmem_max": SIZES, "slow_start_after_idle": st.booleans(), "sysctl": SYSCTLS}
    document = {
        "duration": "2s",
        "path": path,
        "flows": draw(st.lists(st.one_of(TCP, TCP, UDP), min_size=1, max_size=4)),
        "changes": draw(st.lists(CHANGES, max_size=2)),
        "tcp": draw(few(tcp)),
    } | draw(few({"sample": st.sampled_from(["1us", "3ms", "1s"]), "record": st.sampled_from(["samples", "events"])}))
    if draw(st.integers(0, 3)) == 0:
        programs = st.lists(PROGRAMS, min_size=1, max_size=2, unique_by=lambda program: program["name"])
        document["programs"] = draw(programs)
    if draw(st.booleans()):
        probe = few({"kind": st.sampled_from(["ping", "udp"]), "interval": st.just("7ms"), "start": TIMES})
        document["probes"] = draw(st.lists(probe, max_size=2))
    return document if hosts is None else document | {"hosts": hosts}


@st.composite
def documents_for_hosts(draw: st.DrawFn) -> dict[str, Any]:
    """The same on real hosts, with few of the keys that these can't have."""
    document = draw(documents())
    document["hosts"] = draw(st.sampled_from([HOSTS, HOSTS | {"router": ROUTER}, HOSTS | {"router": ROUTER}]))
    for table, keys in ((document, ["programs"]), (document["path"], ["links", "tc"])):
        for key in keys:
            if draw(st.integers(0, 9)):
                table.pop(key, None)
    if "reverse" in document["path"] and draw(st.integers(0, 9)):
        document["path"]["reverse"] = {"delay": "3us"} if document["path"]["rtt"] != "0s" else {}
    refused = ("access", "enter", "leave", "host_qdisc", "initial_window", "ecn", "delayed_ack", "cc_parameters")
    for group in document["flows"]:
        for key in refused:
            if draw(st.integers(0, 19)):
                group.pop(key, None)
    for change in document["changes"]:
        change.pop("link", None)
    return document


def traces() -> st.SearchStrategy[bytes]:
    """Times of a trace in milliseconds, a line each; most experiments have none."""
    times = st.lists(st.integers(1, 2000), min_size=1, max_size=20).map(sorted)
    files = times.map(lambda times: "".join(f"{time}\n" for time in times).encode())
    return st.one_of(st.just(b""), st.just(b""), st.just(b""), files)
