//! The scoreboard against a list of records that is searched from end to end.

use super::*;
use crate::transport::sender::initial_state::initial_state;
use crate::transport::sender::tests::settings;
use crate::transport::sender::tso::Tso;
use proptest::prelude::*;

/// A record as the model keeps it, by its number's offset from the first.
#[derive(Clone, Debug)]
struct Modelled {
    end: u64,
    sent_us: u64,
    marks: Marks,
    pending: bool,
}

/// What happens to the scoreboard. Positions count from the first record, modulo their number.
#[derive(Clone, Debug)]
enum Step {
    /// A packet of so many segments, the last of so many bytes.
    Send(u64, u64),
    Sack(usize),
    MarkLost(usize),
    /// RACK marks it lost.
    Overdue(usize),
    /// The first pending record is retransmitted.
    Retransmit,
    /// A timeout retransmits the first record, although its retransmission may be in flight.
    Head,
    /// A probe retransmits the last record.
    Probe,
    /// A DSACK, or the host's queue, ends a retransmission.
    EndRetransmission(usize),
    TakeBack(usize),
    /// Everything up to here is acknowledged.
    Acknowledge(usize),
    Refuse,
    Undo,
    Renege,
    /// Skbs in this range that arrived are merged.
    Join(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let at = || 0_usize..64;
    prop_oneof![
        6 => (1_u64..6, 1_u64..=MSS).prop_map(|(segments, last)| Step::Send(segments, last)),
        5 => at().prop_map(Step::Sack),
        4 => at().prop_map(Step::MarkLost),
        4 => at().prop_map(Step::Overdue),
        6 => Just(Step::Retransmit),
        1 => Just(Step::Head),
        1 => Just(Step::Probe),
        2 => at().prop_map(Step::EndRetransmission),
        1 => at().prop_map(Step::TakeBack),
        3 => at().prop_map(Step::Acknowledge),
        1 => Just(Step::Refuse),
        1 => Just(Step::Undo),
        1 => Just(Step::Renege),
        2 => (at(), at()).prop_map(|(one, other)| Step::Join(one.min(other), one.max(other))),
    ]
}

const MSS: u64 = 1_000;
const START: u64 = 1;

struct Both {
    board: Scoreboard,
    tp: SenderState,
    model: Vec<Modelled>,
    /// Of all records that were removed at the front.
    removed: u64,
    start: u64,
    now_us: u64,
    losses: u64,
    /// Numbers in order of transmission.
    order: Vec<u64>,
}

impl Both {
    fn new() -> Self {
        let settings = settings();
        let mut board = Scoreboard::new(settings.mss);
        board.begin(START);
        let tp = initial_state(&settings, &Tso::new(&settings, None));
        Self { board, tp, model: vec![], removed: 0, start: START, now_us: 1, losses: 0, order: vec![] }
    }

    fn at(&self, position: usize) -> Option<(u64, usize)> {
        let index = position.checked_rem(self.model.len())?;
        Some((self.removed + index as u64, index))
    }

    fn apply(&mut self, step: &Step) {
        self.now_us += 1;
        match *step {
            Step::Send(segments, last) => self.send(segments, last),
            Step::Acknowledge(position) => self.acknowledge(position),
            Step::Undo => self.undo(),
            Step::Renege => {
                self.board.forget_sacks(&mut self.tp);
                self.model.iter_mut().for_each(|record| record.marks.clear(Marks::SACKED));
            }
            Step::Retransmit => {
                if let Some(number) = self.board.next_pending() {
                    self.retransmit(number, Marks::RETRANS.with(Marks::EVER));
                }
            }
            Step::Head => {
                if let Some((number, _)) = self.at(0) {
                    self.retransmit(number, Marks::RETRANS.with(Marks::EVER));
                }
            }
            Step::Probe => {
                if !self.model.is_empty() {
                    let last = self.board.next() - 1;
                    self.board.split_packet(last);
                    self.model.last_mut().unwrap().marks.set(Marks::FIRST);
                    self.retransmit(last, Marks::EVER);
                }
            }
            Step::Refuse => {
                // Only new data is refused before anything happened to it.
                if self.model.last().is_some_and(|record| !record.marks.has(Marks::TAGS)) {
                    self.board.pop_last(&mut self.tp);
                    self.model.pop();
                    self.unlist(self.board.next());
                }
            }
            Step::Sack(position) => self.sack(position),
            Step::MarkLost(position) => {
                if let Some((number, _)) = self.at(position) {
                    self.mark_lost(number);
                }
            }
            Step::Overdue(position) => {
                if let Some((number, index)) = self.at(position) {
                    self.mark_lost(number);
                    self.board.set_overdue(number);
                    self.model[index].marks.set(Marks::OVERDUE);
                    self.unlist(number);
                }
            }
            Step::EndRetransmission(position) => self.end_retransmission(position, false),
            Step::TakeBack(position) => self.end_retransmission(position, true),
            Step::Join(from, to) => {
                let (Some((first, _)), Some((end, _))) = (self.at(from), self.at(to)) else { return };
                if first < end {
                    let mss = self.tp.mss;
                    self.board.join_arrived(first, end, mss, |from, to| to - from <= 3 * MSS);
                    self.check_joined(first, end);
                }
            }
        }
    }

    fn send(&mut self, segments: u64, last: u64) {
        let mut end = self.model.last().map_or(self.start, |record| record.end);
        for left in (0..segments).rev() {
            end += if left == 0 { last } else { MSS };
            let marks = Marks::FIRST.when(left == segments - 1);
            self.board.push(&mut self.tp, Record { end, sent_us: self.now_us, marks, ..Record::default() });
            self.order.push(self.removed + self.model.len() as u64);
            self.model.push(Modelled { end, sent_us: self.now_us, marks, pending: false });
        }
    }

    fn acknowledge(&mut self, position: usize) {
        let Some((_, index)) = self.at(position) else { return };
        let una = self.model[index].end;
        while !self.model.is_empty() && self.model[0].end <= una {
            let plain = self.board.pop_plain(&mut self.tp, una).map(|run| u64::from(run.packets));
            let count = plain.unwrap_or_else(|| {
                let record = self.board.pop_first(&mut self.tp);
                assert_eq!(record.end, self.model[0].end);
                1
            });
            for _ in 0..count {
                let record = self.model.remove(0);
                let is_plain = !record.marks.has(Marks::TAGS);
                assert!(plain.is_none() || is_plain, "only plain records leave together");
                self.unlist(self.removed);
                self.removed += 1;
                self.start = record.end;
            }
        }
    }

    fn sack(&mut self, position: usize) {
        let Some((number, index)) = self.at(position) else { return };
        let record = &mut self.model[index];
        if record.marks.has(Marks::SACKED) {
            return;
        }
        if record.marks.has(Marks::LOST) {
            record.marks.clear(Marks::RETRANS);
        }
        record.marks.clear(Marks::LOST.with(Marks::OVERDUE));
        record.marks.set(Marks::SACKED);
        record.pending = false;
        self.board.sack(&mut self.tp, number);
        self.unlist(number);
    }

    fn mark_lost(&mut self, number: u64) {
        let index = usize::try_from(number - self.removed).unwrap();
        let begins_range = index == 0 || !self.model[index - 1].marks.has(Marks::LOST);
        let record = &mut self.model[index];
        let was = record.marks;
        let is_new = !was.has(Marks::SACKED) && (!was.has(Marks::LOST) || was.has(Marks::RETRANS));
        let lost = self.board.mark_lost(&mut self.tp, number);
        assert_eq!(lost.is_some(), is_new, "{was:?}");
        let Some(lost) = lost else { return };
        self.losses += 1;
        assert_eq!((u64::from(lost.lost), lost.begins_range), (self.losses, begins_range));
        if was.has(Marks::LOST) {
            record.marks.clear(Marks::RETRANS);
        }
        record.marks.set(Marks::LOST);
        if !record.marks.has(Marks::RETRANS) {
            record.pending = true;
            self.unlist(number);
        }
    }

    fn retransmit(&mut self, number: u64, marks: Marks) {
        self.board.retransmit(&mut self.tp, number, (self.now_us, 0), 0, marks);
        self.unlist(number);
        self.order.push(number);
        let record = &mut self.model[usize::try_from(number - self.removed).unwrap()];
        record.marks.set(marks);
        record.marks.clear(Marks::OVERDUE);
        (record.sent_us, record.pending) = (self.now_us, false);
    }

    fn end_retransmission(&mut self, position: usize, refused: bool) {
        let Some((number, index)) = self.at(position) else { return };
        let record = &mut self.model[index];
        if !record.marks.has(Marks::RETRANS) {
            return;
        }
        record.marks.clear(Marks::RETRANS);
        if refused {
            record.pending |= record.marks.has(Marks::LOST);
            let is_lost = record.marks.has(Marks::LOST);
            self.board.take_back_retransmission(&mut self.tp, number);
            if is_lost {
                self.unlist(number);
            }
        } else {
            self.board.end_retransmission(&mut self.tp, number);
        }
    }

    fn undo(&mut self) {
        self.board.unmark_lost(&mut self.tp);
        let listed = Marks::OVERDUE.with(Marks::SACKED);
        for (index, record) in self.model.iter_mut().enumerate() {
            let number = self.removed + index as u64;
            if record.marks.has(Marks::LOST) && !record.marks.has(listed) && !self.order.contains(&number) {
                self.order.push(number);
            }
            record.marks.clear(Marks::LOST);
            record.pending = false;
        }
        let key = |number: &u64| {
            let record = &self.model[usize::try_from(number - self.removed).unwrap()];
            (record.sent_us, record.end)
        };
        self.order.sort_by_key(key);
    }

    fn unlist(&mut self, number: u64) {
        self.order.retain(|other| *other != number);
    }

    /// Merging removes starts of packets, and splits where data that arrived meets data that did not.
    fn check_joined(&mut self, first: u64, end: u64) {
        for (index, record) in self.model.iter_mut().enumerate() {
            let number = self.removed + index as u64;
            let now = self.board.get(number).marks;
            assert!(now.has(Marks::FIRST) == record.marks.has(Marks::FIRST) || (first..=end).contains(&number));
            record.marks = if now.has(Marks::FIRST) {
                record.marks.with(Marks::FIRST)
            } else {
                let mut marks = record.marks;
                marks.clear(Marks::FIRST);
                marks
            };
        }
        for number in first.max(self.removed + 1)..end {
            let [before, here] = [number - 1, number].map(|number| self.board.get(number).marks);
            let differs = before.has(Marks::SACKED) != here.has(Marks::SACKED);
            assert!(!differs || here.has(Marks::FIRST), "what arrived and what did not are in one skb");
        }
    }

    fn check(&self) {
        let count = |marks: Marks| self.model.iter().filter(|record| record.marks.has(marks)).count() as u64;
        let tp = &self.tp;
        assert_eq!(u64::from(tp.packets_out), self.model.len() as u64);
        assert_eq!(u64::from(tp.sacked_out), count(Marks::SACKED));
        assert_eq!(u64::from(tp.lost_out), count(Marks::LOST));
        assert_eq!(u64::from(tp.retrans_out), count(Marks::RETRANS));
        assert_eq!(tp.lost, self.losses);
        assert!(self.model.iter().all(|record| !record.marks.has(Marks::LOST) || !record.marks.has(Marks::SACKED)));
        assert_eq!((self.board.first(), self.board.next()), (self.removed, self.removed + self.model.len() as u64));
        let is_cut = self.model.first().is_some_and(|record| !record.marks.has(Marks::FIRST));
        assert_eq!(self.board.packets(), count(Marks::FIRST) + u64::from(is_cut));
        let state = Marks::TAGS.with(Marks::OVERDUE).with(Marks::FIRST);
        let mut start = self.start;
        for (index, record) in self.model.iter().enumerate() {
            let number = self.removed + index as u64;
            let kept = self.board.get(number);
            assert_eq!(kept.marks.only(state), record.marks.only(state), "{number}");
            assert_eq!((self.board.start_of(number), kept.end, kept.sent_us), (start, record.end, record.sent_us));
            assert_eq!(self.board.find(start), Some(number));
            assert_eq!(self.board.find(record.end - 1), Some(number));
            start = record.end;
        }
        assert_eq!(self.board.find(start), None);
        let pending = self.model.iter().position(|record| record.pending);
        assert_eq!(self.board.next_pending(), pending.map(|index| self.removed + index as u64));
        let listed: Vec<u64> =
            core::iter::successors(self.board.oldest(), |number| self.board.newer(*number)).collect();
        assert_eq!(listed, self.order);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Counts, order of transmission, pending records and the search by sequence number, after every step; long enough
    /// for the ring to grow and to wrap.
    #[test]
    fn the_scoreboard_is_a_list_of_records(steps in prop::collection::vec(step(), 1..120)) {
        let mut both = Both::new();
        for step in &steps {
            both.apply(step);
            both.check();
        }
    }
}
