//! Samples sockets and queues at one instant, as fixed-size raw records.
//!
//! ```text
//! diag     tcp_info and congestion control info of many sockets, by `inet_diag`
//! qdisc    statistics of every qdisc, by rtnetlink
//! netlink  requests and answers in batches
//! record   encoding and files of the records
//! ```
//!
//! A sample takes one system call for any number of hosts (up to 256 answers, then one more):
//! in a guest a system call costs more than a packet. `dumbbell.engines.decode` decodes the records.

pub mod diag;
mod marks;
pub mod netlink;
pub mod qdisc;
pub mod record;
