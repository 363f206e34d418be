//! Mount attributes: read-only for a whole tree, writable for one mount.

use nix::errno::Errno;
use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Makes the mount at `path` and all below it read-only, or only that mount writable (`mount_setattr`, Linux 5.12).
pub fn set_read_only(path: &Path, read_only: bool) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let which = [0, libc::MOUNT_ATTR_RDONLY];
    let attributes = libc::mount_attr {
        attr_set: which[usize::from(read_only)],
        attr_clr: which[usize::from(!read_only)],
        propagation: 0,
        userns_fd: 0,
    };
    let flags = if read_only { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the call reads the path and the struct, which live until it returns, and changes no memory.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Ok(Errno::result(answer).map(drop)?)
}
