//! The parser of plans and the world's birth, against texts and numbers that nobody would write: an answer, never a panic.

use dumbbell_core::time::{Span, Time};
use dumbbell_sim::{Plan, World};
use proptest::prelude::*;
use serde_json::Value;

/// Plans as Python writes them: its own tests keep them.
const WORLDS: &[&str] = &[
    include_str!("../../../tests/plan/worlds/changes.json"),
    include_str!("../../../tests/plan/worlds/two-classes-script.json"),
    include_str!("../../../tests/plan/worlds/two-ways.json"),
];

/// Numbers at the edges of what fields hold.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::from(u32::MAX)), Just(u64::MAX), 0u64..100_000, any::<u64>()]
}

/// The `place`th number of a tree, counted round.
fn number_at<'a>(value: &'a mut Value, place: &mut usize) -> Option<&'a mut Value> {
    match value {
        Value::Number(_) if *place == 0 => Some(value),
        Value::Number(_) => {
            *place -= 1;
            None
        }
        Value::Array(items) => items.iter_mut().find_map(|item| number_at(item, place)),
        Value::Object(items) => items.values_mut().find_map(|item| number_at(item, place)),
        _ => None,
    }
}

fn born(text: &str) {
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
    fn any_text_is_answered(text in ".{0,200}") {
        born(&text);
    }

    #[test]
    fn any_cut_of_a_plan_is_answered(world in 0..WORLDS.len(), at in any::<prop::sample::Index>()) {
        let text = WORLDS[world].trim_end().strip_suffix('}').expect("an object ends so");
        let cut = (0..=at.index(text.len())).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0);
        prop_assert!(Plan::from_json(&text[..cut]).is_err());
    }

    #[test]
    fn any_number_in_a_plan_is_answered(world in 0..WORLDS.len(), place in 0usize..400, number in numbers()) {
        let mut plan: Value = serde_json::from_str(WORLDS[world]).expect("it is JSON");
        if let Some(found) = number_at(&mut plan, &mut place.clone()) {
            *found = number.into();
        }
        born(&plan.to_string());
    }
}
