//! Processes: fork, parent-death signal, scheduling, CPU time.

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{ForkResult, fork};

/// Forks. The agent has one thread, so the child may do anything that the parent may.
pub fn copy() -> nix::Result<ForkResult> {
    // SAFETY: with a single thread no lock can be held by another one at the moment of the fork.
    unsafe { fork() }
}

/// Kills this process when its parent exits (`PR_SET_PDEATHSIG`).
pub fn die_with_parent() -> nix::Result<()> {
    // SAFETY: the call takes integers and changes nothing but this process's own attribute.
    let answer = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
    Errno::result(answer).map(drop)
}

/// Switches to real-time round-robin scheduling, before all normal processes (sched(7)); false if not permitted.
pub fn run_first() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads one struct, which lives until it returns.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const lowest) == 0 }
}

/// Scheduling policy and nice value of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority(i32, i32);

/// Reads it.
pub fn priority() -> Priority {
    // SAFETY: both calls take integers and query this process, which exists.
    unsafe { Priority(libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS, 0)) }
}

impl std::fmt::Display for Priority {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(text, "policy {}, nice {}", self.0, self.1)
    }
}

/// CPU time used by this process, in user and kernel mode.
pub fn used_ns() -> u64 {
    let used: TimeSpec =
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("CLOCK_PROCESS_CPUTIME_ID is always available");
    super::nanoseconds(used)
}

/// Makes this process the parent of orphaned descendants (`PR_SET_CHILD_SUBREAPER`).
pub fn adopt_orphans() -> nix::Result<()> {
    // SAFETY: the call takes integers and changes nothing but this process's own attribute.
    let answer = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    Errno::result(answer).map(drop)
}

/// Ignores a signal.
pub fn ignore(which: Signal) -> nix::Result<()> {
    // SAFETY: no handler is installed; the kernel ignores the signal.
    unsafe { signal(which, SigHandler::SigIgn) }.map(drop)
}

/// Gives up all capabilities for good: the programs that this process executes have none, even as root.
pub fn give_up_privileges() -> nix::Result<()> {
    let every: Vec<u8> = (0..=LAST_CAPABILITY).collect();
    super::drop_capabilities(&every)?;
    let header = CapabilityHeader { version: CAPABILITY_VERSION, process: 0 };
    let none = [[0_u32; 3]; 2];
    // SAFETY: the kernel reads both, which have the layout of version 3 and live until the call returns.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) })?;
    // SAFETY: the call takes integers and changes nothing but this process's own attribute.
    let answer = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    Errno::result(answer).map(drop)
}

/// The highest number that a capability can have (include/uapi/linux/capability.h: two words of 32).
const LAST_CAPABILITY: u8 = 63;
/// `_LINUX_CAPABILITY_VERSION_3`: two words of effective, permitted and inheritable capabilities.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: i32,
}
