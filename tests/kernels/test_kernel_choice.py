"""Without a kernel by name a run takes the default one, or else the only one that has what the experiment needs."""

import json
import os
from pathlib import Path

import pytest
from fake_linux import compile_program

from conftest import Dumbbell
from dumbbell.engines import KernelEngine, Request
from dumbbell.engines.kernel import _for_agent
from dumbbell.engines.kernel_choice import choose
from dumbbell.errors import ExperimentError
from dumbbell.kernels import Kernel, find, mark_default
from dumbbell.kernels.store import sha256
from dumbbell.plan import plan_case
from dumbbell.spec import parse
from dumbbell.spec.sweep import load_sweep
from dumbbell.sweeps.task import tasks_at
from engines.measured import experiment

CONFIG = "CONFIG_TCP_CONG_CUBIC=y\nCONFIG_NET_SCH_HTB=y\nCONFIG_NET_SCH_NETEM=y\n"
DUALPI2 = "[path.bottleneck]\nqdisc = 'dualpi2'\n"


def store(cache: Path, name: str, *, config: str = CONFIG, added: tuple[str, ...] = ()) -> None:
    folder = cache / "kernels" / name
    binary = compile_program(folder / "linux")
    (folder / "seeded_getrandom.so").write_bytes(b"")
    (folder / "config").write_text(config)
    manifest = dict.fromkeys(("release", "version", "config_sha256", "source", "built_at"), "6.99")
    files = [{"names": [each], "file": f"tcp_{each}.c", "sha256": "0"} for each in added]
    manifest |= {"binary_sha256": sha256(binary), "absent": [], "added": files}  # type: ignore[dict-item]
    (folder / "kernel.json").write_text(json.dumps(manifest))


@pytest.fixture
def three(empty_cache: Path) -> Path:
    """A plain kernel, the default, and two derived ones."""
    store(empty_cache, "plain")
    store(empty_cache, "plain+mine", added=("mine",))
    store(empty_cache, "newer", config=CONFIG + "CONFIG_NET_SCH_DUALPI2=y\n")
    mark_default("plain")
    return empty_cache


def request(tmp_path: Path, cc: str = "cubic", qdisc: str = "pfifo limit 100") -> Request:
    text = experiment(f'[[flows]]\ncc = "{cc}"\n', qdisc=qdisc)
    return Request("mine", parse(text, tmp_path / "mine.toml")[0], 1, tmp_path / "out")


def chosen(made: Request) -> tuple[str, str]:
    choice = choose([(made.case, plan_case(made.case, 1))], find(None))
    return choice.kernel.name, choice.reason


@pytest.mark.usefixtures("three")
def test_the_default_kernel_runs_what_it_can(tmp_path: Path) -> None:
    assert chosen(request(tmp_path)) == ("plain", "")


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("cc", "qdisc", "kernel", "missing"),
    [("mine", "pfifo limit 100", "plain+mine", "mine"), ("cubic", "dualpi2", "newer", "dualpi2")],
)
def test_the_only_kernel_with_everything_is_taken_and_named(
    tmp_path: Path, cc: str, qdisc: str, kernel: str, missing: str
) -> None:
    made = request(tmp_path, cc, qdisc)
    assert chosen(made) == (kernel, f"kernel '{kernel}': the default kernel 'plain' has no '{missing}'")
    KernelEngine().check(made)


def test_several_kernels_with_it_are_an_error_that_lists_them(three: Path, tmp_path: Path) -> None:
    store(three, "plain+mine+other", added=("mine", "other"))
    with pytest.raises(ExperimentError) as caught:
        KernelEngine().check(request(tmp_path, "mine"))
    assert str(caught.value) == (
        f"{tmp_path / 'mine.toml'}: --kernel: the default kernel 'plain' has no 'mine', and several kernels have it; "
        "name one of them: plain+mine, plain+mine+other"
    )
    KernelEngine("plain+mine").check(request(tmp_path, "mine"))


@pytest.mark.usefixtures("three")
def test_a_named_kernel_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacks_mine = r"kernel 'plain' has no congestion control .* got 'mine'; kernel 'plain\+mine' has it: add --kernel"
    with pytest.raises(ExperimentError, match=lacks_mine):
        KernelEngine("plain").check(request(tmp_path, "mine"))
    monkeypatch.setenv("DUMBBELL_KERNEL", "plain")
    with pytest.raises(ExperimentError, match=lacks_mine):
        KernelEngine().check(request(tmp_path, "mine"))
    with pytest.raises(
        ExperimentError,
        match=r"bottleneck\.qdisc: kernel 'plain' has no queue discipline .* got 'dualpi2'; add --kernel .*: newer$",
    ):
        KernelEngine().check(request(tmp_path, qdisc="dualpi2"))


@pytest.mark.usefixtures("three")
def test_what_no_single_kernel_has_is_an_error_of_the_default_kernel(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"kernel 'plain' has no congestion control .* got 'mine'"):
        KernelEngine().check(request(tmp_path, "mine", "dualpi2"))
    with pytest.raises(ExperimentError, match=r"kernel 'plain' has no congestion control .* got 'nosuch'; there is: "):
        KernelEngine().check(request(tmp_path, "nosuch"))


@pytest.mark.usefixtures("three")
def test_all_cases_of_an_experiment_run_on_one_kernel(tmp_path: Path) -> None:
    engine = KernelEngine()
    assert engine.settle([request(tmp_path).case, request(tmp_path, "mine").case]).startswith("kernel 'plain+mine': ")
    assert engine.kernel.name == "plain+mine"


@pytest.mark.usefixtures("three")
def test_each_run_of_a_sweep_gets_the_kernel_it_needs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(experiment())
    (tmp_path / "sweep.toml").write_text(
        'experiment = "mine.toml"\nengine = "kernel"\nmetrics = ["utilization"]\n'
        '[[axes]]\n"flows.0.cc" = ["cubic", "mine"]\n'
    )
    sweep = load_sweep(tmp_path / "sweep.toml")
    tasks = [task for point in sweep.each_point() for task in tasks_at(sweep, point, [1])]
    assert [task.kernel for task in tasks] == [None, "plain+mine"]


@pytest.mark.kernel
def test_a_run_prints_and_records_the_kernel_that_it_took(tmp_path: Path, dumbbell: Dumbbell) -> None:
    """The real kernel as the default one without its configuration of CUBIC, and as another with it."""
    real, cache = find(None), tmp_path / "cache"
    config = (real.folder / "config").read_text()
    without = config.replace("CONFIG_TCP_CONG_CUBIC=y", "")
    assert without != config
    for name, text in (("linux-a", without), ("linux-b", config)):
        folder = cache / "kernels" / name
        folder.mkdir(parents=True)
        for file in real.folder.iterdir():
            if file.is_file():
                os.link(file, folder / file.name)
        (folder / "config").unlink()
        (folder / "config").write_text(text)
    (cache / "kernels/default").write_text("linux-a\n")
    (tmp_path / "mine.toml").write_text(experiment(duration="100ms"))
    arguments = ("run", str(tmp_path / "mine.toml"), "--engine", "kernel", "--out", str(tmp_path / "out"))
    done = dumbbell(*arguments, DUMBBELL_CACHE=str(cache))
    assert done.returncode == 0, done.stderr
    assert "kernel 'linux-b': the default kernel 'linux-a' has no 'cubic'" in done.stderr
    assert f"kernel {real.release} linux-b, seed 1" in done.stdout
    assert json.loads((tmp_path / "out/run.json").read_text())["kernel"]["name"] == "linux-b"


@pytest.mark.parametrize(("release", "prompt"), [("6.1.192", False), ("6.12.117+mine", False), ("7.3.4", True)])
def test_a_receiver_reads_each_segment_where_autotuning_needs_it(tmp_path: Path, release: str, prompt: bool) -> None:
    plan = plan_case(request(tmp_path).case, 1)
    kernel = Kernel("k", tmp_path, release, "", "", "", "")
    assert [flow["prompt_reads"] for flow in json.loads(_for_agent(plan, kernel, None, None, None))["flows"]] == [
        prompt
    ]
