//! A plan on real hosts.

use crate::agent::{AgentOptions, AgentPlan};
use crate::settings::Conflict;
use crate::{Ends, Plan};
use std::net::IpAddr;

/// What a real host is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends.
    Sender,
    /// It has the bottleneck.
    Router,
    /// It receives.
    Receiver,
}

impl Role {
    /// As experiments and messages name it; hosts of the plan have these names.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Router => "router",
            Self::Receiver => "receiver",
        }
    }
}

/// One real host.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteHost {
    /// What it is for.
    pub role: Role,
    /// What ssh calls.
    pub ssh: String,
    /// The only devices that tc changes.
    pub devices: Vec<String>,
    /// Address of the device under test; None: a router.
    pub address: Option<IpAddr>,
}

/// A plan whose hosts are real.
#[derive(Clone, Debug)]
pub struct RemotePlan {
    /// The plan; its hosts are roles.
    pub plan: Plan,
    /// The hosts.
    pub hosts: Vec<RemoteHost>,
}

impl RemotePlan {
    /// `plan.json` for the agent of one host, which knows no host's name.
    ///
    /// # Errors
    ///
    /// Two groups set the same kernel module differently.
    pub fn for_agent(&self, role: Role, options: &AgentOptions) -> Result<AgentPlan, Conflict> {
        let host = |role: Role| self.hosts.iter().find(|host| host.role == role);
        let devices = host(role).map(|host| host.devices.clone()).unwrap_or_default();
        let (ends, from) = match role {
            Role::Sender => (Some(Ends::Sender), None),
            Role::Router => (None, None),
            Role::Receiver => (Some(Ends::Receiver), host(Role::Sender).and_then(|sender| sender.address)),
        };
        Ok(self.plan.for_agent(options)?.of_host(role.word(), devices, ends, from))
    }
}
