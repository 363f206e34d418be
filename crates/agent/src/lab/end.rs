//! The end of an experiment: what is told of it in `end.json`, which says by its being there that the run was whole.

use super::{Lab, Traffic, connections};
use crate::counters;
use crate::error::{Attempt, Result};
use crate::inside::{Seen, settings};
use crate::machine;
use crate::programs::running;
use crate::sample::qdisc::Found;
use crate::sample::record::Records;
use crate::setup::Standby;
use crate::traffic::report::Report;
use serde::Serialize;
use std::fs;
use std::path::Path;

#[derive(Serialize)]
struct End<'a> {
    duration_ns: u64,
    flows: Vec<&'a Report>,
    queues: Vec<Found>,
    programs: Vec<&'a running::Report>,
    connections: Vec<connections::End>,
    counters_before: counters::Counters,
    counters: counters::Counters,
    settings: settings::Settings,
    seen: Seen,
    machine: Option<machine::Seen>,
}

impl Lab<'_> {
    /// Ends every file and tells of everything.
    pub(super) fn finish(mut self, folder: &Path, counters_before: counters::Counters) -> Result<()> {
        self.dismiss()?;
        self.standbys.into_iter().try_for_each(Standby::finish)?;
        let mut records = Records::create(folder, "probes.bin")?;
        self.probes.iter().try_for_each(|probing| probing.write(&mut records))?;
        records.finish()?;
        let flows = self
            .flows
            .iter()
            .map(|flow| match flow {
                Traffic::Tcp(flow) => &flow.report,
                Traffic::Udp(flow) => &flow.report,
            })
            .collect();
        let end = End {
            duration_ns: self.ended_ns.expect("the lab has ended"),
            flows,
            queues: self.sampler.finish()?,
            programs: self.company.running.iter().map(|program| &program.report).collect(),
            connections: self.company.connections.map_or(Ok(Vec::new()), connections::Connections::finish)?,
            counters_before,
            counters: counters::read(&self.plan.hosts)?,
            settings: settings::read(self.plan)?,
            seen: self.inside.finish(self.clock)?,
            machine: self.machine.map(machine::Machine::finish).transpose()?,
        };
        let text = serde_json::to_vec(&end)?;
        fs::write(folder.join("end.json"), text).attempt(|| "writing end.json".into())
    }
}
