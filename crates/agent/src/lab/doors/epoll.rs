//! Waiting by epoll and `timerfd`: where there is no `io_uring`, or one older than Linux 6.1.

use super::{Door, Knock};
use crate::error::{Attempt, Result};
use crate::sys;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::os::fd::{AsFd, RawFd};
use std::time::Duration;

/// Events taken by one system call.
const EVENTS: usize = 256;

/// An epoll, edge-triggered, with a timer in it.
pub struct Waiting {
    epoll: Epoll,
    timer: TimerFd,
}

impl Waiting {
    pub fn open() -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).attempt(|| "making an epoll".into())?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)
            .attempt(|| "making a timer".into())?;
        let waiting = Self { epoll, timer };
        waiting.add(&waiting.timer, Door::Timer)?;
        Ok(waiting)
    }

    pub fn watch(&self, descriptor: RawFd, door: Door) -> Result<()> {
        self.add(sys::borrow(descriptor), door)
    }

    pub fn wake_at(&self, at_ns: u64) -> Result<()> {
        let time = TimeSpec::from_duration(Duration::from_nanos(at_ns));
        self.timer
            .set(Expiration::OneShot(time), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .attempt(|| "setting the timer".into())
    }

    pub fn wait(&self, knocks: &mut Vec<Knock>) -> Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => 0,
            count => count.attempt(|| "waiting".into())?,
        };
        knocks.extend(events[..count].iter().map(|event| Knock {
            door: Door::unpack(event.data()),
            taken: None,
            times: 1,
        }));
        Ok(())
    }

    fn add(&self, descriptor: impl AsFd, door: Door) -> Result<()> {
        let flags = EpollFlags::from_bits_truncate(door.events().cast_signed()) | EpollFlags::EPOLLET;
        self.epoll.add(descriptor, EpollEvent::new(flags, door.pack())).attempt(|| format!("watching {door:?}"))
    }
}
