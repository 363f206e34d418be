"""Text from files cannot control a terminal: texts of runs, sweeps, logs, experiments, requests and guests.

No output of a command contains control characters except newline and tab, direction overrides, or invisible
characters; on a terminal, it also contains Dumbbell's own colours. Markup in such text is printed as text.
"""

import json
import os
import pty
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from conftest import COMMAND
from dumbbell.control_characters import HIDDEN, json_text, visible, visible_json, visible_line
from dumbbell.errors import ExperimentError
from dumbbell.results.result import load
from dumbbell.spec import parse, read
from dumbbell.spec.axes import axis
from dumbbell.spec.sweep import read_sweep
from engines.measured import PYTHON, experiment, measure
from hostile.fuzzing import search
from hostile.planted import PLANTED, hidden_characters, run_command, text_paths, with_text
from importers.samples import SAMPLES
from sweep_fixtures import made
from web.serving import served

EXPERIMENT: dict[str, Any] = {
    "title": "t", "duration": "1s", "expect": ["jain > 0"],
    "source": {"title": "s", "url": "u", "note": "n", "seen": [{"what": "w", "value": 1, "metric": "jain"}]},
    "path": {"rtt": "10ms", "bottleneck": {"rate": "1mbit", "qdisc": "fq"}},
    "flows": [{"name": "n", "cc": "bbr"}],
    "cases": [{"name": "a", "set": {"path.rtt": "20ms"}}, {"name": "b", "set": {"path.rtt": ["30ms", "40ms"]}}],
}  # fmt: skip
SWEEP: dict[str, Any] = {
    "title": "t", "experiment": {key: value for key, value in EXPERIMENT.items() if key != "cases"},
    "axes": [{"path.rtt": ["10ms", "20ms"]}, {"buffer": ["a", "b"]}], "metrics": ["jain"],
    "source": {"title": "s"}, "maps": [{"value": "jain", "x": "path.rtt", "title": "m", "text": "x"}],
}  # fmt: skip
TEXTS = st.one_of(st.sampled_from(PLANTED), st.text(max_size=5), st.text(st.characters(categories=["Cc", "Cf", "Cs"])))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "e.toml").write_text(toml_of({key: value for key, value in EXPERIMENT.items() if key != "cases"}))
    assert run_command("run", folder / "e.toml", "--out", folder / "run")[0] in (0, 1)
    manifest = json.loads((folder / "run" / "run.json").read_text())
    manifest |= {"warnings": ["a warning"], "invalid": ["a reason"], "valid": False}
    (folder / "run" / "run.json").write_text(json.dumps(manifest))
    return folder / "run"


@pytest.fixture(scope="module")
def sweep_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    axes = [axis("rate", ["1mbit", "2mbit"]), axis("name", ["x", "y"])]
    points = [{"rate": rate, "name": name} for rate in ("1mbit", "2mbit") for name in "xy"]
    return made(tmp_path_factory.mktemp("sweeps") / "s", axes, points, lambda _point, seed: seed or "r").folder


def harmless_output(*commands: tuple[str | Path, ...], terminal: bool = False) -> str:
    """Output of the commands, which may fail; checks that it has no hidden characters."""
    output = ""
    for command in commands:
        status, out, err = run_command(*command, terminal=terminal)
        assert status in range(6), (command, err)
        for text in (out, err):
            assert not hidden_characters(text, terminal=terminal), (command, text)
            assert not re.search(r"^INVALID: PLANT", text, re.MULTILINE)
        output += out + err
    return output


def commands_of_run(run: Path) -> list[tuple[str | Path, ...]]:
    return [("stats", run), ("stats", run, run), ("stats", run, "--json"), ("compare", run, run.with_name("run"))]


def run_with_text(run: Path, folder: Path, path: tuple[Any, ...], text: str) -> Path:
    """A copy of the run whose run.json has the text at this path."""
    target = folder / "altered"
    if not target.exists():
        shutil.copytree(run, target)
        shutil.copytree(run, folder / "run")
    manifest = with_text(json.loads((run / "run.json").read_text()), path, text)
    (target / "run.json").write_text(json.dumps(manifest))
    return target


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [False, True])
def test_texts_of_a_run_are_escaped_on_the_terminal(run: Path, tmp_path: Path, terminal: bool) -> None:
    all_texts = "".join(text for text in PLANTED if "\n" not in text and "\ud800" not in text)
    output = ""
    for path in text_paths(json.loads((run / "run.json").read_text())):
        target = run_with_text(run, tmp_path, path, all_texts)
        output += harmless_output(*commands_of_run(target)[: 1 if terminal else 4], terminal=terminal)
    for text in ("[red]PLANT[/red]", "[link=http://x]PLANT[/link]", ":warning:PLANT", r"\x1b]0;PLANT\x07"):
        assert text in output


def test_a_new_line_in_a_title_is_escaped(run: Path, tmp_path: Path) -> None:
    target = run_with_text(run, tmp_path, ("title",), "\nINVALID: PLANT")
    assert r"\nINVALID: PLANT" in harmless_output(("stats", target))


@pytest.mark.parametrize("text", PLANTED)
def test_texts_of_a_sweep_are_escaped_on_the_terminal(sweep_folder: Path, tmp_path: Path, text: str) -> None:
    shutil.copytree(sweep_folder, target := tmp_path / "s")
    manifest = json.loads((sweep_folder / "sweep.json").read_text())
    for path in text_paths(manifest):
        (target / "sweep.json").write_text(json.dumps(with_text(manifest, path, text)))
        harmless_output(("stats", target), ("sql", target, "select * from runs limit 2"))
    quoted = text.encode("utf-8", "replace").decode().replace("'", "''")
    harmless_output(
        ("sql", sweep_folder, f"select '{quoted}' as a"), ("sql", sweep_folder, f"select '{quoted}'", "--json")
    )


def test_sql_s_json_is_exact(sweep_folder: Path) -> None:
    text = "\x1b[31m\x9b\u202e\u200b\x7f"
    _, out, _ = run_command("sql", sweep_folder, f"select '{text}' as a from runs limit 1", "--json")
    assert json.loads(out)["rows"] == [[text]]
    assert out.isascii()


@pytest.mark.parametrize("text", PLANTED)
def test_a_command_line_argument_is_escaped_in_messages(text: str) -> None:
    name = text.replace("\0", "")
    commands = [("run", name), ("stats", name), ("plot", name), ("export", name), ("import", name, "--out", "x"),
                ("explain", name), ("list", name), ("sweep", name), ("map", name, "--value", name, "--x", "x"),
                ("run", "cyclic", "--set", name), ("plan", "cyclic", "--set", f"title={name}"),
                ("watch", "--once", name), ("fetch", f"http://127.0.0.1:1/{name}"), ("report", name), (name,),
                ("stats", f"--{name}"), ("plan", "lossy-download", "--case", name)]  # fmt: skip
    for terminal in (False, True):
        harmless_output(*commands, terminal=terminal)


@pytest.mark.parametrize("name", SAMPLES)
def test_texts_of_a_log_are_escaped_on_the_terminal(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    sample = SAMPLES[name]
    data = sample.encode() if isinstance(sample, str) else sample
    tokens = sorted(set(re.findall(rb"[A-Za-z]{3,}", data)))
    for number, token in enumerate(tokens[:25]):
        log.write_bytes(data.replace(token, token + PLANTED[number % 15].encode("utf-8", "replace")))
        harmless_output(("import", log, "--out", tmp_path / f"run{number}"))


def test_import_escapes_the_names_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "l\x1bog\n.txt"
    log.write_text(SAMPLES["iperf3"])
    status, _, err = run_command(
        "import", log, "--out", tmp_path / "run", "--name", "a\x1b[2J\u202e", "--cc", "b\x9bbr"
    )
    assert status == 0, err
    run = load(tmp_path / "run")
    texts = [*leaves_of(run.manifest), *run.flows["flow"].unique(), *run.flows["group"].unique()]
    assert not any(HIDDEN.search(text) or "\n" in text for text in texts)
    assert {flow.name for flow in run.manifest.flows} == set(run.flows["flow"].unique())


def leaves_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (key, *leaves_of(each))]
    if isinstance(value, list):
        return [text for each in value for text in leaves_of(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("path", [path for path in text_paths(EXPERIMENT) if path != ("cases", 0, "set", "path.rtt")])
def test_a_hidden_character_in_an_experiment_is_an_error_with_its_key(path: tuple[Any, ...]) -> None:
    read(json.loads(json.dumps(EXPERIMENT)), Path("e.toml"))
    for text in ("\x1b", "\x9b", "\u202e", "\u200b", "\ud800", "\x7f"):
        with pytest.raises(ExperimentError) as error:
            read(with_text(EXPERIMENT, path, text), Path("e.toml"))
        assert error.value.key == ".".join(map(str, path))
        found = "half of a pair" if text == "\ud800" else f"U+{ord(text):04X}"
        assert found in str(error.value)
        assert not hidden_characters(str(error.value))


@pytest.mark.parametrize("path", [("title",), ("source", "title"), ("source", "url"), ("cases", 0, "name")])
def test_a_title_of_two_lines_is_an_error(path: tuple[Any, ...]) -> None:
    with pytest.raises(ExperimentError, match="more than one line"):
        read(with_text(EXPERIMENT, path, "\nx"), Path("e.toml"))


@pytest.mark.parametrize("path", list(text_paths(SWEEP)))
def test_a_hidden_character_in_a_sweep_is_an_error(path: tuple[Any, ...]) -> None:
    with pytest.raises(ExperimentError) as error:
        read_sweep(with_text(SWEEP, path, "\x1b"), Path("s.toml"))
    assert "U+001B" in str(error.value)


def test_a_hidden_character_in_a_key_is_an_error() -> None:
    with pytest.raises(ExperimentError, match=r"tcp: a key with the character U\+001B"):
        read(EXPERIMENT | {"tcp": {"\x1b": 1}}, Path("e.toml"))


def test_joiners_are_kept_in_texts_that_need_them() -> None:
    title = "می‌خواهم 👨‍👩‍👧"
    assert read(EXPERIMENT | {"title": title}, Path("e.toml"))[0].experiment.title == title
    assert visible(title) == title
    assert visible("a\u200db") == r"a\u200db"


@pytest.mark.parametrize("text", PLANTED)
def test_the_script_writes_a_program_s_file_exactly(tmp_path: Path, text: str) -> None:
    content = text.replace("\0", "").encode("utf-8", "replace").decode() + "\\n%s 'x'\n"
    program = {"name": "p", "host": "sender", "run": ["true"], "files": {"index.html": content}}
    (tmp_path / "e.toml").write_text(toml_of(EXPERIMENT | {"programs": [program]}), encoding="utf-8")
    _, script, err = run_command("plan", tmp_path / "e.toml", "--case", "a")
    assert not err
    assert not hidden_characters(script)
    line = next(line for line in script.split("\n> index.html")[0].split("\nprintf") if line)
    command = re.search(r"^printf .*? > index\.html$", script, re.MULTILINE | re.DOTALL)
    assert command, line
    subprocess.run(["sh", "-c", command[0]], cwd=tmp_path, check=True)
    assert (tmp_path / "index.html").read_bytes().decode() == content


def toml_of(document: dict[str, Any]) -> str:
    from dumbbell.spec.document import as_toml  # noqa: PLC0415

    return as_toml(document)


@pytest.mark.slow(keep="False")
@pytest.mark.parametrize("terminal", [False, True])
def test_a_separate_process_prints_no_hidden_character(run: Path, tmp_path: Path, terminal: bool) -> None:
    target = run_with_text(run, tmp_path, ("title",), "".join(PLANTED))
    for arguments in (
        ("stats", target),
        ("run", "no\x1b[95;105m\x9b.toml"),
        ("stats", "--\x1b]0;x\x07"),
        ("scenarios",),
    ):
        output = on_terminal(arguments) if terminal else on_pipe(arguments)
        assert len(output) > 20
        assert not hidden_characters(output, terminal=terminal)


def on_pipe(arguments: tuple[str | Path, ...]) -> str:
    done = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode()


def on_terminal(arguments: tuple[str | Path, ...]) -> str:
    """Output at a pseudo-terminal, which adds a carriage return to each line."""
    master, terminal = pty.openpty()
    process = subprocess.Popen([str(COMMAND), *map(str, arguments)], stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    output = b""
    try:
        while data := os.read(master, 1 << 16):
            output += data
    except OSError:  # The other end is closed.
        pass
    os.close(master)
    process.wait()
    return output.decode().replace("\r\n", "\n")


def test_requests_are_escaped_in_the_server_s_log(tmp_path: Path) -> None:
    command = [COMMAND, "serve", "--port", "0"]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stderr is not None
        port = int(re.findall(rb"http://127\.0\.0\.1:(\d+)", process.stderr.readline())[0])
        for text in ("/\x1b]0;x\x07", "/\x9b31m", "/\u202e", "/\x00", "/%1b%5b31m", "/a\rINVALID"):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
                link.sendall(b"GET " + text.encode() + b" HTTP/1.1\r\nHost: \x1b[31m\r\n\r\n")
                link.shutdown(socket.SHUT_WR)
                while link.recv(4096):
                    pass
        process.terminate()
        assert not hidden_characters(process.stderr.read().decode())


@pytest.mark.slow
def test_requests_are_escaped_in_the_workbench_s_log(tmp_path: Path) -> None:
    with served(tmp_path) as ui:
        port = int(ui.url.rstrip("/").rpartition(":")[2])
        for head in (b"\x1b[31m / HTTP/1.1\r\n\r\n", b"GET /\x1b[31m\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 50):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
                link.sendall(head)
                link.shutdown(socket.SHUT_WR)
                while link.recv(4096):
                    pass
        ui.process.terminate()
        assert ui.process.stderr is not None
        assert not hidden_characters(ui.process.stderr.read())


@pytest.mark.kernel
def test_the_output_of_a_guest_s_program_is_escaped(tmp_path: Path) -> None:
    script = r"import sys; sys.stderr.write('\x1b[95;105mPLANT\x07\n'); sys.exit(3)"
    text = experiment(f'[[programs]]\nname = "p"\nhost = "sender"\nrun = ["{PYTHON}", "-c", {json.dumps(script)}]\n')
    run = measure(tmp_path, text).run
    kept = (run.folder / "programs" / "p.err").read_bytes()
    assert b"\x1b[95;105mPLANT" in kept
    harmless_output(("stats", run.folder), ("stats", run.folder), terminal=True)
    (tmp_path / "e.toml").write_text(text)
    harmless_output(("run", tmp_path / "e.toml", "--engine", "kernel", "--out", tmp_path / "second"))


def test_an_experiment_typed_as_text_has_no_hidden_character() -> None:
    with pytest.raises(ExperimentError, match="not TOML"):
        parse('title = "\x1b"', Path("e.toml"))
    with pytest.raises(ExperimentError, match=r"U\+001B"):
        parse('title = "\\u001b"', Path("e.toml"))


def test_fuzz_any_text_is_visible_and_exact_as_json() -> None:
    def check(text: str) -> None:
        assert not [
            character for character in visible(text) if HIDDEN.fullmatch(character) and character not in "\u200c\u200d"
        ]
        assert "\n" not in visible_line(text)
        assert not HIDDEN.search(visible(text))
        exact = json_text({text: [text]})
        assert not HIDDEN.search(exact)
        if not re.search("[\ud800-\udbff][\udc00-\udfff]", text):
            assert json.loads(exact) == {text: [text]}
        assert not HIDDEN.search(json.loads(visible_json([text]))[0])

    search(st.one_of(st.text(), TEXTS, st.text(st.sampled_from('\\u001bnrt\x1b\u200c\u200daé"'))), check, examples=500)


def test_fuzz_any_text_anywhere_in_a_run(run: Path, tmp_path: Path) -> None:
    paths = st.sampled_from(list(text_paths(json.loads((run / "run.json").read_text()))))

    def check(example: tuple[tuple[Any, ...], str, bool]) -> None:
        path, text, terminal = example
        harmless_output(("stats", run_with_text(run, tmp_path, path, text)), terminal=terminal)

    search(st.tuples(paths, TEXTS, st.booleans()), check, examples=30)


def test_fuzz_any_text_anywhere_in_an_experiment(tmp_path: Path) -> None:
    paths = st.sampled_from(list(text_paths(EXPERIMENT)))
    file = tmp_path / "e.toml"

    def check(example: tuple[tuple[Any, ...], str]) -> None:
        path, text = example
        written = json.dumps(text, ensure_ascii=False)[1:-1]
        content = toml_of(with_text(EXPERIMENT, path, "REPLACED")).replace("REPLACED", written)
        file.write_text(content, encoding="utf-8", errors="surrogatepass")
        harmless_output(("plan", file))

    search(st.tuples(paths, TEXTS), check, examples=30)
