//! What JavaScript gets, called natively: errors with places, slices, a bound of memory, files, columns, packets.

use dumbbell::Experiment;
use dumbbell_wasm::{Simulation, Table, parse};
use serde_json::Value;

const TEXT: &str = r#"
duration = "5s"
[path]
rtt = "20ms"
loss = "0.5%"
[path.bottleneck]
rate = "10mbit"
[[flows]]
cc = "cubic"
"#;
const MANY: f64 = 1e9;

fn finished(mut simulation: Simulation) -> dumbbell_wasm::Run {
    while !simulation.advance().unwrap() {}
    simulation.finish()
}

fn problem_of(result: Result<Simulation, String>) -> String {
    let errors: Value = serde_json::from_str(&result.unwrap_err()).unwrap();
    errors[0]["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_in_slices_gives_the_tables_and_metrics_of_the_crate() {
    let expected = Experiment::from_toml(TEXT).unwrap().run(7).unwrap();
    let run = finished(Simulation::new(TEXT, "", 7, "{}", MANY).unwrap());
    let texts = [run.flows(), run.queues(), run.probes()].map(|table| table.text());
    assert_eq!(texts, [expected.flows(), expected.queues(), expected.probes()].map(dumbbell::Table::text));
    assert_eq!(run.metrics(), serde_json::to_string(expected.metrics()).unwrap());
}

#[test]
fn each_column_has_values_of_its_kind() {
    let table: Table = finished(Simulation::new(TEXT, "", 1, "{}", MANY).unwrap()).flows();
    for name in table.columns() {
        let length = match &table.kind(&name)[..] {
            "i64" => table.i64(&name).unwrap().len(),
            "u32" => table.u32(&name).unwrap().len(),
            "u8" | "bool" => table.u8(&name).unwrap().len(),
            "f64" => table.f64(&name).unwrap().len(),
            "name" => {
                assert!(!table.names(&name).unwrap().is_empty());
                table.u32(&name).unwrap().len()
            }
            other => panic!("{name}: {other}"),
        };
        assert_eq!(length, table.rows(), "{name}");
    }
    assert!(table.rows() > 10 && table.kind("no such column").is_empty());
}

#[test]
fn parse_gives_values_or_mistakes_with_places() {
    let cases: Value = serde_json::from_str(&parse(TEXT)).unwrap();
    assert_eq!(cases["cases"][0]["experiment"]["path"]["rtt"], 20_000_000);
    let text = TEXT.replace("rate =", "rote =");
    let errors: Value = serde_json::from_str(&parse(&text)).unwrap();
    let is_of_rote = |error: &&Value| error["key"] == "path.bottleneck.rote";
    let error = errors["errors"].as_array().unwrap().iter().find(is_of_rote).unwrap();
    let place = |name: &str| usize::try_from(error[name].as_u64().unwrap()).unwrap();
    assert_eq!(&text[place("from")..place("to")], "rote");
    assert_eq!((place("line"), place("column")), (7, 1));
}

#[test]
fn what_cannot_run_is_an_error_with_its_reason() {
    assert!(problem_of(Simulation::new(TEXT, "none", 1, "{}", MANY)).contains("no case 'none'"));
    assert!(problem_of(Simulation::new(TEXT, "", 1, "[]", MANY)).starts_with("files: "));
    let traced = TEXT.replace("rate = \"10mbit\"", "rate_trace = \"link.trace\"");
    assert!(problem_of(Simulation::new(&traced, "", 1, "{}", MANY)).contains("'link.trace' was not handed in"));
    let files = "{\"link.trace\": \"2\\n4\\n6\\n\"}";
    assert!(finished(Simulation::new(&traced, "", 1, files, MANY).unwrap()).flows().rows() > 10);
}

#[test]
fn a_run_that_exceeds_its_memory_ends_with_an_error() {
    let mut simulation = Simulation::new(TEXT, "", 1, "{}", 1_000.0).unwrap();
    let error = simulation.advance().unwrap_err();
    assert!(error.contains("exceed 1000") && error.contains("mostBytes"), "{error}");
}

#[test]
fn a_recording_has_the_packets_of_its_window_and_ends_after_it() {
    let start = |most| Simulation::recording(TEXT, "", 1, "{}", MANY, 1_000_000_000, 1_100_000_000, most);
    let mut simulation = start(1_000).unwrap();
    while !simulation.advance().unwrap() {}
    assert!((1.0..2.0).contains(&simulation.seconds()), "{}", simulation.seconds());
    let run = simulation.finish();
    let sent = run.packets().unwrap().i64("sent_ns").unwrap();
    assert!(sent.len() > 50 && sent.iter().all(|ns| (900_000_000..=1_100_000_000).contains(ns)));
    let few = finished(start(10).unwrap());
    assert_eq!((few.packets().unwrap().rows(), few.left_out() > 40.0), (10, true));
    assert!(finished(Simulation::new(TEXT, "", 1, "{}", MANY).unwrap()).packets().is_none());
}
