//! The columns of every table of a result: the only declaration of their names, types, units and sources.
//!
//! `docs/result.md` lists them, Python takes its schemas from them (`dumbbell.results.tables`), and `crates/sim` and
//! the readers of the agent's records are checked against them. How a value is read from a kernel's structure is in
//! `crates/records` and `dumbbell.linux`.

/// The version of a result's tables, which each file states in its metadata: it grows when a column goes or changes its
/// meaning.
pub const FORMAT: &str = "1";

/// The type of a column, as polars calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit signed.
    Int64,
    /// 32-bit unsigned.
    UInt32,
    /// 16-bit unsigned.
    UInt16,
    /// 8-bit unsigned.
    UInt8,
    /// Double precision.
    Float64,
    /// True or false.
    Boolean,
    /// UTF-8.
    String,
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name; ends in its unit.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Unit; empty for names and counts of no unit.
    pub unit: &'static str,
    /// Where a kernel has it, and what it means; Markdown.
    pub about: &'static str,
}

/// One table.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// Its file is `NAME.parquet`.
    pub name: &'static str,
    /// Its columns in order; the first is time.
    pub columns: &'static [Column],
    /// Columns that identify a row's flow, queue or probe; never null.
    pub identity: &'static [&'static str],
    /// Whether every result has it; the others are recorded on request.
    pub is_always: bool,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int64 => "Int64",
            Self::UInt32 => "UInt32",
            Self::UInt16 => "UInt16",
            Self::UInt8 => "UInt8",
            Self::Float64 => "Float64",
            Self::Boolean => "Boolean",
            Self::String => "String",
        }
    }
}

/// Every table of a result.
pub const TABLES: [Declared; 6] = [
    Declared { name: "flows", columns: &FLOWS, identity: &["flow", "group"], is_always: true },
    Declared { name: "queues", columns: &QUEUES, identity: &["queue", "kind"], is_always: true },
    Declared { name: "probes", columns: &PROBES, identity: &["probe", "kind"], is_always: true },
    Declared { name: "counters", columns: &COUNTERS, identity: &[], is_always: false },
    Declared { name: "sockets", columns: &SOCKETS, identity: &[], is_always: false },
    Declared { name: "trace", columns: &TRACE, identity: &[], is_always: false },
];

/// Older names of columns, which results of earlier versions have: table, older, today's.
pub const OLDER: [(&str, &str, &str); 3] = [
    ("probes", "sent_ns", "time_ns"),
    ("sockets", "retransmits", "retrans_timer"),
    ("sockets", "forward_bytes", "fwd_alloc_bytes"),
];

use Kind::{Boolean, Float64, Int64, String, UInt8, UInt16, UInt32};

const fn column(name: &'static str, kind: Kind, unit: &'static str, about: &'static str) -> Column {
    Column { name, kind, unit, about }
}

const FLOWS: [Column; 59] = [
    column("time_ns", Int64, "ns", "time of the sample"),
    column("flow", String, "", "name of the flow"),
    column("group", String, "", "name of its group"),
    column("state", UInt8, "", "`tcpi_state`: TCP state"),
    column("ca_state", String, "", "`tcpi_ca_state`: `open` `disorder` `cwr` `recovery` `loss`"),
    column(
        "cc_phase",
        String,
        "",
        "phase of the controller, such as `slow_start`, `probe_bw` or `probe_bw_up`; simulator only",
    ),
    column("cwnd_packets", UInt32, "packets", "`tcpi_snd_cwnd`"),
    column("cwnd_bytes", Int64, "bytes", "cwnd × MSS"),
    column("ssthresh_packets", UInt32, "packets", "`tcpi_snd_ssthresh`; null while infinite"),
    column("rtt_ns", Int64, "ns", "`tcpi_rtt`: smoothed RTT"),
    column("rttvar_ns", Int64, "ns", "`tcpi_rttvar`"),
    column("min_rtt_ns", Int64, "ns", "`tcpi_min_rtt`"),
    column("rto_ns", Int64, "ns", "`tcpi_rto`"),
    column("inflight_packets", UInt32, "packets", "unacked − sacked − lost + retrans_out: RFC 6675's pipe"),
    column("inflight_bytes", Int64, "bytes", "the same × MSS"),
    column("unacked_packets", UInt32, "packets", "`tcpi_unacked`"),
    column("sacked_packets", UInt32, "packets", "`tcpi_sacked`"),
    column("lost_packets", UInt32, "packets", "`tcpi_lost`"),
    column("retrans_out_packets", UInt32, "packets", "`tcpi_retrans`: retransmitted and not yet acknowledged"),
    column("retrans_packets", UInt32, "packets", "`tcpi_total_retrans`: total so far"),
    column("mss_bytes", UInt32, "bytes", "`tcpi_snd_mss`"),
    column("pacing_rate_bps", Int64, "bit/s", "`tcpi_pacing_rate`; null when not paced"),
    column("delivery_rate_bps", Int64, "bit/s", "`tcpi_delivery_rate`"),
    column("app_limited", Boolean, "", "`tcpi_delivery_rate_app_limited`"),
    column("bytes_sent", Int64, "bytes", "`tcpi_bytes_sent`"),
    column("bytes_acked", Int64, "bytes", "`tcpi_bytes_acked`"),
    column("bytes_retrans", Int64, "bytes", "`tcpi_bytes_retrans`"),
    column("segs_out", UInt32, "segments", "`tcpi_segs_out`"),
    column("data_segs_out", UInt32, "segments", "`tcpi_data_segs_out`"),
    column("delivered_packets", UInt32, "packets", "`tcpi_delivered`"),
    column("delivered_ce_packets", UInt32, "packets", "`tcpi_delivered_ce`"),
    column("reordering_packets", UInt32, "packets", "`tcpi_reordering`"),
    column("reord_seen", UInt32, "", "`tcpi_reord_seen`: reordering events"),
    column("snd_wnd_bytes", UInt32, "bytes", "`tcpi_snd_wnd`: window that the receiver offers"),
    column("notsent_bytes", UInt32, "bytes", "`tcpi_notsent_bytes`: written and not yet sent"),
    column("busy_ns", Int64, "ns", "`tcpi_busy_time`"),
    column("rwnd_limited_ns", Int64, "ns", "`tcpi_rwnd_limited`"),
    column("sndbuf_limited_ns", Int64, "ns", "`tcpi_sndbuf_limited`"),
    column("backoff", UInt8, "", "`tcpi_backoff`: RTO doublings"),
    column("ecn", Boolean, "", "`TCPI_OPT_ECN`: ECN was negotiated"),
    column("dsack_dups", UInt32, "", "`tcpi_dsack_dups`"),
    column(
        "bytes_received",
        Int64,
        "bytes",
        "`tcpi_bytes_received` of the receiver's socket, in order: the counter of goodput",
    ),
    column("rcv_space_bytes", UInt32, "bytes", "`tcpi_rcv_space` of the receiver's socket"),
    column(
        "datagrams_lost",
        Int64,
        "packets",
        "of UDP: total so far of numbers below the largest that the receiver has not got",
    ),
    column("jitter_ns", Int64, "ns", "of UDP: interarrival jitter at the receiver, RFC 3550 section 6.4.1"),
    column("one_way_delay_ns", Int64, "ns", "of UDP: from sender to receiver, of the last datagram that arrived"),
    column("bbr_bw_bps", Int64, "bit/s", "`bbr_bw_lo`, `bbr_bw_hi`: bandwidth estimate"),
    column("bbr_min_rtt_ns", Int64, "ns", "`bbr_min_rtt`"),
    column("bbr_pacing_gain", Float64, "", "`bbr_pacing_gain` ÷ 256"),
    column("bbr_cwnd_gain", Float64, "", "`bbr_cwnd_gain` ÷ 256"),
    column("vegas_enabled", Boolean, "", "`tcpv_enabled`"),
    column("vegas_rttcnt", UInt32, "", "`tcpv_rttcnt`"),
    column("vegas_rtt_ns", Int64, "ns", "`tcpv_rtt`"),
    column("vegas_minrtt_ns", Int64, "ns", "`tcpv_minrtt`"),
    column("dctcp_enabled", Boolean, "", "`dctcp_enabled`"),
    column("dctcp_ce_state", UInt16, "", "`dctcp_ce_state`"),
    column("dctcp_alpha", Float64, "", "`dctcp_alpha` ÷ 1024, 0 to 1; Prague's alpha too"),
    column("dctcp_ab_ecn_bytes", Int64, "bytes", "`dctcp_ab_ecn`: marked bytes of this round trip"),
    column("dctcp_ab_tot_bytes", Int64, "bytes", "`dctcp_ab_tot`: all bytes of this round trip"),
];

const QUEUES: [Column; 13] = [
    column("time_ns", Int64, "ns", "time of the sample"),
    column(
        "queue",
        String,
        "",
        "`bottleneck`, or the link's name; delay and loss devices end in `-netem`, shapers in `-shaper`",
    ),
    column("kind", String, "", "`TCA_KIND`: `pfifo`, `codel`, …"),
    column("under_test", Boolean, "", "true for the queue under test"),
    column("backlog_bytes", Int64, "bytes", "`gnet_stats_queue.backlog`"),
    column("backlog_packets", UInt32, "packets", "`gnet_stats_queue.qlen`"),
    column("sent_bytes", Int64, "bytes", "`gnet_stats_basic.bytes`, total so far"),
    column("sent_packets", Int64, "packets", "`gnet_stats_basic.packets`, total so far"),
    column("drops_packets", Int64, "packets", "`gnet_stats_queue.drops`, total so far"),
    column(
        "marks_packets",
        Int64,
        "packets",
        "the qdisc's counter of CE marks, total so far; null where it marks nothing",
    ),
    column("overlimits", Int64, "", "`gnet_stats_queue.overlimits`, total so far"),
    column(
        "rate_bps",
        Int64,
        "bit/s",
        "rate of the link at that time, or the lowest rate of a tc script; null when unlimited",
    ),
    column(
        "delay_ns",
        Int64,
        "ns",
        "backlog ÷ rate; null where a netem of a tc script holds packets at or below the queue",
    ),
];

const PROBES: [Column; 7] = [
    column("time_ns", Int64, "ns", "time sent"),
    column("probe", String, "", "name of the probe"),
    column("kind", String, "", "`ping` or `udp`"),
    column("seq", Int64, "", "sequence number"),
    column("rtt_ns", Int64, "ns", "round-trip time; null when lost"),
    column("forward_ns", Int64, "ns", "one-way delay of the forward path; null when unknown"),
    column("backward_ns", Int64, "ns", "one-way delay of the reverse path; null when unknown"),
];

const COUNTERS: [Column; 4] = [
    column("time_ns", Int64, "ns", "time of the sample"),
    column("host", String, "", "name of the host"),
    column("counter", String, "", "name as nstat prints it: `TcpRetransSegs`, `TcpExtTCPLostRetransmit`"),
    column("value", Int64, "", "`/proc/net/snmp`, `/proc/net/netstat`: the kernel's total since the host was created"),
];

const SOCKETS: [Column; 58] = [
    column("time_ns", Int64, "ns", "time of the sample"),
    column("host", String, "", "name of the host"),
    column("protocol", String, "", "`tcp` or `udp`"),
    column("family", String, "", "`ipv4` or `ipv6`"),
    column("state", String, "", "`established`, `listen`, `time_wait`, …"),
    column("local_address", String, "", ""),
    column("local_port", UInt16, "", ""),
    column("peer_address", String, "", ""),
    column("peer_port", UInt16, "", ""),
    column("recv_q_bytes", Int64, "bytes", "`idiag_rqueue`; of a listener: connections in its accept queue"),
    column("send_q_bytes", Int64, "bytes", "`idiag_wqueue`; of a listener: its backlog limit"),
    column(
        "timer",
        String,
        "",
        "`idiag_timer`: `retransmit`, `keepalive`, `time_wait`, `probe`; null when no timer runs",
    ),
    column("timer_ns", Int64, "ns", "`idiag_expires`: until it fires"),
    column("retrans_timer", UInt8, "", "`idiag_retrans`: retransmissions by the timer since the last answer"),
    column("uid", UInt32, "", ""),
    column("inode", Int64, "", ""),
    column("cookie", Int64, "", "`idiag_cookie`"),
    column("rmem_bytes", Int64, "bytes", "`SK_MEMINFO_RMEM_ALLOC`"),
    column("rcvbuf_bytes", Int64, "bytes", "`SK_MEMINFO_RCVBUF`"),
    column("wmem_bytes", Int64, "bytes", "`SK_MEMINFO_WMEM_ALLOC`"),
    column("sndbuf_bytes", Int64, "bytes", "`SK_MEMINFO_SNDBUF`"),
    column("fwd_alloc_bytes", Int64, "bytes", "`SK_MEMINFO_FWD_ALLOC`"),
    column("queued_bytes", Int64, "bytes", "`SK_MEMINFO_WMEM_QUEUED`"),
    column("options_bytes", Int64, "bytes", "`SK_MEMINFO_OPTMEM`"),
    column("backlog_bytes", Int64, "bytes", "`SK_MEMINFO_BACKLOG`"),
    column("drops_packets", Int64, "packets", "`SK_MEMINFO_DROPS`"),
    column("cc", String, "", "`INET_DIAG_CONG`"),
    column("cwnd_packets", UInt32, "packets", "`tcpi_snd_cwnd`"),
    column("ssthresh_packets", UInt32, "packets", "`tcpi_snd_ssthresh`"),
    column("rtt_ns", Int64, "ns", "`tcpi_rtt`"),
    column("rttvar_ns", Int64, "ns", "`tcpi_rttvar`"),
    column("min_rtt_ns", Int64, "ns", "`tcpi_min_rtt`"),
    column("rto_ns", Int64, "ns", "`tcpi_rto`"),
    column("ato_ns", Int64, "ns", "`tcpi_ato`"),
    column("rcv_rtt_ns", Int64, "ns", "`tcpi_rcv_rtt`"),
    column("unacked_packets", UInt32, "packets", "`tcpi_unacked`"),
    column("sacked_packets", UInt32, "packets", "`tcpi_sacked`"),
    column("lost_packets", UInt32, "packets", "`tcpi_lost`"),
    column("retrans_packets", UInt32, "packets", "`tcpi_total_retrans`"),
    column("mss_bytes", UInt32, "bytes", "`tcpi_snd_mss`"),
    column("rcv_mss_bytes", UInt32, "bytes", "`tcpi_rcv_mss`"),
    column("advmss_bytes", UInt32, "bytes", "`tcpi_advmss`"),
    column("pmtu_bytes", UInt32, "bytes", "`tcpi_pmtu`"),
    column("rcv_space_bytes", UInt32, "bytes", "`tcpi_rcv_space`"),
    column("rcv_ssthresh_bytes", UInt32, "bytes", "`tcpi_rcv_ssthresh`"),
    column("rcv_wnd_bytes", UInt32, "bytes", "`tcpi_rcv_wnd`"),
    column("snd_wnd_bytes", UInt32, "bytes", "`tcpi_snd_wnd`"),
    column("notsent_bytes", UInt32, "bytes", "`tcpi_notsent_bytes`"),
    column("bytes_sent", Int64, "bytes", "`tcpi_bytes_sent`"),
    column("bytes_acked", Int64, "bytes", "`tcpi_bytes_acked`"),
    column("bytes_received", Int64, "bytes", "`tcpi_bytes_received`"),
    column("segs_out", UInt32, "segments", "`tcpi_segs_out`"),
    column("segs_in", UInt32, "segments", "`tcpi_segs_in`"),
    column("data_segs_out", UInt32, "segments", "`tcpi_data_segs_out`"),
    column("data_segs_in", UInt32, "segments", "`tcpi_data_segs_in`"),
    column("rcv_ooo_packets", UInt32, "packets", "`tcpi_rcv_ooopack`"),
    column("dsack_dups", UInt32, "", "`tcpi_dsack_dups`"),
    column("total_rto", UInt32, "", "`tcpi_total_rto`"),
];

const TRACE: [Column; 4] = [
    column("time_ns", Int64, "ns", "time of the event in whole microseconds, the precision that the kernel prints"),
    column("event", String, "", "name of the event"),
    column("task", String, "", "task that ran"),
    column("text", String, "", "the event's fields as the kernel prints them"),
];
