//! Rejects settings that tc and the kernel reject. [`super::Queue::new`] panics on them, so builders call this first.

use super::{Config, HtbClass, HtbConfig, Node, RedConfig, Rule, SfqConfig};
use crate::rate::Rate;
use crate::time::Span;
use alloc::format;
use alloc::string::{String, ToString};

impl Node {
    /// The first invalid setting in this tree with the handle of its qdisc; None if the tree is valid.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let policer = || self.config.rules()?.iter().find_map(no_policer);
        own(&self.config)
            .or_else(policer)
            .map(|problem| format!("'{}': {problem}", self.handle))
            .or_else(|| self.config.children().into_iter().find_map(Self::problem))
    }
}

fn own(config: &Config) -> Option<String> {
    let no_rate = |rate: Rate| (rate == Rate::ZERO).then(|| "rate is 0; it must be above 0".to_string());
    match config {
        Config::Tbf(tbf) => no_rate(tbf.rate).or_else(|| tbf.peak.and_then(|(rate, _)| no_rate(rate))),
        Config::Netem(netem) => {
            let forever = netem.delay.max(netem.jitter) > MAX_DELAY;
            forever.then(|| "delay or jitter exceeds one day".to_string()).or_else(|| no_rate(netem.rate?.rate))
        }
        Config::Htb(htb) => classes(htb),
        Config::Red(red) => damping(red),
        Config::Gred(gred) => gred.queues.iter().find_map(|queue| damping(&queue.red)),
        Config::Choke(choke) => damping(&choke.red),
        Config::Sfq(sfq) => no_flows(sfq).or_else(|| damping(sfq.red.as_ref()?)),
        Config::Prio(prio) => no_bands(&prio.bands),
        Config::Ets(ets) => no_bands(&ets.bands)
            .or_else(|| (ets.quanta.len() != ets.bands.len()).then(|| "each band needs a quantum".to_string()))
            .or_else(|| ets.quanta.contains(&0).then(|| "a quantum is 0".to_string())),
        Config::DualPi2(dualpi2) => {
            let never = dualpi2.tupdate == Span::ZERO || dualpi2.coupling == 0;
            (never || dualpi2.classic_protection > 100)
                .then(|| "tupdate and coupling must be above 0, classic_protection at most 100".into())
        }
        _ => None,
    }
}

fn no_bands(bands: &[Option<Node>]) -> Option<String> {
    bands.is_empty().then(|| "no bands; at least one is required".to_string())
}

fn no_flows(sfq: &SfqConfig) -> Option<String> {
    (sfq.flows == 0 || sfq.divisor == 0 || sfq.depth == 0)
        .then(|| "flows, divisor and depth must be above 0".to_string())
}

fn no_policer(rule: &Rule) -> Option<String> {
    let police = rule.police?;
    let idle = police.rate == Rate::ZERO || police.peak == Some(Rate::ZERO);
    idle.then(|| "a policer's rate is 0; it must be above 0".to_string())
}

/// Rates, unique numbers, parents before their children, depth.
fn classes(htb: &HtbConfig) -> Option<String> {
    htb.classes.iter().enumerate().find_map(|(index, class)| {
        let before = &htb.classes[..index];
        let problem = |problem: &str| Some(format!("class {:x}: {problem}", class.minor));
        if class.rate == Rate::ZERO || class.ceil == Rate::ZERO {
            return problem("rate or ceil is 0; both must be above 0");
        }
        if class.minor == 0 || before.iter().any(|other| other.minor == class.minor) {
            return problem("another class has this number");
        }
        if class.parent != 0 && !before.iter().any(|other| other.minor == class.parent) {
            return problem("its parent must be listed before it");
        }
        (depth(class, before) >= MAX_LEVELS).then(|| problem("more than 8 levels of classes"))?
    })
}

fn depth(class: &HtbClass, before: &[HtbClass]) -> usize {
    let parent_of = |class: &HtbClass| before.iter().find(|other| other.minor == class.parent);
    core::iter::successors(parent_of(class), |above| parent_of(above)).take(MAX_LEVELS).count()
}

fn damping(red: &RedConfig) -> Option<String> {
    let table = &red.idle_damping;
    let fits = table.len() == DAMPING_CELLS && table.iter().all(|shift| *shift < 32);
    if !fits {
        return Some(format!("idle_damping must be {DAMPING_CELLS} shifts below 32"));
    }
    let slopes = red.wlog < 32 && red.plog < 32 && red.scell_log < 32;
    (!slopes || red.min > red.max).then(|| "wlog, plog and scell_log must be below 32, and min at most max".to_string())
}

/// Longest delay: one day. Longer delays could overflow times.
const MAX_DELAY: Span = Span::from_secs(86_400);
/// Maximum depth of a class tree (`TC_HTB_MAXDEPTH`).
const MAX_LEVELS: usize = 8;
/// Entries of the idle damping table (`RED_STAB_SIZE`).
const DAMPING_CELLS: usize = 256;

#[cfg(test)]
mod tests {
    use crate::queue::tests::{class, node};
    use crate::queue::{Config, HtbConfig};
    use alloc::boxed::Box;
    use alloc::vec;

    fn problem(classes: alloc::vec::Vec<crate::queue::HtbClass>) -> Option<alloc::string::String> {
        let config = HtbConfig { default: 1, classes, filters: vec![], direct_limit: 1 };
        node("1:", Config::Htb(Box::new(config))).problem()
    }

    #[test]
    fn a_valid_tree_has_no_problem() {
        assert_eq!(problem(vec![class(1, 0, 8_000, 8_000)]), None);
    }

    #[test]
    fn classes_need_rates_unique_numbers_and_parents() {
        let message = |classes| problem(classes).expect("the tree is invalid");
        assert_eq!(message(vec![class(1, 0, 0, 8_000)]), "'1:': class 1: rate or ceil is 0; both must be above 0");
        assert_eq!(
            message(vec![class(1, 0, 8_000, 8_000), class(1, 0, 8_000, 8_000)]),
            "'1:': class 1: another class has this number"
        );
        assert_eq!(message(vec![class(2, 1, 8_000, 8_000)]), "'1:': class 2: its parent must be listed before it");
    }
}
