//! One TCP flow: bulk, sized, on/off or request/response.
//!
//! ```text
//!            start            writable             accepted
//!   Waiting ------> Connecting --------> Connected ---------> Flowing
//!                        |                                      |
//!                        +------------- error ---> Over <-- all bytes, stop
//! ```
//!
//! Where only one end is here, that end does its part and its report says what it can know; the other is the affair of
//! another machine's agent, and `dumbbell.engine.remote.join` joins both.
//!
//! The sender splices pages of one file into the socket, so nothing is copied; the receiver
//! discards with `MSG_TRUNC` and asks to be woken for large amounts only. What TCP does with
//! the bytes is the kernel's affair.

use super::Turn;
use super::info::{data_segs_out, receive_space, received_bytes, total_retrans};
use super::payload::Payload;
use super::report::Report;
use crate::error::{Attempt, Result};
use crate::plan::{Ends, Exchange, Flow};
use crate::sys::{self, Clock};
use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt::Display;
use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// One flow: both ends, or the one that is here.
pub struct TcpFlow {
    plan: Flow,
    sender: Option<Socket>,
    receiver: Option<Socket>,
    /// A receiver that has stopped before its sender on another machine may have: nobody slams the door.
    held: Option<Socket>,
    addresses: Option<(SocketAddrV4, SocketAddrV4)>,
    /// Bytes that may still be written: of the flow, or of the answer under way.
    to_send: u64,
    resting: bool,
    closing: bool,
    received: u64,
    reads: u32,
    asking: Option<Question>,
    /// What will be reported.
    pub report: Report,
}

/// A question under way in a request/response flow.
struct Question {
    rules: Exchange,
    request_left: u64,
    response_left: u64,
    asked_ns: u64,
}

impl Question {
    fn new(rules: Exchange, asked_ns: u64) -> Self {
        Self { rules, request_left: rules.request, response_left: rules.response, asked_ns }
    }
}

impl TcpFlow {
    /// A flow that has not started.
    pub fn new(plan: Flow) -> Self {
        let report = Report { name: plan.name.clone(), ..Report::default() };
        let to_send = if plan.exchange.is_some() { 0 } else { plan.bytes.unwrap_or(u64::MAX) };
        Self {
            plan,
            sender: None,
            receiver: None,
            held: None,
            addresses: None,
            to_send,
            resting: false,
            closing: false,
            received: 0,
            reads: 0,
            asking: None,
            report,
        }
    }

    /// Opens the sender's socket and begins to connect.
    pub fn start(&mut self, now_ns: u64) -> Result<RawFd> {
        self.report.started_ns = Some(now_ns);
        let (socket, local) = sys::within(&self.plan.sender, || self.connect())
            .attempt(|| format!("starting flow '{}'", self.plan.name))?;
        let descriptor = socket.as_raw_fd();
        self.addresses = Some((local, SocketAddrV4::new(self.plan.address, self.plan.port)));
        self.sender = Some(socket);
        Ok(descriptor)
    }

    fn connect(&self) -> io::Result<(Socket, SocketAddrV4)> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
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
        let remote = SocketAddrV4::new(self.plan.address, self.plan.port);
        match socket.connect(&remote.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let local = socket.local_addr()?.as_socket_ipv4().expect("an IPv4 socket has an IPv4 address");
        Ok((socket, local))
    }

    /// Own and peer's address of the sender.
    pub fn addresses(&self) -> Option<(SocketAddrV4, SocketAddrV4)> {
        self.addresses
    }

    /// Host of the sending end.
    pub fn sender_host(&self) -> &str {
        &self.plan.sender
    }

    /// Host of the receiving end.
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

    /// Which ends are here.
    pub fn ends(&self) -> Ends {
        self.plan.ends
    }

    /// Does this listening port wait for this peer? Only where the sender is on another machine.
    pub fn awaits(&self, from: SocketAddrV4) -> bool {
        self.receiver.is_none() && !self.is_over() && self.plan.from.is_none_or(|sender| sender == *from.ip())
    }

    /// A sender on another machine has connected.
    pub fn came(&mut self, socket: Socket, from: SocketAddrV4, now_ns: u64) -> Result<()> {
        self.addresses = Some((from, SocketAddrV4::new(self.plan.address, self.plan.port)));
        self.report.started_ns = Some(now_ns);
        self.report.connected_ns = Some(now_ns);
        self.accepted(socket, now_ns)
    }

    /// Has it ended?
    pub fn is_over(&self) -> bool {
        self.report.stopped_ns.is_some()
    }

    /// The receiver's host has accepted the connection.
    pub fn accepted(&mut self, socket: Socket, now_ns: u64) -> Result<()> {
        let descriptor = socket.as_raw_fd();
        self.receiver = Some(socket);
        self.wake_rarely(descriptor)?;
        if self.plan.exchange.is_some() {
            self.ask(now_ns)?;
        }
        Ok(())
    }

    /// The sender's socket became writable (or, in request/response, readable).
    pub fn sender_ready(&mut self, clock: Clock, payload: &Payload) -> Result<Turn> {
        let first = self.report.connected_ns.is_none();
        if first {
            return self.connected(clock, payload);
        }
        self.hear_question();
        self.write(clock, payload)
    }

    fn connected(&mut self, clock: Clock, payload: &Payload) -> Result<Turn> {
        let Some(socket) = &self.sender else { return Ok(Turn::Same) };
        if let Some(error) = socket.take_error().attempt(|| "reading a socket's error".into())? {
            return Ok(self.failed(error, clock));
        }
        self.report.connected_ns = Some(clock.now_ns());
        if let (Ends::Sender, Some(rules)) = (self.plan.ends, self.plan.exchange) {
            self.asking = Some(Question::new(rules, clock.now_ns()));
        }
        self.hear_question();
        let turn = self.write(clock, payload)?;
        Ok(if turn == Turn::Done { turn } else { Turn::Changed })
    }

    fn write(&mut self, clock: Clock, payload: &Payload) -> Result<Turn> {
        let Some(socket) = &self.sender else { return Ok(Turn::Same) };
        if self.resting || self.report.connected_ns.is_none() {
            return Ok(Turn::Same);
        }
        while self.to_send > 0 {
            match payload.send(socket, self.to_send) {
                Ok((sent, full)) => {
                    self.to_send -= if self.to_send == u64::MAX { 0 } else { sent };
                    if full {
                        return Ok(Turn::Same);
                    }
                }
                Err(Errno::EAGAIN) => return Ok(Turn::Same),
                Err(error) => return Ok(self.failed(error, clock)),
            }
        }
        if self.plan.bytes.is_some() && self.plan.exchange.is_none() && !self.closing {
            // Once: a shutdown wakes its own socket's waiters, even when it is down already.
            self.closing = true;
            socket.shutdown(Shutdown::Write).attempt(|| format!("ending flow '{}'", self.plan.name))?;
        }
        if self.closing && self.plan.ends == Ends::Sender && sys::discard(socket.as_raw_fd(), 1) == Ok(0) {
            return Ok(self.finished(clock)); // The receiver has all, and says so by closing.
        }
        Ok(Turn::Same)
    }

    /// A connection that broke is the flow's fate, not the run's.
    fn failed(&mut self, error: impl Display, clock: Clock) -> Turn {
        self.report.error.get_or_insert(error.to_string());
        self.stop(clock.now_ns());
        Turn::Done
    }

    /// The receiver's socket has something, or has been rid of it: then `taken` says of how much the last of so many times.
    pub fn receiver_ready(&mut self, clock: Clock, mut taken: Option<nix::Result<usize>>, times: u32) -> Result<Turn> {
        let Some(socket) = &self.receiver else { return Ok(Turn::Same) };
        let descriptor = socket.as_raw_fd();
        let once = taken.is_some() || self.plan.bytes.is_none();
        loop {
            match taken.take().unwrap_or_else(|| sys::discard(descriptor, 1 << 30)) {
                Ok(0) => return Ok(self.finished(clock)),
                Ok(bytes) => self.received += bytes as u64,
                Err(Errno::EAGAIN) => break,
                // So a sender on another machine ends what has no end.
                Err(Errno::ECONNRESET) if self.plan.ends == Ends::Receiver => return Ok(self.finished(clock)),
                Err(error) => return Ok(self.failed(error, clock)),
            }
            if once {
                break; // One call takes all that is there; the next knock tells of more.
            }
        }
        self.reads += times;
        if self.reads.is_power_of_two() || self.reads.is_multiple_of(LOOK_READS) {
            self.wake_rarely(descriptor)?;
        }
        if self.plan.exchange.is_some() {
            return self.hear_answer(clock);
        }
        Ok(if self.plan.bytes == Some(self.received) { self.finished(clock) } else { Turn::Same })
    }

    /// How often the receiver's socket may be emptied before this flow must hear of it: until it looks at its window.
    pub fn reads_unheard(&self) -> u32 {
        if self.plan.bytes.is_some() || self.plan.exchange.is_some() {
            return 1;
        }
        (self.reads + 1).next_power_of_two().min((self.reads + 1).next_multiple_of(LOOK_READS)) - self.reads
    }

    /// Wakes for a quarter of what autotuning has seen arrive in a round trip, and for an eighth of its buffer at most:
    /// autotuning measures at reads, so with fewer of them the window would grow later than a program's does.
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
            (buffer / 8).min(round_trip / 4).min(MOST_UNREAD).min(i32::try_from(left).unwrap_or(i32::MAX)).max(1);
        sys::set_option(descriptor, libc::SOL_SOCKET, libc::SO_RCVLOWAT, amount)
            .attempt(|| "setting SO_RCVLOWAT".into())
    }

    /// Time to rest or to go on, for on/off flows.
    pub fn toggle(&mut self, clock: Clock, now_ns: u64, payload: &Payload) -> Result<Turn> {
        let Some((on_ns, off_ns)) = self.plan.on_off_ns else { return Ok(Turn::Same) };
        if self.is_over() {
            return Ok(Turn::Same);
        }
        self.resting = !self.resting;
        if self.write(clock, payload)? == Turn::Done {
            return Ok(Turn::Done);
        }
        Ok(Turn::WakeAt(now_ns + if self.resting { off_ns } else { on_ns }))
    }

    fn finished(&mut self, clock: Clock) -> Turn {
        if self.report.stopped_ns.is_some() {
            return Turn::Same;
        }
        let now_ns = clock.now_ns();
        if self.plan.bytes == Some(self.received) {
            self.report.completed_ns = Some(now_ns);
        }
        self.stop(now_ns);
        Turn::Done
    }

    /// Ends the flow: reads what the sockets say, and closes them.
    pub fn stop(&mut self, now_ns: u64) {
        if self.report.started_ns.is_none() || self.report.stopped_ns.is_some() {
            return;
        }
        self.report.stopped_ns = Some(now_ns);
        if let Some(socket) = self.sender.take() {
            if self.plan.ends == Ends::Sender {
                // What is queued would go on being sent when the experiment is over. An error: it is closed already.
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
            // The counter includes the FIN's place in the sequence space.
            let most = self.plan.bytes.filter(|_| self.plan.exchange.is_none()).unwrap_or(u64::MAX);
            self.report.bytes_received = received_bytes(&info).min(most);
            self.held = Some(socket).filter(|_| self.plan.ends == Ends::Receiver && self.report.completed_ns.is_none());
        }
    }

    fn ask(&mut self, now_ns: u64) -> Result<()> {
        let (Some(rules), Some(socket)) = (self.plan.exchange, &self.receiver) else { return Ok(()) };
        let question = vec![0; usize::try_from(rules.request).expect("a request fits in memory")];
        let sent = socket.send(&question).attempt(|| format!("asking in flow '{}'", self.plan.name))?;
        assert_eq!(sent, question.len(), "a request fits in a socket buffer");
        self.asking = Some(Question::new(rules, now_ns));
        Ok(())
    }

    fn hear_question(&mut self) {
        let (Some(question), Some(socket)) = (&mut self.asking, &self.sender) else { return };
        if let Ok(bytes) = sys::discard(socket.as_raw_fd(), 1 << 30) {
            let before = question.request_left;
            question.request_left = before.saturating_sub(bytes as u64);
            if before > 0 && question.request_left == 0 {
                self.to_send += question.rules.response;
                if self.plan.ends == Ends::Sender {
                    question.request_left = question.rules.request; // Of the next one, which nobody here will ask.
                }
            }
        }
    }

    fn hear_answer(&mut self, clock: Clock) -> Result<Turn> {
        let Some(question) = &mut self.asking else { return Ok(Turn::Same) };
        question.response_left = question.response_left.saturating_sub(std::mem::take(&mut self.received));
        if question.response_left > 0 {
            return Ok(Turn::Same);
        }
        let now_ns = clock.now_ns();
        self.report.exchanges_ns.push(now_ns - question.asked_ns);
        let think_ns = question.rules.think_ns;
        self.asking = None;
        if think_ns > 0 {
            return Ok(Turn::WakeAt(now_ns + think_ns));
        }
        self.ask(now_ns).map(|()| Turn::Same)
    }

    /// The pause after an answer is over.
    pub fn wake(&mut self, now_ns: u64) -> Result<()> {
        if self.asking.is_none() && !self.is_over() { self.ask(now_ns) } else { Ok(()) }
    }
}

/// After so many reads the amount to wake for is computed anew; in the beginning, at powers of two.
const LOOK_READS: u32 = 256;
/// Unread bytes that a receiver may be left with; more would shrink the advertised window.
const MOST_UNREAD: i32 = 1 << 20;
