//! All `unsafe` code of the agent, and its clock.
//!
//! Each function wraps one system call that no safe crate offers in the form needed here. `ring` submits many
//! operations with one system call, `rounds` repeats some of them without any, `packets` captures packets without any,
//! and `listing` reads a folder without side effects in the guest.

pub mod features;
pub mod listing;
pub mod mounts;
pub mod packets;
pub mod process;
pub mod request_batch;
pub mod ring;
pub mod rounds;

use dumbbell_records::TCP_INFO_BYTES;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The experiment's time. Reading it is a system call, and in a guest a system call costs more than a
/// packet: functions take the clock instead of a time and read it only if needed.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: u64,
}

impl Clock {
    /// Starts the experiment now.
    pub fn start() -> Self {
        Self { start_ns: monotonic_ns() }
    }

    /// Starts the experiment at the next jiffy.
    ///
    /// TCP derives jiffies and whole milliseconds from the same clock (`tcp_jiffies32`, `tcp_time_stamp_ms`), so the
    /// start within a jiffy affects how its timers and timestamps are rounded.
    pub fn start_on_jiffy() -> Self {
        Self { start_ns: monotonic_ns().next_multiple_of(JIFFY_NS) }
    }

    /// Starts the experiment at this monotonic time.
    pub fn starting_at(start_ns: u64) -> Self {
        Self { start_ns }
    }

    /// Time since the experiment's start; zero before it.
    pub fn now_ns(self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns)
    }

    /// Converts to monotonic time, for timers.
    pub fn monotonic_ns(self, at_ns: u64) -> u64 {
        self.start_ns + at_ns
    }
}

/// A jiffy of a guest's kernel, which ticks at 250 Hz.
const JIFFY_NS: u64 = 4_000_000;

/// Besides this function, only [`wall_clock_ahead_ns`] and `process::used_ns` read a clock.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC always answers"))
}

fn nanoseconds(time: TimeSpec) -> u64 {
    u64::try_from(time.tv_sec()).expect("time is positive") * 1_000_000_000
        + u64::try_from(time.tv_nsec()).expect("nanoseconds are positive")
}

/// Both clocks at the same time: `CLOCK_MONOTONIC`, `CLOCK_REALTIME`.
pub fn both_clocks_ns() -> (u64, u64) {
    let now = monotonic_ns();
    (now, now + wall_clock_ahead_ns())
}

/// Offset of the wall clock from the monotonic clock: constant unless the wall clock is set.
///
/// In a guest each clock reading advances the clock by the same step, so the middle one equals the mean of the others.
pub fn wall_clock_ahead_ns() -> u64 {
    let before = monotonic_ns();
    let wall = nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME).expect("CLOCK_REALTIME always answers"));
    wall - u64::midpoint(before, monotonic_ns())
}

/// Every address of this host of the same family, with a port.
pub const fn any_address(like: IpAddr, port: u16) -> SocketAddr {
    let any = match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(any, port)
}

/// Runs `work` in a named network namespace.
///
/// The agent has one thread, so no other code runs in the namespace.
pub fn within<T>(host: &str, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    if host.is_empty() {
        return work();
    }
    let home = File::open("/proc/self/ns/net")?;
    setns(File::open(format!("{NAMESPACES}/{host}"))?, CloneFlags::CLONE_NEWNET)?;
    let result = work();
    setns(home, CloneFlags::CLONE_NEWNET)?;
    result
}

/// Where network namespaces have their names (ip-netns(8)).
pub const NAMESPACES: &str = "/run/netns";

/// Creates a network namespace; an existing file becomes its name.
pub fn name_new_namespace(file: &str) -> io::Result<()> {
    let home = File::open("/proc/self/ns/net")?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    let none: Option<&str> = None;
    let named = mount(Some("/proc/self/ns/net"), file, none, MsFlags::MS_BIND, none);
    setns(home, CloneFlags::CLONE_NEWNET)?;
    Ok(named?)
}

/// Moves this process into the network namespace of a file, permanently.
pub fn enter(namespace: &str) -> io::Result<()> {
    Ok(setns(File::open(namespace)?, CloneFlags::CLONE_NEWNET)?)
}

/// Discards what a TCP socket has received, without copying it: `recv` with `MSG_TRUNC`.
///
/// Returns the number of bytes, 0 at the end of the stream.
pub fn discard(socket: RawFd, most: usize) -> nix::Result<usize> {
    // SAFETY: with MSG_TRUNC TCP never writes to the buffer (tcp(7)), so a null one is sound.
    let taken = unsafe { libc::recv(socket, std::ptr::null_mut(), most, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    Errno::result(taken).map(isize::cast_unsigned)
}

/// Borrows a descriptor for one call.
pub fn borrow<'a>(descriptor: RawFd) -> BorrowedFd<'a> {
    // SAFETY: every caller owns the socket behind the number and keeps it open during the call.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// `getsockopt(TCP_INFO)`: the raw bytes, zero after those that this kernel fills.
pub fn tcp_info(socket: RawFd) -> nix::Result<[u8; TCP_INFO_BYTES]> {
    let mut info = [0u8; TCP_INFO_BYTES];
    let mut length = libc::socklen_t::try_from(TCP_INFO_BYTES).expect("256 fits");
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has that many.
    let answer = unsafe {
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
    };
    Errno::result(answer).map(|_| info)
}

/// Converts a size to the type of socket options.
pub fn small(bytes: u64) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX / 2)
}

/// `setsockopt` with a number of the option's size.
pub fn set_option<T: Copy>(socket: RawFd, level: i32, option: i32, value: T) -> nix::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).expect("an option is small");
    // SAFETY: `value` lives until the call returns and has `length` bytes.
    let answer = unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) };
    Errno::result(answer).map(drop)
}

/// A descriptor that becomes readable when a process exits (`pidfd_open`, Linux 5.3).
pub fn process_descriptor(process: u32) -> nix::Result<OwnedFd> {
    // SAFETY: the call takes two integers and returns a new descriptor, which has no other owner.
    unsafe {
        let descriptor = Errno::result(libc::syscall(libc::SYS_pidfd_open, process, 0))?;
        Ok(OwnedFd::from_raw_fd(i32::try_from(descriptor).expect("a descriptor fits")))
    }
}

/// The file of a sysctl.
pub fn sysctl_file(key: &str) -> String {
    format!("/proc/sys/{}", key.replace('.', "/"))
}

/// Drops capabilities of this process and its future programs (`PR_CAPBSET_DROP`).
pub fn drop_capabilities(capabilities: &[u8]) -> nix::Result<()> {
    for &capability in capabilities {
        // SAFETY: the call takes integers and changes nothing but this process's own set.
        let answer = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0, 0, 0) };
        match Errno::result(answer) {
            // The kernel is older than the capability.
            Err(Errno::EINVAL) | Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes a netlink socket ignore messages of this kind that answer a request from this port (`SO_ATTACH_FILTER`).
pub fn drop_messages(socket: RawFd, kind: u16, port: u32) -> nix::Result<()> {
    let line = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: u16::try_from(code).expect("an instruction is short"),
        jt,
        jf,
        k,
    };
    let (load, equal, answer) = (libc::BPF_LD | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
    // In `struct nlmsghdr` the type is at offset 4 and the port at 12; filters load numbers in network byte order.
    let mut lines = [
        line(load | libc::BPF_H, 0, 0, 4),
        line(equal, 0, 3, kind.to_be().into()),
        line(load | libc::BPF_W, 0, 0, 12),
        line(equal, 0, 1, port.to_be()),
        line(answer, 0, 0, 0),
        line(answer, 0, 0, u32::MAX),
    ];
    let length = u16::try_from(lines.len()).expect("a filter is short");
    // The kernel copies the lines before the call returns.
    set_option(
        socket,
        libc::SOL_SOCKET,
        libc::SO_ATTACH_FILTER,
        libc::sock_fprog { len: length, filter: lines.as_mut_ptr() },
    )
}

/// `getsockopt` of a plain integer.
pub fn get_option(socket: RawFd, level: i32, option: i32) -> nix::Result<i32> {
    let mut value: i32 = 0;
    let mut length = libc::socklen_t::try_from(size_of::<i32>()).expect("an integer is small");
    // SAFETY: the kernel writes at most four bytes to `value`, which has four.
    let answer = unsafe { libc::getsockopt(socket, level, option, (&raw mut value).cast(), &raw mut length) };
    Errno::result(answer).map(|_| value)
}
