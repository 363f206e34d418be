//! The files and capabilities that a program can use.
//!
//! The host's files are read-only. Some folders are replaced by empty tmpfs mounts that end with
//! the program: `/tmp`, `/run` (with its working folder), folders of logs and caches, and home directories
//! unless the user typed the command; Dumbbell's installation is visible below them. The program is root in its host, but can't mount, open devices,
//! trace other processes, or change kernel state except its host's links, addresses and qdiscs.

use crate::error::{Attempt, Result};
use dumbbell_plan::{Content, Program, Programs};
use nix::mount::{MsFlags, mount};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path};

/// The program's current directory, writable and private.
pub const WORKING_FOLDER: &str = "/run/program";
/// Folders that programs expect to be writable.
const COVERED: [&str; 5] = ["/tmp", "/var/tmp", "/var/log", "/var/cache", "/mnt"];
/// Devices that programs expect: name, major and minor number (Linux Documentation/admin-guide/devices.txt).
const DEVICES: [(&str, u64, u64); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];
const STREAMS: [(&str, &str); 4] = [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];

/// Maximum number of links in a typed program's folder; must equal `MOST_LINKS` of `dumbbell.engines.programs`.
const MAX_LINKS: usize = 1000;

/// Capabilities with which root could leave its sandbox or write the host's files, by number
/// (include/uapi/linux/capability.h): `DAC_READ_SEARCH` (opens by handle), `SETPCAP`, `SYS_MODULE`, `SYS_RAWIO`,
/// `SYS_CHROOT`, `SYS_PTRACE`, `SYS_PACCT`, `SYS_ADMIN` (mounts), `SYS_BOOT`, `SYS_NICE`, `SYS_TIME`, `MKNOD`,
/// `SETFCAP`, `MAC_OVERRIDE`, `MAC_ADMIN`, `SYSLOG`, `WAKE_ALARM`, `BLOCK_SUSPEND`, `PERFMON`, `BPF`,
/// `CHECKPOINT_RESTORE`.
pub const DROPPED_CAPABILITIES: [u8; 21] =
    [2, 8, 16, 17, 18, 19, 20, 21, 22, 23, 25, 27, 31, 32, 33, 34, 35, 36, 38, 39, 40];

/// Sets up the sandbox. The caller has its own mount and network namespaces and has opened the working folder `work`.
pub fn set_up(shared: &Programs, program: &Program, work: &File) -> Result<()> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).attempt(|| "making mounts private".into())?;
    for folder in covered(shared, program) {
        cover(folder, program.writable.iter().any(|writable| writable == folder))?;
    }
    guard_kernel(program.may_set())?;
    make_devices()?;
    // Last: this hides everything below /run, including network namespaces and the run's folder.
    cover("/run", true)?;
    fs::create_dir(WORKING_FOLDER).attempt(|| "creating the working folder".into())?;
    let required = format!("/proc/self/fd/{}", work.as_raw_fd());
    mount(Some(required.as_str()), WORKING_FOLDER, none, MsFlags::MS_BIND, none)
        .attempt(|| "mounting the working folder".into())?;
    uncover(shared, program)?;
    program.files.iter().try_for_each(create_content)?;
    if program.typed {
        consume_link_seeds(program.files.iter().filter(|content| content.link.is_some()).count())?;
    }
    write_hosts_file(&shared.hosts_file)
}

/// Covers a folder with an empty tmpfs.
fn cover(folder: &str, required: bool) -> Result<()> {
    if !Path::new(folder).is_dir() {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such folder");
        return if required { Err(missing()).attempt(|| format!("making {folder} writable")) } else { Ok(()) };
    }
    mount(Some("none"), folder, Some("tmpfs"), MsFlags::empty(), Some("mode=1777"))
        .attempt(|| format!("covering {folder}"))
}

/// The folders that are empty for a program, except `/run`.
fn covered<'a>(shared: &'a Programs, program: &'a Program) -> impl Iterator<Item = &'a str> {
    let homes = shared.homes.iter().filter(|_| !program.typed);
    COVERED.into_iter().chain(homes.chain(&program.writable).map(String::as_str))
}

/// The folder because of which a program does not see this path of the host, if any.
pub fn hidden_by<'a>(path: &Path, shared: &'a Programs, program: &'a Program) -> Option<&'a str> {
    covered(shared, program).chain(["/run"]).find(|folder| path.starts_with(folder))
}

/// Shows Dumbbell's installation, and to typed programs the current folder, where they are covered.
///
/// Where they are does not change the experiment: folders of ramfs take no random numbers (see `consume_link_seeds`),
/// and no system call fails (see `create_content`).
fn uncover(shared: &Programs, program: &Program) -> Result<()> {
    let typed = shared.typed_folder.iter().filter(|_| program.typed);
    let folders: BTreeSet<&Path> = shared.shown.iter().chain(typed).map(Path::new).collect();
    let (mut mounted, mut created) = (BTreeSet::new(), BTreeSet::new());
    // Sorted: a folder comes before those inside it, which it shows too.
    for folder in folders {
        let above = hidden_by(folder, shared, program).map(Path::new).filter(|above| *above != folder);
        let Some(above) = above.filter(|_| !folder.ancestors().any(|parent| mounted.contains(parent))) else {
            continue;
        };
        let mount_at = |folder: &Path, kind: &str, flags, options: &OsStr| {
            mount(Some("none"), folder, Some(kind), flags, Some(options))
                .attempt(|| format!("mounting {} as {kind}", folder.display()))
        };
        if above != Path::new("/run") && created.insert(above) {
            mount_at(above, "ramfs", MsFlags::empty(), OsStr::new("mode=1777"))?;
        }
        let mut inside: Vec<&Path> = folder.ancestors().take_while(|parent| *parent != above).collect();
        inside.reverse();
        for parent in inside {
            if created.insert(parent) {
                fs::create_dir(parent).attempt(|| format!("creating {}", parent.display()))?;
            }
        }
        mount_at(folder, "hostfs", MsFlags::MS_RDONLY, folder.as_os_str())?;
        mounted.insert(folder);
    }
    Ok(())
}

/// Makes `/proc/sys` and `/sys` read-only: some settings start programs, and network settings are part of the
/// experiment. An interactive shell may write the latter.
fn guard_kernel(may_set: bool) -> Result<()> {
    let none: Option<&str> = None;
    let bind = |path: &str, flags: MsFlags| {
        mount(Some(path), path, none, MsFlags::MS_BIND, none)
            .and_then(|()| mount(none, path, none, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags, none))
            .attempt(|| format!("mounting {path} read-only"))
    };
    bind("/proc/sys", MsFlags::MS_RDONLY)?;
    if may_set {
        bind("/proc/sys/net", MsFlags::empty())?;
    }
    // A new mount: it shows devices of this host, not of the agent's.
    mount(Some("none"), "/sys", Some("sysfs"), MsFlags::MS_RDONLY, none).attempt(|| "mounting /sys".into())
}

fn make_devices() -> Result<()> {
    cover("/dev", true)?;
    for (name, major, minor) in DEVICES {
        let path = Path::new("/dev").join(name);
        mknod(&path, SFlag::S_IFCHR, Mode::empty(), makedev(major, minor))
            .map_err(io::Error::from)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o666)))
            .attempt(|| format!("creating {}", path.display()))?;
    }
    for (name, to) in STREAMS {
        symlink(to, Path::new("/dev").join(name)).attempt(|| format!("creating /dev/{name}"))?;
    }
    fs::create_dir("/dev/shm").attempt(|| "creating /dev/shm".into())
}

/// Creates an entry of the working folder.
fn create_content(content: &Content) -> Result<()> {
    let inside = Path::new(&content.path).components().all(|part| matches!(part, Component::Normal(_)));
    assert!(inside, "the plan puts a file where it may not");
    let path = Path::new(WORKING_FOLDER).join(&content.path);
    let make = || -> io::Result<()> {
        // A failing system call takes a microsecond of guest time (`handle_syscall` in arch/um): check first.
        let folder = path.parent().expect("a file has a folder");
        if !folder.is_dir() {
            fs::create_dir_all(folder)?;
        }
        if let Some(to) = &content.link {
            return symlink(to, &path);
        }
        let mut file = File::create(&path)?;
        file.write_all(content.text.as_deref().unwrap_or_default().as_bytes())?;
        // A sparse file of zeros takes no memory.
        content.bytes.map_or(Ok(()), |bytes| file.set_len(bytes))
    };
    make().attempt(|| format!("creating file '{}'", content.path))
}

/// Draws a random number for each of the links that could exist but doesn't (`links` exist).
///
/// Each new tmpfs file draws from the kernel's random pool (`shmem_get_inode`), and so do TCP and qdiscs. With a
/// constant number of draws, the files of the current folder don't change the experiment's random numbers.
fn consume_link_seeds(links: usize) -> Result<()> {
    for _ in links..MAX_LINKS {
        memfd_create(c"", MFdFlags::MFD_CLOEXEC).attempt(|| "drawing a random number".into())?;
    }
    Ok(())
}

/// Replaces `/etc/hosts` and empties `/etc/resolv.conf`: only the experiment's hosts have names.
fn write_hosts_file(text: &str) -> Result<()> {
    let none: Option<&str> = None;
    for (path, text) in [("/etc/hosts", text), ("/etc/resolv.conf", "")] {
        // The file may be a link to below /run, which is covered: no DNS server then either.
        if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
            continue;
        }
        let ours = format!("/run/{}", path.rsplit('/').next().expect("it has a name"));
        fs::write(&ours, text).attempt(|| format!("writing {ours}"))?;
        mount(Some(ours.as_str()), path, none, MsFlags::MS_BIND, none).attempt(|| format!("replacing {path}"))?;
    }
    Ok(())
}
