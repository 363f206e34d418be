//! One TCP endpoint of the simulator for scripts that play its peer: packets and calls of a program go in, packets come
//! out. `dumbbell.testing.drill` reads the scripts.

use crate::errors::{EngineError, wrong};
use crate::fault::guarded;
use dumbbell_net::cc::{Controller, Parameters};
use dumbbell_net::packet::{Body, Damage, Direction, Ecn, Flags, FlowId, Packet, Sack, Segment, TCP_HEADERS_BYTES};
use dumbbell_net::rate::Rate;
use dumbbell_net::rng::Rng;
use dumbbell_net::time::{Span, Time};
use dumbbell_net::transport::{self, Identity, Info, Settings, Tunables, window_scale};
use dumbbell_sim::plan::Sysctls;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::VecDeque;

/// A packet that an endpoint sent.
#[pyclass(frozen, get_all, module = "dumbbell._sim")]
pub struct SentSegment {
    at_ns: u64,
    seq: u64,
    length: u32,
    ack: u64,
    window: u32,
    /// Letters of the flags, in the order of `FSRP.EWA`.
    flags: String,
    ecn: u8,
    sent_at_ns: u64,
    echo_ns: u64,
    sack: Vec<(u64, u64)>,
}

/// An endpoint with the device below it, which sends each packet at once, or at its departure time if it paces.
#[pyclass(module = "dumbbell._sim")]
pub struct Endpoint {
    end: transport::Endpoint,
    now: Time,
    paces: bool,
    scale: u8,
    /// Packets in the device's queue until they depart.
    queued: VecDeque<Packet>,
    sent: VecDeque<SentSegment>,
}

#[pymethods]
impl Endpoint {
    /// An endpoint that listens or will connect. Raises `Wrong` for a setting that the simulator does not have.
    #[new]
    #[pyo3(signature = (now, *, listens, controller, mss, sysctls, rmem, wmem, sndbuf=None, rcvbuf=None,
                        max_pacing_bps=None, paces=false))]
    #[expect(clippy::too_many_arguments, reason = "named settings")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn new(
        now: u64,
        listens: bool,
        controller: &str,
        mss: u32,
        sysctls: Vec<(String, String)>,
        rmem: [u64; 2],
        wmem: [u64; 2],
        sndbuf: Option<u64>,
        rcvbuf: Option<u64>,
        max_pacing_bps: Option<u64>,
        paces: bool,
    ) -> PyResult<Self> {
        let sysctls = Sysctls::read(&sysctls).map_err(wrong)?;
        let rng = Rng::from_name(0, "endpoint.cc");
        let controller = Controller::from_name(controller, &mut Parameters::default(), rng)
            .ok_or_else(|| PyValueError::new_err(format!("no controller '{controller}'")))?;
        let settings = Settings {
            mss,
            initial_window: INITIAL_WINDOW,
            ecn: sysctls.ecn.unwrap_or(false),
            gso_max_bytes: Some(GSO_MAX_BYTES),
            min_tso_segments: sysctls.min_tso_segments.map_or_else(Settings::default_min_tso_segments, u32::from),
            quickack: false,
            slow_start_after_idle: sysctls.slow_start_after_idle.unwrap_or(true),
            rmem_max: rmem[1],
            rcvbuf,
            wmem_max: wmem[1],
            sndbuf,
            max_pacing_rate: max_pacing_bps.map(Rate::from_bits),
            prompt_reads: true,
            tunables: Tunables { first_rcvbuf: rmem[0], first_sndbuf: wmem[0], ..sysctls.tunables() },
            queue_paces: paces,
        };
        let direction = if listens { Direction::Backward } else { Direction::Forward };
        let identity = Identity { flow: FlowId(0), direction, port: PORT, mark: 0 };
        let scale = window_scale(&settings, listens);
        let end = transport::Endpoint::new(identity, settings, controller);
        let now = Time::from_nanos(now);
        Ok(Self { end, now, paces, scale, queued: VecDeque::new(), sent: VecDeque::new() })
    }

    /// The scale of the windows that it offers.
    #[getter]
    const fn window_scale(&self) -> u8 {
        self.scale
    }

    #[getter]
    const fn now(&self) -> u64 {
        self.now.as_nanos()
    }

    #[getter]
    fn is_established(&self) -> bool {
        self.end.is_established()
    }

    /// Bytes that arrived in order and were not read.
    #[getter]
    fn unread(&self) -> u64 {
        self.end.received().bytes.saturating_sub(self.end.bytes_read())
    }

    /// Has the peer closed, and is all read?
    #[getter]
    fn is_finished(&self) -> bool {
        self.end.is_finished()
    }

    /// The program connects.
    fn connect(&mut self) -> PyResult<()> {
        self.act(transport::Endpoint::connect)
    }

    /// The program writes.
    fn write(&mut self, bytes: u64) -> PyResult<()> {
        self.act(|end, now| end.write(now, bytes))
    }

    /// The program closes its socket, or the direction in which it sends.
    fn close(&mut self) -> PyResult<()> {
        self.act(transport::Endpoint::close)
    }

    /// The program reads all that is there.
    fn read(&mut self) -> PyResult<()> {
        self.act(|end, now| {
            end.read(now);
        })
    }

    /// A segment arrives.
    #[pyo3(signature = (seq, length, ack, window, flags, *, sent_at_ns, echo_ns, sack, ecn=0))]
    #[expect(clippy::too_many_arguments, reason = "fields of a header")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn receive(
        &mut self,
        seq: u64,
        length: u32,
        ack: Option<u64>,
        window: u32,
        flags: &str,
        sent_at_ns: u64,
        echo_ns: u64,
        sack: Vec<(u64, u64)>,
        ecn: u8,
    ) -> PyResult<()> {
        let mut blocks = Sack::default();
        if !sack.iter().all(|&(start, end)| blocks.push(start, end)) {
            return Err(PyValueError::new_err("at most three SACK blocks"));
        }
        let has = |letter| flags.contains(letter);
        let flags = Flags {
            syn: has('S'),
            ack: ack.is_some(),
            fin: has('F'),
            psh: has('P'),
            ece: has('E'),
            cwr: has('W'),
            ace: None,
        };
        let segment = Segment {
            seq,
            len: length,
            layout: None,
            ack: ack.unwrap_or(0),
            window,
            flags,
            sent_at: Time::from_nanos(sent_at_ns),
            echo: Time::from_nanos(echo_ns),
            sack: blocks,
            mss: u16::try_from(length).unwrap_or(u16::MAX),
        };
        let packet = Packet {
            flow: FlowId(0),
            direction: Direction::Forward,
            ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ecn & 3)],
            segments: 1,
            bytes: length + TCP_HEADERS_BYTES + blocks.bytes(),
            port: PORT,
            mark: 0,
            rehashes: 0,
            damage: Damage::None,
            queued_at: Time::ZERO,
            body: Body::Tcp(segment),
        };
        self.act(|end, now| end.on_packet(now, &packet))
    }

    /// Lets time pass until `until`, or with `stops` until a packet is sent. Returns whether one was.
    fn run(&mut self, until: u64, stops: bool) -> PyResult<bool> {
        let until = Time::from_nanos(until);
        let mut calls = 0_u32;
        while !stops || self.sent.is_empty() {
            let departure = self.queued.front().map_or(Time::NEVER, departure);
            let next = self.end.next_timer().min(departure);
            if next > until {
                self.now = self.now.max(until);
                break;
            }
            calls += 1;
            if calls > MOST_CALLS {
                return Err(EngineError::new_err("the endpoint's timers never rest. This is a bug in Dumbbell"));
            }
            self.now = self.now.max(next);
            let departs = departure <= self.now;
            guarded(|| {
                if departs {
                    self.depart();
                } else {
                    self.end.on_timer(self.now);
                }
                self.settle();
                Ok(())
            })?;
        }
        Ok(!self.sent.is_empty())
    }

    /// The oldest packet that was sent and not taken yet.
    fn take_sent(&mut self) -> Option<SentSegment> {
        self.sent.pop_front()
    }

    /// `tcp_info` by the names of `linux/tcp.h`, in its units.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in fields(&self.end.info(self.now)) {
            dict.set_item(name, value)?;
        }
        dict.set_item("tcpi_bytes_received", self.end.received().bytes)?;
        dict.set_item("tcpi_rcv_space", self.end.received().rcv_space)?;
        Ok(dict)
    }
}

impl Endpoint {
    /// Something happens now, and the endpoint does what follows from it.
    fn act(&mut self, what: impl FnOnce(&mut transport::Endpoint, Time)) -> PyResult<()> {
        guarded(|| {
            what(&mut self.end, self.now);
            self.settle();
            Ok(())
        })
    }

    /// Sends what can be sent now; programs that were woken continue after the packets of this time.
    fn settle(&mut self) {
        loop {
            let mut resumes = false;
            let mut leaving = Vec::new();
            while let Some(packet) = self.end.poll(self.now) {
                if self.paces && (departure(&packet) > self.now || !self.queued.is_empty()) {
                    self.queued.push_back(packet);
                    continue;
                }
                self.note(&packet);
                if self.end.departs_at_once(&packet) {
                    resumes |= self.end.on_departed(&packet, 1);
                } else {
                    leaving.push(packet);
                }
            }
            for packet in leaving {
                resumes |= self.end.on_departed(&packet, 1);
            }
            if resumes {
                self.end.on_resumed(self.now);
            } else if self.end.is_in_call() {
                self.end.continue_call(self.now);
            } else if self.end.wants_to_write() {
                self.end.continue_writing(self.now);
            } else {
                break;
            }
        }
    }

    fn depart(&mut self) {
        let Some(packet) = self.queued.pop_front() else { return };
        self.note(&packet);
        if self.end.on_departed(&packet, 1) {
            self.end.on_resumed(self.now);
        }
    }

    fn note(&mut self, packet: &Packet) {
        let Body::Tcp(segment) = &packet.body else { return };
        let flags = segment.flags;
        let letters = [
            (flags.fin, 'F'),
            (flags.syn, 'S'),
            (flags.psh, 'P'),
            (flags.ack || !flags.syn, '.'),
            (flags.ece, 'E'),
            (flags.cwr, 'W'),
        ];
        self.sent.push_back(SentSegment {
            at_ns: self.now.as_nanos(),
            seq: segment.seq,
            length: segment.len,
            ack: segment.ack,
            window: segment.window,
            flags: letters.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect(),
            ecn: packet.ecn.bits(),
            sent_at_ns: segment.sent_at.as_nanos(),
            echo_ns: segment.echo.as_nanos(),
            sack: segment.sack.blocks().to_vec(),
        });
    }
}

/// When a packet leaves a queue that paces.
fn departure(packet: &Packet) -> Time {
    if let Body::Tcp(segment) = &packet.body { segment.sent_at } else { Time::ZERO }
}

fn fields(info: &Info) -> [(&'static str, u64); 35] {
    let micros = Span::as_micros;
    [
        ("tcpi_state", info.state.into()),
        ("tcpi_ca_state", info.ca_state as u64),
        ("tcpi_backoff", info.backoff.into()),
        ("tcpi_snd_cwnd", info.cwnd.into()),
        ("tcpi_snd_ssthresh", info.ssthresh.into()),
        ("tcpi_rtt", micros(info.rtt)),
        ("tcpi_rttvar", micros(info.rttvar)),
        ("tcpi_min_rtt", info.min_rtt.map_or(u32::MAX.into(), micros)),
        ("tcpi_rto", micros(info.rto)),
        ("tcpi_unacked", info.unacked.into()),
        ("tcpi_sacked", info.sacked.into()),
        ("tcpi_lost", info.lost.into()),
        ("tcpi_retrans", info.retrans_out.into()),
        ("tcpi_fackets", 0),
        ("tcpi_total_retrans", info.total_retrans.into()),
        ("tcpi_snd_mss", info.mss.into()),
        ("tcpi_pacing_rate", info.pacing_rate.map_or(u64::MAX, Rate::as_bytes)),
        ("tcpi_delivery_rate", info.delivery_rate.as_bytes()),
        ("tcpi_delivery_rate_app_limited", info.app_limited.into()),
        ("tcpi_bytes_sent", info.bytes_sent),
        ("tcpi_bytes_acked", info.bytes_acked),
        ("tcpi_bytes_retrans", info.bytes_retrans),
        ("tcpi_segs_out", info.segs_out.into()),
        ("tcpi_data_segs_out", info.data_segs_out.into()),
        ("tcpi_delivered", info.delivered.into()),
        ("tcpi_delivered_ce", info.delivered_ce.into()),
        ("tcpi_reordering", info.reordering.into()),
        ("tcpi_reord_seen", info.reord_seen.into()),
        ("tcpi_snd_wnd", info.snd_wnd.into()),
        ("tcpi_notsent_bytes", info.notsent_bytes.into()),
        ("tcpi_busy_time", micros(info.busy)),
        ("tcpi_rwnd_limited", micros(info.rwnd_limited)),
        ("tcpi_sndbuf_limited", micros(info.sndbuf_limited)),
        ("tcpi_dsack_dups", info.dsack_dups.into()),
        ("tcpi_options_ecn", info.ecn.into()),
    ]
}

/// `TCP_INIT_CWND`.
const INITIAL_WINDOW: u32 = 10;
/// A tun device takes super-packets of this size (`GSO_LEGACY_MAX_SIZE`).
const GSO_MAX_BYTES: u32 = 65_536;
/// packetdrill's port; nothing depends on it.
const PORT: u16 = 8_080;
/// Timers of a script's whole time: more means that one fires without an end.
const MOST_CALLS: u32 = 10_000_000;
