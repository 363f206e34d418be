//! What the keys of real hosts hold: ssh destinations, addresses, devices.

use super::spec::Shape;
use super::{Simple, simple};
use crate::draw::Draw;
use crate::value::Value;
use core::net::IpAddr;
use dumbbell_tc::Wrong;

/// `[user@]host`, or a URI with a port: no white space, nothing that a shell knows, and neither a user nor a host that
/// begins with a dash. No `%` in a URI, where ssh would read it as the code of any character.
#[derive(Debug)]
pub struct Target;

impl Simple for Target {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let target = value.text().filter(|text| is_target(text));
        let hint = "what one types to ssh: \"root@192.0.2.1\", or an alias of ~/.ssh/config";
        target.map(String::from).ok_or_else(|| Wrong::new("not a host that ssh knows", hint))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Shape::new("ssh", "str", [("type", "string".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["root@192.0.2.1", "lab", "ssh://root@lab:2222", "root@[fe80::1%eth0]"]).into()
    }
}

fn is_target(text: &str) -> bool {
    let is_name = |text: &str| is_word(text, b"_", b"_.-");
    let split = |text: &str| -> Option<String> {
        // Every user name must be one; the last part is the host.
        let mut parts: Vec<_> = text.split('@').collect();
        let host = parts.pop()?;
        parts.iter().all(|user| is_word(user, b"_", b"_.+-")).then(|| host.to_owned())
    };
    if text.is_empty() || text.len() > 255 {
        return false;
    }
    if let Some(rest) = text.strip_prefix("ssh://") {
        return split(rest).is_some_and(|host| {
            let (name, port) = host.split_once(':').unwrap_or((&host, "0"));
            is_name(name) && (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit())
        });
    }
    split(text).is_some_and(|host| {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        is_name(&host) || is_ipv6(inner.unwrap_or(&host))
    })
}

fn is_word(text: &str, first: &[u8], rest: &[u8]) -> bool {
    let is_in = |byte: u8, signs: &[u8]| byte.is_ascii_alphanumeric() || signs.contains(&byte);
    text.bytes().next().is_some_and(|byte| is_in(byte, first)) && text.bytes().all(|byte| is_in(byte, rest))
}

/// The characters of an IPv6 address, with a zone.
fn is_ipv6(text: &str) -> bool {
    let (address, zone) = text.split_once('%').unwrap_or((text, "0"));
    let is_inner = |byte: u8| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.';
    address.bytes().next().is_some_and(|byte| byte != b'.')
        && address.bytes().all(is_inner)
        && is_word(zone, b"_", b"_.-")
}

/// A device, as `dev_valid_name` (net/core/dev.c) has it, without what would need quotes.
#[derive(Debug)]
pub struct Device;

impl Simple for Device {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_.@:-".contains(&byte);
        let is_device =
            |text: &&str| (1..=15).contains(&text.len()) && !text.starts_with(['.', '-']) && text.bytes().all(is_inner);
        let device = value.text().filter(is_device).map(String::from);
        device.ok_or_else(|| Wrong::new("not the name of a device", "as ip link shows it, such as \"eth1\""))
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Shape::new("device", "str", [("type", "string".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["eth0", "eth1", "enp3s0f1.7"]).into()
    }
}

/// An IP address of a device.
#[derive(Debug)]
pub struct Address;

impl Simple for Address {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let hint = "the address of the device under test, such as \"192.168.7.1\" or \"2001:db8::1\"";
        match value.text().and_then(|text| text.parse().ok()) {
            None => Err(Wrong::new("not an IP address", hint)),
            Some(address) if !is_of_a_device(address) => {
                Err(Wrong::new("not an address of a device on a network", hint))
            }
            Some(address) => Ok(address.to_string()),
        }
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Shape::new("address", "str", [("type", "string".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["192.168.7.1", "192.168.7.2", "10.0.0.9", "2001:db8::7"]).into()
    }
}

/// Whether it is neither unspecified nor for multicast, for this host or reserved (240.0.0.0/4), nor one that is complete
/// only with its device (link-local) or that stands for another (IPv4-mapped).
const fn is_of_a_device(address: IpAddr) -> bool {
    let is_special = match address {
        IpAddr::V4(address) => address.octets()[0] >= 240,
        IpAddr::V6(address) => address.is_unicast_link_local() || address.to_ipv4_mapped().is_some(),
    };
    !(is_special || address.is_unspecified() || address.is_multicast() || address.is_loopback())
}

simple!(Target, Device, Address);
