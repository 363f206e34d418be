//! Checks of a plan that need no lookup of names.

use crate::error::Error;
use crate::plan::{Flow, Plan, Probe, Tcp, Traffic, What, Work};
use dumbbell_net::cc::Controller;
use dumbbell_net::packet::{ETHERNET_BYTES, MOST_FRAGMENTS, UDP_HEADERS_BYTES};
use dumbbell_net::rate::Rate;
use dumbbell_net::rng::Rng;
use dumbbell_net::time::Span;
use dumbbell_tc::tree::Change as TcChange;

/// Plan indices sorted by name, which is the order of ids in the world.
pub fn by_name<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<Vec<usize>, Error> {
    let mut sorted: Vec<_> = names.zip(0..).collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::SameName { what, name: pair[0].0.into() });
    }
    Ok(sorted.into_iter().map(|(_, index)| index).collect())
}

/// Checks values.
pub fn validate(plan: &Plan) -> Result<(), Error> {
    require(plan.sample > Span::ZERO, || "the plan".into(), "sample is 0 ns; it must be above 0")?;
    let sorted = plan.changes.is_sorted_by_key(|change| change.at);
    require(sorted, || "the plan".into(), "changes must be in order of time")?;
    let max = MAX_FLOWS - plan.probes.len().min(MAX_FLOWS);
    require(
        plan.flows.len() <= max,
        || "the plan".into(),
        "too many flows; at most 2^30 flows and probes are supported",
    )?;
    qdiscs(plan)?;
    plan.flows.iter().try_for_each(flow)?;
    plan.probes.iter().try_for_each(probe)
}

fn qdiscs(plan: &Plan) -> Result<(), Error> {
    let changed = plan.changes.iter().filter_map(|change| match &change.what {
        What::Tc { device, change: TcChange::Qdisc(node) } => Some((*device, node)),
        _ => None,
    });
    for (at, node) in plan.devices.iter().map(|device| (device.at, &device.root)).chain(changed) {
        if let Some(problem) = node.problem() {
            return Err(Error::Invalid { object: format!("a qdisc on link {}", at.wire), problem });
        }
    }
    for change in &plan.changes {
        if let What::Tc { change: TcChange::Class { class, .. }, .. } = &change.what {
            let is_valid = class.rate > Rate::ZERO && class.ceil > Rate::ZERO;
            require(
                is_valid,
                || format!("the change at {} ns", change.at.as_nanos()),
                "rate or ceil of the class is 0; both must be above 0",
            )?;
        }
    }
    Ok(())
}

fn flow(flow: &Flow) -> Result<(), Error> {
    let object = || format!("flow '{}'", flow.name);
    match &flow.traffic {
        Traffic::Udp(udp) => {
            let least = MAX_IP_BYTES.div_ceil(MOST_FRAGMENTS) + 28;
            require(udp.mtu >= least, object, &format!("mtu ({} bytes) is below {least} bytes", udp.mtu))?;
            require(udp.interval > Span::ZERO, object, "interval is 0 ns; it must be above 0")?;
            let lasts = udp.on_off.is_none_or(|(on, off)| on + off > Span::ZERO);
            require(lasts, object, "on and off are both 0; one must be above 0")?;
            datagram(udp.payload, object)
        }
        Traffic::Tcp(tcp) => connection(flow, tcp),
    }
}

fn connection(flow: &Flow, tcp: &Tcp) -> Result<(), Error> {
    let object = || format!("flow '{}'", flow.name);
    for settings in [&tcp.sender, &tcp.receiver] {
        let problem = format!("mss ({} bytes) must be between 1 and {MAX_IP_BYTES} bytes", settings.mss);
        require((1..=MAX_IP_BYTES).contains(&settings.mss), object, &problem)?;
        let window = (1..=MAX_WINDOW).contains(&settings.initial_window);
        let problem =
            format!("initial_window ({} packets) must be between 1 and {MAX_WINDOW}", settings.initial_window);
        require(window, object, &problem)?;
        let buffers = [Some(settings.rmem_max), Some(settings.wmem_max), settings.rcvbuf, settings.sndbuf];
        let fits = buffers.into_iter().flatten().all(|bytes| bytes <= MAX_BUFFER_BYTES);
        require(fits, object, "rmem_max, rcvbuf, wmem_max or sndbuf exceeds 2147483647 bytes")?;
        let super_packet = settings.gso_max_bytes.is_none_or(|bytes| bytes <= MAX_SUPER_PACKET_BYTES);
        require(super_packet, object, "gso_max_bytes exceeds 524288 (512 KiB)")?;
    }
    match tcp.work {
        Work::Sized { bytes } => require(bytes > 0, object, "bytes is 0; it must be above 0")?,
        Work::OnOff { on, off, .. } => {
            require(on + off > Span::ZERO, object, "on and off are both 0; one must be above 0")?;
        }
        Work::Exchange { request, response, .. } => {
            require(request > 0 && response > 0, object, "request or response is 0 bytes; both must be above 0")?;
        }
        Work::Bulk => {}
    }
    controller(flow, tcp)
}

fn controller(flow: &Flow, tcp: &Tcp) -> Result<(), Error> {
    let mut parameters = tcp.parameters.clone();
    if Controller::from_name(&tcp.cc, &mut parameters, Rng::from_name(0, "")).is_none() {
        let known = Controller::NAMES.join(", ");
        return Err(Error::UnknownController { flow: flow.name.clone(), name: tcp.cc.clone(), known });
    }
    parameters
        .finish()
        .map_err(|problem| Error::Invalid { object: format!("flow '{}', {}", flow.name, tcp.cc), problem })
}

fn probe(probe: &Probe) -> Result<(), Error> {
    let object = || format!("probe '{}'", probe.name);
    require(probe.interval > Span::ZERO, object, "interval is 0 ns; it must be above 0")?;
    datagram(probe.payload, object)
}

fn datagram(payload: u32, object: impl Fn() -> String) -> Result<(), Error> {
    let max = MAX_IP_BYTES + ETHERNET_BYTES - UDP_HEADERS_BYTES;
    require(payload <= max, object, &format!("payload ({payload} bytes) exceeds {max} bytes"))
}

fn require(good: bool, object: impl Fn() -> String, problem: &str) -> Result<(), Error> {
    if good { Ok(()) } else { Err(Error::Invalid { object: object(), problem: problem.into() }) }
}

/// Maximum of IPv4's length field.
const MAX_IP_BYTES: u32 = 65_535;
/// Socket buffer sizes are an `int`.
const MAX_BUFFER_BYTES: u64 = 0x7fff_ffff;
/// `GSO_MAX_SIZE` of devices with BIG TCP (8 × 64 KiB).
const MAX_SUPER_PACKET_BYTES: u32 = 8 << 16;
/// Plausible maximum of a route's `initcwnd`.
const MAX_WINDOW: u32 = 1 << 20;
/// Ids of flow ends have 32 bits.
const MAX_FLOWS: usize = 1 << 30;
