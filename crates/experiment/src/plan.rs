//! An experiment as a plan ([`dumbbell_plan`]). Pure: no I/O, no state.
//!
//! ```text
//! layout       hosts, links, addresses
//! shaping      qdiscs of a device: shaper, queue, netem
//! path         the hosts of the path and their qdiscs
//! packets      packets that the path drops or delays by their number
//! building     a plan under construction
//! traffic      groups of flows as single flows; arrivals and jitter come from `draws`
//! verbatim     tc scripts; `script_tree`: the rates that their qdiscs and classes let through
//! changes      changes and traces as steps with times; `later`: what they need from the start
//! programs     programs and their hosts
//! settings     sysctls and parameters of modules
//! routes       groups whose route changes
//! rtt          propagation delays of groups
//! warnings     what may not be what the author meant
//! size         memory and packets of a run, and `limits` on them
//! remote       a plan on real hosts
//! ```
//!
//! The emulation is correct by default. The queue under test is on a router, never on the sender, where TCP would
//! feel a full queue as back-pressure instead of loss. Delay and loss are on devices of their own, never in front of
//! the queue under test. netem's limits exceed rate × delay, so that the emulation itself drops nothing. Offloads are
//! off by default: with them a queue counts super-packets of up to 64 KB as one packet.

pub mod attachments;
mod building;
mod changes;
mod crossings;
mod draws;
pub mod error;
mod later;
mod layout;
pub mod limits;
mod names;
mod packets;
mod path;
mod programs;
pub mod remote;
mod routes;
pub mod rtt;
mod script_tree;
mod settings;
mod shaping;
pub mod size;
mod traffic;
mod verbatim;
mod warnings;

use crate::model::{Experiment, Trace, Transport};
use attachments::Attachments;
use building::Building;
use draws::Streams;
use dumbbell_plan::{Ecn, Flow, Link, Net, NetemSeed, Plan, Queue, Sender, Step, TcpSettings};
use error::Error;
use limits::Limits;
use path::{RECEIVER, lay_out};
use std::net::{IpAddr, Ipv4Addr};

pub use settings::is_of_the_machine;

/// The plan of the run with this seed.
///
/// # Errors
///
/// The experiment needs more than `limits` allow, or a value of it does not fit the others.
pub fn make(experiment: &Experiment, attachments: &Attachments, seed: u64, limits: &Limits) -> Result<Plan, Error> {
    let path = &experiment.path;
    if path.bottleneck.is_none() && path.tc.is_empty() {
        let problem = "no bottleneck, and no real hosts whose own one is meant";
        return Err(Error::at(
            "path.bottleneck",
            problem,
            "give rate and qdisc, or run it on its hosts: --engine host",
        ));
    }
    size::refuse_too_many(experiment, attachments, limits)?;
    let mut building = Building::new(experiment, attachments);
    lay_out(&mut building)?;
    let changes = changes::changes(&mut building)?;
    let mut programs = programs::programs(&building)?;
    let ends: Vec<_> = building.receivers.iter().map(|host| (host.clone(), address(&building, host))).collect();
    let mut draws = Streams::new(seed);
    let flows = traffic::flows(&building, &ends, &mut draws);
    let mut setup = setup(&mut building)?;
    setup.extend(programs::settings(&programs)?);
    programs.extend(programs::of_stacks(&flows, &building.layout, &programs));
    let hosts_file = if programs.is_empty() { String::new() } else { programs::hosts_file(&building.layout) };
    let mut plan = Plan {
        duration_ns: experiment.duration,
        sample_ns: experiment.sample,
        ends_when_done: programs::ends_when_done(experiment, are_sized(&flows)),
        telemetry: path.telemetry,
        every_change: experiment.record == Trace::Events,
        hosts: building.layout.hosts.iter().map(|host| host.name.clone()).collect(),
        net: net(experiment, building.layout.wires.clone(), senders(&building)),
        setup,
        flows,
        probes: traffic::probes(experiment, prober(&building), RECEIVER, address(&building, RECEIVER)),
        changes,
        netem_seeds: netem_seeds(&building.queues, &mut draws),
        bottleneck: bottleneck(experiment, &building.queues),
        queues: building.queues,
        warnings: Vec::new(),
        programs,
        hosts_file,
    };
    plan.warnings = warnings::warnings(experiment, &plan, &attachments.scripts);
    size::refuse_too_much(&plan, limits, None)?;
    names::refuse_duplicates(&plan.queues)?;
    Ok(plan)
}

/// Whether every flow has a size.
fn are_sized(flows: &[Flow]) -> bool {
    flows.iter().all(|flow| flow.bytes.is_some() && flow.transport != Transport::Udp)
}

/// Address of a receiver.
fn address(building: &Building<'_>, receiver: &str) -> IpAddr {
    building.layout.lefts_of(receiver).next().map_or(Ipv4Addr::UNSPECIFIED, Link::right_address).into()
}

/// The first sender whose packets cross all of the path, or else the first.
fn prober<'a>(building: &'a Building<'_>) -> &'a str {
    let all = building.senders.iter().zip(&building.experiment.flows);
    all.clone()
        .find(|(_, group)| group.joins(&building.experiment.path).is_none())
        .or_else(|| all.clone().next())
        .map_or("", |(sender, _)| sender)
}

fn senders(building: &Building<'_>) -> Vec<Sender> {
    let sender = |name: &String| {
        let host = building.layout.host(name);
        Sender { host: name.clone(), initial_window: host.initial_window, ecn: host.ecn, quickack: host.quickack }
    };
    building.sender_hosts().iter().map(sender).collect()
}

fn net(experiment: &Experiment, wires: Vec<Link>, senders: Vec<Sender>) -> Net {
    let (tcp, path) = (&experiment.tcp, &experiment.path);
    let tcp = TcpSettings {
        ecn: tcp.ecn,
        rmem_max: tcp.rmem_max,
        wmem_max: tcp.wmem_max,
        slow_start_after_idle: tcp.slow_start_after_idle,
        sysctl: tcp.sysctl.clone(),
    };
    Net { wires, senders, mtu: path.mtu, offloads: path.offloads, tcp }
}

fn setup(building: &mut Building<'_>) -> Result<Vec<Step>, Error> {
    let experiment = building.experiment;
    let senders = building.sender_hosts();
    let tcp = &experiment.tcp;
    let mut steps = settings::machine_settings(tcp);
    steps.extend(building.layout.steps(&senders, experiment.path.mtu, experiment.path.offloads, tcp.ecn));
    steps.extend(routes::first_routes(building));
    let further: Vec<_> = tcp.sysctl.iter().filter(|(key, _)| !is_of_the_machine(key)).collect();
    let sending = senders.iter().map(|host| {
        let own = building.layout.host(host).ecn;
        (&host[..], settings::ecn_of_sender(tcp.ecn, own))
    });
    let any_accurate = senders.iter().any(|host| building.layout.host(host).ecn == Ecn::AccEcn);
    let receiving = settings::ecn_of_receiver(tcp.ecn, any_accurate);
    for (host, ecn) in sending.chain(building.receiver_hosts().map(|host| (host, receiving))) {
        let settings = settings::host_settings(tcp, ecn, further.iter().copied());
        steps.extend(settings.iter().map(|(key, value)| Step::sysctl(host, key, value)));
    }
    steps.append(&mut building.disciplines);
    steps.extend(verbatim::steps(building)?);
    Ok(steps)
}

fn bottleneck(experiment: &Experiment, queues: &[Queue]) -> Option<String> {
    if experiment.path.bottleneck.is_some() {
        return Some("bottleneck".into());
    }
    let scripts = &experiment.path.tc;
    let reported = scripts.iter().enumerate().filter_map(|(number, tc)| Some((number, tc.queue.as_ref()?)));
    reported.into_iter().find_map(|(number, queue)| verbatim::queue_name(queues, scripts.len(), number, queue))
}

/// The seed of every netem without one of its own.
fn netem_seeds(queues: &[Queue], draws: &mut Streams) -> Vec<NetemSeed> {
    let needs_seed = |queue: &&Queue| {
        let mut words = queue.text.split(' ');
        words.next() == Some("netem") && words.all(|word| word != "seed")
    };
    let seed = |queue: &Queue| {
        let Queue { host, device, handle, .. } = queue;
        let seed = draws.next(&format!("netem/{host}/{device}/{handle}"));
        NetemSeed { host: host.clone(), device: device.clone(), handle: handle.clone(), seed }
    };
    queues.iter().filter(needs_seed).map(seed).collect()
}
