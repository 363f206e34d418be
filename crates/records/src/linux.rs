//! Structures of Linux in a record (`include/uapi/linux/{tcp,inet_diag}.h` of 6.12); an older kernel fills fewer bytes.

use crate::layout::record;

/// Netlink attribute of `struct tcpvegas_info` (`INET_DIAG_VEGASINFO`).
pub const VEGAS: u16 = 3;
/// Netlink attribute of `struct tcp_dctcp_info` (`INET_DIAG_DCTCPINFO`).
pub const DCTCP: u16 = 9;
/// Netlink attribute of `struct tcp_bbr_info` (`INET_DIAG_BBRINFO`).
pub const BBR: u16 = 16;

/// Names of `tcpi_ca_state`.
pub const CA_STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];
/// `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7FFF_FFFF;
/// `TCPI_OPT_ECN`.
pub const OPTION_ECN: u8 = 8;
/// `tcpi_min_rtt` before the first sample.
pub const NO_MIN_RTT: u32 = u32::MAX;
/// Unit of BBR's gains (`BBR_UNIT`).
pub const BBR_UNIT: f64 = 256.0;
/// Unit of DCTCP's alpha as it is shown (`DCTCP_MAX_ALPHA`).
pub const DCTCP_ALPHA_ONE: f64 = 1024.0;

record! {
    /// `struct tcp_info`, without the prefix `tcpi_`. Times are in microseconds, rates in bytes per second.
    TcpInfo {
        /// TCP state.
        state: u8,
        /// State of congestion control.
        ca_state: u8,
        /// Retransmissions of the first unacknowledged packet.
        retransmits: u8,
        /// Probes of a closed window.
        probes: u8,
        /// Doublings of the retransmission timeout.
        backoff: u8,
        /// Negotiated options.
        options: u8,
        /// Scales of both windows.
        wscale: u8,
        /// Bit 0: the last rate sample was limited by the application.
        flags: u8,
        /// Retransmission timeout.
        rto: u32,
        /// Timeout of delayed ACKs.
        ato: u32,
        /// Largest segment sent.
        snd_mss: u32,
        /// Largest segment received, as estimated.
        rcv_mss: u32,
        /// Packets in flight or lost.
        unacked: u32,
        /// Packets that SACK acknowledges.
        sacked: u32,
        /// Packets marked as lost.
        lost: u32,
        /// Retransmissions in flight.
        retrans: u32,
        /// Always 0 since FACK went.
        fackets: u32,
        /// Milliseconds since data was sent.
        last_data_sent: u32,
        /// Not remembered.
        last_ack_sent: u32,
        /// Milliseconds since data arrived.
        last_data_recv: u32,
        /// Milliseconds since an ACK arrived.
        last_ack_recv: u32,
        /// Path MTU.
        pmtu: u32,
        /// Slow-start threshold of the receive window.
        rcv_ssthresh: u32,
        /// Smoothed RTT.
        rtt: u32,
        /// Mean deviation of the RTT.
        rttvar: u32,
        /// Slow-start threshold, in packets.
        snd_ssthresh: u32,
        /// Congestion window, in packets.
        snd_cwnd: u32,
        /// Advertised MSS.
        advmss: u32,
        /// Reordering metric.
        reordering: u32,
        /// The receiver's RTT.
        rcv_rtt: u32,
        /// The receiver's space of autotuning.
        rcv_space: u32,
        /// Retransmissions of the connection.
        total_retrans: u32,
        /// Pacing rate; all ones: none.
        pacing_rate: u64,
        /// Its limit.
        max_pacing_rate: u64,
        /// Bytes acknowledged.
        bytes_acked: u64,
        /// Bytes received in order.
        bytes_received: u64,
        /// Segments sent.
        segs_out: u32,
        /// Segments received.
        segs_in: u32,
        /// Bytes in the send buffer that were not sent.
        notsent_bytes: u32,
        /// Smallest RTT.
        min_rtt: u32,
        /// Segments with data received.
        data_segs_in: u32,
        /// Segments with data sent.
        data_segs_out: u32,
        /// Rate of the last sample.
        delivery_rate: u64,
        /// Time with data to send.
        busy_time: u64,
        /// Of which the peer's window limited.
        rwnd_limited: u64,
        /// Of which the send buffer limited.
        sndbuf_limited: u64,
        /// Packets delivered.
        delivered: u32,
        /// Of which with CE marks.
        delivered_ce: u32,
        /// Payload bytes sent, retransmissions included.
        bytes_sent: u64,
        /// Payload bytes retransmitted.
        bytes_retrans: u64,
        /// DSACKs received.
        dsack_dups: u32,
        /// Times that reordering was seen.
        reord_seen: u32,
        /// Packets received out of order.
        rcv_ooopack: u32,
        /// The peer's window.
        snd_wnd: u32,
        /// The own window.
        rcv_wnd: u32,
        /// Changes of the flow's hash.
        rehash: u32,
        /// Retransmission timeouts.
        total_rto: u16,
        /// Recoveries from them.
        total_rto_recoveries: u16,
        /// Time in them, in milliseconds.
        total_rto_time: u32,
    }
}

record! {
    /// `struct tcp_bbr_info`.
    BbrInfo {
        /// Estimated bandwidth in bytes per second, low half.
        bw_lo: u32,
        /// High half.
        bw_hi: u32,
        /// Smallest RTT, in microseconds.
        min_rtt: u32,
        /// In units of 1/256.
        pacing_gain: u32,
        /// In units of 1/256.
        cwnd_gain: u32,
    }
}

record! {
    /// `struct tcp_dctcp_info`.
    DctcpInfo {
        /// Whether ECN was negotiated.
        enabled: u16,
        /// Whether the last packet had a CE mark.
        ce_state: u16,
        /// In units of 1/1024.
        alpha: u32,
        /// Acknowledged bytes with marks.
        ab_ecn: u32,
        /// Acknowledged bytes.
        ab_tot: u32,
    }
}

record! {
    /// `struct tcpvegas_info`; times in microseconds.
    VegasInfo {
        /// Whether it is in use.
        enabled: u32,
        /// RTT samples of this round.
        rttcnt: u32,
        /// Last RTT.
        rtt: u32,
        /// Smallest RTT of this round.
        minrtt: u32,
    }
}
