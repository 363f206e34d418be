//! Invariants: packets in = packets out + dropped + queued, for every queue and every flow.

use super::World;
use crate::error::Error;
use dumbbell_net::queue::{Next, Queue};
use dumbbell_net::time::Time;

/// Every queue holds the packets that its device counted in and not out.
pub fn queues(world: &World) -> Result<(), Error> {
    for device in &world.net.devices {
        if device.queue.is_some() && !device.balances() {
            let (counters, queued) = (device.counters, device.queued());
            let at = format!("{} towards {}", name(world, device.host), name(world, device.peer));
            return Err(
                world.violation(format!("the queue of {at} holds {queued} packets, but its counters are {counters:?}"))
            );
        }
    }
    Ok(())
}

/// At the end every packet of every flow has arrived, was dropped, or is in flight. Drains the queues to count them.
pub fn everything(world: &mut World) -> Result<(), Error> {
    queues(world)?;
    let mut in_flight = vec![0u64; world.flows.len() + world.probes.len()];
    for arrival in &world.instant.backlog {
        in_flight[arrival.packet.flow.0 as usize] += u64::from(arrival.packet.segments);
    }
    for device in &mut world.net.devices {
        if let Some(queue) = &mut device.queue {
            empty(queue, world.now, &mut in_flight);
        }
    }
    let mut unclaimed = world.packet_accounting.unclaimed;
    for (flow, found) in in_flight.into_iter().enumerate() {
        let account = world.packet_accounting.account(flow);
        let surplus = account.surplus(found).filter(|&surplus| surplus <= unclaimed);
        let what = || format!("flow {flow} has {found} packets in flight, but its counters are {account:?}");
        unclaimed -= surplus.ok_or_else(|| world.violation(what()))?;
    }
    if unclaimed > 0 {
        return Err(world.violation(format!("{unclaimed} copies are missing")));
    }
    Ok(())
}

/// Drains a queue, advancing its own clock.
fn empty(queue: &mut Queue, mut now: Time, in_flight: &mut [u64]) {
    let mut dropped = Vec::new();
    loop {
        let next = queue.dequeue(now, &mut dropped);
        let left = if let Next::Packet(packet) = next { Some(packet) } else { None };
        for packet in dropped.drain(..).chain(left) {
            in_flight[packet.flow.0 as usize] += u64::from(packet.segments);
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
    use crate::world::World;
    use dumbbell_net::time::Time;

    /// Two hosts with a queue of ten packets at 1 Mbit/s, and one flow.
    fn world(traffic: &str, device: &str) -> World {
        let text = format!(
            r#"{{"seed": 7, "duration": 300000000, "sample": 50000000, "ends_when_done": false,
            "hosts": ["a", "b"], "wires": [{{"left": "a", "right": "b"}}], "probes": [], "changes": [], "queues": [],
            "devices": [{device}],
            "flows": [{{"name": "u", "sender": "a", "receiver": "b", "start": 0, "port": 1, "traffic": {traffic}}}]}}"#
        );
        World::new(&Plan::from_json(&text).expect("a plan")).expect("a world")
    }

    const DATAGRAMS: &str = r#"{"udp": {"payload": 1000, "mtu": 1500, "interval": 5000000}}"#;
    const QUEUE: &str = r#"{"at": {"wire": 0, "side": "left"}, "facts": {"mtu": 1514, "queue_length": 1000},
        "commands": [["qdisc", "add", "root", "handle", "1:", "tbf", "rate", "1mbit", "burst", "1514", "limit", "10000"]]}"#;

    #[test]
    fn a_valid_run_violates_no_invariant() {
        let mut world = world(DATAGRAMS, QUEUE);
        assert!(world.run(Time::NEVER).expect("the run succeeds").is_over);
    }

    #[test]
    fn a_packet_missing_from_a_queue_is_detected() {
        let mut world = world(DATAGRAMS, QUEUE);
        world.net.devices[0].counters.entered += 1;
        let error = world.run(Time::NEVER).expect_err("a packet is missing").to_string();
        assert!(error.contains("the queue of a towards b holds"), "{error}");
        assert!(error.ends_with("please report it with the experiment and seed 7"), "{error}");
    }

    #[test]
    fn a_packet_missing_from_a_flow_is_detected_at_the_end() {
        let mut world = world(DATAGRAMS, QUEUE);
        world.packet_accounting.copied(dumbbell_net::packet::FlowId(0), 1);
        let error = world.run(Time::NEVER).expect_err("a packet is missing").to_string();
        assert!(error.contains("at 300000000 ns: flow 0 has"), "{error}");
    }

    #[test]
    fn time_going_back_is_detected() {
        let mut world = world(DATAGRAMS, "");
        world.run(Time::from_nanos(100_000_000)).expect("the run succeeds");
        world.now = Time::from_nanos(200_000_000);
        let error = world.run(Time::NEVER).expect_err("it went back").to_string();
        assert!(error.contains("time went back to 105000000 ns"), "{error}");
    }

    #[test]
    fn stuck_time_is_detected() {
        let settings = r#"{"mss": 1448, "initial_window": 10, "ecn": false, "gso_max_bytes": null, "quickack": false,
            "slow_start_after_idle": true, "rmem_max": 6291456, "rcvbuf": null, "wmem_max": 4194304, "sndbuf": null,
            "max_pacing_rate": null, "prompt_reads": false}"#;
        let bulk =
            format!(r#"{{"tcp": {{"cc": "cubic", "sender": {settings}, "receiver": {settings}, "work": "bulk"}}}}"#);
        let mut world = world(&bulk, "");
        let error = world.run(Time::NEVER).expect_err("time is stuck").to_string();
        assert!(error.starts_with("virtual time is stuck at 4000 ns"), "{error}");
    }
}
