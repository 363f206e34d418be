//! Listening sockets: opened for a port, and the connections that they accept.

use crate::error::{Attempt, Result};
use crate::plan::Flow;
use crate::sys;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;

/// Opens the listening socket of a flow's port; all flows to that port share it.
pub fn listen(flow: &Flow, backlog: i32) -> Result<Socket> {
    sys::within(&flow.receiver, || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        // As `iperf3 -C` does: a controller such as dctcp needs its receiver too.
        if let Some(cc) = &flow.cc {
            socket.set_tcp_congestion(cc.as_bytes())?;
        }
        if let Some(bytes) = flow.rcvbuf {
            sys::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, sys::small(bytes))?;
        }
        socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, flow.port).into())?;
        socket.listen(backlog)?;
        Ok(socket)
    })
    .attempt(|| {
        let cc = flow.cc.as_deref().unwrap_or("the default controller");
        format!("listening at port {} with {cc}", flow.port)
    })
}

/// Takes one waiting connection, if there is one.
pub fn accept(listener: &Socket) -> Result<Option<(Socket, SocketAddrV4)>> {
    match listener.accept() {
        Ok((socket, from)) => {
            socket.set_nonblocking(true).attempt(|| "making a connection non-blocking".into())?;
            let from = from.as_socket_ipv4().expect("an IPv4 listener accepts IPv4");
            Ok(Some((socket, from)))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
        Err(error) => Err(error).attempt(|| "accepting a connection".into()),
    }
}
