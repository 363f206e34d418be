//! The kernel's counters, `/proc/net/snmp` and `/proc/net/netstat`, as in nstat(8).

use dumbbell_table::{Cells, Column, Table};
use std::collections::BTreeSet;

/// Lists only ICMP types seen so far, so its columns are not constant.
const TRANSIENT: &str = "IcmpMsg:";

/// Texts of both files of one host.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// At the start.
    pub before: [String; 2],
    /// At the end.
    pub after: [String; 2],
}

/// Each counter's name, such as `TcpExtTCPLostRetransmit`, and value, in the order of the text: pairs of lines, names and
/// values.
pub fn counters(text: &str) -> impl Iterator<Item = (String, i64)> {
    let lines: Vec<_> = text.lines().collect();
    let pairs: Vec<_> = lines.as_chunks().0.iter().map(|[names, values]| (*names, *values)).collect();
    pairs.into_iter().filter(|(names, _)| !names.starts_with(TRANSIENT)).flat_map(|(names, values)| {
        let (group, names) = names.split_once(':').unwrap_or((names, ""));
        let values = values.split_whitespace().skip(1);
        names
            .split_whitespace()
            .zip(values)
            .map(|(name, value)| (format!("{group}{name}"), number(value)))
            .collect::<Vec<_>>()
    })
}

/// A count; large unsigned ones keep their 64 bits.
fn number(word: &str) -> i64 {
    word.parse().unwrap_or_else(|_| word.parse::<u64>().map_or(0, u64::cast_signed))
}

/// The table `counters`: at the start, at each recording, and at the end, without those that are always 0 in a host.
///
/// `records`: time (u64), host and number of values (u32 each), values (i64), as the agent writes them.
///
/// # Panics
///
/// If there are more than 2³² hosts or counters.
#[must_use]
pub fn table(records: &[u8], hosts: &[Host], duration_ns: u64) -> Table {
    let of = |texts: &[String; 2]| texts.iter().flat_map(|text| counters(text)).collect::<Vec<_>>();
    let names: Vec<String> =
        hosts.first().map(|host| of(&host.after).into_iter().map(|(name, _)| name).collect()).unwrap_or_default();
    // A different kernel may lack some counters.
    let in_order = |texts: &[String; 2]| {
        let known = of(texts);
        let value = |name: &String| known.iter().find(|(each, _)| each == name).map_or(0, |(_, value)| *value);
        names.iter().map(value).collect::<Vec<_>>()
    };
    let mut samples: Vec<(u64, usize, Vec<i64>)> = Vec::new();
    samples.extend(hosts.iter().enumerate().map(|(number, host)| (0, number, in_order(&host.before))));
    samples.extend(recorded(records).filter(|(time_ns, ..)| *time_ns < duration_ns));
    samples.extend(hosts.iter().enumerate().map(|(number, host)| (duration_ns, number, in_order(&host.after))));
    let counted: BTreeSet<(usize, usize)> = samples
        .iter()
        .flat_map(|(_, host, values)| {
            values.iter().enumerate().filter(|(_, value)| **value != 0).map(|(counter, _)| (*host, counter))
        })
        .collect();
    let (mut time, mut host_codes, mut codes, mut numbers) =
        (Cells::default(), Cells::default(), Cells::default(), Cells::default());
    for (time_ns, host, values) in samples {
        for (counter, value) in
            values.into_iter().enumerate().filter(|(counter, _)| counted.contains(&(host, *counter)))
        {
            time.push(time_ns.cast_signed());
            host_codes.push(u32::try_from(host).expect("few hosts"));
            codes.push(u32::try_from(counter).expect("some hundred counters"));
            numbers.push(value);
        }
    }
    Table::new(vec![
        ("time_ns", Column::I64(time)),
        ("host", Column::Name(host_codes, hosts.iter().map(|host| host.name.clone()).collect())),
        ("counter", Column::Name(codes, names.into())),
        ("value", Column::I64(numbers)),
    ])
}

/// Time, host and values of each record; a cut last one is left out.
fn recorded(mut records: &[u8]) -> impl Iterator<Item = (u64, usize, Vec<i64>)> {
    core::iter::from_fn(move || {
        let (head, rest) = records.split_at_checked(16)?;
        let field = |from: usize| u32::from_le_bytes(head[from..from + 4].try_into().expect("four bytes"));
        let (values, rest) = rest.split_at_checked(field(12) as usize * 8)?;
        records = rest;
        let time_ns = u64::from_le_bytes(head[..8].try_into().expect("eight bytes"));
        let values = values.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
        Some((time_ns, field(8) as usize, values))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\nIcmpMsg: InType8\nIcmpMsg: 7\nTcp: MaxConn\nTcp: -1\n";

    #[test]
    fn counters_have_names_of_their_group_and_transient_ones_are_left_out() {
        let found: Vec<_> = counters(TEXT).collect();
        assert_eq!(found, [("IpForwarding".into(), 1), ("IpDefaultTTL".into(), 64), ("TcpMaxConn".into(), -1)]);
        assert_eq!(counters("A: x\nA: 18446744073709551615").collect::<Vec<_>>(), [("Ax".into(), -1)]);
    }

    #[test]
    fn counters_that_stay_zero_in_a_host_are_left_out_there() {
        let text = |a: i64, b: i64| [format!("T: a b\nT: {a} {b}\n"), String::new()];
        let host = |name: &str, before, after| Host { name: name.into(), before, after };
        let hosts = [host("x", text(0, 0), text(0, 5)), host("y", text(1, 0), text(1, 0))];
        let mut records = Vec::new();
        for (time, number) in [(10u64, 1u32), (30, 0)] {
            records.extend(time.to_le_bytes());
            records.extend(number.to_le_bytes());
            records.extend(2u32.to_le_bytes());
            records.extend([2i64, 0].iter().flat_map(|value| value.to_le_bytes()));
        }
        let table = table(&records, &hosts, 30);
        let rows = ["0\tx\tTb\t0", "0\ty\tTa\t1", "10\ty\tTa\t2", "30\tx\tTb\t5", "30\ty\tTa\t1"];
        assert_eq!(table.text(), [&["time_ns\thost\tcounter\tvalue"][..], &rows].concat().join("\n"));
    }
}
