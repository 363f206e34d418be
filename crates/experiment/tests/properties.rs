//! What holds for every text, for every valid experiment and for every valid sweep.

use dumbbell_experiment::declare::Kind;
use dumbbell_experiment::keys::sweep::Sweep;
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::value::{Node, Table};
use dumbbell_experiment::{Experiment, Options, document, parse, random, sweep, toml, write};
use proptest::prelude::*;

fn written(made: &Experiment) -> Table {
    match Experiment::write(made).node {
        Node::Table(table) => table,
        other => panic!("an experiment is a table, not {other:?}"),
    }
}

fn read_sweep(text: &str) -> Result<Sweep, Vec<dumbbell_experiment::Diagnostic>> {
    sweep::read(&toml::parse(text, &Limits::default())?, &Limits::default())
}

fn parsed(text: &str) -> Experiment {
    let mut cases = parse(text, &Options::default()).unwrap_or_else(|faults| panic!("{text}\n{faults:#?}"));
    assert_eq!(cases.len(), 1);
    cases.remove(0).experiment
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_random_experiment_is_valid_and_survives_writing(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let (drawn, made) = random::document(&bytes, &[]);
        let mut drawn_again = parsed(&write::document(&drawn));
        // The title of a text is its file's name.
        drawn_again.title.clone_from(&made.title);
        prop_assert_eq!(&drawn_again, &made);
        let text = write::document(&written(&made));
        let mut again = parsed(&text);
        again.title.clone_from(&made.title);
        prop_assert_eq!(&again, &made, "{}", text);
        prop_assert_eq!(write::document(&written(&again)), text);
    }

    #[test]
    fn any_text_is_an_experiment_or_mistakes(text in ".{0,200}") {
        if let Err(faults) = parse(&text, &Options::default()) {
            prop_assert!(!faults.is_empty());
        }
    }

    #[test]
    fn a_random_sweep_is_valid_and_survives_writing(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let Some((drawn, made)) = random::sweep(&bytes) else { return Ok(()) };
        prop_assert_eq!(&read_sweep(&write::document(&drawn)).expect("drawn valid"), &made);
        let text = write::document(&sweep::written(&made));
        match read_sweep(&text) {
            Ok(again) => prop_assert_eq!(&again, &made, "{}", text),
            Err(faults) => prop_assert!(false, "{}\n{:#?}", text, faults),
        }
    }

    #[test]
    fn any_text_is_a_sweep_or_mistakes(text in ".{0,200}") {
        if let Err(faults) = read_sweep(&text) {
            prop_assert!(!faults.is_empty());
        }
    }

    #[test]
    fn any_setting_is_read_or_a_mistake(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in ".{0,40}") {
        let (drawn, _) = random::document(&bytes, &[]);
        if let Ok(setting) = document::setting(&text, &Limits::default()) {
            _ = document::read(drawn, &Options { settings: vec![setting], ..Options::default() });
        }
    }
}

#[test]
fn seeds_give_different_experiments() {
    let texts: std::collections::BTreeSet<_> =
        (0..50).map(|seed| write::document(&random::of_seed(seed, &[]).0)).collect();
    assert!(texts.len() == 50, "{}", texts.len());
}

#[test]
fn omitted_keys_are_not_drawn() {
    for seed in 0..200 {
        let (_, made) = random::of_seed(seed, &["programs", "hosts", "tc"]);
        assert!(made.programs.is_empty() && made.hosts.is_none() && made.path.tc.is_empty());
    }
}
