"""Referenced files must be regular files below the folder of the file that names them; nothing else is opened.

Covers every key that names a file (an experiment's trace and tc script, alone, in a table of a sweep and on an axis; a
sweep's experiment) with every kind of name and of file, by the functions that read them and by the commands that copy
them; the experiment in a result's manifest; a race against a link. A canary in a file outside must not appear.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import strategies as st

from conftest import Dumbbell
from dumbbell import limits
from dumbbell.engines import Request, Simulator
from dumbbell.errors import ExperimentError
from dumbbell.reports.experiment_section import by_hand
from dumbbell.results import result
from dumbbell.spec import load, parse
from dumbbell.spec.attachments import parts_of, read_attachments, read_below
from dumbbell.spec.document import inline_toml
from dumbbell.spec.sweep import load_sweep
from dumbbell.spec.units import Wrong
from dumbbell.sweeps.checks import referenced_files
from dumbbell.sweeps.cluster_worker import payload_of
from dumbbell.sweeps.refinement import next_round
from dumbbell.sweeps.task import base_of
from hostile.fuzzing import search

CANARY = "canary"
TRACE = "".join(f"{number}\n" for number in range(1, 101))
SCRIPT = "tc qdisc add dev eth0 root handle 1: pfifo limit 10\n"
FLOWS = '[[{0}flows]]\ncc = "cubic"\n'
HEAD = 'duration = "100ms"\n[{0}path]\nrtt = "10ms"\n'
KEYS = {
    "path.bottleneck.rate_trace": HEAD + "[{0}path.bottleneck]\nrate_trace = {1}\n" + FLOWS,
    "path.tc.script": HEAD + '[{0}path.tc]\ninterface = "eth0"\nscript = {1}\n' + FLOWS,
}
GOOD = {"path.bottleneck.rate_trace": TRACE, "path.tc.script": SCRIPT}
COMPLETE = HEAD.format("") + '[path.bottleneck]\nrate = "10mbit"\n' + FLOWS.format("")
AXES = '[[axes]]\n"path.rtt" = ["5ms", "6ms"]\n'
METRICS = 'metrics = ["utilization"]\n'


def in_experiment(folder: Path, key: str, name: str) -> None:
    file = folder / "x.toml"
    file.write_text(KEYS[key].format("", inline_toml(name)))
    read_attachments(load(file)[0])


def in_sweep(folder: Path, key: str, name: str) -> None:
    file = folder / "sweep.toml"
    file.write_text(f"{METRICS}[experiment]\n" + KEYS[key].format("experiment.", inline_toml(name)) + AXES)
    referenced_files(load_sweep(file))


def on_axis(folder: Path, key: str, name: str) -> None:
    file = folder / "sweep.toml"
    (folder / "fine").write_text(GOOD[key])
    axis = f'[[axes]]\n"{key}" = ["fine", {inline_toml(name)}]\n'
    file.write_text(f"{METRICS}[experiment]\n" + KEYS[key].format("experiment.", '"fine"') + axis)
    referenced_files(load_sweep(file))


def as_experiment(folder: Path, _key: str, name: str) -> None:
    file = folder / "sweep.toml"
    file.write_text(f"{METRICS}experiment = {inline_toml(name)}\n" + AXES)
    load_sweep(file)


READERS: dict[str, tuple[Callable[[Path, str, str], None], str]] = {
    **{
        f"{reader_function.__name__} {key}": (reader_function, key)
        for reader_function in (in_experiment, in_sweep, on_axis)
        for key in KEYS
    },
    "a sweep's experiment": (as_experiment, "experiment"),
}


def content(key: str) -> str:
    """Valid content for this key, with the canary in it."""
    return f"# {CANARY}\n" + (GOOD.get(key) or f'title = "{CANARY}"\n{COMPLETE}')


def make_hostile_names(author_folder: Path, key: str) -> dict[str, str]:
    """Names that no reader may follow; creates the files that they refer to."""
    outside = author_folder.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "secret.toml").write_text(content(key))
    (author_folder / "link.toml").symlink_to(outside / "secret.toml")
    (author_folder / "relative.toml").symlink_to("../outside/secret.toml")
    (author_folder / "parent").symlink_to(outside)
    (author_folder / "here.toml").symlink_to("real.toml")
    (author_folder / "real.toml").write_text(content(key))
    (author_folder / "loop.toml").symlink_to("loop.toml")
    (author_folder / "dangling.toml").symlink_to("nowhere")
    (author_folder / "zero.toml").symlink_to("/dev/zero")
    (author_folder / "environ.toml").symlink_to("/proc/self/environ")
    os.mkfifo(author_folder / "fifo.toml")
    (author_folder / "folder.toml").mkdir()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(author_folder / "socket.toml"))
    with (author_folder / "huge.toml").open("wb") as huge:
        huge.truncate(100 << 30)
    with (author_folder / "larger.toml").open("wb") as larger:
        larger.truncate(limits.most("trace") + 1)
    return {
        "absolute": str(outside / "secret.toml"),
        "up": "../outside/secret.toml",
        "up and down": f"../{author_folder.name}/real.toml",
        "deep up": "folder.toml/../../outside/secret.toml",
        "a link": "link.toml",
        "a relative link": "relative.toml",
        "a link's folder": "parent/secret.toml",
        "a link within": "here.toml",
        "a loop": "loop.toml",
        "a dangling link": "dangling.toml",
        "a file as a folder": "real.toml/x.toml",
        "a FIFO": "fifo.toml",
        "a folder": "folder.toml",
        "the folder": "./",
        "a socket": "socket.toml",
        "a huge file": "huge.toml",
        "a byte too many": "larger.toml",
        "a link to a device": "zero.toml",
        "a device": "/dev/zero",
        "a link to the environment": "environ.toml",
        "the environment": "/proc/self/environ",
        "our input": "/dev/stdin",
        "a NUL": "real.toml\0.toml",
        "a newline": "re\nal.toml",
        "too long": "a" * 300 + ".toml",
        "a long way": "a/" * 3000 + "x.toml",
        "nothing": "none.toml",
        "a home": "~/secret.toml",
    }


@pytest.fixture
def author_folder(tmp_path: Path) -> Path:
    """The folder of a file from an untrusted author."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def error_of(name_kind: str, read: Callable[[], None]) -> ExperimentError:
    try:
        read()
    except ExperimentError as error:
        return error
    pytest.fail(f"{name_kind}: no error")


@pytest.mark.parametrize("reader", READERS)
def test_hostile_names_are_errors(author_folder: Path, reader: str) -> None:
    """Without blocking on a FIFO, opening a device, or reading a file that is too large."""
    read, key = READERS[reader]
    for name_kind, name in make_hostile_names(author_folder, key).items():
        error = error_of(name_kind, partial(read, author_folder, key, name))
        assert error.value == name, name_kind
        assert key in error.key, name_kind
        assert ".toml" in error.file, name_kind
        assert error.right, name_kind
        assert CANARY not in str(error), name_kind


@pytest.mark.parametrize("reader", READERS)
def test_a_plain_name_below_the_folder_is_read(author_folder: Path, reader: str) -> None:
    read, key = READERS[reader]
    (author_folder / "below" / "it").mkdir(parents=True)
    for name in ("real.toml", "below/it/real.toml", "./below/real.toml", "a b\nc.toml"):
        (author_folder / name).write_text(content(key))
        read(author_folder, key, name)


@pytest.mark.parametrize("key", KEYS)
def test_no_file_from_outside_is_sent_to_a_cluster(author_folder: Path, key: str) -> None:
    names = make_hostile_names(author_folder, key)
    (author_folder / "sweep.toml").write_text(
        f"{METRICS}[experiment]\n"
        + KEYS[key].format("experiment.", '"fine"')
        + f'[[axes]]\n"{key}" = ["fine", "other"]\n'
    )
    (author_folder / "fine").write_text(GOOD[key])
    sweep = load_sweep(author_folder / "sweep.toml")
    base, (task, _) = base_of(sweep), next_round(sweep, [])
    tasks = [replace(task, settings=((key, name),)) for name in ("fine", *names.values())]
    assert payload_of(base, tasks).files == {"fine": GOOD[key].encode()}


def test_a_linked_experiment_does_not_give_access_to_its_folder(author_folder: Path) -> None:
    """The table is read as `experiment.toml`; if that name is a link, files in its target's folder are not read."""
    outside = author_folder.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text(TRACE)
    (author_folder / "experiment.toml").symlink_to(outside / "any")
    with pytest.raises(ExperimentError, match="no such file"):
        in_sweep(author_folder, "path.bottleneck.rate_trace", "secret")


def test_a_file_named_in_a_result_s_manifest_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest has the experiment's name, which once determined the folder of its files."""
    (tmp_path / "secret").write_text(f"# {CANARY}\n{SCRIPT.replace('pfifo limit 10', 'pfifo limit 4242')}")
    (tmp_path / "mine.sh").write_text(SCRIPT)
    text = KEYS["path.tc.script"].format("", '"mine.sh"')
    folder = Simulator().run(Request("x", parse(text, tmp_path / "x.toml")[0], 1, tmp_path / "run"), lambda _: None)
    run = result.load(folder)
    experiment = dict(run.manifest["experiment"])
    experiment["path"]["tc"]["script"] = "secret"
    run = run.replaced(manifest=run.manifest | {"name": str(tmp_path / "x"), "experiment": experiment})
    monkeypatch.chdir(tmp_path)
    assert "4242" not in by_hand(run)


COMMANDS = {
    "an absolute name": "{outside}/secret.toml",
    "a name that leads up": "../outside/secret.toml",
    "a link": "link.toml",
    "a link's folder": "parent/secret.toml",
}


@pytest.mark.parametrize("name_kind", COMMANDS)
def test_a_sweep_copies_no_file_from_outside(dumbbell: Dumbbell, author_folder: Path, name_kind: str) -> None:
    make_hostile_names(author_folder, "experiment")
    name = COMMANDS[name_kind].format(outside=author_folder.parent / "outside")
    (author_folder / "sweep.toml").write_text(f"{METRICS}experiment = {inline_toml(name)}\n" + AXES)
    for folder, file in (
        (author_folder, "sweep.toml"),
        (author_folder.parent, "home/sweep.toml"),
        (author_folder.parent / "outside", author_folder / "sweep.toml"),
    ):
        done = dumbbell("sweep", file, "--out", author_folder.parent / "out", "--no-cache", cwd=folder)
        assert done.returncode == 2, done.stdout
        assert "sweep.toml: experiment: a" in done.stderr
        assert CANARY not in done.stdout + done.stderr
        assert not (author_folder.parent / "out").exists()


@pytest.mark.parametrize("name", ["sweep.toml", "experiment.toml"])
@pytest.mark.parametrize("kind", ["link", "FIFO"])
def test_a_sweep_s_report_shows_no_file_from_outside(
    dumbbell: Dumbbell, author_folder: Path, kind: str, name: str
) -> None:
    """Its report shows the sweep's file, and the experiment of each cell."""
    table = KEYS["path.bottleneck.rate_trace"].format("experiment.", '"fine"')
    (author_folder / "x.toml").write_text(f"{METRICS}[experiment]\n{table}{AXES}")
    (author_folder / "fine").write_text(TRACE)
    assert dumbbell("sweep", "x.toml", "--out", "out", "--jobs", "1", cwd=author_folder).returncode == 0
    (author_folder.parent / "secret").write_text(content("experiment"))
    (author_folder / "out" / name).unlink()
    if kind == "link":
        (author_folder / "out" / name).symlink_to(author_folder.parent / "secret")
    else:
        os.mkfifo(author_folder / "out" / name)
    done = dumbbell("report", "out", "-o", "page.html", cwd=author_folder)
    assert "Traceback" not in done.stderr
    assert CANARY not in ((author_folder / "page.html").read_text() if done.returncode == 0 else done.stderr)


@pytest.mark.parametrize("name", ["rows.sqlite", "rows.sqlite-wal", "SWEEP.toml", "runs/x", ".work", "experiment.toml"])
def test_a_referenced_file_must_not_have_the_name_of_a_sweep_s_file(
    dumbbell: Dumbbell, author_folder: Path, name: str
) -> None:
    text = (
        METRICS + "[experiment]\n" + KEYS["path.bottleneck.rate_trace"].format("experiment.", inline_toml(name)) + AXES
    )
    (author_folder / "x.toml").write_text(text)
    (author_folder / name).parent.mkdir(exist_ok=True)
    (author_folder / name).write_text(TRACE)
    done = dumbbell("sweep", "x.toml", "--out", "out", cwd=author_folder)
    assert done.returncode == 2
    assert f"the experiment references a file {name}" in done.stderr
    assert not (author_folder / "out").exists()


@pytest.mark.usefixtures("as_root")
def test_a_device_is_not_opened(author_folder: Path) -> None:
    """Opening a device may have an effect, such as rewinding a tape."""
    subprocess.run(["mknod", author_folder / "device", "c", "1", "5"], check=True)
    script = (
        "import sys\nfrom pathlib import Path\nfrom dumbbell.spec.attachments import read_below\n"
        "sys.addaudithook(lambda event, what: event == 'open' and print(what[0]))\n"
        "read_below(Path(sys.argv[1]), 'device', 100)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, author_folder], capture_output=True, text=True, check=False)
    assert "a device, not a regular file" in done.stderr
    assert str(author_folder) in done.stdout.splitlines()
    assert "device" not in done.stdout.splitlines()


def test_a_link_created_between_check_and_open_is_not_followed(author_folder: Path) -> None:
    """Two threads: one swaps the file, and its folder, for links; the other reads."""
    outside = author_folder.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text(CANARY)
    (author_folder / "real").mkdir()
    (author_folder / "real" / "a").write_text("fine")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (author_folder / "real").rename(author_folder / "aside")
            (author_folder / "real").symlink_to(outside)
            (author_folder / "real").unlink()
            (author_folder / "aside").rename(author_folder / "real")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(3000):
            with suppress(Wrong):
                assert read_below(author_folder, "real/a", 100) == b"fine"
    finally:
        done.set()
        thread.join()


PARTS = st.sampled_from(
    ["..", ".", "", "a", "b", "link", "up", "~", "/", "\0", "\n", "é", "x" * 256, "proc", "self", "environ"]
)


def test_fuzz_no_name_reaches_a_file_outside(tmp_path: Path) -> None:
    author_folder = tmp_path / "home"
    (author_folder / "a" / "b").mkdir(parents=True)
    for folder in (author_folder, author_folder / "a", author_folder / "a" / "b"):
        (folder / "é").write_text("fine")
        (folder / "link").symlink_to(tmp_path)
        (folder / "up").symlink_to("..")
    (tmp_path / "é").write_text(CANARY)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "é").write_text(CANARY)

    def check(parts: list[str]) -> None:
        name = "/".join(parts)
        try:
            read = read_below(author_folder, name, 100)
        except Wrong:
            return
        assert read == b"fine"
        assert ".." not in parts_of(name)

    search(st.lists(PARTS, max_size=6), check, examples=300)
