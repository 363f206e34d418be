//! Columns of the tables `flows` and `queues`.

use crate::traffic::udp::Datagrams;
use dumbbell_net::cc::{CaState, CcInfo, INFINITE_SSTHRESH};
use dumbbell_net::queue::QdiscSnapshot;
use dumbbell_net::rate::Rate;
use dumbbell_net::time::{Span, Time};
use dumbbell_net::transport::Info;
use dumbbell_table::{Cells, Names, columns};

columns! {
    /// The table `flows` without derived columns and those of other controllers; `cc_phase` is not Linux's.
    FlowRows {
        time_ns: Cells<i64>,
        flow: Names,
        state: Cells<u8>,
        ca_state: Names,
        cc_phase: Names,
        cwnd_packets: Cells<u32>,
        ssthresh_packets: Cells<u32>,
        rtt_ns: Cells<i64>,
        rttvar_ns: Cells<i64>,
        min_rtt_ns: Cells<i64>,
        rto_ns: Cells<i64>,
        inflight_packets: Cells<u32>,
        inflight_bytes: Cells<i64>,
        unacked_packets: Cells<u32>,
        sacked_packets: Cells<u32>,
        lost_packets: Cells<u32>,
        retrans_out_packets: Cells<u32>,
        retrans_packets: Cells<u32>,
        mss_bytes: Cells<u32>,
        pacing_rate_bps: Cells<i64>,
        delivery_rate_bps: Cells<i64>,
        app_limited: Cells<bool>,
        bytes_sent: Cells<i64>,
        bytes_acked: Cells<i64>,
        bytes_retrans: Cells<i64>,
        segs_out: Cells<u32>,
        data_segs_out: Cells<u32>,
        delivered_packets: Cells<u32>,
        delivered_ce_packets: Cells<u32>,
        reordering_packets: Cells<u32>,
        reord_seen: Cells<u32>,
        snd_wnd_bytes: Cells<u32>,
        notsent_bytes: Cells<u32>,
        busy_ns: Cells<i64>,
        rwnd_limited_ns: Cells<i64>,
        sndbuf_limited_ns: Cells<i64>,
        backoff: Cells<u8>,
        ecn: Cells<bool>,
        dsack_dups: Cells<u32>,
        bytes_received: Cells<i64>,
        rcv_space_bytes: Cells<u32>,
        datagrams_lost: Cells<i64>,
        jitter_ns: Cells<i64>,
        one_way_delay_ns: Cells<i64>,
        bbr_bw_bps: Cells<i64>,
        bbr_min_rtt_ns: Cells<i64>,
        bbr_pacing_gain: Cells<f64>,
        bbr_cwnd_gain: Cells<f64>,
        dctcp_alpha: Cells<f64>,
    }
}

columns! {
    /// The table `queues` without derived columns.
    QueueRows {
        time_ns: Cells<i64>,
        queue: Names,
        kind: Names,
        backlog_bytes: Cells<i64>,
        backlog_packets: Cells<u32>,
        sent_bytes: Cells<i64>,
        sent_packets: Cells<i64>,
        drops_packets: Cells<i64>,
        marks_packets: Cells<i64>,
        overlimits: Cells<i64>,
    }
}

/// Codes of `ca_state`, in the order of [`CaState`].
const CA_STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

impl FlowRows {
    /// An empty table for flows with these names.
    pub fn of(names: impl Iterator<Item = String>) -> Self {
        Self { flow: Names::of(names), ca_state: Names::of(CA_STATES), ..Self::default() }
    }

    /// Adds a TCP flow.
    pub fn push_tcp(&mut self, now: Time, flow: u32, info: &Info, bytes_received: u64, rcv_space: u32) {
        self.time_ns.push(now.as_nanos().cast_signed());
        self.flow.push_code(flow);
        self.state.push(info.state);
        self.ca_state.push_code(code(info.ca_state));
        self.cc_phase.push(info.cc_info.phase);
        self.push_window(info);
        self.push_times(info);
        self.push_counters(info);
        self.push_limits(info);
        self.bytes_received.push(bytes_received.cast_signed());
        self.rcv_space_bytes.push(rcv_space);
        self.datagrams_lost.push(None);
        self.jitter_ns.push(None);
        self.one_way_delay_ns.push(None);
        self.push_cc_info(Some(&info.cc_info));
    }

    /// Adds a UDP flow: most TCP columns are null.
    pub fn push_udp(&mut self, now: Time, flow: u32, udp: &Datagrams) {
        self.time_ns.push(now.as_nanos().cast_signed());
        self.flow.push_code(flow);
        self.bytes_sent.push(udp.sent_bytes.cast_signed());
        self.bytes_received.push(udp.received_bytes.cast_signed());
        self.datagrams_lost.push(udp.arrivals.lost().cast_signed());
        self.jitter_ns.push(udp.arrivals.jitter().map(u64::cast_signed));
        self.one_way_delay_ns.push(udp.arrivals.delay().map(u64::cast_signed));
        self.push_nulls();
        self.push_cc_info(None);
    }

    fn push_window(&mut self, info: &Info) {
        let ssthresh = (info.ssthresh < INFINITE_SSTHRESH).then_some(info.ssthresh);
        // RFC 6675's pipe, as in Linux's tcp_packets_in_flight.
        let pipe = (info.unacked + info.retrans_out).saturating_sub(info.sacked + info.lost);
        self.cwnd_packets.push(info.cwnd);
        self.ssthresh_packets.push(ssthresh);
        self.inflight_packets.push(pipe);
        self.inflight_bytes.push(i64::from(pipe) * i64::from(info.mss));
        self.unacked_packets.push(info.unacked);
        self.sacked_packets.push(info.sacked);
        self.lost_packets.push(info.lost);
        self.retrans_out_packets.push(info.retrans_out);
        self.retrans_packets.push(info.total_retrans);
        self.mss_bytes.push(info.mss);
    }

    /// Linux shows whole microseconds.
    fn push_times(&mut self, info: &Info) {
        let rtt = micros(info.rtt);
        self.rtt_ns.push((rtt > 0).then_some(rtt));
        self.rttvar_ns.push(micros(info.rttvar));
        self.min_rtt_ns.push(info.min_rtt.map(micros));
        self.rto_ns.push(micros(info.rto));
        self.busy_ns.push(micros(info.busy));
        self.rwnd_limited_ns.push(micros(info.rwnd_limited));
        self.sndbuf_limited_ns.push(micros(info.sndbuf_limited));
    }

    fn push_counters(&mut self, info: &Info) {
        self.bytes_sent.push(info.bytes_sent.cast_signed());
        self.bytes_acked.push(info.bytes_acked.cast_signed());
        self.bytes_retrans.push(info.bytes_retrans.cast_signed());
        self.segs_out.push(info.segs_out);
        self.data_segs_out.push(info.data_segs_out);
        self.delivered_packets.push(info.delivered);
        self.delivered_ce_packets.push(info.delivered_ce);
        self.reordering_packets.push(info.reordering);
        self.reord_seen.push(info.reord_seen);
        self.dsack_dups.push(info.dsack_dups);
    }

    fn push_limits(&mut self, info: &Info) {
        self.pacing_rate_bps.push(info.pacing_rate.filter(|rate| rate.is_limited()).map(bits));
        self.delivery_rate_bps.push(bits(info.delivery_rate));
        self.app_limited.push(info.app_limited);
        self.snd_wnd_bytes.push(info.snd_wnd);
        self.notsent_bytes.push(info.notsent_bytes);
        self.backoff.push(info.backoff);
        self.ecn.push(info.ecn);
    }

    fn push_cc_info(&mut self, cc_info: Option<&CcInfo>) {
        let gain = |gain: Option<u32>| gain.map(|gain| f64::from(gain) / BBR_UNIT);
        let cc_info = cc_info.copied().unwrap_or_default();
        self.bbr_bw_bps.push(cc_info.bandwidth.map(bits));
        self.bbr_min_rtt_ns.push(cc_info.min_rtt_us.map(|micros| i64::from(micros) * 1_000));
        self.bbr_pacing_gain.push(gain(cc_info.pacing_gain));
        self.bbr_cwnd_gain.push(gain(cc_info.cwnd_gain));
        self.dctcp_alpha.push(cc_info.marked_share.map(|share| f64::from(share) / SHARE_UNIT));
    }

    /// Adds nulls to the TCP-only columns.
    fn push_nulls(&mut self) {
        self.state.push(None);
        self.ca_state.push_code(None);
        self.cc_phase.push_code(None);
        self.backoff.push(None);
        self.app_limited.push(None);
        self.ecn.push(None);
        for column in self.packet_columns() {
            column.push(None);
        }
        for column in self.wide_columns() {
            column.push(None);
        }
    }

    fn packet_columns(&mut self) -> [&mut Cells<u32>; 19] {
        [
            &mut self.cwnd_packets,
            &mut self.ssthresh_packets,
            &mut self.inflight_packets,
            &mut self.unacked_packets,
            &mut self.sacked_packets,
            &mut self.lost_packets,
            &mut self.retrans_out_packets,
            &mut self.retrans_packets,
            &mut self.mss_bytes,
            &mut self.segs_out,
            &mut self.data_segs_out,
            &mut self.delivered_packets,
            &mut self.delivered_ce_packets,
            &mut self.reordering_packets,
            &mut self.reord_seen,
            &mut self.snd_wnd_bytes,
            &mut self.notsent_bytes,
            &mut self.dsack_dups,
            &mut self.rcv_space_bytes,
        ]
    }

    fn wide_columns(&mut self) -> [&mut Cells<i64>; 12] {
        [
            &mut self.rtt_ns,
            &mut self.rttvar_ns,
            &mut self.min_rtt_ns,
            &mut self.rto_ns,
            &mut self.inflight_bytes,
            &mut self.pacing_rate_bps,
            &mut self.delivery_rate_bps,
            &mut self.bytes_acked,
            &mut self.bytes_retrans,
            &mut self.busy_ns,
            &mut self.rwnd_limited_ns,
            &mut self.sndbuf_limited_ns,
        ]
    }
}

impl QueueRows {
    /// An empty table for queues with these names.
    pub fn of(names: impl Iterator<Item = String>) -> Self {
        Self { queue: Names::of(names), ..Self::default() }
    }

    /// Adds a snapshot of one qdisc.
    pub fn push(&mut self, now: Time, number: usize, snapshot: &QdiscSnapshot) {
        let signed = u64::cast_signed;
        self.time_ns.push(signed(now.as_nanos()));
        self.queue.push_code(u32::try_from(number).expect("few queues"));
        self.kind.push(snapshot.kind);
        self.backlog_bytes.push(signed(snapshot.backlog.bytes));
        self.backlog_packets.push(snapshot.backlog.packets);
        self.sent_bytes.push(signed(snapshot.counters.sent_bytes));
        self.sent_packets.push(signed(snapshot.counters.sent_packets));
        self.drops_packets.push(signed(snapshot.counters.drops));
        self.marks_packets.push(snapshot.marks.then_some(signed(snapshot.counters.marks)));
        self.overlimits.push(signed(snapshot.counters.overlimits));
    }
}

fn code(state: CaState) -> u32 {
    state as u32
}

fn micros(span: Span) -> i64 {
    (span.as_micros() * 1_000).cast_signed()
}

fn bits(rate: Rate) -> i64 {
    i64::try_from(rate.as_bits()).unwrap_or(i64::MAX)
}

/// Unit of BBR's gains (`BBR_UNIT` in Linux).
const BBR_UNIT: f64 = 256.0;
/// Unit of DCTCP's alpha.
const SHARE_UNIT: f64 = 1_048_576.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Udp;
    use dumbbell_net::packet::{Direction, FlowId};
    use dumbbell_net::transport::Identity;
    use dumbbell_table::Table;

    fn row(info: &Info) -> Table {
        let mut rows = FlowRows::of(["a".to_string()].into_iter());
        rows.push_tcp(Time::from_nanos(5), 0, info, 1_000, 7);
        rows.into()
    }

    fn cell(table: &Table, column: &str) -> String {
        table.column(column).map(|column| column.text(0)).expect("a column")
    }

    #[test]
    fn unknown_values_are_null() {
        let info = Info { ssthresh: INFINITE_SSTHRESH, cwnd: 10, ..Info::default() };
        let table = row(&info);
        for column in ["ssthresh_packets", "rtt_ns", "min_rtt_ns", "pacing_rate_bps", "bbr_bw_bps"] {
            assert_eq!(cell(&table, column), "", "{column}");
        }
        assert_eq!(cell(&table, "cwnd_packets"), "10");
    }

    #[test]
    fn the_pipe_excludes_sacked_and_lost_packets() {
        let info = Info { unacked: 100, sacked: 20, lost: 10, retrans_out: 5, mss: 1_448, ..Info::default() };
        let table = row(&info);
        assert_eq!(cell(&table, "inflight_packets"), "75");
        assert_eq!(cell(&table, "inflight_bytes"), "108600");
    }

    #[test]
    fn times_are_in_microseconds_and_rates_in_bits() {
        let pacing_rate = Some(Rate::from_bytes(1_000));
        let info = Info { rtt: Span::from_nanos(1_234_567), pacing_rate, ca_state: CaState::Loss, ..Info::default() };
        let table = row(&info);
        assert_eq!(cell(&table, "rtt_ns"), "1234000");
        assert_eq!(cell(&table, "pacing_rate_bps"), "8000");
        assert_eq!(cell(&table, "ca_state"), "loss");
    }

    #[test]
    fn a_udp_flow_fills_only_udp_columns() {
        let mut rows = FlowRows::of(["u".to_string()].into_iter());
        let identity = Identity { flow: FlowId(0), direction: Direction::Forward, port: 1, mark: 0 };
        let interval = Span::from_millis(1);
        let datagrams =
            Udp { payload: 100, mtu: 1_500, interval, on_off: None, ecn: false, sndbuf: None, rcvbuf: None };
        rows.push_udp(Time::ZERO, 0, &Datagrams::new(identity, datagrams));
        let table: Table = rows.into();
        let known = table.columns.iter().filter(|(_, column)| !column.text(0).is_empty());
        let known: Vec<_> = known.map(|(name, _)| *name).collect();
        assert_eq!(known, ["time_ns", "flow", "bytes_sent", "bytes_received", "datagrams_lost"]);
    }
}
