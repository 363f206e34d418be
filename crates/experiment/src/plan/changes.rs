//! Changes and traces as commands with times.

use super::building::Building;
use super::error::Error;
use super::shaping::{netem_change, rate_change};
use super::text::millis;
use super::types::{Queue, Rates, TimedCommand};
use crate::model::{Change, Experiment};

fn has_loss(change: &Change) -> bool {
    change.loss.as_ref().is_some_and(|loss| !loss.is_empty())
}

/// Whether the forward path needs a netem for a later change.
pub(super) fn needs_path_netem(experiment: &Experiment) -> bool {
    let is_above_zero = |time: Option<u64>| time.is_some_and(|time| time > 0);
    experiment.changes.iter().any(|change| {
        change.link.is_none() && (has_loss(change) || is_above_zero(change.delay) || is_above_zero(change.jitter))
    })
}

/// Whether the reverse path needs a netem for a later change.
pub(super) fn needs_reverse_netem(experiment: &Experiment) -> bool {
    experiment.changes.iter().any(|change| change.rtt.is_some())
}

/// Whether a change adds loss to this netem.
pub(super) fn brings_loss(experiment: &Experiment, netem: &str) -> bool {
    experiment.changes.iter().any(|change| has_loss(change) && netem_name(change) == netem)
}

fn netem_name(change: &Change) -> String {
    format!("{}.netem", change.link.as_deref().unwrap_or("path"))
}

/// Every change as commands, sorted by time; adds the rates to the queues.
pub(super) fn changes(building: &mut Building<'_>) -> Result<Vec<TimedCommand>, Error> {
    let mut commands = trace(building);
    let mut sorted: Vec<_> = building.experiment.changes.iter().enumerate().collect();
    sorted.sort_by_key(|(_, change)| change.at);
    for (number, change) in sorted {
        let key = format!("changes.{number}");
        commands.extend(rate(building, change, &key)?);
        commands.extend(netem(building, change, &key)?);
    }
    commands.sort_by_key(|command| command.at_ns);
    Ok(commands)
}

fn trace(building: &mut Building<'_>) -> Vec<TimedCommand> {
    let rates = &building.attachments.trace;
    let (Some(device), false) = (building.shapers.get("bottleneck"), rates.is_empty()) else { return Vec::new() };
    let mtu = building.experiment.path.mtu;
    let command = |&(at_ns, rate): &(u64, u64)| {
        let command = rate_change(device, rate, mtu, "path.bottleneck.trace");
        TimedCommand { at_ns, command }
    };
    let commands = rates[1..].iter().map(command).collect();
    set_rates(&mut building.queues, "bottleneck", rates);
    commands
}

/// Sets the rates of a queue and its shaper.
fn set_rates(queues: &mut [Queue], name: &str, rates: &Rates) {
    let shaper = format!("{name}.shaper");
    for queue in queues.iter_mut().filter(|queue| queue.name == name || queue.name == shaper) {
        queue.rates.clone_from(rates);
    }
}

fn rate(building: &mut Building<'_>, change: &Change, key: &str) -> Result<Option<TimedCommand>, Error> {
    let Some(rate) = change.rate else { return Ok(None) };
    let name = change.link.as_deref().unwrap_or("bottleneck");
    let device = building.shapers.get(name).ok_or_else(|| {
        Error::plan(format!("the rate of '{name}' can't change: its qdisc shapes by itself; give the link a 'rate'"))
    })?;
    let command = rate_change(device, rate, building.experiment.path.mtu, key);
    let before = building.queues.iter().find(|queue| queue.name == name);
    let mut rates = before.map(|queue| queue.rates.clone()).unwrap_or_default();
    rates.push((change.at, rate));
    set_rates(&mut building.queues, name, &rates);
    Ok(Some(TimedCommand { at_ns: change.at, command }))
}

/// New settings for the netems that a change names; the others stay.
fn netem(building: &mut Building<'_>, change: &Change, key: &str) -> Result<Vec<TimedCommand>, Error> {
    // The forward delay before this change.
    let reverse_delay = change.rtt.map(|rtt| reverse_delay(building, rtt)).transpose()?;
    let mut commands = Vec::new();
    if change.delay.is_some() || change.jitter.is_some() || change.loss.is_some() {
        set_netem(building, &netem_name(change), change, key, &mut commands)?;
    }
    if reverse_delay.is_some() {
        let rest = Change { delay: reverse_delay, jitter: None, loss: None, ..change.clone() };
        set_netem(building, "reverse.netem", &rest, key, &mut commands)?;
    }
    Ok(commands)
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
    new: &Change,
    key: &str,
    commands: &mut Vec<TimedCommand>,
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
    commands.extend(devices.iter().map(|device| TimedCommand { at_ns, command: netem_change(device, netem, key) }));
    Ok(())
}
