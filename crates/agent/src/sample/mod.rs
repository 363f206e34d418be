//! What sockets and queues say at one instant, as fixed-size raw records.
//!
//! ```text
//! diag     tcp_info and controller info of many sockets, by inet_diag
//! qdisc    every queueing discipline's statistics, by rtnetlink
//! netlink  one request buffer out, many replies in
//! record   the records' bytes, and the files that they go to
//! ```
//!
//! Two system calls a host and instant, whatever the number of flows: in a guest a system
//! call costs more than a packet. The raw bytes are decoded by `dumbbell.engine.decode`.

pub mod diag;
pub mod netlink;
pub mod qdisc;
pub mod record;
