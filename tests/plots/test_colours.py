"""Computed contrasts: lines are visible and distinguishable with any colour vision."""

import itertools
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import _sim
from dumbbell._sim import controller_hue, dark
from dumbbell.engines import Simulator
from dumbbell.plots.colours import (  # fmt: skip
    ALARM,
    CONTROLLERS,
    DARK_GROUND,
    HUES,
    INK,
    NOTE,
    contrast,
    dashes,
    shades,
)

ON_DARK: tuple[str, ...] = tuple(_sim.PALETTE["on_dark"])
Floats = npt.NDArray[np.float64]
STATES: dict[str, str] = dict(_sim.PALETTE["states"])
PALE: list[str] = _sim.PALETTE["pale"]


def phase_colours(names: list[str]) -> dict[str, str]:
    return dict(_sim.state_colours(names))


# Machado, Oliveira & Fernandes 2009, "A physiologically-based model for simulation of color vision deficiency".
VISIONS: dict[str, Floats] = {
    name: np.array(numbers).reshape(3, 3)
    for name, numbers in {
        "normal": [1, 0, 0, 0, 1, 0, 0, 0, 1],
        "protanopia": [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
        "deuteranopia": [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
        "tritanopia": [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
    }.items()
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear_rgb(colour: str) -> Floats:
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def cielab(colour: str, vision: str) -> Floats:
    xyz = TO_XYZ @ np.clip(VISIONS[vision] @ linear_rgb(colour), 0, 1) / WHITE
    scaled = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * scaled[1] - 16, 500 * (scaled[0] - scaled[1]), 200 * (scaled[1] - scaled[2])])


def distance(one: str, other: str, vision: str) -> float:
    """CIE 1976 colour difference; about 2.3 is just noticeable (Mahy et al. 1994)."""
    return float(np.linalg.norm(cielab(one, vision) - cielab(other, vision)))


def flows(*sizes: int) -> list[dict[str, str]]:
    return [{"name": f"{group}-{n}", "group": str(group)} for group, size in enumerate(sizes) for n in range(size)]


def test_every_controller_of_the_simulator_has_a_declared_hue() -> None:
    assert set(Simulator.controllers()) <= set(CONTROLLERS)


def test_the_documented_palette_is_the_declared_one() -> None:
    text = (Path(__file__).parents[2] / "docs" / "figures.md").read_text()
    rows = re.findall(r"^\| `(#\w{6})` \w+ \| `(#\w{6})` \| (.+) \|$", text, re.MULTILINE)
    assert [(hue, other) for hue, other, _ in rows] == list(zip(HUES, ON_DARK, strict=True))
    assert {name: hue for hue, _, names in rows for name in names.split(", ")} == CONTROLLERS


def test_a_controller_s_hue_does_not_depend_on_other_flows() -> None:
    alone = shades([{"name": "a", "group": "a", "cc": "bbr"}])["a"]
    second = shades([{"name": "x", "group": "x", "cc": "cubic"}, {"name": "b", "group": "b", "cc": "bbr"}])["b"]
    assert alone == second == CONTROLLERS["bbr"]
    assert controller_hue("mine") == controller_hue("mine")
    assert controller_hue("mine") in HUES


def test_groups_of_the_same_controller_differ_by_shade_and_dash() -> None:
    same = [{"name": name, "group": name, "cc": "cubic"} for name in ("near", "far")]
    assert len(set(shades(same).values())) == 2
    assert dashes(same)["near"] != dashes(same)["far"]


def test_a_flow_without_a_controller_gets_an_unused_hue() -> None:
    mixed: list[dict[str, str | None]] = [
        {"name": "pages", "group": "pages", "cc": "cubic"},
        {"name": "calls", "group": "calls", "cc": None},
    ]
    assert len(set(shades(mixed).values())) == 2


def test_contrast_is_defined_as_in_wcag() -> None:
    assert contrast("#FFFFFF") == pytest.approx(1)
    assert contrast("#000000") == pytest.approx(21)
    assert contrast("#777777") == pytest.approx(4.48, abs=0.01)  # WebAIM's well-known example: slightly below 4.5.


@pytest.mark.parametrize("vision", VISIONS)
def test_all_hues_differ_for_any_colour_vision(vision: str) -> None:
    worst = min((distance(one, other, vision), one, other) for one, other in itertools.combinations(HUES, 2))
    assert worst[0] > 16, worst


@pytest.mark.parametrize("vision", VISIONS)
def test_two_groups_differ_in_all_shades_for_any_colour_vision(vision: str) -> None:
    shade = shades(flows(4, 4))
    first, second = ([colour for name, colour in shade.items() if name.startswith(group)] for group in "01")
    assert min(distance(one, other, vision) for one in first for other in second) > 35


@pytest.mark.parametrize("sizes", [(1,), (2, 2), (6, 6), (1,) * 8, (3,) * 8, (12,)])
def test_every_line_stands_out_from_the_page(sizes: tuple[int, ...]) -> None:
    assert min(contrast(colour) for colour in shades(flows(*sizes)).values()) >= 3
    assert min(contrast(colour) for colour in (INK, NOTE, ALARM)) >= 3


@pytest.mark.parametrize("vision", VISIONS)
def test_flows_of_a_group_differ_in_lightness_and_dash(vision: str) -> None:
    for group in range(8):
        shade = shades([*({"name": str(n), "group": str(n)} for n in range(group)), *flows(2)])
        lightness = [cielab(shade[name], vision)[0] for name in ("0-0", "0-1")]
        assert lightness[1] - lightness[0] > 11
    assert dashes(flows(2))["0-0"] != dashes(flows(2))["0-1"]


@pytest.mark.parametrize("vision", VISIONS)
def test_rare_phases_contrast_with_frequent_ones(vision: str) -> None:
    colours = phase_colours(["startup", "drain", "probe_bw", "probe_rtt"])
    rare = [colours[name] for name in ("startup", "drain", "probe_rtt")]
    assert min(distance(colour, colours["probe_bw"], vision) for colour in rare) > 25
    assert min(distance(one, other, vision) for one, other in itertools.combinations(rare, 2)) > 16
    assert len(set(PALE)) == len(PALE)


@pytest.mark.parametrize("vision", VISIONS)
def test_the_phases_of_a_probe_stand_out_from_cruising(vision: str) -> None:
    names = ["startup", "drain", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"]
    colours = phase_colours(names)
    cruise = colours.pop("probe_bw_cruise")
    assert min(distance(colour, cruise, vision) for colour in colours.values()) > 25
    assert min(distance(one, other, vision) for one, other in itertools.combinations(colours.values(), 2)) > 11


def test_no_state_has_the_colour_of_anything_else() -> None:
    assert len(set(STATES.values())) == len(STATES)
    for colour in STATES.values():
        nearest = min((distance(colour, other, "normal"), other) for other in (*HUES, INK, NOTE, ALARM))
        assert nearest[0] > 16, (colour, nearest)


def test_phases_have_distinct_colours() -> None:
    colours = phase_colours(["probe_bw_cruise", "probe_bw_down", "reno_friendly", "concave", "convex"])
    assert len(set(colours.values())) == len(colours)


def on_dark(colours: dict[str, str]) -> dict[str, str]:
    return {name: dark(colour) for name, colour in colours.items()}


@pytest.mark.parametrize("vision", VISIONS)
def test_all_hues_differ_on_a_dark_background_for_any_colour_vision(vision: str) -> None:
    worst = min((distance(one, other, vision), one, other) for one, other in itertools.combinations(ON_DARK, 2))
    assert worst[0] > 16, worst


def test_hues_are_similar_on_a_dark_background() -> None:
    for hue, other in zip(HUES, ON_DARK, strict=True):
        rotation = hue_angle(other) - hue_angle(hue)
        assert dark(hue) == other
        assert hue == "#222222" or abs((rotation + 180) % 360 - 180) < 35, (hue, other)


def hue_angle(colour: str) -> float:
    _, red_green, yellow_blue = cielab(colour, "normal")
    return float(np.degrees(np.arctan2(yellow_blue, red_green)))


@pytest.mark.parametrize("vision", VISIONS)
def test_two_groups_differ_on_a_dark_background_for_any_colour_vision(vision: str) -> None:
    shade = on_dark(shades(flows(4, 4)))
    first, second = ([colour for name, colour in shade.items() if name.startswith(group)] for group in "01")
    assert min(distance(one, other, vision) for one in first for other in second) > 35


@pytest.mark.parametrize("sizes", [(1,), (2, 2), (6, 6), (1,) * 8, (3,) * 8, (12,)])
def test_every_line_stands_out_from_a_dark_page(sizes: tuple[int, ...]) -> None:
    shade = on_dark(shades(flows(*sizes)))
    assert len(set(shade.values())) == len(shade)
    assert min(contrast(colour, DARK_GROUND) for colour in shade.values()) >= 3
    assert min(contrast(dark(colour), DARK_GROUND) for colour in (INK, NOTE, ALARM)) >= 3


@pytest.mark.parametrize("vision", VISIONS)
def test_flows_of_a_group_differ_in_lightness_on_a_dark_background(vision: str) -> None:
    for group in range(8):
        shade = on_dark(shades([*({"name": str(n), "group": str(n)} for n in range(group)), *flows(2)]))
        lightness = [cielab(shade[name], vision)[0] for name in ("0-0", "0-1")]
        assert lightness[0] - lightness[1] > 11


@pytest.mark.parametrize("vision", VISIONS)
def test_the_phases_of_a_probe_stand_out_on_a_dark_background(vision: str) -> None:
    names = ["startup", "drain", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"]
    colours = on_dark(phase_colours(names))
    cruise = colours.pop("probe_bw_cruise")
    assert min(distance(colour, cruise, vision) for colour in colours.values()) > 25
    assert min(distance(one, other, vision) for one, other in itertools.combinations(colours.values(), 2)) > 11
    assert len({dark(colour) for colour in PALE}) == len(PALE)


@given(st.integers(0, 0xFFFFFF))
def test_any_colour_has_a_counterpart_with_its_contrast(number: int) -> None:
    colour = f"#{number:06X}"
    assert contrast(dark(colour), DARK_GROUND) == pytest.approx(min(contrast(colour), 17.72), abs=0.2)
