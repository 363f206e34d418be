//! Numbers that no discipline could live with: tc and the kernel refuse them, and so does whoever builds a tree from a
//! file. [`super::Queue::new`] takes them as an error of its caller.

use super::{Config, HtbClass, HtbConfig, Node, RedConfig, Rule, SfqConfig};
use crate::rate::Rate;
use crate::time::Span;
use alloc::format;
use alloc::string::{String, ToString};

impl Node {
    /// What makes no sense in this tree, with the handle where it stands; None when all is well.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        own(&self.config).map(|problem| format!("'{}': {problem}", self.handle)).or_else(|| below(&self.config))
    }
}

fn own(config: &Config) -> Option<String> {
    let no_rate = |rate: Rate| (rate == Rate::ZERO).then(|| "its rate is zero".to_string());
    match config {
        Config::Tbf(tbf) => no_rate(tbf.rate).or_else(|| tbf.peak.and_then(|(rate, _)| no_rate(rate))),
        Config::Netem(netem) => {
            let forever = netem.delay.max(netem.jitter) > LONGEST_DELAY;
            forever.then(|| "it delays by more than a day".to_string()).or_else(|| no_rate(netem.rate?.rate))
        }
        Config::Htb(htb) => classes(htb),
        Config::Red(red) => damping(red),
        Config::Choke(choke) => damping(&choke.red),
        Config::Sfq(sfq) => no_flows(sfq).or_else(|| damping(sfq.red.as_ref()?)),
        Config::Drr(drr) => drr.rules.iter().find_map(no_policer),
        Config::Prio(prio) => prio
            .bands
            .is_empty()
            .then(|| "it has no bands".to_string())
            .or_else(|| prio.rules.iter().find_map(no_policer)),
        Config::DualPi2(dualpi2) => {
            let never = dualpi2.tupdate == Span::ZERO || dualpi2.coupling == 0;
            (never || dualpi2.classic_protection > 100).then(|| "its period, coupling or weight is out of range".into())
        }
        _ => None,
    }
}

fn below(config: &Config) -> Option<String> {
    match config {
        Config::Tbf(tbf) => tbf.inner.as_ref()?.problem(),
        Config::Netem(netem) => netem.inner.as_ref()?.problem(),
        Config::Red(red) => red.inner.as_ref()?.problem(),
        Config::Htb(htb) => htb.classes.iter().find_map(|class| class.leaf.as_ref()?.problem()),
        Config::Drr(drr) => drr.classes.iter().find_map(|class| class.leaf.as_ref()?.problem()),
        Config::Prio(prio) => prio.bands.iter().find_map(|band| band.as_ref()?.problem()),
        _ => None,
    }
}

fn no_flows(sfq: &SfqConfig) -> Option<String> {
    (sfq.flows == 0 || sfq.divisor == 0 || sfq.depth == 0).then(|| "it has no queues".to_string())
}

fn no_policer(rule: &Rule) -> Option<String> {
    let police = rule.police?;
    let idle = police.rate == Rate::ZERO || police.peak == Some(Rate::ZERO);
    idle.then(|| "a policer's rate is zero".to_string())
}

/// Rates, unique numbers, parents that stand before their children, and not too deep.
fn classes(htb: &HtbConfig) -> Option<String> {
    htb.classes.iter().enumerate().find_map(|(place, class)| {
        let before = &htb.classes[..place];
        let named = |problem: &str| Some(format!("class {:x}: {problem}", class.minor));
        if class.rate == Rate::ZERO || class.ceil == Rate::ZERO {
            return named("its rate is zero");
        }
        if class.minor == 0 || before.iter().any(|other| other.minor == class.minor) {
            return named("its number is taken");
        }
        if class.parent != 0 && !before.iter().any(|other| other.minor == class.parent) {
            return named("its parent does not stand before it");
        }
        (depth(class, before) >= MOST_LEVELS).then(|| named("it lies too deep"))?
    })
}

fn depth(class: &HtbClass, before: &[HtbClass]) -> usize {
    let parent_of = |class: &HtbClass| before.iter().find(|other| other.minor == class.parent);
    core::iter::successors(parent_of(class), |above| parent_of(above)).take(MOST_LEVELS).count()
}

fn damping(red: &RedConfig) -> Option<String> {
    let table = &red.idle_damping;
    let fits = table.len() == DAMPING_CELLS && table.iter().all(|shift| *shift < 32);
    if !fits {
        return Some(format!("its idle damping is not {DAMPING_CELLS} shifts below 32"));
    }
    let slopes = red.wlog < 32 && red.plog < 32 && red.scell_log < 32;
    (!slopes || red.min > red.max).then(|| "its thresholds or logarithms are out of range".to_string())
}

/// Nobody's path is longer; beyond it times would not fit together.
const LONGEST_DELAY: Span = Span::from_secs(86_400);
/// Levels that a tree of classes may have (`TC_HTB_MAXDEPTH`).
const MOST_LEVELS: usize = 8;
/// Cells of the idle damping table (`RED_STAB_SIZE`).
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
    fn a_sound_tree_has_no_problem() {
        assert_eq!(problem(vec![class(1, 0, 8_000, 8_000)]), None);
    }

    #[test]
    fn classes_need_rates_numbers_of_their_own_and_parents() {
        let said = |classes| problem(classes).expect("there is a problem");
        assert_eq!(said(vec![class(1, 0, 0, 8_000)]), "'1:': class 1: its rate is zero");
        assert_eq!(
            said(vec![class(1, 0, 8_000, 8_000), class(1, 0, 8_000, 8_000)]),
            "'1:': class 1: its number is taken"
        );
        assert_eq!(said(vec![class(2, 1, 8_000, 8_000)]), "'1:': class 2: its parent does not stand before it");
    }
}
