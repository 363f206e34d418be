//! One UDP flow at a constant rate; the receiver counts what arrives.

use crate::error::{Attempt, Result};
use crate::sys;
use dumbbell_net::datagrams::{Arrivals, Schedule};
use dumbbell_plan::Flow;
use dumbbell_records::Datagrams;
use dumbbell_records::end::FlowEnd;
use nix::sys::socket::{MsgFlags, recv};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

/// ECT(0) in the field of the type of service.
const ECT_0: i32 = 2;

/// One flow: both ends, or the one on this host.
pub struct UdpFlow {
    plan: Flow,
    sender: Option<UdpSocket>,
    receiver: Option<UdpSocket>,
    packet: Vec<u8>,
    schedule: Schedule,
    /// Datagrams that have arrived, by the number and the time that they begin with.
    arrivals: Arrivals,
    /// Payload bytes sent so far.
    pub sent_bytes: u64,
    /// Payload bytes received so far.
    pub received_bytes: u64,
    /// Summary for `end.json`.
    pub report: FlowEnd,
}

impl UdpFlow {
    /// Binds the receiver's socket, if it is on this host and the sender is not.
    pub fn new(plan: Flow) -> Result<Self> {
        let is_remote = plan.ends.receives() && !plan.ends.sends();
        let receiver = is_remote.then(|| receiver(&plan, None)).transpose()?;
        let interval_ns = plan.interval_ns.expect("a UDP flow has an interval");
        let schedule = Schedule::new(plan.start_ns, interval_ns, plan.on_off_ns);
        let report = FlowEnd { name: plan.name.clone(), ..FlowEnd::default() };
        let packet = vec![0; plan.packet.expect("a UDP flow has a packet size") as usize];
        Ok(Self {
            plan,
            sender: None,
            receiver,
            packet,
            schedule,
            arrivals: Arrivals::default(),
            sent_bytes: 0,
            received_bytes: 0,
            report,
        })
    }

    /// Descriptor of the receiver's socket.
    pub fn receiver(&self) -> Option<RawFd> {
        self.receiver.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Opens the sender's socket, and the receiver's if it is on this host, too. The receiver takes packets of this
    /// sender only, so that flows can share a port.
    pub fn start(&mut self, now_ns: u64) -> Result<()> {
        self.report.started_ns = Some(now_ns);
        self.report.connected_ns = Some(now_ns);
        if !self.plan.ends.sends() {
            return Ok(());
        }
        let remote = SocketAddr::new(self.plan.address, self.plan.port);
        let socket = sys::within(&self.plan.sender, || {
            let socket = UdpSocket::bind(sys::any_address(self.plan.address, 0))?;
            socket.connect(remote)?;
            socket.set_nonblocking(true)?;
            let descriptor = socket.as_raw_fd();
            if let Some(mark) = self.plan.mark {
                sys::set_option(descriptor, libc::SOL_SOCKET, libc::SO_MARK, mark)?;
            }
            if let Some(bytes) = self.plan.sndbuf {
                sys::set_option(descriptor, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, sys::small(bytes))?;
            }
            if self.plan.ecn {
                let (level, option) = match remote {
                    SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
                    SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
                };
                sys::set_option(descriptor, level, option, ECT_0)?;
            }
            Ok(socket)
        })
        .attempt(|| format!("starting flow '{}'", self.plan.name))?;
        if self.plan.ends.receives() {
            let from = socket.local_addr().attempt(|| "reading a socket's address".into())?;
            self.receiver = Some(receiver(&self.plan, Some(from))?);
        }
        self.schedule = Schedule::new(now_ns, self.plan.interval_ns.expect("as above"), self.plan.on_off_ns);
        self.sender = Some(socket);
        Ok(())
    }

    /// Sends one packet; returns when the next is due, or None when the flow is over.
    pub fn send(&mut self, now_ns: u64) -> Result<Option<u64>> {
        let Some(socket) = &self.sender else { return Ok(None) };
        self.packet[..TIME_AT].copy_from_slice(&self.report.data_segs_out.to_be_bytes());
        self.packet[TIME_AT..HEAD_BYTES].copy_from_slice(&now_ns.to_be_bytes());
        match socket.send(&self.packet) {
            Ok(bytes) => self.sent_bytes += bytes as u64,
            // A full device queue counts as loss: the receiver's count shows it.
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(error) => return Err(error).attempt(|| format!("sending in flow '{}'", self.plan.name)),
        }
        self.report.data_segs_out += 1;
        Ok(Some(self.schedule.next(now_ns)))
    }

    /// Counts packets that have arrived, duplicates once.
    pub fn receiver_ready(&mut self, now_ns: u64) {
        let Some(receiver) = self.receiver() else { return };
        let mut head = [0u8; HEAD_BYTES];
        while let Ok(length) = recv(receiver, &mut head, MsgFlags::MSG_TRUNC) {
            let [number, sent_ns] = [&head[..TIME_AT], &head[TIME_AT..]]
                .map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")));
            if self.arrivals.add(number, sent_ns, now_ns) {
                self.received_bytes += length as u64;
            }
        }
    }

    /// What is known of its datagrams; two hosts' clocks give no delay.
    pub fn datagrams(&self) -> Datagrams {
        let arrivals = self.plan.ends.receives().then_some(&self.arrivals);
        Datagrams {
            sent_bytes: self.sent_bytes,
            lost: arrivals.map(Arrivals::lost),
            jitter_ns: arrivals.and_then(Arrivals::jitter),
            delay_ns: arrivals.filter(|_| self.plan.ends.sends()).and_then(Arrivals::delay),
        }
    }

    /// Is it sending?
    pub fn is_flowing(&self) -> bool {
        self.report.started_ns.is_some() && self.report.stopped_ns.is_none()
    }

    /// Ends the flow.
    pub fn stop(&mut self, now_ns: u64) {
        if self.is_flowing() {
            self.sender = None;
            self.report.stopped_ns = Some(now_ns);
            self.report.bytes_received = self.received_bytes;
        }
    }
}

/// A packet begins with its number and the time of its sending; the smallest packet has just these.
const TIME_AT: usize = 8;
const HEAD_BYTES: usize = 16;

/// The receiver's socket; it takes packets of this sender, or of any.
fn receiver(plan: &Flow, from: Option<SocketAddr>) -> Result<UdpSocket> {
    sys::within(&plan.receiver, || {
        let any = sys::any_address(plan.address, plan.port);
        let socket = Socket::new(Domain::for_address(any), Type::DGRAM.nonblocking(), None)?;
        socket.set_reuse_address(from.is_some())?;
        if let Some(bytes) = plan.rcvbuf {
            sys::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, sys::small(bytes))?;
        }
        socket.bind(&any.into())?;
        if let Some(from) = from {
            socket.connect(&from.into())?;
        }
        Ok(socket.into())
    })
    .attempt(|| format!("binding the receiver of flow '{}'", plan.name))
}
