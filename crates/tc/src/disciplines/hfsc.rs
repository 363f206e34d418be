//! hfsc's grammar, and what tc sends (iproute2 `tc/q_hfsc.c`; tc-hfsc(8)). Only a kernel has it.

use crate::syntax::attributes::{AttributeBytes, OPTIONS, Structure};
use crate::syntax::grammar::{Argument, Keyword, Options, flag, minor_number, option};
use crate::syntax::ticks::{float, truncated};
use crate::syntax::{Wrong, quantity};

/// hfsc's own options: the minor number of its default class, in hexadecimal.
pub(crate) const QDISC: &[Keyword] = &[option("default", &[Argument::Minor])];

/// The keywords of a class: curves, and what each is made of.
pub(crate) const CLASS: &[Keyword] = &[
    flag("rt"),
    flag("ls"),
    flag("sc"),
    flag("ul"),
    option("m1", &[Argument::Rate]),
    option("d", &[Argument::Time]),
    option("m2", &[Argument::Rate]),
    option("umax", &[Argument::Size]),
    option("dmax", &[Argument::Time]),
    option("rate", &[Argument::Rate]),
];

/// `TCA_HFSC_RSC`, `TCA_HFSC_FSC`, `TCA_HFSC_USC`.
const REAL_TIME: u16 = 1;
const LINK_SHARE: u16 = 2;
const UPPER_LIMIT: u16 = 3;
const MICROS: f64 = 1e6;
const EXAMPLE: &str = "such as ls m2 5mbit ul m2 10mbit";

/// `struct tc_service_curve`: bytes per second of the first segment, its length in microseconds, and the rate behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Curve {
    first: u32,
    micros: u32,
    second: u32,
}

/// Appends hfsc's options.
pub(crate) fn send(words: &[&str], to: &mut AttributeBytes) -> Result<(), Wrong> {
    let options = Options::read("hfsc", words, &[QDISC])?;
    let default = options.first("default").and_then(minor_number).unwrap_or(0);
    to.bytes(OPTIONS, &default.to_ne_bytes());
    Ok(())
}

/// Appends the options of a class.
pub(crate) fn send_class(options: &Options<'_>, to: &mut AttributeBytes) -> Result<(), Wrong> {
    let curves = curves(options)?;
    to.nested(OPTIONS, |to| {
        for (kind, Curve { first, micros, second }) in curves {
            to.bytes(kind, &Structure::default().u32(first).u32(micros).u32(second).finish());
        }
    });
    Ok(())
}

/// The curves of a class by attribute.
fn curves(options: &Options<'_>) -> Result<Vec<(u16, Curve)>, Wrong> {
    let mut curves = std::collections::BTreeMap::new();
    let mut written: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for (name, arguments) in options.iter() {
        match (arguments.first(), written.last_mut()) {
            (None, _) => written.push((name, Vec::new())),
            (Some(word), Some((_, parts))) => parts.push((name, word)),
            (Some(_), None) => {
                return Err(Wrong::new(format!("'{name}' of no curve"), "rt, ls, sc or ul before it"));
            }
        }
    }
    for (name, parts) in written {
        let curve = curve(name, &parts)?;
        let kinds: &[u16] = match name {
            "rt" => &[REAL_TIME],
            "ls" => &[LINK_SHARE],
            "sc" => &[REAL_TIME, LINK_SHARE],
            _ => &[UPPER_LIMIT],
        };
        curves.extend(kinds.iter().map(|kind| (*kind, curve)));
    }
    if curves.is_empty() {
        return Err(Wrong::new("a class of hfsc without a curve", EXAMPLE));
    }
    if curves.contains_key(&UPPER_LIMIT) && !curves.contains_key(&LINK_SHARE) {
        return Err(Wrong::new("hfsc's upper limit (ul) without a link share (ls or sc)", EXAMPLE));
    }
    Ok(curves.into_iter().collect())
}

fn curve(name: &str, parts: &[(&str, &str)]) -> Result<Curve, Wrong> {
    let find = |wanted: &str| parts.iter().find(|(name, _)| *name == wanted).map(|(_, word)| *word);
    let rate = |wanted: &str| {
        let rate = find(wanted).map(quantity::rate).transpose()?.map_or(0, dumbbell_net::rate::Rate::as_bytes);
        quantity::fit(rate, find(wanted).unwrap_or_default())
    };
    let time = |wanted: &str| find(wanted).map_or(Ok(0), |word| quantity::fit(quantity::micros(word)?, word));
    let is_by_slopes = ["m1", "d", "m2"].into_iter().any(|part| find(part).is_some());
    let is_by_units = ["umax", "dmax", "rate"].into_iter().any(|part| find(part).is_some());
    let wrong = |problem: &str| Wrong::new(format!("hfsc's {name}: {problem}"), EXAMPLE);
    let made = match (is_by_slopes, is_by_units) {
        (true, false) if find("m2").is_some() => Curve { first: rate("m1")?, micros: time("d")?, second: rate("m2")? },
        (false, true) if find("rate").is_some() => {
            let unit = find("umax").map_or(Ok(0), |word| quantity::fit(quantity::bytes(word)?, word))?;
            by_units(unit, time("dmax")?, rate("rate")?).ok_or_else(|| wrong("a umax without a dmax"))?
        }
        (false, false) => return Err(wrong("an empty curve")),
        _ => return Err(wrong("neither [m1 RATE d TIME] m2 RATE nor [umax SIZE dmax TIME] rate RATE")),
    };
    if made.first == 0 && made.second == 0 { Err(wrong("a curve of rate 0")) } else { Ok(made) }
}

/// A unit of work, its deadline, and the rate behind it; None: no deadline.
#[expect(clippy::float_arithmetic, reason = "tc computes with doubles")]
fn by_units(unit: u32, deadline: u32, rate: u32) -> Option<Curve> {
    if unit > 0 && deadline == 0 {
        return None;
    }
    let float = |number: u32| float(u64::from(number));
    let whole = |number: f64| u32::try_from(truncated(libm::ceil(number))).unwrap_or(u32::MAX);
    let slope = if deadline == 0 { 0.0 } else { libm::ceil(float(unit) * MICROS / float(deadline)) };
    Some(if deadline > 0 && slope > float(rate) {
        Curve { first: whole(slope), micros: deadline, second: rate }
    } else {
        let waits = if rate == 0 { 0.0 } else { float(deadline) - float(unit) * MICROS / float(rate) };
        Curve { first: 0, micros: whole(waits), second: rate }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<(u16, Curve)>, Wrong> {
        let words: Vec<_> = line.split(' ').collect();
        curves(&Options::read("hfsc", &words, &[CLASS])?)
    }

    #[test]
    fn curves_are_those_of_tc() {
        let plain = |second| Curve { first: 0, micros: 0, second };
        assert_eq!(
            read("sc rate 8mbit ul m2 16mbit"),
            Ok(vec![(REAL_TIME, plain(1_000_000)), (LINK_SHARE, plain(1_000_000)), (UPPER_LIMIT, plain(2_000_000))])
        );
        let two_slopes = Curve { first: 1_000_000, micros: 10_000, second: 500_000 };
        assert_eq!(read("rt m1 8mbit d 10ms m2 4mbit"), Ok(vec![(REAL_TIME, two_slopes)]));
        // 1500 bytes in 10 ms are 150000 bytes per second, more than the rate.
        let concave = Curve { first: 150_000, micros: 10_000, second: 100_000 };
        assert_eq!(read("rt umax 1500 dmax 10ms rate 800kbit"), Ok(vec![(REAL_TIME, concave)]));
        let convex = Curve { first: 0, micros: 8_500, second: 1_000_000 };
        assert_eq!(read("rt umax 1500 dmax 10ms rate 8mbit"), Ok(vec![(REAL_TIME, convex)]));
    }

    #[test]
    fn what_tc_refuses_is_refused() {
        for line in [
            "ul m2 1mbit",
            "m2 1mbit",
            "ls",
            "ls m1 1mbit",
            "ls rate 0",
            "rt umax 1500 rate 1mbit",
            "ls d 1ms rate 1mbit",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
