//! Colours and dashes of flows, groups, queues and states: the only declaration of the palette.
//!
//! Each controller has one hue in every figure: four from the palette of Okabe & Ito 2008 ("Color Universal Design"), and
//! four with the same distance from all others, also under any kind of colour blindness. Flows of one controller differ
//! by shade and dash. Flows without a controller get the unused hues, in order. No state has the colour of a controller.
//!
//! Every line has a contrast of at least 3 : 1 with a white page (WCAG 2.2, 1.4.11), and so has its counterpart with a
//! dark one. `tests/plots/test_colours.py` computes all of this.

/// The hues. The other Okabe-Ito colours are too pale for thin lines; darkened, orange is indistinguishable from vermilion.
pub const HUES: [&str; 8] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#5B1A00", "#7A3FF2", "#A80078", "#222222"];
/// Their counterparts on a dark page, at the contrasts (3.1 to 16) where they are farthest apart.
pub const ON_DARK: [&str; 8] = ["#28B2FF", "#FF8A2C", "#008963", "#D795BA", "#BD3600", "#8B52FF", "#B6288D", "#F3F3F3"];
/// The controllers of each hue; the most compared ones first.
pub const FAMILIES: [&[&str]; 8] = [
    &["cubic", "bic", "highspeed", "yeah"],
    &["bbr", "hybla"],
    &["reno", "scalable", "htcp"],
    &["bbr2", "westwood", "illinois"],
    &["dctcp", "dctcp-reno", "veno"],
    &["bbr3", "copa", "cdg"],
    &["prague", "vegas", "ledbat++"],
    &["hpcc", "lp", "nv", "fixed"],
];
/// A dark page.
pub const DARK_GROUND: &str = "#18181B";
/// A light page.
pub const WHITE: &str = "#FFFFFF";
/// Lines that belong to no group: the queue, pings, references.
pub const INK: &str = "#333333";
/// ECN marks.
pub const NOTE: &str = "#6A6A74";
/// Limits, drops, lost pings; no controller has it.
pub const ALARM: &str = "#B00020";
/// States of controllers. Frequent ones are pale, so that rare ones stand out.
pub const STATES: [(&str, &str); 10] = [
    ("startup", "#C3865C"),
    ("slow_start", "#179C09"),
    ("drain", "#39238D"),
    ("probe_bw", "#D9EDE6"),
    ("probe_bw_cruise", "#CFE3F1"),
    ("probe_bw_down", "#B9C9A8"),
    ("probe_bw_refill", "#4686ED"),
    ("probe_bw_up", "#296C78"),
    ("avoidance", "#E9E3D3"),
    ("probe_rtt", "#9C3A3C"),
];
/// For other states.
pub const PALE: [&str; 4] = ["#B9C9A8", "#D8D8D8", "#E0C4D4", "#BFB9D9"];
/// One dash per line of a figure: where two lines coincide, the lower one shows in the gaps of the upper one. Lengths of
/// dashes and gaps in pixels; the first is solid.
pub const DASHES: [&[u8]; 8] = [&[], &[6, 2], &[2, 2], &[9, 3, 2, 3], &[12, 4], &[4, 3], &[1, 3], &[9, 2, 2, 2, 2, 2]];

/// Contrast with white of the first and of the last flow of a hue.
const DARKEST: f64 = 8.0;
const LIGHTEST: f64 = 3.05;

/// What decides a flow's colour; a group has its own name as `group`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Group.
    pub group: String,
    /// Congestion control, if it is known and the same for all.
    pub cc: Option<String>,
}

/// A colour on a light page, and its counterpart on a dark one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shade {
    /// On a light page.
    pub colour: String,
    /// On a dark page.
    pub dark: String,
}

impl Shade {
    /// The colour with its counterpart.
    #[must_use]
    pub fn of(colour: &str) -> Self {
        Self { colour: colour.to_owned(), dark: dark(colour) }
    }
}

/// The hue of a controller. An undeclared one, such as a user's kernel module, has a fixed one too.
#[must_use]
pub fn controller_hue(name: &str) -> &'static str {
    let declared = FAMILIES.iter().position(|names| names.contains(&name));
    // FNV-1a: any fixed function of the name would do.
    let hash = || name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    HUES[declared.unwrap_or_else(|| hash() as usize % HUES.len())]
}

/// A colour for each of these, in order.
#[must_use]
pub fn shades(members: &[Member]) -> Vec<String> {
    let taken: Vec<_> = members.iter().filter_map(|each| each.cc.as_deref().map(controller_hue)).collect();
    let unused: Vec<_> = HUES.into_iter().filter(|hue| !taken.contains(hue)).collect();
    let free = if unused.is_empty() { HUES.to_vec() } else { unused };
    let mut nameless: Vec<&str> = Vec::new();
    let hues: Vec<_> = members
        .iter()
        .map(|each| {
            each.cc
                .as_deref()
                .map_or_else(|| free[position_or_push(&mut nameless, &each.group) % free.len()], controller_hue)
        })
        .collect();
    let shade = |index: usize| {
        let hue = hues[index];
        let size = hues.iter().filter(|other| **other == hue).count();
        if size < 2 {
            return hue.to_owned();
        }
        let before = hues[..index].iter().filter(|other| **other == hue).count();
        with_contrast(hue, DARKEST * libm::pow(LIGHTEST / DARKEST, count(before) / count(size - 1)), WHITE)
    };
    (0..members.len()).map(shade).collect()
}

/// The position of an entry, which is appended if it is new.
fn position_or_push<'a>(known: &mut Vec<&'a str>, name: &'a str) -> usize {
    known.iter().position(|other| *other == name).unwrap_or_else(|| {
        known.push(name);
        known.len() - 1
    })
}

/// A colour for each state, by name: its own if it is declared, else a pale one. Declared ones come first.
#[must_use]
pub fn states<'a>(names: &[&'a str]) -> Vec<(&'a str, &'static str)> {
    let colour = |name: &str| STATES.iter().find(|(known, _)| *known == name).map(|(_, colour)| *colour);
    let declared = STATES
        .iter()
        .filter_map(|(known, colour)| names.iter().find(|name| *name == known).map(|name| (*name, *colour)));
    let mut found: Vec<_> = declared.collect();
    let free: Vec<_> = PALE.into_iter().filter(|pale| found.iter().all(|(_, taken)| taken != pale)).collect();
    let others = names.iter().filter(|name| colour(name).is_none()).enumerate();
    let others: Vec<_> = others.map(|(at, name)| (*name, free[at % free.len()])).collect();
    found.extend(others);
    found
}

/// The counterpart of a colour on a dark page: hues have their own, others keep their contrast.
#[must_use]
pub fn dark(colour: &str) -> String {
    match HUES.iter().position(|hue| *hue == colour) {
        Some(hue) => ON_DARK[hue].to_owned(),
        None => with_contrast(&brightest(colour), contrast(colour, WHITE), DARK_GROUND),
    }
}

/// (The lighter's relative luminance + 0.05) ÷ (the darker's + 0.05): from 1 to 21 (WCAG 2.2). Colours are `#RRGGBB`.
#[must_use]
pub fn contrast(colour: &str, ground: &str) -> f64 {
    let (one, other) = (luminance(colour), luminance(ground));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The colour mixed with black or white until it has this contrast with the page.
fn with_contrast(colour: &str, ratio: f64, ground: &str) -> String {
    // The extreme farthest from the page.
    let away = if ground == WHITE { 0.0 } else { 255.0 };
    let is_low = contrast(colour, ground) < ratio;
    let target = if is_low { away } else { 255.0 - away };
    let (mut least, mut most) = (0.0, 1.0);
    for _ in 0..20 {
        let middle = f64::midpoint(least, most);
        if (contrast(&mixed(colour, middle, target), ground) < ratio) == is_low {
            least = middle;
        } else {
            most = middle;
        }
    }
    mixed(colour, if is_low { most } else { least }, target)
}

fn luminance(colour: &str) -> f64 {
    let linear = |part: f64| {
        let value = part / 255.0;
        if value <= 0.04045 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
    };
    let [red, green, blue] = parts(colour).map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The brightest sRGB colour of the same hue; mixing with white earlier would desaturate it.
fn brightest(colour: &str) -> String {
    let all = parts(colour);
    let most = all.into_iter().fold(1.0, f64::max);
    hex(all.map(|part| part * 255.0 / most))
}

fn mixed(colour: &str, share: f64, target: f64) -> String {
    hex(parts(colour).map(|part| part + (target - part) * share))
}

/// The channels, 0 to 255; those of black for a text that is no colour.
fn parts(colour: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0).into())
}

fn hex(channels: [f64; 3]) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "channels are 0 to 255")]
    let [red, green, blue] = channels.map(|part| part.round_ties_even() as u8);
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[expect(clippy::cast_precision_loss, reason = "a number of flows")]
fn count(number: usize) -> f64 {
    number as f64
}
