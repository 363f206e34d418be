//! Where an experiment comes from, and the figures that this source reports.

mod rules;

use crate::declare::generic::List;
use crate::declare::kinds::Text;
use crate::declare::metrics::{Figure, Measured};
use crate::declare::table;

table! {
    /// One figure that a source reports: a value, or a range, of which one end may be open.
    pub struct Seen, before rules::with_unit, rules rules::seen {
        /// Description, one line.
        what: Text, required("what = \"rate\"");
        /// The figure. Without it, a range.
        value: Figure, optional;
        /// The lower end of a range.
        low: Figure, optional;
        /// The upper end of a range.
        high: Figure, optional;
        /// The unit of the figure: the metric's, or one of the same kind: Mbit/s, kbit/s, Gbit/s or MB/s of a throughput;
        /// ms, us or s of a time; bytes, kB or MB of a size; % of a share; packets. Without it, the metric's own.
        unit: Text, written = "";
        /// The run's figure, as in `expect`.
        metric: Measured, required("metric = \"groups.bbr.share\"");
        /// The case that it belongs to. Without it, all cases.
        case: Text, optional;
    }
}

table! {
    /// Where an experiment comes from.
    pub struct Source {
        /// The source's title.
        title: Text, required("title = \"RFC 9438\"");
        /// Its address.
        url: Text, optional;
        /// More about it.
        note: Text, optional;
        /// The figures that it reports.
        seen: List<Seen> = Vec::new();
    }
}
