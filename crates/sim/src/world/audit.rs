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
    for arrival in &world.instant.backlog {
        under_way[arrival.packet.flow.0 as usize] += u64::from(arrival.packet.segments);
    }
    for device in &mut world.net.devices {
        if let Some(queue) = &mut device.queue {
            empty(queue, world.now, &mut under_way);
        }
    }
    let mut unclaimed = world.census.unclaimed;
    for (flow, found) in under_way.into_iter().enumerate() {
        let account = world.census.account(flow);
        let surplus = account.surplus(found).filter(|&surplus| surplus <= unclaimed);
        let what = || format!("flow {flow} has {found} packets under way, but counts {account:?}");
        unclaimed -= surplus.ok_or_else(|| world.violation(what()))?;
    }
    if unclaimed > 0 {
        return Err(world.violation(format!("{unclaimed} copies have vanished")));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use crate::world::{MOST_STEPS, World};
    use dumbbell_core::time::Time;

    /// Two hosts, a queue of ten packets at 1 Mbit/s between them, and one flow.
    fn world(traffic: &str, device: &str) -> World {
        let text = format!(
            r#"{{"seed": 7, "duration": 300000000, "sample": 50000000, "ends_when_done": false,
            "hosts": ["a", "b"], "wires": [{{"left": "a", "right": "b"}}], "probes": [], "changes": [], "queues": [],
            "devices": [{device}],
            "flows": [{{"name": "u", "sender": "a", "receiver": "b", "start": 0, "port": 1, "traffic": {traffic}}}]}}"#
        );
        World::new(&Plan::from_json(&text).expect("a plan")).expect("a world")
    }

    const DATAGRAMS: &str = r#"{"udp": {"payload": 1000, "interval": 5000000}}"#;
    const QUEUE: &str = r#"{"at": {"wire": 0, "side": "left"}, "root": {"handle": "1:", "config":
        {"kind": "tbf", "rate": 125000, "burst": 1514, "limit": 10000}}}"#;

    #[test]
    fn a_good_run_breaks_no_law() {
        let mut world = world(DATAGRAMS, QUEUE);
        assert!(world.run(Time::NEVER).expect("a good run").is_over);
    }

    #[test]
    fn a_packet_that_vanishes_from_a_queue_is_noticed() {
        let mut world = world(DATAGRAMS, QUEUE);
        world.net.devices[0].tally.entered += 1;
        let error = world.run(Time::NEVER).expect_err("one is missing").to_string();
        assert!(error.contains("the queue of a towards b holds"), "{error}");
        assert!(error.ends_with("please report it with the experiment and seed 7"), "{error}");
    }

    #[test]
    fn a_packet_that_vanishes_from_a_flow_is_noticed_at_the_end() {
        let mut world = world(DATAGRAMS, QUEUE);
        world.census.copied(dumbbell_core::packet::FlowId(0), 1);
        let error = world.run(Time::NEVER).expect_err("one is missing").to_string();
        assert!(error.contains("at 300000000 ns: flow 0 has"), "{error}");
    }

    #[test]
    fn time_that_goes_back_is_noticed() {
        let mut world = world(DATAGRAMS, "");
        world.run(Time::from_nanos(100_000_000)).expect("a good run");
        world.now = Time::from_nanos(200_000_000);
        let error = world.run(Time::NEVER).expect_err("it went back").to_string();
        assert!(error.contains("time went back to 105000000 ns"), "{error}");
    }

    #[test]
    fn time_that_stands_still_is_noticed() {
        let settings = r#"{"mss": 1448, "initial_window": 10, "ecn": false, "gso_max_bytes": null, "quickack": false,
            "slow_start_after_idle": true, "rmem_max": 6291456, "rcvbuf": null, "wmem_max": 4194304, "sndbuf": null,
            "max_pacing_rate": null, "prompt_reads": false}"#;
        let bulk =
            format!(r#"{{"tcp": {{"cc": "cubic", "sender": {settings}, "receiver": {settings}, "work": "bulk"}}}}"#);
        let mut world = world(&bulk, "");
        world.instant.steps = MOST_STEPS - 10_000;
        let error = world.run(Time::NEVER).expect_err("it never ends").to_string();
        assert!(error.starts_with("time stands still at 0 ns"), "{error}");
    }
}
