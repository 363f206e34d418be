//! Which class sends, and when that changes: levels with their lists and waiting lists, and the path from leaf to root.
//!
//! A leaf with packets is *active*. An active class that may send is in its level's list; one that may borrow is in its
//! parent's list, which makes the parent active. Every class that may not send waits for the time at which its mode
//! changes.

use super::class::{Below, Class, MAX_LEVELS, Mode, PRIORITIES};
use super::list::{ClassList, Id};
use crate::packet::Packet;
use crate::queue::bucket::{instant, nanos};
use crate::queue::call::{CallContext, QdiscContext};
use crate::queue::child::Child;
use crate::queue::fifo::Fifo;
use crate::queue::stats::QdiscStats;
use crate::queue::{HtbClass, Next, Verdict};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// All classes by minor number, and the levels at which they are served.
#[derive(Debug)]
pub(super) struct Tree<Q> {
    classes: Vec<Class<Q>>,
    levels: Vec<Level>,
}

/// Classes of one level.
#[derive(Debug, Default)]
struct Level {
    /// Classes that may send, by priority.
    rows: [ClassList; PRIORITIES],
    /// Bit mask of priorities with a non-empty list.
    mask: u8,
    /// Classes that may not send, by the time at which that may change.
    waiting: VecDeque<(i64, Id)>,
}

/// Classes of one level and priority that may send.
#[derive(Clone, Copy, Debug)]
struct Row {
    level: usize,
    priority: usize,
}

impl<Q: Child> Tree<Q> {
    /// Classes with full buckets.
    pub fn new(configs: &[HtbClass], context: &QdiscContext) -> Self {
        let mut sorted: Vec<&HtbClass> = configs.iter().collect();
        sorted.sort_by_key(|config| config.minor);
        let find = |minor: u32| sorted.binary_search_by_key(&minor, |config| config.minor).ok();
        let parents: Vec<Option<Id>> = sorted
            .iter()
            .map(|config| (config.parent != 0).then(|| find(config.parent).expect("a class's parent exists")))
            .collect();
        let depths: Vec<usize> = (0..sorted.len()).map(|id| depth_of(id, &parents)).collect();
        let is_parent = |id: Id| parents.contains(&Some(id));
        let inner_levels = (0..sorted.len()).filter(|id| is_parent(*id)).map(|id| depths[id] + 1).max().unwrap_or(0);
        assert!(inner_levels < MAX_LEVELS, "a tree of classes has at most {MAX_LEVELS} levels");
        let class = |(id, config): (Id, &&HtbClass)| {
            if is_parent(id) {
                Class::new(config, parents[id], inner_levels - depths[id], Below::Classes(Box::default()))
            } else {
                Class::new(config, parents[id], 0, Below::Leaf(Box::new(leaf(config, context))))
            }
        };
        let classes = sorted.iter().enumerate().map(class).collect();
        Self { classes, levels: (0..=inner_levels).map(|_| Level::default()).collect() }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes.len()
    }

    /// The qdisc of a class, if it is a leaf.
    pub fn leaf(&self, id: Id) -> Option<&Q> {
        self.classes.get(id)?.leaf()
    }

    /// The qdisc of a class, if it is a leaf.
    pub fn leaf_mut(&mut self, id: Id) -> Option<&mut Q> {
        self.classes.get_mut(id)?.leaf_mut()
    }

    /// The leaf with this minor number.
    pub fn leaf_of(&self, minor: u32) -> Option<Id> {
        self.find(minor).filter(|id| self.classes[*id].level == 0)
    }

    /// Applies new settings to a class; None if there is no class with this number.
    pub fn change(&mut self, config: &HtbClass) -> Option<()> {
        let id = self.find(config.minor)?;
        self.classes[id].change(config);
        Some(())
    }

    /// Enqueues a packet in a leaf, which becomes active.
    pub fn enqueue(&mut self, id: Id, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let class = &mut self.classes[id];
        let leaf = class.leaf_mut().expect("packets go to leaves");
        let verdict = leaf.with_parent_stats(stats, |leaf| leaf.enqueue(packet, ctx));
        if class.active == 0 && class.leaf().is_some_and(|leaf| !leaf.is_empty()) {
            class.active = 1 << class.priority;
            self.link(id);
        }
        verdict
    }

    /// Dequeues a packet, or returns the time of the next try (`htb_dequeue`).
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let now_ns = nanos(ctx.now);
        let mut wake_ns = i64::MAX;
        for level in 0..self.levels.len() {
            wake_ns = wake_ns.min(self.wake(level, now_ns));
            let mut mask = self.levels[level].mask;
            while mask != 0 {
                let row = Row { level, priority: lowest(mask) };
                mask &= mask - 1;
                let next = self.serve(row, &mut wake_ns, stats, ctx);
                if matches!(next, Next::Packet(_)) {
                    return next;
                }
            }
        }
        if stats.backlog.packets == 0 {
            return Next::Empty;
        }
        assert!(wake_ns > now_ns && wake_ns < i64::MAX, "an htb with packets must return a time to dequeue them");
        Next::At(instant(wake_ns))
    }

    /// Updates the modes of classes of this level that are due; returns the time of the next update (`htb_do_events`).
    fn wake(&mut self, level: usize, now_ns: i64) -> i64 {
        while let Some((due_ns, id)) = self.levels[level].waiting.front().copied() {
            if due_ns > now_ns {
                return due_ns;
            }
            self.levels[level].waiting.pop_front();
            let (mode, delay_ns) = self.classes[id].mode_at(now_ns);
            self.set_mode(id, mode);
            self.wait(id, now_ns, delay_ns);
        }
        i64::MAX
    }

    /// Dequeues from the leaves of a list in turn until one has a packet. Leaves without a packet are skipped
    /// (`htb_dequeue_tree`).
    #[inline]
    fn serve(&mut self, row: Row, wake_ns: &mut i64, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let mut start = self.leaf_in_turn(row);
        let mut current = start;
        while let Some(id) = current {
            let leaf = self.classes[id].leaf_mut().expect("a round ends at leaves");
            if leaf.is_empty() {
                self.unlink_leaf(id);
                current = self.leaf_in_turn(row);
                if start == Some(id) {
                    start = current;
                }
                continue;
            }
            let next = leaf.with_parent_stats(stats, |leaf| leaf.dequeue(ctx));
            match &next {
                Next::Packet(packet) => {
                    let bytes = packet.bytes;
                    self.served(id, row, bytes, nanos(ctx.now), stats);
                    return next;
                }
                Next::At(time) => *wake_ns = (*wake_ns).min(nanos(*time)),
                Next::Empty => {}
            }
            self.advance(id, row);
            current = self.leaf_in_turn(row);
            if current == start {
                break;
            }
        }
        Next::Empty
    }

    /// Charges a packet to the leaf's quantum, and to its own and its ancestors' tokens.
    fn served(&mut self, id: Id, row: Row, bytes: u32, now_ns: i64, stats: &mut QdiscStats) {
        let class = &mut self.classes[id];
        let deficit = &mut class.deficits[row.level];
        *deficit -= i64::from(bytes);
        if *deficit < 0 {
            *deficit += class.quantum;
            self.advance(id, row);
        }
        if self.classes[id].leaf().is_some_and(Q::is_empty) {
            self.unlink_leaf(id);
        }
        self.charge(id, bytes, row.level, now_ns, stats);
    }

    /// Charges a packet to a leaf and its ancestors (`htb_charge_class`).
    fn charge(&mut self, leaf: Id, bytes: u32, level: usize, now_ns: i64, stats: &mut QdiscStats) {
        let mut next = Some(leaf);
        while let Some(id) = next {
            let class = &mut self.classes[id];
            class.charge(bytes, level, now_ns);
            next = class.parent;
            let old = class.mode;
            let (mode, delay_ns) = class.mode_at(now_ns);
            if mode == old {
                continue;
            }
            stats.counters.overlimits += u64::from(mode == Mode::CantSend);
            self.set_mode(id, mode);
            if old != Mode::CanSend {
                self.stop_waiting(id);
            }
            self.wait(id, now_ns, delay_ns);
        }
    }

    /// Changes the mode of a class, and moves it between lists.
    fn set_mode(&mut self, id: Id, mode: Mode) {
        let old = self.classes[id].mode;
        if mode == old {
            return;
        }
        let is_active = self.classes[id].active != 0;
        if is_active && old != Mode::CantSend {
            self.unlink(id);
        }
        self.classes[id].mode = mode;
        if is_active && mode != Mode::CantSend {
            self.link(id);
        }
    }

    fn wait(&mut self, id: Id, now_ns: i64, delay_ns: i64) {
        let class = &mut self.classes[id];
        if class.mode == Mode::CanSend {
            return;
        }
        class.due_ns = now_ns + delay_ns.max(1);
        let waiting = &mut self.levels[class.level].waiting;
        if waiting.back().is_none_or(|(due_ns, _)| *due_ns <= class.due_ns) {
            waiting.push_back((class.due_ns, id));
        } else {
            let index = waiting.partition_point(|(due_ns, _)| *due_ns <= class.due_ns);
            waiting.insert(index, (class.due_ns, id));
        }
    }

    fn stop_waiting(&mut self, id: Id) {
        let Class { level, due_ns, .. } = self.classes[id];
        let waiting = &mut self.levels[level].waiting;
        let first = waiting.partition_point(|(due, _)| *due < due_ns);
        let offset = waiting.range(first..).position(|(_, next_departure)| *next_departure == id);
        waiting.remove(first + offset.expect("a class that can't send waits"));
    }

    /// A leaf has no packets left.
    fn unlink_leaf(&mut self, id: Id) {
        if self.classes[id].active != 0 {
            self.unlink(id);
            self.classes[id].active = 0;
        }
    }

    /// Adds an active class to its parent's list, and so on upwards, or to its level's list (`htb_activate_prios`).
    fn link(&mut self, id: Id) {
        let (mut id, mut mask) = (id, self.classes[id].active);
        while let (Mode::MayBorrow, Some(parent), true) = (self.classes[id].mode, self.classes[id].parent, mask != 0) {
            let above = &mut self.classes[parent];
            for priority in priorities(mask) {
                let list = above.list_mut(priority);
                if !list.is_empty() {
                    mask &= !(1 << priority);
                }
                list.insert(id);
            }
            above.active |= mask;
            id = parent;
        }
        if self.classes[id].mode == Mode::CanSend {
            let level = &mut self.levels[self.classes[id].level];
            level.mask |= mask;
            priorities(mask).for_each(|priority| level.rows[priority].insert(id));
        }
    }

    /// Removes an active class from all lists (`htb_deactivate_prios`).
    fn unlink(&mut self, id: Id) {
        let (mut id, mut mask) = (id, self.classes[id].active);
        while let (Mode::MayBorrow, Some(parent), true) = (self.classes[id].mode, self.classes[id].parent, mask != 0) {
            let above = &mut self.classes[parent];
            let mut emptied = 0;
            for priority in priorities(mask) {
                let list = above.list_mut(priority);
                list.remove_and_resume(id);
                if list.is_empty() {
                    emptied |= 1 << priority;
                }
            }
            mask = emptied;
            above.active &= !mask;
            id = parent;
        }
        if self.classes[id].mode == Mode::CanSend {
            let level = &mut self.levels[self.classes[id].level];
            for priority in priorities(mask) {
                level.rows[priority].remove_and_advance(id);
                if level.rows[priority].is_empty() {
                    level.mask &= !(1 << priority);
                }
            }
        }
    }

    /// The current leaf of a level's list: descends through the inner classes' lists, moving on where a list has
    /// reached its end (`htb_lookup_leaf`).
    fn leaf_in_turn(&mut self, row: Row) -> Option<Id> {
        if row.level == 0 {
            return self.levels[0].rows[row.priority].current_or_first();
        }
        if self.levels[row.level].rows[row.priority].is_empty() {
            return None;
        }
        // Inner classes passed on the way down.
        let mut path = [0; MAX_LEVELS];
        let mut depth = 0;
        loop {
            let round = self.round(row, &path[..depth]);
            match round.current() {
                None => {
                    round.rewind();
                    if depth > 0 {
                        depth -= 1;
                        self.round(row, &path[..depth]).advance();
                    }
                }
                Some(id) if self.classes[id].level == 0 => return Some(id),
                Some(id) => {
                    path[depth] = id;
                    depth += 1;
                }
            }
        }
    }

    /// Moves on to the next leaf in the level's list or in the parent's list.
    fn advance(&mut self, id: Id, row: Row) {
        match self.classes[id].parent {
            Some(parent) if row.level > 0 => self.classes[parent].list_mut(row.priority).advance(),
            _ => self.levels[row.level].rows[row.priority].advance(),
        }
    }

    /// The list at the end of a path of inner classes; the level's list if the path is empty.
    fn round(&mut self, row: Row, path: &[Id]) -> &mut ClassList {
        match path.last() {
            None => &mut self.levels[row.level].rows[row.priority],
            Some(class) => self.classes[*class].list_mut(row.priority),
        }
    }

    fn find(&self, minor: u32) -> Option<Id> {
        self.classes.binary_search_by_key(&minor, |class| class.minor).ok()
    }
}

/// The qdisc of a leaf class.
pub(super) fn leaf<Q: Child>(config: &HtbClass, context: &QdiscContext) -> Q {
    match &config.leaf {
        Some(node) => Q::new(node, context),
        None => Q::built_in(Fifo::of_packets(DEVICE_QUEUE_PACKETS)),
    }
}

/// Number of ancestors of a class.
fn depth_of(id: Id, parents: &[Option<Id>]) -> usize {
    let depth = core::iter::successors(parents[id], |above| parents[*above]).take(MAX_LEVELS + 1).count();
    assert!(depth <= MAX_LEVELS, "a class has fewer than {MAX_LEVELS} ancestors");
    depth
}

fn priorities(mut mask: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let priority = (mask != 0).then(|| lowest(mask))?;
        mask &= mask - 1;
        Some(priority)
    })
}

const fn lowest(mask: u8) -> usize {
    mask.trailing_zeros() as usize
}

/// Queue length of a veth: the limit of a leaf's default pfifo (`DEFAULT_TX_QUEUE_LEN`).
const DEVICE_QUEUE_PACKETS: u32 = 1_000;
