"""The kernel that draws the simulator's random numbers: its edit, its boot arguments, and that both engines agree."""

from pathlib import Path

import pytest

from dumbbell.engines.base import Request, engine_called, permitted
from dumbbell.engines.named_streams import stream_arguments
from dumbbell.errors import KernelError
from dumbbell.kernels import kernels
from dumbbell.kernels.named_streams import CHANGES, HEADER, STREAMS_EDIT, TREE_CODE, TREE_HEADER, add_streams
from dumbbell.plan import plan_case
from dumbbell.results import result
from dumbbell.spec import parse

EXPERIMENT = """
duration = "3s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "{qdisc}"
[[flows]]
name = "b"
cc = "bbr"
count = 2
start_jitter = "100ms"
[[flows]]
name = "a"
cc = "cubic"
start = "1s"
"""


def tree_with(texts: dict[str, str], tree: Path) -> Path:
    for name, text in texts.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    (tree / TREE_HEADER).parent.mkdir(parents=True, exist_ok=True)
    return tree


def texts() -> dict[str, str]:
    """Files with nothing but what is replaced."""
    return {name: "#include <x.h>\n" + "\n".join(old for old, _ in pairs) for name, pairs in CHANGES.items()}


def test_the_edit_replaces_every_draw_once(tmp_path: Path) -> None:
    tree = tree_with(texts(), tmp_path)
    assert add_streams(tree) == STREAMS_EDIT
    edited = {name: (tree / name).read_text() for name in CHANGES}
    assert all(new in edited[name] for name, pairs in CHANGES.items() for _, new in pairs if "key[0]" not in new)
    add_streams(tree)
    assert {name: (tree / name).read_text() for name in CHANGES} == edited
    assert (tree / TREE_HEADER).read_bytes() == HEADER.read_bytes()


def test_another_version_of_linux_is_refused_and_not_half_edited(tmp_path: Path) -> None:
    tree = tree_with(texts() | {"net/ipv4/tcp_nv.c": "#include <x.h>\n"}, tmp_path)
    with pytest.raises(KernelError, match=r"tcp_nv.c: lacks 'get_random_bytes.*made for 6.12.117"):
        add_streams(tree)
    assert not (tree / TREE_CODE).exists()
    assert (tree / "net/sched/sch_pie.c").read_text() == texts()["net/sched/sch_pie.c"]


def test_flows_are_listed_in_the_order_of_their_starts_with_the_simulators_numbers() -> None:
    plan = plan_case(parse(EXPERIMENT.format(qdisc="pie"), Path("x.toml"))[0], 3)
    seed, bottleneck, flows = stream_arguments(plan, 3)
    first = min((flow for flow in plan.flows if flow.group == "b"), key=lambda flow: flow.start_ns).name
    assert (seed, bottleneck) == ("named_seed=3", "named_bottleneck=router-receiver.10:")
    number = {"b-1": 1, "b-2": 2}
    other = "b-2" if first == "b-1" else "b-1"
    assert f":{number[first]}={first},{number[other]}={other};" in flows
    assert "=a;" in flows
    assert flows.endswith(":3=ping")


STREAMS = next((each.name for each in kernels() if STREAMS_EDIT in each.edits), None)


@pytest.mark.skipif(STREAMS is None, reason="no kernel with named streams: dumbbell kernel build --named-streams")
@pytest.mark.parametrize(
    "qdisc", ["pie", "choke limit 100 min 5 max 30 avpkt 1000 bandwidth 10mbit", "fq_codel flows 2"]
)
def test_both_engines_drop_the_same_packets(qdisc: str, tmp_path: Path) -> None:
    case = parse(EXPERIMENT.format(qdisc=qdisc), Path("x.toml"))[0]
    runs = {}
    for engine in ("kernel", "sim"):
        kernel = STREAMS if engine == "kernel" else None
        request = Request("x", case, 1, tmp_path / engine)
        runs[engine] = result.load(
            engine_called(engine, kernel, allowed=permitted([engine])).run(request, lambda _: None)
        )
    sent = [
        run.flows.sort("flow", "time_ns").select("flow", "time_ns", "bytes_sent", "retrans_packets")
        for run in runs.values()
    ]
    both = sent[0].join(sent[1], on=["flow", "time_ns"], suffix="_sim")
    assert both.height > 500
    assert sent[0]["retrans_packets"].max() > 0  # type: ignore[operator]
    # A sample taken in the nanosecond of an event may precede it on one engine and follow it on the other.
    assert both.filter(both["bytes_sent"] != both["bytes_sent_sim"]).height < both.height / 100
