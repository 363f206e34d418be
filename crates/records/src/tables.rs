//! Records as the tables `flows`, `queues` and `probes` of a result; `dumbbell_metrics::columns` declares the columns.

use crate::linux::{
    BBR, BBR_UNIT, BbrInfo, CA_STATES, DCTCP, DCTCP_ALPHA_ONE, DctcpInfo, INFINITE_SSTHRESH, NO_MIN_RTT, OPTION_ECN,
    TcpInfo, VEGAS, VegasInfo,
};
use crate::{FlowRecord, NEVER, ProbeRecord, QueueRecord, UDP};
use dumbbell_plan::queue_rate::{delay_ns, rate_at};
use dumbbell_plan::{Flow, Probe, Queue};
use dumbbell_table::{Cells, Column, Table};

/// The table `flows`; records of flows that the plan lacks are an error of the agent.
///
/// # Panics
///
/// If a record has a flow that is not in the plan.
#[must_use]
pub fn flows(records: &[u8], planned: &[Flow]) -> Table {
    let mut rows: Vec<Row<'_>> = records.chunks_exact(FlowRecord::SIZE).map(Row::of).collect();
    rows.sort_by_key(|row| (row.record.time_ns, row.record.flow));
    let names = |of: fn(&Flow) -> &str| {
        let codes = rows.iter().map(|row| Some(row.record.flow));
        named(codes, planned.iter().map(|flow| of(flow).to_owned()).collect())
    };
    let (flow, group) = (names(|flow| &flow.name), names(|flow| &flow.group));
    let received = |row: &Row<'_>| {
        // The kernel's counter includes the sequence number of the FIN.
        let most = planned[row.record.flow as usize].bytes.unwrap_or(NEVER);
        row.record.bytes_received.min(most).cast_signed()
    };
    let received = cells(rows.iter().map(|row| Some(received(row))));
    let mut columns = vec![("time_ns", cells(rows.iter().map(|row| Some(row.record.time_ns.cast_signed()))))];
    columns.extend([("flow", flow), ("group", group)]);
    columns.extend(transport(&rows));
    columns.push(("bytes_received", received));
    columns.push(("rcv_space_bytes", cells(rows.iter().map(|row| row.tcp.map(|_| row.record.rcv_space)))));
    columns.push(("datagrams_lost", cells(rows.iter().map(|row| row.datagrams(1)))));
    columns.push(("jitter_ns", cells(rows.iter().map(|row| row.datagrams(2)))));
    columns.push(("one_way_delay_ns", cells(rows.iter().map(|row| row.datagrams(3)))));
    columns.extend(controllers(&rows));
    Table::new(columns)
}

/// The columns of [`flows`] that come from the sender's socket alone, in the order of the records.
#[must_use]
pub fn sockets(records: &[u8]) -> Table {
    let rows: Vec<Row<'_>> = records.chunks_exact(FlowRecord::SIZE).map(Row::of).collect();
    let mut columns = transport(&rows);
    columns.extend(controllers(&rows));
    Table::new(columns)
}

/// The table `queues`, in the plan's order, as the simulator's; unplanned queues come last.
///
/// `named` and `kinds` are in the order in which the agent found the queues.
///
/// # Panics
///
/// If a record has a queue that the agent did not find.
#[must_use]
pub fn queues(records: &[u8], named: &[&Queue], kinds: Vec<String>, planned: &[Queue]) -> Table {
    let ranks: Vec<_> = named.iter().map(|queue| rank(queue, planned)).collect();
    let mut rows: Vec<_> = records.chunks_exact(QueueRecord::SIZE).map(QueueRecord::get).collect();
    rows.sort_by_key(|row| (row.time_ns, ranks[row.queue as usize]));
    let limits: Vec<_> = named.iter().map(|queue| queue.limits()).collect();
    let signed = |of: fn(&QueueRecord) -> u64| cells(rows.iter().map(|row| Some(of(row).cast_signed())));
    let rate = |row: &QueueRecord| rate_at(&limits[row.queue as usize], row.time_ns.cast_signed());
    let delay = |row: &QueueRecord| {
        // Of a netem most packets wait for no rate.
        let rate = rate(row).filter(|_| !named[row.queue as usize].holds_netem)?;
        Some(delay_ns(row.backlog.into(), rate))
    };
    let codes = || rows.iter().map(|row| Some(row.queue));
    Table::new(vec![
        ("time_ns", signed(|row| row.time_ns)),
        ("queue", self::named(codes(), named.iter().map(|queue| queue.name.clone()).collect())),
        ("kind", self::named(codes(), kinds)),
        ("under_test", cells(rows.iter().map(|row| Some(named[row.queue as usize].under_test)))),
        ("backlog_bytes", signed(|row| row.backlog.into())),
        ("backlog_packets", cells(rows.iter().map(|row| Some(row.qlen)))),
        ("sent_bytes", signed(|row| row.sent_bytes)),
        ("sent_packets", signed(|row| row.sent_packets)),
        ("drops_packets", signed(|row| row.drops.into())),
        ("marks_packets", cells(rows.iter().map(|row| known(row.marks)))),
        ("overlimits", signed(|row| row.overlimits.into())),
        ("rate_bps", cells(rows.iter().map(rate))),
        ("delay_ns", cells(rows.iter().map(delay))),
    ])
}

/// The place of a queue in the plan; unplanned ones come last.
#[must_use]
pub fn rank(queue: &Queue, planned: &[Queue]) -> usize {
    planned.iter().rposition(|each| each.name == queue.name).unwrap_or(planned.len())
}

/// The table `probes`, in the order of sending.
///
/// # Panics
///
/// If a record has a probe that is not in the plan.
#[must_use]
pub fn probes(records: &[u8], planned: &[Probe]) -> Table {
    let mut rows: Vec<_> = records.chunks_exact(ProbeRecord::SIZE).map(ProbeRecord::get).collect();
    rows.sort_by_key(|row| (row.sent_ns, row.probe));
    let kind = |number: usize| planned[number].kind.word().to_owned();
    let kinds: Vec<_> = (0..planned.len()).map(kind).collect();
    let names = kinds.iter().zip(1..).map(|(kind, number)| format!("{kind}-{number}")).collect();
    let since = |end: u64, start: u64| Some(known(end)? - known(start)?);
    let codes = || rows.iter().map(|row| Some(row.probe));
    Table::new(vec![
        ("time_ns", cells(rows.iter().map(|row| Some(row.sent_ns.cast_signed())))),
        ("probe", named(codes(), names)),
        ("kind", named(codes(), kinds)),
        ("seq", cells(rows.iter().map(|row| Some(i64::from(row.sequence))))),
        ("rtt_ns", cells(rows.iter().map(|row| since(row.answered_ns, row.sent_ns)))),
        ("forward_ns", cells(rows.iter().map(|row| since(row.arrived_ns, row.sent_ns)))),
        ("backward_ns", cells(rows.iter().map(|row| since(row.answered_ns, row.arrived_ns)))),
    ])
}

/// `TCP_CA_Loss`.
const LAST_CA_STATE: u8 = 4;

/// A record of a flow; `tcp` is None for UDP.
struct Row<'a> {
    record: FlowRecord<'a>,
    tcp: Option<TcpInfo>,
}

impl<'a> Row<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let record = FlowRecord::get(bytes);
        Self { record, tcp: (record.cc_kind != UDP).then(|| TcpInfo::get(record.info.0)) }
    }

    /// RFC 6675's pipe, as in Linux's `tcp_packets_in_flight`.
    fn pipe(&self) -> Option<u32> {
        self.tcp.map(|info| {
            (info.unacked.saturating_add(info.retrans)).saturating_sub(info.sacked.saturating_add(info.lost))
        })
    }

    fn bbr(&self) -> Option<BbrInfo> {
        (self.record.cc_kind == BBR).then(|| BbrInfo::get(self.record.cc.0))
    }

    fn vegas(&self) -> Option<VegasInfo> {
        (self.record.cc_kind == VEGAS).then(|| VegasInfo::get(self.record.cc.0))
    }

    fn dctcp(&self) -> Option<DctcpInfo> {
        (self.record.cc_kind == DCTCP).then(|| DctcpInfo::get(self.record.cc.0))
    }

    /// A UDP flow's record has the bytes sent where a TCP flow's `tcp_info` begins.
    fn bytes_sent(&self) -> i64 {
        self.tcp.map_or_else(|| self.word(0), |info| info.bytes_sent).cast_signed()
    }

    /// A counter of a UDP flow, in the order of [`crate::Datagrams`].
    fn datagrams(&self, place: usize) -> Option<i64> {
        self.tcp.is_none().then(|| self.word(place)).and_then(known)
    }

    fn word(&self, place: usize) -> u64 {
        let bytes = &self.record.info.0[8 * place..8 * (place + 1)];
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }
}

type Columns = Vec<(&'static str, Column)>;

/// Columns of `struct tcp_info`.
fn transport(rows: &[Row<'_>]) -> Columns {
    let tcp = |of: fn(&TcpInfo) -> u32| cells(rows.iter().map(|row| row.tcp.as_ref().map(of)));
    let byte = |of: fn(&TcpInfo) -> u8| cells(rows.iter().map(|row| row.tcp.as_ref().map(of)));
    let wide = |of: fn(&TcpInfo) -> Option<i64>| cells(rows.iter().map(|row| row.tcp.as_ref().and_then(of)));
    let flag = |of: fn(&TcpInfo) -> bool| cells(rows.iter().map(|row| row.tcp.as_ref().map(of)));
    let ca_state = rows.iter().map(|row| row.tcp.map(|info| u32::from(info.ca_state.min(LAST_CA_STATE))));
    let in_flight = |row: &Row<'_>| Some(i64::from(row.pipe()?) * i64::from(row.tcp?.snd_mss));
    vec![
        ("state", byte(|info| info.state)),
        ("ca_state", named(ca_state, CA_STATES.map(String::from).to_vec())),
        ("cwnd_packets", tcp(|info| info.snd_cwnd)),
        ("cwnd_bytes", wide(|info| Some(i64::from(info.snd_cwnd) * i64::from(info.snd_mss)))),
        (
            "ssthresh_packets",
            cells(
                rows.iter().map(|row| row.tcp.map(|info| info.snd_ssthresh).filter(|each| *each < INFINITE_SSTHRESH)),
            ),
        ),
        ("rtt_ns", wide(|info| (info.rtt > 0).then(|| micros(info.rtt)))),
        ("rttvar_ns", wide(|info| Some(micros(info.rttvar)))),
        ("min_rtt_ns", wide(|info| (info.min_rtt != NO_MIN_RTT).then(|| micros(info.min_rtt)))),
        ("rto_ns", wide(|info| Some(micros(info.rto)))),
        ("inflight_packets", cells(rows.iter().map(Row::pipe))),
        ("inflight_bytes", cells(rows.iter().map(in_flight))),
        ("unacked_packets", tcp(|info| info.unacked)),
        ("sacked_packets", tcp(|info| info.sacked)),
        ("lost_packets", tcp(|info| info.lost)),
        ("retrans_out_packets", tcp(|info| info.retrans)),
        ("retrans_packets", tcp(|info| info.total_retrans)),
        ("mss_bytes", tcp(|info| info.snd_mss)),
        ("pacing_rate_bps", wide(|info| known(info.pacing_rate).map(bits))),
        ("delivery_rate_bps", wide(|info| Some(bits(info.delivery_rate.cast_signed())))),
        ("app_limited", flag(|info| info.flags & 1 != 0)),
        ("bytes_sent", cells(rows.iter().map(|row| Some(row.bytes_sent())))),
        ("bytes_acked", wide(|info| Some(info.bytes_acked.cast_signed()))),
        ("bytes_retrans", wide(|info| Some(info.bytes_retrans.cast_signed()))),
        ("segs_out", tcp(|info| info.segs_out)),
        ("data_segs_out", tcp(|info| info.data_segs_out)),
        ("delivered_packets", tcp(|info| info.delivered)),
        ("delivered_ce_packets", tcp(|info| info.delivered_ce)),
        ("reordering_packets", tcp(|info| info.reordering)),
        ("reord_seen", tcp(|info| info.reord_seen)),
        ("snd_wnd_bytes", tcp(|info| info.snd_wnd)),
        ("notsent_bytes", tcp(|info| info.notsent_bytes)),
        ("busy_ns", wide(|info| Some(long_micros(info.busy_time)))),
        ("rwnd_limited_ns", wide(|info| Some(long_micros(info.rwnd_limited)))),
        ("sndbuf_limited_ns", wide(|info| Some(long_micros(info.sndbuf_limited)))),
        ("backoff", byte(|info| info.backoff)),
        ("ecn", flag(|info| info.options & OPTION_ECN != 0)),
        ("dsack_dups", tcp(|info| info.dsack_dups)),
    ]
}

/// Columns of the controllers' structures; null for other controllers.
fn controllers(rows: &[Row<'_>]) -> Columns {
    let bbr = |of: fn(BbrInfo) -> i64| cells(rows.iter().map(|row| row.bbr().map(of)));
    let gain =
        |of: fn(BbrInfo) -> u32| cells(rows.iter().map(|row| row.bbr().map(|bbr| f64::from(of(bbr)) / BBR_UNIT)));
    let vegas = |of: fn(VegasInfo) -> i64| cells(rows.iter().map(|row| row.vegas().map(of)));
    let dctcp = |of: fn(DctcpInfo) -> i64| cells(rows.iter().map(|row| row.dctcp().map(of)));
    vec![
        ("bbr_bw_bps", bbr(|bbr| bits((u64::from(bbr.bw_hi) << 32 | u64::from(bbr.bw_lo)).cast_signed()))),
        ("bbr_min_rtt_ns", bbr(|bbr| micros(bbr.min_rtt))),
        ("bbr_pacing_gain", gain(|bbr| bbr.pacing_gain)),
        ("bbr_cwnd_gain", gain(|bbr| bbr.cwnd_gain)),
        ("vegas_enabled", cells(rows.iter().map(|row| row.vegas().map(|vegas| vegas.enabled != 0)))),
        ("vegas_rttcnt", cells(rows.iter().map(|row| row.vegas().map(|vegas| vegas.rttcnt)))),
        ("vegas_rtt_ns", vegas(|vegas| micros(vegas.rtt))),
        ("vegas_minrtt_ns", vegas(|vegas| micros(vegas.minrtt))),
        ("dctcp_enabled", cells(rows.iter().map(|row| row.dctcp().map(|dctcp| dctcp.enabled != 0)))),
        ("dctcp_ce_state", cells(rows.iter().map(|row| row.dctcp().map(|dctcp| dctcp.ce_state)))),
        (
            "dctcp_alpha",
            cells(rows.iter().map(|row| row.dctcp().map(|dctcp| f64::from(dctcp.alpha) / DCTCP_ALPHA_ONE))),
        ),
        ("dctcp_ab_ecn_bytes", dctcp(|dctcp| dctcp.ab_ecn.into())),
        ("dctcp_ab_tot_bytes", dctcp(|dctcp| dctcp.ab_tot.into())),
    ]
}

fn cells<T: Copy + Default>(values: impl Iterator<Item = Option<T>>) -> Column
where
    Column: From<Cells<T>>,
{
    let mut cells = Cells::with_capacity(values.size_hint().0);
    values.for_each(|value| cells.push(value));
    cells.into()
}

/// Names by number; each name is once in the list.
fn named(numbers: impl Iterator<Item = Option<u32>>, names: Vec<String>) -> Column {
    let mut list: Vec<String> = Vec::new();
    let codes: Vec<u32> = names
        .into_iter()
        .map(|name| {
            let code = list.iter().position(|each| *each == name).unwrap_or(list.len());
            if code == list.len() {
                list.push(name);
            }
            u32::try_from(code).expect("few names")
        })
        .collect();
    let mut cells = Cells::default();
    numbers.for_each(|number| cells.push(number.map(|number| codes[number as usize])));
    Column::Name(cells, list.into())
}

/// A time or a count that is known.
fn known(value: u64) -> Option<i64> {
    (value != NEVER).then(|| value.cast_signed())
}

fn micros(micros: u32) -> i64 {
    i64::from(micros) * 1_000
}

fn long_micros(micros: u64) -> i64 {
    micros.cast_signed().wrapping_mul(1_000)
}

/// Bits per second of bytes per second.
fn bits(bytes: i64) -> i64 {
    bytes.wrapping_mul(8)
}
