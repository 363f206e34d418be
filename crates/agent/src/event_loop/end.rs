//! The end of an experiment: `end.json` reports on it. The file exists only if the run completed.

use super::{EventLoop, Traffic, connections};
use crate::counters;
use crate::error::{Attempt, Result};
use crate::host_load;
use crate::programs::datagrams::DatagramFlows;
use crate::recordings::settings;
use crate::sample::record::Records;
use crate::sys;
use dumbbell_records::end::{Counters, End, UdpFlows};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

impl EventLoop<'_> {
    /// Takes a last sample of everything and stops all flows.
    pub(super) fn end(&mut self, now_ns: u64) -> Result<()> {
        self.sample_host_load(now_ns, true)?;
        self.recorders.record(self.clock, now_ns, true)?;
        for number in 0..self.flows.len() {
            self.stop(number, now_ns)?;
        }
        self.ended_ns = Some(now_ns);
        Ok(())
    }

    /// Closes all files and writes `end.json`.
    pub(super) fn finish(mut self, folder: &Path, counters_before: BTreeMap<String, Counters>) -> Result<()> {
        // Before programs get SIGTERM: what they do afterwards is not part of the experiment.
        self.read_path_back()?;
        self.stop_programs()?;
        self.report_stacks();
        for (host, made) in self.changes.take().expect("it ends once").finish() {
            made.or_else(|error| self.change_failed(&host, error))?;
        }
        let mut records = Records::create(folder, "probes.bin")?;
        self.probes.iter().try_for_each(|probing| probing.write(&mut records))?;
        records.finish()?;
        let flows = self
            .flows
            .iter()
            .map(|flow| match flow {
                Traffic::Tcp(flow) => flow.report.clone(),
                Traffic::Udp(flow) => flow.report.clone(),
                Traffic::Quic(report) => report.clone(),
            })
            .collect();
        let end = End {
            duration_ns: self.ended_ns.expect("the experiment has ended"),
            start_epoch_ns: Some(sys::wall_clock_ahead_ns() + self.clock.monotonic_ns(0)),
            flows,
            queues: self.sampler.finish()?,
            programs: self.programs.running.iter().map(|program| program.report.clone()).collect(),
            connections: self.programs.connections.map_or(Ok(Vec::new()), connections::Connections::finish)?,
            udp: self.programs.datagrams.map_or(Ok(UdpFlows::default()), DatagramFlows::finish)?,
            counters_before,
            counters: counters::read(&self.plan.hosts)?,
            settings: settings::read(self.plan)?,
            seen: self.recorders.finish(self.clock)?,
            machine: self.host_load.map(host_load::HostLoad::finish).transpose()?,
            path: self.path.as_ref().map(|path| path.report().clone()),
            machine_programs: std::mem::take(&mut self.machine_programs).report(),
        };
        let text = serde_json::to_vec(&end)?;
        fs::write(folder.join("end.json"), text).attempt(|| "writing end.json".into())
    }
}
