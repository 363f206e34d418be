//! What keys hold: quantities, names, disciplines, netem's options.

use super::spec::{Shape, text};
use super::texts::is_word;
use super::{Simple, simple};
use crate::draw::Draw;
use crate::single::Qdisc;
use crate::value::Value;
use crate::{netem, qdisc, units};
use dumbbell_tc::Wrong;

/// `examples` and `type` of a number with a unit.
fn quantity(name: &'static str, unit: &'static str, description: &str, examples: &[&str]) -> Shape {
    let schema = [
        ("description", description.into()),
        ("examples", Value::texts(examples)),
        ("type", Value::texts(&["string", "integer", "number"])),
    ];
    Shape::new(name, "int", schema).unit(unit)
}

macro_rules! quantities {
    ($($(#[doc = $doc:literal])+ $name:ident: $parse:path, $write:path, $shape:expr, $drawn:expr;)+) => {
        $($(#[doc = $doc])+
        #[derive(Debug)]
        pub struct $name;

        impl Simple for $name {
            type Value = u64;

            fn parse(value: &Value) -> Result<u64, Wrong> {
                $parse(value)
            }

            fn write(value: &u64) -> Value {
                $write(*value).into()
            }

            fn data(value: &u64) -> Value {
                (*value).into()
            }

            fn shape() -> Shape {
                $shape
            }

            fn draw(draw: &mut Draw<'_>) -> Value {
                draw.pick($drawn).into()
            }
        })+
    };
}

quantities! {
    /// Bits per second.
    Rate: units::rate, units::rate_text,
        quantity("rate", "bit/s", "a rate in bits per second", &["10mbit", "1.5gbit"]),
        &["10mbit", "1mbit", "64kbit", "100mbit", "1gbit", "1bit", "1tbit", "999kibit"];
    /// Nanoseconds.
    Time: units::time, units::time_text, quantity("time", "ns", "a time", &["20ms", "1s", "500us"]),
        &["0s", "10ms", "1s", "500us", "100ms", "2.5ms", "1ns", "3s", "1min"];
    /// Nanoseconds above zero.
    Duration: units::duration, units::time_text, quantity("duration", "ns", "a time above zero", &["10s", "100ms"]),
        &["10s", "100ms", "1s", "5ms", "1us", "2min"];
    /// Bytes of data.
    Size: units::size, core::convert::identity,
        quantity("size", "bytes", "a size; kB, MB, GB are powers of 1000, KiB, MiB, GiB powers of 1024", &["61MB", "16KiB"]),
        &["1500", "61MB", "16KiB", "1b", "4MiB", "2GB", "8kbit"];
}

/// The name of a group, a link, a program.
#[derive(Debug)]
pub struct Name;

impl Simple for Name {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b" ._+-".contains(&byte);
        let name = value.text().filter(|text| is_word(text, |byte| byte.is_ascii_alphanumeric(), is_inner, 40));
        let hint = "letters, digits, spaces and . _ + -, at most 40, beginning with a letter or digit";
        name.map(String::from).ok_or_else(|| Wrong::new("not a name", hint))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        text("name", vec![("pattern", "^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,39}$".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["a", "b", "c", "bottleneck", "cubic", "one two", "x.y+z-1_0", "sender"]).into()
    }
}

/// The name of a congestion control.
#[derive(Debug)]
pub struct Controller;

impl Simple for Controller {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_+-".contains(&byte);
        let name = value.text().filter(|text| is_word(text, |byte| byte.is_ascii_lowercase(), is_inner, 15));
        let lower = value.text().map(str::to_ascii_lowercase);
        let meant = lower.filter(|text| dumbbell_net::cc::Controller::NAMES.contains(&text.as_str()));
        let hint = meant.map_or_else(
            || "a name as Linux gives it, such as cubic, bbr or reno".to_owned(),
            |name| format!("write \"{name}\""),
        );
        name.map(String::from).ok_or_else(|| Wrong::new("not the name of a congestion control", hint))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        let examples = Value::texts(&["bbr", "cubic"]);
        text("controller", vec![("examples", examples), ("pattern", "^[a-z][a-z0-9_+-]{0,14}$".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(dumbbell_net::cc::Controller::NAMES).into()
    }
}

/// A text of any length; one line where the key says so.
#[derive(Debug)]
pub struct Text;

impl Simple for Text {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        value.text().map(String::from).ok_or_else(|| Wrong::new("not a text", "put it in quotes"))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        text("text", vec![])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["text", "", "two words", "größer", "\"quoted\" \\", "a=b # c"]).into()
    }
}

/// A queue discipline.
#[derive(Debug)]
pub struct Discipline;

impl Simple for Discipline {
    type Value = Qdisc;

    fn parse(value: &Value) -> Result<Qdisc, Wrong> {
        qdisc::parse(value.text().unwrap_or_default())
    }

    fn write(value: &Qdisc) -> Value {
        value.text().into()
    }

    fn shape() -> Shape {
        let examples = Value::texts(&["fq_codel limit 1000"]);
        let schema = vec![("description", "a queue discipline as tc takes it".into()), ("examples", examples)];
        Shape { python: "Qdisc".into(), ..text("discipline", schema) }
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        qdisc::draw(draw).into()
    }
}

macro_rules! netem_options {
    ($($(#[doc = $doc:literal])+ $name:ident = $option:literal, $examples:expr, $drawn:expr;)+) => {
        $($(#[doc = $doc])+
        #[derive(Debug)]
        pub struct $name;

        impl Simple for $name {
            type Value = String;

            fn parse(value: &Value) -> Result<String, Wrong> {
                netem::arguments($option, value.text())
            }

            fn write(value: &String) -> Value {
                value.clone().into()
            }

            fn shape() -> Shape {
                let description = concat!("the arguments of netem's option '", $option, "'; see tc-netem(8)");
                text("netem", vec![("description", description.into()), ("examples", Value::texts($examples))])
            }

            fn draw(draw: &mut Draw<'_>) -> Value {
                draw.pick($drawn).into()
            }
        })+
    };
}

netem_options! {
    /// What follows netem's `loss`.
    Loss = "loss", &["1%", "gemodel 1% 10%"],
        &["1%", "0%", "random 1% 25%", "gemodel 1% 10%", "gemodel 1% 10% 70% 0.1%", "state 1% 20%", "every 1000"];
    /// What follows netem's `distribution`.
    Distribution = "distribution", &["normal"], &["normal", "uniform", "pareto", "paretonormal"];
    /// What follows netem's `reorder`.
    Reorder = "reorder", &["1%"], &["1%", "25% 50%"];
    /// What follows netem's `duplicate`.
    Duplicate = "duplicate", &["1%"], &["1%", "10% 5%"];
    /// What follows netem's `corrupt`.
    Corrupt = "corrupt", &["0.1%"], &["0.1%", "1% 2%"];
    /// What follows netem's `slot`.
    Slot = "slot", &["10ms"], &["10ms", "2ms 6ms", "4ms packets 32"];
}

simple!(Rate, Time, Duration, Size, Name, Controller, Text, Discipline);
simple!(Loss, Distribution, Reorder, Duplicate, Corrupt, Slot);
