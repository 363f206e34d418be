"""tc scripts that an experiment contains verbatim."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.spec.units import Wrong
from spec.scripts import read_script

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def lines(file: str, interface: str) -> tuple[list[str], list[tuple[int, int]], list[str]]:
    script = read_script((SCENARIOS / file).read_text().splitlines(), interface)
    return script.commands, script.marks, script.left_out


def test_the_script_of_cyclic_is_parsed_to_these_lines() -> None:
    kept, marks, omitted = lines("cyclic.sh", "enp3s0")
    assert kept == [
        "tc qdisc add dev {device} root handle 1:0 netem delay 10ms limit 1000",
        "tc qdisc add dev {device} parent 1:1 handle 10: tbf rate 80mbit buffer 1mbit limit 1000mbit",
        "tc qdisc add dev {device} parent 10:1 handle 100: tbf rate 80mbit burst .05mbit limit 225000b",
    ]
    assert marks == []
    assert omitted == ["sudo tc qdisc del dev enp3s0 root", "tc -s qdisc ls dev enp3s0"]


def test_the_script_of_two_classes_is_parsed_to_these_lines() -> None:
    kept, marks, omitted = lines("two-classes.sh", "enp61s0f1np1")
    assert kept == [
        "tc qdisc add dev {device} root handle 1: htb",
        "tc class add dev {device} parent 1: classid 1:1 htb rate 10gbit",
        "tc class add dev {device} parent 1:1 classid 1:10 htb rate 5gbit",
        "tc class add dev {device} parent 1:1 classid 1:20 htb rate 5gbit",
        "tc filter add dev {device} protocol ip parent 1:0 prio 1 handle 10 fw flowid 1:10",
        "tc filter add dev {device} protocol ip parent 1:0 prio 1 handle 20 fw flowid 1:20",
        "tc qdisc add dev {device} parent 1:10 handle 10: netem delay 10ms loss 1",
        "tc qdisc add dev {device} parent 1:20 handle 20: netem delay 10ms loss 1",
    ]
    assert marks == [(5201, 10), (5202, 20)]
    assert omitted == [
        "tc qdisc del dev enp61s0f1np1 root",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "tc qdisc add dev eth0 root netem ; rm -rf /",
        "tc qdisc add dev eth0 root netem; rm -rf /",
        "tc qdisc add dev eth0 root pfifo limit `reboot`",
        "tc qdisc add dev eth0 root pfifo limit $(reboot)",
        "tc qdisc add dev eth0 root pfifo limit 10 | tee x",
        "tc qdisc add dev eth0 root pfifo limit 10 && reboot",
        "tc qdisc add dev eth0 root netem\nrm -rf /",
        "tc qdisc add dev eth0 root netem delay 1ms 1ms distribution ../../x",
        "tc qdisc add dev eth0 root netem delay 1ms 1ms distribution /etc/passwd",
        "tc qdisc add dev eth0 root netem delay 1ms 1ms distribution mine",
        "tc -batch /etc/passwd",
        "tc -b /etc/passwd qdisc add dev eth0 root pfifo",
        "tc exec bpf import x",
        "tc actions add action mirred egress redirect dev lo",
        "tc monitor",
        "tc qdisc",
        "tc qdisc add dev eth1 root pfifo",
        "tc qdisc add root pfifo",
        "tc qdisc add dev eth0 root ingress limit 5",
        "tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev eth1",
        "tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0 exec",
        "ip link add ../x type ifb",
        "ip link add eth1 type veth peer name eth2",
        "tc qdisc add dev eth0 root nonsense",
        "tc qdisc add dev eth0 root",
        "tc qdisc add dev eth0 root bfifo limit 1bdp",
        "tc qdisc add dev eth0 parent x:y pfifo",
        "tc qdisc add dev eth0 handle",
        "tc qdisc replace dev eth0 root pfifo limit 10 limt 5",
        "tc qdisc link dev eth0 root pfifo",
        "tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 1mbit",
        "tc class add dev eth0 parent 1: classid 1:1 htb rate fast",
        "tc filter add dev eth0 parent 1: bpf obj evil.o sec x",
        "tc filter add dev eth0 parent 1: bpf object-file evil.o",
        "tc filter add dev eth0 parent 1: bpf object-pinned /sys/fs/bpf/x",
        "tc filter add dev eth0 parent 1: basic match cmp",
        "tc filter add dev eth0 parent 1: u32 match u32 0 0 action mirred egress redirect dev lo",
        "tc filter add dev eth0 parent 1: matchall action ife encode",
        "tc filter add dev eth0 parent 1: matchall police rate 1mbit",
        "iptables -A OUTPUT -p tcp --dport 5201 -j REDIRECT --set-mark 1",
        "iptables -A OUTPUT -p tcp --dport 5201 -j DROP",
        "iptables -A OUTPUT -p tcp --dport 5201 -j TEE --gateway 10.0.0.1",
        "iptables -A OUTPUT --dport 5201 --set-mark 10 -j ../../lib/evil",
        "iptables -F",
        "iptables --modprobe=/tmp/evil -A OUTPUT --dport 5201 -j MARK --set-mark 1",
        "iptables -A OUTPUT --dport x -j MARK --set-mark 1",
        "ip link set eth0 down",
        "rm -rf /",
        "../tc qdisc add dev eth0 root pfifo",
        "sudo rm -rf /",
        "sudo -u root tc qdisc add dev eth0 root pfifo",
        "PATH=/tmp tc qdisc add dev eth0 root pfifo",
        "echo x > /proc/sys/kernel/core_pattern",
        "tc qdisc add dev eth0 root pfifo > /proc/sysrq-trigger",
        "tc qdisc add dev eth0 root pfifo || reboot",
        "bash -c 'tc qdisc add dev eth0 root pfifo'",
        "source evil.sh",
        ". evil.sh",
        "for i in 1 2; do tc qdisc add dev eth0 root pfifo; done",
        "'unbalanced",
    ],
)
def test_a_script_may_only_run_tc_on_its_own_device(line: str) -> None:
    with pytest.raises(Wrong, match=r"^line 2 \('"):
        read_script(["# a comment", line], "eth0")


@pytest.mark.parametrize(
    "line",
    [
        "tc qdisc add dev eth0 root handle 1: pfifo limit 10 > /etc/passwd",
        "tc -n other qdisc add dev eth0 root handle 1: pfifo limit 10",
        "tc -netns /run/netns/x qdisc add dev eth0 root handle 1: pfifo limit 10",
        "/sbin/tc qdisc add dev eth0 root handle 1: pfifo limit 10",
        "sudo sudo tc qdisc add dev eth0 root handle 1: pfifo limit 10 2>&1",
    ],
)
def test_of_a_command_line_only_tc_s_words_are_kept(line: str) -> None:
    assert read_script([line], "eth0").commands == ["tc qdisc add dev {device} root handle 1: pfifo limit 10"]


@pytest.mark.parametrize("line", ["modprobe tcp_bbr", "sysctl -w kernel.core_pattern=x", "ethtool -K eth0 tso off"])
def test_setup_of_a_host_is_never_run(line: str) -> None:
    assert read_script([line], "eth0").commands == []


TREE = [
    "tc qdisc add dev eth0 root handle 1: htb",
    "tc class add dev eth0 parent 1: classid 1:1 htb rate 1mbit",
    "tc class add dev eth0 parent 1: classid 1:10 htb rate 1mbit",
    "tc class add dev eth0 parent 1: classid 1:20 htb rate 1mbit",
    "tc qdisc add dev eth0 parent 1:20 handle 20: netem loss 1%",
    "tc filter add dev eth0 parent 1: prio 7 u32 match ip dport 5201 0xffff flowid 1:10",
]


@pytest.mark.parametrize(
    "line",
    [
        "tc qdisc add dev eth0 parent 1:1 handle 3: prio bands 3",
        "tc qdisc replace dev eth0 root handle 2: fq_codel target 5ms",
        "tc qdisc change dev eth0 parent 1:20 handle 20: netem delay 10ms 1ms 25% distribution normal",
        "tc class change dev eth0 parent 1: classid 1:1 htb rate 1mbit ceil 2mbit prio 1",
        "tc class replace dev eth0 parent 1: classid 1:10 htb rate 1mbit",
        "tc qdisc del dev eth0 parent 1:20",
        "tc qdisc del dev eth0 root",
        "tc class del dev eth0 parent 1: classid 1:20",
        "tc filter del dev eth0 parent 1: prio 7",
        "tc filter add dev eth0 protocol ip parent 1:0 prio 1 u32 match ip dport 5201 0xffff flowid 1:10",
        "tc filter add dev eth0 parent 1: protocol ip flower ip_proto tcp dst_port 5201 classid 1:10",
        "tc filter add dev eth0 parent 1: protocol ip u32 match ip dst 10.0.0.1/32 flowid 1:1",
    ],
)
def test_commands_that_set_up_a_queue_are_kept_as_written(line: str) -> None:
    kept = read_script([*TREE, f"sudo {line}  # why"], "eth0").commands
    assert kept[-1] == line.replace("eth0", "{device}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tc qdisc del dev eth0 parent 1:10", "there is no discipline at '1:10' to delete"),
        ("tc qdisc del dev eth0 root netem", "the discipline at 'root' is a htb"),
        ("tc qdisc change dev eth0 parent 1:10 pfifo limit 5", "no pfifo to change at '1:10'"),
        ("tc qdisc change dev eth0 root tbf rate 1mbit burst 5kb limit 9kb", "no tbf to change at 'root'"),
        ("tc qdisc add dev eth0 root pfifo", "there is a discipline at 'root' already"),
        ("tc class change dev eth0 classid 1:30 htb rate 1mbit", "no class 1:30 to change"),
        ("tc class del dev eth0 classid 1:30", "there is no class 1:30 to delete"),
        ("tc filter del dev eth0 parent 1: prio 9", "there is no such filter to delete"),
    ],
)
def test_what_can_t_be_applied_is_refused_with_its_line(line: str, message: str) -> None:
    with pytest.raises(Wrong) as wrong:
        read_script([*TREE, line], "eth0")
    assert wrong.value.problem == f"line {len(TREE) + 1} ('{line}'): {message}"
    assert wrong.value.right


def test_a_script_may_start_with_deleting_what_a_host_had() -> None:
    script = read_script(["tc qdisc del dev eth0 root", "tc qdisc add dev eth0 root pfifo"], "eth0")
    assert (len(script.commands), script.left_out) == (1, ["tc qdisc del dev eth0 root"])


def test_a_discipline_without_a_handle_gets_a_new_one() -> None:
    script = ["tc qdisc add dev eth0 root handle 1: prio", "tc qdisc add dev eth0 parent 1:1 pfifo limit 10"]
    assert read_script(script, "eth0").commands == [
        "tc qdisc add dev {device} root handle 1: prio",
        "tc qdisc add dev {device} parent 1:1 handle db01: pfifo limit 10",
    ]
    root = read_script(["tc qdisc add dev eth0 root prio"], "eth0").commands[0]
    assert root == "tc qdisc add dev {device} root handle db00: prio"


def handle_of(command: str) -> str:
    tokens = command.split()
    return tokens[tokens.index("handle") + 1]


def test_a_change_keeps_the_handle_of_its_qdisc() -> None:
    script = ["tc qdisc add dev eth0 root netem delay 10ms", "tc qdisc change dev eth0 root netem delay 20ms"]
    added, changed = (handle_of(command) for command in read_script(script, "eth0").commands)
    assert added == changed


def test_a_discipline_of_another_kind_in_the_same_place_gets_another_handle() -> None:
    script = ["tc qdisc add dev eth0 root netem delay 10ms", "tc qdisc replace dev eth0 root prio"]
    script += ["tc qdisc del dev eth0 root", "tc qdisc add dev eth0 root pfifo"]
    handles = [handle_of(command) for command in read_script(script, "eth0").commands if " del " not in command]
    assert len(set(handles)) == 3


PIECES = st.sampled_from(
    "tc qdisc class filter add change del show dev eth0 eth1 root parent handle 1: 1:1 pfifo netem limit 10 delay 5ms "
    "htb rate 1mbit iptables --dport 5201 -j MARK --set-mark 7 ; $(x) `x` > | ../x /etc/passwd bpf obj action "
    "sudo # ' \" -batch".split()
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=12))
def test_the_kept_lines_of_any_script_are_harmless(pieces: list[str]) -> None:
    try:
        script = read_script([" ".join(pieces)], "eth0")
    except Wrong:
        return
    for tokens in (command.split() for command in script.commands):
        assert tokens[0] == "tc"
        assert tokens[1] in ("qdisc", "class", "filter")
        assert tokens[2] in ("add", "replace", "change", "del", "delete")
        assert all(token == "{device}" or token.isascii() for token in tokens)
        assert not any(set(token) & set(";$`<>|&'\"\\ \n") or ".." in token for token in tokens)
    assert all(isinstance(number, int) for mark in script.marks for number in mark)


@pytest.mark.parametrize("mark", ["-5", "0x1ffffffff"])
def test_a_mark_is_a_number_of_32_bits(mark: str) -> None:
    with pytest.raises(Wrong):
        read_script([f"iptables -A OUTPUT --dport 5201 -j MARK --set-mark {mark}"], "eth0")
