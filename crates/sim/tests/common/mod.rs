//! Builders of plans for tests.
#![allow(dead_code, reason = "each test binary uses a part of this module")]

use dumbbell_net::cc::Parameters;
use dumbbell_net::queue::{Config, Correlated, Distribution, Loss, NetemConfig, Node, Probability};
use dumbbell_net::rate::Rate;
use dumbbell_net::time::{Span, Time};
use dumbbell_net::transport::{Settings, Tunables};
use dumbbell_sim::plan::{Device, End, Flow, Link, LinkSide, Plan, Probe, Tcp, Traffic, Udp, Watched, Work};
use dumbbell_sim::{RunResult, World};

/// An empty plan over hosts in a row, each linked to the next.
pub fn chain(hosts: &[&str], millis: u64) -> Plan {
    let wires = hosts.windows(2).map(|pair| link(pair[0], pair[1])).collect();
    plan(hosts, wires, millis)
}

/// An empty plan.
pub fn plan(hosts: &[&str], wires: Vec<Link>, millis: u64) -> Plan {
    Plan {
        seed: 1,
        duration: Span::from_millis(millis),
        sample: Span::from_millis(100),
        ends_when_done: false,
        every_change: false,
        hosts: hosts.iter().map(ToString::to_string).collect(),
        wires,
        devices: Vec::new(),
        flows: Vec::new(),
        probes: Vec::new(),
        changes: Vec::new(),
        routes: Vec::new(),
        queues: Vec::new(),
        capture: None,
    }
}

pub fn link(left: &str, right: &str) -> Link {
    Link { left: left.into(), right: right.into() }
}

pub const fn left(link: usize) -> End {
    End { wire: link, side: LinkSide::Left }
}

pub const fn right(link: usize) -> End {
    End { wire: link, side: LinkSide::Right }
}

pub const fn millis(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Datagrams of 1,000 bytes from the first to the last host.
pub fn udp(plan: &Plan, name: &str, interval: Span) -> Flow {
    let datagrams = Udp { payload: 1_000, mtu: 1_500, interval, on_off: None, ecn: false, sndbuf: None, rcvbuf: None };
    flow(plan, name, Traffic::Udp(datagrams))
}

/// A connection from the first to the last host.
pub fn tcp(plan: &Plan, name: &str, cc: &str, work: Work) -> Flow {
    let (sender, receiver) = (settings(), settings());
    flow(
        plan,
        name,
        Traffic::Tcp(Box::new(Tcp { cc: cc.into(), parameters: Parameters::default(), sender, receiver, work })),
    )
}

fn flow(plan: &Plan, name: &str, traffic: Traffic) -> Flow {
    Flow {
        name: name.into(),
        group: name.into(),
        sender: plan.hosts[0].clone(),
        receiver: plan.hosts.last().expect("hosts").clone(),
        start: Time::ZERO,
        wait: dumbbell_plan::Wait::default(),
        stop: None,
        port: 5_201,
        mark: 0,
        traffic,
    }
}

/// Defaults of Linux 6.12.
pub fn settings() -> Settings {
    Settings {
        mss: 1_448,
        initial_window: 10,
        ecn: false,
        gso_max_bytes: None,
        min_tso_segments: 2,
        quickack: false,
        slow_start_after_idle: true,
        rmem_max: 33_554_432,
        rcvbuf: None,
        wmem_max: 4_194_304,
        sndbuf: None,
        max_pacing_rate: None,
        prompt_reads: false,
        tunables: Tunables::default(),
        queue_paces: false,
    }
}

pub fn probe(plan: &Plan, name: &str, interval: Span) -> Probe {
    Probe {
        name: name.into(),
        kind: "ping".into(),
        sender: plan.hosts[0].clone(),
        receiver: plan.hosts.last().expect("hosts").clone(),
        start: Time::ZERO,
        interval,
        payload: 56,
        port: 5_100,
    }
}

pub fn netem(delay: Span) -> NetemConfig {
    NetemConfig {
        limit: 100_000,
        delay,
        jitter: Span::ZERO,
        delay_correlation: Probability::default(),
        distribution: Distribution::default(),
        loss: Loss::default(),
        reorder: Correlated::default(),
        gap: 0,
        duplicate: Correlated::default(),
        corrupt: Correlated::default(),
        rate: None,
        slot: None,
        seed: None,
        inner: None,
    }
}

pub fn root(at: End, handle: &str, config: Config) -> Device {
    Device { at, root: Node { handle: handle.into(), config }, telemetry: false }
}

/// An htb with one class and a queue of this many packets, like the bottleneck of experiments.
pub fn bottleneck(at: End, mbit: u64, packets: u32) -> Device {
    use dumbbell_net::queue::{HtbClass, HtbConfig};
    let leaf = Some(Node { handle: "10:".into(), config: Config::Pfifo { limit: packets } });
    let rate = Rate::from_bits(mbit * 1_000_000);
    let class =
        HtbClass { minor: 1, parent: 0, rate, ceil: rate, burst: 1_514, cburst: 1_514, quantum: 1_514, prio: 0, leaf };
    let htb = HtbConfig { default: 1, classes: vec![class], filters: Vec::new(), direct_limit: 1_000 };
    root(at, "1:", Config::Htb(Box::new(htb)))
}

pub fn watched(name: &str, at: End, handle: &str) -> Watched {
    Watched { name: name.into(), at, handle: handle.into(), under_test: true, limits: Vec::new(), holds_netem: false }
}

/// Runs a plan to its end.
pub fn run(plan: &Plan) -> RunResult {
    let mut world = World::new(plan).unwrap_or_else(|error| panic!("{error}"));
    world.run(Time::NEVER).unwrap_or_else(|error| panic!("{error}"));
    world.finish()
}
