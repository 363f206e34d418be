//! Groups of flows.

pub mod kinds;
pub mod rules;

use crate::declare::generic::{Boolean, Integer, List};
use crate::declare::kinds::{Controller, Discipline, Duration, Name, Rate, Size, Time};
use crate::declare::maps::Parameters;
use crate::declare::metrics::Arrivals;
use crate::declare::numbers::AboveZero;
use crate::declare::programs::StackName;
use crate::declare::sizes::Sizes;
use crate::declare::{table, words};
use crate::keys::path::{Path, Segment};
use crate::value::Table;
use dumbbell_plan::{Direction, Ecn, Transport};

table! {
    /// A group of equal flows.
    pub struct Flows, before rules::with_distributions, rules rules::check,
        old ["packet" = "payload", "on" = "on_time", "off" = "off_time"]
    {
        /// The group's name. Without it, `cc`, numbered when taken.
        name: Name, optional;
        /// `"tcp"`, `"udp"`, or `"quic"`: a server of a QUIC stack at the sender, a client at the receiver, both real programs.
        kind: Transport = "tcp";
        /// For `kind = "quic"`: the stack (`dumbbell stack list`).
        stack: StackName, optional;
        /// Congestion control, by its Linux name; required for TCP. For `kind = "quic"`: one of the stack's; without it, the
        /// stack's default.
        cc: Controller, optional;
        /// Parameters of the controller (`dumbbell explain cubic`): integers, names, times and rates, such as
        /// `{ hystart = 0 }`. In Linux a parameter belongs to the module, so on the kernel two groups of one `cc` must
        /// agree.
        cc_parameters: Parameters = Table::default();
        /// Number of flows; 0 creates only the group's hosts, for programs.
        count: Integer<u32, 0, 100_000> = 1;
        /// Start time.
        start: Time = "0s";
        /// The name of a group with `bytes`: start when all of its flows have completed; `start` counts from then.
        after: Name, optional;
        /// End time. Without it, the end of the experiment.
        stop: Time, optional;
        /// Time between the starts of two flows of the group.
        stagger: Time = "0s";
        /// Each flow starts up to this much later, drawn from the seed. Flows that start at the same nanosecond
        /// synchronize, and without another random draw every seed gives the same run.
        start_jitter: Time = "0s";
        /// Size of each flow; without it a flow sends as fast as it can. Or a distribution, from which the seed draws:
        /// `{ cdf = "websearch.txt" }`, or `{ pareto = "100kB", shape = 1.2 }` (the mean and the shape).
        bytes: Size, optional;
        /// The distribution, if `bytes` is one.
        sizes: Sizes, optional;
        /// Destination port. Without it, 5201 and up, one per group; for `kind = "quic"` the port of the first flow's server,
        /// 4433 and up, one per flow.
        port: Integer<u16, 1, 65_535>, optional;
        /// Send for this long, then pause for `off_time`, and repeat.
        on_time: Duration, optional;
        /// The pause after `on_time`.
        off_time: Duration, optional;
        /// Request/response: the receiver sends this many bytes, the sender answers with `response` bytes through the
        /// bottleneck, the receiver waits for `think`, and repeats; `run.json` has each response time.
        request: Size, optional;
        /// Size of the answer to a `request`.
        response: Size, optional;
        /// The receiver's wait between a response and the next request.
        think: Time = "0s";
        /// `true`: the next request waits until every flow of the group has its response; `think` counts from then
        /// (synchronized reads, incast).
        barrier: Boolean = false;
        /// Poisson arrivals of sized flows: `"10/s"`; needs `bytes`; `count` above 1 limits the number of arrivals (10,000
        /// otherwise). Or `{ load = 0.6 }`: so many that their bytes take this share of the bottleneck's rate.
        arrivals: Arrivals, optional;
        /// The share of the bottleneck's rate, if `arrivals` is one.
        load: AboveZero, optional;
        /// For `kind = "udp"`: constant rate.
        rate: Rate, optional;
        /// For `kind = "udp"`: payload bytes of a packet.
        payload: Integer<u32, 16, 8900> = 1200;
        /// `"auto"`: as `tcp.ecn`. `"off"`: never. `"classic"`: asked for (RFC 3168); of a UDP flow: packets that a queue may
        /// mark (ECT(0)). `"accecn"`: Accurate ECN (RFC 9768), on a kernel that has it, such as Linux 7.2.
        ecn: Ecn = "auto";
        /// Fixed send buffer. Without it, autotuned; 212,992 bytes for UDP. A UDP flow's packets take it while they are
        /// in a queue of the sender's own device.
        sndbuf: Size, optional;
        /// Fixed receive buffer. Without it, autotuned; 212,992 bytes for UDP.
        rcvbuf: Size, optional;
        /// Packets. Without it, 10.
        initial_window: Integer<u32, 1, 1000>, optional;
        /// `false`: the receiver acknowledges immediately.
        delayed_ack: Boolean = true;
        /// `true`: the receiver reads each segment as it arrives, as most programs do; slower to run, and ACKs of small
        /// windows leave earlier ([why](design/kernel-engine.md#path)).
        prompt_reads: Boolean = false;
        /// `SO_MAX_PACING_RATE`.
        pacing_rate: Rate, optional;
        /// The links that the group passes, in the order of the path (names of `path.links`, and `bottleneck`), for parking
        /// lots, cross traffic and several receivers: it joins the path at the queue of the first and leaves it after the
        /// last, to a receiver of its own. It does not pass the path's `rtt` in front of the first link; use `access` for a
        /// delay. Without it, all.
        route: List<Name> = Vec::new();
        /// As `route`, by its first link: the link at whose queue the group joins the path (a name of `path.links`, or `bottleneck`), for cross traffic and
        /// parking lots. The group does not pass links before it, nor the path's `rtt` if that is before it; use `access`
        /// for a delay. Without it, the path's first link.
        enter: Name, optional;
        /// As `route`, by its last link: the link after which the group leaves the path, to its own receiver. Without it,
        /// the path's end.
        leave: Name, optional;
        /// `"forward"`: data goes from the senders' side to the receivers'. `"reverse"`: the group's data goes the other way,
        /// over the reverse path, and its ACKs share the bottleneck with the others' data (two-way traffic, RRUL).
        direction: Direction = "forward";
        /// The group's own access link; its delay is on the forward path and adds to `path.rtt`.
        access: Segment, optional;
        /// The egress discipline of the group's host, as for tc; the group then has its own host. `"fq"` paces every
        /// socket of that host, and TCP leaves pacing to it. Excludes `path.tc`, which uses the same device.
        host_qdisc: Discipline, optional;
    }
}

words!(Transport);
words!(Direction);
words!(Ecn, old rules::word_of_ecn);

impl Flows {
    /// The link at whose queue the group joins the path; None: it passes all of the path's beginning.
    #[must_use]
    pub fn joins<'a>(&'a self, path: &Path) -> Option<&'a str> {
        let first = self.route.first().filter(|first| path.link_names().first() != Some(&&first[..]));
        first.or(self.enter.as_ref()).map(String::as_str)
    }

    /// The link after which the group leaves the path; None: at its end.
    #[must_use]
    pub fn leaves<'a>(&'a self, path: &Path) -> Option<&'a str> {
        let last = self.route.last().filter(|last| path.link_names().last() != Some(&&last[..]));
        last.or(self.leave.as_ref()).map(String::as_str)
    }
}
