//! Changes and traces as steps with times.

use super::building::Building;
use super::error::Error;
use super::later::netem_name;
use super::routes::changed_routes;
use super::shaping::{netem_change, rate_change, tc, text_of};
use crate::model;
use dumbbell_plan::text::millis;
use dumbbell_plan::{Change, Device, Queue, Rates};

const ETHERNET_BYTES: u64 = 14;
/// tc's rates are whole bytes a second.
const LOWEST_RATE_BPS: u64 = 8;

/// Every change as steps, sorted by time; adds the rates to the queues.
pub(super) fn changes(building: &mut Building<'_>) -> Result<Vec<Change>, Error> {
    let mut made = traces(building);
    for (key, change) in &building.changes.clone() {
        if change.rate.is_some() || change.up.is_some() {
            made.push(rate(building, change, key)?);
        }
        made.extend(discipline(building, change, key)?);
        made.extend(netem(building, change, key)?);
    }
    made.extend(routes(building));
    made.sort_by_key(|change| change.at_ns);
    Ok(made)
}

/// Changes of groups' routes.
fn routes(building: &Building<'_>) -> Vec<Change> {
    let mut made = Vec::new();
    for (number, crossing) in &building.crossings.of_group {
        let name = &building.group_names[*number];
        let own = building.changes.iter().filter(|(_, each)| each.group.as_ref() == Some(name) && each.route.is_some());
        for ((key, change), ways) in own.zip(crossing.ways.windows(2)) {
            let steps = changed_routes(building, crossing, ways[0], ways[1]).into_iter();
            let key = format!("{key}.route");
            made.extend(steps.map(|step| Change { at_ns: change.at, step: step.for_key(&key) }));
        }
    }
    made
}

fn traces(building: &mut Building<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (link, rates) in &building.attachments.traces {
        let (Some(device), Some((_, later))) = (building.shapers.get(&link[..]), rates.split_first()) else { continue };
        let mtu = building.experiment.path.mtu;
        let key = match &link[..] {
            "bottleneck" => "path.bottleneck.rate_trace".to_owned(),
            "reverse" => "path.reverse.rate_trace".to_owned(),
            name => format!("path.links.{name}.rate_trace"),
        };
        let change = |&(at_ns, rate): &(u64, u64)| Change { at_ns, step: rate_change(device, rate, mtu, &key) };
        changes.extend(later.iter().map(change));
        set_rates(&mut building.queues, link, rates);
    }
    changes
}

/// Sets the rates of a queue and its shaper.
fn set_rates(queues: &mut [Queue], name: &str, rates: &Rates) {
    let shaper = format!("{name}-shaper");
    for queue in queues.iter_mut().filter(|queue| queue.name == name || queue.name == shaper) {
        queue.rates.clone_from(rates);
    }
}

/// What a change calls the queue that it is about.
fn queue_name(change: &model::Change) -> &str {
    change.link.as_deref().unwrap_or("bottleneck")
}

/// A new rate, an outage or its end.
fn rate(building: &mut Building<'_>, change: &model::Change, key: &str) -> Result<Change, Error> {
    let name = queue_name(change);
    let device = building.shapers.get(name).ok_or_else(|| {
        Error::plan(format!("the rate of '{name}' can't change: its qdisc shapes by itself; give the link a 'rate'"))
    })?;
    let rate = rate_from(building, change);
    let step = rate_change(device, rate, building.experiment.path.mtu, key);
    let before = building.queues.iter().find(|queue| queue.name == name);
    let mut rates = before.map(|queue| queue.rates.clone()).unwrap_or_default();
    // A packet that waits for the end of an outage waits for no rate: no delay follows from the backlog.
    rates.push((change.at, if is_down(building, change) { 0 } else { rate }));
    set_rates(&mut building.queues, name, &rates);
    Ok(Change { at_ns: change.at, step })
}

/// The last change of a link at or before this one that sets something.
fn latest<'a>(
    building: &'a Building<'_>,
    change: &model::Change,
    is_set: fn(&model::Change) -> bool,
) -> Option<&'a model::Change> {
    let all = building.changes.iter().map(|(_, each)| each);
    let all = all.filter(|each| queue_name(each) == queue_name(change) && each.at <= change.at && is_set(each));
    all.max_by_key(|each| each.at)
}

/// Whether the link sends nothing from this change on.
fn is_down(building: &Building<'_>, change: &model::Change) -> bool {
    latest(building, change, |each| each.up.is_some()).is_some_and(|each| each.up == Some(false))
}

/// The link's rate from this change on. Linux's shapers have no rate of zero: during an outage one packet of the path's
/// MTU is under way for all of it.
fn rate_from(building: &Building<'_>, change: &model::Change) -> u64 {
    let experiment = building.experiment;
    let name = queue_name(change);
    let of_link = |each: &&model::Change| queue_name(each) == name;
    if is_down(building, change) {
        let ends = building
            .changes
            .iter()
            .map(|(_, each)| each)
            .filter(of_link)
            .filter(|each| each.at > change.at && each.up == Some(true));
        let end = ends.map(|each| each.at).min().unwrap_or(experiment.duration).max(change.at + 1);
        let bits = (u64::from(experiment.path.mtu) + ETHERNET_BYTES) * 8;
        let rate = u128::from(bits) * 1_000_000_000 / u128::from(end - change.at);
        return u64::try_from(rate).unwrap_or(u64::MAX).max(LOWEST_RATE_BPS);
    }
    let own = building.queues.iter().find(|queue| queue.name == name).and_then(|queue| queue.rates.first());
    latest(building, change, |each| each.rate.is_some())
        .and_then(|each| each.rate)
        .or(own.map(|(_, rate)| *rate))
        .unwrap_or(0)
}

/// New options for a queue of the same kind.
fn discipline(building: &mut Building<'_>, change: &model::Change, key: &str) -> Result<Option<Change>, Error> {
    let Some(qdisc) = &change.qdisc else { return Ok(None) };
    let (name, key) = (queue_name(change), format!("{key}.qdisc"));
    let queue = building.queues.iter().find(|queue| queue.name == name);
    let queue = queue.ok_or_else(|| {
        let hint = "a link with a rate or a qdisc of its own";
        Error::at(&key, format!("'{name}' has no queue that could change"), hint).with(text_of(qdisc).as_str())
    })?;
    let kind = queue.text.split(' ').next().unwrap_or_default();
    if kind != qdisc.kind || kind == "police" {
        let problem = format!("a {kind} can't become a {} during a run", qdisc.kind);
        let hint = format!("new options of {kind}, or a case for each discipline");
        return Err(Error::at(&key, problem, hint).with(text_of(qdisc).as_str()));
    }
    let device = Device { host: queue.host.clone(), name: queue.device.clone() };
    let place = if building.shapers.contains_key(name) { "parent 1:1" } else { "root" };
    let rate = rate_from(building, change);
    let text = building.resolved(qdisc, rate, &key)?;
    let step = tc(&device, &format!("qdisc change dev {} {place} handle {} {text}", device.name, queue.handle));
    Ok(Some(Change { at_ns: change.at, step: step.for_key(&key) }))
}

/// New settings for the netems that a change names; the others stay.
fn netem(building: &mut Building<'_>, change: &model::Change, key: &str) -> Result<Vec<Change>, Error> {
    // The forward delay before this change.
    let reverse_delay = change.rtt.map(|rtt| reverse_delay(building, rtt)).transpose()?;
    let mut made = Vec::new();
    if change.delay.is_some() || change.jitter.is_some() || change.loss.is_some() {
        set_netem(building, &netem_name(change), change, key, &mut made)?;
    }
    if reverse_delay.is_some() {
        let rest = model::Change { delay: reverse_delay, jitter: None, loss: None, ..change.clone() };
        set_netem(building, "reverse-netem", &rest, key, &mut made)?;
    }
    Ok(made)
}

fn reverse_delay(building: &Building<'_>, rtt: u64) -> Result<u64, Error> {
    let forward = building.netems.get("path-netem").map_or(0, |(_, netem)| netem.impairment.delay);
    rtt.checked_sub(forward).ok_or_else(|| {
        let (rtt, forward) = (millis(rtt), millis(forward));
        Error::plan(format!("the rtt ({rtt} ms) is below the delay of the forward path ({forward} ms)"))
    })
}

/// Takes over the delay, jitter and loss of a change.
fn set_netem(
    building: &mut Building<'_>,
    name: &str,
    new: &model::Change,
    key: &str,
    made: &mut Vec<Change>,
) -> Result<(), Error> {
    let (devices, netem) = building.netems.get_mut(name).ok_or_else(|| {
        let link = new.link.as_deref().unwrap_or("path");
        Error::plan(format!("'{link}' has no delay or loss that could change; give it one from the start"))
    })?;
    let impairment = &mut netem.impairment;
    impairment.delay = new.delay.unwrap_or(impairment.delay);
    impairment.jitter = new.jitter.unwrap_or(impairment.jitter);
    if new.loss.is_some() {
        impairment.loss.clone_from(&new.loss);
    }
    let at_ns = new.at;
    made.extend(devices.iter().map(|device| Change { at_ns, step: netem_change(device, netem, key) }));
    Ok(())
}
