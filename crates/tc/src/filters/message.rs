//! Filters as tc sends them (iproute2 `tc/f_*.c`, `tc/m_police.c`): more matches than the simulator has.

use super::route::{self, send_realms};
use super::{Action, FilterWords, Mirror, Police, priority, split_action, thirty_two_bits};
use crate::syntax::Wrong;
use crate::syntax::attributes::{AttributeBytes, NESTED, OPTIONS, Structure, unsent};
use crate::syntax::location::class_id;
use crate::syntax::rate_table::LinkRate;
use core::net::Ipv4Addr;

/// Types of Ethernet frames (`ETH_P_IP`, `ETH_P_ALL`).
const IP: u16 = 0x0800;
const ALL: u16 = 0x0003;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// `TCA_FW_*`.
mod fw {
    pub const CLASS: u16 = 1;
    pub const ACTION: u16 = 4;
    pub const MASK: u16 = 5;
}

/// `TCA_MATCHALL_*`.
mod matchall {
    pub const CLASS: u16 = 1;
    pub const ACTION: u16 = 2;
}

/// `TCA_U32_*`.
mod u32_match {
    pub const CLASS: u16 = 1;
    pub const SELECTOR: u16 = 5;
    pub const ACTION: u16 = 7;
    /// `TC_U32_TERMINAL`: a match ends the search.
    pub const TERMINAL: u8 = 1;
    pub const MAX_KEYS: usize = 128;
}

/// `TCA_FLOWER_*`.
mod flower {
    pub const CLASS: u16 = 1;
    pub const ACTION: u16 = 3;
    pub const ETHER_TYPE: u16 = 8;
    pub const IP_PROTOCOL: u16 = 9;
    /// Address and mask of the source, then of the destination.
    pub const SOURCE: u16 = 10;
    pub const DESTINATION: u16 = 12;
    pub const TCP_SOURCE: u16 = 18;
    pub const TCP_DESTINATION: u16 = 19;
    pub const UDP_SOURCE: u16 = 20;
    pub const UDP_DESTINATION: u16 = 21;
    pub const FLAGS: u16 = 22;
}

/// `TCA_ACT_*` and `TCA_POLICE_*`.
mod police {
    /// Actions are numbered from 1.
    pub const FIRST: u16 = 1;
    pub const KIND: u16 = 1;
    pub const OPTIONS: u16 = 2;
    pub const PARAMETERS: u16 = 1;
    pub const RATE_TABLE: u16 = 2;
    pub const PEAK_TABLE: u16 = 3;
    pub const RATE64: u16 = 8;
    pub const PEAK64: u16 = 9;
    /// `TC_POLICE_RECLASSIFY`, `TC_POLICE_SHOT`.
    pub const RECLASSIFY: u32 = 1;
    pub const DROP: u32 = 2;
}

/// `TCA_MIRRED_*`, `TC_ACT_*`.
mod mirred {
    pub const PARAMETERS: u16 = 2;
    pub const PIPE: u32 = 3;
    pub const STOLEN: u32 = 4;
}

/// Priority and protocol in `tcm_info`.
pub(crate) fn info(words: &FilterWords<'_>) -> Result<u32, Wrong> {
    let priority = words.priority.map_or(Ok(0), priority)?;
    let priority = u16::try_from(priority).map_err(|_| Wrong::new("a filter's priority is below 65536", "prio 1"))?;
    Ok(u32::from(priority) << 16 | u32::from(protocol(words).to_be()))
}

/// The same of a deletion, where a protocol that is not written is 0: any.
pub(crate) fn deleted_info(words: &FilterWords<'_>) -> Result<u32, Wrong> {
    Ok(if words.protocol.is_some() { info(words)? } else { info(words)? & !u32::from(u16::MAX) })
}

/// The handle of a filter to delete: a mark; 0: all of a priority.
pub(crate) fn deleted_handle(words: &FilterWords<'_>) -> Result<u32, Wrong> {
    match (words.handle, words.kind) {
        (None, _) => Ok(0),
        (Some(mark), "fw") => thirty_two_bits(mark),
        _ => Err(unsent("a filter's handle")),
    }
}

fn protocol(words: &FilterWords<'_>) -> u16 {
    if words.protocol == Some("ip") { IP } else { ALL }
}

/// Appends the options; the handle.
pub(crate) fn send(words: &FilterWords<'_>, to: &mut AttributeBytes) -> Result<u32, Wrong> {
    let (rest, action) = split_action(&words.rest)?;
    let (class, matches) = split_class(rest)?;
    let mut options = AttributeBytes::default();
    let (class_kind, action_kind) = match words.kind {
        "fw" => (fw::CLASS, fw::ACTION),
        "matchall" => (matchall::CLASS, matchall::ACTION),
        "u32" => (u32_match::CLASS, u32_match::ACTION),
        "route" => (route::CLASS, route::ACTION),
        _ => (flower::CLASS, flower::ACTION),
    };
    options.some_u32(class_kind, class);
    match action {
        Some(Action::Police(police)) => send_police(police, action_kind, &mut options),
        Some(Action::Mirror(mirror)) => send_mirror(mirror, action_kind, &mut options),
        None => {}
    }
    let handle = match words.kind {
        "fw" => send_mark(words.handle, &matches, &mut options)?,
        "matchall" if matches.is_empty() => plain_handle(words)?,
        "u32" => {
            options.bytes(u32_match::SELECTOR, &selector(&matches, class.is_some() || action.is_some())?);
            words.handle.map_or(Ok(0), key_handle)?
        }
        "flower" => {
            send_flower(words, &matches, &mut options)?;
            plain_handle(words)?
        }
        "route" => {
            let handle = send_realms(&matches, &mut options)?;
            words.handle.map_or(Ok(handle), thirty_two_bits)?
        }
        _ => return Err(unsent("these words of a filter")),
    };
    to.bytes(OPTIONS, options.as_bytes());
    Ok(handle)
}

/// The class that `flowid` or `classid` names, and the other words.
fn split_class<'a>(words: &[&'a str]) -> Result<(Option<u32>, Vec<&'a str>), Wrong> {
    let Some(index) = words.iter().position(|word| matches!(*word, "flowid" | "classid")) else {
        return Ok((None, words.to_vec()));
    };
    let class = words.get(index + 1).ok_or_else(|| unsent("a filter without a class"))?;
    Ok((Some(class_id(class)?), [&words[..index], &words[index + 2..]].concat()))
}

fn plain_handle(words: &FilterWords<'_>) -> Result<u32, Wrong> {
    words.handle.map_or(Ok(0), thirty_two_bits)
}

/// u32's handle: hash table, bucket and number in hexadecimal, `800:0:5`; each may be empty.
fn key_handle(word: &str) -> Result<u32, Wrong> {
    let wrong = || Wrong::new(format!("'{word}' is not a handle of u32"), "such as 800::5");
    let (table, rest) = word.split_once(':').ok_or_else(wrong)?;
    let (bucket, node) = rest.split_once(':').unwrap_or((rest, ""));
    let number = |digits: &str, bits: u32| match digits.strip_prefix("0x").unwrap_or(digits) {
        "" => Some(0),
        digits => u32::from_str_radix(digits, 16).ok().filter(|number| number >> bits == 0),
    };
    let parts = number(table, 12).zip(number(bucket, 8)).zip(number(node, 12));
    parts.map(|((table, bucket), node)| table << 20 | bucket << 12 | node).ok_or_else(wrong)
}

fn send_mark(handle: Option<&str>, matches: &[&str], options: &mut AttributeBytes) -> Result<u32, Wrong> {
    if !matches.is_empty() || options.as_bytes().is_empty() {
        return Err(unsent("these words of a filter"));
    }
    let Some(handle) = handle else { return Ok(0) };
    let (value, mask) = handle.split_once('/').map_or((handle, None), |(value, mask)| (value, Some(mask)));
    options.some_u32(fw::MASK, mask.map(thirty_two_bits).transpose()?);
    thirty_two_bits(value)
}

fn sixteen_bits(word: &str) -> Result<u16, Wrong> {
    u16::try_from(thirty_two_bits(word)?).map_err(|_| Wrong::new(format!("'{word}' does not fit 16 bits"), "a port"))
}

/// A mask, which tc always reads as hexadecimal.
fn mask(word: &str) -> Result<u32, Wrong> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u32::from_str_radix(digits, 16).map_err(|_| Wrong::new(format!("'{word}' is not a mask"), "such as 0xffff"))
}

/// An address and its mask.
fn network(word: &str) -> Result<(u32, u32), Wrong> {
    let wrong = || Wrong::new(format!("'{word}' is not an address"), "such as 10.0.0.1 or 10.0.0.0/24");
    let (address, bits) = word.split_once('/').unwrap_or((word, "32"));
    let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
    let bits = bits.parse::<u32>().ok().filter(|bits| *bits <= u32::BITS).ok_or_else(wrong)?;
    Ok((address.to_bits(), u32::MAX.checked_shl(u32::BITS - bits).unwrap_or(0)))
}

/// A word of 32 bits of the packet: value, mask, and its offset in bytes.
#[derive(Clone, Copy)]
struct Key {
    value: u32,
    mask: u32,
    offset: u32,
}

impl Key {
    /// A field of 32, 16 or 8 bits at any offset.
    fn field(bits: u32, value: u32, mask: u32, offset: u32) -> Result<Self, Wrong> {
        let shift = u32::BITS - bits - 8 * (offset % 4);
        let fits = |number: u32| bits == u32::BITS || number >> bits == 0;
        if !fits(value) || !fits(mask) {
            return Err(Wrong::new(format!("a value or mask of more than {bits} bits"), ""));
        }
        Ok(Self { value: (value & mask) << shift, mask: mask << shift, offset: offset - offset % 4 })
    }
}

/// `struct tc_u32_sel` with its keys.
fn selector(words: &[&str], is_terminal: bool) -> Result<Vec<u8>, Wrong> {
    let (mut keys, mut rest) = (Vec::<Key>::new(), words);
    while let ["match", kind @ ("ip" | "u32"), field, value, after @ ..] = rest {
        let (key, after) = if *kind == "ip" { ip_key(field, value, after)? } else { any_key(field, value, after)? };
        match keys.iter_mut().find(|other| other.offset == key.offset) {
            Some(other) if (other.value ^ key.value) & other.mask & key.mask != 0 => {
                return Err(Wrong::new("two matches that exclude each other", ""));
            }
            Some(other) => {
                (other.value, other.mask) = (other.value | key.value, other.mask | key.mask);
            }
            None => keys.push(key),
        }
        rest = after;
    }
    if !rest.is_empty() || keys.is_empty() || keys.len() > u32_match::MAX_KEYS {
        return Err(unsent("these matches of u32"));
    }
    let count = u8::try_from(keys.len()).expect("at most 128 keys");
    let flags = if is_terminal { u32_match::TERMINAL } else { 0 };
    let mut selector = Structure::default().u8(flags).u8(0).u8(count).u8(0).u32(0).u32(0).u32(0);
    for Key { value, mask, offset } in keys {
        selector = selector.u32(mask.to_be()).u32(value.to_be()).u32(offset).u32(0);
    }
    Ok(selector.finish())
}

/// A match of 32 bits anywhere behind the link's header; the words after it. `match u32 0 0` matches every packet.
fn any_key<'a, 'b>(value: &str, mask_word: &str, after: &'b [&'a str]) -> Result<(Key, &'b [&'a str]), Wrong> {
    let (value, mask) = (mask(value)?, mask(mask_word)?);
    let (offset, after) = match after {
        ["at", offset, after @ ..] => (thirty_two_bits(offset)?, after),
        _ => (0, after),
    };
    Ok((Key::field(32, value, mask, offset)?, after))
}

/// A match on the IPv4 header, or on the ports behind one without options; the words after it.
fn ip_key<'a, 'b>(field: &str, value: &str, after: &'b [&'a str]) -> Result<(Key, &'b [&'a str]), Wrong> {
    if let "src" | "dst" = field {
        let (address, mask) = network(value)?;
        return Ok((Key::field(32, address, mask, if field == "src" { 12 } else { 16 })?, after));
    }
    let [mask_word, after @ ..] = after else { return Err(unsent("a match without a mask")) };
    let (value, mask) = (thirty_two_bits(value)?, mask(mask_word)?);
    let key = match field {
        "tos" => Key::field(8, value, mask, 1),
        "protocol" => Key::field(8, value, mask, 9),
        "sport" => Key::field(16, value, mask, 20),
        "dport" => Key::field(16, value, mask, 22),
        _ => Err(unsent("this match of u32")),
    };
    Ok((key?, after))
}

fn send_flower(words: &FilterWords<'_>, matches: &[&str], to: &mut AttributeBytes) -> Result<(), Wrong> {
    if protocol(words) != IP && !matches.is_empty() {
        return Err(Wrong::new("flower matches addresses and ports of protocol ip only", "protocol ip"));
    }
    let (mut transport, mut rest) = (None, matches);
    while let [name, value, after @ ..] = rest {
        match (*name, transport) {
            ("ip_proto", None) => {
                let protocol = match *value {
                    "tcp" => TCP,
                    "udp" => UDP,
                    _ => return Err(unsent("this protocol of flower")),
                };
                to.u8(flower::IP_PROTOCOL, protocol);
                transport = Some(protocol);
            }
            ("src_ip", _) => send_network(flower::SOURCE, value, to)?,
            ("dst_ip", _) => send_network(flower::DESTINATION, value, to)?,
            ("src_port", Some(TCP)) => to.u16(flower::TCP_SOURCE, sixteen_bits(value)?.to_be()),
            ("dst_port", Some(TCP)) => to.u16(flower::TCP_DESTINATION, sixteen_bits(value)?.to_be()),
            ("src_port", Some(UDP)) => to.u16(flower::UDP_SOURCE, sixteen_bits(value)?.to_be()),
            ("dst_port", Some(UDP)) => to.u16(flower::UDP_DESTINATION, sixteen_bits(value)?.to_be()),
            _ => return Err(unsent("these matches of flower")),
        }
        rest = after;
    }
    if !rest.is_empty() {
        return Err(unsent("these matches of flower"));
    }
    to.u32(flower::FLAGS, 0);
    if protocol(words) == IP {
        to.u16(flower::ETHER_TYPE, IP.to_be());
    }
    Ok(())
}

fn send_network(kind: u16, word: &str, to: &mut AttributeBytes) -> Result<(), Wrong> {
    let (address, mask) = network(word)?;
    to.u32(kind, address.to_be());
    to.u32(kind + 1, mask.to_be());
    Ok(())
}

/// Stands for the index of the device in a message's attributes, until its host is known: no attribute has these bytes.
pub(crate) const MIRROR_INDEX: [u8; 4] = *b"\xFEdev";

/// The action of a filter: `mirred` (`struct tc_mirred`; iproute2 `tc/m_mirred.c`).
fn send_mirror(Mirror { redirects, arrive }: Mirror, kind: u16, to: &mut AttributeBytes) {
    let verdict = if redirects { mirred::STOLEN } else { mirred::PIPE };
    let way = match (arrive, redirects) {
        (false, true) => 1,
        (false, false) => 2,
        (true, true) => 3,
        (true, false) => 4,
    };
    let parameters = Structure::default().u32(0).u32(0).u32(verdict).u32(0).u32(0).u32(way).bytes(&MIRROR_INDEX);
    let parameters = parameters.finish();
    to.nested(kind, |to| {
        to.nested(police::FIRST, |to| {
            to.bytes(police::KIND, b"mirred\0");
            to.nested(police::OPTIONS | NESTED, |to| to.bytes(mirred::PARAMETERS, &parameters));
        });
    });
}

/// The action of a filter: one policer (`struct tc_police`).
fn send_police(words: Police, kind: u16, to: &mut AttributeBytes) {
    let mtu = words.mtu.unwrap_or(0);
    let link = |rate| LinkRate { rate, mtu, mpu: 0, overhead: 0 };
    let (rate, peak) = (link(words.rate), words.peak.map(link));
    let verdict = if words.drops { police::DROP } else { police::RECLASSIFY };
    let parameters = Structure::default().u32(0).u32(verdict).u32(0).u32(words.bucket).u32(mtu);
    let peak_bytes = peak.map_or_else(|| [0; 12].to_vec(), LinkRate::specification);
    let parameters = parameters.bytes(&rate.specification()).bytes(&peak_bytes).u32(0).u32(0).u32(0).finish();
    let send = |to: &mut AttributeBytes| {
        to.bytes(police::PARAMETERS, &parameters);
        to.bytes(police::RATE_TABLE, &rate.table());
        rate.wide().into_iter().for_each(|rate| to.u64(police::RATE64, rate));
        if let Some(peak) = peak {
            to.bytes(police::PEAK_TABLE, &peak.table());
            peak.wide().into_iter().for_each(|rate| to.u64(police::PEAK64, rate));
        }
    };
    to.nested(kind, |to| {
        to.nested(police::FIRST, |to| {
            to.bytes(police::KIND, b"police\0");
            to.nested(police::OPTIONS | NESTED, send);
        });
    });
}
