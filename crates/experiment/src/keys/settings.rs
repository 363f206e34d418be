//! TCP settings of every host, and scheduled changes of the path.

mod rules;

use crate::declare::generic::{Boolean, List};
use crate::declare::kinds::{Discipline, Loss, Name, Rate, Size, Text, Time};
use crate::declare::maps::Sysctls;
use crate::declare::{choices, table};
use crate::value::Table;
use dumbbell_plan::Ecn;

table! {
    /// Settings of every host.
    pub struct Tcp, before rules::with_buffers {
        /// Limits of buffer autotuning. `"dumbbell"`: 64 MiB each, so that windows, not buffers, limit flows. `"linux"`:
        /// those of Linux 6.12 with 768 MiB of memory or more, 6 MiB to receive and 4 MiB to send (`net/ipv4/tcp.c`,
        /// `tcp_init`). `dumbbell plan` shows which a run has.
        defaults: TcpDefaults = "dumbbell";
        /// Which ECN flows negotiate. `"auto"`: as Linux does, that is, only controllers that need it (`dctcp`, `prague`)
        /// ask for it, and every receiver accepts it. `"off"`: none; such a controller is then refused. `"classic"`: all
        /// (RFC 3168). `"accecn"`: all, Accurate ECN (RFC 9768), on a kernel that has it, such as Linux 7.2. A group's
        /// `ecn` is for that group.
        ecn: Ecn = "auto";
        /// How far a receive buffer may grow; overrides `defaults`.
        rmem_max: Size, written = 67_108_864;
        /// How far a send buffer may grow; overrides `defaults`.
        wmem_max: Size, written = 67_108_864;
        /// `false`: a flow that was idle keeps its window.
        slow_start_after_idle: Boolean = true;
        /// `net.ipv4.*` and `net.core.*` settings, such as `"net.ipv4.tcp_rmem" = "4096 131072 6291456"`. A setting applies
        /// to every sender and receiver; one that Linux has once per system (most of `net.core`, `tcp_mem`) to the entire
        /// guest, and `dumbbell plan` omits it. A setting that the kernel lacks is refused; the effective values are in the
        /// result's `settings`.
        sysctl: Sysctls = Table::default();
    }
}

choices! {
    /// Limits of buffer autotuning if the file gives none.
    pub enum TcpDefaults {
        /// So large that windows limit flows.
        Dumbbell = "dumbbell",
        /// Those of Linux.
        Linux = "linux",
    }
}

impl TcpDefaults {
    /// `tcp_rmem[2]` and `tcp_wmem[2]`.
    #[must_use]
    pub const fn buffers(self) -> (u64, u64) {
        match self {
            Self::Dumbbell => (64 << 20, 64 << 20),
            // Linux 6.12 with at least 768 MiB of memory for buffers; less memory, lower limits (net/ipv4/tcp.c).
            Self::Linux => (6 << 20, 4 << 20),
        }
    }
}

table! {
    /// A scheduled change of the path.
    pub struct Change, rules rules::change {
        /// When it happens.
        at: Time, required("at = \"10s\"");
        /// The link: a name of `path.links`, `bottleneck`, or `reverse` for the reverse path. Without it, `rate`, `qdisc` and
        /// `up` are the bottleneck's, and `loss`, `rtt`, `delay` and `jitter` are the path's.
        link: Name, optional;
        /// A file of changes below the experiment's folder: lines of `time,rate,delay,jitter,loss`, times after `at`.
        file: Text, optional;
        /// `false`: the link sends nothing until a later change with `true`, and its queue holds what comes: an outage. One
        /// packet is under way for all of it.
        up: Boolean, optional;
        /// New options of the link's queue, as for tc; the kind stays.
        qdisc: Discipline, optional;
        /// The group of flows whose `route` changes.
        group: Name, optional;
        /// The new route of `group`, as a group's `route`: from then on its packets pass these links (handover, rerouting).
        /// Packets under way reach their host.
        route: List<Name>, optional;
        /// The new rate.
        rate: Rate, optional;
        /// The new propagation delay, both ways.
        rtt: Time, optional;
        /// The new delay.
        delay: Time, optional;
        /// The new jitter; needs a delay.
        jitter: Time, optional;
        /// The new loss, as netem takes it.
        loss: Loss, optional;
    }
}
