//! What netem does to packets: the words after each of its options, checked by the discipline's own grammar.

use dumbbell_tc::Wrong;
use dumbbell_tc::disciplines::SIMULATED;
use dumbbell_tc::grammar::{Keyword, Options, keywords};

/// Options that belong to another.
const BEHIND_SLOT: [&str; 2] = ["packets", "bytes"];

/// The words that follow `option`.
///
/// # Errors
///
/// They are none of this option's.
pub fn arguments(option: &'static str, text: Option<&str>) -> Result<String, Wrong> {
    let example = example(option);
    let none = || Wrong::new(format!("not a setting for netem's {option}"), example);
    let text = text.filter(|text| text.bytes().all(|byte| matches!(byte, b' '..=b'~'))).ok_or_else(none)?;
    let words: Vec<_> = text.split_whitespace().collect();
    let first = words.first().ok_or_else(none)?;
    if option == "loss" && *first == "every" {
        let is_number = words.get(1).is_some_and(|word| {
            word.bytes().all(|byte| byte.is_ascii_digit()) && word.bytes().any(|byte| byte != b'0')
        });
        if words.len() != 2 || !is_number {
            return Err(Wrong::new("not a loss of one packet in so many", "such as 'every 1000'"));
        }
        return Ok(text.to_owned());
    }
    if netem().any(|keyword| keyword.name == *first) {
        return Err(Wrong::new(format!("'{first}' is the option itself"), format!("only what follows it: {example}")));
    }
    let is_own = move |each: &&Keyword| each.name == option || (option == "slot" && BEHIND_SLOT.contains(&each.name));
    let with_option: Vec<_> = core::iter::once(option).chain(words.iter().copied()).collect();
    Options::check(&with_option, &netem().filter(is_own), |_, _| ())
        .map_err(|misfit| Wrong::new(misfit.explained("netem", String::new).problem, example))?;
    if option == "loss" && words.iter().all(|word| matches!(*word, "random" | "state" | "gemodel")) {
        return Err(Wrong::new("a loss without a probability", example));
    }
    Ok(words.join(" "))
}

fn netem() -> impl Iterator<Item = &'static Keyword> + Clone {
    SIMULATED.iter().filter(|(kind, _)| *kind == "netem").flat_map(|(_, grammar)| keywords(grammar))
}

const fn example(option: &str) -> &'static str {
    match option.as_bytes() {
        b"loss" => {
            "what netem takes after 'loss': '1%', 'random 1% 25%', 'gemodel 1% 10%', 'state 1% 20%'; \
             or, on the simulator only, 'every 1000'"
        }
        b"distribution" => "uniform, normal, pareto or paretonormal",
        b"reorder" => "such as '25% 50%'; it needs a delay",
        b"duplicate" => "such as '1%'",
        b"corrupt" => "such as '0.1%'",
        _ => "such as '4ms', '2ms 6ms' or '4ms packets 32'",
    }
}
