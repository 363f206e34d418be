//! The laws: packets in are packets out, dropped or standing, for every queue and every flow.

use super::World;
use crate::error::Error;
use dumbbell_core::queue::{Next, Queue};
use dumbbell_core::time::Time;

/// Every queue holds what its device has been given and not let go.
pub fn queues(world: &World) -> Result<(), Error> {
    for device in &world.net.devices {
        if device.queue.is_some() && !device.balances() {
            let (tally, standing) = (device.tally, device.standing());
            let at = format!("{} towards {}", name(world, device.host), name(world, device.peer));
            return Err(world.violation(format!("the queue of {at} holds {standing} packets, but counts {tally:?}")));
        }
    }
    Ok(())
}

/// At the end: every packet of every flow arrived, died, or is still somewhere. The queues are emptied to see.
pub fn everything(world: &mut World) -> Result<(), Error> {
    queues(world)?;
    let mut under_way = vec![0u64; world.flows.len() + world.probes.len()];
    for arrival in &world.backlog {
        under_way[arrival.packet.flow.0 as usize] += u64::from(arrival.packet.segments);
    }
    for device in &mut world.net.devices {
        if let Some(queue) = &mut device.queue {
            empty(queue, world.now, &mut under_way);
        }
    }
    for (flow, found) in under_way.into_iter().enumerate() {
        let account = world.census.account(flow);
        if account.alive() != found && !is_vague(world) {
            let what = format!("flow {flow} has {found} packets under way, but counts {account:?}");
            return Err(world.violation(what));
        }
    }
    Ok(())
}

/// Copies of super-packets can't be counted exactly.
fn is_vague(world: &World) -> bool {
    world.net.devices.iter().any(|device| device.duplicates && device.has_seen_super)
}

/// Takes everything out of a queue, however long that takes by its own clock.
fn empty(queue: &mut Queue, mut now: Time, under_way: &mut [u64]) {
    let mut dropped = Vec::new();
    loop {
        let next = queue.dequeue(now, &mut dropped);
        let left = if let Next::Packet(packet) = next { Some(packet) } else { None };
        for packet in dropped.drain(..).chain(left) {
            under_way[packet.flow.0 as usize] += u64::from(packet.segments);
        }
        match next {
            Next::Packet(_) => {}
            Next::At(at) if at > now && at.is_set() => now = at,
            Next::At(_) | Next::Empty => break,
        }
    }
}

fn name(world: &World, host: u32) -> &str {
    &world.net.hosts[host as usize]
}
