//! Waiting by `io_uring`: one system call sets the alarm, waits, and has emptied the receivers.

use super::{Door, Knock};
use crate::error::{Attempt, Result};
use crate::sys::letter::Letter;
use crate::sys::ring::{Event, Ring};
use crate::sys::rounds::{Rounds, Times};
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;

/// Requests that one call takes; more take more calls.
const REQUESTS: u32 = 1_024;
/// Events that may come between two calls; when there are more, watches end and are renewed.
const EVENTS: u32 = 16_384;
/// A receiver is emptied at once, whatever it has.
const MOST_TAKEN: u32 = 1 << 30;
/// How often a receiver is emptied for one knock, at most.
const MOST_TIMES: u32 = 32;
/// Requests that wait for their turn: each is most of a kilobyte of the kernel's memory.
const MOST_QUEUED: usize = 8_192;

/// A ring, and what it must be asked for before the next sleep.
pub struct Waiting {
    ring: Ring,
    watched: BTreeMap<Door, Watched>,
    /// Doors to ask for. Only the next sleep asks, because what is forgotten until then has a
    /// closed descriptor, whose number may be another's by now.
    due: Vec<Door>,
    alarm_is_set: bool,
    rounds: Option<Rounds>,
    /// Until they are over, the kernel reads and writes what they own.
    rounds_go_on: bool,
}

#[derive(Clone, Copy)]
struct Watched {
    descriptor: RawFd,
    /// How often a receiver may be emptied before it knocks.
    times: u32,
}

impl Waiting {
    pub fn open() -> io::Result<Self> {
        let ring = Ring::open(REQUESTS, EVENTS)?;
        Ok(Self {
            ring,
            watched: BTreeMap::new(),
            due: Vec::new(),
            alarm_is_set: false,
            rounds: None,
            rounds_go_on: false,
        })
    }

    pub fn watch(&mut self, descriptor: RawFd, door: Door) {
        self.watched.insert(door, Watched { descriptor, times: 1 });
        self.due.push(door);
    }

    pub fn knock_after(&mut self, door: Door, times: u32) {
        let most = u32::try_from(MOST_QUEUED / self.watched.len().max(1)).expect("few").clamp(1, MOST_TIMES);
        if let Some(watched) = self.watched.get_mut(&door) {
            watched.times = times.clamp(1, most);
        }
    }

    /// The last rounds must be over.
    pub fn begin(&mut self, letters: &[Letter<'_>], times: Times) -> Result<()> {
        assert!(!std::mem::replace(&mut self.rounds_go_on, true), "the last rounds are over");
        let rounds = match &mut self.rounds {
            Some(rounds) => rounds,
            none => none.insert(Rounds::open().attempt(|| "making a clock".into())?),
        };
        self.ring.begin(rounds, letters, times, Door::Rounds.pack()).attempt(|| "beginning rounds".into())
    }

    pub fn recall(&mut self) -> Result<()> {
        self.ring.cancel(Door::Rounds.pack()).attempt(|| "giving rounds up".into())
    }

    pub fn rounds(&self) -> Option<&Rounds> {
        self.rounds.as_ref()
    }

    /// A request holds its socket: without this, one that the flow has closed would live on.
    pub fn forget(&mut self, door: Door) -> Result<()> {
        match self.watched.remove(&door) {
            Some(_) => self.ring.cancel(door.pack()).attempt(|| format!("forgetting {door:?}")),
            None => Ok(()),
        }
    }

    pub fn settle(&mut self) -> Result<()> {
        self.ring.settle().attempt(|| "closing what is forgotten".into())
    }

    pub fn wake_at(&mut self, at_ns: u64) -> Result<()> {
        let again = std::mem::replace(&mut self.alarm_is_set, true);
        self.ring.alarm(at_ns, again, Door::Timer.pack()).attempt(|| "setting the alarm".into())
    }

    pub fn wait(&mut self, knocks: &mut Vec<Knock>) -> Result<()> {
        self.ask().attempt(|| "asking for what to wait for".into())?;
        let (watched, due, alarm_is_set) = (&self.watched, &mut self.due, &mut self.alarm_is_set);
        let rounds_go_on = &mut self.rounds_go_on;
        let heard = self.ring.wait(|event| {
            if !event.matters() {
                return;
            }
            let door = Door::unpack(event.word);
            if door == Door::Rounds {
                *rounds_go_on = false;
                knocks.push(Knock { door, taken: Some(taken(event.result)), times: 1 });
                return;
            }
            if event.is_cancelled() {
                return;
            }
            if door == Door::Timer {
                *alarm_is_set = false;
            } else if !watched.contains_key(&door) {
                return;
            } else if !event.more && goes_on(door, event) {
                due.push(door);
            }
            let times = watched.get(&door).map_or(1, |watched| watched.times);
            knocks.push(Knock { door, taken: matches!(door, Door::Receiver(_)).then(|| taken(event.result)), times });
        });
        heard.attempt(|| "waiting".into())
    }

    fn ask(&mut self) -> io::Result<()> {
        for door in self.due.drain(..) {
            let Some(&Watched { descriptor, times }) = self.watched.get(&door) else { continue };
            match door {
                Door::Receiver(_) => self.ring.discard(descriptor, MOST_TAKEN, times, door.pack())?,
                _ => self.ring.watch(descriptor, door.events(), door.pack())?,
            }
        }
        Ok(())
    }
}

/// A watch ends when events are lost, a receiver is asked anew each time until its stream ends.
fn goes_on(door: Door, event: Event) -> bool {
    event.result > 0 || (event.result == -libc::EAGAIN && matches!(door, Door::Receiver(_)))
}

fn taken(result: i32) -> nix::Result<usize> {
    usize::try_from(result).map_err(|_| Errno::from_raw(-result))
}
