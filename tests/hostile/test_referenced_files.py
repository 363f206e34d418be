"""What a file names lies below its own folder, as a regular file of a stated size; nothing else is opened.

Covers every key that names a file (an experiment's trace and tc script, alone, in a table of a sweep and on an axis; a
sweep's experiment) with every kind of name and of file, by the functions that read them and by the commands that copy
them; the experiment in a result's certificate; a race against a link. A canary in a file outside must never come out.
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
from dumbbell.spec.attachments import read_attachments
from dumbbell.spec.beneath import parts_of, read_below
from dumbbell.spec.sweep import load_sweep
from dumbbell.spec.tomlout import inline
from dumbbell.spec.units import Wrong
from dumbbell.sweeps.pending import next_round
from dumbbell.sweeps.referenced_files import referenced_files
from dumbbell.sweeps.task import base_of
from dumbbell.sweeps.worker_payload import payload_of
from hostile.fuzzing import search

CANARY = "canary"
TRACE = "".join(f"{number}\n" for number in range(1, 101))
SCRIPT = "tc qdisc add dev eth0 root handle 1: pfifo limit 10\n"
FLOWS = '[[{0}flows]]\ncc = "cubic"\n'
HEAD = 'duration = "100ms"\n[{0}path]\nrtt = "10ms"\n'
KEYS = {
    "path.bottleneck.trace": HEAD + "[{0}path.bottleneck]\ntrace = {1}\n" + FLOWS,
    "path.tc.script": HEAD + '[{0}path.tc]\ninterface = "eth0"\nscript = {1}\n' + FLOWS,
}
GOOD = {"path.bottleneck.trace": TRACE, "path.tc.script": SCRIPT}
WHOLE = HEAD.format("") + '[path.bottleneck]\nrate = "10mbit"\n' + FLOWS.format("")
AXES = '[[axes]]\n"path.rtt" = ["5ms", "6ms"]\n'
METRICS = 'metrics = ["utilisation"]\n'


def in_experiment(folder: Path, key: str, name: str) -> None:
    file = folder / "x.toml"
    file.write_text(KEYS[key].format("", inline(name)))
    read_attachments(load(file)[0])


def in_sweep(folder: Path, key: str, name: str) -> None:
    file = folder / "sweep.toml"
    file.write_text(f"{METRICS}[experiment]\n" + KEYS[key].format("experiment.", inline(name)) + AXES)
    referenced_files(load_sweep(file))


def on_axis(folder: Path, key: str, name: str) -> None:
    file = folder / "sweep.toml"
    (folder / "fine").write_text(GOOD[key])
    axis = f'[[axes]]\n"{key}" = ["fine", {inline(name)}]\n'
    file.write_text(f"{METRICS}[experiment]\n" + KEYS[key].format("experiment.", '"fine"') + axis)
    referenced_files(load_sweep(file))


def as_experiment(folder: Path, _key: str, name: str) -> None:
    file = folder / "sweep.toml"
    file.write_text(f"{METRICS}experiment = {inline(name)}\n" + AXES)
    load_sweep(file)


READERS: dict[str, tuple[Callable[[Path, str, str], None], str]] = {
    **{f"{how.__name__} {key}": (how, key) for how in (in_experiment, in_sweep, on_axis) for key in KEYS},
    "a sweep's experiment": (as_experiment, "experiment"),
}


def content(key: str) -> str:
    """What would be read there, with the canary in it."""
    return f"# {CANARY}\n" + (GOOD.get(key) or f'title = "{CANARY}"\n{WHOLE}')


def planted(home: Path, key: str) -> dict[str, str]:
    """Names that no reader may follow, with what they lead to made."""
    outside = home.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "secret.toml").write_text(content(key))
    (home / "link.toml").symlink_to(outside / "secret.toml")
    (home / "relative.toml").symlink_to("../outside/secret.toml")
    (home / "parent").symlink_to(outside)
    (home / "here.toml").symlink_to("real.toml")
    (home / "real.toml").write_text(content(key))
    (home / "loop.toml").symlink_to("loop.toml")
    (home / "dangling.toml").symlink_to("nowhere")
    (home / "zero.toml").symlink_to("/dev/zero")
    (home / "environ.toml").symlink_to("/proc/self/environ")
    os.mkfifo(home / "fifo.toml")
    (home / "folder.toml").mkdir()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(home / "socket.toml"))
    with (home / "huge.toml").open("wb") as huge:
        huge.truncate(100 << 30)
    with (home / "larger.toml").open("wb") as larger:
        larger.truncate(limits.most("trace") + 1)
    return {
        "absolute": str(outside / "secret.toml"),
        "up": "../outside/secret.toml",
        "up and down": f"../{home.name}/real.toml",
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
def home(tmp_path: Path) -> Path:
    """The folder of a file from a stranger."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def refused(what: str, read: Callable[[], None]) -> ExperimentError:
    try:
        read()
    except ExperimentError as error:
        return error
    pytest.fail(f"{what}: it was read")


@pytest.mark.parametrize("reader", READERS)
def test_a_name_leads_to_a_regular_file_below_its_folder_or_to_an_error(home: Path, reader: str) -> None:
    """No wait for a FIFO's other end, no device, no memory for what is too large."""
    read, key = READERS[reader]
    for what, name in planted(home, key).items():
        error = refused(what, partial(read, home, key, name))
        assert error.value == name, what
        assert key in error.key, what
        assert ".toml" in error.file, what
        assert error.right, what
        assert CANARY not in str(error), what


@pytest.mark.parametrize("reader", READERS)
def test_a_plain_name_below_the_folder_is_read(home: Path, reader: str) -> None:
    read, key = READERS[reader]
    (home / "below" / "it").mkdir(parents=True)
    for name in ("real.toml", "below/it/real.toml", "./below/real.toml", "a b\nc.toml"):
        (home / name).write_text(content(key))
        read(home, key, name)


@pytest.mark.parametrize("key", KEYS)
def test_nothing_from_outside_is_sent_to_a_cluster(home: Path, key: str) -> None:
    names = planted(home, key)
    (home / "sweep.toml").write_text(
        f"{METRICS}[experiment]\n"
        + KEYS[key].format("experiment.", '"fine"')
        + f'[[axes]]\n"{key}" = ["fine", "other"]\n'
    )
    (home / "fine").write_text(GOOD[key])
    sweep = load_sweep(home / "sweep.toml")
    base, (task, _) = base_of(sweep), next_round(sweep, [])
    tasks = [replace(task, settings=((key, name),)) for name in ("fine", *names.values())]
    assert payload_of(base, tasks).files == {"fine": GOOD[key].encode()}


def test_what_lies_in_a_linked_folder_is_not_beside_a_table_of_a_sweep(home: Path) -> None:
    """Where `experiment.toml`, by which the table goes, is a link, files beside its target stay where they are."""
    outside = home.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text(TRACE)
    (home / "experiment.toml").symlink_to(outside / "any")
    with pytest.raises(ExperimentError, match="no such file"):
        in_sweep(home, "path.bottleneck.trace", "secret")


def test_the_experiment_of_a_result_names_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate says what its experiment was called, which once was where files were looked for."""
    (tmp_path / "secret").write_text(f"# {CANARY}\n{SCRIPT.replace('pfifo limit 10', 'pfifo limit 4242')}")
    (tmp_path / "mine.sh").write_text(SCRIPT)
    text = KEYS["path.tc.script"].format("", '"mine.sh"')
    folder = Simulator().run(Request("x", parse(text, tmp_path / "x.toml")[0], 1, tmp_path / "run"), lambda _: None)
    run = result.load(folder)
    run.manifest["name"] = str(tmp_path / "x")
    run.manifest["experiment"]["path"]["tc"]["script"] = "secret"
    monkeypatch.chdir(tmp_path)
    assert "4242" not in by_hand(run)


COMMANDS = {
    "an absolute name": "{outside}/secret.toml",
    "a name that leads up": "../outside/secret.toml",
    "a link": "link.toml",
    "a link's folder": "parent/secret.toml",
}


@pytest.mark.parametrize("how", COMMANDS)
def test_a_sweep_takes_nothing_from_outside_into_its_folder(dumbbell: Dumbbell, home: Path, how: str) -> None:
    planted(home, "experiment")
    name = COMMANDS[how].format(outside=home.parent / "outside")
    (home / "sweep.toml").write_text(f"{METRICS}experiment = {inline(name)}\n" + AXES)
    for folder, file in (
        (home, "sweep.toml"),
        (home.parent, "home/sweep.toml"),
        (home.parent / "outside", home / "sweep.toml"),
    ):
        done = dumbbell("sweep", file, "--out", home.parent / "out", "--no-cache", cwd=folder)
        assert done.returncode == 2, done.stdout
        assert "sweep.toml: experiment: a" in done.stderr
        assert CANARY not in done.stdout + done.stderr
        assert not (home.parent / "out").exists()


@pytest.mark.parametrize("name", ["sweep.toml", "experiment.toml"])
@pytest.mark.parametrize("kind", ["link", "FIFO"])
def test_a_sweep_s_folder_shows_no_file_from_outside(dumbbell: Dumbbell, home: Path, kind: str, name: str) -> None:
    """Its report shows the sweep's file, and the experiment of each cell."""
    table = KEYS["path.bottleneck.trace"].format("experiment.", '"fine"')
    (home / "x.toml").write_text(f"{METRICS}[experiment]\n{table}{AXES}")
    (home / "fine").write_text(TRACE)
    assert dumbbell("sweep", "x.toml", "--out", "out", "--jobs", "1", cwd=home).returncode == 0
    (home.parent / "secret").write_text(content("experiment"))
    (home / "out" / name).unlink()
    if kind == "link":
        (home / "out" / name).symlink_to(home.parent / "secret")
    else:
        os.mkfifo(home / "out" / name)
    done = dumbbell("report", "out", "-o", "page.html", cwd=home)
    assert "Traceback" not in done.stderr
    assert CANARY not in ((home / "page.html").read_text() if done.returncode == 0 else done.stderr)


@pytest.mark.parametrize("name", ["rows.sqlite", "rows.sqlite-wal", "SWEEP.toml", "runs/x", ".work", "experiment.toml"])
def test_no_file_of_an_experiment_stands_for_one_of_a_sweep_s_own(dumbbell: Dumbbell, home: Path, name: str) -> None:
    text = METRICS + "[experiment]\n" + KEYS["path.bottleneck.trace"].format("experiment.", inline(name)) + AXES
    (home / "x.toml").write_text(text)
    (home / name).parent.mkdir(exist_ok=True)
    (home / name).write_text(TRACE)
    done = dumbbell("sweep", "x.toml", "--out", "out", cwd=home)
    assert done.returncode == 2
    assert f"the experiment references a file {name}" in done.stderr
    assert not (home / "out").exists()


@pytest.mark.usefixtures("as_root")
def test_a_device_is_not_even_opened(home: Path) -> None:
    """Opening one may do something, such as rewinding a tape."""
    subprocess.run(["mknod", home / "device", "c", "1", "5"], check=True)
    script = (
        "import sys\nfrom pathlib import Path\nfrom dumbbell.spec.beneath import read_below\n"
        "sys.addaudithook(lambda event, what: event == 'open' and print(what[0]))\n"
        "read_below(Path(sys.argv[1]), 'device', 100)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, home], capture_output=True, text=True, check=False)
    assert "a device, not a regular file" in done.stderr
    assert str(home) in done.stdout.splitlines()
    assert "device" not in done.stdout.splitlines()


def test_a_link_that_comes_between_look_and_open_is_not_followed(home: Path) -> None:
    """Two threads: one swaps the file, and its folder, for links; the other reads."""
    outside = home.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text(CANARY)
    (home / "real").mkdir()
    (home / "real" / "a").write_text("fine")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (home / "real").rename(home / "aside")
            (home / "real").symlink_to(outside)
            (home / "real").unlink()
            (home / "aside").rename(home / "real")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(3000):
            with suppress(Wrong):
                assert read_below(home, "real/a", 100) == b"fine"
    finally:
        done.set()
        thread.join()


PARTS = st.sampled_from(
    ["..", ".", "", "a", "b", "link", "up", "~", "/", "\0", "\n", "é", "x" * 256, "proc", "self", "environ"]
)


def test_fuzz_no_name_leads_outside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "a" / "b").mkdir(parents=True)
    for folder in (home, home / "a", home / "a" / "b"):
        (folder / "é").write_text("fine")
        (folder / "link").symlink_to(tmp_path)
        (folder / "up").symlink_to("..")
    (tmp_path / "é").write_text(CANARY)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "é").write_text(CANARY)

    def check(parts: list[str]) -> None:
        name = "/".join(parts)
        try:
            read = read_below(home, name, 100)
        except Wrong:
            return
        assert read == b"fine"
        assert ".." not in parts_of(name)

    search(st.lists(PARTS, max_size=6), check, examples=300)
