//! The ECN field of an end's packets: what its controller wants, and what was negotiated.

use crate::cc::EcnUse;
use crate::packet::Ecn;

/// What packets carry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// How the controller uses ECN.
    pub ecn_use: EcnUse,
    /// Is it asked for?
    pub asks: bool,
    /// On new data.
    data: Ecn,
    /// On everything else: handshake, ACKs and retransmissions.
    pub other: Ecn,
}

impl Marks {
    /// Where the host's settings say whether to ask (`tcp_ecn`). A controller may need ECN whatever they are, and then
    /// handshakes are capable too (`tcp_ecn_send_syn`, and `tcp_v4_send_synack` with the listening socket's field).
    pub fn new(asks: bool, ecn_use: EcnUse) -> Self {
        let (data, other) = match ecn_use {
            EcnUse::Classic => (Ecn::Ect0, Ecn::NotEct),
            EcnUse::Mirrored => (Ecn::Ect0, Ecn::Ect0),
            EcnUse::Counted => (Ecn::Ect1, Ecn::Ect1),
        };
        Self { ecn_use, asks: asks || ecn_use != EcnUse::Classic, data, other }
    }

    /// ECN was refused.
    pub fn refused(&mut self) {
        self.other = Ecn::NotEct;
    }

    /// What a packet carries; `ect` is RFC 3168's word, for new data where ECN was negotiated.
    #[inline]
    pub fn of(self, ect: bool) -> Ecn {
        if ect { self.data } else { self.other }
    }
}
