"""Features of the kernel engine only: controllers, qdiscs, isolation of the guest.

`test_effects` has the features of both engines.
"""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from dumbbell.engines.guest import Guest, run_guest
from dumbbell.engines.kernel import KernelEngine
from dumbbell.errors import ExperimentError
from dumbbell.linux import FLOW_RECORD, PROBE_RECORD, QUEUE_RECORD
from dumbbell.plan import make
from dumbbell.results.reader import TABLES
from dumbbell.spec import parse
from dumbbell.spec.attachments import read_attachments
from engines.measured import CUBIC, Outcome, experiment, measure

pytestmark = pytest.mark.kernel


def valid(folder: Path, text: str) -> Outcome:
    outcome = measure(folder, text)
    assert outcome.problems == []
    return outcome


def test_controller_columns_are_filled(tmp_path: Path) -> None:
    flows = "".join(f'[[flows]]\ncc = "{cc}"\necn = "classic"\n' for cc in ("bbr", "vegas", "dctcp", "reno"))
    got = valid(tmp_path, experiment(flows, qdisc="codel ecn"))
    assert [flow["cc"] for flow in got.numbers["flows"]] == ["bbr", "vegas", "dctcp", "reno"]
    for column, owner in (("bbr_bw_bps", "bbr"), ("vegas_rtt_ns", "vegas"), ("dctcp_alpha", "dctcp")):
        filled = got.run.flows.drop_nulls(column)
        assert set(filled["flow"]) == {owner}


def test_cake_is_a_shaper(tmp_path: Path) -> None:
    got = valid(tmp_path, experiment(rate=None, qdisc="cake bandwidth 5mbit"))
    assert 4 < got.mbps() < 5


def test_a_missing_sysctl_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"the kernel refused .*this kernel has no net\.ipv4\.tcp_nonsense"):
        measure(tmp_path, experiment(CUBIC + "[tcp]\nsysctl = { 'net.ipv4.tcp_nonsense' = 1 }\n"))
    assert list(tmp_path.iterdir()) == []


def test_simulator_only_options_are_refused_by_name(tmp_path: Path) -> None:
    for flows, path, message in (
        ('[[flows]]\ncc = "hpcc"\n', "telemetry = true", "no congestion control with this name"),
        (CUBIC, "telemetry = true", "write no telemetry into packets"),
    ):
        with pytest.raises(ExperimentError, match=message):
            measure(tmp_path, experiment(flows, path=path))
    with pytest.raises(ExperimentError, match="sampling interval is too short"):
        measure(tmp_path, experiment(CUBIC, top='sample = "10us"'))
    assert list(tmp_path.iterdir()) == []


def test_a_run_changes_nothing_outside_its_folder(tmp_path: Path) -> None:
    """The guest sees the host's files read-only: none is changed or added."""
    for name in ("before", "deep/er"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")

    def state(*folders: Path) -> dict[Path, tuple[int, int]]:
        files = (file for folder in folders for file in folder.rglob("*") if not file.is_relative_to(tmp_path / "run"))
        return {file: (file.lstat().st_mtime_ns, file.lstat().st_size) for file in files}

    watched_folders = (tmp_path, Path("/etc"), Path(__file__).parents[2] / "scenarios")
    before = state(*watched_folders)
    valid(tmp_path, experiment(duration="1s"))
    after = state(*watched_folders)
    assert {path: state_after for path, state_after in after.items() if path != tmp_path} == {
        p: s for p, s in before.items() if p != tmp_path
    }
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "counters.parquet", "flows.parquet", "probes.parquet", "queues.parquet", "run.json",
    ]  # fmt: skip


@pytest.mark.usefixtures("as_root")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_an_unprivileged_user_gets_the_same_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest runs as root, and in a child without privileges; tables follow from its records."""
    engine = KernelEngine()
    case = parse(experiment(duration="1s"), Path("experiment.toml"))[0]
    plan = make(case.experiment, read_attachments(case), 1).for_agent()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o755)
        monkeypatch.setenv("DUMBBELL_CACHE", str(home / "cache"))
        shutil.copytree(engine.kernel.folder, home / "cache" / "kernels" / engine.kernel.name)
        shutil.copy2(engine.agent, home / "agent")
        monkeypatch.setattr(tempfile, "tempdir", name)
        kernel = KernelEngine().kernel
        assert kernel.folder.is_relative_to(home)
        for folder in (home / "root", home / "nobody"):
            folder.mkdir()
            (folder / "plan.json").write_text(plan)
        run_guest(Guest(kernel, home / "agent", home / "root", 1, 1024, 100.0), lambda: 0.0)
        os.chown(home / "nobody", 65534, 65534)
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                tempfile.tempdir = str(home / "nobody")
                run_guest(Guest(kernel, home / "agent", home / "nobody", 1, 1024, 100.0), lambda: 0.0)
            except BaseException as error:
                (home / "nobody" / "error").write_text(repr(error))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        error_file = home / "nobody" / "error"
        assert not error_file.exists(), error_file.read_text()
        assert (home / "nobody" / "flows.bin").stat().st_uid == 65534
        for records in ("flows.bin", "queues.bin", "probes.bin"):
            hashes = {hashlib.sha256((home / user / records).read_bytes()).hexdigest() for user in ("root", "nobody")}
            assert len(hashes) == 1, records


def test_record_files_have_complete_records(tmp_path: Path) -> None:
    """The record sizes of the agent and numpy are the same: no partial records."""
    engine = KernelEngine()
    case = parse(experiment(duration="1s"), Path("experiment.toml"))[0]
    plan = make(case.experiment, read_attachments(case), 1)
    (tmp_path / "plan.json").write_text(plan.for_agent())
    run_guest(Guest(engine.kernel, engine.agent, tmp_path, 1, 1024, 100.0), lambda: 0.0)
    for name, record in (("flows", FLOW_RECORD), ("queues", QUEUE_RECORD), ("probes", PROBE_RECORD)):
        size = (tmp_path / f"{name}.bin").stat().st_size
        assert size > 0
        assert size % record.itemsize == 0
    assert set(TABLES) == {"flows", "queues", "probes"}


def test_flows_to_different_ports_may_have_the_same_source_port(tmp_path: Path) -> None:
    """Linux gives a source port twice if the other end's port differs; here there are two for four flows."""
    sysctl = '[tcp]\nsysctl = {"net.ipv4.ip_local_port_range" = "40000 40001"}\n'
    rest = "".join(f'[[flows]]\ncc = "cubic"\nname = "to{port}"\ncount = 2\nport = {port}\n' for port in (5301, 5302))
    got = valid(tmp_path, experiment(rest + sysctl))
    assert all(got.mbps(f"to{port}-{number}") > 0 for port in (5301, 5302) for number in (1, 2))
