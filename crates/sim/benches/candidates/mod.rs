//! Other data structures for the event queue.

use super::List;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

type Word = u128;

fn pack(at: u64, owner: u32) -> Word {
    (Word::from(at) << 40) | Word::from(owner)
}

fn at_of(word: Word) -> u64 {
    u64::try_from(word >> 40).expect("64 bits")
}

fn unpack(word: Word) -> (u64, u32) {
    (at_of(word), u32::try_from(word & 0xffff_ffff).expect("32 bits"))
}

/// The previous structure: one 4-ary heap. A taken event leaves a hole at the top, which the next added event fills.
pub struct Holed {
    words: Vec<Word>,
    len: usize,
    hole: bool,
}

const CHILDREN: usize = 4;

impl Default for Holed {
    fn default() -> Self {
        Self { words: vec![Word::MAX; CHILDREN], len: 0, hole: false }
    }
}

impl Holed {
    fn fill(&mut self) {
        self.hole = false;
        self.len -= 1;
        self.words.pop();
        let last = std::mem::replace(&mut self.words[self.len], Word::MAX);
        if self.len > 0 {
            self.sink(last);
        }
    }

    fn rise(&mut self, mut at: usize, word: Word) {
        while at > 0 && self.words[(at - 1) / CHILDREN] > word {
            self.words[at] = self.words[(at - 1) / CHILDREN];
            at = (at - 1) / CHILDREN;
        }
        self.words[at] = word;
    }

    fn sink(&mut self, word: Word) {
        let mut at = 0;
        while at * CHILDREN + 1 < self.len {
            let first = at * CHILDREN + 1;
            let four = &self.words[first..first + CHILDREN];
            let pick = |one: (usize, Word), other: (usize, Word)| if other.1 < one.1 { other } else { one };
            let (position, least) = pick(pick((0, four[0]), (1, four[1])), pick((2, four[2]), (3, four[3])));
            if least >= word {
                break;
            }
            self.words[at] = least;
            at = first + position;
        }
        self.words[at] = word;
    }
}

impl List for Holed {
    fn add(&mut self, at: u64, owner: u32) {
        let word = pack(at, owner);
        if std::mem::take(&mut self.hole) {
            return self.sink(word);
        }
        self.words.push(Word::MAX);
        self.len += 1;
        self.rise(self.len - 1, word);
    }

    fn take(&mut self) -> (u64, u32) {
        if self.hole {
            self.fill();
        }
        self.hole = true;
        unpack(self.words[0])
    }
}

/// The heap of the standard library.
#[derive(Default)]
pub struct Binary(BinaryHeap<Reverse<Word>>);

impl List for Binary {
    fn add(&mut self, at: u64, owner: u32) {
        self.0.push(Reverse(pack(at, owner)));
    }

    fn take(&mut self) -> (u64, u32) {
        unpack(self.0.pop().expect("never empty").0)
    }
}

/// A hierarchical timing wheel: level n has 64 slots of 64ⁿ ns; entries move to lower levels as time passes.
pub struct Wheel {
    now: u64,
    slots: Vec<Vec<Word>>,
    taken: [u64; LEVELS],
    spare: Vec<Word>,
}

const LEVELS: usize = 11;
const BITS: usize = 6;

impl Default for Wheel {
    fn default() -> Self {
        Self { now: 0, slots: vec![Vec::new(); LEVELS << BITS], taken: [0; LEVELS], spare: Vec::new() }
    }
}

impl Wheel {
    fn put(&mut self, word: Word) {
        let at = at_of(word);
        let level = ((at ^ self.now) | 1).ilog2() as usize / BITS;
        let slot = usize::try_from((at >> (level * BITS)) & 63).expect("six bits");
        self.slots[level << BITS | slot].push(word);
        self.taken[level] |= 1 << slot;
    }
}

impl List for Wheel {
    fn add(&mut self, at: u64, owner: u32) {
        self.put(pack(at, owner));
    }

    fn take(&mut self) -> (u64, u32) {
        loop {
            let level = self.taken.iter().position(|&slots| slots != 0).expect("never empty");
            let slot = self.taken[level].trailing_zeros() as usize;
            let position = level << BITS | slot;
            if level == 0 {
                let least = (0..self.slots[position].len()).min_by_key(|&at| self.slots[position][at]).expect("taken");
                let word = self.slots[position].swap_remove(least);
                if self.slots[position].is_empty() {
                    self.taken[0] &= !(1 << slot);
                }
                self.now = at_of(word);
                return unpack(word);
            }
            self.taken[level] &= !(1 << slot);
            let shift = level * BITS;
            self.now = (self.now >> (shift + BITS) << (shift + BITS)) | (slot as u64) << shift;
            let mut falling = std::mem::replace(&mut self.slots[position], std::mem::take(&mut self.spare));
            falling.drain(..).for_each(|word| self.put(word));
            self.spare = falling;
        }
    }
}

/// A calendar queue: a heap for the current day, unsorted later days, a heap for everything beyond.
pub struct Calendar {
    today: usize,
    near: BinaryHeap<Reverse<Word>>,
    days: Vec<Vec<Word>>,
    ahead: usize,
    far: BinaryHeap<Reverse<Word>>,
}

/// A day has 2¹⁵ ns, the calendar 2,048 days: 67 ms.
const DAY_BITS: u32 = 15;
const DAYS: usize = 2_048;

impl Default for Calendar {
    fn default() -> Self {
        let days = vec![Vec::new(); DAYS];
        Self { today: 0, near: BinaryHeap::new(), days, ahead: 0, far: BinaryHeap::new() }
    }
}

fn day_of(word: Word) -> usize {
    usize::try_from(at_of(word) >> DAY_BITS).expect("64 bits")
}

impl Calendar {
    fn put(&mut self, word: Word) {
        let day = day_of(word);
        if day <= self.today {
            self.near.push(Reverse(word));
        } else if day - self.today < DAYS {
            self.days[day % DAYS].push(word);
            self.ahead += 1;
        } else {
            self.far.push(Reverse(word));
        }
    }

    fn turn_page(&mut self) {
        self.today += 1;
        if self.ahead == 0
            && let Some(Reverse(first)) = self.far.peek()
        {
            self.today = self.today.max(day_of(*first));
        }
        let position = self.today % DAYS;
        self.ahead -= self.days[position].len();
        let near = &mut self.near;
        near.extend(self.days[position].drain(..).map(Reverse));
        while self.far.peek().is_some_and(|Reverse(first)| day_of(*first) < self.today + DAYS) {
            let Reverse(word) = self.far.pop().expect("peeked");
            self.put(word);
        }
    }
}

impl List for Calendar {
    fn add(&mut self, at: u64, owner: u32) {
        self.put(pack(at, owner));
    }

    fn take(&mut self) -> (u64, u32) {
        while self.near.is_empty() {
            self.turn_page();
        }
        unpack(self.near.pop().expect("not empty").0)
    }
}
