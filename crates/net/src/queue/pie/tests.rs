//! pie: conditions without drops, changes of the probability, and marks.

use super::super::tests::{Bench, ms, packet};
use super::super::{Config, Next, PieConfig, Verdict};
use super::control::{Control, Params, TEN_PERCENT, Ticker, percent};
use crate::packet::{Ecn, Packet};
use crate::time::{Span, Time};

const BACKLOG: u64 = 100 * 1_514;

pub(in crate::queue) fn config() -> PieConfig {
    PieConfig {
        limit: 1_000,
        target: Span::from_millis(15),
        tupdate: 4,
        alpha: 2,
        beta: 20,
        ecn: false,
        bytemode: false,
        dq_rate_estimator: false,
        mtu: 1_514,
    }
}

/// Ten packets arrive and nine leave every 10 ms: the queue grows by 100 packets per second.
fn overload(config: PieConfig, ecn: Ecn, seconds: u64) -> Bench {
    let mut bench = Bench::new(Config::Pie(config));
    for step in 0..seconds * 100 {
        bench.now = ms(step * 10);
        bench.offer_many(Packet { ecn, ..packet(1_514) }, 10);
        (0..9).for_each(|_| {
            let now = bench.now;
            let taken = bench.take();
            bench.sent.extend(taken.map(|packet| (now, packet)));
        });
    }
    bench
}

#[test]
fn a_queue_that_drains_at_once_is_not_dropped_from() {
    let mut bench = Bench::new(Config::Pie(config()));
    for millis in 0..1_000 {
        bench.now = ms(millis);
        bench.offer_many(packet(1_514), 20);
        assert!(matches!(bench.drain(), Next::Empty));
    }
    assert_eq!((bench.sent.len(), bench.dropped.len()), (20_000, 0));
}

#[test]
fn a_full_queue_drops_arrivals() {
    let mut bench = Bench::new(Config::Pie(PieConfig { limit: 3, ..config() }));
    bench.offer_many(packet(100), 3);
    assert_eq!(bench.offer(packet(100)), Verdict::Dropped);
}

#[test]
fn drops_bring_the_delay_near_the_target() {
    let bench = overload(config(), Ecn::NotEct, 60);
    let next_departure: u64 =
        bench.sent.iter().rev().take(900).map(|(at, packet)| at.since(packet.queued_at).as_micros() / 1_000).sum();
    assert!((5..30).contains(&(next_departure / 900)), "{}", next_departure / 900);
    let dropped = bench.dropped.len();
    assert!((4_800..7_200).contains(&dropped), "a tenth of 60,000 packets is excess, {dropped} were dropped");
}

#[test]
fn capable_packets_are_marked_only_up_to_ten_percent() {
    let bench = overload(PieConfig { ecn: true, ..config() }, Ecn::Ect0, 60);
    let counters = bench.counters();
    assert!(counters.marks > 0);
    assert_eq!(bench.sent.iter().filter(|(_, packet)| packet.ecn == Ecn::Ce).count() as u64, counters.marks);
    assert!(counters.drops > 0, "the sender ignores marks, so the probability exceeds 10 %");
}

#[test]
fn without_ecn_nothing_is_marked() {
    assert_eq!(overload(config(), Ecn::Ect0, 20).counters().marks, 0);
}

/// `left` with a packet of this sojourn time.
fn waited(control: &mut Control, params: &Params, now: Time, millis: u64) {
    let was_queued = Packet { queued_at: Time::from_nanos(now.as_nanos() - millis * 1_000_000), ..packet(1_514) };
    control.left(params, &was_queued, BACKLOG, now);
}

#[test]
fn above_ten_percent_the_probability_rises_by_at_most_two() {
    let (params, mut control) = (Params::new(&config()), Control::default());
    let mut before = 0;
    let mut above = 0;
    for tick in 1..2_000 {
        waited(&mut control, &params, ms(1_000 + tick * 20), 100);
        control.tick(&params, BACKLOG);
        let step = control.probability() - before;
        if before >= TEN_PERCENT {
            above += 1;
            assert!(step <= percent(2), "{step}");
        }
        before = control.probability();
    }
    assert!(above > 100, "the probability exceeds 10 %");
}

#[test]
fn gains_decrease_with_the_probability() {
    let params = Params::new(&config());
    let mut control = Control::default();
    waited(&mut control, &params, ms(1_000), 115);
    control.tick(&params, BACKLOG);
    let first = control.probability();
    // 2/16 of 100 ms plus 20/16 of 115 ms is 0.15625; at a probability of zero the gain is divided by 2^11.
    let expected = percent(100) / 100_000 * 15_625 / (1 << 11);
    assert!(first.abs_diff(expected) < expected / 1_000, "{first} against {expected}");
}

#[test]
fn idling_resets_the_burst_allowance() {
    let (params, mut control) = (Params::new(&config()), Control::default());
    waited(&mut control, &params, ms(1_000), 40);
    waited(&mut control, &params, ms(1_200), 40);
    let mut rng = crate::rng::Rng::from_name(1, "pie");
    (0..5_000).for_each(|_| {
        control.tick(&params, BACKLOG);
    });
    assert!((0..1_000).any(|_| control.hits(&params, BACKLOG, &packet(1_514), &mut rng)), "the allowance is used up");
    control.left(&params, &packet(1_514), 0, ms(1_201));
    assert!((0..20_000).any(|_| control.tick(&params, 0)), "the probability decays to zero");
    assert_eq!(control.probability(), 0);
    assert!(!(0..1_000).any(|_| control.hits(&params, BACKLOG, &packet(1_514), &mut rng)));
}

#[test]
fn bytemode_drops_small_packets_less_often() {
    let params = Params::new(&PieConfig { bytemode: true, ..config() });
    let mut control = Control::default();
    waited(&mut control, &params, ms(1_000), 40);
    waited(&mut control, &params, ms(1_200), 40);
    (0..400).for_each(|_| {
        control.tick(&params, BACKLOG);
    });
    let mut rng = crate::rng::Rng::from_name(1, "pie");
    let mut hits = |bytes| {
        let hit = |_: &u32| {
            let hit = control.hits(&params, BACKLOG, &packet(bytes), &mut rng);
            if hit {
                control.dropped();
            }
            hit
        };
        (0..20_000u32).filter(hit).count()
    };
    let (large, small) = (hits(1_514), hits(151));
    assert!(small * 5 < large, "{small} of 151 bytes, {large} of 1514");
}

#[test]
fn the_delay_of_a_backlog_follows_from_the_estimated_rate() {
    let params = Params::new(&PieConfig { dq_rate_estimator: true, ..config() });
    let mut control = Control::default();
    // 1514 bytes per millisecond: a backlog of 151,400 bytes takes 100 ms, which exceeds the target.
    for millis in 1..200 {
        control.left(&params, &packet(1_514), BACKLOG, ms(millis));
    }
    assert_eq!(control.probability(), 0);
    (0..100).for_each(|_| {
        control.tick(&params, BACKLOG);
    });
    assert!(control.probability() > percent(1));
    let before = control.probability();
    (0..10).for_each(|_| {
        control.tick(&params, 1_514);
    });
    assert!(control.probability() < before, "a backlog of a packet lasts 1 ms");
}

#[test]
fn the_timer_fires_after_half_a_second_and_then_one_jiffy_late() {
    let mut ticker = Ticker::new(4);
    let mut count = |until| (0..100).take_while(|_| ticker.next_tick(ms(until))).count();
    assert_eq!((count(503), count(504), count(523), count(524), count(604)), (0, 1, 0, 1, 4));
}
