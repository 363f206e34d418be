//! `tc qdisc del`, `tc class del` and `tc filter del`.
//!
//! Linux: `tc_get_qdisc` (`net/sched/sch_api.c`), `htb_delete`, `drr_delete_class`, `tc_del_tfilter` (`cls_api.c`).

use super::{Command, Qdisc, Target, Tree, place};
use crate::filters::FilterWords;
use crate::syntax::Wrong;
use crate::syntax::location::{Location, handle_text, minor};
use dumbbell_net::queue::config::Holds;

impl Tree {
    /// Deletes the qdisc at a place and all below it; a class is left with Linux's default fifo.
    pub(super) fn delete_qdisc(&mut self, target: &Target) -> Result<(), Wrong> {
        if !target.is_root && target.parent.is_none() && !target.is_of_arrivals() {
            let problem = "a discipline to delete without its place";
            return Err(Wrong::new(problem, "root or parent: tc qdisc del … parent 1:10"));
        }
        let place = place(target)?;
        let Some(index) = self.child(place)? else {
            let problem = format!("there is no discipline at '{}' to delete", target.parent_text());
            return Err(Wrong::new(problem, "the place of one that was added before"));
        };
        let qdisc = &self.qdiscs[index];
        let major = qdisc.major;
        let handle = target.handle.as_deref().map(Location::read).transpose()?;
        if let Some(other) = handle.filter(|handle| handle.major != major) {
            let (there, named) = (handle_text(major), handle_text(other.major));
            let problem = format!("the discipline at '{}' is {there}, not {named}", target.parent_text());
            return Err(Wrong::new(problem, format!("handle {there}, or no handle")));
        }
        if !target.kind.is_empty() && target.kind != qdisc.kind {
            let problem = format!("the discipline at '{}' is a {}", target.parent_text(), qdisc.kind);
            return Err(Wrong::new(problem, "its kind, or no kind"));
        }
        let above = place.and_then(|place| self.with_major(place.major)).map(|index| &self.qdiscs[index]);
        if let Some(above) = above.filter(|above| !above.has_default_child()) {
            let problem = format!("a {} drops every packet when its discipline is deleted", above.kind);
            self.known::<()>(Err(Wrong::lacking(problem, "tc qdisc replace it")))?;
        }
        self.remove(major);
        Ok(())
    }

    /// Deletes a class with its qdisc.
    pub(super) fn delete_class(&mut self, target: &Target) -> Result<(), Wrong> {
        let id = target.classid.as_deref();
        let id = id.ok_or_else(|| Wrong::new("a class without a classid", "such as classid 1:10"))?;
        let owner = self.owner(Some(id), |_| true, "discipline with classes")?;
        let (major, minor) = (self.qdiscs[owner].major, minor(id)?);
        let qdisc = &mut self.qdiscs[owner];
        if qdisc.kind == "ets" {
            return Err(Wrong::new("the bands of an ets can't be deleted", "tc qdisc change … ets bands …"));
        }
        let Some(index) = qdisc.classes.iter().position(|class| class.minor == minor) else {
            return Err(Wrong::new(format!("there is no class {id} to delete"), "a class that was added before"));
        };
        if qdisc.classes.iter().any(|class| class.parent == minor) {
            return Err(Wrong::new(format!("class {id} has classes below it"), "tc class del those first"));
        }
        if qdisc.filters.name(minor) {
            return Err(Wrong::new(format!("filters give packets to class {id}"), "tc filter del them first"));
        }
        qdisc.classes.remove(index);
        qdisc.filters.forget(minor);
        if let Some(leaf) = self.at(Some(Location { major, minor })) {
            self.remove(self.qdiscs[leaf].major);
        }
        Ok(())
    }

    /// Deletes filters.
    pub(super) fn delete_filter(&mut self, command: &Command) -> Result<(), Wrong> {
        let words = FilterWords::of(command)?;
        let owner = self.owner(words.parent, |_| true, "discipline")?;
        self.qdiscs[owner].filters.delete(&words)
    }
}

impl Qdisc {
    /// Whether Linux puts a fifo in the place of a deleted child; netem has its own queue. Of the others the child
    /// becomes `noop_qdisc` (`tbf_graft`, `red_graft`, `sfb_graft`).
    fn has_default_child(&self) -> bool {
        self.kind == "netem" || !matches!(self.holds(), Holds::One | Holds::OwnFifo)
    }
}
