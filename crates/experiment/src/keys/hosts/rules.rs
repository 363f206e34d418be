//! Rules of real hosts: each role has a host of its own.

use crate::declare::location::Report;
use crate::model::{Hosts, Router};

/// A device for each direction.
pub fn router(made: &Router, report: &mut Report<'_>) {
    if made.to_receiver == made.to_sender {
        report.fault("to_sender", "one device for both directions", "a router has a device on either side");
    }
}

/// Different hosts and addresses.
pub fn hosts(made: &Hosts, report: &mut Report<'_>) {
    let hint = "sender, receiver and router need distinct hosts";
    if made.receiver.ssh == made.sender.ssh {
        report.fault("receiver.ssh", "one host in two roles", hint);
    }
    let router = made.router.as_ref().map(|router| &router.ssh);
    if router.is_some_and(|router| *router == made.sender.ssh || *router == made.receiver.ssh) {
        report.fault("router.ssh", "one host in two roles", hint);
    }
    if made.sender.address.contains(':') != made.receiver.address.contains(':') {
        report.fault("receiver.address", "addresses of two families", "IPv4 at both ends, or IPv6 at both");
    }
    if made.sender.address == made.receiver.address {
        report.fault("receiver.address", "one address at both ends", "each end has an address of its own");
    }
}

impl Hosts {
    /// The destinations that ssh would call.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let router = self.router.as_ref().map(|router| &router.ssh);
        [&self.sender.ssh, &self.receiver.ssh].into_iter().chain(router).map(String::as_str)
    }
}
