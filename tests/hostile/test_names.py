"""Names are unique within a result: no program, run, group, flow, queue or link overwrites another.

Covers programs' names, cases and seeds, groups, flows, queues and links: names that differ only in
characters that a file name cannot hold, in case, in Unicode normal form, or before a number or suffix is added.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import strategies as st

from conftest import Dumbbell
from dumbbell.engines.base import run_names
from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan, plan_case
from dumbbell.spec import Case, parse
from dumbbell.spec.document import distinct, inline_toml
from hostile.fuzzing import search

HEAD = 'duration = "100ms"\n[path]\nrtt = "10ms"\n[path.bottleneck]\nrate = "10mbit"\nqdisc = "pfifo limit 50"\n'
FLOW = '[[flows]]\ncc = "cubic"\n'
NAMED_A, NAMED_A1 = f'{FLOW}name = "a"\n', f'{FLOW}name = "a-1"\n'


def parse_cases(text: str) -> list[Case]:
    return parse(text, Path("x.toml"))


def plan_of(text: str) -> Plan:
    return plan_case(parse_cases(text)[0], 1)


@pytest.mark.parametrize("names", [("a", "a.out"), ("a.out", "a"), ("a", "b", "a.err"), ("a", "a")])
def test_a_program_with_the_name_of_another_s_output_is_refused(names: Sequence[str]) -> None:
    """The output of `a` was written to the folder of `a.out`."""
    programs = "".join(f'[[programs]]\nname = {inline_toml(name)}\non = "sender"\nrun = "x"\n' for name in names)
    with pytest.raises(ExperimentError, match=r"is called like the output of program|two programs called"):
        parse_cases(HEAD + FLOW + programs)


@pytest.mark.parametrize(
    "names",
    [
        ("a/b", "a:b", "a b", "a-b"), ("A", "a"), ("é", "e\u0301", "É"), ("a", "a", "a-2"), ("..", ".", "/", "run"),
        ("x" * 100, "x" * 101), ("run.json", "sweep.json"), ("a-seed1", "a"), ("ﬁ", "fi"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seeds", ["[1]", "[1, 2, 11]"])
def test_every_run_has_a_separate_folder(names: Sequence[str], seeds: str) -> None:
    text = f"seeds = {seeds}\n{HEAD}{FLOW}"
    distinct_names = dict.fromkeys(names)
    text += "".join(
        f'[[cases]]\nname = {inline_toml(name)}\nset = {{ "path.mtu" = 1500 }}\n' for name in distinct_names
    )
    runs = [(case, seed) for case in parse_cases(text) for seed in case.experiment.seeds]
    folders = run_names(runs)
    assert len({folder.lower() for folder in folders}) == len(runs)
    for folder in folders:
        assert Path(folder).name == folder
        assert folder not in ("run.json", "sweep.json", ".", "..", "")


def test_cases_with_unusual_names_are_all_kept(dumbbell: Dumbbell, tmp_path: Path) -> None:
    """With a folder named run.json, the output was read as a single result."""
    names = ("run.json", "a/b", "a:b", "A/B")
    text = (
        HEAD
        + FLOW
        + "".join(f'[[cases]]\nname = {inline_toml(name)}\nset = {{ "path.mtu" = 1500 }}\n' for name in names)
    )
    (tmp_path / "x.toml").write_text(text)
    assert dumbbell("run", "x.toml", "--out", "out").returncode == 0
    found = {json.loads(file.read_text())["case"] for file in (tmp_path / "out").glob("*/run.json")}
    assert found == set(names)
    done = dumbbell("compare", "out", "out")
    assert "is in both arms" in done.stderr


def test_unnamed_groups_get_unused_names() -> None:
    text = HEAD + '[[flows]]\nname = "cubic-3"\ncc = "bbr"\n' + 2 * FLOW
    groups = parse_cases(text)[0].experiment.group_names
    assert groups == ("cubic-3", "cubic", "cubic-4")
    assert parse_cases(HEAD + 3 * FLOW)[0].experiment.group_names == ("cubic", "cubic-2", "cubic-3")


@pytest.mark.parametrize(
    ("flows", "names"),
    [
        (f"{NAMED_A}count = 2\n" + NAMED_A1, ["a-1", "a-2", "a-1-2"]),
        (f"{NAMED_A1}{NAMED_A}count = 2\n", ["a-1", "a-1-2", "a-2"]),
        (FLOW + "count = 2\n" + FLOW, ["cubic-1", "cubic-2", "cubic-2-2"]),
        (FLOW + "count = 2\n", ["cubic-1", "cubic-2"]),
    ],
)  # fmt: skip
def test_every_flow_has_a_unique_name(flows: str, names: list[str]) -> None:
    """Once the simulator refused these, and the kernel engine merged the samples of two flows."""
    assert [flow.name for flow in plan_of(HEAD + flows).flows] == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'[[path.links]]\nname = "reverse"\nrate = "1mbit"\n[path.reverse]\nrate = "1mbit"\n{FLOW}',
            "two queues .*, got 'reverse",
        ),
        (
            f'[[path.links]]\nname = "host-cubic"\nrate = "1mbit"\n{FLOW}host_qdisc = "pfifo limit 5"\n',
            "two queues .*, got 'host-cubic'",
        ),
        (f'[[path.links]]\nname = "reverse-netem"\nrate = "1mbit"\n{FLOW}', "two queues .*, got 'reverse-netem'"),
    ],
)
def test_colliding_queue_names_are_refused_before_a_run(text: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message) as caught:
        plan_of(HEAD + text)
    assert caught.value.right


ANY = st.lists(st.text(alphabet="aAbB.-2é/ outr", max_size=6), max_size=12)


@pytest.mark.slow
def test_fuzz_names_are_made_unique() -> None:
    def check(names: list[str]) -> None:
        text = distinct(names, own=["a"])
        assert len({name.lower() for name in text} - {"a"}) == len(names)
        assert all(new.startswith(old) for new, old in zip(text, names, strict=True))

    search(ANY, check, examples=300)
