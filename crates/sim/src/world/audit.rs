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
    use crate::plan::{Device, End, Flow, Link, LinkSide, Plan, Tcp, Traffic, Udp, Work};
    use crate::world::World;
    use dumbbell_net::cc::Parameters;
    use dumbbell_net::time::{Span, Time};
    use dumbbell_net::transport::{Settings, Tunables};
    use dumbbell_tc::tree::Tree;
    use dumbbell_tc::{Command, Device as Facts};

    /// Two hosts with a queue of ten packets at 1 Mbit/s, or none, and one flow.
    fn world(traffic: Traffic, has_queue: bool) -> World {
        let mut tree = Tree::new(Facts { mtu: 1514, queue_length: 1000, seeds: std::collections::BTreeMap::default() });
        let command = Command::of_line("qdisc add root handle 1: tbf rate 1mbit burst 1514 limit 10000");
        tree.execute(&command.expect("tc has it")).expect("so has the simulator");
        let root = tree.root().expect("a qdisc was added");
        let queue = Device { at: End { wire: 0, side: LinkSide::Left }, root, telemetry: false };
        let flow = Flow {
            name: "u".into(),
            group: String::new(),
            sender: "a".into(),
            receiver: "b".into(),
            start: Time::ZERO,
            wait: dumbbell_plan::Wait::default(),
            stop: None,
            port: 1,
            mark: 0,
            traffic,
        };
        let plan = Plan {
            seed: 7,
            duration: Span::from_millis(300),
            sample: Span::from_millis(50),
            ends_when_done: false,
            every_change: false,
            hosts: vec!["a".into(), "b".into()],
            wires: vec![Link { left: "a".into(), right: "b".into() }],
            devices: if has_queue { vec![queue] } else { Vec::new() },
            flows: vec![flow],
            probes: Vec::new(),
            changes: Vec::new(),
            routes: Vec::new(),
            queues: Vec::new(),
            capture: None,
        };
        World::new(&plan).expect("a world")
    }

    fn datagrams() -> Traffic {
        let interval = Span::from_millis(5);
        Traffic::Udp(Udp { payload: 1000, mtu: 1500, interval, on_off: None, ecn: false, sndbuf: None, rcvbuf: None })
    }

    #[test]
    fn a_valid_run_violates_no_invariant() {
        let mut world = world(datagrams(), true);
        assert!(world.run(Time::NEVER).expect("the run succeeds").is_over);
    }

    #[test]
    fn a_packet_missing_from_a_queue_is_detected() {
        let mut world = world(datagrams(), true);
        world.net.devices[0].counters.entered += 1;
        let error = world.run(Time::NEVER).expect_err("a packet is missing").to_string();
        assert!(error.contains("the queue of a towards b holds"), "{error}");
        assert!(error.ends_with("please report it with the experiment and seed 7"), "{error}");
    }

    #[test]
    fn a_packet_missing_from_a_flow_is_detected_at_the_end() {
        let mut world = world(datagrams(), true);
        world.packet_accounting.copied(dumbbell_net::packet::FlowId(0), 1);
        let error = world.run(Time::NEVER).expect_err("a packet is missing").to_string();
        assert!(error.contains("at 300000000 ns: flow 0 has"), "{error}");
    }

    #[test]
    fn time_going_back_is_detected() {
        let mut world = world(datagrams(), false);
        world.run(Time::from_nanos(100_000_000)).expect("the run succeeds");
        world.now = Time::from_nanos(200_000_000);
        let error = world.run(Time::NEVER).expect_err("it went back").to_string();
        assert!(error.contains("time went back to 105000000 ns"), "{error}");
    }

    #[test]
    fn stuck_time_is_detected() {
        let settings = Settings {
            mss: 1448,
            initial_window: 10,
            ecn: false,
            gso_max_bytes: None,
            min_tso_segments: Settings::default_min_tso_segments(),
            quickack: false,
            slow_start_after_idle: true,
            rmem_max: 6_291_456,
            rcvbuf: None,
            wmem_max: 4_194_304,
            sndbuf: None,
            max_pacing_rate: None,
            prompt_reads: false,
            tunables: Tunables::default(),
            queue_paces: false,
        };
        let (sender, receiver) = (settings.clone(), settings);
        let bulk = Tcp { cc: "cubic".into(), parameters: Parameters::default(), sender, receiver, work: Work::Bulk };
        let mut world = world(Traffic::Tcp(Box::new(bulk)), false);
        let error = world.run(Time::NEVER).expect_err("time is stuck").to_string();
        assert!(error.starts_with("virtual time is stuck at 4000 ns"), "{error}");
    }
}
