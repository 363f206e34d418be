"""Text from files can't command a terminal: every text of a run, a sweep, a log, an experiment, a request and a guest.

No output of a command holds a control character but newline and tab, a turned direction, or an invisible sign; on a
terminal there are our own colours besides. Markup in such text is text.
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
from engines.measured import experiment, measure
from engines.test_programs import PYTHON
from hostile.fuzzing import search
from hostile.planted import PLANTED, answered, leaves, planted, unseen
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
    (folder / "e.toml").write_text(written({key: value for key, value in EXPERIMENT.items() if key != "cases"}))
    assert answered("run", folder / "e.toml", "--out", folder / "run")[0] in (0, 1)
    manifest = json.loads((folder / "run" / "run.json").read_text())
    manifest |= {"warnings": ["a warning"], "invalid": ["a reason"], "valid": False}
    (folder / "run" / "run.json").write_text(json.dumps(manifest))
    return folder / "run"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    axes = [axis("rate", ["1mbit", "2mbit"]), axis("name", ["x", "y"])]
    points = [{"rate": rate, "name": name} for rate in ("1mbit", "2mbit") for name in "xy"]
    return made(tmp_path_factory.mktemp("sweeps") / "s", axes, points, lambda _point, seed: seed or "r").folder


def harmless(*commands: tuple[str | Path, ...], terminal: bool = False) -> str:
    """All that the commands said, whatever became of them."""
    told = ""
    for command in commands:
        status, out, err = answered(*command, terminal=terminal)
        assert status in (0, 1, 2), (command, err)
        for text in (out, err):
            assert not unseen(text, terminal=terminal), (command, text)
            assert not re.search(r"^INVALID: PLANT", text, re.MULTILINE)
        told += out + err
    return told


def commands_of_run(run: Path) -> list[tuple[str | Path, ...]]:
    return [("stats", run), ("stats", run, run), ("stats", run, "--json"), ("compare", run, run.with_name("run"))]


def altered(run: Path, folder: Path, place: tuple[Any, ...], text: str) -> Path:
    """A copy of the run whose run.json has the text at the place."""
    target = folder / "altered"
    if not target.exists():
        shutil.copytree(run, target)
        shutil.copytree(run, folder / "run")
    manifest = planted(json.loads((run / "run.json").read_text()), place, text)
    (target / "run.json").write_text(json.dumps(manifest))
    return target


@pytest.mark.parametrize("terminal", [False, True])
def test_no_text_of_a_run_reaches_the_terminal_as_it_is(run: Path, tmp_path: Path, terminal: bool) -> None:
    everywhere = "".join(text for text in PLANTED if "\n" not in text and "\ud800" not in text)
    told = ""
    for place in leaves(json.loads((run / "run.json").read_text())):
        target = altered(run, tmp_path, place, everywhere)
        told += harmless(*commands_of_run(target)[: 1 if terminal else 4], terminal=terminal)
    for text in ("[red]PLANT[/red]", "[link=http://x]PLANT[/link]", ":warning:PLANT", r"\x1b]0;PLANT\x07"):
        assert text in told


def test_a_new_line_in_a_title_begins_no_line(run: Path, tmp_path: Path) -> None:
    target = altered(run, tmp_path, ("title",), "\nINVALID: PLANT")
    assert r"\nINVALID: PLANT" in harmless(("stats", target))


@pytest.mark.parametrize("text", PLANTED)
def test_no_text_of_a_sweep_reaches_the_terminal_as_it_is(swept: Path, tmp_path: Path, text: str) -> None:
    shutil.copytree(swept, target := tmp_path / "s")
    certificate = json.loads((swept / "sweep.json").read_text())
    for place in leaves(certificate):
        (target / "sweep.json").write_text(json.dumps(planted(certificate, place, text)))
        harmless(("stats", target), ("sql", target, "select * from runs limit 2"))
    quoted = text.encode("utf-8", "replace").decode().replace("'", "''")
    harmless(("sql", swept, f"select '{quoted}' as a"), ("sql", swept, f"select '{quoted}'", "--json"))


def test_sql_s_json_is_exact(swept: Path) -> None:
    text = "\x1b[31m\x9b\u202e\u200b\x7f"
    _, out, _ = answered("sql", swept, f"select '{text}' as a from runs limit 1", "--json")
    assert json.loads(out)["rows"] == [[text]]
    assert out.isascii()


@pytest.mark.parametrize("text", PLANTED)
def test_a_word_of_the_command_line_comes_back_visible(text: str) -> None:
    word = text.replace("\0", "")
    commands = [("run", word), ("stats", word), ("plot", word), ("export", word), ("import", word, "-o", "x"),
                ("explain", word), ("list", word), ("sweep", word), ("map", word, "--value", word, "--x", "x"),
                ("run", "cyclic", "--set", word), ("plan", "cyclic", "--set", f"title={word}"),
                ("watch", "--once", word), ("fetch", f"http://127.0.0.1:1/{word}"), ("report", word), (word,),
                ("stats", f"--{word}"), ("plan", "lossy-download", "--case", word)]  # fmt: skip
    for terminal in (False, True):
        harmless(*commands, terminal=terminal)


@pytest.mark.parametrize("name", SAMPLES)
def test_no_text_of_a_log_reaches_the_terminal_as_it_is(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    sample = SAMPLES[name]
    data = sample.encode() if isinstance(sample, str) else sample
    words = sorted(set(re.findall(rb"[A-Za-z]{3,}", data)))
    for number, word in enumerate(words[:25]):
        log.write_bytes(data.replace(word, word + PLANTED[number % 15].encode("utf-8", "replace")))
        harmless(("import", log, "-o", tmp_path / f"run{number}"))


def test_names_of_a_log_are_cleaned_when_it_is_imported(tmp_path: Path) -> None:
    log = tmp_path / "l\x1bog\n.txt"
    log.write_text(SAMPLES["iperf3"])
    status, _, err = answered("import", log, "-o", tmp_path / "run", "--name", "a\x1b[2J\u202e", "--cc", "b\x9bbr")
    assert status == 0, err
    run = load(tmp_path / "run")
    texts = [*leaves_of(run.manifest), *run.flows["flow"].unique(), *run.flows["group"].unique()]
    assert not any(HIDDEN.search(text) or "\n" in text for text in texts)
    assert {flow["name"] for flow in run.manifest["flows"]} == set(run.flows["flow"].unique())


def leaves_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (key, *leaves_of(each))]
    if isinstance(value, list):
        return [text for each in value for text in leaves_of(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("place", [place for place in leaves(EXPERIMENT) if place != ("cases", 0, "set", "path.rtt")])
def test_a_hidden_character_in_an_experiment_is_an_error_that_names_the_place(place: tuple[Any, ...]) -> None:
    read(json.loads(json.dumps(EXPERIMENT)), Path("e.toml"))
    for text in ("\x1b", "\x9b", "\u202e", "\u200b", "\ud800", "\x7f"):
        with pytest.raises(ExperimentError) as error:
            read(planted(EXPERIMENT, place, text), Path("e.toml"))
        assert error.value.key == ".".join(map(str, place))
        assert f"U+{ord(text):04X}" in str(error.value)
        assert not unseen(str(error.value))


@pytest.mark.parametrize("place", [("title",), ("source", "title"), ("source", "url"), ("cases", 0, "name")])
def test_a_text_of_one_line_has_one(place: tuple[Any, ...]) -> None:
    with pytest.raises(ExperimentError, match="more than one line"):
        read(planted(EXPERIMENT, place, "\nx"), Path("e.toml"))


@pytest.mark.parametrize("place", list(leaves(SWEEP)))
def test_a_hidden_character_in_a_sweep_is_an_error(place: tuple[Any, ...]) -> None:
    with pytest.raises(ExperimentError) as error:
        read_sweep(planted(SWEEP, place, "\x1b"), Path("s.toml"))
    assert "U+001B" in str(error.value)


def test_a_hidden_character_in_a_key_is_an_error() -> None:
    with pytest.raises(ExperimentError, match=r"tcp: a key with the character U\+001B"):
        read(EXPERIMENT | {"tcp": {"\x1b": 1}}, Path("e.toml"))


def test_texts_that_need_joiners_keep_them() -> None:
    title = "می‌خواهم 👨‍👩‍👧"
    assert read(EXPERIMENT | {"title": title}, Path("e.toml"))[0].experiment.title == title
    assert visible(title) == title
    assert visible("a\u200db") == r"a\u200db"


@pytest.mark.parametrize("text", PLANTED)
def test_a_program_s_file_comes_out_of_the_script_as_it_is(tmp_path: Path, text: str) -> None:
    content = text.replace("\0", "").encode("utf-8", "replace").decode() + "\\n%s 'x'\n"
    program = {"name": "p", "on": "sender", "run": ["true"], "files": {"index.html": content}}
    (tmp_path / "e.toml").write_text(written(EXPERIMENT | {"programs": [program]}), encoding="utf-8")
    _, script, err = answered("plan", tmp_path / "e.toml", "--case", "a")
    assert not err
    assert not unseen(script)
    line = next(line for line in script.split("\n> index.html")[0].split("\nprintf") if line)
    command = re.search(r"^printf .*? > index\.html$", script, re.MULTILINE | re.DOTALL)
    assert command, line
    subprocess.run(["sh", "-c", command[0]], cwd=tmp_path, check=True)
    assert (tmp_path / "index.html").read_bytes().decode() == content


def written(document: dict[str, Any]) -> str:
    from dumbbell.spec.tomlout import as_toml  # noqa: PLC0415

    return as_toml(document)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_process_of_its_own_says_the_same(run: Path, tmp_path: Path, terminal: bool) -> None:
    target = altered(run, tmp_path, ("title",), "".join(PLANTED))
    for words in (("stats", target), ("run", "no\x1b[95;105m\x9b.toml"), ("stats", "--\x1b]0;x\x07"), ("scenarios",)):
        said = on_terminal(words) if terminal else on_pipe(words)
        assert len(said) > 20
        assert not unseen(said, terminal=terminal)


def on_pipe(words: tuple[str | Path, ...]) -> str:
    done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode()


def on_terminal(words: tuple[str | Path, ...]) -> str:
    """What arrives at a real terminal, which begins lines by a return of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([str(COMMAND), *map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 1 << 16):
            said += piece
    except OSError:  # The other side is closed.
        pass
    os.close(ours)
    process.wait()
    return said.decode().replace("\r\n", "\n")


def test_a_request_of_a_stranger_is_a_line_of_the_log(tmp_path: Path) -> None:
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
        assert not unseen(process.stderr.read().decode())


def test_the_workbench_s_log_is_visible(tmp_path: Path) -> None:
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
        assert not unseen(ui.process.stderr.read())


@pytest.mark.kernel
def test_what_a_guest_s_program_said_is_visible(tmp_path: Path) -> None:
    script = r"import sys; sys.stderr.write('\x1b[95;105mPLANT\x07\n'); sys.exit(3)"
    text = experiment(f'[[programs]]\nname = "p"\non = "sender"\nrun = ["{PYTHON}", "-c", {json.dumps(script)}]\n')
    run = measure(tmp_path, text).run
    kept = (run.folder / "programs" / "p.err").read_bytes()
    assert b"\x1b[95;105mPLANT" in kept
    harmless(("stats", run.folder), ("stats", run.folder), terminal=True)
    (tmp_path / "e.toml").write_text(text)
    harmless(("run", tmp_path / "e.toml", "--engine", "kernel", "--out", tmp_path / "again"))


def test_an_experiment_typed_as_text_has_no_hidden_character() -> None:
    with pytest.raises(ExperimentError, match="not TOML"):
        parse('title = "\x1b"', Path("e.toml"))
    with pytest.raises(ExperimentError, match=r"U\+001B"):
        parse('title = "\\u001b"', Path("e.toml"))


def test_fuzz_any_text_is_visible_and_exact_as_json() -> None:
    def check(text: str) -> None:
        assert not [sign for sign in visible(text) if HIDDEN.fullmatch(sign) and sign not in "\u200c\u200d"]
        assert "\n" not in visible_line(text)
        assert not HIDDEN.search(visible(text))
        exact = json_text({text: [text]})
        assert not HIDDEN.search(exact)
        if not re.search("[\ud800-\udbff][\udc00-\udfff]", text):
            assert json.loads(exact) == {text: [text]}
        assert not HIDDEN.search(json.loads(visible_json([text]))[0])

    search(st.one_of(st.text(), TEXTS, st.text(st.sampled_from('\\u001bnrt\x1b\u200c\u200daé"'))), check, examples=500)


def test_fuzz_any_text_anywhere_in_a_run(run: Path, tmp_path: Path) -> None:
    places = st.sampled_from(list(leaves(json.loads((run / "run.json").read_text()))))

    def check(chosen: tuple[tuple[Any, ...], str, bool]) -> None:
        place, text, terminal = chosen
        harmless(("stats", altered(run, tmp_path, place, text)), terminal=terminal)

    search(st.tuples(places, TEXTS, st.booleans()), check, examples=30)


def test_fuzz_any_text_anywhere_in_an_experiment(tmp_path: Path) -> None:
    places = st.sampled_from(list(leaves(EXPERIMENT)))
    file = tmp_path / "e.toml"

    def check(chosen: tuple[tuple[Any, ...], str]) -> None:
        place, text = chosen
        file.write_text(written(planted(EXPERIMENT, place, text)), encoding="utf-8", errors="surrogatepass")
        harmless(("plan", file))

    search(st.tuples(places, TEXTS), check, examples=30)
