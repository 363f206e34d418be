//! What keys hold: quantities, names, disciplines, netem's options, expectations, tables of settings.

use super::draw::Draw;
use super::spec::Shape;
use super::{Simple, simple};
use crate::model::{ParameterValue, Qdisc};
use crate::value::{Node, Table, Value};
use crate::{expectation, netem, qdisc, units};
use dumbbell_core::tc::Wrong;

/// `examples` and `type` of a number with a unit.
fn quantity(name: &'static str, unit: &'static str, description: &str, examples: &[&str]) -> Shape {
    let schema = [
        ("description", description.into()),
        ("examples", Value::texts(examples)),
        ("type", Value::texts(&["string", "integer", "number"])),
    ];
    Shape::new(name, "int", schema).unit(unit)
}

fn text(name: &'static str, more: Vec<(&'static str, Value)>) -> Shape {
    let mut shape = Shape::new(name, "str", []);
    shape.schema = more.into_iter().chain([("type", "string".into())]).collect();
    shape
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
        quantity("rate", "bit/s", "a rate as tc writes it, in bits per second", &["10mbit", "1.5gbit"]),
        &["10mbit", "1mbit", "64kbit", "100mbit", "1gbit", "1.5mbps", "1bit", "1tbit", "999kibit"];
    /// Nanoseconds.
    Time: units::time, units::time_text, quantity("time", "ns", "a time", &["20ms", "1s", "500us"]),
        &["0s", "10ms", "1s", "500us", "100ms", "2.5ms", "1ns", "3s", "1min"];
    /// Nanoseconds above zero.
    Duration: units::duration, units::time_text, quantity("duration", "ns", "a time above zero", &["10s", "100ms"]),
        &["10s", "100ms", "1s", "5ms", "1us", "2min"];
    /// Bytes of data.
    Size: units::size, core::convert::identity,
        quantity("size", "bytes", "a size; kb, mb, gb are powers of 1024, kB, MB, GB powers of 1000", &["61MB", "16kb"]),
        &["1500", "61MB", "16kb", "1b", "4MiB", "2gb", "8kbit"];
}

/// The name of a group, a link, a program.
#[derive(Debug)]
pub struct Name;

fn is_word(text: &str, first: impl Fn(u8) -> bool, rest: impl Fn(u8) -> bool, most: usize) -> bool {
    let (head, tail) = text.as_bytes().split_first().unwrap_or((&0, &[]));
    text.len() <= most && first(*head) && tail.iter().all(|byte| rest(*byte))
}

impl Simple for Name {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b" ._+-".contains(&byte);
        let name = value.text().filter(|text| is_word(text, |byte| byte.is_ascii_alphanumeric(), is_inner, 40));
        let right = "letters, digits, spaces and . _ + -, at most 40, beginning with a letter or digit";
        name.map(String::from).ok_or_else(|| Wrong::new("not a name", right))
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
        let right = "a name as Linux gives it, such as cubic, bbr or reno";
        name.map(String::from).ok_or_else(|| Wrong::new("not the name of a congestion control", right))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        let examples = Value::texts(&["bbr", "cubic"]);
        text("controller", vec![("examples", examples), ("pattern", "^[a-z][a-z0-9_+-]{0,14}$".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(dumbbell_core::cc::Controller::NAMES).into()
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

    fn data(value: &Qdisc) -> Value {
        let sizes = value.bdp_words.iter().map(|(position, size)| {
            let unit = if size.in_packets { "packets" } else { "size" };
            (position.to_string(), Value::from(vec![size.products.into(), unit.into()]))
        });
        let words: Vec<_> = value.words.iter().map(|word| Value::from(&word[..])).collect();
        let pairs = [
            ("kind", Value::from(&value.kind[..])),
            ("words", words.into()),
            ("bdp_words", sizes.collect::<Table>().into()),
        ];
        pairs.into_iter().collect::<Table>().into()
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
                netem::words($option, value.text())
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

/// An expectation, kept as written.
#[derive(Debug)]
pub struct Expected;

impl Simple for Expected {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let text =
            value.text().ok_or_else(|| Wrong::new("not an expectation", "such as \"groups.bbr.share > 0.6\""))?;
        expectation::parse(text).map(|_| text.to_owned())
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        text("expectation", vec![("examples", Value::texts(&["groups.bbr.share > 0.6"]))])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let choices =
            ["utilization > 0.5", "groups.a.share in 0.1..0.9", "cycle == null", "ping_ms.max from 1s to 2s < 9"];
        draw.pick(&choices).into()
    }
}

/// The name of a metric, kept as written.
#[derive(Debug)]
pub struct Measured;

impl Simple for Measured {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let text = value.text().ok_or_else(|| Wrong::new("not a metric's name", "such as \"groups.bbr.share\""))?;
        expectation::metric(text).map(|_| text.to_owned())
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        text("metric", vec![("examples", Value::texts(&["groups.bbr.share"]))])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["utilization", "groups.a.share", "flows.0.rtt_ms.p95 from 1s", "queue.packets.mean to 5s"]).into()
    }
}

/// Flows per second: `10/s`.
#[derive(Debug)]
pub struct Arrivals;

impl Simple for Arrivals {
    type Value = f64;

    fn parse(value: &Value) -> Result<f64, Wrong> {
        let right = "flows per second, such as '10/s'";
        let number = value.text().and_then(|text| text.trim().strip_suffix("/s")).filter(|number| {
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            !whole.is_empty() && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
        });
        let rate: f64 =
            number.and_then(|number| number.parse().ok()).ok_or_else(|| Wrong::new("not a rate of arrivals", right))?;
        match rate {
            0.0 => Err(Wrong::new("no arrivals", right)),
            rate if rate.is_finite() => Ok(rate),
            _ => Err(Wrong::new("a number that is too large", right)),
        }
    }

    fn write(value: &f64) -> Value {
        format!("{value}/s").into()
    }

    fn data(value: &f64) -> Value {
        (*value).into()
    }

    fn shape() -> Shape {
        let pattern = r"^\s*\d+\.?\d*/s\s*$";
        let schema = vec![("examples", Value::texts(&["10/s"])), ("pattern", pattern.into())];
        Shape { python: "float".into(), ..text("arrivals", schema) }.unit("1/s")
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["10/s", "0.5/s", "1000/s", "2./s"]).into()
    }
}

/// A finite number.
#[derive(Debug)]
pub struct Figure;

impl Simple for Figure {
    type Value = f64;

    fn parse(value: &Value) -> Result<f64, Wrong> {
        #[expect(clippy::cast_precision_loss, reason = "a figure has few digits")]
        match value.node {
            Node::Integer(number) => Ok(number as f64),
            Node::Float(number) if number.is_finite() => Ok(number),
            _ => {
                let right =
                    "a number, such as value = 10, or a range, low = 9, high = 11; words go into \"what\" or \"note\"";
                Err(Wrong::new("not a number", right))
            }
        }
    }

    fn write(value: &f64) -> Value {
        (*value).into()
    }

    fn shape() -> Shape {
        Shape::new("number", "float", [("type", "number".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&[1.0, 0.5, 10.0, -3.25, 1e6]).into()
    }
}

/// A controller's parameters.
#[derive(Debug)]
pub struct Parameters;

impl Simple for Parameters {
    type Value = Vec<(String, ParameterValue)>;

    fn parse(value: &Value) -> Result<Self::Value, Wrong> {
        let right = "a table of numbers and words, such as { alpha = 3, slow_start = \"hystart++\" }";
        let table = value.table().ok_or_else(|| Wrong::new("not a table of parameters", right))?;
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_setting = |byte: u8| byte.is_ascii_alphanumeric() || b".+_-".contains(&byte);
        let read = |(key, value): &(crate::value::Key, Value)| {
            let name = key.text.clone();
            if !is_word(&name, |byte| byte.is_ascii_lowercase(), is_inner, 40) {
                return Err(Wrong::new(format!("'{name}' is not the name of a parameter"), right));
            }
            match &value.node {
                Node::Integer(number) if *number >= 0 => Ok((name, ParameterValue::Number(number.unsigned_abs()))),
                Node::Text(word) if is_word(word, is_setting, is_setting, 32) => {
                    Ok((name, ParameterValue::Word(word.clone())))
                }
                _ => Err(Wrong::new(format!("parameter '{name}' is neither an integer nor a word: {value}"), right)),
            }
        };
        table.0.iter().map(read).collect()
    }

    fn write(value: &Self::Value) -> Value {
        let pairs = value.iter().map(|(name, setting)| match setting {
            ParameterValue::Number(number) => (&name[..], Value::from(*number)),
            ParameterValue::Word(word) => (&name[..], Value::from(&word[..])),
        });
        pairs.collect::<Table>().into()
    }

    fn shape() -> Shape {
        let values = Table::from_iter([("type", Value::texts(&["integer", "string"]))]);
        let schema = [("additionalProperties", values.into()), ("type", "object".into())];
        Shape::new("parameters", "Mapping[str, int | str]", schema)
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let values = [Value::from(3), Value::from(0), Value::from("hystart++"), Value::from("0.5"), Value::from("1ms")];
        let count = draw.below(3);
        let names = ["beta", "alpha", "x_1"].into_iter().take(usize::try_from(count).unwrap_or(0));
        names.map(|name| (name, values[usize::try_from(draw.below(5)).unwrap_or(0)].clone())).collect::<Table>().into()
    }
}

/// Settings of `net.ipv4` and `net.core`.
#[derive(Debug)]
pub struct Sysctls;

impl Simple for Sysctls {
    type Value = Vec<(String, String)>;

    fn parse(value: &Value) -> Result<Self::Value, Wrong> {
        let right = "a table of net.ipv4.* and net.core.* settings, such as { 'net.ipv4.tcp_early_retrans' = 3 }";
        let table = value.table().ok_or_else(|| Wrong::new("not a table of settings", right))?;
        let read = |(key, value): &(crate::value::Key, Value)| {
            if !is_sysctl(&key.text) {
                return Err(Wrong::new(
                    format!("'{}' is not a setting that an experiment may change", key.text),
                    right,
                ));
            }
            let text = value.text().map_or_else(|| value.to_string(), String::from);
            let is_plain = |word: &str| is_word(word, is_setting, is_setting, usize::MAX);
            fn is_setting(byte: u8) -> bool {
                byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
            }
            if !text.split(' ').all(is_plain) {
                return Err(Wrong::new(format!("'{text}' is not a plain value for {}", key.text), right));
            }
            Ok((key.text.clone(), text))
        };
        table.0.iter().map(read).collect()
    }

    fn write(value: &Self::Value) -> Value {
        value.iter().map(|(name, setting)| (&name[..], &setting[..])).collect::<Table>().into()
    }

    fn shape() -> Shape {
        let values = Table::from_iter([("type", Value::texts(&["integer", "string"]))]);
        let schema = [("additionalProperties", values.into()), ("type", "object".into())];
        Shape::new("settings", "Mapping[str, str]", schema)
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let names =
            ["net.ipv4.tcp_early_retrans", "net.core.somaxconn"].into_iter().take(usize::from(draw.below(2) == 1) + 1);
        names.map(|name| (name, draw.pick(&["3", "4096 131072 6291456"]))).collect::<Table>().into()
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let rest = name.strip_prefix("net.ipv4.").or_else(|| name.strip_prefix("net.core."));
    rest.is_some_and(|rest| rest.split('.').all(is_part))
}

simple!(
    Rate,
    Time,
    Duration,
    Size,
    Name,
    Controller,
    Text,
    Discipline,
    Loss,
    Distribution,
    Reorder,
    Duplicate,
    Corrupt,
    Slot,
    Expected,
    Measured,
    Arrivals,
    Figure,
    Parameters,
    Sysctls,
);
