//! Rules of the top level: flows, links and changes must fit the path and the duration.

use crate::declare::location::Report;
use crate::model::{Change, Experiment, Flows, Probe, Verbatim};
use crate::names::numbered;
use crate::value::{Table, Value};
use dumbbell_net::cc::Controller;
use dumbbell_plan::{Ecn, Transport};

const SHORTEST_INTERVAL: u64 = 100_000;
/// TCP's clock has whole microseconds. A guest reads its sockets each time: `engine.kernel` needs 100us.
const SHORTEST_SAMPLE: u64 = 1_000;

/// Programs alone need a sender and a receiver too: a group of no flows.
pub fn with_hosts_for_programs(table: &Table) -> Option<Table> {
    let has_programs = table.get("programs").and_then(Value::list).is_some_and(|programs| !programs.is_empty());
    if !has_programs || table.has("flows") {
        return None;
    }
    let group = Table::from_iter([("name", Value::from("none")), ("cc", "cubic".into()), ("count", 0.into())]);
    Some(table.clone().or("flows", || vec![Value::from(group)].into()))
}

/// Two probes must have time between them.
pub fn probe(probe: &Probe, report: &mut Report<'_>) {
    if probe.interval < SHORTEST_INTERVAL {
        report.fault("interval", "the interval is below 100us", "such as interval = \"100ms\"");
    }
}

/// Everything that needs the entire experiment.
pub fn check(made: &Experiment, report: &mut Report<'_>) {
    if made.path.bottleneck.is_none() && made.path.tc.is_empty() && made.hosts.is_none() {
        let hint = "add [path.bottleneck] with rate and qdisc, or tc commands in [path.tc]";
        report.fault("path.bottleneck", "no bottleneck", hint);
    }
    super::programs::check(made, report);
    if made.sample < SHORTEST_SAMPLE {
        report.fault("sample", "sample is below 1us", "such as sample = \"10ms\"");
    }
    for (number, change) in made.changes.iter().enumerate() {
        check_change(made, change, number, report);
    }
    check_after(made, report);
    for (number, flows) in made.flows.iter().enumerate() {
        if made.path.tc.iter().any(Verbatim::is_on_senders) && flows.host_qdisc.is_some() {
            let hint = "path.tc's commands set the senders' device already";
            report.fault(&format!("flows.{number}.host_qdisc"), "both 'path.tc' and a 'host_qdisc'", hint);
        }
        if flows.start >= made.duration {
            let name = &made.group_names()[number];
            let problem = format!("flow group '{name}' starts after the end");
            report.fault(&format!("flows.{number}.start"), problem, "start it before the duration is over");
        }
        check_way(made, flows, number, report);
        check_ecn(made, flows, number, report);
    }
}

/// A group starts after one that completes, and not after itself.
fn check_after(made: &Experiment, report: &mut Report<'_>) {
    let names = made.group_names();
    let awaited = |number: usize| {
        let name = made.flows[number].after.as_ref()?;
        names.iter().position(|each| each == name)
    };
    let sized: Vec<_> = names.iter().zip(&made.flows).filter(|(_, each)| each.is_sized()).collect();
    let listed = sized.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>().join(", ");
    let there_is = if listed.is_empty() { "no group has bytes".to_owned() } else { format!("with bytes: {listed}") };
    for (number, group) in made.flows.iter().enumerate() {
        let Some(name) = &group.after else { continue };
        let problem = match awaited(number).map(|other| (other, &made.flows[other])) {
            None => format!("'after' names no group: '{name}'"),
            Some((_, other)) if !other.is_sized() => format!("group '{name}' has no 'bytes', so it never completes"),
            Some((_, other)) if other.count == 0 => format!("group '{name}' has no flows"),
            Some(_) if leads_back(number, awaited) => "the groups wait for each other in a circle".into(),
            Some(_) => continue,
        };
        report.fault(&format!("flows.{number}.after"), problem, format!("a group that completes before; {there_is}"));
    }
}

/// Whether a group waits for itself, by way of others or not.
fn leads_back(number: usize, awaited: impl Fn(usize) -> Option<usize>) -> bool {
    let mut way = vec![number];
    while let Some(next) = awaited(way[way.len() - 1]) {
        if next == number {
            return true;
        }
        if way.contains(&next) {
            return false; // Another circle, which its own groups report.
        }
        way.push(next);
    }
    false
}

/// From the link where a group enters on to the one after which it leaves: in that order.
fn check_way(made: &Experiment, flows: &Flows, number: usize, report: &mut Report<'_>) {
    let row = made.path.link_names();
    if !flows.route.is_empty() {
        let key = format!("flows.{number}.route");
        if flows.enter.is_some() || flows.leave.is_some() {
            report.fault(&key, "both a route and 'enter' or 'leave'", "the route alone");
        }
        return check_route(&row, &flows.route, &key, report);
    }
    let listed = row.join(", ");
    let position = |name: &Option<String>| name.as_ref().map(|name| row.iter().position(|link| link == name));
    let (enter, leave) = (position(&flows.enter), position(&flows.leave));
    for (key, link, place) in [("enter", &flows.enter, enter), ("leave", &flows.leave, leave)] {
        if let (Some(link), Some(None)) = (link, place) {
            let hint = format!("links in the order of the path: {listed}");
            report.fault(&format!("flows.{number}.{key}"), format!("'{key}' names no link: '{link}'"), hint);
        }
    }
    if let (Some(Some(enter)), Some(Some(leave))) = (enter, leave)
        && leave < enter
    {
        let hint = format!("in the order of the path: {listed}");
        report.fault(&format!("flows.{number}.leave"), "the group's exit is before its entry", hint);
    }
}

/// Links that follow each other on the path.
fn check_route(row: &[&str], route: &[String], key: &str, report: &mut Report<'_>) {
    let hint = format!("links that follow each other, in the order of the path: {}", row.join(", "));
    if let Some(unknown) = route.iter().find(|link| !row.contains(&&link[..])) {
        report.fault(key, format!("the route names no link: '{unknown}'"), hint);
    } else if route.is_empty() || !row.windows(route.len()).any(|links| links.iter().eq(route)) {
        report.fault(key, "the route leaves out a link, or goes back", hint);
    }
}

/// Where no host accepts ECN, no group can have it.
fn check_ecn(made: &Experiment, flows: &Flows, number: usize, report: &mut Report<'_>) {
    if made.tcp.ecn != Ecn::Off || flows.kind != Transport::Tcp {
        return;
    }
    let others = "leave tcp.ecn out and give the other groups ecn = \"off\"";
    if !matches!(flows.ecn, Ecn::Auto | Ecn::Off) {
        let problem = "a group's ECN, and tcp.ecn = \"off\" is for all hosts";
        report.fault(&format!("flows.{number}.ecn"), problem, others);
    } else if let Some(cc) = flows.cc.as_deref().filter(|cc| Controller::needs_ecn(cc)) {
        let problem = format!("'{cc}' needs ECN, and tcp.ecn is \"off\"");
        report.fault(&format!("flows.{number}.cc"), problem, format!("{others}, or write cc = \"reno\""));
    }
}

/// The route of a group that there is.
fn check_new_route(made: &Experiment, change: &Change, number: usize, report: &mut Report<'_>) {
    let (Some(group), Some(route)) = (&change.group, &change.route) else { return };
    let names = made.group_names();
    if !names.contains(group) {
        let hint = format!("there is: {}", names.join(", "));
        report.fault(&format!("changes.{number}.group"), format!("unknown group in a change: '{group}'"), hint);
    }
    let key = format!("changes.{number}.route");
    check_route(&made.path.link_names(), route, &key, report);
    if made.path.telemetry {
        report.fault(&key, "a new route of a group, and 'path.telemetry'", "one of them");
    }
}

fn check_change(made: &Experiment, change: &Change, number: usize, report: &mut Report<'_>) {
    check_new_route(made, change, number, report);
    let path = &made.path;
    let link = change.link.as_deref();
    let delay = match link {
        None => path.impairment.delay,
        Some(name) => path.links.iter().find(|link| link.name == name).map_or(0, |link| link.segment.impairment.delay),
    };
    if change.jitter.is_some_and(|jitter| jitter > 0) && change.delay.unwrap_or(0) == 0 && delay == 0 {
        let hint = "netem needs a delay for jitter: give delay, too";
        report.fault(&format!("changes.{number}.jitter"), "a change of jitter without a delay", hint);
    }
    let mut links: Vec<_> = path.links.iter().map(|link| &link.name[..]).chain(["bottleneck", "reverse"]).collect();
    links.sort_unstable();
    if let Some(name) = link.filter(|name| !links.contains(name)) {
        let problem = format!("unknown link in a change: '{name}'");
        report.fault(&format!("changes.{number}.link"), problem, format!("there is: {}", links.join(", ")));
    }
    let is_of_bottleneck = matches!(link, None | Some("bottleneck"));
    let has_rate = path.bottleneck.as_ref().and_then(|each| each.rate).is_some();
    for (key, is_set) in [("rate", change.rate.is_some()), ("up", change.up.is_some())] {
        if is_set && is_of_bottleneck && !has_rate {
            let hint = "set path.bottleneck.rate";
            report.fault(
                &format!("changes.{number}.{key}"),
                format!("a change of '{key}' needs an initial rate"),
                hint,
            );
        }
    }
}

impl Experiment {
    /// A name for each group: its own, or its controller's, numbered when taken.
    #[must_use]
    pub fn group_names(&self) -> Vec<String> {
        let wanted = |flows: &'_ Flows| {
            let words: Vec<_> = flows.stack.iter().chain(&flows.cc).map(String::as_str).collect();
            let own = if words.is_empty() { flows.kind.word().into() } else { words.join("-") };
            flows.name.clone().unwrap_or(own)
        };
        let wanted: Vec<_> = self.flows.iter().map(wanted).collect();
        numbered(wanted.iter().map(String::as_str))
    }
}
