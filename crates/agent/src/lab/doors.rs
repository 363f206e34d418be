//! Descriptors to wait for: one epoll, one timer, and the listening sockets.

use crate::error::{Attempt, Result};
use crate::plan::Flow;
use crate::sys;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, RawFd};
use std::time::Duration;

/// Who is behind a descriptor; the number is a position in the lab's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The lab's timer.
    Timer,
    /// A listening socket.
    Listener(usize),
    /// The sending end of a flow.
    Sender(usize),
    /// The receiving end of a flow.
    Receiver(usize),
    /// The asking end of a probe.
    Answer(usize),
    /// The listening end of a probe.
    Arrival(usize),
}

/// Events taken by one system call.
const EVENTS: usize = 256;

/// All descriptors that the lab waits for, edge-triggered.
pub struct Doors {
    epoll: Epoll,
    timer: TimerFd,
    armed_ns: u64,
}

impl Doors {
    /// An epoll with the timer in it.
    pub fn open() -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).attempt(|| "making an epoll".into())?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)
            .attempt(|| "making a timer".into())?;
        let doors = Self { epoll, timer, armed_ns: 0 };
        doors.watch(&doors.timer, Door::Timer)?;
        Ok(doors)
    }

    /// Waits for a descriptor too.
    pub fn watch(&self, descriptor: impl AsFd, door: Door) -> Result<()> {
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        let flags = match door {
            Door::Sender(_) => flags,
            _ => flags - EpollFlags::EPOLLOUT,
        };
        self.epoll.add(descriptor, EpollEvent::new(flags, door.pack())).attempt(|| format!("watching {door:?}"))
    }

    /// The same for a descriptor known by its number.
    pub fn watch_descriptor(&self, descriptor: RawFd, door: Door) -> Result<()> {
        self.watch(sys::borrow(descriptor), door)
    }

    /// Sets the timer to an absolute monotonic time.
    pub fn wake_at(&mut self, at_ns: u64) -> Result<()> {
        if self.armed_ns == at_ns {
            return Ok(());
        }
        self.armed_ns = at_ns;
        let time = TimeSpec::from_duration(Duration::from_nanos(at_ns));
        self.timer
            .set(Expiration::OneShot(time), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .attempt(|| "setting the timer".into())
    }

    /// Sleeps until something happens.
    pub fn wait(&self) -> Result<Vec<Door>> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let count = self.epoll.wait(&mut events, EpollTimeout::NONE).attempt(|| "waiting".into())?;
        Ok(events[..count].iter().map(|event| Door::unpack(event.data())).collect())
    }
}

impl Door {
    fn pack(self) -> u64 {
        let (kind, number) = match self {
            Self::Timer => (0, 0),
            Self::Listener(number) => (1, number),
            Self::Sender(number) => (2, number),
            Self::Receiver(number) => (3, number),
            Self::Answer(number) => (4, number),
            Self::Arrival(number) => (5, number),
        };
        (kind << 32) | number as u64
    }

    fn unpack(word: u64) -> Self {
        let number = usize::try_from(word & 0xffff_ffff).expect("32 bits");
        match word >> 32 {
            0 => Self::Timer,
            1 => Self::Listener(number),
            2 => Self::Sender(number),
            3 => Self::Receiver(number),
            4 => Self::Answer(number),
            5 => Self::Arrival(number),
            other => panic!("epoll returned a door that was never packed: {other}"),
        }
    }
}

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
            socket.set_recv_buffer_size(bytes)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_survive_packing() {
        for door in [Door::Timer, Door::Listener(3), Door::Sender(9_999), Door::Receiver(0), Door::Answer(1), Door::Arrival(2)] {
            assert_eq!(Door::unpack(door.pack()), door);
        }
    }
}
