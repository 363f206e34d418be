"""Enable and disable on folders laid out like machines: what was before is what is after, wherever one is killed."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import LocalHostError
from dumbbell.host import dropin, probe, switch
from dumbbell.host.sources import LocalHost, sysctl_path
from dumbbell.host.steps import Load, Set, Step, Unload, Write, locked, perform

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
READY = ("reno", "bbr", "cubic", "dctcp")


@dataclass(frozen=True)
class Before:
    """A machine to be: its settings, and whose files are there."""

    controller: str = "cubic"
    allowed: tuple[str, ...] = ("reno", "cubic")
    qdisc: str | None = "pfifo_fast"
    folders: tuple[str, ...] = ("etc/sysctl.d",)
    others: tuple[tuple[str, str], ...] = ()

    def laid(self, root: Path) -> LocalHost:
        values = {
            "net.ipv4.tcp_congestion_control": self.controller,
            "net.ipv4.tcp_allowed_congestion_control": " ".join(self.allowed),
            "net.ipv4.tcp_available_congestion_control": " ".join(READY),
            "net.core.somaxconn": "4096",
            "kernel.osrelease": "6.12.0-test",
        } | ({"net.core.default_qdisc": self.qdisc} if self.qdisc else {})
        for key, value in values.items():
            path = root / str(sysctl_path(key)).lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value}\n")
        for folder in ("etc", *self.folders):
            (root / folder).mkdir(exist_ok=True)
        for name, text in self.others:
            (root / "etc/sysctl.d" / name).write_text(text)
        return LocalHost(root)


CONTROLLERS = st.sampled_from(READY)
BEFORE = st.builds(
    Before,
    CONTROLLERS,
    st.sets(CONTROLLERS).map(lambda names: tuple(sorted(names, key=READY.index))),
    st.sampled_from(["pfifo_fast", "fq_codel", "fq"]),
    st.sampled_from([("etc/sysctl.d",), ("etc/sysctl.d", "etc/modules-load.d"), ()]),
).flatmap(
    lambda before: (
        st.just(before)
        if not before.folders
        else st.sampled_from([(), (("10-mine.conf", "a = b\n"),)]).map(
            lambda others: Before(before.controller, before.allowed, before.qdisc, before.folders, others)
        )
    )
)
WISHES = st.lists(st.tuples(CONTROLLERS, st.sampled_from([None, "fq", "fq_codel"])), min_size=1, max_size=3)


def state(root: Path) -> dict[str, str | None]:
    """Every file and folder, with what it holds."""
    return {
        str(path.relative_to(root)): path.read_text() if path.is_file() else None for path in sorted(root.rglob("*"))
    }


def follow(machine: LocalHost) -> None:
    """What Linux does by itself: it allows what is made the default."""
    path = machine.path(str(sysctl_path(dropin.ALLOWED)))
    names = {*path.read_text().split(), machine.sysctl(dropin.CONTROLLER).first()}
    path.write_text(" ".join(name for name in READY if name in names) + "\n")


def done(machine: LocalHost, change: switch.Change, *, steps: int | None = None) -> None:
    """The first of its steps; all, where no number is given."""
    for step in change.steps[:steps]:
        perform(machine, step)
        if isinstance(step, Set) and step.key == dropin.CONTROLLER:
            follow(machine)


def enabled(machine: LocalHost, name: str, qdisc: str | None = None, *, steps: int | None = None) -> None:
    done(machine, switch.enabling(machine, name, qdisc), steps=steps)


def settled(before: dict[str, str | None], controller: str) -> dict[str, str | None]:
    """The state that was, as Linux would have it: its default is always allowed."""
    name = "proc/sys/net/ipv4/tcp_allowed_congestion_control"
    allowed = (before[name] or "").split()
    return before | {name: " ".join(one for one in READY if one in {*allowed, controller}) + "\n"}


@given(BEFORE, WISHES)
def test_disable_after_any_enables_is_as_if_nothing_had_been(
    before: Before, wishes: list[tuple[str, str | None]]
) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder:
        machine = before.laid(Path(folder))
        follow(machine)
        was = state(Path(folder))
        for name, qdisc in wishes:
            enabled(machine, name, qdisc)
            assert machine.sysctl(dropin.CONTROLLER).first() == name
        done(machine, switch.disabling(machine))
        assert state(Path(folder)) == settled(was, before.controller)


@given(BEFORE, WISHES, st.integers(0, 4), st.integers(0, 4))
def test_killed_between_any_steps_it_can_still_be_undone(
    before: Before, wishes: list[tuple[str, str | None]], cut: int, cut_again: int
) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder:
        machine = before.laid(Path(folder))
        follow(machine)
        was = state(Path(folder))
        for name, qdisc in wishes[:-1]:
            enabled(machine, name, qdisc)
        enabled(machine, *wishes[-1], steps=cut)
        if machine.file(dropin.DROPIN).text is not None:
            done(machine, switch.disabling(machine), steps=cut_again)
        if machine.file(dropin.DROPIN).text is not None:
            done(machine, switch.disabling(machine))
        left = state(Path(folder))
        # Killed between the drop-in's going and its folder's: the folder stays, and nobody minds.
        for gone in {name for name in left if left[name] is None} - set(was):
            del left[gone]
        assert left == settled(was, before.controller)


@pytest.fixture
def machine(tmp_path: Path) -> LocalHost:
    return Before().laid(tmp_path)


def test_a_step_that_fails_leaves_everything_as_it_was(machine: LocalHost, monkeypatch: pytest.MonkeyPatch) -> None:
    was = state(machine.root)
    change = switch.enabling(machine, "bbr", "fq")
    assert len(change.steps) == 3
    for fails in range(3):

        def failing(on: LocalHost, step: Step, at: Step = change.steps[fails]) -> str:
            if step is at:
                raise LocalHostError("no")
            return perform(on, step)

        monkeypatch.setattr(switch, "perform", failing)
        with pytest.raises(LocalHostError, match="no"):
            switch.apply(machine, change, verify=False)
        assert state(machine.root) == was


def test_a_setting_that_the_kernel_refuses_is_taken_back(machine: LocalHost) -> None:
    was = state(machine.root)
    bad = Set("net.ipv4.no_such", "x")
    change = switch.enabling(machine, "bbr")
    with pytest.raises(LocalHostError, match=r"sysctl -w net.ipv4.no_such/deeper=x"):
        switch.apply(machine, switch.Change((*change.steps, Set("net.ipv4.no_such/deeper", bad.value))), verify=False)
    assert state(machine.root) == was


def test_enabling_again_does_nothing(machine: LocalHost) -> None:
    enabled(machine, "bbr")
    assert switch.enabling(machine, "bbr").steps == ()


def test_what_others_changed_since_stays(machine: LocalHost) -> None:
    enabled(machine, "bbr")
    machine.path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("dctcp\n")
    change = switch.disabling(machine)
    assert change.notes == (
        "net.ipv4.tcp_congestion_control was changed to dctcp since, and is left so; the previous value was cubic",
    )
    done(machine, change)
    assert machine.sysctl(dropin.CONTROLLER).first() == "dctcp"


def test_an_edited_drop_in_is_not_lost(machine: LocalHost) -> None:
    enabled(machine, "bbr")
    path = machine.path(dropin.DROPIN)
    path.write_text(path.read_text() + "net.ipv4.tcp_ecn = 1\n")
    edited = path.read_text()
    with pytest.raises(LocalHostError, match="edited since"):
        switch.disabling(machine)
    with pytest.raises(LocalHostError, match="edited since"):
        switch.enabling(machine, "cubic")
    assert path.read_text() == edited
    done(machine, switch.disabling(machine, force=True))
    assert not path.exists()
    assert machine.path(f"{dropin.DROPIN}.edited").read_text() == edited


def test_other_programs_files_of_our_names_are_left_alone(machine: LocalHost) -> None:
    path = machine.path(dropin.DROPIN)
    path.write_text("net.ipv4.tcp_ecn = 1\n")
    with pytest.raises(LocalHostError, match="not written by 'dumbbell enable'"):
        switch.enabling(machine, "bbr")
    path.unlink()
    path.mkdir()
    with pytest.raises(LocalHostError, match="a plain file"):
        switch.enabling(machine, "bbr")


def test_a_later_file_that_wins_is_named(tmp_path: Path) -> None:
    machine = Before(others=(("99-x.conf", "\nnet/ipv4/tcp_congestion_control = reno"),)).laid(tmp_path)
    (note,) = switch.enabling(machine, "bbr").notes
    assert note.startswith("/etc/sysctl.d/99-x.conf, line 2, sets net.ipv4.tcp_congestion_control = reno later at boot")


@pytest.mark.parametrize(
    ("name", "qdisc", "why"),
    [
        (
            "westwood",
            None,
            r"Linux 6.12.0-test has no congestion control 'westwood' \(it has: reno, bbr, cubic, dctcp\)",
        ),
        ("b b", None, "use a name like bbr or fq"),
        ("bbr", "fq; rm", "use a name like bbr or fq"),
    ],
)
def test_a_refusal_names_what_is_wrong_and_changes_nothing(
    machine: LocalHost, name: str, qdisc: str | None, why: str
) -> None:
    was = state(machine.root)
    with pytest.raises(LocalHostError, match=why):
        switch.enabling(machine, name, qdisc)
    assert state(machine.root) == was


def configured(machine: LocalHost, *options: str) -> None:
    """The kernel's configuration has these lines."""
    machine.path("/boot").mkdir()
    machine.path("/boot/config-6.12.0-test").write_text("\n".join(options) + "\n")


def test_a_queue_that_the_kernel_lacks_is_refused(machine: LocalHost) -> None:
    configured(machine, "# CONFIG_NET_SCH_FQ is not set", "CONFIG_NET_SCH_FQ_CODEL=y", "CONFIG_NET_SCH_PIE=m")
    was = state(machine.root)
    for lacking, option in (("fq", "NET_SCH_FQ"), ("nonsense", "NET_SCH_NONSENSE"), ("pie", "NET_SCH_PIE")):
        with pytest.raises(
            LocalHostError, match=rf"Linux 6.12.0-test has no qdisc '{lacking}' .*; it needs CONFIG_{option}:"
        ):
            switch.enabling(machine, "bbr", lacking)
    assert state(machine.root) == was
    for there in ("fq_codel", "pfifo_fast", "bfifo"):
        assert switch.enabling(machine, "bbr", there).notes == ()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("lib/modules/6.12.0-test/modules.dep", "kernel/net/sched/sch_fq.ko.xz:\n"),
        ("lib/modules/6.12.0-test/modules.builtin", "kernel/net/sched/sch_fq.ko\n"),
        ("proc/modules", "sch_fq 20480 0 - Live 0x0\n"),
    ],
)
def test_a_queue_in_a_module_is_there(machine: LocalHost, file: str, text: str) -> None:
    configured(machine, "CONFIG_NET_SCH_FQ=m")
    path = machine.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert switch.enabling(machine, "bbr", "fq").notes == ()


def test_a_kernel_that_says_nothing_of_its_queues_is_noted(machine: LocalHost) -> None:
    (note,) = switch.enabling(machine, "bbr", "fq").notes
    assert note.startswith("can't determine whether this kernel has the qdisc 'fq'")


def test_a_namespace_takes_what_is_allowed_and_no_queue(tmp_path: Path) -> None:
    machine = Before(qdisc=None, allowed=("reno", "bbr")).laid(tmp_path)
    assert "separate network namespace" in switch.enabling(machine, "bbr").notes[0]
    with pytest.raises(LocalHostError, match="only allowed controllers can be the default"):
        switch.enabling(machine, "dctcp")
    with pytest.raises(LocalHostError, match="is a host-wide setting"):
        switch.enabling(machine, "bbr", "fq")


def test_a_module_is_loaded_now_and_at_each_boot_and_unloaded_by_disable(tmp_path: Path) -> None:
    machine = Before().laid(tmp_path)
    modules = tmp_path / "lib/modules/6.12.0-test"
    modules.mkdir(parents=True)
    (modules / "modules.dep").write_text("kernel/net/ipv4/tcp_westwood.ko.xz:\nkernel/net/ipv4/tcp_x.ko: a b\n")
    recorded = LocalHost(tmp_path, {"modprobe tcp_westwood": "", "modprobe -r tcp_westwood": ""})
    was = state(tmp_path)
    change = switch.enabling(recorded, "westwood")
    assert [type(step) for step in change.steps] == [Write, Write, Load, Set]
    done(recorded, change)
    text = machine.file(dropin.MODULES).text
    assert text is not None
    assert text.splitlines()[-1] == "tcp_westwood"
    back = switch.disabling(recorded)
    assert Unload("tcp_westwood") in back.steps
    done(recorded, back)
    assert state(tmp_path) == settled(was, "cubic")


def test_an_image_gets_files_and_is_told_what_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    image = LocalHost(tmp_path)
    change = switch.enabling(image, "bbr", "fq", running=False)
    assert [type(step) for step in change.steps] == [Write]
    assert any("determine" in note for note in change.notes)
    done_ = switch.apply(image, change, verify=False)
    assert done_.opened is None
    assert dropin.read(image.file(dropin.DROPIN).text or "").before == {dropin.CONTROLLER: None, dropin.QDISC: None}
    switch.apply(image, switch.disabling(image, running=False), verify=False)
    assert state(tmp_path) == {"etc": None}


@pytest.mark.parametrize(("index", "module"), [("modules.builtin", False), ("modules.dep", True)])
def test_an_image_s_kernels_say_whether_a_module_is_needed(tmp_path: Path, index: str, module: bool) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "lib/modules/6.1.0-1").mkdir(parents=True)
    (tmp_path / "lib/modules/6.1.0-1" / index).write_text("kernel/net/ipv4/tcp_bbr.ko:\n")
    change = switch.enabling(LocalHost(tmp_path), "bbr", running=False)
    assert [step.describe() for step in change.steps][1:] == ([f"write {dropin.MODULES}"] if module else [])
    with pytest.raises(LocalHostError, match=r"Linux 6.1.0-1 has no congestion control 'cubic'"):
        switch.enabling(LocalHost(tmp_path), "cubic", running=False)


def test_an_image_that_leads_outside_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "etc").mkdir(parents=True)
    outside.mkdir()
    (root / "etc/sysctl.d").symlink_to(outside)
    with pytest.raises(LocalHostError, match="leads out of"):
        switch.enabling(LocalHost(root), "bbr", running=False)
    assert list(outside.iterdir()) == []


def test_what_a_killed_one_left_half_written_is_swept(machine: LocalHost) -> None:
    left = machine.path("/etc/sysctl.d/.90-dumbbell.conf.abc.tmp")
    left.write_text("half")
    enabled(machine, "bbr")
    assert not left.exists()


def test_a_folder_that_is_no_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalHostError, match="a root is a folder with /etc"), locked(LocalHost(tmp_path)):
        pass


def test_a_connection_that_gets_another_controller_takes_an_enable_back_but_never_a_disable(
    machine: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    was = state(machine.root)
    monkeypatch.setattr(probe, "opened", lambda: probe.Opened(("dctcp", "dctcp"), connected=True))
    with pytest.raises(
        LocalHostError, match="a new connection got dctcp, not bbr, so the previous settings were restored"
    ):
        switch.apply(machine, switch.enabling(machine, "bbr"))
    assert state(machine.root) == was
    enabled(machine, "bbr")
    found = switch.apply(machine, switch.disabling(machine)).opened
    assert found is not None
    assert found.controllers == ("dctcp", "dctcp")
    assert machine.sysctl(dropin.CONTROLLER).first() == "cubic"
