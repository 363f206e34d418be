//! Waits with `io_uring`: one system call sets the timer, waits, and empties the receivers.

use super::{Readiness, Token};
use crate::error::{Attempt, Result};
use crate::sys::request_batch::RequestBatch;
use crate::sys::ring::{Event, Ring};
use crate::sys::rounds::{Rounds, Times};
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;

/// Submission queue entries; more requests take more calls.
const REQUESTS: u32 = 1_024;
/// Completion queue entries; on overflow, multishot requests end and are renewed.
const EVENTS: u32 = 16_384;
/// Bytes discarded by one read: all that a receiver has.
const MAX_RECEIVED: u32 = 1 << 30;
/// Maximum reads of a receiver per event.
const MAX_COALESCED: u32 = 32;
/// Maximum requests queued in the kernel: each takes most of a kilobyte.
const MAX_QUEUED: usize = 8_192;

/// A ring, and the requests to submit before the next sleep.
pub struct Waiting {
    ring: Ring,
    watched: BTreeMap<Token, Watched>,
    /// Tokens to submit. They wait until the next sleep, because a descriptor removed before
    /// then is closed, and its number may have been reused.
    unsubmitted: Vec<Token>,
    timer_is_set: bool,
    rounds: Option<Rounds>,
    /// While true, the kernel reads and writes the rounds' buffers.
    rounds_pending: bool,
}

#[derive(Clone, Copy)]
struct Watched {
    descriptor: RawFd,
    /// How many reads may pass without an event.
    times: u32,
}

impl Waiting {
    pub fn open() -> io::Result<Self> {
        let ring = Ring::open(REQUESTS, EVENTS)?;
        Ok(Self {
            ring,
            watched: BTreeMap::new(),
            unsubmitted: Vec::new(),
            timer_is_set: false,
            rounds: None,
            rounds_pending: false,
        })
    }

    pub fn watch(&mut self, descriptor: RawFd, token: Token) {
        self.watched.insert(token, Watched { descriptor, times: 1 });
        self.unsubmitted.push(token);
    }

    pub fn coalesce_reads(&mut self, token: Token, times: u32) {
        let most = u32::try_from(MAX_QUEUED / self.watched.len().max(1)).expect("few").clamp(1, MAX_COALESCED);
        if let Some(watched) = self.watched.get_mut(&token) {
            watched.times = times.clamp(1, most);
        }
    }

    /// Earlier rounds must be done.
    pub fn begin(&mut self, request_batches: &[RequestBatch<'_>], times: Times) -> Result<()> {
        assert!(!std::mem::replace(&mut self.rounds_pending, true), "the last rounds are done");
        let rounds = match &mut self.rounds {
            Some(rounds) => rounds,
            none => none.insert(Rounds::open().attempt(|| "creating a timer".into())?),
        };
        self.ring.begin(rounds, request_batches, times, Token::Rounds.pack()).attempt(|| "starting rounds".into())
    }

    pub fn cancel_rounds(&mut self) -> Result<()> {
        self.ring.cancel(Token::Rounds.pack()).attempt(|| "cancelling rounds".into())
    }

    pub fn rounds(&self) -> Option<&Rounds> {
        self.rounds.as_ref()
    }

    /// A pending request holds its socket open: cancelling it releases a closed socket.
    pub fn remove(&mut self, token: Token) -> Result<()> {
        match self.watched.remove(&token) {
            Some(_) => self.ring.cancel(token.pack()).attempt(|| format!("removing {token:?}")),
            None => Ok(()),
        }
    }

    pub fn flush_removed(&mut self) -> Result<()> {
        self.ring.submit_pending().attempt(|| "closing removed descriptors".into())
    }

    pub fn wake_at(&mut self, at_ns: u64) -> Result<()> {
        let is_set = std::mem::replace(&mut self.timer_is_set, true);
        self.ring.set_timer(at_ns, is_set, Token::Timer.pack()).attempt(|| "setting the timer".into())
    }

    pub fn wait(&mut self, events_ready: &mut Vec<Readiness>) -> Result<()> {
        self.submit().attempt(|| "submitting requests".into())?;
        let (watched, unsubmitted, timer_is_set) = (&self.watched, &mut self.unsubmitted, &mut self.timer_is_set);
        let rounds_pending = &mut self.rounds_pending;
        let result = self.ring.wait(|event| {
            if !event.is_visible() {
                return;
            }
            let token = Token::unpack(event.word);
            if token == Token::Rounds {
                *rounds_pending = false;
                events_ready.push(Readiness { token, taken: Some(taken(event.result)), times: 1 });
                return;
            }
            if event.is_cancelled() {
                return;
            }
            if token == Token::Timer {
                *timer_is_set = false;
            } else if !watched.contains_key(&token) {
                return;
            } else if !event.more && needs_renewal(token, event) {
                unsubmitted.push(token);
            }
            let times = watched.get(&token).map_or(1, |watched| watched.times);
            events_ready.push(Readiness {
                token,
                taken: matches!(token, Token::Receiver(_)).then(|| taken(event.result)),
                times,
            });
        });
        result.attempt(|| "waiting".into())
    }

    fn submit(&mut self) -> io::Result<()> {
        for token in self.unsubmitted.drain(..) {
            let Some(&Watched { descriptor, times }) = self.watched.get(&token) else { continue };
            match token {
                Token::Receiver(_) => self.ring.discard(descriptor, MAX_RECEIVED, times, token.pack())?,
                _ => self.ring.watch(descriptor, token.events(), token.pack())?,
            }
        }
        Ok(())
    }
}

/// Must the request be renewed? A poll ends when events are lost; a receiver's reads end at EOF.
fn needs_renewal(token: Token, event: Event) -> bool {
    event.result > 0 || (event.result == -libc::EAGAIN && matches!(token, Token::Receiver(_)))
}

fn taken(result: i32) -> nix::Result<usize> {
    usize::try_from(result).map_err(|_| Errno::from_raw(-result))
}
