//! What is sent: flows and probes.

use crate::waits::Wait;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Declares an enum of words.
macro_rules! words {
    (
        $(#[$doc:meta])+
        pub enum $name:ident { $($(#[$word_doc:meta])+ $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$word_doc])+ $variant,)+ }

        impl $name {
            /// Each, in this order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
            /// Their words, in this order.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word in files.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

words! {
    /// Kinds of flows.
    pub enum Transport {
        /// A controller decides how much is sent.
        Tcp = "tcp",
        /// A constant rate.
        Udp = "udp",
        /// Programs of a QUIC stack: the sending host's is the server.
        Quic = "quic",
    }
}

words! {
    /// Kinds of probes.
    pub enum ProbeKind {
        /// ICMP echo; the kernel answers.
        Ping = "ping",
        /// UDP; the agent answers.
        Udp = "udp",
    }
}

words! {
    /// Where a flow's data goes.
    pub enum Direction {
        /// From the sending host to the receiving host.
        Forward = "forward",
        /// Back: from the receiving host to the sending host.
        Reverse = "reverse",
    }
}

words! {
    /// Explicit congestion notification of TCP, and of UDP's packets.
    pub enum Ecn {
        /// As Linux has it: only controllers that need ECN ask for it.
        Auto = "auto",
        /// Neither asked for nor accepted.
        Off = "off",
        /// RFC 3168.
        Classic = "classic",
        /// Accurate ECN (RFC 9768).
        AccEcn = "accecn",
    }
}

/// A controller's parameter, as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterValue {
    /// A whole number.
    Number(u64),
    /// A word, a time or a rate.
    Word(String),
}

/// Which ends of a flow or probe are on this host.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// Both, as in a guest.
    #[default]
    Both,
    /// Only the sender, or a probe's client.
    Sender,
    /// Only the receiver, or a probe's server; no other flow uses its port.
    Receiver,
}

impl Ends {
    /// Is the sender on this host?
    #[must_use]
    pub fn sends(self) -> bool {
        self != Self::Receiver
    }

    /// Is the receiver on this host?
    #[must_use]
    pub fn receives(self) -> bool {
        self != Self::Sender
    }
}

/// One flow. Times are since the experiment's start.
///
/// What an agent does not need is not in its file: group, parameters of the controller (set before the run), RTT.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name in the result.
    pub name: String,
    /// Name of its group.
    #[serde(skip)]
    pub group: String,
    /// TCP, UDP or QUIC.
    pub transport: Transport,
    /// The stack, for QUIC ([`crate::stacks`]).
    #[serde(skip)]
    pub stack: Option<String>,
    /// Sending host.
    pub sender: String,
    /// Receiving host.
    pub receiver: String,
    /// Address of the receiver.
    pub address: IpAddr,
    /// Port of the receiver; for QUIC of the sender, which is the server.
    pub port: u16,
    /// Congestion control, for TCP and QUIC.
    pub cc: Option<String>,
    /// Parameters of its controller, as written.
    #[serde(skip)]
    pub cc_parameters: Vec<(String, ParameterValue)>,
    /// When it starts; since the completion of others if it waits for them.
    pub start_ns: u64,
    /// Others that it waits for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait: Wait,
    /// When it stops sending; None: at the end.
    pub stop_ns: Option<u64>,
    /// Size; None: unlimited.
    pub bytes: Option<u64>,
    /// Send for `on_ns`, pause for `off_ns`, repeat.
    pub on_off_ns: Option<(u64, u64)>,
    /// Request/response instead of bulk.
    pub exchange: Option<Exchange>,
    /// Fixed send buffer.
    pub sndbuf: Option<u64>,
    /// Fixed receive buffer.
    pub rcvbuf: Option<u64>,
    /// Read each segment when it arrives, like most applications, instead of in large pieces.
    pub prompt_reads: bool,
    /// `SO_MAX_PACING_RATE`, bytes per second.
    pub pacing_rate: Option<u64>,
    /// `SO_MARK` of the sender's socket.
    pub mark: Option<u32>,
    /// Payload bytes of a UDP packet.
    pub packet: Option<u32>,
    /// Interval between UDP packets.
    pub interval_ns: Option<u64>,
    /// Whether UDP packets are ECN-capable (ECT(0)); TCP's are as host and controller have it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn: bool,
    /// Propagation delay there and back, the longest of the run.
    #[serde(skip)]
    pub rtt_ns: u64,
    /// Which ends are on this host.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends: Ends,
    /// Address of a sender on another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<IpAddr>,
}

/// The receiver sends a request, the sender responds, the receiver pauses and repeats.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of a response.
    pub response: u64,
    /// Pause after a response.
    pub think_ns: u64,
}

/// Probes sent every `interval_ns` from `start_ns` on.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Ping or UDP.
    pub kind: ProbeKind,
    /// Host of the client.
    pub sender: String,
    /// Host of the server.
    pub receiver: String,
    /// Address of the server.
    pub address: IpAddr,
    /// UDP port of the server.
    pub port: u16,
    /// First probe.
    pub start_ns: u64,
    /// Time between probes.
    pub interval_ns: u64,
    /// Payload bytes.
    pub payload: u32,
    /// Which ends are on this host.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends: Ends,
}

/// Whether a value is left out of a file.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
