//! The ECN field of an endpoint's packets, from what its controller needs and what was negotiated.

use crate::cc::EcnUse;
use crate::packet::Ecn;

/// ECN fields by type of packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// How the controller uses ECN.
    pub ecn_use: EcnUse,
    /// Is ECN requested?
    pub requests_ecn: bool,
    /// For new data.
    data: Ecn,
    /// For everything else: handshake, ACKs and retransmissions.
    pub other: Ecn,
}

impl Marks {
    /// `requests_ecn`: the host's setting (`tcp_ecn`). If the controller needs ECN, it is requested in any case, and
    /// the handshake's packets are ECN-capable too (`tcp_ecn_send_syn`, and `tcp_v4_send_synack` with the listening
    /// socket's field).
    pub fn new(requests_ecn: bool, ecn_use: EcnUse) -> Self {
        let (data, other) = match ecn_use {
            EcnUse::Classic => (Ecn::Ect0, Ecn::NotEct),
            EcnUse::Mirrored => (Ecn::Ect0, Ecn::Ect0),
            EcnUse::Counted => (Ecn::Ect1, Ecn::Ect1),
        };
        Self { ecn_use, requests_ecn: requests_ecn || ecn_use != EcnUse::Classic, data, other }
    }

    /// ECN was refused.
    pub fn refused(&mut self) {
        self.other = Ecn::NotEct;
    }

    /// The ECN field of a packet; `ect`: new data with ECN negotiated (RFC 3168).
    #[inline]
    pub fn of(self, ect: bool) -> Ecn {
        if ect { self.data } else { self.other }
    }
}
