//! The path: impairments, the bottleneck, links, the reverse path, tc commands.

mod rules;

use crate::declare::generic::{Boolean, Integer, List, OneOrList};
use crate::declare::kinds::{
    Corrupt, Discipline, Distribution, Duplicate, Duration, Loss, Name, Rate, Reorder, Slot, Text, Time,
};
use crate::declare::programs::{Host, Lines};
use crate::declare::{choices, table};

table! {
    /// What a part of the path does to packets, in the data's direction.
    #[derive(Default)]
    pub struct Impairment, rules rules::impairment {
        /// Delay in the data's direction; it adds to `path.rtt`. Of `[path]` an older spelling of `forward_delay`, of
        /// `[path.reverse]` one of `path.reverse_delay`.
        delay: Time = "0s";
        /// netem's `loss` parameters: `"1%"`, `"random 1% 25%"`, `"gemodel 1% 10% 70% 0.1%"`, `"state 1% 20%"`; or, on
        /// `sim` only, `"every 1000"`: exactly one packet in 1000, as formulas assume. Before the queue.
        loss: Loss, optional;
        /// As netem takes it, before the queue. Without a delay the mean delay is the jitter, so that no packet is early: of
        /// `[path]` it is a part of `rtt`.
        jitter: Time = "0s";
        /// As netem takes it; needs `jitter`.
        distribution: Distribution, optional;
        /// As netem takes it, before the queue; needs `delay`.
        reorder: Reorder, optional;
        /// As netem takes it, before the queue.
        duplicate: Duplicate, optional;
        /// As netem takes it, before the queue.
        corrupt: Corrupt, optional;
        /// As netem takes it, before the queue.
        slot: Slot, optional;
    }
}

table! {
    /// The queue under test and the rate behind it.
    pub struct Bottleneck, rules rules::bottleneck,
        old ["trace" = "rate_trace", "trace_step" = "rate_trace_step"]
    {
        /// Rate behind the queue.
        rate: Rate, optional;
        /// The queue, written as for tc.
        qdisc: Discipline = "pfifo limit 1000";
        /// A Mahimahi trace file below the experiment's folder instead of `rate`.
        rate_trace: Text, optional;
        /// The trace becomes a rate for each step: the opportunities that fall into it, so the mean is the trace's for
        /// every step and length. The link has no rate of zero: in steps without an opportunity one packet, the first of
        /// the next step, is under way for all of them.
        rate_trace_step: Duration = "100ms";
    }
}

table! {
    /// A link, the reverse path or an access link: impairments with a rate and a queue of its own.
    #[derive(Default)]
    pub struct Segment, rules rules::segment {
        ..impairment: Impairment,
        /// Its rate.
        rate: Rate, optional;
        /// Its queue, written as for tc.
        qdisc: Discipline, optional;
        /// A Mahimahi trace file instead of `rate`, as that of the bottleneck; not of an access link.
        rate_trace: Text, optional;
        /// As that of the bottleneck.
        rate_trace_step: Duration = "100ms";
    }
}

table! {
    /// One more link in the row.
    pub struct Link {
        ..segment: Segment,
        /// The link's name.
        name: Name, required("name = \"second\"");
        /// `"before"` or `"after"` the bottleneck.
        position as "where": Position = "after";
    }
}

choices! {
    /// Where a link is (key `where`).
    pub enum Position {
        /// Before the bottleneck.
        Before = "before",
        /// After the bottleneck.
        After = "after",
    }
}

choices! {
    /// Which device of its host a script is for (key `towards`).
    pub enum Side {
        /// The one towards the receivers, by which data leaves.
        Receivers = "receivers",
        /// Those towards the senders, by which data arrives.
        Senders = "senders",
    }
}

table! {
    /// tc commands verbatim, on a device of a host of the path.
    pub struct Verbatim, rules rules::verbatim {
        /// The device's name in the commands.
        interface: Name, required("interface = \"eth0\"");
        /// `"sender"`: every sender's own device. `"router"`: the device of the router towards the receivers, where drops
        /// are losses of the network; TCP on a sender's own device is throttled instead. Or another host, as `dumbbell plan`
        /// names them.
        host: Host = "sender";
        /// `"receivers"`: the host's device towards the receivers, by which data leaves. `"senders"`: those towards the
        /// senders, by which data arrives. Without it, the first that the host has.
        towards: Side, optional;
        /// The commands as a text.
        commands: Lines = Vec::new();
        /// A file of commands below the experiment's folder.
        script: Text, optional;
        /// The handle, such as `100:`, of the discipline that the summary reports. Utilization and delay use the lowest
        /// of three rates: this discipline's, the sum of its classes', and its parents'. Delay is null where a netem at
        /// or below it holds packets. Of an ifb with its name: `ifb0 1:`.
        queue: Text, optional;
    }
}

table! {
    /// One packet that the path drops or delays, in front of everything else on the path.
    pub struct PacketFate {
        /// The packet's number, from 1, among all that enter the path: handshakes, data, retransmissions and probes of all
        /// groups but those with `enter`. With `offloads`, a super-packet is one.
        number: Integer<u32, 1, 1_000_000>, required("number = 12");
        /// It is this much late, and later packets overtake it. Without it, the packet is dropped.
        delay: Duration, optional;
    }
}

table! {
    /// From the senders to the receivers and back.
    pub struct Path, rules rules::path, old ["delay" = "forward_delay"] {
        ..impairment: Impairment,
        /// Two-way propagation delay; all of it on the reverse path unless `forward_delay` or `reverse_delay` divides it.
        rtt: Time, required("rtt = \"13ms\"");
        /// The part of `rtt` that is on the forward path; the rest is on the reverse path.
        forward_delay: Time, optional;
        /// The part of `rtt` that is on the reverse path; the rest is on the forward path.
        reverse_delay: Time, optional;
        /// `true`: TSO, GSO and GRO on, queues count super-packets.
        offloads: Boolean = false;
        /// `true`: every link with a rate stamps packets of flows whose controller uses it (`hpcc`) with time, queue
        /// length, bytes sent and rate; `sim` only.
        telemetry: Boolean = false;
        /// Largest IP packet in bytes.
        mtu: Integer<u32, 576, 9000> = 1500;
        /// The queue under test and the rate behind it.
        bottleneck: Bottleneck, optional;
        /// More links in a row.
        links: List<Link> = Vec::new();
        /// A different reverse path.
        reverse: Segment, optional;
        /// Single packets to drop or delay, at most 16; `sim`, and `kernel` with Linux 6.6 or later.
        packets: List<PacketFate> = Vec::new();
        /// tc commands instead of `bottleneck`, or beside it; several scripts as `[[path.tc]]`.
        tc: OneOrList<Verbatim> = Vec::new();
    }
}
