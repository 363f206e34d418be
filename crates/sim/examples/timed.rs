use dumbbell_core::time::Time;
use dumbbell_sim::{Plan, World};
fn main() {
    for path in std::env::args().skip(1) {
        let plan = Plan::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let began = std::time::Instant::now();
        let mut world = World::new(&plan).unwrap();
        let p = world.run(Time::NEVER).unwrap();
        let s = began.elapsed().as_secs_f64();
        println!(
            "{path}: {s:.3} s, {} data packets, {:.2} M/s, {} events, {:.0} ns a packet",
            p.data_packets,
            p.data_packets as f64 / s / 1e6,
            p.events,
            s * 1e9 / p.data_packets as f64
        );
    }
}
