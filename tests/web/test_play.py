"""Playback of packets in a headless Chromium: play, pause, step, seek, and the numbers of packets."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import expect

from dumbbell.engines import Request, Simulator
from dumbbell.engines.sim import Window, packet_traces
from dumbbell.spec import parse
from web.browsing import TIMEOUT_MS, OpenPage, settled

DESCRIPTION = re.compile(
    r"t = (?P<time>[\d.]+) s: (?P<forward>\d+) packets? on the forward path, (?P<queue>\d+) of (?P<limit>\d+) in"
)
EVENTS = ("sent_ns", "queued_ns", "dequeued_ns", "received_ns", "dropped_ns")
TEXT = """duration = "4s"
[path]
rtt = "40ms"
delay = "20ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "pfifo limit 1.5bdp"
[[flows]]
cc = "bbr"
[[flows]]
cc = "cubic"
"""
LIMIT = 50
REQUEST = Request("mine", parse(TEXT, Path("mine.toml"))[0], 1, Path("never"))


def open_player(opened: OpenPage, **options: Any) -> Any:
    """Open the page with `TEXT`, whose packets it plays, and pause at the beginning."""
    page = opened(**options)
    editor = page.get_by_label("Experiment as TOML")
    editor.click()
    editor.press("Control+a")
    page.keyboard.insert_text(TEXT)
    expect(page.get_by_label("Time", exact=True)).to_have_attribute("max", "4", timeout=TIMEOUT_MS)
    if page.get_by_role("button", name="Pause").count():
        page.get_by_role("button", name="Pause").click()
    page.get_by_label("Time", exact=True).fill("0")
    return page


def described(page: Any) -> re.Match[str]:
    """Wait for the packets and return the description of the stage."""
    expect(page.locator(".said")).to_contain_text(" on the reverse path", timeout=TIMEOUT_MS)
    found = DESCRIPTION.search(page.locator(".said").inner_text())
    assert found
    return found


def time_of(page: Any) -> float:
    return float(page.get_by_label("Time", exact=True).input_value())


def wait_for_time(page: Any, time_s: float) -> None:
    """Wait until the player is past this time. The page's policy forbids `wait_for_function`."""
    for _ in range(TIMEOUT_MS // 20):
        if time_of(page) > time_s:
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"the player did not reach {time_s} s")


def click_at(page: Any, fraction: float, panel: int = 0) -> None:
    """Click into a figure at this fraction of its time axis."""
    over = page.locator(".panel .u-over").nth(panel)
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.click(box["x"] + box["width"] * fraction, box["y"] + box["height"] / 2)


@pytest.mark.slow
def test_the_player_plays_and_pauses_and_the_figures_follow(opened: OpenPage) -> None:
    page = open_player(opened)
    page.get_by_role("button", name="Play").click()
    wait_for_time(page, 0.02)
    expect(page.locator(".said")).to_have_attribute("aria-live", "off")
    expect(page.locator(".clock")).to_have_count(page.locator(".panel").count())
    page.locator("canvas[role=img]").press(" ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator(".said")).to_have_attribute("aria-live", "polite")
    paused_at = time_of(page)
    page.wait_for_timeout(300)
    assert time_of(page) == paused_at


@pytest.mark.slow
def test_the_pointer_over_a_figure_does_not_move_a_playing_run(opened: OpenPage) -> None:
    page = open_player(opened)
    page.get_by_role("button", name="Play").click()
    wait_for_time(page, 0.01)
    box = page.locator(".panel .u-over").first.bounding_box()
    for fraction in (0.5, 0.6, 0.7):
        page.mouse.move(box["x"] + box["width"] * fraction, box["y"] + 20)
    assert time_of(page) < 1


@pytest.mark.slow
def test_a_click_seeks_and_the_packet_counts_match_the_simulator(opened: OpenPage) -> None:
    page = open_player(opened)
    run = Simulator().simulate(REQUEST)
    queue = run.queues.filter(pl.col("queue") == "bottleneck")
    packets = packet_traces(REQUEST, Window(0, 4 * 10**9)).packets
    slider = page.get_by_label("Time", exact=True)
    compared = 0
    for panel, fraction in ((0, 0.1), (3, 0.3), (1, 0.62), (2, 0.9)):
        click_at(page, fraction, panel)
        assert abs(time_of(page) - 4 * fraction) < 0.02
        # Seek to the next sample, where the queue's figure has a value.
        sample = queue.filter(pl.col("time_ns") >= time_of(page) * 1e9).row(0, named=True)
        time_s = sample["time_ns"] / 1e9
        slider.fill(f"{round(time_s, 3):g}")  # The browser's format: 0.4, not 0.400.
        now = described(page)
        assert float(now["time"]) == time_s
        if not has_event_at(packets, sample["time_ns"]):
            assert int(now["queue"]) == sample["backlog_packets"] <= int(now["limit"]) == LIMIT
            assert int(now["forward"]) == on_forward_path(packets, sample["time_ns"])
            compared += int(now["queue"]) > 0
    assert compared >= 2


def has_event_at(packets: pl.DataFrame, time_ns: int) -> bool:
    """Return whether an event has exactly this time: the sample may be from before or after it."""
    return bool(packets.filter(pl.any_horizontal(pl.col("queued_ns", "dequeued_ns", "dropped_ns") == time_ns)).height)


def on_forward_path(packets: pl.DataFrame, time_ns: int) -> int:
    """Count the forward packets in transit outside queues."""
    in_transit = (pl.col("sent_ns") <= time_ns) & (pl.coalesce("dropped_ns", "received_ns", pl.lit(10**18)) > time_ns)
    queued = (pl.col("queued_ns") <= time_ns) & (pl.coalesce("dequeued_ns", pl.lit(10**18)) > time_ns)
    return packets.filter((pl.col("direction") == "forward") & in_transit & ~queued.fill_null(value=False)).height


def test_the_picture_moves_from_the_first_figure_on(opened: OpenPage) -> None:
    page = opened()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    wait_for_time(page, 0.01)
    still = opened(reduced_motion="reduce")
    described(still)
    expect(still.get_by_role("button", name="Pause")).to_have_count(0)


@pytest.mark.slow
def test_the_pointer_over_a_figure_shows_its_packets_until_it_leaves(opened: OpenPage) -> None:
    page = open_player(opened)
    box = page.locator(".panel .u-over").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    expect(page.locator(".said")).to_contain_text(re.compile(r"t = (1\.9|2\.0)"))
    assert time_of(page) == 0
    page.mouse.move(5, 5)
    expect(page.locator(".said")).to_contain_text("t = 0.0")


def test_steps_go_from_event_to_event_and_describe_it(opened: OpenPage) -> None:
    page = open_player(opened)
    times = {
        time for name in EVENTS for time in packet_traces(REQUEST, Window(0, 4 * 10**9)).packets[name].drop_nulls()
    }
    click_at(page, 0.5)
    stage = page.locator("canvas[role=img]")
    described(page)
    before = time_of(page)
    for _ in range(5):
        stage.press("ArrowRight")
        expect(page.locator(".said")).to_contain_text("Now: ", timeout=TIMEOUT_MS)
    text = str(described(page)["time"])
    now, unit_s = float(text), 10.0 ** -len(text.partition(".")[2])
    # The description rounds to its last digit, not always like Python; the slider, the source of `before`, to 1 ms.
    assert min(abs(now - time / 1e9) for time in times) <= unit_s
    uncertain = sum(abs(time / 1e9 - before) <= 0.001 for time in times) + 1
    assert abs(sum(before < time / 1e9 <= now for time in times) - 5) <= uncertain
    stage.press("ArrowLeft")
    assert float(described(page)["time"]) < now


@pytest.mark.slow
def test_a_changed_text_fetches_new_packets(opened: OpenPage) -> None:
    page = open_player(opened)
    click_at(page, 0.5)
    first = described(page)
    bodies: list[str] = []
    page.on("request", lambda request: bodies.append(request.post_data or "") if "api/packets" in request.url else None)
    for _ in range(5):
        page.get_by_label("Buffer", exact=True).press("ArrowLeft")
    expect(page.locator(".said")).not_to_contain_text(f" of {first['limit']} in", timeout=TIMEOUT_MS)
    assert int(described(page)["limit"]) < LIMIT
    assert bodies
    assert not any("limit 1.5bdp" in body for body in bodies)


@pytest.mark.slow
def test_reduced_motion_disables_playing_but_not_stepping(opened: OpenPage) -> None:
    page = open_player(opened, reduced_motion="reduce")
    expect(page.get_by_role("button", name="Play", exact=False).first).to_be_disabled()
    click_at(page, 0.5)
    before = float(described(page)["time"])
    page.get_by_role("button", name="To the next event").click()
    assert float(described(page)["time"]) >= before
    page.get_by_role("button", name="Enable playback").click()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


@pytest.mark.slow
def test_the_player_waits_for_a_slow_server(opened: OpenPage) -> None:
    page = open_player(opened)
    blocked: list[Any] = []
    page.route("**/api/packets", lambda route: blocked.append(route))  # noqa: PLW0108 — Playwright needs a Python function
    # The packets of another text are not there yet.
    page.get_by_label("Buffer", exact=True).press("ArrowLeft")
    settled(page)
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(500)
    assert time_of(page) == 0
    expect(page.locator(".board")).to_have_attribute("data-waiting", "true")
    for route in blocked:
        route.continue_()
    page.unroute("**/api/packets")
    wait_for_time(page, 0.01)
