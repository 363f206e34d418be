//! What a plan's reader should know: a valid run of it may not be what the experiment's author meant.

use crate::model::{Direction, Experiment, ProbeKind, Transport};
use crate::script::Script;
use dumbbell_plan::text::rate_text;
use dumbbell_plan::{Link, Plan, Queue, Rates};
use dumbbell_tc::is_of_arrivals;
use dumbbell_tc::quantity::{count, float, per_cent, time_ns};

const ETHERNET_BYTES: u64 = 14;
/// IPv4 and ICMP or UDP headers of a probe.
const PROBE_HEADERS_BYTES: u64 = 28;
/// netem's default limit in packets.
const NETEM_LIMIT: u64 = 1_000;
const BILLION: u64 = 1_000_000_000;
/// A probe's share of the bottleneck's rate that is mentioned, as one of this many.
const PROBE_SHARE: u64 = 100;

/// All of them.
pub(super) fn warnings(experiment: &Experiment, plan: &Plan, scripts: &[Script]) -> Vec<String> {
    let mut warnings = Vec::new();
    if experiment.hosts.is_some() {
        warnings.push("[hosts] is for --engine host; here the experiment has hosts of its own".into());
    }
    // Neither an ifb nor what packets pass on arrival throttles the sockets of its host.
    let is_elsewhere = |queue: &&Queue| {
        let is_of_sender = plan.net.senders.iter().any(|sender| sender.host == queue.host);
        let leaves = plan.net.wires.iter().flat_map(Link::devices).any(|device| device.name == queue.device);
        queue.key.starts_with("path.tc") && !(is_of_sender && leaves && !is_of_arrivals(&queue.text))
    };
    if plan.queues.iter().any(|queue| queue.key.starts_with("path.tc") && !is_elsewhere(&queue)) {
        let offloads =
            if experiment.path.offloads { "; offloads are on, so one loss takes a whole super-packet" } else { "" };
        warnings.push(format!(
            "the queue under test is on the sender's own device, as in the script, and TCP is throttled by \
             back-pressure{offloads}"
        ));
    }
    warnings.extend(scripts.iter().flat_map(|script| &script.ignored).map(|line| format!("path.tc: {line}")));
    warnings.extend(plan.queues.iter().filter(|queue| !is_elsewhere(queue)).filter_map(own_device));
    warnings.extend(plan.queues.iter().filter_map(|queue| short_netem(experiment, plan, queue)));
    let losses = plan.queues.iter().map(|queue| (&queue.key[..], queue.text.clone()));
    let later = experiment.changes.iter().filter_map(|change| change.loss.as_ref());
    let losses: Vec<_> = losses.chain(later.map(|loss| ("changes", format!("netem loss {loss}")))).collect();
    warnings.extend(losses.iter().filter_map(|(key, text)| correlated(key, text)));
    warnings.extend(probes(experiment, plan));
    warnings.extend(dotted_names(experiment));
    warnings.extend(endless_reverse(experiment));
    let mut seen = std::collections::BTreeSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    warnings
}

/// TCP flows towards the senders on a reverse path without a rate: nothing but windows limits them.
fn endless_reverse(experiment: &Experiment) -> impl Iterator<Item = String> {
    let path = &experiment.path;
    let is_limited = path.reverse.as_ref().is_some_and(|reverse| {
        let shapes = reverse.qdisc.as_ref().and_then(super::shaping::rate_of).is_some();
        reverse.rate.is_some() || reverse.rate_trace.is_some() || shapes
    });
    let groups = experiment.flows.iter().zip(experiment.group_names());
    groups
        .filter(move |(group, _)| {
            let is_fast = group.kind != Transport::Udp && group.pacing_rate.is_none() && !group.is_sized();
            !is_limited && is_fast && group.direction == Direction::Reverse && group.request.is_none()
        })
        .map(|(_, name)| {
            format!(
                "group '{name}' sends on a reverse path without a rate: only windows and buffers limit it, at rates at \
                 which its packets shape the ACKs of the others; give path.reverse a rate"
            )
        })
}

/// Names with dots, which separate the keys of a metric.
fn dotted_names(experiment: &Experiment) -> impl Iterator<Item = String> {
    let groups = experiment.flows.iter().filter_map(|group| group.name.as_ref());
    let names = groups.chain(experiment.path.links.iter().map(|link| &link.name));
    let names = names.chain(experiment.programs.iter().map(|program| &program.name));
    names.filter(|name| name.contains('.')).map(|name| {
        format!("the name '{name}' has a dot, which separates the keys of a metric: write '{}'", name.replace('.', "-"))
    })
}

/// Losses and limits that a sender feels at once, on its own device.
fn own_device(queue: &Queue) -> Option<String> {
    let (is_script, is_host) = (queue.key.starts_with("path.tc"), queue.key.ends_with("host_qdisc"));
    let words: Vec<_> = queue.text.split(' ').collect();
    let has = |name: &str| words.contains(&name);
    let loses = words[0] == "netem" && has("loss");
    let shapes = has("rate") || has("bandwidth");
    let place = if is_script { queue.key.clone() } else { format!("{} ({})", queue.key, words[0]) };
    if (is_script || is_host) && loses {
        return Some(format!(
            "{place}: packets that netem loses on the sender's own device never left the host; back-pressure lets TCP \
             send them again at once, so throughput is above that of a network that loses as many: write path.loss \
             (or access.loss of the group) instead"
        ));
    }
    (is_host && shapes).then(|| {
        format!(
            "{place}: a queue on the sender's own device throttles TCP by back-pressure instead of dropping, so its \
             limit is hardly reached: write path.bottleneck or access for a queue in the network"
        )
    })
}

/// A netem that drops because it may not hold what is on its way.
fn short_netem(experiment: &Experiment, plan: &Plan, queue: &Queue) -> Option<String> {
    let words: Vec<_> = queue.text.split(' ').collect();
    // Without a key it is Dumbbell's own, whose limit suffices.
    if words[0] != "netem" || queue.key.is_empty() || experiment.path.offloads {
        return None;
    }
    let after = |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)).copied();
    let delay = time_ns(after("delay").or_else(|| after("latency"))?).ok()?;
    let limit = after("limit").map_or(Some(NETEM_LIMIT), |word| count(word).ok())?;
    let neighbours = plan.queues.iter().filter(|each| each.host == queue.host && each.device == queue.device);
    let here = neighbours.filter_map(|each| each.limits().iter().map(|(_, rate)| *rate).max()).min();
    let under_test = || plan.queues.iter().find(|each| each.name == "bottleneck");
    let path = || under_test().and_then(|each| each.limits().iter().map(|(_, rate)| *rate).max());
    let rate = here.or_else(path);
    let packet_bits = u64::from(experiment.path.mtu) * 8 + ETHERNET_BYTES * 8;
    let on_its_way = |rate: u64| u128::from(rate) * u128::from(delay) / u128::from(BILLION * packet_bits);
    match rate {
        Some(rate) if on_its_way(rate) > u128::from(limit) => Some(format!(
            "{}: netem's limit of {limit} packets is below rate × delay, {} packets at {}: it drops what the link \
             would carry; write limit {} or more",
            queue.key,
            on_its_way(rate),
            rate_text(rate),
            2 * on_its_way(rate)
        )),
        None if delay > 0 => {
            let most = u128::from(limit) * u128::from(packet_bits) * u128::from(BILLION) / u128::from(delay);
            let most = rate_text(u64::try_from(most).unwrap_or(u64::MAX));
            let problem = "holds as many packets as come within its delay, and no rate limits those";
            let hint = "write a larger limit, or a rate";
            Some(format!("{}: netem's limit of {limit} packets {problem}: above {most} it drops; {hint}", queue.key))
        }
        _ => None,
    }
}

/// netem's correlated random loss, which in Linux is far below the chance that is asked for.
fn correlated(key: &str, text: &str) -> Option<String> {
    let mut words = text.split(' ').skip_while(|word| *word != "loss").skip(1).peekable();
    words.next_if(|word| *word == "random");
    let chance = words.next().filter(|word| per_cent(word).is_ok())?;
    let correlation = words.next().filter(|word| per_cent(word).is_ok_and(|share| share > 0.0))?;
    let place = if key.is_empty() { String::new() } else { format!("{key}: ") };
    Some(format!(
        "{place}netem's loss of {chance} with a correlation of {correlation} loses far fewer packets than {chance} in \
         Linux, which averages each random number with the last; for losses in bursts write loss gemodel P R, which \
         loses P ÷ (P + R) in bursts of 1 ÷ R"
    ))
}

/// Probes that take a part of the bottleneck.
fn probes(experiment: &Experiment, plan: &Plan) -> Option<String> {
    let name = plan.bottleneck.as_ref()?;
    let queue = plan.queues.iter().find(|queue| queue.name == *name)?;
    let rate = mean(&queue.limits(), plan.duration_ns).filter(|rate| *rate > 0)?;
    let bits = |payload: u32| (u64::from(payload) + PROBE_HEADERS_BYTES + ETHERNET_BYTES) * 8;
    let load = |probe: &dumbbell_plan::Probe| bits(probe.payload) * BILLION / probe.interval_ns.max(1);
    let load: u64 = plan.probes.iter().map(load).sum();
    let is_ping = experiment.probes.iter().any(|probe| probe.kind == ProbeKind::Ping);
    (load >= rate / PROBE_SHARE).then(|| {
        let what = if is_ping { "pings" } else { "UDP probes" };
        let share = float(load) * 100.0 / float(rate);
        format!(
            "{what} of {} take {share:.1} % of the bottleneck's rate ({}) and its packets wait behind them; write \
             probes = [] or a longer interval",
            rate_text(load),
            rate_text(rate)
        )
    })
}

/// The mean of rates over time.
fn mean(rates: &Rates, duration_ns: u64) -> Option<u64> {
    let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([duration_ns]);
    let spans = rates.iter().zip(ends);
    let bits = spans.map(|((at, rate), end)| u128::from(*rate) * u128::from(end.min(duration_ns).saturating_sub(*at)));
    let bits: u128 = bits.sum();
    if rates.is_empty() { None } else { u64::try_from(bits / u128::from(duration_ns.max(1))).ok() }
}
