//! What sockets and queues say at one instant, as fixed-size raw records.
//!
//! ```text
//! diag     tcp_info and controller info of many sockets, by `inet_diag`
//! qdisc    every queueing discipline's statistics, by rtnetlink
//! netlink  many requests out, many answers in
//! record   the records' bytes, and the files that they go to
//! ```
//!
//! One system call an instant, whatever the number of hosts (up to 256 answers, then one more):
//! in a guest a system call costs more than a packet. The raw bytes are decoded by `dumbbell.engine.decode`.

pub mod diag;
pub mod netlink;
pub mod qdisc;
pub mod record;
