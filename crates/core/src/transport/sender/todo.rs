//! What the sender means to transmit, in order. Linux does it in nested loops; here each poll takes one step.

/// One kind of transmission; the order is that of doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// The first record, whatever the window says: after a timeout.
    Head,
    /// Tail loss probe.
    LossProbe,
    /// Probe of a closed window.
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

/// The tasks that are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Todo(u8);

impl Todo {
    /// Wants a task.
    pub const fn want(&mut self, task: Task) {
        self.0 |= 1 << task as u8;
    }

    /// A task is done, or can't go on.
    pub const fn done(&mut self, task: Task) {
        self.0 &= !(1 << task as u8);
    }

    /// Is nothing wanted?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The first task that is wanted.
    pub fn next(self) -> Option<Task> {
        Task::ALL.get(self.0.trailing_zeros() as usize).copied()
    }
}
