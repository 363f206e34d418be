//! Columns that follow from the plan and from other columns: a flow's group and window in bytes, what limits a queue, a
//! probe's kind. Computed once, after the run.

use crate::plan::{self, Plan};
use dumbbell_plan::queue_rate::{delay_ns, rate_at};
use dumbbell_table::{Cells, Column, Table};
use std::sync::Arc;

/// What the plan says about flows, queues and probes, in its order.
#[derive(Clone, Debug)]
pub struct Facts {
    groups: Vec<String>,
    queues: Vec<plan::Watched>,
    kinds: Vec<String>,
}

impl Facts {
    /// Of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self {
            groups: plan.flows.iter().map(|flow| flow.group.clone()).collect(),
            queues: plan.queues.clone(),
            kinds: plan.probes.iter().map(|probe| probe.kind.clone()).collect(),
        }
    }

    /// Adds `group` and `cwnd_bytes` to the flows.
    pub fn complete_flows(&self, mut flows: Table) -> Table {
        let group = translated(names(&flows, "flow"), &self.groups);
        let (cwnd, mss) = (numbers(&flows, "cwnd_packets"), numbers(&flows, "mss_bytes"));
        let mut bytes = Cells::with_capacity(flows.rows());
        for row in 0..flows.rows() {
            // A UDP flow has neither.
            let product = cwnd.get(row).map(|packets| i64::from(packets) * i64::from(mss.values()[row]));
            bytes.push(product);
        }
        flows.insert_after("flow", "group", group);
        flows.insert_after("cwnd_packets", "cwnd_bytes", Column::I64(bytes));
        flows
    }

    /// Adds `under_test`, `rate_bps` and `delay_ns` to the queues.
    pub fn complete_queues(&self, mut queues: Table) -> Table {
        let number = names(&queues, "queue").0;
        let (Some(Column::I64(time)), Some(Column::I64(backlog))) =
            (queues.column("time_ns"), queues.column("backlog_bytes"))
        else {
            unreachable!("the sampler has both")
        };
        let rows = queues.rows();
        let (mut under_test, mut rates, mut delays) =
            (Cells::with_capacity(rows), Cells::with_capacity(rows), Cells::with_capacity(rows));
        for row in 0..rows {
            let queue = &self.queues[number.values()[row] as usize];
            let rate = rate_at(&queue.limits, time.values()[row]);
            let waits = rate.filter(|_| !queue.holds_netem);
            under_test.push(queue.under_test);
            rates.push(rate);
            delays.push(waits.map(|rate| delay_ns(backlog.values()[row], rate)));
        }
        queues.insert_after("kind", "under_test", Column::Bool(under_test));
        queues.insert_after("overlimits", "rate_bps", Column::I64(rates));
        queues.insert_after("rate_bps", "delay_ns", Column::I64(delays));
        queues
    }

    /// Adds `kind` to the probes.
    pub fn complete_probes(&self, mut probes: Table) -> Table {
        let kind = translated(names(&probes, "probe"), &self.kinds);
        probes.insert_after("probe", "kind", kind);
        probes
    }
}

/// Names that belong to other names: `of` has the name for each code.
fn translated((codes, _): (&Cells<u32>, &Arc<[String]>), of: &[String]) -> Column {
    let mut list: Vec<String> = Vec::new();
    let code = |name: &String| {
        let known = list.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            list.push(name.clone());
            list.len() - 1
        })
    };
    let code_of: Vec<_> = of.iter().map(code).collect();
    let mut own = Cells::with_capacity(codes.values().len());
    for code in codes.values() {
        own.push(u32::try_from(code_of[*code as usize]).expect("few names"));
    }
    Column::Name(own, list.into())
}

fn names<'a>(table: &'a Table, column: &str) -> (&'a Cells<u32>, &'a Arc<[String]>) {
    let Some(Column::Name(codes, list)) = table.column(column) else { unreachable!("the sampler has names") };
    (codes, list)
}

fn numbers<'a>(table: &'a Table, column: &str) -> &'a Cells<u32> {
    let Some(Column::U32(cells)) = table.column(column) else { unreachable!("the sampler has this column") };
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_listed_once() {
        let mut codes = Cells::default();
        for code in [0, 1, 2, 1] {
            codes.push(code);
        }
        let list: Arc<[String]> = ["a-1", "b-1", "a-2"].map(String::from).into();
        let Column::Name(codes, list) = translated((&codes, &list), &["a", "b", "a"].map(String::from)) else {
            panic!("names")
        };
        assert_eq!((codes.values(), &list[..]), (&[0, 1, 0, 1][..], &["a".to_string(), "b".into()][..]));
    }
}
