//! The sender's pending transmissions, in order. Linux performs them in nested loops; here each poll takes one step.

/// A kind of transmission, in order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// The first record, independent of the window: after a timeout.
    Head,
    /// Tail loss probe.
    LossProbe,
    /// Zero window probe.
    WindowProbe,
    /// F-RTO's step 2.b: new data instead of retransmissions (RFC 5682 section 3.1).
    NewData,
    /// Lost records (`tcp_xmit_retransmit_queue`).
    Retransmit,
    /// New data (`tcp_write_xmit`).
    Push,
}

impl Task {
    const ALL: [Self; 6] =
        [Self::Head, Self::LossProbe, Self::WindowProbe, Self::NewData, Self::Retransmit, Self::Push];
}

/// The pending tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TaskSet(u8);

impl TaskSet {
    /// Adds a task.
    pub const fn schedule(&mut self, task: Task) {
        self.0 |= 1 << task as u8;
    }

    /// Removes a task that is complete or cannot continue.
    pub const fn done(&mut self, task: Task) {
        self.0 &= !(1 << task as u8);
    }

    /// Is this task pending?
    pub const fn has(self, task: Task) -> bool {
        self.0 & (1 << task as u8) != 0
    }

    /// Is there no task?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The first pending task.
    pub fn next(self) -> Option<Task> {
        Task::ALL.get(self.0.trailing_zeros() as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The first pending task in the order of the declaration comes next, whenever it was scheduled.
        #[test]
        fn tasks_are_done_in_order(steps in prop::collection::vec((0_usize..6, any::<bool>()), 1..40)) {
            let mut tasks = TaskSet::default();
            let mut pending = [false; 6];
            for (task, schedules) in steps {
                if schedules {
                    tasks.schedule(Task::ALL[task]);
                } else {
                    tasks.done(Task::ALL[task]);
                }
                pending[task] = schedules;
                prop_assert_eq!(tasks.next(), pending.iter().position(|pending| *pending).map(|task| Task::ALL[task]));
                prop_assert_eq!(tasks.is_empty(), tasks.next().is_none());
                prop_assert!(Task::ALL.iter().all(|task| tasks.has(*task) == pending[*task as usize]));
            }
        }
    }
}
