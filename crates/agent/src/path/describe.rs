//! Names, values and differences of objects in the syntax of ip and tc.

use super::object::{IFLA_IFNAME, Key, Kind, Objects, TCA_KIND, Value, index};
use crate::sample::netlink::{attributes, number};
use dumbbell_plan::{AgentPlan, Step};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Stdio;

/// Text for a missing object.
const NONE: &str = "none";
/// `RTAX_*` from 1 on, named as in ip-route(8).
const METRICS: [&str; 17] = [
    "lock",
    "mtu",
    "window",
    "rtt",
    "rttvar",
    "ssthresh",
    "cwnd",
    "advmss",
    "reordering",
    "hoplimit",
    "initcwnd",
    "features",
    "rto_min",
    "initrwnd",
    "quickack",
    "congctl",
    "fastopen_no_cookie",
];

/// The device's name.
pub fn device(objects: &Objects, key: &Key) -> String {
    let link = |index: u32| Key { kind: Kind::Link, id: index.to_ne_bytes().to_vec() };
    index(key).and_then(|index| objects.get(&link(index))).map_or_else(String::new, |value| text(value, IFLA_IFNAME))
}

/// The object's name; `value` has the device's name if its link was deleted.
pub fn name(objects: &Objects, key: &Key, value: Option<&Value>) -> String {
    let device = Some(device(objects, key)).filter(|name| !name.is_empty());
    let device = device.or_else(|| value.map(|value| text(value, IFLA_IFNAME))).unwrap_or_default();
    match key.kind {
        Kind::Link => format!("link '{device}'"),
        Kind::Address => format!("address {}/{} of '{device}'", address(&key.id[6..]), key.id[5]),
        Kind::Neighbour => format!("neighbour {} of '{device}'", address(&key.id[6..])),
        Kind::Route => format!("route {}", value.map_or_else(String::new, destination)),
        Kind::Rule => format!("rule {}", rule(&key.id)),
        Kind::Qdisc => format!("qdisc {} of '{device}'", handle(key)),
        Kind::Class => format!("class {} of '{device}'", handle(key)),
        Kind::Filter => format!("a filter of '{device}'"),
        Kind::NextHop => "a next hop of routes".into(),
        Kind::NetConf => "net.ipv4.conf (forwarding, rp_filter, …)".into(),
    }
}

/// As tc writes it: `10:`, `1:1`; a default qdisc includes its parent.
pub fn handle(key: &Key) -> String {
    let (handle, parent) = (number(&key.id, 4), number(&key.id, 8));
    let short = |number: u32| match number & 0xffff {
        0 => format!("{:x}:", number >> 16),
        minor => format!("{:x}:{minor:x}", number >> 16),
    };
    if handle != 0 {
        return short(handle);
    }
    format!("0: at {}", if parent == u32::MAX { "root".into() } else { short(parent) })
}

/// The object before and after.
pub fn difference(before: Option<&Value>, after: Option<&Value>, kind: Kind) -> (String, String) {
    let (Some(old), Some(new)) = (before, after) else {
        let describe_one = |value: Option<&Value>| value.map_or_else(|| NONE.into(), |value| describe_new(kind, value));
        return (describe_one(before), describe_one(after));
    };
    let numbers: std::collections::BTreeSet<u16> = old.keys().chain(new.keys()).copied().collect();
    let differing = numbers.into_iter().filter(|number| old.get(number) != new.get(number));
    let (was, is): (Vec<_>, Vec<_>) = differing
        .map(|number| {
            (describe_attribute(kind, number, old.get(&number)), describe_attribute(kind, number, new.get(&number)))
        })
        .unzip();
    (was.join(" "), is.join(" "))
}

/// The options that the plan's setup, or a change before `now_ns`, gave a qdisc or class.
pub fn planned(plan: &AgentPlan, host: &str, device: &str, key: &Key, now_ns: u64) -> Option<String> {
    let done = plan.changes.iter().filter(|change| change.at_ns <= now_ns).map(|change| &change.step);
    let mut about = plan
        .setup
        .iter()
        .chain(done)
        .filter(|step| step.host == host)
        .filter_map(Step::tc)
        .filter(|command| command.device() == device && command.names(number(&key.id, 4)));
    about
        .next_back()
        .map(|command| format!("{} {}", command.target().kind, command.options().join(" ")).trim_end().into())
}

/// The options that tc shows now.
pub fn shown(host: &str, device: &str, key: &Key) -> Option<String> {
    let object = if key.kind == Kind::Class { "class" } else { "qdisc" };
    let mut command = std::process::Command::new("tc");
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.args(["-n", host, object, "show", "dev", device]).stdin(Stdio::null());
    let text = String::from_utf8_lossy(&command.output().ok()?.stdout).into_owned();
    let handle = handle(key);
    text.lines().find_map(|line| {
        // `qdisc KIND HANDLE [dev …] …`, `class KIND HANDLE …`
        let mut tokens = line.split_whitespace();
        let kind = tokens.nth(1)?;
        (tokens.next()? == handle).then(|| format!("{kind} {}", tokens.collect::<Vec<_>>().join(" ")))
    })
}

fn describe_new(kind: Kind, value: &Value) -> String {
    match kind {
        Kind::Route => destination(value),
        Kind::Qdisc | Kind::Class => text(value, TCA_KIND),
        Kind::Link => "there".into(),
        _ => "set".into(),
    }
}

fn describe_attribute(kind: Kind, attribute: u16, value: Option<&Vec<u8>>) -> String {
    let Some(value) = value else { return NONE.into() };
    let plain = || if value.len() == 4 { number(value, 0).to_string() } else { hex(value, "") };
    match (kind, attribute) {
        (Kind::Link, 0) => if number(value, 0) & 1 == 0 {
            "down"
        } else if number(value, 0) & 0x1_0000 == 0 {
            "up without carrier"
        } else {
            "up"
        }
        .into(),
        (Kind::Link, 1) | (Kind::Neighbour, 2) => format!("address {}", hex(value, ":")),
        (Kind::Link, IFLA_IFNAME) | (Kind::Qdisc | Kind::Class, TCA_KIND) => cut(value),
        (Kind::Link, 4) => format!("mtu {}", plain()),
        (Kind::Link, 5) => format!("peer {}", plain()),
        (Kind::Link, 10) => format!("master {}", plain()),
        (Kind::Link, 13) => format!("txqueuelen {}", plain()),
        (Kind::Link, 40) => format!("gso_max_segs {}", plain()),
        (Kind::Link, 41 | 63) => format!("gso_max_size {}", plain()),
        (Kind::Link, 58 | 64) => format!("gro_max_size {}", plain()),
        (Kind::Route, 8) => metrics(value),
        (Kind::Qdisc | Kind::Class, _) => "other settings".into(),
        _ => format!("attribute {attribute} {}", plain()),
    }
}

fn metrics(bytes: &[u8]) -> String {
    let one = |(kind, value): (u16, &[u8])| {
        let name = METRICS.get(usize::from(kind).wrapping_sub(1)).copied().unwrap_or("metric");
        format!("{name} {}", if value.len() == 4 { number(value, 0).to_string() } else { cut(value) })
    };
    attributes(bytes).map(one).collect::<Vec<_>>().join(" ")
}

/// The beginning of a route as in ip-route(8).
fn destination(value: &Value) -> String {
    let header = value.get(&0).map(Vec::as_slice).unwrap_or_default();
    let to = value.get(&1).map_or_else(|| "default".into(), |to| format!("{}/{}", address(to), header[1]));
    let via = value.get(&5).map_or_else(String::new, |via| format!(" via {}", address(via)));
    format!("{to}{via}")
}

fn rule(bytes: &[u8]) -> String {
    let own = attributes(bytes.get(12..).unwrap_or_default());
    let numbers: Value = own.map(|(kind, value)| (kind, value.to_vec())).collect();
    let of = |kind: u16| numbers.get(&kind).filter(|value| value.len() == 4).map_or(0, |value| number(value, 0));
    // FRA_PRIORITY, FRA_TABLE
    format!("{} to table {}", of(6), of(15))
}

fn address(bytes: &[u8]) -> String {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Ipv4Addr::from(bytes).to_string();
    }
    <[u8; 16]>::try_from(bytes).map_or_else(|_| hex(bytes, ":"), |bytes| Ipv6Addr::from(bytes).to_string())
}

fn text(value: &Value, attribute: u16) -> String {
    value.get(&attribute).map_or_else(String::new, |bytes| cut(bytes))
}

fn cut(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').into()
}

fn hex(bytes: &[u8], between: &str) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between)
}
