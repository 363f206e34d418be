//! Every host's counters over time: `/proc/net/snmp` and `/proc/net/netstat`, as in nstat(8).
//!
//! The files stay open in their host: reading one takes a single system call.

use crate::error::{Attempt, Result};
use crate::sample::record::Records;
use crate::sys;
use dumbbell_records::counters::counters;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const FILES: [&str; 2] = ["snmp", "netstat"];
/// Buffer size for one file; netstat of Linux 6.12 has 5 KB.
const BUFFER_BYTES: usize = 64 << 10;

/// The open files of every host.
pub struct Counters {
    files: Vec<[File; 2]>,
    records: Records,
    buffer: Vec<u8>,
}

impl Counters {
    /// Opens every host's files.
    pub fn open(hosts: &[String], folder: &Path) -> Result<Self> {
        let files = hosts.iter().map(|host| open_host(host)).collect::<Result<_>>()?;
        Ok(Self { files, records: Records::create(folder, "counters.bin")?, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Writes a record for each host: time, host, number of values, values.
    pub fn record(&mut self, now_ns: u64) -> Result<()> {
        for (host, files) in (0u32..).zip(&self.files) {
            let mut numbers = Vec::new();
            for file in files {
                let length = file.read_at(&mut self.buffer, 0).attempt(|| "reading counters".into())?;
                numbers.extend(counters(&String::from_utf8_lossy(&self.buffer[..length])).map(|(_, value)| value));
            }
            let count = u32::try_from(numbers.len()).expect("some hundred counters");
            let mut record = Vec::with_capacity(16 + 8 * numbers.len());
            record.extend(now_ns.to_le_bytes());
            record.extend(host.to_le_bytes());
            record.extend(count.to_le_bytes());
            record.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            self.records.bytes(&record)?;
        }
        Ok(())
    }

    /// Closes the file.
    pub fn finish(self) -> Result<()> {
        self.records.finish()
    }
}

fn open_host(host: &str) -> Result<[File; 2]> {
    let open = |file: &str| {
        sys::within(host, || File::open(format!("/proc/net/{file}")))
            .attempt(|| format!("opening /proc/net/{file} of host '{host}'"))
    };
    Ok([open(FILES[0])?, open(FILES[1])?])
}
