"""A C file is built into a new kernel, or refused with an error; the original kernel does not change."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_linux import compile_program

from dumbbell.engines import Request
from dumbbell.engines.base import engine_called
from dumbbell.engines.guest_failures import crash_message, kernel_warnings, panic_location, process_location
from dumbbell.engines.kernel import KernelEngine
from dumbbell.errors import ExperimentError, GuestPanic, KernelError
from dumbbell.kernels import Kernel, add, find, kernels
from dumbbell.kernels.added import tree_copy, work_of, write_sources
from dumbbell.kernels.boot import function_at
from dumbbell.kernels.features import controllers
from dumbbell.kernels.patches import patched_content, patched_file
from dumbbell.kernels.store import Added, sha256
from dumbbell.spec import parse
from engines.measured import experiment

EXAMPLE = Path(__file__).parents[2] / "examples/tcp_target.c"
MINE = EXAMPLE.read_text().replace('"target"', '"mine"')
FLOW = '[[flows]]\ncc = "mine"\n'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test with links to the real cache's kernel and tree."""
    real = find(None)
    tree = work_of(real).parent
    if not (tree / "tree").is_dir():
        pytest.skip(f"the tree of kernel '{real.name}' was removed; dumbbell kernel build --name {real.name} makes it")
    folder = tmp_path / "cache"
    (folder / "kernels").mkdir(parents=True)
    (folder / "build" / real.name).mkdir(parents=True)
    (folder / "kernels" / real.name).symlink_to(real.folder)
    for name in ("tree", "tree.begun"):
        (folder / "build" / real.name / name).symlink_to(tree / name)
    monkeypatch.setenv("DUMBBELL_CACHE", str(folder))
    monkeypatch.delenv("DUMBBELL_KERNEL", raising=False)
    return folder


def run(folder: Path, kernel: str | None) -> None:
    case = parse(experiment(FLOW), folder / "mine.toml")[0]
    KernelEngine(kernel).run(Request("mine", case, 1, folder / "result"), lambda _: None)


BROKEN = {
    "return tcp_register_congestion_control(&target)": (
        "return 0",
        r"compiles, but never calls tcp_register_congestion_control, so the booted kernel has no 'mine'; "
        r"call it from an init function, and pass that to module_init\(\)$",
    ),
    "	.undo_cwnd	= tcp_reno_undo_cwnd,\n": (
        "",
        "compiles and calls tcp_register_congestion_control, but the booted kernel has no 'mine'; "
        "kernel log: TCP: mine does not implement required ops; the structure needs ssthresh, undo_cwnd and",
    ),
    "static int __init": (
        "void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) {}\nstatic int __init",
        r"compiles, but doesn't link\n(.*\n)*.*multiple definition of `tcp_reno_cong_avoid'",
    ),
}
"""Text of a file that compiles → its replacement, and the expected error."""


@pytest.mark.slow
@pytest.mark.kernel
def test_a_file_is_built_into_a_kernel_and_its_errors_are_reported(cache: Path, tmp_path: Path) -> None:
    """Real builds: typing errors, then a controller that crashes on the first ACK."""
    root, file = find(None), tmp_path / "of mine.c"
    before = {path: path.stat().st_mtime_ns for path in (cache / "build" / root.name / "tree/net/ipv4").iterdir()}
    file.write_text(MINE.replace("u32 path_us;", "u33 path_us;"))
    with pytest.raises(KernelError) as caught:
        add(file)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{file}: does not compile"
    assert f"{file}:29:9: error: unknown type name 'u33'" in lines
    assert any(line.strip() == "|         ^~~" for line in lines)
    assert "net/ipv4/tcp_mine" not in str(caught.value)
    for original_text, (replacement, reason) in BROKEN.items():
        assert original_text in MINE
        file.write_text(MINE.replace(original_text, replacement))
        with pytest.raises(KernelError, match=rf"^{re.escape(str(file))}: {reason}"):
            add(file)
    assert [kernel.name for kernel in kernels()] == [root.name]
    file.write_text(MINE.replace("	if (sample->rtt_us <= 0)\n		return;\n", "	*(volatile int *)NULL = 1;\n"))
    addition = add(file)
    assert (addition.kernel.name, addition.added.names, addition.added.file) == (
        f"{root.name}+mine",
        ("mine",),
        "of mine.c",
    )
    assert addition.added.parameters == {"target_ms": "5"}
    assert not add(file).fresh
    assert find(None) == root
    assert sha256(cache / "build" / root.name / "tree/linux") == root.binary_sha256
    after = {path: path.stat().st_mtime_ns for path in (cache / "build" / root.name / "tree/net/ipv4").iterdir()}
    assert after == before
    with pytest.raises(
        ExperimentError, match=rf"no congestion control with this name.* add --kernel {root.name}\+mine"
    ):
        run(tmp_path, root.name)
    for named in (addition.kernel.name, None):
        with pytest.raises(GuestPanic, match=r"\nin target_pkts_acked of of mine\.c; stack: "):
            run(tmp_path, named)
    assert not [path for path in tmp_path.iterdir() if "result" in path.name]


@pytest.mark.kernel
@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("none.c", None, r"none\.c: can't be read \(No such file or directory\); use a C file"),
        ("mine.txt", MINE, r"mine\.txt: not a \.c file"),
        ("mine.c", "\0", r"mine\.c: not a text file"),
        ("mine.c", "int x;", r"mine\.c: declares no congestion control"),
        (
            "mine.c",
            MINE.replace('"mine"', '"cubic"'),
            r"already has a congestion control 'cubic'; .*\"cubic_mine\"",
        ),
        ("mine.c", MINE.replace('"mine"', '"input"'), r"'input' would overwrite Linux's net/ipv4/tcp_input\.c"),
    ],
)
def test_an_invalid_file_is_refused_before_the_build(tmp_path: Path, name: str, text: str | None, reason: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(KernelError, match=reason):
        add(tmp_path / name)
    assert not work_of(find(None)).exists()


@pytest.mark.kernel
@pytest.mark.usefixtures("cache")
def test_a_kernel_without_additions_is_not_replaced_by_one_with(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(MINE)
    with pytest.raises(KernelError, match="without added files and is not replaced; choose another --name"):
        add(tmp_path / "mine.c", name=find(None).name)


def small_kernel(cache: Path) -> Kernel:
    """A kernel whose tree has a few files."""
    tree = cache / "build/small/tree"
    (tree / "net/ipv4").mkdir(parents=True)
    (tree / "fs").mkdir()
    for name, text in {
        "Kbuild": "obj-y += fs/\nobj-$(CONFIG_NET)\t+= net/\nobj-y += gone/\n",
        "net/Makefile": "obj-y := core.o ipv4/ \n",
        "net/ipv4/Makefile": "obj-y += tcp.o\n",
    }.items():
        (tree / name).write_text(text)
        os.utime(tree / name, (1, 1))
    (cache / "build/small/tree.begun").touch()
    os.utime(cache / "build/small/tree.begun", (2, 2))
    (tree / "fs/built-in.a").write_text("!<arch>")
    (tree / "linux").write_text("binary")
    return Kernel("small", cache / "kernels/small", "6.99", "", "", sha256(tree / "linux"), "package 1")


def test_a_tree_copy_shares_sources_and_not_build_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path))
    kernel, original = small_kernel(tmp_path), tmp_path / "build/small/tree"
    tree = tree_copy(kernel, progress=lambda *_: None)
    assert (tree / "net/Makefile").samefile(original / "net/Makefile")
    assert not (tree / "linux").samefile(original / "linux")
    assert (tree / "Kbuild").read_text() == "obj-y += fs/built-in.a\nobj-$(CONFIG_NET)\t+= net/\nobj-y += gone/\n"
    assert (original / "Kbuild").read_text().startswith("obj-y += fs/\n")
    (tree / "marker").touch()
    assert (tree_copy(kernel, progress=lambda *_: None) / "marker").exists()


def test_a_missing_or_rebuilt_tree_can_t_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path))
    kernel, original = small_kernel(tmp_path), tmp_path / "build/small/tree"
    (original / "linux").write_text("another")
    with pytest.raises(KernelError, match=r"has changed since kernel 'small' .* dumbbell kernel build --name small"):
        tree_copy(kernel, progress=lambda *_: None)
    (original / "linux").unlink()
    with pytest.raises(KernelError, match="the tree that kernel 'small' was built in no longer exists"):
        tree_copy(kernel, progress=lambda *_: None)
    installed = replace(kernel, folder=tmp_path / "site-packages" / "small")
    with pytest.raises(KernelError, match="'small' is from the package dumbbell-kernel, which has no source tree"):
        tree_copy(installed, progress=lambda *_: None)


def test_sources_are_added_and_removed_and_the_original_never_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path))
    kernel, original = small_kernel(tmp_path), tmp_path / "build/small/tree/net/ipv4"
    folder = tree_copy(kernel, progress=lambda *_: None) / "net/ipv4"
    write_sources(folder.parents[1], {"tcp_a.c": b"a", "tcp_b.c": b"b"})
    assert (folder / "Makefile").read_text().endswith("obj-y += tcp_a.o\n# added: tcp_b.c\nobj-y += tcp_b.o\n")
    os.utime(folder / "tcp_b.c", (5, 5))
    write_sources(folder.parents[1], {"tcp_b.c": b"b"})
    assert sorted(path.name for path in folder.iterdir()) == ["Makefile", "tcp_b.c"]
    assert (folder / "tcp_b.c").stat().st_mtime == 5
    write_sources(folder.parents[1], {})
    assert (folder / "Makefile").read_text() == (original / "Makefile").read_text() == "obj-y += tcp.o\n"


def test_a_file_of_linux_is_replaced_and_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path))
    kernel, original = small_kernel(tmp_path), tmp_path / "build/small/tree/net/ipv4"
    (original / "tcp_cubic.c").write_text("linux")
    os.utime(original / "tcp_cubic.c", (1, 1))
    folder = tree_copy(kernel, progress=lambda *_: None) / "net/ipv4"
    write_sources(folder.parents[1], {"tcp_cubic.c": b"mine", "tcp_a.c": b"a"}, {"tcp_cubic.c"})
    assert ((folder / "tcp_cubic.c").read_text(), (original / "tcp_cubic.c").read_text()) == ("mine", "linux")
    assert (folder / "Makefile").read_text().splitlines()[1:] == [
        "# added: tcp_cubic.c", "# added: tcp_a.c", "obj-y += tcp_a.o"
    ]  # fmt: skip
    write_sources(folder.parents[1], {})
    assert (folder / "tcp_cubic.c").read_text() == "linux"
    assert (folder / "tcp_cubic.c").stat().st_mtime > 1, "make would keep the other object"


PATCH = """\
--- a/net/ipv4/tcp_x.c
+++ b/net/ipv4/tcp_x.c
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
"""


def test_a_patch_changes_one_controller() -> None:
    assert (
        patched_file(PATCH, "p")
        == patched_file(PATCH.replace("a/net", "net").replace("b/net", "net"), "p")
        == "tcp_x.c"
    )
    assert patched_content(b"one\ntwo\nthree\n", PATCH.encode(), "tcp_x.c", "p") == b"one\nTWO\nthree\n"
    with pytest.raises(KernelError, match=r"p: does not apply to the kernel's tcp_x.c: .*Hunk #1"):
        patched_content(b"four\nfive\nsix\n", PATCH.encode(), "tcp_x.c", "p")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "not a unified diff"),
        (PATCH + PATCH.replace("tcp_x.c", "tcp_y.c"), "changes net/ipv4/tcp_x.c, net/ipv4/tcp_y.c; --patch takes"),
        (PATCH.replace("net/ipv4/tcp_x.c", "net/sched/sch_fq.c"), "changes net/sched/sch_fq.c; --patch takes"),
    ],
)
def test_other_patches_are_refused(text: str, message: str) -> None:
    with pytest.raises(KernelError, match=re.escape(message)):
        patched_file(text, "p")


@pytest.mark.slow
@pytest.mark.kernel
def test_a_patched_cubic_runs_under_its_own_name(cache: Path, tmp_path: Path) -> None:
    root = find(None)
    source = cache / "build" / root.name / "tree/net/ipv4/tcp_cubic.c"
    (tmp_path / "tcp_cubic.c").write_text(
        source.read_text().replace("beta __read_mostly = 717", "beta __read_mostly = 512")
    )
    done = add(tmp_path / "tcp_cubic.c", replace="cubic", name="half")
    assert (done.added.name, done.added.replaces, done.kernel.name) == ("cubic", True, "half")
    assert done.added.parameters["beta"] == "512"
    assert "717" in source.read_text()


LOOPING = """
volatile int on = 1;
__attribute__((noinline)) void mine_loops(void) { while (on) ; }
__attribute__((noinline)) int caller(void) { mine_loops(); return on; }
int main(void) { return caller(); }
"""


def looping_kernel(tmp_path: Path) -> Kernel:
    """A program in place of a kernel to which `tcp_mine.c` was added."""
    binary = compile_program(tmp_path / "kernel/linux", LOOPING, "-O1", "-no-pie")
    (tmp_path / "kernel/added").mkdir()
    (tmp_path / "kernel/added/tcp_mine.c").write_text("static void mine_loops(struct sock *sk)\n{\n}\n")
    return Kernel(
        "k", tmp_path / "kernel", "", "", "", "", "", added=(Added(("mine",), "m.c", ""),), binary_path=binary
    )


def address_of(binary: Path, name: str) -> int:
    listed = subprocess.run(["nm", str(binary)], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(f" {name}"))


def test_a_looping_process_is_located_in_its_function_and_continues(tmp_path: Path) -> None:
    kernel = looping_kernel(tmp_path)
    with subprocess.Popen([kernel.binary]) as process:
        # The process needs some time to reach the loop.
        while not (location := process_location(kernel, process.pid)).startswith("in mine_loops"):
            assert process.poll() is None
        assert process.poll() is None
        process.kill()
    assert location.startswith("in mine_loops of m.c; stack: mine_loops < caller < main")
    assert process_location(kernel, process.pid) == ""


def test_a_panic_is_located_by_its_registers_and_its_call_trace(tmp_path: Path) -> None:
    kernel = looping_kernel(tmp_path)
    at, calls = (address_of(kernel.binary, name) for name in ("mine_loops", "caller"))
    assert function_at(kernel.binary, at) == "mine_loops"
    assert function_at(kernel.binary, 16) is None
    called = f"Stack:\n 0\nCall Trace:\n [<{calls + 5:x}>] ? 0x1\n"
    panic = f"RIP: 0033:0x{at:016x}\nR10: 00\nKernel panic - not syncing\n{called}"
    assert crash_message(panic) == "Kernel panic - not syncing"
    assert panic_location(kernel, panic) == "in mine_loops of m.c; stack: mine_loops < caller"
    warning = f"WARNING: CPU: 0 PID: 0 at net/tcp.h:13 0x1\nCall Trace:\n [<{at + 2:x}>] ? 0x1\n"
    assert kernel_warnings(kernel, warning * 2) == [
        "kernel warning at net/tcp.h:13, in mine_loops of m.c; stack: mine_loops"
    ]
    assert (panic_location(kernel, "Kernel panic"), kernel_warnings(kernel, "fine")) == ("", [])


def test_added_controllers_are_listed(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("CONFIG_TCP_CONG_CUBIC=y\n")
    kernel = Kernel("k", tmp_path, "", "", "", "", "", added=(Added(("mine", "mine2"), "m.c", "0"),))
    assert controllers(kernel) == ("cubic", "mine", "mine2", "reno")
    assert (Added(("a-b",), "m.c", "").module, Added(("a-b",), "m.c", "").module_file) == ("tcp_a_b", "tcp_a_b.c")


def test_a_wall_time_limit_on_the_simulator_is_an_error() -> None:
    with pytest.raises(ExperimentError, match="--wall-limit: the simulator has no wall time limit"):
        engine_called("sim", None, wall_limit_s=3)
