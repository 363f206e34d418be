"""Enable and disable on folders with a host's files: disable restores the state, also after a kill at any step."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import LocalHostError
from dumbbell.host import boot_settings, kernel_modules, switch
from dumbbell.host.sources import LocalHost, sysctl_path
from dumbbell.host.steps import Load, Set, Step, Unload, Write, locked, perform

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
READY = ("reno", "bbr", "cubic", "dctcp")


@dataclass(frozen=True)
class InitialState:
    """A host before the test: its settings, folders and other programs' files."""

    controller: str = "cubic"
    allowed: tuple[str, ...] = ("reno", "cubic")
    qdisc: str | None = "pfifo_fast"
    folders: tuple[str, ...] = ("etc/sysctl.d",)
    others: tuple[tuple[str, str], ...] = ()

    def create(self, root: Path) -> LocalHost:
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
INITIAL_STATES = st.builds(
    InitialState,
    CONTROLLERS,
    st.sets(CONTROLLERS).map(lambda names: tuple(sorted(names, key=READY.index))),
    st.sampled_from(["pfifo_fast", "fq_codel", "fq"]),
    st.sampled_from([("etc/sysctl.d",), ("etc/sysctl.d", "etc/modules-load.d"), ()]),
).flatmap(
    lambda before: (
        st.just(before)
        if not before.folders
        else st.sampled_from([(), (("10-mine.conf", "a = b\n"),)]).map(
            lambda others: InitialState(before.controller, before.allowed, before.qdisc, before.folders, others)
        )
    )
)
REQUESTS = st.lists(st.tuples(CONTROLLERS, st.sampled_from([None, "fq", "fq_codel"])), min_size=1, max_size=3)


def state(root: Path) -> dict[str, str | None]:
    """Every file and folder with its content."""
    return {
        str(path.relative_to(root)): path.read_text() if path.is_file() else None for path in sorted(root.rglob("*"))
    }


def allow_default(host: LocalHost) -> None:
    """Linux adds the default controller to the allowed ones."""
    path = host.path(str(sysctl_path(boot_settings.ALLOWED)))
    names = {*path.read_text().split(), host.sysctl(boot_settings.CONTROLLER).first()}
    path.write_text(" ".join(name for name in READY if name in names) + "\n")


def perform_steps(host: LocalHost, change: switch.Change, *, steps: int | None = None) -> None:
    """Perform the first steps of a change; without a number, all."""
    for step in change.steps[:steps]:
        perform(host, step)
        if isinstance(step, Set) and step.key == boot_settings.CONTROLLER:
            allow_default(host)


def enabled(host: LocalHost, name: str, qdisc: str | None = None, *, steps: int | None = None) -> None:
    perform_steps(host, switch.enabling(host, name, qdisc), steps=steps)


def expected_state(before: dict[str, str | None], controller: str) -> dict[str, str | None]:
    """The original state, in which Linux also allows the default controller."""
    name = "proc/sys/net/ipv4/tcp_allowed_congestion_control"
    allowed = (before[name] or "").split()
    return before | {name: " ".join(cc for cc in READY if cc in {*allowed, controller}) + "\n"}


@pytest.mark.slow
@given(INITIAL_STATES, REQUESTS)
def test_disable_after_any_enables_restores_the_original_state(
    before: InitialState, requests: list[tuple[str, str | None]]
) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder:
        host = before.create(Path(folder))
        allow_default(host)
        original = state(Path(folder))
        for name, qdisc in requests:
            enabled(host, name, qdisc)
            assert host.sysctl(boot_settings.CONTROLLER).first() == name
        perform_steps(host, switch.disabling(host))
        assert state(Path(folder)) == expected_state(original, before.controller)


@pytest.mark.slow
@given(INITIAL_STATES, REQUESTS, st.integers(0, 4), st.integers(0, 4))
def test_disable_restores_after_a_kill_between_any_steps(
    before: InitialState, requests: list[tuple[str, str | None]], steps_done: int, undo_steps_done: int
) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder:
        host = before.create(Path(folder))
        allow_default(host)
        original = state(Path(folder))
        for name, qdisc in requests[:-1]:
            enabled(host, name, qdisc)
        enabled(host, *requests[-1], steps=steps_done)
        if host.file(boot_settings.DROPIN).text is not None:
            perform_steps(host, switch.disabling(host), steps=undo_steps_done)
        if host.file(boot_settings.DROPIN).text is not None:
            perform_steps(host, switch.disabling(host))
        remaining = state(Path(folder))
        # After a kill between the removal of the drop-in and that of its folder, the empty folder stays.
        for removed in {name for name in remaining if remaining[name] is None} - set(original):
            del remaining[removed]
        assert remaining == expected_state(original, before.controller)


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    return InitialState().create(tmp_path)


def test_a_failed_step_restores_the_original_state(host: LocalHost, monkeypatch: pytest.MonkeyPatch) -> None:
    original = state(host.root)
    change = switch.enabling(host, "bbr", "fq")
    assert len(change.steps) == 3
    for fails in range(3):

        def failing_perform(on: LocalHost, step: Step, at: Step = change.steps[fails]) -> str:
            if step is at:
                raise LocalHostError("no")
            return perform(on, step)

        monkeypatch.setattr(switch, "perform", failing_perform)
        with pytest.raises(LocalHostError, match="no"):
            switch.apply(host, change, verify=False)
        assert state(host.root) == original


def test_a_setting_that_the_kernel_refuses_is_reverted(host: LocalHost) -> None:
    original = state(host.root)
    bad = Set("net.ipv4.no_such", "x")
    change = switch.enabling(host, "bbr")
    with pytest.raises(LocalHostError, match=r"sysctl -w net.ipv4.no_such/deeper=x"):
        switch.apply(host, switch.Change((*change.steps, Set("net.ipv4.no_such/deeper", bad.value))), verify=False)
    assert state(host.root) == original


def test_a_second_enable_does_nothing(host: LocalHost) -> None:
    enabled(host, "bbr")
    assert switch.enabling(host, "bbr").steps == ()


def test_later_changes_by_others_are_kept(host: LocalHost) -> None:
    enabled(host, "bbr")
    host.path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("dctcp\n")
    change = switch.disabling(host)
    assert change.notes == (
        "net.ipv4.tcp_congestion_control is dctcp, changed since, and was not restored; the previous value was cubic",
    )
    perform_steps(host, change)
    assert host.sysctl(boot_settings.CONTROLLER).first() == "dctcp"


def test_an_edited_drop_in_is_not_lost(host: LocalHost) -> None:
    enabled(host, "bbr")
    path = host.path(boot_settings.DROPIN)
    path.write_text(path.read_text() + "net.ipv4.tcp_ecn = 1\n")
    edited = path.read_text()
    with pytest.raises(LocalHostError, match="edited since"):
        switch.disabling(host)
    with pytest.raises(LocalHostError, match="edited since"):
        switch.enabling(host, "cubic")
    assert path.read_text() == edited
    perform_steps(host, switch.disabling(host, force=True))
    assert not path.exists()
    assert host.path(f"{boot_settings.DROPIN}.edited").read_text() == edited


def test_files_of_other_programs_with_the_drop_in_s_name_are_kept(host: LocalHost) -> None:
    path = host.path(boot_settings.DROPIN)
    path.write_text("net.ipv4.tcp_ecn = 1\n")
    with pytest.raises(LocalHostError, match="not written by 'dumbbell enable'"):
        switch.enabling(host, "bbr")
    path.unlink()
    path.mkdir()
    with pytest.raises(LocalHostError, match="a plain file"):
        switch.enabling(host, "bbr")


def test_a_later_file_that_overrides_the_drop_in_is_reported(tmp_path: Path) -> None:
    host = InitialState(others=(("99-x.conf", "\nnet/ipv4/tcp_congestion_control = reno"),)).create(tmp_path)
    (note,) = switch.enabling(host, "bbr").notes
    assert note.startswith("/etc/sysctl.d/99-x.conf, line 2, sets net.ipv4.tcp_congestion_control = reno later at boot")


@pytest.mark.parametrize(
    ("name", "qdisc", "message"),
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
def test_a_refusal_has_a_reason_and_changes_nothing(
    host: LocalHost, name: str, qdisc: str | None, message: str
) -> None:
    original = state(host.root)
    with pytest.raises(LocalHostError, match=message):
        switch.enabling(host, name, qdisc)
    assert state(host.root) == original


def configured(host: LocalHost, *options: str) -> None:
    """Write the kernel's configuration."""
    host.path("/boot").mkdir()
    host.path("/boot/config-6.12.0-test").write_text("\n".join(options) + "\n")


def test_a_queue_that_the_kernel_lacks_is_refused(host: LocalHost) -> None:
    configured(host, "# CONFIG_NET_SCH_FQ is not set", "CONFIG_NET_SCH_FQ_CODEL=y", "CONFIG_NET_SCH_PIE=m")
    original = state(host.root)
    for lacking, option in (("fq", "NET_SCH_FQ"), ("nonsense", "NET_SCH_NONSENSE"), ("pie", "NET_SCH_PIE")):
        with pytest.raises(
            LocalHostError, match=rf"Linux 6.12.0-test has no qdisc '{lacking}' .*; it needs CONFIG_{option}:"
        ):
            switch.enabling(host, "bbr", lacking)
    assert state(host.root) == original
    for available in ("fq_codel", "pfifo_fast", "bfifo"):
        assert switch.enabling(host, "bbr", available).notes == ()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("lib/modules/6.12.0-test/modules.dep", "kernel/net/sched/sch_fq.ko.xz:\n"),
        ("lib/modules/6.12.0-test/modules.builtin", "kernel/net/sched/sch_fq.ko\n"),
        ("proc/modules", "sch_fq 20480 0 - Live 0x0\n"),
    ],
)
def test_a_queue_in_a_module_is_available(host: LocalHost, file: str, text: str) -> None:
    configured(host, "CONFIG_NET_SCH_FQ=m")
    path = host.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert switch.enabling(host, "bbr", "fq").notes == ()


def test_unknown_queues_of_a_kernel_are_noted(host: LocalHost) -> None:
    (note,) = switch.enabling(host, "bbr", "fq").notes
    assert note.startswith("can't determine whether this kernel has the qdisc 'fq'")


def test_a_namespace_accepts_allowed_controllers_and_no_queue(tmp_path: Path) -> None:
    host = InitialState(qdisc=None, allowed=("reno", "bbr")).create(tmp_path)
    change = switch.enabling(host, "bbr")
    assert (change.steps, change.undo) == (
        (Set(boot_settings.CONTROLLER, "bbr"),), f"sysctl -w {boot_settings.CONTROLLER}=cubic"
    )  # fmt: skip
    assert "no file is written" in change.notes[0]
    with pytest.raises(LocalHostError, match="separate network namespace"):
        switch.disabling(host)
    with pytest.raises(LocalHostError, match="only allowed controllers can be the default"):
        switch.enabling(host, "dctcp")
    with pytest.raises(LocalHostError, match="is a host-wide setting"):
        switch.enabling(host, "bbr", "fq")


def test_enable_loads_a_module_now_and_at_boot_and_disable_unloads_it(tmp_path: Path) -> None:
    host = InitialState().create(tmp_path)
    modules = tmp_path / "lib/modules/6.12.0-test"
    modules.mkdir(parents=True)
    (modules / "modules.dep").write_text("kernel/net/ipv4/tcp_westwood.ko.xz:\nkernel/net/ipv4/tcp_x.ko: a b\n")
    recorded = LocalHost(tmp_path, {"modprobe tcp_westwood": "", "modprobe -r tcp_westwood": ""})
    original = state(tmp_path)
    change = switch.enabling(recorded, "westwood")
    assert [type(step) for step in change.steps] == [Write, Write, Load, Set]
    perform_steps(recorded, change)
    text = host.file(boot_settings.MODULES).text
    assert text is not None
    assert text.splitlines()[-1] == "tcp_westwood"
    undo = switch.disabling(recorded)
    assert Unload("tcp_westwood") in undo.steps
    perform_steps(recorded, undo)
    assert state(tmp_path) == expected_state(original, "cubic")


def test_an_image_gets_files_and_a_note_about_unknown_facts(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    image = LocalHost(tmp_path)
    change = switch.enabling(image, "bbr", "fq", running=False)
    assert [type(step) for step in change.steps] == [Write]
    assert any("determine" in note for note in change.notes)
    applied = switch.apply(image, change, verify=False)
    assert applied.opened is None
    assert boot_settings.read(image.file(boot_settings.DROPIN).text or "").before == {
        boot_settings.CONTROLLER: None,
        boot_settings.QDISC: None,
    }
    switch.apply(image, switch.disabling(image, running=False), verify=False)
    assert state(tmp_path) == {"etc": None}


@pytest.mark.parametrize(("index", "module"), [("modules.builtin", False), ("modules.dep", True)])
def test_an_image_s_module_index_shows_whether_a_module_is_needed(tmp_path: Path, index: str, module: bool) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "lib/modules/6.1.0-1").mkdir(parents=True)
    (tmp_path / "lib/modules/6.1.0-1" / index).write_text("kernel/net/ipv4/tcp_bbr.ko:\n")
    change = switch.enabling(LocalHost(tmp_path), "bbr", running=False)
    assert [step.describe() for step in change.steps][1:] == ([f"write {boot_settings.MODULES}"] if module else [])
    with pytest.raises(LocalHostError, match=r"Linux 6.1.0-1 has no congestion control 'cubic'"):
        switch.enabling(LocalHost(tmp_path), "cubic", running=False)


def test_an_image_with_a_link_to_the_outside_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "etc").mkdir(parents=True)
    outside.mkdir()
    (root / "etc/sysctl.d").symlink_to(outside)
    with pytest.raises(LocalHostError, match="leads out of"):
        switch.enabling(LocalHost(root), "bbr", running=False)
    assert list(outside.iterdir()) == []


def test_a_killed_command_s_temporary_file_is_removed(host: LocalHost) -> None:
    remaining = host.path("/etc/sysctl.d/.90-dumbbell.conf.abc.tmp")
    remaining.write_text("half")
    enabled(host, "bbr")
    assert not remaining.exists()


def test_a_folder_that_is_no_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalHostError, match="a root is a folder with /etc"), locked(LocalHost(tmp_path)):
        pass


def test_a_failed_verification_reverts_enable_but_not_disable(host: LocalHost, monkeypatch: pytest.MonkeyPatch) -> None:
    original = state(host.root)
    monkeypatch.setattr(kernel_modules, "opened", lambda: kernel_modules.Opened(("dctcp", "dctcp"), connected=True))
    with pytest.raises(
        LocalHostError, match="a new connection got dctcp, not bbr, so the previous settings were restored"
    ):
        switch.apply(host, switch.enabling(host, "bbr"))
    assert state(host.root) == original
    enabled(host, "bbr")
    opened = switch.apply(host, switch.disabling(host)).opened
    assert opened is not None
    assert opened.controllers == ("dctcp", "dctcp")
    assert host.sysctl(boot_settings.CONTROLLER).first() == "cubic"
