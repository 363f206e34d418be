//! One TCP flow: bulk, sized, on/off or request/response.
//!
//! ```text
//!            start            writable             accepted
//!   Waiting ------> Connecting --------> Connected ---------> Flowing
//!                        |                                      |
//!                        +------------- error ---> Over <-- all bytes, stop
//! ```
//!
//! If only one end is on this host, the flow runs that end and reports its own measurements. Another host's agent runs
//! the other end, and `dumbbell.engines.remote_records` joins the reports.
//!
//! The sender splices pages of one file into the socket without copying; the receiver discards data with `MSG_TRUNC`
//! and uses `SO_RCVLOWAT` to wake up for large amounts only.

use super::FlowStep;
use super::info::{data_segs_out, receive_space, received_bytes, total_retrans};
use super::payload::Payload;
use crate::error::{Attempt, Result};
use crate::sys::{self, Clock};
use dumbbell_plan::{Ends, Exchange, Flow};
use dumbbell_records::end::FlowEnd;
use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt::Display;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// One flow: both ends, or the one on this host.
pub struct TcpFlow {
    plan: Flow,
    sender: Option<Socket>,
    receiver: Option<Socket>,
    /// Keeps a receiver open that has stopped, since its sender on another host may still send.
    held: Option<Socket>,
    addresses: Option<(SocketAddr, SocketAddr)>,
    /// Bytes still to write: of the flow, or of the current response.
    to_send: u64,
    paused: bool,
    closing: bool,
    received: u64,
    reads: u32,
    exchange: Option<PendingExchange>,
    /// Summary for `end.json`.
    pub report: FlowEnd,
}

/// The current exchange of a request/response flow.
struct PendingExchange {
    plan_exchange: Exchange,
    request_left: u64,
    response_left: u64,
    requested_ns: u64,
}

impl PendingExchange {
    fn new(plan_exchange: Exchange, requested_ns: u64) -> Self {
        Self { plan_exchange, request_left: plan_exchange.request, response_left: plan_exchange.response, requested_ns }
    }
}

impl TcpFlow {
    /// A flow that has not started.
    pub fn new(plan: Flow) -> Self {
        let report = FlowEnd { name: plan.name.clone(), ..FlowEnd::default() };
        let to_send = if plan.exchange.is_some() { 0 } else { plan.bytes.unwrap_or(u64::MAX) };
        Self {
            plan,
            sender: None,
            receiver: None,
            held: None,
            addresses: None,
            to_send,
            paused: false,
            closing: false,
            received: 0,
            reads: 0,
            exchange: None,
            report,
        }
    }

    /// Opens the sender's socket and starts to connect.
    pub fn start(&mut self, now_ns: u64) -> Result<RawFd> {
        self.report.started_ns = Some(now_ns);
        let (socket, local) = sys::within(&self.plan.sender, || self.connect())
            .attempt(|| format!("starting flow '{}'", self.plan.name))?;
        let descriptor = socket.as_raw_fd();
        self.addresses = Some((local, SocketAddr::new(self.plan.address, self.plan.port)));
        self.sender = Some(socket);
        Ok(descriptor)
    }

    fn connect(&self) -> io::Result<(Socket, SocketAddr)> {
        let remote = SocketAddr::new(self.plan.address, self.plan.port);
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::for_address(remote), kind, Some(Protocol::TCP))?;
        if let Some(cc) = &self.plan.cc {
            socket.set_tcp_congestion(cc.as_bytes())?;
        }
        if let Some(mark) = self.plan.mark {
            socket.set_mark(mark)?;
        }
        if let Some(bytes) = self.plan.sndbuf {
            sys::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, sys::small(bytes))?;
        }
        if let Some(rate) = self.plan.pacing_rate {
            sys::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate)?;
        }
        match socket.connect(&remote.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let local = socket.local_addr()?.as_socket().expect("a socket of IP has an IP address");
        Ok((socket, local))
    }

    /// Local and remote address of the sender.
    pub fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.addresses
    }

    /// Host of the sender.
    pub fn sender_host(&self) -> &str {
        &self.plan.sender
    }

    /// Host of the receiver.
    pub fn receiver_host(&self) -> &str {
        &self.plan.receiver
    }

    /// Is there a connection to sample?
    pub fn is_flowing(&self) -> bool {
        let connected = match self.plan.ends {
            Ends::Sender => self.report.connected_ns.is_some(),
            Ends::Both | Ends::Receiver => self.receiver.is_some(),
        };
        connected && self.report.stopped_ns.is_none()
    }

    /// Which ends are on this host.
    pub fn ends(&self) -> Ends {
        self.plan.ends
    }

    /// Does the flow expect a connection from this peer? Only if its sender is on another host.
    pub fn expects(&self, from: SocketAddr) -> bool {
        self.receiver.is_none() && !self.is_over() && self.plan.from.is_none_or(|sender| sender == from.ip())
    }

    /// A sender on another host has connected.
    pub fn connected_from(&mut self, socket: Socket, from: SocketAddr, now_ns: u64) -> Result<()> {
        self.addresses = Some((from, SocketAddr::new(self.plan.address, self.plan.port)));
        self.report.started_ns = Some(now_ns);
        self.report.connected_ns = Some(now_ns);
        self.accepted(socket, now_ns)
    }

    /// Has its last byte arrived? A sender whose receiver is on another host has read the end of the connection.
    pub fn has_completed(&self) -> bool {
        let is_known = self.plan.ends == Ends::Sender && self.plan.bytes.is_some() && self.is_over();
        self.report.completed_ns.is_some() || is_known && self.report.error.is_none()
    }

    /// Has the flow ended?
    pub fn is_over(&self) -> bool {
        self.report.stopped_ns.is_some()
    }

    /// The listening socket has accepted the connection.
    pub fn accepted(&mut self, socket: Socket, now_ns: u64) -> Result<()> {
        let descriptor = socket.as_raw_fd();
        self.receiver = Some(socket);
        self.wake_rarely(descriptor)?;
        if self.plan.exchange.is_some() {
            self.send_request(now_ns)?;
        }
        Ok(())
    }

    /// The sender's socket is writable (or readable, for request/response).
    pub fn sender_ready(&mut self, clock: Clock, payload: &Payload) -> Result<FlowStep> {
        let first = self.report.connected_ns.is_none();
        if first {
            return self.connected(clock, payload);
        }
        self.read_request();
        self.write(clock, payload)
    }

    fn connected(&mut self, clock: Clock, payload: &Payload) -> Result<FlowStep> {
        let Some(socket) = &self.sender else { return Ok(FlowStep::Same) };
        if let Some(error) = socket.take_error().attempt(|| "reading a socket's error".into())? {
            return Ok(self.failed(error, clock));
        }
        self.report.connected_ns = Some(clock.now_ns());
        if let (Ends::Sender, Some(plan_exchange)) = (self.plan.ends, self.plan.exchange) {
            self.exchange = Some(PendingExchange::new(plan_exchange, clock.now_ns()));
        }
        self.read_request();
        let step = self.write(clock, payload)?;
        Ok(if step == FlowStep::Done { step } else { FlowStep::Changed })
    }

    fn write(&mut self, clock: Clock, payload: &Payload) -> Result<FlowStep> {
        let Some(socket) = &self.sender else { return Ok(FlowStep::Same) };
        if self.paused || self.report.connected_ns.is_none() {
            return Ok(FlowStep::Same);
        }
        while self.to_send > 0 {
            match payload.send(socket, self.to_send) {
                Ok((sent, full)) => {
                    self.to_send -= if self.to_send == u64::MAX { 0 } else { sent };
                    if full {
                        return Ok(FlowStep::Same);
                    }
                }
                Err(Errno::EAGAIN) => return Ok(FlowStep::Same),
                Err(error) => return Ok(self.failed(error, clock)),
            }
        }
        if self.plan.bytes.is_some() && self.plan.exchange.is_none() && !self.closing {
            // Only once: another shutdown would wake the socket's waiters again.
            self.closing = true;
            socket.shutdown(Shutdown::Write).attempt(|| format!("ending flow '{}'", self.plan.name))?;
        }
        if self.closing && self.plan.ends == Ends::Sender && sys::discard(socket.as_raw_fd(), 1) == Ok(0) {
            return Ok(self.finished(clock)); // The receiver has everything and closed.
        }
        Ok(FlowStep::Same)
    }

    /// A broken connection ends the flow, not the run.
    fn failed(&mut self, error: impl Display, clock: Clock) -> FlowStep {
        self.report.error.get_or_insert(error.to_string());
        self.stop(clock.now_ns());
        FlowStep::Done
    }

    /// The receiver's socket is readable, or was already read `times` times; then `taken` is the last result.
    pub fn receiver_ready(
        &mut self,
        clock: Clock,
        mut taken: Option<nix::Result<usize>>,
        times: u32,
    ) -> Result<FlowStep> {
        let Some(socket) = &self.receiver else { return Ok(FlowStep::Same) };
        let descriptor = socket.as_raw_fd();
        let once = taken.is_some() || self.plan.bytes.is_none();
        loop {
            match taken.take().unwrap_or_else(|| sys::discard(descriptor, 1 << 30)) {
                Ok(0) => return Ok(self.finished(clock)),
                Ok(bytes) => self.received += bytes as u64,
                Err(Errno::EAGAIN) => break,
                // A sender on another host ends an unlimited flow with a reset.
                Err(Errno::ECONNRESET) if self.plan.ends == Ends::Receiver => return Ok(self.finished(clock)),
                Err(error) => return Ok(self.failed(error, clock)),
            }
            if once {
                break; // One call read everything; the next event reports more.
            }
        }
        self.reads += times;
        if self.reads.is_power_of_two() || self.reads.is_multiple_of(INFO_READS) {
            self.wake_rarely(descriptor)?;
        }
        if self.plan.exchange.is_some() {
            return self.read_response(clock);
        }
        Ok(if self.plan.bytes == Some(self.received) { self.finished(clock) } else { FlowStep::Same })
    }

    /// Reads that may be coalesced into one event: up to the next update of `SO_RCVLOWAT`.
    pub fn coalescable_reads(&self) -> u32 {
        if self.plan.bytes.is_some() || self.plan.exchange.is_some() {
            return 1;
        }
        (self.reads + 1).next_power_of_two().min((self.reads + 1).next_multiple_of(INFO_READS)) - self.reads
    }

    /// Sets `SO_RCVLOWAT` to a quarter of the data that autotuning saw per round trip, at most an eighth of the
    /// buffer. Autotuning measures at reads: with fewer of them the window would grow later than a program's does.
    fn wake_rarely(&self, descriptor: RawFd) -> Result<()> {
        if self.plan.exchange.is_some() || self.plan.prompt_reads {
            return Ok(());
        }
        let buffer = sys::get_option(descriptor, libc::SOL_SOCKET, libc::SO_RCVBUF)
            .attempt(|| "reading a receive buffer's size".into())?;
        let info = sys::tcp_info(descriptor).attempt(|| "reading a receiver's tcp_info".into())?;
        let round_trip = i32::try_from(receive_space(&info)).unwrap_or(i32::MAX);
        let left = self.plan.bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(self.received));
        let amount =
            (buffer / 8).min(round_trip / 4).min(MAX_UNREAD).min(i32::try_from(left).unwrap_or(i32::MAX)).max(1);
        sys::set_option(descriptor, libc::SOL_SOCKET, libc::SO_RCVLOWAT, amount)
            .attempt(|| "setting SO_RCVLOWAT".into())
    }

    /// Starts or ends an idle period of an on/off flow.
    pub fn toggle(&mut self, clock: Clock, now_ns: u64, payload: &Payload) -> Result<FlowStep> {
        let Some((on_ns, off_ns)) = self.plan.on_off_ns else { return Ok(FlowStep::Same) };
        if self.is_over() {
            return Ok(FlowStep::Same);
        }
        self.paused = !self.paused;
        if self.write(clock, payload)? == FlowStep::Done {
            return Ok(FlowStep::Done);
        }
        Ok(FlowStep::WakeAt(now_ns + if self.paused { off_ns } else { on_ns }))
    }

    fn finished(&mut self, clock: Clock) -> FlowStep {
        if self.report.stopped_ns.is_some() {
            return FlowStep::Same;
        }
        let now_ns = clock.now_ns();
        if self.plan.bytes == Some(self.received) {
            self.report.completed_ns = Some(now_ns);
        }
        self.stop(now_ns);
        FlowStep::Done
    }

    /// Ends the flow: reads its sockets' statistics and closes them.
    pub fn stop(&mut self, now_ns: u64) {
        if self.report.started_ns.is_none() || self.report.stopped_ns.is_some() {
            return;
        }
        self.report.stopped_ns = Some(now_ns);
        if let Some(socket) = self.sender.take() {
            if self.plan.ends == Ends::Sender {
                // Otherwise queued data would be sent after the experiment. On error the socket is closed already.
                let _ = socket.set_linger(Some(Duration::ZERO));
            }
            self.report.cc = getsockopt(&socket, sockopt::TcpCongestion)
                .ok()
                .map(|name| name.to_string_lossy().trim_end_matches('\0').to_string());
            if let Ok(info) = sys::tcp_info(socket.as_raw_fd()) {
                self.report.retransmits = total_retrans(&info).into();
                self.report.data_segs_out = data_segs_out(&info).into();
            }
        }
        if let Some(socket) = self.receiver.take()
            && let Ok(info) = sys::tcp_info(socket.as_raw_fd())
        {
            // The counter includes the FIN's sequence number.
            let most = self.plan.bytes.filter(|_| self.plan.exchange.is_none()).unwrap_or(u64::MAX);
            self.report.bytes_received = received_bytes(&info).min(most);
            self.held = Some(socket).filter(|_| self.plan.ends == Ends::Receiver && self.report.completed_ns.is_none());
        }
    }

    fn send_request(&mut self, now_ns: u64) -> Result<()> {
        let (Some(plan_exchange), Some(socket)) = (self.plan.exchange, &self.receiver) else { return Ok(()) };
        let request = vec![0; usize::try_from(plan_exchange.request).expect("a request fits in memory")];
        let sent = socket.send(&request).attempt(|| format!("sending a request in flow '{}'", self.plan.name))?;
        assert_eq!(sent, request.len(), "a request fits in a socket buffer");
        self.exchange = Some(PendingExchange::new(plan_exchange, now_ns));
        Ok(())
    }

    fn read_request(&mut self) {
        let (Some(exchange), Some(socket)) = (&mut self.exchange, &self.sender) else { return };
        if let Ok(bytes) = sys::discard(socket.as_raw_fd(), 1 << 30) {
            let before = exchange.request_left;
            exchange.request_left = before.saturating_sub(bytes as u64);
            if before > 0 && exchange.request_left == 0 {
                self.to_send += exchange.plan_exchange.response;
                if self.plan.ends == Ends::Sender {
                    exchange.request_left = exchange.plan_exchange.request; // Of the next exchange.
                }
            }
        }
    }

    fn read_response(&mut self, clock: Clock) -> Result<FlowStep> {
        let Some(exchange) = &mut self.exchange else { return Ok(FlowStep::Same) };
        exchange.response_left = exchange.response_left.saturating_sub(std::mem::take(&mut self.received));
        if exchange.response_left > 0 {
            return Ok(FlowStep::Same);
        }
        let now_ns = clock.now_ns();
        self.report.exchanges_ns.push(now_ns - exchange.requested_ns);
        let think_ns = exchange.plan_exchange.think_ns;
        self.exchange = None;
        if self.plan.wait.barrier.is_some() {
            return Ok(FlowStep::Responded);
        }
        if think_ns > 0 {
            return Ok(FlowStep::WakeAt(now_ns + think_ns));
        }
        self.send_request(now_ns).map(|()| FlowStep::Same)
    }

    /// The think time is over.
    pub fn wake(&mut self, now_ns: u64) -> Result<()> {
        if self.exchange.is_none() && !self.is_over() { self.send_request(now_ns) } else { Ok(()) }
    }
}

/// Reads between updates of `SO_RCVLOWAT`; early updates come at powers of two.
const INFO_READS: u32 = 256;
/// Maximum unread bytes at a receiver; more would shrink the advertised window.
const MAX_UNREAD: i32 = 1 << 20;
