//! What the keys of programs, of tc commands and of the run's seeds hold.

use super::draw::Draw;
use super::spec::Shape;
use super::{Kind, Simple, simple};
use crate::declare::kinds::{Size, Time};
use crate::declare::place::{Faults, Place};
use crate::model::{FileContent, Stop};
use crate::value::{Node, Table, Value};
use crate::{units, words};
use dumbbell_core::tc::Wrong;

/// Bytes of all texts that a program brings with it, and of its command.
const MAX_TEXT: usize = 1 << 20;
const MAX_FILES: usize = 10_000;
/// Seeds of a run; `Limits::cases` may be lower.
const MAX_SEEDS: u64 = 1_000_000;
/// Folders of the system itself.
const KEPT: [&str; 5] = ["", "proc", "sys", "dev", "run"];

fn any_text() -> (&'static str, Value) {
    ("type", "string".into())
}

fn table_schema(values: Table) -> [(&'static str, Value); 2] {
    [("additionalProperties", values.into()), ("type", "object".into())]
}

fn any_of(kinds: Vec<Table>) -> [(&'static str, Value); 1] {
    [("anyOf", kinds.into_iter().map(Value::from).collect::<Vec<_>>().into())]
}

fn list_of_texts() -> Table {
    Table::from_iter([("type", Value::from("array")), ("items", Table::from_iter([any_text()]).into())])
}

/// A program and its arguments.
#[derive(Debug)]
pub struct Command;

impl Simple for Command {
    type Value = Vec<String>;

    fn parse(value: &Value) -> Result<Vec<String>, Wrong> {
        let right = "such as run = \"curl -s http://sender/\" or run = [\"curl\", \"-s\", \"http://sender/\"]";
        let words = match &value.node {
            Node::Text(text) => words::split(text, false)
                .map_err(|problem| Wrong::new(format!("not a command: {}", problem.to_lowercase()), right))?,
            Node::List(items) => {
                let words: Option<Vec<_>> = items.iter().map(|item| item.text().map(String::from)).collect();
                words.ok_or_else(|| Wrong::new("not a command", right))?
            }
            _ => return Err(Wrong::new("not a command", right)),
        };
        if words.first().is_none_or(String::is_empty) {
            return Err(Wrong::new("an empty command", right));
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
        let right = "sender, receiver, or another host as `dumbbell plan` names them";
        value.text().filter(is_host).map(String::from).ok_or_else(|| Wrong::new("not a host", right))
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

/// A TCP port, or `"any"`, which is 0.
#[derive(Debug)]
pub struct Serves;

impl Simple for Serves {
    type Value = u16;

    fn parse(value: &Value) -> Result<u16, Wrong> {
        let port = match &value.node {
            Node::Text(text) if text == "any" => Some(0),
            Node::Integer(number) => u16::try_from(*number).ok(),
            _ => None,
        };
        port.ok_or_else(|| Wrong::new("not a TCP port", "such as serves = 80, or \"any\""))
    }

    fn write(value: &u16) -> Value {
        if *value == 0 { "any".into() } else { (*value).into() }
    }

    fn data(value: &u16) -> Value {
        (*value).into()
    }

    fn shape() -> Shape {
        let port =
            Table::from_iter([("type", Value::from("integer")), ("minimum", 0.into()), ("maximum", 65_535.into())]);
        let any = Table::from_iter([("const", Value::from("any")), any_text()]);
        Shape::new("port", "int", any_of(vec![any, port]))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let port = draw.pick(&[80, 0, 65_535]);
        if port == 0 { "any".into() } else { port.into() }
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

/// Files of a program's folder, by path.
#[derive(Debug)]
pub struct Files;

impl Files {
    fn check(table: &Table) -> Result<(), Wrong> {
        if table.0.len() > MAX_FILES {
            return Err(Wrong::new("not a table of files", FILES_RIGHT));
        }
        if let Some((key, _)) = table.0.iter().find(|(key, _)| !is_path_below(&key.text)) {
            let problem = format!("'{}' is not a file of the working folder", key.text);
            return Err(Wrong::new(problem, "a plain path below it, such as www/index.html"));
        }
        let length: usize = table.0.iter().filter_map(|(_, value)| value.text()).map(str::len).sum();
        if length > MAX_TEXT {
            return Err(Wrong::new("the texts exceed 1 MiB in total", "a file of zero bytes is { bytes = \"61MB\" }"));
        }
        Ok(())
    }
}

const FILES_RIGHT: &str = "a table such as { \"nginx.conf\" = \"…\", \"big\" = { bytes = \"61MB\" } }";

fn is_path_below(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    !path.starts_with('/') && !path.contains('\0') && parts.clone().count() > 0 && parts.all(|part| part != "..")
}

impl Kind for Files {
    type Value = Vec<(String, FileContent)>;

    fn read(value: &Value, place: &Place<'_>, faults: &mut Faults) -> Option<Self::Value> {
        let table = value.table().ok_or_else(|| Wrong::new("not a table of files", FILES_RIGHT));
        let checked = table.and_then(|table| Self::check(table).map(|()| table));
        let table = checked.map_err(|wrong| faults.add(place, value, wrong)).ok()?;
        let read = |(key, value): &(crate::value::Key, Value)| {
            let place = place.key(&key.text);
            match (&value.node, value.table().and_then(|zeros| zeros.get("bytes"))) {
                (Node::Text(text), _) => Some((key.text.clone(), FileContent::Text(text.clone()))),
                (Node::Table(zeros), Some(bytes)) if zeros.0.len() == 1 => {
                    let size = <Size as Kind>::read(bytes, &place.key("bytes"), faults)?;
                    Some((key.text.clone(), FileContent::Zeros(size)))
                }
                _ => {
                    faults.add(&place, value, Wrong::new("neither a text nor { bytes = … }", FILES_RIGHT));
                    None
                }
            }
        };
        table.0.iter().map(read).collect::<Vec<_>>().into_iter().collect()
    }

    fn write(value: &Self::Value) -> Value {
        let content = |content: &FileContent| match content {
            FileContent::Text(text) => Value::from(&text[..]),
            FileContent::Zeros(bytes) => Table::from_iter([("bytes", *bytes)]).into(),
        };
        value.iter().map(|(name, file)| (&name[..], content(file))).collect::<Table>().into()
    }

    fn shape() -> Shape {
        let zeros = Table::from_iter([
            ("additionalProperties", Value::from(false)),
            ("properties", Table::from_iter([("bytes", Table::default())]).into()),
            ("required", Value::texts(&["bytes"])),
            ("type", "object".into()),
        ]);
        let values = Table::from_iter(any_of(vec![Table::from_iter([any_text()]), zeros]));
        Shape::new("files", "Mapping[str, str | Zeros]", table_schema(values))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let zeros: Value = Table::from_iter([("bytes", "61MB")]).into();
        let text = draw.pick(&["", "server {\n}\n", "\u{1b}[0m"]);
        let mut files = Table::from_iter([("nginx.conf", Value::from(text))]);
        if draw.is_rare(2) {
            files.set("www/big file", zeros);
        }
        files.into()
    }
}

/// Environment variables.
#[derive(Debug)]
pub struct Environment;

impl Simple for Environment {
    type Value = Vec<(String, String)>;

    fn parse(value: &Value) -> Result<Self::Value, Wrong> {
        let right = "a table of texts, such as { SSLKEYLOGFILE = \"keys\" }";
        let table = value.table().ok_or_else(|| Wrong::new("not an environment", right))?;
        let is_name = |name: &str| {
            let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            name.len() <= 100 && !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(is_inner)
        };
        let read = |(key, value): &(crate::value::Key, Value)| {
            let text = value.text().filter(|text| !text.contains('\0') && text.chars().count() <= MAX_TEXT);
            let text = text.filter(|_| is_name(&key.text));
            let problem = || Wrong::new(format!("'{}' is not a variable with a text", key.text), right);
            text.map(|text| (key.text.clone(), text.to_owned())).ok_or_else(problem)
        };
        table.0.iter().map(read).collect()
    }

    fn write(value: &Self::Value) -> Value {
        value.iter().map(|(name, text)| (&name[..], &text[..])).collect::<Table>().into()
    }

    fn shape() -> Shape {
        Shape::new("environment", "Mapping[str, str]", table_schema(Table::from_iter([any_text()])))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        Table::from_iter([("SSLKEYLOGFILE", draw.pick(&["keys", "", "a b"]))]).into()
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
        let right = "a whole number, a list such as [1, 2, 3], or a range such as \"1..5\"";
        let none = || Wrong::new("not a seed", right);
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

simple!(Command, Lines, Host, Serves, StopTime, Environment, Folder, Seeds);
