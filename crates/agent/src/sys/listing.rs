//! Reads a folder of the host repeatedly without side effects in the guest.
//!
//! Looking up a name creates a cache entry, which the kernel frees later; this advances the guest's clock by a
//! microsecond now and then, so the user's response time would affect the experiment. Listing an open folder
//! allocates nothing that is freed later.

use nix::errno::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Offset of the name in `struct linux_dirent64` (getdents(2)), after inode, offset, length and type.
const NAME: usize = 19;
/// Offset of the entry's length.
const LENGTH: usize = 16;

/// An open folder and a buffer for its names.
pub struct Listing {
    folder: File,
    buffer: Vec<u8>,
}

impl Listing {
    /// Opens the folder.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self { folder: File::open(folder)?, buffer: vec![0; 32 << 10] })
    }

    /// Waits until the name exists; never sleeps, so no time passes in a guest.
    pub fn wait_for(&mut self, name: &str) -> io::Result<()> {
        while !self.has(name)? {}
        Ok(())
    }

    fn has(&mut self, name: &str) -> io::Result<bool> {
        let folder = self.folder.as_raw_fd();
        // SAFETY: two integers; nothing is written.
        Errno::result(unsafe { libc::lseek(folder, 0, libc::SEEK_SET) })?;
        loop {
            // SAFETY: the kernel writes at most as many bytes as `buffer` has.
            let written =
                unsafe { libc::syscall(libc::SYS_getdents64, folder, self.buffer.as_mut_ptr(), self.buffer.len()) };
            let written = usize::try_from(Errno::result(written)?).expect("it is not negative");
            if written == 0 {
                return Ok(false);
            }
            if names(&self.buffer[..written]).any(|found| found == name.as_bytes()) {
                return Ok(true);
            }
        }
    }
}

/// The names in the output of getdents64.
fn names(mut entries: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes([*entries.get(LENGTH)?, *entries.get(LENGTH + 1)?]));
        let (entry, rest) = entries.split_at_checked(length.max(NAME))?;
        entries = rest;
        entry[NAME..].split(|&byte| byte == 0).next()
    })
}

#[cfg(test)]
mod tests {
    use super::Listing;
    use std::fs;

    #[test]
    fn a_name_among_many_is_found_once_it_exists() {
        let folder = std::env::temp_dir().join(format!("dumbbell-listing-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut listing = Listing::open(&folder).unwrap();
        assert!(!listing.has("500.answer").unwrap());
        for number in 0..2_000 {
            fs::write(folder.join(format!("{number}.answer")), "").unwrap();
        }
        assert!(listing.has("500.answer").unwrap());
        assert!(!listing.has("500").unwrap());
        fs::remove_file(folder.join("500.answer")).unwrap();
        assert!(!listing.has("500.answer").unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }
}
