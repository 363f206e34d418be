"""Figures are rendered in a separate process: if it dies, the command prints an error and a server continues.

The process is killed, aborts, runs out of memory, or takes too long; ^C ends both processes; text that would make it
abort is escaped first, so that every SVG is valid XML.
"""

import concurrent.futures
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from hypothesis import strategies as st

from conftest import COMMAND
from dumbbell.errors import OutputError
from dumbbell.plots import described, figure, image_bytes, render, save
from dumbbell.plots.converter import MEMORY_BYTES
from hostile.fuzzing import search
from hostile.planted import PLANTED
from synthetic import Bench, Flow
from web.serving import Served, served

WAIT_S = 120
EXPRESSIONS = (
    "PLANT\\u001b",
    'PLANT\\"',
    'PLANT\\" + 1 + "',
    "PLANT\\",
    "PLANT\n",
    "\\x41PLANT",
    "PLANT${x}",
    "PLANT\\\\",
)
"""Text that Vega would parse as an expression."""
EXPERIMENT = """
title = "x"
duration = "1s"
[path]
rtt = "10ms"
[path.bottleneck]
rate = "10mbit"
[[flows]]
cc = "cubic"
"""


def chart(title: str = "t", name: str = "a") -> dict[str, Any]:
    """A figure with this text wherever figures contain text from files."""
    data = alt.Data(values=[{"x": 1, "f": name}, {"x": 2, "f": name}])
    colour = alt.Color("f:N", title=[title, "b"], legend=alt.Legend(title=title))
    x = alt.X("x:Q", title=title, axis=alt.Axis(title=title))
    return described(
        alt.Chart(data, title=title).mark_point().encode(x=x, color=colour, tooltip=[alt.Tooltip("x:Q", title=title)])
    )


def render_processes(parent: int) -> list[int]:
    """The render processes of a process."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                arguments = (each / "cmdline").read_bytes().split(b"\0")
                parent_id = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            if parent_id == parent and any(word.endswith(b"plots/converter.py") for word in arguments):
                found.append(int(each.name))
    return found


def wait_until(condition: Any) -> Any:
    """Wait until the condition holds; returns its value."""
    end = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.fixture
def slow_figure() -> dict[str, Any]:
    """A short description of a figure that takes long to render."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"sequence": {"start": 0, "stop": 400_000, "as": "x"}},
        "mark": "point",
        "encoding": {"x": {"field": "x", "type": "quantitative"}},
    }


@pytest.fixture(scope="module")
def result_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Bench(flows=[Flow("a", "bbr")], duration_s=1).make_folder(tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.slow
def test_every_planted_text_is_drawn_in_every_format(tmp_path: Path) -> None:
    for text in (*PLANTED, *EXPRESSIONS):
        root = ET.fromstring(image_bytes(chart(text, text), "svg"))
        assert "PLANT" in "".join(root.itertext())
    everything = "".join(text for text in PLANTED if "\ud800" not in text)
    run = Bench(flows=[Flow(everything, "bbr")], duration_s=1, manifest={"title": everything}).make(tmp_path)
    for format_ in ("svg", "png", "pdf", "html", "json"):
        save(figure(run), tmp_path / f"f.{format_}")
    ET.parse(tmp_path / "f.svg")


def test_one_process_draws_all_figures() -> None:
    image_bytes(chart(), "svg")
    first = render_processes(os.getpid())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda number: image_bytes(chart(f"title {number}"), "svg"), range(12)))
    assert all(f"title {number}".encode() in each for number, each in enumerate(drawn))
    assert render_processes(os.getpid()) == first


@pytest.mark.slow(keep="9")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV])
def test_a_killed_render_process_is_an_error_and_the_next_figure_is_drawn(
    number: signal.Signals, slow_figure: dict[str, Any]
) -> None:
    image_bytes(chart(), "svg")
    (worker,) = render_processes(os.getpid())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(image_bytes, slow_figure, "png")
        time.sleep(0.5)
        os.kill(worker, number)
        with pytest.raises(
            OutputError, match=rf"the rendering process ended with signal {number.value} \({number.name}"
        ):
            pending.result(WAIT_S)
    assert image_bytes(chart(), "svg").startswith(b"<svg")


def test_an_invalid_description_of_a_figure_is_an_error() -> None:
    for spec in ({"mark": 5}, {"mark": "point", "transform": [{"filter": "((("}]}, {"vconcat": [None]}):
        with pytest.raises(OutputError, match="can't draw the figure"):
            image_bytes({"$schema": "https://vega.github.io/schema/vega-lite/v6.json", **spec}, "svg")
    assert image_bytes(chart(), "svg").startswith(b"<svg")


def test_too_large_a_figure_is_an_error_within_the_memory_limit() -> None:
    huge = chart() | {"width": 40_000, "height": 40_000}
    with pytest.raises(OutputError, match="can't draw the figure"):
        image_bytes(huge, "png", 4)
    (worker,) = render_processes(os.getpid()) or (None,)
    if worker is not None:
        limits = Path(f"/proc/{worker}/limits").read_text()
        assert str(MEMORY_BYTES) in limits
    assert image_bytes(chart(), "svg").startswith(b"<svg")


def test_a_figure_that_takes_too_long_is_an_error(slow_figure: dict[str, Any]) -> None:
    image_bytes(chart(), "svg")
    (worker,) = render_processes(os.getpid())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(image_bytes, slow_figure, "png")
        time.sleep(0.3)
        os.kill(worker, signal.SIGALRM)  # As its own timer does, after minutes.
        with pytest.raises(OutputError, match="timed out"):
            pending.result(WAIT_S)


def test_ctrl_c_ends_a_command_and_its_render_process(tmp_path: Path, result_folder: Path) -> None:
    """Only the command gets the signal here; at a terminal the render process gets it, too."""
    command = [
        str(COMMAND),
        "plot",
        str(result_folder),
        "-o",
        str(tmp_path / "f.png"),
        "--width",
        "4000",
        "--scale",
        "8",
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        (worker,) = wait_until(lambda: render_processes(process.pid))
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 130
    wait_until(lambda: not Path(f"/proc/{worker}").exists())
    assert not (tmp_path / "f.png").exists()


@pytest.mark.slow
def test_the_render_process_ends_when_its_command_is_killed(tmp_path: Path, result_folder: Path) -> None:
    with subprocess.Popen([COMMAND, "plot", result_folder, "-o", tmp_path / "f.png"]) as process:
        (worker,) = wait_until(lambda: render_processes(process.pid))
        process.kill()
    wait_until(lambda: not Path(f"/proc/{worker}").exists())


def test_the_error_names_the_signal(tmp_path: Path, result_folder: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "plot", result_folder, "-o", tmp_path / "f.png"], stderr=subprocess.PIPE, text=True
    ) as process:
        (worker,) = wait_until(lambda: render_processes(process.pid))
        os.kill(worker, signal.SIGKILL)
        assert process.wait(WAIT_S) == 2
        assert process.stderr is not None
        assert "dumbbell: can't draw the figure: the rendering process ended with signal 9 (SIGKILL)" in (
            process.stderr.read()
        )
    assert not (tmp_path / "f.png").exists()


@pytest.fixture
def ui(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as served_:
        yield served_


@pytest.mark.slow
def test_the_workbench_survives_a_killed_render_process(ui: Served) -> None:
    request = {"what": "figure.png", "toml": EXPERIMENT, "seed": 1}
    with concurrent.futures.ThreadPoolExecutor(1) as pool, ui.asks as client:
        response = pool.submit(client.post, "/api/download", json=request)
        (worker,) = wait_until(lambda: render_processes(ui.process.pid))
        os.kill(worker, signal.SIGKILL)
        error_response = response.result(WAIT_S)
    assert error_response.status_code in (400, 409, 422)
    assert "the rendering process ended with signal 9" in error_response.text
    with ui.asks as client:
        assert client.post("/api/download", json=request).content.startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_planted_title_is_refused_and_the_workbench_survives(ui: Served) -> None:
    planted = EXPERIMENT.replace('"x"', '"\\u001b[31m"')
    with ui.asks as client:
        refused = client.post("/api/download", json={"what": "figure.svg", "toml": planted, "seed": 1})
        assert refused.status_code < 500
        assert "U+001B" in refused.text
        drawn = client.post("/api/download", json={"what": "figure.svg", "toml": EXPERIMENT, "seed": 1})
    assert drawn.content.startswith(b"<svg")


def test_fuzz_any_text_is_drawn_as_xml() -> None:
    def check(text: str) -> None:
        ET.fromstring(image_bytes(chart(text, text), "svg"))

    search(
        st.one_of(st.text(), st.sampled_from(PLANTED + EXPRESSIONS), st.text(st.sampled_from("\\u01nx\"'+"))),
        check,
        examples=20,
    )
    render._drawer.close()
