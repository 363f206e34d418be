//! A host's links, addresses, routes, rules, neighbours, qdiscs and classes from rtnetlink, in comparable form:
//! without counters and ages (Linux include/uapi/linux/rtnetlink.h and related headers).

use crate::sample::netlink::{Answer, attributes, number};
use std::collections::BTreeMap;

/// Type of an object. The last three are not dumped, only their notifications are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A device.
    Link,
    /// An address of a device.
    Address,
    /// A route, in any table.
    Route,
    /// A rule that chooses a table.
    Rule,
    /// A static neighbour entry; Linux manages the others itself.
    Neighbour,
    /// A qdisc.
    Qdisc,
    /// A class with options.
    Class,
    /// A filter, filter chain or action.
    Filter,
    /// A shared next hop.
    NextHop,
    /// `forwarding`, `rp_filter` and similar settings of a device.
    NetConf,
}

/// Identifies an object in its host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub kind: Kind,
    pub id: Vec<u8>,
}

/// Attributes by number; 0 is the header.
pub type Value = BTreeMap<u16, Vec<u8>>;

/// All objects of a host.
pub type Objects = BTreeMap<Key, Value>;

/// Content of a message.
pub enum News {
    /// The object's current state.
    Is(Key, Value),
    /// The object was deleted.
    Gone(Key),
    /// A change that the attributes don't show.
    Happened(Key, &'static str),
}

/// Kinds that are dumped, with request number and header length.
pub const LISTED: [(Kind, u16, usize); 6] = [
    (Kind::Link, 18, 16),
    (Kind::Address, 22, 8),
    (Kind::Route, 26, 12),
    (Kind::Rule, 34, 12),
    (Kind::Neighbour, 30, 12),
    (Kind::Qdisc, 38, TC_HEADER),
];
/// `RTM_GETTCLASS`, one device per dump.
pub const LIST_CLASSES: (u16, usize) = (42, TC_HEADER);
const TC_HEADER: usize = 20;

/// `RTNLGRP_*` LINK, NEIGH, TC, `IPV4_IFADDR`, `IPV4_ROUTE`, `IPV4_RULE`, `IPV6_IFADDR`, `IPV6_ROUTE`, `IPV6_RULE`,
/// `IPV4_NETCONF`, NEXTHOP; group 1 is bit 0.
pub const GROUPS: u32 = 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 18 | 1 << 23 | 1 << 31;

/// `IFF_UP`, `IFF_NOARP`, `IFF_LOWER_UP`. Not promiscuous mode, which changes no packets.
const LINK_FLAGS: u32 = 1 | 0x80 | 0x1_0000;
/// ADDRESS, IFNAME, MTU, LINK, MASTER, TXQLEN, GSO and GRO sizes, XDP.
const LINK_ATTRIBUTES: [u16; 12] = [1, IFLA_IFNAME, 4, 5, 10, 13, 40, 41, 43, 58, 63, 64];
pub const IFLA_IFNAME: u16 = 3;
const IFLA_EVENT: u16 = 44;
const IFLA_EVENT_FEATURES: u32 = 2;
/// ADDRESS, LOCAL, LABEL, BROADCAST. Not the flags: IPv6 addresses have transient ones.
const ADDRESS_ATTRIBUTES: [u16; 4] = [1, 2, 3, 4];
const RTA_CACHEINFO: u16 = 12;
/// Attributes that identify a route: DST, OIF, GATEWAY, PRIORITY, TABLE.
const ROUTE_ID: [u16; 5] = [1, 4, 5, 6, 15];
/// Cached copies of routes.
const RTM_F_CLONED: u32 = 0x200;
const NUD_PERMANENT: u8 = 0x80;
const NTF_PROXY: u8 = 8;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
pub const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// KIND, OPTIONS, STAB, `INGRESS_BLOCK`, `EGRESS_BLOCK`.
const TC_ATTRIBUTES: [u16; 5] = [TCA_KIND, TCA_OPTIONS, 8, 13, 14];

/// Parses a message; None if it is not about the path.
pub fn read(answer: &Answer<'_>) -> Option<News> {
    let bytes = answer.payload;
    let (kind, is_deleted, (id, value)) = match answer.kind {
        16 | 17 => {
            if let Some(notifications) = features(bytes) {
                return Some(notifications);
            }
            (Kind::Link, answer.kind == 17, link(bytes)?)
        }
        20 | 21 => (Kind::Address, answer.kind == 21, address(bytes)?),
        24 | 25 => (Kind::Route, answer.kind == 25, route(bytes)?),
        32 | 33 => (Kind::Rule, answer.kind == 33, (bytes.to_vec(), Value::new())),
        28 | 29 => return neighbour(bytes, answer.kind == 29),
        36 | 37 => (Kind::Qdisc, answer.kind == 37, scheduler(bytes)?),
        40 | 41 => return class(bytes, answer.kind == 41),
        44 | 45 | 48 | 49 | 100 | 101 => {
            return Some(happened(Kind::Filter, device_of(bytes, 4), changed(answer.kind)));
        }
        104 | 105 => return Some(happened(Kind::NextHop, Vec::new(), changed(answer.kind))),
        80 | 81 => return Some(happened(Kind::NetConf, Vec::new(), "changed")),
        _ => return None,
    };
    let key = Key { kind, id };
    Some(if is_deleted { News::Gone(key) } else { News::Is(key, value) })
}

/// Device index, if the object's identity starts with it.
pub fn index(key: &Key) -> Option<u32> {
    let on_device = !matches!(key.kind, Kind::Route | Kind::Rule | Kind::NextHop | Kind::NetConf);
    (on_device && key.id.len() >= 4).then(|| number(&key.id, 0))
}

/// In rtnetlink, odd message types delete.
fn changed(kind: u16) -> &'static str {
    if kind.is_multiple_of(2) { "added or changed" } else { "deleted" }
}

fn happened(kind: Kind, id: Vec<u8>, what: &'static str) -> News {
    News::Happened(Key { kind, id }, what)
}

fn device_of(bytes: &[u8], at: usize) -> Vec<u8> {
    bytes.get(at..at + 4).map(<[u8]>::to_vec).unwrap_or_default()
}

fn select(bytes: &[u8], which: &[u16]) -> Value {
    let all = attributes(bytes).map(|(kind, value)| (kind & 0x3fff, value));
    all.filter(|(kind, _)| which.contains(kind)).map(|(kind, value)| (kind, value.to_vec())).collect()
}

fn link(bytes: &[u8]) -> Option<(Vec<u8>, Value)> {
    let rest = bytes.get(16..)?;
    // Only AF_UNSPEC; other families are messages of bridges and the like.
    if bytes[0] != 0 {
        return None;
    }
    let mut value = select(rest, &LINK_ATTRIBUTES);
    value.insert(0, (number(bytes, 8) & LINK_FLAGS).to_ne_bytes().to_vec());
    Some((bytes[4..8].to_vec(), value))
}

/// `ethtool -K`: the message has the event but not the features.
fn features(bytes: &[u8]) -> Option<News> {
    let event = attributes(bytes.get(16..)?).find(|(kind, _)| *kind == IFLA_EVENT)?.1;
    let it_is = event.len() == 4 && number(event, 0) == IFLA_EVENT_FEATURES;
    it_is.then(|| {
        News::Happened(Key { kind: Kind::Link, id: bytes[4..8].to_vec() }, "its offloads (ethtool -k) changed")
    })
}

fn address(bytes: &[u8]) -> Option<(Vec<u8>, Value)> {
    let value = select(bytes.get(8..)?, &ADDRESS_ATTRIBUTES);
    // Index, family, prefix length, address.
    let mut id = bytes[4..8].to_vec();
    id.extend(&bytes[..2]);
    id.extend(value.get(&2).or(value.get(&1))?);
    Some((id, value))
}

fn route(bytes: &[u8]) -> Option<(Vec<u8>, Value)> {
    let rest = bytes.get(12..)?;
    if number(bytes, 8) & RTM_F_CLONED != 0 {
        return None;
    }
    let mut value: Value = attributes(rest).map(|(kind, value)| (kind & 0x3fff, value.to_vec())).collect();
    value.remove(&RTA_CACHEINFO);
    // All but the flags, which depend on the device's state.
    value.insert(0, bytes[..8].to_vec());
    let mut id = bytes[..4].to_vec();
    for kind in ROUTE_ID {
        let bytes = value.get(&kind).map(Vec::as_slice).unwrap_or_default();
        id.push(u8::try_from(bytes.len()).ok()?);
        id.extend(bytes);
    }
    Some((id, value))
}

fn neighbour(bytes: &[u8], is_deleted: bool) -> Option<News> {
    let value = select(bytes.get(12..)?, &[NDA_LLADDR]);
    let destination = attributes(&bytes[12..]).find(|(kind, _)| *kind == NDA_DST)?.1;
    let mut id = bytes[4..8].to_vec();
    id.push(bytes[0]);
    id.push(bytes[10] & NTF_PROXY);
    id.extend(destination);
    let key = Key { kind: Kind::Neighbour, id };
    // An entry that is no longer static counts as deleted: Linux may replace learned ones.
    let is_set = bytes[8] & NUD_PERMANENT != 0 || bytes[10] & NTF_PROXY != 0;
    Some(if is_deleted || !is_set { News::Gone(key) } else { News::Is(key, value) })
}

/// A qdisc or class, identified by index, handle and parent.
fn scheduler(bytes: &[u8]) -> Option<(Vec<u8>, Value)> {
    let mut value = select(bytes.get(TC_HEADER..)?, &TC_ATTRIBUTES);
    let kind = value.get(&TCA_KIND).cloned().unwrap_or_default();
    if let Some(options) = value.get_mut(&TCA_OPTIONS) {
        *options = comparable(&kind, options);
    }
    Some((bytes[4..16].to_vec(), value))
}

/// Ignores classes without options: qdiscs create them per flow.
fn class(bytes: &[u8], is_deleted: bool) -> Option<News> {
    let (id, value) = scheduler(bytes)?;
    let key = Key { kind: Kind::Class, id };
    if is_deleted {
        return Some(News::Gone(key));
    }
    value.contains_key(&TCA_OPTIONS).then_some(News::Is(key, value))
}

/// A qdisc's options without counters and values that it adapts by itself (`*_dump` in net/sched).
fn comparable(kind: &[u8], options: &[u8]) -> Vec<u8> {
    let has = |attribute: u16| attributes(options).find(|(number, _)| *number == attribute).map(|(_, value)| value);
    match kind {
        // TCA_HTB_INIT ends with direct_pkts, the count of unclassified packets.
        b"htb\0" => {
            map_attributes(options, |number, value| if number == 2 { &value[..value.len().min(16)] } else { value })
        }
        // After 48 bytes of options come the drop counters of its RED.
        b"sfq\0" => options[..options.len().min(48)].to_vec(),
        // Adaptive RED changes TCA_RED_MAX_P; the flags are the last byte of TCA_RED_PARMS.
        b"red\0" if has(1).is_some_and(|parameters| parameters.get(15).is_some_and(|flags| flags & 4 != 0)) => {
            map_attributes(options, |number, value| if number == 3 { &[] } else { value })
        }
        // `autorate-ingress` (TCA_CAKE_AUTORATE) moves TCA_CAKE_BASE_RATE64.
        b"cake\0" if has(9).is_some_and(|value| value.iter().any(|&byte| byte != 0)) => {
            map_attributes(options, |number, value| if number == 2 { &[] } else { value })
        }
        // Options are mixed with averages and backlogs.
        b"gred\0" => Vec::new(),
        _ => options.to_vec(),
    }
}

fn map_attributes<'a>(options: &'a [u8], map: impl Fn(u16, &'a [u8]) -> &'a [u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for (number, value) in attributes(options) {
        all.extend(number.to_ne_bytes());
        all.extend(map(number & 0x3fff, value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = u16::try_from(4 + value.len()).expect("it is short").to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes
    }

    #[test]
    fn htb_counters_are_ignored_and_its_default_class_is_compared() {
        let htb = |default: u8, counted: u8| {
            let mut global = [0; 20];
            (global[8], global[16]) = (default, counted);
            comparable(b"htb\0", &attribute(2, &global))
        };
        assert_eq!(htb(1, 0), htb(1, 9));
        assert_ne!(htb(1, 0), htb(2, 0));
    }

    #[test]
    fn red_max_p_is_compared_unless_adaptive() {
        let red = |flags: u8, most: u8| {
            let mut parameters = [0; 16];
            parameters[15] = flags;
            comparable(b"red\0", &[attribute(1, &parameters), attribute(3, &[most, 0, 0, 0])].concat())
        };
        assert_ne!(red(0, 1), red(0, 2));
        assert_eq!(red(4, 1), red(4, 2));
    }

    #[test]
    fn learned_neighbours_are_ignored() {
        let mut message = vec![2, 0, 0, 0, 7, 0, 0, 0, NUD_PERMANENT, 0, 0, 1];
        message.extend(attribute(NDA_DST, &[10, 0, 1, 2]));
        assert!(matches!(neighbour(&message, false), Some(News::Is(..))));
        message[8] = 2;
        assert!(matches!(neighbour(&message, false), Some(News::Gone(_))));
    }
}
