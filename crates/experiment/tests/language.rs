//! Texts, settings, cases, and what is reported of mistakes.

use dumbbell_experiment::document::setting;
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::model::{ParameterValue, Position};
use dumbbell_experiment::render::render;
use dumbbell_experiment::suggest::suggest;
use dumbbell_experiment::value::Value;
use dumbbell_experiment::{Case, Diagnostic, Options, parse, read};

const GOOD: &str = r#"
duration = "1s"
[path]
rtt = "10ms"
[path.bottleneck]
rate = "10mbit"
[[flows]]
cc = "cubic"
"#;

fn with(settings: &[&str]) -> Options {
    let limits = Limits::default();
    let settings = settings.iter().map(|text| setting(text, &limits).expect("a setting")).collect();
    Options { title: "mine".into(), settings, limits, ..Options::default() }
}

fn cases(text: &str) -> Vec<Case> {
    parse(text, &with(&[])).expect("an experiment")
}

fn faults(text: &str) -> Vec<Diagnostic> {
    parse(text, &with(&[])).expect_err("no experiment")
}

#[test]
fn keys_have_their_defaults() {
    let made = cases(GOOD).remove(0).experiment;
    assert_eq!((made.title.as_str(), made.duration, &made.seeds[..]), ("mine", 1_000_000_000, &[1][..]));
    let bottleneck = made.path.bottleneck.expect("a bottleneck");
    assert_eq!((bottleneck.rate, bottleneck.qdisc.text()), (Some(10_000_000), "pfifo limit 1000".into()));
    assert_eq!((made.probes.len(), made.probes[0].interval, made.tcp.rmem_max), (1, 100_000_000, 64 << 20));
}

#[test]
fn settings_come_last_and_need_no_quotes() {
    let options = with(&["duration=20s", "flows.cubic.ecn=true", "path.bottleneck.rate=50mbit", "tcp.defaults=linux"]);
    let made = parse(GOOD, &options).expect("an experiment").remove(0).experiment;
    assert_eq!((made.duration, made.flows[0].ecn.word(), made.tcp.wmem_max), (20_000_000_000, "classic", 4 << 20));
}

#[test]
fn lists_of_a_case_are_crossed_and_name_the_cases() {
    let text = format!(
        "{GOOD}[[cases]]\nname = \"{{flows.0.cc}} at {{path.loss}} loss\"\n\
         set = {{ \"path.loss\" = [\"0%\", \"1%\"], \"flows.0.cc\" = [\"cubic\", \"bbr\"] }}\n"
    );
    let names: Vec<_> = cases(&text).into_iter().map(|case| case.name).collect();
    assert_eq!(names, ["cubic at 0% loss", "bbr at 0% loss", "cubic at 1% loss", "bbr at 1% loss"]);
}

#[test]
fn several_mistakes_are_reported_together_in_the_order_of_the_file() {
    let text = GOOD.replace("\"10ms\"", "\"fast\"").replace("rate =", "rat =").replace("\"cubic\"", "7\ncuont = 2");
    let found = faults(&text);
    let keys: Vec<_> = found.iter().map(|fault| (&fault.key[..], fault.line)).collect();
    assert_eq!(keys[..2], [("path.rtt", 4), ("path.bottleneck.rat", 6)]);
    assert_eq!(keys[2..], [("flows.0.cc", 8), ("flows.0.cuont", 9)]);
    assert!(found[3].hint.starts_with("did you mean 'count'? there is: "), "{}", found[3].hint);
}

#[test]
fn a_mistake_is_underlined_in_an_excerpt() {
    let text = GOOD.replace("10mbit", "fast");
    let shown = render(&faults(&text), &text, "mine.toml", false);
    let expected = "error: path.bottleneck.rate: not a quantity, got \"fast\"\n --> mine.toml:6:8\n  |\n6 | rate = \"fast\"\n  |        ^^^^^^\n  |\n  = help: a rate is a number with a unit, such as 80mbit, 5gbit or 64kbit";
    assert_eq!(shown, expected);
}

#[test]
fn an_excerpt_has_no_control_characters() {
    let text = format!("title = \"a\u{1b}[31m\u{202e}b\"{GOOD}");
    let shown = render(&faults(&text), &text, "mine.toml", false);
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

#[test]
fn a_mistake_in_a_case_names_the_case_and_underlines_its_value() {
    let found = faults(&format!("{GOOD}[[cases]]\nname = \"bad\"\nset = {{ \"path.rtt\" = \"x\" }}\n"));
    assert_eq!((found.len(), &found[0].case[..], &found[0].key[..], found[0].line), (1, "bad", "path.rtt", 11));
}

#[test]
fn deep_and_large_texts_are_refused_before_parsing() {
    let deep = format!("a = {}", "[".repeat(1_000_000 - 10));
    assert_eq!(faults(&deep)[0].problem, "tables within tables, more than 24 of them");
    let dotted = format!("{}a = 1", "a.".repeat(50_000));
    assert_eq!(faults(&dotted)[0].problem, "tables within tables, more than 24 of them");
    assert_eq!(faults(&" ".repeat(1_000_001))[0].problem, "1,000,001 bytes of text, more than 1 MB");
    let many = format!("a = [{}]", "1,".repeat(20_000));
    assert_eq!(faults(&many)[0].problem, "20,002 keys and values, more than 20,000");
    let crossed = format!("{GOOD}[[cases]]\nset = {{ a = {0:?}, b = {0:?} }}\n", (0..101).collect::<Vec<_>>());
    assert_eq!(faults(&crossed)[0].problem, "10,201 cases, more than 10,000");
}

#[test]
fn tables_of_settings_keep_their_order() {
    let text = format!("{GOOD}cc_parameters = {{ beta = 1, alpha = \"x+1\" }}\n");
    let made = cases(&text).remove(0).experiment;
    let expected =
        [("beta".to_owned(), ParameterValue::Number(1)), ("alpha".to_owned(), ParameterValue::Word("x+1".into()))];
    assert_eq!(made.flows[0].cc_parameters, expected);
}

#[test]
fn links_are_in_the_order_in_which_data_crosses_them() {
    let text = format!(
        "{GOOD}[[path.links]]\nname = \"late\"\nrate = \"1mbit\"\n[[path.links]]\nname = \"none\"\n\
         [[path.links]]\nname = \"early\"\nwhere = \"before\"\ndelay = \"1ms\"\n"
    );
    let path = cases(&text).remove(0).experiment.path;
    assert_eq!((path.link_names(), path.links[2].position), (vec!["early", "bottleneck", "late"], Position::Before));
}

#[test]
fn a_suggestion_is_the_nearest_name() {
    for (word, meant) in
        [("codle", "codel"), ("durtion", "duration"), ("Rate", "rate"), ("targt", "target"), ("fqcodel", "fq_codel")]
    {
        let known = ["codel", "duration", "rate", "target", "fq_codel", "fq", "trace", "title"];
        assert!(suggest(word, &known).starts_with(&format!("did you mean '{meant}'? ")), "{}", suggest(word, &known));
    }
    assert!(suggest("colour", &["rate", "title"]).starts_with("there is: rate, title"));
}

#[test]
fn a_document_may_come_from_json() {
    let json = r#"{"duration": "1s", "path": {"rtt": "10ms", "bottleneck": {"rate": "10mbit"}}, "flows": [{"cc": "cubic", "count": 2}]}"#;
    let document: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(serde_json::to_string(&document).expect("JSON"), json.replace(": ", ":").replace(", ", ","));
    let table = document.table().expect("a table").clone();
    let made = read(table, &with(&[])).expect("an experiment").remove(0).experiment;
    assert_eq!((made.flows[0].count, made.duration), (2, 1_000_000_000));
    let wrong: Value = serde_json::from_str(&json.replace("10mbit", "fast")).expect("JSON");
    let found = read(wrong.table().expect("a table").clone(), &with(&[])).expect_err("no rate");
    assert_eq!((&found[0].key[..], found[0].span.clone()), ("path.bottleneck.rate", None));
}
