//! Packets that the path drops or delays by their number: a netem for each, on hosts of their own in front of the path.
//!
//! Linux's tc can't count packets. But netem draws one random number for each packet, from a seed that the plan sets:
//! with the right seed the numbers meet the probability at one packet. A drop is `loss state` that never returns from the
//! state after the loss, so that later numbers don't matter. A delay is a `delay` whose `reorder` sends all other packets
//! immediately; its seed is right for as many packets as the run can have.
//!
//! The netems of drops are one within the other, the largest number outermost, because a netem doesn't count what an
//! outer one dropped. Those of delays come after them, the largest number first, each on a host of its own: packets that
//! `reorder` sends immediately skip an inner netem.

use super::building::Building;
use super::error::Error;
use super::shaping::tc;
use crate::limits::grouped;
use crate::model::PacketFate;
use dumbbell_net::netem_seed::{Hits, MOST_PACKETS, SingleHit, single_hit};
use dumbbell_plan::text::{large, time_text};
use dumbbell_plan::{Device, Queue};

const KEY: &str = "path.packets";
const BILLION: u128 = 1_000_000_000;
/// Packets may be smaller than the MTU or dropped at the bottleneck: that many for each full one that it can carry.
const PER_FULL_PACKET: u128 = 8;
const FEWEST_PACKETS: u32 = 1 << 16;
/// netem's default. Packets that are not delayed leave immediately.
const LIMIT: u32 = 1_000;

/// A packet with the number that its netem counts.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    fate: PacketFate,
    number: u32,
}

/// The packets of each host, in the order of the path.
pub(super) fn stages(packets: &[PacketFate]) -> Vec<Vec<Counted>> {
    let mut fates = packets.to_vec();
    fates.sort_by_key(|fate| core::cmp::Reverse(fate.number));
    fates.dedup();
    let (dropped, delayed): (Vec<_>, Vec<_>) = fates.into_iter().partition(|fate| fate.delay.is_none());
    let after_drops = |fate: &PacketFate| {
        let absent: u32 = dropped.iter().map(|dropped| u32::from(dropped.number < fate.number)).sum();
        vec![Counted { fate: fate.clone(), number: fate.number - absent }]
    };
    let delays: Vec<_> = delayed.iter().map(after_drops).collect();
    let drops: Vec<_> = dropped.into_iter().map(|fate| Counted { number: fate.number, fate }).collect();
    [drops].into_iter().filter(|drops| !drops.is_empty()).chain(delays).collect()
}

/// The netems of one host on its device, from the outermost.
pub(super) fn put_packet_netems(building: &mut Building<'_>, device: &Device, stage: &[Counted]) -> Result<(), Error> {
    for (level, counted) in (1..).zip(stage) {
        let text = netem(building, counted)?;
        let place = if level == 1 { "root".into() } else { format!("parent {:x}:1", level - 1) };
        let handle = format!("{level:x}:");
        let line = format!("qdisc add dev {} {place} handle {handle} {text}", device.name);
        building.disciplines.push(tc(device, &line).for_key(KEY));
        building.queues.push(Queue {
            name: format!("packet-{}", counted.fate.number),
            host: device.host.clone(),
            device: device.name.clone(),
            handle,
            text,
            may_drop: counted.fate.delay.is_none(),
            ..Queue::default()
        });
    }
    Ok(())
}

/// The netem that drops or delays this packet.
fn netem(building: &Building<'_>, Counted { fate, number }: &Counted) -> Result<String, Error> {
    let number = *number;
    let none = || {
        let error = Error::at(KEY, "netem has no seed that hits this packet only", "another number");
        error.with(fate.number)
    };
    Ok(if let Some(delay) = fate.delay {
        let SingleHit { seed, probability } =
            single_hit(number, packets(building)?.max(number), Hits::Above).ok_or_else(none)?;
        let others = per_cent(probability.0);
        format!("netem limit {LIMIT} delay {} reorder {others} seed {seed}", time_text(delay))
    } else {
        let SingleHit { seed, probability } = single_hit(number, number, Hits::Below).ok_or_else(none)?;
        let lost = per_cent(probability.0);
        // From state 1 to 3 (lost) once, from there always to 2 (received), from there nowhere.
        format!("netem limit {LIMIT} loss state {lost} 0% 100% 0% 0% seed {seed}")
    })
}

/// So many decimals that tc rounds to the same 32 bits.
fn per_cent(probability: u32) -> String {
    format!("{:.10}%", large(probability.into()) / large(u32::MAX.into()) * 100.0)
}

/// More packets than can enter the path.
fn packets(building: &Building<'_>) -> Result<u32, Error> {
    let experiment = building.experiment;
    let duration = u128::from(experiment.duration);
    let rate = building.highest_rate().ok_or_else(|| {
        Error::at(KEY, "a delayed packet needs a path of a known rate", "path.bottleneck with a rate, or no 'delay'")
    })?;
    let full = u128::from(rate) * duration / (8 * BILLION * u128::from(experiment.path.mtu));
    let datagrams = experiment.flows.iter().filter_map(|group| {
        let per_flow = u128::from(group.rate?) * duration / (8 * BILLION * u128::from(group.payload));
        Some(per_flow * u128::from(group.count))
    });
    let probes = experiment.probes.iter().map(|probe| duration / u128::from(probe.interval));
    let packets = PER_FULL_PACKET * full + datagrams.sum::<u128>() + probes.sum::<u128>();
    match u32::try_from(packets) {
        Ok(packets) if packets <= MOST_PACKETS => Ok(packets.next_power_of_two().max(FEWEST_PACKETS)),
        _ => {
            let most = grouped(MOST_PACKETS as usize);
            let problem = format!("up to {} packets may enter the path, more than {most}", grouped(packets));
            let hint = "a shorter or slower run, or packets without 'delay', which need no such limit";
            Err(Error::at(KEY, problem, hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_share_a_host_and_delays_count_what_is_left() {
        let late = Some(5_000_000);
        let fates = [(3, None), (9, late), (7, None), (2, late), (8, None), (7, None)];
        let stages = stages(&fates.map(|(number, delay)| PacketFate { number, delay }));
        let numbers: Vec<Vec<_>> =
            stages.iter().map(|stage| stage.iter().map(|each| (each.fate.number, each.number)).collect()).collect();
        assert_eq!(numbers, [vec![(8, 8), (7, 7), (3, 3)], vec![(9, 6)], vec![(2, 2)]]);
    }

    #[test]
    fn tc_reads_the_same_probability() {
        for probability in [1, 256, 1 << 20, 1 << 31, u32::MAX - 1, u32::MAX - 256] {
            let read = dumbbell_tc::syntax::quantity::probability(&per_cent(probability)).expect("a share");
            assert_eq!(read.0, probability);
        }
    }
}
