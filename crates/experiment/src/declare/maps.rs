//! What keys hold that are tables of any keys: parameters, sysctls, files, variables.

use super::kinds::Size;
use super::location::{Faults, Location};
use super::spec::{Shape, any_of, any_text, table_schema};
use super::texts::is_word;
use super::{Kind, Simple, simple};
use crate::draw::Draw;
use crate::single::FileContent;
use crate::value::{Key, Node, Table, Value};
use dumbbell_plan::ParameterValue;
use dumbbell_tc::Wrong;

/// Bytes of all texts that a program brings with it.
const MAX_TEXT: usize = 1 << 20;
const MAX_FILES: usize = 10_000;

/// A controller's parameters.
#[derive(Debug)]
pub struct Parameters;

impl Simple for Parameters {
    type Value = Vec<(String, ParameterValue)>;

    fn parse(value: &Value) -> Result<Self::Value, Wrong> {
        let hint = "a table of numbers and words, such as { alpha = 3, slow_start = \"hystart++\" }";
        let table = value.table().ok_or_else(|| Wrong::new("not a table of parameters", hint))?;
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_setting = |byte: u8| byte.is_ascii_alphanumeric() || b".+_-".contains(&byte);
        let read = |(key, value): &(Key, Value)| {
            let name = key.text.clone();
            if !is_word(&name, |byte| byte.is_ascii_lowercase(), is_inner, 40) {
                return Err(Wrong::new(format!("'{name}' is not the name of a parameter"), hint));
            }
            match &value.node {
                Node::Integer(number) if *number >= 0 => Ok((name, ParameterValue::Number(number.unsigned_abs()))),
                Node::Text(word) if is_word(word, is_setting, is_setting, 32) => {
                    Ok((name, ParameterValue::Word(word.clone())))
                }
                _ => Err(Wrong::new(format!("parameter '{name}' is neither an integer nor a word: {value}"), hint)),
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
        let hint = "a table of net.ipv4.* and net.core.* settings, such as { 'net.ipv4.tcp_early_retrans' = 3 }";
        let table = value.table().ok_or_else(|| Wrong::new("not a table of settings", hint))?;
        let read = |(key, value): &(Key, Value)| {
            if !is_sysctl(&key.text) {
                return Err(Wrong::new(format!("'{}' is not a setting that an experiment may change", key.text), hint));
            }
            let text = value.text().map_or_else(|| value.to_string(), String::from);
            let is_setting = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            let is_plain = |word: &str| is_word(word, is_setting, is_setting, usize::MAX);
            if !text.split(' ').all(is_plain) {
                return Err(Wrong::new(format!("'{text}' is not a plain value for {}", key.text), hint));
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

    fn read(value: &Value, location: &Location<'_>, faults: &mut Faults) -> Option<Self::Value> {
        let table = value.table().ok_or_else(|| Wrong::new("not a table of files", FILES_RIGHT));
        let checked = table.and_then(|table| Self::check(table).map(|()| table));
        let table = checked.map_err(|wrong| faults.add(location, value, wrong)).ok()?;
        let read = |(key, value): &(Key, Value)| {
            let location = location.key(&key.text);
            match (&value.node, value.table().and_then(|zeros| zeros.get("bytes"))) {
                (Node::Text(text), _) => Some((key.text.clone(), FileContent::Text(text.clone()))),
                (Node::Table(zeros), Some(bytes)) if zeros.0.len() == 1 => {
                    let size = <Size as Kind>::read(bytes, &location.key("bytes"), faults)?;
                    Some((key.text.clone(), FileContent::Zeros(size)))
                }
                _ => {
                    faults.add(&location, value, Wrong::new("neither a text nor { bytes = … }", FILES_RIGHT));
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
        Shape::new("files", "Mapping[str, str | Mapping[str, int]]", table_schema(values))
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
        let hint = "a table of texts, such as { SSLKEYLOGFILE = \"keys\" }";
        let table = value.table().ok_or_else(|| Wrong::new("not an environment", hint))?;
        let is_name = |name: &str| {
            let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            name.len() <= 100 && !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(is_inner)
        };
        let read = |(key, value): &(Key, Value)| {
            let text = value.text().filter(|text| !text.contains('\0') && text.chars().count() <= MAX_TEXT);
            let text = text.filter(|_| is_name(&key.text));
            let problem = || Wrong::new(format!("'{}' is not a variable with a text", key.text), hint);
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

simple!(Parameters, Sysctls, Environment);
