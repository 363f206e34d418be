//! Qdiscs of a device: a shaper and the queue behind it, or a netem.
//!
//! The shaper is HTB with a bucket of one packet: it sends one packet at a time at exactly the rate, so the queue below
//! it fills as a link's would (tbf with a larger bucket passes bursts, and hides its queue). netem has a device of its
//! own.

use super::error::Error;

use crate::model::{BdpSize, Impairment, Qdisc};
use dumbbell_plan::text::{large, rate_text, time_text};
use dumbbell_plan::{Device, Operation, Queue, Step};
use dumbbell_tc::Command;
use dumbbell_tc::quantity::{float, rate_bps};

const ETHERNET_BYTES: u32 = 14;
/// For netem's limit: small packets are many.
const SMALLEST_PACKET_BYTES: u64 = 100;
/// Added to rate × delay: a sender without a rate limit sends a full window at once.
const NETEM_MARGIN_PACKETS: u128 = 100_000;
const UNKNOWN_RATE_BPS: u64 = 100_000_000_000;
const BILLION: u64 = 1_000_000_000;
/// Handles.
const LEAF: &str = "10:";
const ROOT: &str = "1:";

/// A netem with the highest rate at which packets arrive.
#[derive(Clone, Debug)]
pub(super) struct Netem {
    pub impairment: Impairment,
    pub rate_bps: Option<u64>,
}

impl Netem {
    /// The qdisc for tc.
    fn text(&self) -> String {
        let what = &self.impairment;
        let mut words = vec![format!("netem limit {}", self.limit())];
        if what.delay > 0 {
            words.push(format!("delay {}", time_text(what.delay)));
            if what.jitter > 0 {
                words.push(time_text(what.jitter));
            }
        }
        for (option, value) in [
            ("distribution", &what.distribution),
            ("loss", &what.loss),
            ("reorder", &what.reorder),
            ("duplicate", &what.duplicate),
            ("corrupt", &what.corrupt),
            ("slot", &what.slot),
        ] {
            let Some(value) = value.as_ref().filter(|value| !value.is_empty()) else { continue };
            // `loss every N` is an option of its own.
            words.push(if value.starts_with("every ") { value.clone() } else { format!("{option} {value}") });
        }
        words.join(" ")
    }

    fn limit(&self) -> u128 {
        let rate = self.rate_bps.unwrap_or(UNKNOWN_RATE_BPS);
        let delay = self.impairment.delay + self.impairment.jitter;
        u128::from(rate) * u128::from(delay) / u128::from(BILLION * 8 * SMALLEST_PACKET_BYTES) + NETEM_MARGIN_PACKETS
    }
}

/// Whether a netem has anything to do.
pub(super) fn impairs(what: &Impairment) -> bool {
    let has = |option: &Option<String>| option.as_ref().is_some_and(|value| !value.is_empty());
    what.mean_delay() > 0 || [&what.loss, &what.duplicate, &what.corrupt, &what.slot].into_iter().any(has)
}

/// A qdisc's kind and words.
pub(super) fn text_of(qdisc: &Qdisc) -> String {
    [std::slice::from_ref(&qdisc.kind), &qdisc.words[..]].concat().join(" ")
}

/// The rate that a qdisc limits to by itself, in bits per second.
pub(super) fn shaped_rate<'a>(kind: &str, words: impl IntoIterator<Item = &'a str>) -> Option<u64> {
    let option = match kind {
        "tbf" | "netem" | "police" => "rate",
        "cake" => "bandwidth",
        _ => return None,
    };
    let mut words = words.into_iter();
    words.by_ref().find(|word| *word == option)?;
    rate_bps(words.next()?).ok()
}

/// As [`shaped_rate`].
pub(super) fn rate_of(qdisc: &Qdisc) -> Option<u64> {
    shaped_rate(&qdisc.kind, qdisc.words.iter().map(String::as_str))
}

/// The text for tc: sizes in bandwidth-delay products as bytes or packets, at least one packet.
fn resolved(qdisc: &Qdisc, bdp_bytes: Option<u128>, mtu: u32, key: &str) -> Result<String, Error> {
    let mut words = qdisc.words.clone();
    for (position, BdpSize { products, in_packets }) in &qdisc.bdp_words {
        let bytes = bdp_bytes.ok_or_else(|| {
            let problem = "a queue in bdp needs both a rate and a path.rtt above zero";
            Error::at(key, problem, "give both, or a size in bytes").with(text_of(qdisc).as_str())
        })?;
        let mtu = float(mtu.into());
        let size = f64::max(products * large(bytes), mtu);
        let size = if *in_packets { size / mtu } else { size };
        words[*position] = format!("{:.0}", size.round_ties_even());
    }
    Ok([std::slice::from_ref(&qdisc.kind), &words[..]].concat().join(" "))
}

/// What a queue needs to know of its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub rtt_ns: u64,
    pub mtu: u32,
}

/// A queue to set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requested<'a> {
    pub name: &'a str,
    /// Rate of the shaper.
    pub rate_bps: Option<u64>,
    /// None: a FIFO queue.
    pub qdisc: Option<&'a Qdisc>,
    /// The key that requests it.
    pub key: &'a str,
}

/// The text for tc of a discipline behind this rate: sizes in bandwidth-delay products as bytes or packets.
pub(super) fn resolved_text(qdisc: &Qdisc, rate_bps: Option<u64>, sizes: Sizes, key: &str) -> Result<String, Error> {
    let bdp = rate_bps.filter(|_| sizes.rtt_ns > 0);
    let bdp = bdp.map(|rate| u128::from(rate) * u128::from(sizes.rtt_ns) / u128::from(8 * BILLION));
    resolved(qdisc, bdp, sizes.mtu, key)
}

/// A queue with its rate: steps, and the qdiscs that they create.
pub(super) fn queue(device: &Device, requested: Requested<'_>, sizes: Sizes) -> Result<(Vec<Step>, Vec<Queue>), Error> {
    let Requested { name, rate_bps, qdisc, key } = requested;
    let fifo = || Qdisc {
        kind: "pfifo".into(),
        words: vec!["limit".into(), "1000".into()],
        bdp_words: std::collections::BTreeMap::new(),
    };
    let qdisc = qdisc.cloned().unwrap_or_else(fifo);
    let rate = rate_bps.or_else(|| rate_of(&qdisc));
    let text = resolved_text(&qdisc, rate, sizes, key)?;
    let rates: Vec<_> = rate.into_iter().map(|rate| (0, rate)).collect();
    let place = |name: String, handle: &str, text: String| Queue {
        name,
        host: device.host.clone(),
        device: device.name.clone(),
        handle: handle.into(),
        text,
        rates: rates.clone(),
        ..Queue::default()
    };
    let leaf = Queue { under_test: true, key: key.into(), may_drop: true, ..place(name.into(), LEAF, text.clone()) };
    let (kind, filter) = if qdisc.kind == "police" {
        ("prio", Some(policer(device, &text, sizes.mtu, key)?))
    } else {
        (&text[..], None)
    };
    let mut lines = Vec::new();
    let mut queues = Vec::new();
    if let Some(rate) = rate_bps {
        lines.push(format!("qdisc add dev {} root handle {ROOT} htb default 1", device.name));
        lines.push(format!("class add dev {} {}", device.name, class(rate, sizes.mtu)));
        lines.push(format!("qdisc add dev {} parent 1:1 handle {LEAF} {kind}", device.name));
        queues.push(place(format!("{name}-shaper"), ROOT, "htb default 1".into()));
    } else {
        lines.push(format!("qdisc add dev {} root handle {LEAF} {kind}", device.name));
    }
    lines.extend(filter);
    queues.push(leaf);
    let steps = lines.iter().map(|line| tc(device, line).with_key(key, &text)).collect();
    Ok((steps, queues))
}

/// The filter that polices, on a prio that counts the drops.
fn policer(device: &Device, text: &str, mtu: u32, key: &str) -> Result<String, Error> {
    let mut words: Vec<_> = text.split(' ').skip(1).map(String::from).collect();
    let has = |name: &str| words.iter().any(|word| word == name);
    if !has("rate") || !has("burst") {
        let problem = "police needs 'rate' and 'burst'";
        return Err(Error::at(key, problem, "police rate 10mbit burst 20kb").with(text));
    }
    if !has("mtu") {
        // Without an mtu tc takes 2040 bytes, and drops larger packets.
        words.extend(["mtu".into(), (mtu + ETHERNET_BYTES).to_string()]);
    }
    let action = format!("matchall classid {LEAF}1 action police {} drop", words.join(" "));
    Ok(format!("filter add dev {} parent {LEAF} protocol all prio 1 {action}", device.name))
}

/// A tc command on a device's host.
pub(super) fn tc(device: &Device, line: &str) -> Step {
    let command = Command::of_line(line).expect("it is written here, and adds or changes a qdisc, class or filter");
    Step::new(&device.host, Operation::Tc(command))
}

/// A netem alone on its device.
pub(super) fn netem(device: &Device, name: String, what: &Netem, loses: bool, key: &str) -> (Step, Queue) {
    let text = what.text();
    let line = format!("qdisc add dev {} root handle {ROOT} {text}", device.name);
    let queue = Queue {
        name,
        host: device.host.clone(),
        device: device.name.clone(),
        handle: ROOT.into(),
        text,
        may_drop: loses,
        ..Queue::default()
    };
    (tc(device, &line).for_key(key), queue)
}

/// A new rate for the shaper of a device.
pub(super) fn rate_change(device: &Device, rate_bps: u64, mtu: u32, key: &str) -> Step {
    tc(device, &format!("class change dev {} {}", device.name, class(rate_bps, mtu))).for_key(key)
}

/// New settings for the netem of a device.
pub(super) fn netem_change(device: &Device, what: &Netem, key: &str) -> Step {
    let line = format!("qdisc change dev {} root handle {ROOT} {}", device.name, what.text());
    tc(device, &line).for_key(key)
}

fn class(rate_bps: u64, mtu: u32) -> String {
    let (rate, burst) = (rate_text(rate_bps), mtu + ETHERNET_BYTES);
    format!("parent 1: classid 1:1 htb rate {rate} burst {burst} cburst {burst} quantum {burst}")
}
