//! What the keys of programs, of tc commands and of the run's seeds hold.

use super::kinds::Time;
use super::shapes::{choice_shape, none_of};
use super::spec::{Shape, any_of, any_text, list_of_texts};
use super::{Simple, simple};
use crate::draw::Draw;
use crate::single::Stop;
use crate::value::{Node, Table, Value};
use crate::{shell_words, units};
use dumbbell_plan::stacks::Stack;
use dumbbell_plan::{Serves, Transport};
use dumbbell_tc::Wrong;

/// Bytes of a program's command.
const MAX_TEXT: usize = 1 << 20;
/// Seeds of a run; `Limits::cases` may be lower.
const MAX_SEEDS: u64 = 1_000_000;
/// Folders of the system itself.
const KEPT: [&str; 5] = ["", "proc", "sys", "dev", "run"];

/// A program and its arguments.
#[derive(Debug)]
pub struct Command;

impl Simple for Command {
    type Value = Vec<String>;

    fn parse(value: &Value) -> Result<Vec<String>, Wrong> {
        let hint = "such as run = \"curl -s http://sender/\" or run = [\"curl\", \"-s\", \"http://sender/\"]";
        let words = match &value.node {
            Node::Text(text) => shell_words::split(text, false)
                .map_err(|problem| Wrong::new(format!("not a command: {}", problem.to_lowercase()), hint))?,
            Node::List(items) => {
                let words: Option<Vec<_>> = items.iter().map(|item| item.text().map(String::from)).collect();
                words.ok_or_else(|| Wrong::new("not a command", hint))?
            }
            _ => return Err(Wrong::new("not a command", hint)),
        };
        if words.first().is_none_or(String::is_empty) {
            return Err(Wrong::new("an empty command", hint));
        }
        let length: usize = words.iter().map(|word| word.chars().count()).sum();
        if length > MAX_TEXT || words.iter().any(|word| word.contains('\0')) {
            return Err(Wrong::new("the command is too long or has a NUL", "no NUL in it, and shorter than 1 MiB"));
        }
        Ok(words)
    }

    fn write(value: &Vec<String>) -> Value {
        value.iter().map(|word| Value::from(&word[..])).collect::<Vec<_>>().into()
    }

    fn shape() -> Shape {
        let list = list_of_texts().or("minItems", || 1.into());
        Shape::new("command", "tuple[str, ...]", any_of(vec![Table::from_iter([any_text()]), list]))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["curl -s http://sender/", "nginx -c 'a b'", "sh", "true \"x\" \\y #z"]).into()
    }
}

/// tc commands: a text of lines, or a list of them.
#[derive(Debug)]
pub struct Lines;

impl Simple for Lines {
    type Value = Vec<String>;

    fn parse(value: &Value) -> Result<Vec<String>, Wrong> {
        let lines = match &value.node {
            Node::Text(text) => Some(text.lines().map(String::from).collect()),
            Node::List(items) => items.iter().map(|item| item.text().map(String::from)).collect(),
            _ => None,
        };
        lines.ok_or_else(|| Wrong::new("no commands", "a text of lines, or a list of texts"))
    }

    fn write(value: &Vec<String>) -> Value {
        value.iter().map(|line| Value::from(&line[..])).collect::<Vec<_>>().into()
    }

    fn shape() -> Shape {
        Shape::new("lines", "tuple[str, ...]", any_of(vec![Table::from_iter([any_text()]), list_of_texts()]))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&[
            "tc qdisc add dev eth0 root pfifo limit 100",
            "tc qdisc del dev eth0 root\ntc qdisc add dev eth0 root fq",
        ])
        .into()
    }
}

/// The name of a host of an experiment.
#[derive(Debug)]
pub struct Host;

impl Simple for Host {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_host = |text: &&str| {
            text.len() <= 40 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(is_inner)
        };
        let hint = "sender, receiver, or another host as `dumbbell plan` names them";
        value.text().filter(is_host).map(String::from).ok_or_else(|| Wrong::new("not a host", hint))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Shape::new("host", "str", [any_text()])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["sender", "receiver", "router"]).into()
    }
}

/// A TCP port such as `80`, a port with its transport such as `"udp/4433"`, or `"any"`, for which 0 stands, too.
#[derive(Debug)]
pub struct ServedPort;

impl ServedPort {
    fn of_text(text: &str) -> Option<Serves> {
        if text == "any" {
            return Some(Serves::Any);
        }
        let (transport, port) = text.split_once('/')?;
        let transport = [Transport::Tcp, Transport::Udp].into_iter().find(|each| each.word() == transport)?;
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        port.parse().ok().filter(|port| is_number && *port > 0).map(|port| Serves::At(transport, port))
    }
}

impl Simple for ServedPort {
    type Value = Serves;

    fn parse(value: &Value) -> Result<Serves, Wrong> {
        let port = match &value.node {
            Node::Text(text) => Self::of_text(text),
            Node::Integer(0) => Some(Serves::Any),
            Node::Integer(number) => u16::try_from(*number).ok().map(|port| Serves::At(Transport::Tcp, port)),
            _ => None,
        };
        port.ok_or_else(|| Wrong::new("not a port", "such as serves = 80 for TCP, \"udp/4433\", or \"any\""))
    }

    fn write(value: &Serves) -> Value {
        match value {
            Serves::Any => "any".into(),
            Serves::At(Transport::Tcp, port) => (*port).into(),
            Serves::At(transport, port) => format!("{}/{port}", transport.word()).into(),
        }
    }

    fn shape() -> Shape {
        let port =
            Table::from_iter([("type", Value::from("integer")), ("minimum", 0.into()), ("maximum", 65_535.into())]);
        let any = Table::from_iter([("const", Value::from("any")), any_text()]);
        let with_transport = Table::from_iter([any_text(), ("pattern", r"^(tcp|udp)/[0-9]{1,5}$".into())]);
        Shape::new("port", "int | str", any_of(vec![any, port, with_transport]))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        match draw.pick(&[80, 0, 65_535, 4433]) {
            0 => "any".into(),
            4433 => "udp/4433".into(),
            port => port.into(),
        }
    }
}

/// A time, or `"end"`.
#[derive(Debug)]
pub struct StopTime;

impl Simple for StopTime {
    type Value = Stop;

    fn parse(value: &Value) -> Result<Stop, Wrong> {
        if value.text() == Some("end") { Ok(Stop::End) } else { units::time(value).map(Stop::At) }
    }

    fn write(value: &Stop) -> Value {
        match value {
            Stop::At(time) => units::time_text(*time).into(),
            Stop::End => "end".into(),
        }
    }

    fn data(value: &Stop) -> Value {
        match value {
            Stop::At(time) => (*time).into(),
            Stop::End => "end".into(),
        }
    }

    fn shape() -> Shape {
        let end = Table::from_iter([("const", Value::from("end")), any_text()]);
        let kinds = any_of(vec![end, <Time as Simple>::shape().schema]);
        Shape::new("stop", "Literal[\"end\"] | int", kinds).unit("ns")
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["end", "1s", "20s"]).into()
    }
}

/// Names of files below a working folder; `*` stands for any characters but `/`.
#[derive(Debug)]
pub struct FilePattern;

impl Simple for FilePattern {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        let pattern = value.text().filter(|text| text.len() <= 1024 && text.split('/').all(is_part));
        pattern
            .map(String::from)
            .ok_or_else(|| Wrong::new("not names of files", "such as \"*.sqlog\" or \"logs/*.qlog\""))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Shape::new("pattern", "str", [any_text()])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["*.sqlog", "logs/*.qlog"]).into()
    }
}

/// A QUIC stack.
#[derive(Debug)]
pub struct StackName;

impl Simple for StackName {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let stack = value.text().and_then(Stack::named);
        stack.map(|stack| stack.name.to_owned()).ok_or_else(|| none_of(value, Stack::NAMES))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        choice_shape(Stack::NAMES)
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(Stack::NAMES).into()
    }
}

/// A folder that is replaced by an empty writable one.
#[derive(Debug)]
pub struct Folder;

impl Simple for Folder {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let path = value.text().filter(|text| text.starts_with('/') && !text.contains('\0'));
        let parts: Vec<_> = path.unwrap_or_default().split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let is_kept = parts.is_empty() || (parts.len() == 1 && KEPT.contains(&parts[0])) || KEPT.contains(&parts[0]);
        if path.is_none() || is_kept || parts.contains(&"..") {
            return Err(Wrong::new(
                "not a folder that can be made writable",
                "an absolute path, such as /var/lib/nginx",
            ));
        }
        Ok(format!("/{}", parts.join("/")))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Shape::new("folder", "str", [any_text()])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["/var/lib/nginx", "/srv"]).into()
    }
}

/// Seeds: `7`, `[1, 2]` or `"1..5"`.
#[derive(Debug)]
pub struct Seeds;

impl Simple for Seeds {
    type Value = Vec<u64>;

    fn parse(value: &Value) -> Result<Vec<u64>, Wrong> {
        let hint = "a whole number, a list such as [1, 2, 3], or a range such as \"1..5\"";
        let none = || Wrong::new("not a seed", hint);
        let one = |value: &Value| match value.node {
            Node::Integer(number) => u64::try_from(number).map_err(|_| none()),
            _ => Err(none()),
        };
        let digits = |text: &str| {
            let is_number = !text.is_empty() && text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|seed: &u64| is_number && i64::try_from(*seed).is_ok()).ok_or_else(none)
        };
        let seeds = match &value.node {
            Node::Text(text) => match text.split_once("..") {
                None => vec![digits(text)?],
                Some((first, last)) => {
                    let (first, last) = (digits(first)?, digits(last)?);
                    if last.saturating_sub(first) >= MAX_SEEDS {
                        return Err(none());
                    }
                    (first..=last).collect()
                }
            },
            Node::List(items) => items.iter().map(one).collect::<Result<_, _>>()?,
            _ => vec![one(value)?],
        };
        if seeds.is_empty() { Err(none()) } else { Ok(seeds) }
    }

    fn write(value: &Vec<u64>) -> Value {
        value.iter().map(|seed| Value::from(*seed)).collect::<Vec<_>>().into()
    }

    fn shape() -> Shape {
        let seed = Table::from_iter([("type", Value::from("integer")), ("minimum", 0.into())]);
        let range = Table::from_iter([
            any_text(),
            ("pattern", r"^[0-9]+(\.\.[0-9]+)?$".into()),
            ("examples", Value::texts(&["1..5"])),
        ]);
        let list =
            Table::from_iter([("type", Value::from("array")), ("items", seed.clone().into()), ("minItems", 1.into())]);
        Shape::new("seeds", "tuple[int, ...]", any_of(vec![seed, range, list]))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        match draw.below(3) {
            0 => 1.into(),
            1 => "1..5".into(),
            _ => vec![Value::from(0), Value::from(i64::MAX)].into(),
        }
    }
}

simple!(Command, Lines, Host, ServedPort, StopTime, FilePattern, StackName, Folder, Seeds);
