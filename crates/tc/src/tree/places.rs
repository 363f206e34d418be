//! What a tree has where: for those who read a script's qdiscs and classes.

use super::{ARRIVALS, Command, Location, Tree, place};
use crate::syntax::Wrong;
use crate::syntax::location::handle_text;
use dumbbell_net::queue::config::Holds;

/// A qdisc or class.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// `1:` of a qdisc, `1:10` of a class.
    pub location: String,
    /// The class above, or else the qdisc; None: the root.
    pub parent: Option<String>,
    /// Whether it is a class.
    pub is_class: bool,
    /// Its kind.
    pub kind: &'a str,
    /// The words after the kind, as its last command has them.
    pub options: &'a [String],
}

impl Tree {
    /// Every qdisc in the order in which they were added, each followed by its classes.
    pub fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.qdiscs.iter().flat_map(|qdisc| {
            let class_id = |minor: u32| format!("{:x}:{minor:x}", qdisc.major);
            let itself = Place {
                location: handle_text(qdisc.major),
                parent: qdisc.parent.filter(|parent| *parent != ARRIVALS).map(|parent| self.class_or_qdisc(parent)),
                is_class: false,
                kind: &qdisc.kind,
                options: &qdisc.options,
            };
            let classes = qdisc.classes.iter().map(move |class| Place {
                location: class_id(class.minor),
                parent: Some(if class.parent > 0 { class_id(class.parent) } else { handle_text(qdisc.major) }),
                is_class: true,
                kind: &qdisc.kind,
                options: &class.options,
            });
            core::iter::once(itself).chain(classes)
        })
    }

    /// Handle of the qdisc that a command names by its place, if there is one.
    ///
    /// # Errors
    ///
    /// There is no such place.
    pub fn handle_at(&self, command: &Command) -> Result<Option<String>, Wrong> {
        let index = self.child(place(command.target())?)?;
        Ok(index.map(|index| handle_text(self.qdiscs[index].major)))
    }

    fn class_or_qdisc(&self, Location { major, minor }: Location) -> String {
        let above = self.with_major(major).map(|index| &self.qdiscs[index]);
        match above.filter(|above| above.holds() == Holds::Classes) {
            Some(_) if minor > 0 => format!("{major:x}:{minor:x}"),
            _ => handle_text(major),
        }
    }
}
