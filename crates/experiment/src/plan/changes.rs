//! Changes and traces as steps with times.

use super::building::Building;
use super::error::Error;
use super::later::netem_name;
use super::shaping::{netem_change, rate_change};
use crate::model;
use dumbbell_plan::text::millis;
use dumbbell_plan::{Change, Queue, Rates};

/// Every change as steps, sorted by time; adds the rates to the queues.
pub(super) fn changes(building: &mut Building<'_>) -> Result<Vec<Change>, Error> {
    let mut made = trace(building);
    let mut sorted: Vec<_> = building.experiment.changes.iter().enumerate().collect();
    sorted.sort_by_key(|(_, change)| change.at);
    for (number, change) in sorted {
        let key = format!("changes.{number}");
        made.extend(rate(building, change, &key)?);
        made.extend(netem(building, change, &key)?);
    }
    made.sort_by_key(|change| change.at_ns);
    Ok(made)
}

fn trace(building: &mut Building<'_>) -> Vec<Change> {
    let rates = &building.attachments.trace;
    let (Some(device), false) = (building.shapers.get("bottleneck"), rates.is_empty()) else { return Vec::new() };
    let mtu = building.experiment.path.mtu;
    let change = |&(at_ns, rate): &(u64, u64)| {
        let step = rate_change(device, rate, mtu, "path.bottleneck.trace");
        Change { at_ns, step }
    };
    let changes = rates[1..].iter().map(change).collect();
    set_rates(&mut building.queues, "bottleneck", rates);
    changes
}

/// Sets the rates of a queue and its shaper.
fn set_rates(queues: &mut [Queue], name: &str, rates: &Rates) {
    let shaper = format!("{name}.shaper");
    for queue in queues.iter_mut().filter(|queue| queue.name == name || queue.name == shaper) {
        queue.rates.clone_from(rates);
    }
}

fn rate(building: &mut Building<'_>, change: &model::Change, key: &str) -> Result<Option<Change>, Error> {
    let Some(rate) = change.rate else { return Ok(None) };
    let name = change.link.as_deref().unwrap_or("bottleneck");
    let device = building.shapers.get(name).ok_or_else(|| {
        Error::plan(format!("the rate of '{name}' can't change: its qdisc shapes by itself; give the link a 'rate'"))
    })?;
    let step = rate_change(device, rate, building.experiment.path.mtu, key);
    let before = building.queues.iter().find(|queue| queue.name == name);
    let mut rates = before.map(|queue| queue.rates.clone()).unwrap_or_default();
    rates.push((change.at, rate));
    set_rates(&mut building.queues, name, &rates);
    Ok(Some(Change { at_ns: change.at, step }))
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
        set_netem(building, "reverse.netem", &rest, key, &mut made)?;
    }
    Ok(made)
}

fn reverse_delay(building: &Building<'_>, rtt: u64) -> Result<u64, Error> {
    let forward = building.netems.get("path.netem").map_or(0, |(_, netem)| netem.impairment.delay);
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
