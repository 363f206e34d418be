//! What is made of the declarations: the schema, the controls, the reference, the Python types.

use dumbbell_experiment::Experiment;
use dumbbell_experiment::declare::Declared;
use dumbbell_experiment::declare::spec::Presence;
use dumbbell_experiment::keys::sweep::Sweep;
use dumbbell_experiment::reference::{all_tables, reference, tables, tables_of};
use dumbbell_experiment::schema::{controls, of_sweeps, schema};
use dumbbell_experiment::stubs::classes;
use dumbbell_experiment::value::Value;
use std::collections::HashSet;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.table().and_then(|table| table.get(key)).and_then(Value::text).unwrap_or_default()
}

#[test]
fn every_key_has_a_meaning_and_appears_once() {
    for spec in all_tables() {
        let keys = spec.all();
        let names: HashSet<_> = keys.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), keys.len(), "{}", spec.name);
        for key in keys {
            assert!(key.doc.trim().ends_with('.'), "{}.{}: {}", spec.name, key.name, key.doc);
        }
    }
}

#[test]
fn the_reference_has_a_row_for_every_key() {
    for (spec, name) in all_tables().into_iter().zip(tables()) {
        let page = reference(name).expect("a table");
        for key in spec.keys {
            let row =
                page.lines().find(|line| line.trim_start_matches("| `").trim_start_matches('[').starts_with(key.name));
            let is_required = matches!(key.presence, Presence::Required);
            assert!(row.is_some_and(|row| row.ends_with("| required |") == is_required), "{name}.{}", key.name);
        }
    }
    assert_eq!(reference("Nothing"), None);
}

#[test]
fn every_reference_in_a_schema_has_its_definition() {
    // The file is the schema itself; an experiment's impairments are keys of other tables.
    check_references(&schema(), tables_of(Experiment::SPEC).len() - 2);
    check_references(&of_sweeps(), tables_of(Sweep::SPEC).len() - 1);
}

fn check_references(schema: &Value, count: usize) {
    let written = schema.to_string();
    let definitions =
        schema.table().and_then(|table| table.get("definitions")).and_then(Value::table).expect("definitions");
    for (_, rest) in written.match_indices("#/definitions/").map(|(at, sign)| written[at..].split_at(sign.len())) {
        let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(definitions.has(&name), "{name}");
    }
    assert_eq!(definitions.0.len(), count);
}

#[test]
fn a_control_has_what_a_page_needs() {
    let controls = controls();
    let all = controls.list().expect("a list");
    let find = |key: &str| all.iter().find(|control| text(control, "key") == key).expect("a control").clone();
    assert_eq!((text(&find("path.bottleneck.rate"), "unit"), text(&find("flows.*.stop"), "kind")), ("bit/s", "time"));
    let mtu = find("path.mtu");
    let bounds = ["low", "high", "default"].map(|key| mtu.table().and_then(|table| table.get(key)).cloned());
    assert_eq!(bounds, [Some(576.into()), Some(9000.into()), Some(1500.into())]);
    assert!(find("flows.*.kind").to_string().contains("choices = [\"tcp\", \"udp\", \"quic\"]"));
}

#[test]
fn a_table_in_python_inherits_the_keys_that_it_shares() {
    let text = classes(&[Experiment::SPEC]);
    assert!(text.contains("class Impairment(Keys):") && text.contains("class Path(Impairment):"));
    assert!(text.contains("    rate: int | None\n") && text.contains("    flows: tuple[Flows, ...]\n"));
    assert!(text.find("class Impairment").expect("it is there") < text.find("class Path").expect("it is there"));
}
