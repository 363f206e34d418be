//! Waits with epoll and `timerfd`, where `io_uring` is missing or older than in Linux 6.1.

use super::{Readiness, Token};
use crate::error::{Attempt, Result};
use crate::sys;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::os::fd::{AsFd, RawFd};
use std::time::Duration;

/// Events returned by one system call.
const EVENTS: usize = 256;

/// An edge-triggered epoll instance with a timer.
pub struct Waiting {
    epoll: Epoll,
    timer: TimerFd,
}

impl Waiting {
    pub fn open() -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).attempt(|| "creating an epoll instance".into())?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)
            .attempt(|| "creating a timer".into())?;
        let waiting = Self { epoll, timer };
        waiting.add(&waiting.timer, Token::Timer)?;
        Ok(waiting)
    }

    pub fn watch(&self, descriptor: RawFd, token: Token) -> Result<()> {
        self.add(sys::borrow(descriptor), token)
    }

    pub fn wake_at(&self, at_ns: u64) -> Result<()> {
        let time = TimeSpec::from_duration(Duration::from_nanos(at_ns));
        self.timer
            .set(Expiration::OneShot(time), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .attempt(|| "setting the timer".into())
    }

    pub fn wait(&self, events_ready: &mut Vec<Readiness>) -> Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => 0,
            count => count.attempt(|| "waiting".into())?,
        };
        events_ready.extend(events[..count].iter().map(|event| Readiness {
            token: Token::unpack(event.data()),
            taken: None,
            times: 1,
        }));
        Ok(())
    }

    fn add(&self, descriptor: impl AsFd, token: Token) -> Result<()> {
        let flags = EpollFlags::from_bits_truncate(token.events().cast_signed()) | EpollFlags::EPOLLET;
        self.epoll.add(descriptor, EpollEvent::new(flags, token.pack())).attempt(|| format!("watching {token:?}"))
    }
}
