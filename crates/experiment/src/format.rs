//! The version of the language, which a file may state: `format = 1`.

use crate::diagnostic::Diagnostic;
use crate::value::{Node, Table, Value};

/// The key, and the newest version that this Dumbbell reads.
pub const KEY: &str = "format";
/// The same.
pub const NEWEST: i64 = 1;

/// Takes the version out of a document.
///
/// # Errors
///
/// A version that this Dumbbell does not know.
pub fn take(document: &mut Table) -> Result<(), Box<Diagnostic>> {
    let Some(value) = document.take(KEY) else { return Ok(()) };
    let fault = match &value.node {
        Node::Integer(NEWEST) => return Ok(()),
        Node::Integer(newer) if *newer > NEWEST => Diagnostic::new(
            "a format that is newer than this Dumbbell",
            format!("a newer Dumbbell (pip install --upgrade dumbbell); this one reads format = {NEWEST}"),
        ),
        _ => Diagnostic::new("no format of Dumbbell's files", format!("format = {NEWEST}")),
    };
    let span = value.span.clone();
    Err(Box::new(Diagnostic { value: Some(value), ..fault.key(KEY).at(span) }))
}

/// The key's schema.
pub(crate) fn schema() -> Value {
    let about = format!("Version of the language: {NEWEST}.");
    let schema = [("type", Value::from("integer")), ("const", NEWEST.into()), ("description", about.as_str().into())];
    Table::from_iter(schema).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn taken(text: &str) -> Result<bool, String> {
        let mut document = crate::toml::parse(text, &Limits::default()).expect("TOML");
        take(&mut document).map(|()| document.has(KEY)).map_err(|fault| fault.problem)
    }

    #[test]
    fn one_version_is_known() {
        assert_eq!(taken("format = 1"), Ok(false));
        assert_eq!(taken("duration = '1s'"), Ok(false));
        assert!(taken("format = 2").unwrap_err().contains("newer"));
        assert!(taken("format = 0").is_err() && taken("format = '1'").is_err());
    }
}
