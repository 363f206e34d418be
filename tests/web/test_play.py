"""A run in time, in a headless Chromium: it plays, pauses, steps, goes where the user clicks, and counts right."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from playwright.sync_api import expect

from dumbbell.engines import Request, Simulator
from dumbbell.engines.sim.packet_traces import Window, packet_traces
from dumbbell.spec import parse

Open = Callable[..., Any]
PATIENCE_MS = 60_000
SAID = re.compile(
    r"t = (?P<time>[\d.]+) s: (?P<wire>\d+) packets? on the forward path, (?P<queue>\d+) of (?P<limit>\d+) in"
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


def played(opened: Open, **options: Any) -> Any:
    """The page with that text."""
    page = opened(**options)
    editor = page.get_by_label("Experiment as TOML")
    editor.click()
    editor.press("Control+a")
    page.keyboard.insert_text(TEXT)
    page.get_by_role("button", name="Show the packets").click()
    expect(page.get_by_label("Time", exact=True)).to_have_attribute("max", "4", timeout=PATIENCE_MS)
    return page


def said(page: Any) -> re.Match[str]:
    """The stage in words, once its packets have come."""
    expect(page.locator(".said")).to_contain_text(" on the reverse path", timeout=PATIENCE_MS)
    found = SAID.search(page.locator(".said").inner_text())
    assert found
    return found


def time_of(page: Any) -> float:
    return float(page.get_by_label("Time", exact=True).input_value())


def reached(page: Any, time_s: float) -> None:
    """Wait until the player is past this time. The page's policy forbids to have it wait by itself."""
    for _ in range(PATIENCE_MS // 20):
        if time_of(page) > time_s:
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"the player never came to {time_s} s")


def click_at(page: Any, share: float, panel: int = 0) -> None:
    """A click into a figure, at this share of its time."""
    over = page.locator(".panel .u-over").nth(panel)
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.click(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)


def test_it_plays_and_pauses_and_the_figures_follow(opened: Open) -> None:
    page = played(opened)
    page.get_by_role("button", name="Play").click()
    reached(page, 0.02)
    expect(page.locator(".said")).to_have_attribute("aria-live", "off")
    expect(page.locator(".clock")).to_have_count(page.locator(".panel").count())
    page.locator("canvas[role=img]").press(" ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator(".said")).to_have_attribute("aria-live", "polite")
    held = time_of(page)
    page.wait_for_timeout(300)
    assert time_of(page) == held


def test_the_pointer_over_a_figure_does_not_move_what_plays(opened: Open) -> None:
    page = played(opened)
    page.get_by_role("button", name="Play").click()
    reached(page, 0.01)
    box = page.locator(".panel .u-over").first.bounding_box()
    for share in (0.5, 0.6, 0.7):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + 20)
    assert time_of(page) < 1


def test_a_click_goes_there_and_the_stage_counts_as_the_simulator_does(opened: Open) -> None:
    page = played(opened)
    run = Simulator().simulate(REQUEST)
    queue = run.queues.filter(pl.col("queue") == "bottleneck")
    packets = packet_traces(REQUEST, Window(0, 4 * 10**9)).packets
    asked = page.get_by_label("Time", exact=True)
    compared = 0
    for panel, share in ((0, 0.1), (3, 0.3), (1, 0.62), (2, 0.9)):
        click_at(page, share, panel)
        assert abs(time_of(page) - 4 * share) < 0.02
        # From where the click led to the next sample: there the queue's figure has a value.
        at = queue.filter(pl.col("time_ns") >= time_of(page) * 1e9).row(0, named=True)
        time_s = at["time_ns"] / 1e9
        asked.fill(f"{round(time_s, 3):g}")  # As the browser writes it: it has no 0.400.
        now = said(page)
        assert float(now["time"]) == time_s
        if not of_this_instant(packets, at["time_ns"]):
            assert int(now["queue"]) == at["backlog_packets"] <= int(now["limit"]) == LIMIT
            assert int(now["wire"]) == on_the_wire(packets, at["time_ns"])
            compared += int(now["queue"]) > 0
    assert compared >= 2


def of_this_instant(packets: pl.DataFrame, time_ns: int) -> bool:
    """Does something happen at this very time? Then a sample may be of before or after."""
    return bool(packets.filter(pl.any_horizontal(pl.col("queued_ns", "dequeued_ns", "dropped_ns") == time_ns)).height)


def on_the_wire(packets: pl.DataFrame, time_ns: int) -> int:
    """Forward packets that are sent, and in no queue, and neither there nor dead."""
    is_out = (pl.col("sent_ns") <= time_ns) & (pl.coalesce("dropped_ns", "received_ns", pl.lit(10**18)) > time_ns)
    waits = (pl.col("queued_ns") <= time_ns) & (pl.coalesce("dequeued_ns", pl.lit(10**18)) > time_ns)
    return packets.filter((pl.col("direction") == "forward") & is_out & ~waits.fill_null(value=False)).height


def test_steps_go_from_event_to_event_and_say_what_happens(opened: Open) -> None:
    page = played(opened)
    times = {
        time for name in EVENTS for time in packet_traces(REQUEST, Window(0, 4 * 10**9)).packets[name].drop_nulls()
    }
    click_at(page, 0.5)
    stage = page.locator("canvas[role=img]")
    said(page)
    before = time_of(page)
    for _ in range(5):
        stage.press("ArrowRight")
        expect(page.locator(".said")).to_contain_text("Now: ", timeout=PATIENCE_MS)
    now = float(said(page)["time"])
    later = sorted(time for time in times if time / 1e9 > before)
    # The words round to 10 µs, not always as Python does, and the slider that `before` is of to 1 ms.
    assert min(abs(now * 1e5 - time / 1e4) for time in later[3:9]) <= 1
    stage.press("ArrowLeft")
    assert float(said(page)["time"]) < now


def test_another_text_has_other_packets(opened: Open) -> None:
    page = played(opened)
    click_at(page, 0.5)
    first = said(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or "") if "api/packets" in request.url else None)
    for _ in range(5):
        page.get_by_label("Buffer", exact=True).press("ArrowLeft")
    expect(page.locator(".said")).not_to_contain_text(f" of {first['limit']} in", timeout=PATIENCE_MS)
    assert int(said(page)["limit"]) < LIMIT
    assert asked
    assert not any("limit 1.5bdp" in body for body in asked)


def test_who_wants_less_motion_steps(opened: Open) -> None:
    page = played(opened, reduced_motion="reduce")
    expect(page.get_by_role("button", name="Play", exact=False).first).to_be_disabled()
    click_at(page, 0.5)
    before = float(said(page)["time"])
    page.get_by_role("button", name="To the next event").click()
    assert float(said(page)["time"]) >= before
    page.get_by_role("button", name="Let it play").click()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_slow_server_is_waited_for(opened: Open) -> None:
    page = played(opened)
    held: list[Any] = []
    page.route("**/api/packets", lambda route: held.append(route))  # noqa: PLW0108 — it wants a function of its own
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(500)
    assert time_of(page) == 0
    expect(page.locator(".board")).to_have_attribute("data-waiting", "true")
    for route in held:
        route.continue_()
    page.unroute("**/api/packets")
    reached(page, 0.01)
