//! Propagation delays of groups: what an RTT is without any queue.

use crate::model::{Experiment, Flows};

/// The RTT of a group without queues: the path's, that of the links that it crosses, and its access link's.
#[must_use]
pub fn base_rtt_ns(experiment: &Experiment, group: &Flows) -> u64 {
    let path = &experiment.path;
    let names = path.link_names();
    let position = |name: Option<&str>| name.and_then(|name| names.iter().position(|link| *link == name));
    let first = position(group.joins(path)).unwrap_or(0);
    let last = position(group.leaves(path)).unwrap_or(names.len().saturating_sub(1));
    let crossed = names.get(first..=last).unwrap_or_default();
    let links = path.links.iter().filter(|link| crossed.contains(&&link.name[..]));
    let links: u64 = links.map(|link| link.segment.impairment.mean_delay()).sum();
    let access = group.access.as_ref().map_or(0, |access| access.impairment.mean_delay());
    // The forward path's netem stands in front of the first link.
    let rtt = if first > 0 { path.rtt.saturating_sub(path.forward()) } else { path.rtt };
    rtt.saturating_add(links).saturating_add(access)
}

/// The shortest of all groups: the one that sizes in bandwidth-delay products mean.
#[must_use]
pub fn shortest_base_rtt_ns(experiment: &Experiment) -> u64 {
    let groups = experiment.flows.iter().map(|group| base_rtt_ns(experiment, group));
    groups.min().unwrap_or(experiment.path.rtt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{document, limits::Limits};

    fn experiment(text: &str) -> Experiment {
        let options = document::Options { limits: Limits::default(), ..document::Options::default() };
        document::parse(text, &options).expect("it is valid").swap_remove(0).experiment
    }

    #[test]
    fn links_and_access_links_add_to_the_rtt() {
        let made = experiment(
            r#"
            duration = "1s"
            path = { rtt = "20ms", bottleneck = { rate = "10mbit" }, links = [
                { name = "near", where = "before", delay = "1ms" }, { name = "far", delay = "4ms" } ] }
            flows = [ { cc = "bbr" }, { cc = "cubic", access = { delay = "7ms" } }, { cc = "reno", enter = "bottleneck" },
                { cc = "vegas", leave = "near" }, { cc = "bbr", route = ["bottleneck", "far"] }, { cc = "bbr", route = ["near"] } ]
            "#,
        );
        let rtts: Vec<_> = made.flows.iter().map(|group| base_rtt_ns(&made, group) / 1_000_000).collect();
        assert_eq!(rtts, [25, 32, 24, 21, 24, 21]);
        assert_eq!(shortest_base_rtt_ns(&made), 21_000_000);
    }
}
