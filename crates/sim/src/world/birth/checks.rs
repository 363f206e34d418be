//! Does a plan make sense by itself? Names are looked up elsewhere.

use crate::error::Error;
use crate::plan::{Flow, Plan, Probe, Tcp, Traffic, What, Work};
use dumbbell_core::cc::Controller;
use dumbbell_core::dice::Dice;
use dumbbell_core::packet::{ETHERNET_BYTES, UDP_HEADERS_BYTES};
use dumbbell_core::rate::Rate;
use dumbbell_core::time::Span;

/// Places in the plan, sorted by name: the order in which the world numbers them.
pub fn by_name<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<Vec<usize>, Error> {
    let mut sorted: Vec<_> = names.zip(0..).collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::SameName { what, name: pair[0].0.into() });
    }
    Ok(sorted.into_iter().map(|(_, place)| place).collect())
}

/// Numbers that the world could not live with.
pub fn sense(plan: &Plan) -> Result<(), Error> {
    require(plan.sample > Span::ZERO, || "the plan".into(), "the time between two samples is zero")?;
    let sorted = plan.changes.is_sorted_by_key(|change| change.at);
    require(sorted, || "the plan".into(), "the changes are not in order of time")?;
    let most = MOST_FLOWS - plan.probes.len().min(MOST_FLOWS);
    require(plan.flows.len() <= most, || "the plan".into(), "there are more flows than can be numbered")?;
    disciplines(plan)?;
    plan.flows.iter().try_for_each(flow)?;
    plan.probes.iter().try_for_each(probe)
}

fn disciplines(plan: &Plan) -> Result<(), Error> {
    let changed = plan.changes.iter().filter_map(|change| match &change.what {
        What::Discipline(node) => Some((change.device, node)),
        What::Class { .. } => None,
    });
    for (at, node) in plan.devices.iter().map(|device| (device.at, &device.root)).chain(changed) {
        if let Some(problem) = node.problem() {
            return Err(Error::Nonsense { whose: format!("a discipline on wire {}", at.wire), problem });
        }
    }
    for change in &plan.changes {
        if let What::Class { class, .. } = &change.what {
            let stands = class.rate > Rate::ZERO && class.ceil > Rate::ZERO;
            require(stands, || format!("the change at {} ns", change.at.as_nanos()), "the class's rate is zero")?;
        }
    }
    Ok(())
}

fn flow(flow: &Flow) -> Result<(), Error> {
    let whose = || format!("flow '{}'", flow.name);
    match &flow.traffic {
        Traffic::Udp { payload, interval } => {
            require(*interval > Span::ZERO, whose, "the time between two packets is zero")?;
            datagram(*payload, whose)
        }
        Traffic::Tcp(tcp) => connection(flow, tcp),
    }
}

fn connection(flow: &Flow, tcp: &Tcp) -> Result<(), Error> {
    let whose = || format!("flow '{}'", flow.name);
    for settings in [&tcp.sender, &tcp.receiver] {
        require((1..=MOST_IP_BYTES).contains(&settings.mss), whose, "a full segment has no bytes, or too many")?;
        let window = (1..=MOST_WINDOW).contains(&settings.initial_window);
        require(window, whose, "the initial window is zero, or more than Linux's routes can say")?;
        let buffers = [Some(settings.rmem_max), Some(settings.wmem_max), settings.rcvbuf, settings.sndbuf];
        let fits = buffers.into_iter().flatten().all(|bytes| bytes <= MOST_BUFFER_BYTES);
        require(fits, whose, "a buffer is larger than a socket's can be")?;
        let super_packet = settings.gso_max_bytes.is_none_or(|bytes| bytes <= MOST_SUPER_PACKET_BYTES);
        require(super_packet, whose, "a super-packet is larger than 512 KiB")?;
    }
    match tcp.work {
        Work::Sized { bytes } => require(bytes > 0, whose, "it has no bytes to send")?,
        Work::OnOff { on, off, .. } => require(on + off > Span::ZERO, whose, "it neither writes nor rests")?,
        Work::Exchange { request, response, .. } => {
            require(request > 0 && response > 0, whose, "a question or an answer has no bytes")?;
        }
        Work::Bulk => {}
    }
    controller(flow, tcp)
}

fn controller(flow: &Flow, tcp: &Tcp) -> Result<(), Error> {
    let mut parameters = tcp.parameters.clone();
    if Controller::named(&tcp.cc, &mut parameters, Dice::named(0, "")).is_none() {
        let known = Controller::NAMES.join(", ");
        return Err(Error::UnknownController { flow: flow.name.clone(), name: tcp.cc.clone(), known });
    }
    parameters
        .finish()
        .map_err(|problem| Error::Nonsense { whose: format!("flow '{}', {}", flow.name, tcp.cc), problem })
}

fn probe(probe: &Probe) -> Result<(), Error> {
    let whose = || format!("probe '{}'", probe.name);
    require(probe.interval > Span::ZERO, whose, "the time between two is zero")?;
    datagram(probe.payload, whose)
}

fn datagram(payload: u32, whose: impl Fn() -> String) -> Result<(), Error> {
    let most = MOST_IP_BYTES + ETHERNET_BYTES - UDP_HEADERS_BYTES;
    require(payload <= most, whose, "the payload does not fit into a packet")
}

fn require(good: bool, whose: impl Fn() -> String, problem: &str) -> Result<(), Error> {
    if good { Ok(()) } else { Err(Error::Nonsense { whose: whose(), problem: problem.into() }) }
}

/// What IPv4's length field holds.
const MOST_IP_BYTES: u32 = 65_535;
/// A socket's buffers are counted in an `int`.
const MOST_BUFFER_BYTES: u64 = 0x7fff_ffff;
/// `GSO_MAX_SIZE` of devices that take more than IPv4's length says (8 × 64 KiB).
const MOST_SUPER_PACKET_BYTES: u32 = 8 << 16;
/// What a route's `initcwnd` may sensibly be.
const MOST_WINDOW: u32 = 1 << 20;
/// Both ends of every flow have a number of 32 bits.
const MOST_FLOWS: usize = 1 << 30;
