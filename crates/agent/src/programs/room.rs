//! What a program sees of the machine, and what it may write.
//!
//! It sees the machine's files, read-only, and in place of some folders empty ones of its own, in memory,
//! which end with it: `/tmp`, `/run` (with its working folder), those for logs and caches, and those of
//! people unless somebody typed the command. It is root of its host, but may mount nothing, open no device of
//! the machine, trace no other, and change nothing of the kernel but its host's links, addresses and disciplines.

use super::plan::{Content, Program, Programs};
use crate::error::{Attempt, Result};
use nix::mount::{MsFlags, mount};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path};

/// Where a program finds itself, writable and its own.
pub const WORKING_FOLDER: &str = "/run/program";
/// Folders that programs expect to be writable.
const COVERED: [&str; 5] = ["/tmp", "/var/tmp", "/var/log", "/var/cache", "/mnt"];
/// Devices that programs expect: name, major and minor number (Linux Documentation/admin-guide/devices.txt).
const DEVICES: [(&str, u64, u64); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];
const STREAMS: [(&str, &str); 4] = [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];

/// As many links as a typed program's folder gets at most; `dumbbell.engine.programs` knows it too.
const MOST_LINKS: usize = 1000;

/// Capabilities without which root can't leave its room or write the machine's files, by their numbers in
/// include/uapi/linux/capability.h: `DAC_READ_SEARCH` (opens by handle), `SETPCAP`, `SYS_MODULE`, `SYS_RAWIO`,
/// `SYS_CHROOT`, `SYS_PTRACE`, `SYS_PACCT`, `SYS_ADMIN` (mounts), `SYS_BOOT`, `SYS_NICE`, `SYS_TIME`, `MKNOD`, `SETFCAP`,
/// `MAC_OVERRIDE`, `MAC_ADMIN`, `SYSLOG`, `WAKE_ALARM`, `BLOCK_SUSPEND`, `PERFMON`, `BPF`, `CHECKPOINT_RESTORE`.
pub const POWERS_GIVEN_UP: [u8; 21] =
    [2, 8, 16, 17, 18, 19, 20, 21, 22, 23, 25, 27, 31, 32, 33, 34, 35, 36, 38, 39, 40];

/// Makes the room; the caller has mounts and a network of its own, and has opened the working folder that is wanted.
pub fn furnish(shared: &Programs, program: &Program, work: &File) -> Result<()> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).attempt(|| "parting the mounts".into())?;
    let homes = shared.homes.iter().filter(|_| !program.typed);
    for folder in COVERED.map(String::from).iter().chain(homes).chain(&program.writable) {
        cover(folder, program.writable.contains(folder))?;
    }
    guard_kernel(program.may_set())?;
    furnish_devices()?;
    // Last: what was reached below /run, hosts and the run's folder, is out of sight from here on.
    cover("/run", true)?;
    fs::create_dir(WORKING_FOLDER).attempt(|| "making the working folder".into())?;
    let wanted = format!("/proc/self/fd/{}", work.as_raw_fd());
    mount(Some(wanted.as_str()), WORKING_FOLDER, none, MsFlags::MS_BIND, none)
        .attempt(|| "mounting the working folder".into())?;
    if let Some(folder) = shared.typed_folder.as_ref().filter(|_| program.typed) {
        uncover(folder)?;
    }
    program.files.iter().try_for_each(put)?;
    if program.typed {
        draw_for_missing_links(program.files.iter().filter(|content| content.link.is_some()).count())?;
    }
    name_hosts(&shared.hosts_file)
}

/// An empty folder in memory in place of one of the machine's.
fn cover(folder: &str, wanted: bool) -> Result<()> {
    if !Path::new(folder).is_dir() {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "this machine has no such folder");
        return if wanted { Err(missing()).attempt(|| format!("making {folder} writable")) } else { Ok(()) };
    }
    mount(Some("none"), folder, Some("tmpfs"), MsFlags::empty(), Some("mode=1777"))
        .attempt(|| format!("covering {folder}"))
}

/// The machine's own folder at its place, where an empty one has covered it: here or already in the guest.
fn uncover(folder: &str) -> Result<()> {
    if Path::new(folder).is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).attempt(|| format!("making {folder}"))?;
    mount(Some("none"), folder, Some("hostfs"), MsFlags::MS_RDONLY, Some(folder))
        .attempt(|| format!("mounting {folder}"))
}

/// `/proc/sys` and `/sys` to read only, for there are settings that make the kernel start programs, and those of the
/// network are part of the experiment; a person's shell may set the latter.
fn guard_kernel(may_set: bool) -> Result<()> {
    let none: Option<&str> = None;
    let bind = |path: &str, flags: MsFlags| {
        mount(Some(path), path, none, MsFlags::MS_BIND, none)
            .and_then(|()| mount(none, path, none, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags, none))
            .attempt(|| format!("guarding {path}"))
    };
    bind("/proc/sys", MsFlags::MS_RDONLY)?;
    if may_set {
        bind("/proc/sys/net", MsFlags::empty())?;
    }
    // A new one: devices of this host, not of the agent's.
    mount(Some("none"), "/sys", Some("sysfs"), MsFlags::MS_RDONLY, none).attempt(|| "mounting /sys".into())
}

fn furnish_devices() -> Result<()> {
    cover("/dev", true)?;
    for (name, major, minor) in DEVICES {
        let path = Path::new("/dev").join(name);
        mknod(&path, SFlag::S_IFCHR, Mode::empty(), makedev(major, minor))
            .map_err(io::Error::from)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o666)))
            .attempt(|| format!("making {}", path.display()))?;
    }
    for (name, to) in STREAMS {
        symlink(to, Path::new("/dev").join(name)).attempt(|| format!("making /dev/{name}"))?;
    }
    fs::create_dir("/dev/shm").attempt(|| "making /dev/shm".into())
}

/// One file of the working folder.
fn put(content: &Content) -> Result<()> {
    let inside = Path::new(&content.path).components().all(|part| matches!(part, Component::Normal(_)));
    assert!(inside, "the plan puts a file where it may not");
    let path = Path::new(WORKING_FOLDER).join(&content.path);
    let make = || -> io::Result<()> {
        // A system call that fails takes a microsecond of a guest's time (`handle_syscall` of arch/um): ask first.
        let folder = path.parent().expect("it lies in a folder");
        if !folder.is_dir() {
            fs::create_dir_all(folder)?;
        }
        if let Some(to) = &content.link {
            return symlink(to, &path);
        }
        let mut file = File::create(&path)?;
        file.write_all(content.text.as_deref().unwrap_or_default().as_bytes())?;
        // Zero bytes that nobody has written take no memory.
        content.bytes.map_or(Ok(()), |bytes| file.set_len(bytes))
    };
    make().attempt(|| format!("making the file '{}'", content.path))
}

/// Throws the dice of all links that there might be, less those of the `links` that there are.
///
/// A new file in memory draws a number from the kernel's pool (`shmem_get_inode`), and so do TCP and disciplines:
/// what lies where a command is typed must not change their throws.
fn draw_for_missing_links(links: usize) -> Result<()> {
    for _ in links..MOST_LINKS {
        memfd_create(c"", MFdFlags::MFD_CLOEXEC).attempt(|| "drawing a number".into())?;
    }
    Ok(())
}

/// The hosts' names by `/etc/hosts`, and nobody to ask about other names.
fn name_hosts(text: &str) -> Result<()> {
    let none: Option<&str> = None;
    for (path, text) in [("/etc/hosts", text), ("/etc/resolv.conf", "")] {
        // A link leads below /run on many machines, where there is nothing now: nobody to ask either.
        if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
            continue;
        }
        let ours = format!("/run/{}", path.rsplit('/').next().expect("it has a name"));
        fs::write(&ours, text).attempt(|| format!("writing {ours}"))?;
        mount(Some(ours.as_str()), path, none, MsFlags::MS_BIND, none).attempt(|| format!("replacing {path}"))?;
    }
    Ok(())
}
