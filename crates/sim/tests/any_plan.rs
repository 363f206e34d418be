//! Malformed plans and extreme numbers: the parser and the simulator return results or errors and never panic.

use dumbbell_net::time::{Span, Time};
use dumbbell_sim::{Plan, World};
use proptest::prelude::*;
use serde_json::Value;

/// Plans written by Python; its tests keep them up to date.
const WORLDS: &[&str] = &[
    include_str!("../../../tests/plan/worlds/changes.json"),
    include_str!("../../../tests/plan/worlds/two-classes-script.json"),
    include_str!("../../../tests/plan/worlds/two-ways.json"),
];

/// Numbers at the limits of field types.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::from(u32::MAX)), Just(u64::MAX), 0u64..100_000, any::<u64>()]
}

/// The number at `index` in a JSON tree.
fn number_at<'a>(value: &'a mut Value, index: &mut usize) -> Option<&'a mut Value> {
    match value {
        Value::Number(_) if *index == 0 => Some(value),
        Value::Number(_) => {
            *index -= 1;
            None
        }
        Value::Array(items) => items.iter_mut().find_map(|item| number_at(item, index)),
        Value::Object(items) => items.values_mut().find_map(|item| number_at(item, index)),
        _ => None,
    }
}

fn run_plan(text: &str) {
    if let Ok(mut plan) = Plan::from_json(text) {
        plan.duration = Span::from_millis(20);
        plan.sample = plan.sample.max(Span::from_millis(1));
        let busy = plan.probes.iter().any(|probe| probe.interval < Span::from_micros(10));
        if let (Ok(mut world), false) = (World::new(&plan), busy) {
            let _ = world.run(Time::NEVER);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in ".{0,200}") {
        run_plan(&text);
    }

    #[test]
    fn any_truncated_plan_is_refused(world in 0..WORLDS.len(), at in any::<prop::sample::Index>()) {
        let text = WORLDS[world].trim_end().strip_suffix('}').expect("the plan is a JSON object");
        let cut = (0..=at.index(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0);
        prop_assert!(Plan::from_json(&text[..cut]).is_err());
    }

    #[test]
    fn any_number_in_a_plan_runs_or_is_refused(world in 0..WORLDS.len(), index in 0usize..400, number in numbers()) {
        let mut plan: Value = serde_json::from_str(WORLDS[world]).expect("the plan is JSON");
        if let Some(found) = number_at(&mut plan, &mut index.clone()) {
            *found = number.into();
        }
        run_plan(&plan.to_string());
    }
}
