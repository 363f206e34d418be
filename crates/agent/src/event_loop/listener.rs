//! Listening sockets and the connections they accept.

use super::poller::Token;
use super::{EventLoop, Traffic};
use crate::error::{Attempt, Result};
use crate::sys;
use dumbbell_plan::{Ends, Flow, Transport};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

/// Accept backlog: all flows may start at once.
const BACKLOG: i32 = 16_384;

impl EventLoop<'_> {
    /// Opens the listening sockets of all flows received on this host.
    pub(super) fn listen(&mut self) -> Result<()> {
        let mut ports = BTreeMap::new();
        for (number, flow) in self.plan.flows.iter().enumerate() {
            if flow.transport == Transport::Tcp && flow.ends.receives() {
                ports.entry((&flow.receiver, flow.port)).or_insert((number, flow));
            }
        }
        for (number, flow) in ports.into_values() {
            let socket = listen(flow, BACKLOG)?;
            self.poller.watch(socket.as_raw_fd(), Token::Listener(self.listeners.len()))?;
            self.listeners.push((socket, (flow.ends == Ends::Receiver).then_some(number)));
        }
        Ok(())
    }

    /// Accepts the pending connections of a listening socket.
    pub(super) fn accept(&mut self, number: usize) -> Result<()> {
        while let Some((socket, from)) = accept(&self.listeners[number].0)? {
            if let Some(flow) = self.listeners[number].1 {
                self.accept_remote_sender(flow, socket, from)?;
                continue;
            }
            // The connection belongs to no flow: dropping the socket closes it.
            let local = socket.local_addr().attempt(|| "reading a connection's address".into())?;
            let local = local.as_socket().expect("an IPv4 listener accepts IPv4");
            let Some(&number) = self.expected.get(&(from, local)) else { continue };
            let Traffic::Tcp(flow) = &mut self.flows[number] else { unreachable!("UDP doesn't connect") };
            if flow.is_over() {
                continue;
            }
            self.poller.watch(socket.as_raw_fd(), Token::Receiver(number))?;
            flow.accepted(socket, self.clock.now_ns())?;
            self.sampler.changed();
        }
        Ok(())
    }
}

/// Opens the listening socket of a port; all flows to the port share it.
fn listen(flow: &Flow, backlog: i32) -> Result<Socket> {
    let any = sys::any_address(flow.address, flow.port);
    sys::within(&flow.receiver, || {
        let socket = Socket::new(Domain::for_address(any), Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        // Like `iperf3 -C`: controllers such as dctcp need the receiver's support.
        if let Some(cc) = &flow.cc {
            socket.set_tcp_congestion(cc.as_bytes())?;
        }
        if let Some(bytes) = flow.rcvbuf {
            sys::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, sys::small(bytes))?;
        }
        socket.bind(&any.into())?;
        socket.listen(backlog)?;
        Ok(socket)
    })
    .attempt(|| {
        let cc = flow.cc.as_deref().unwrap_or("the default controller");
        format!("listening at port {} with {cc}", flow.port)
    })
}

/// Accepts one pending connection, if any.
fn accept(listener: &Socket) -> Result<Option<(Socket, SocketAddr)>> {
    match listener.accept() {
        Ok((socket, from)) => {
            socket.set_nonblocking(true).attempt(|| "setting a connection to non-blocking".into())?;
            let from = from.as_socket().expect("a listener of IP accepts IP");
            Ok(Some((socket, from)))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
        Err(error) => Err(error).attempt(|| "accepting a connection".into()),
    }
}
