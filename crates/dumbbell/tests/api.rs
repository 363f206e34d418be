//! What a user of the crate does: run, change, take a case, hand in files, read errors and columns.

use dumbbell::{Column, Error, Experiment};

const TEXT: &str = r#"
title = "two"
duration = "10s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "bfifo limit 2bdp"
[[flows]]
cc = "bbr"
count = 2
[[flows]]
cc = "cubic"
"#;

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let experiment = Experiment::from_toml_with(TEXT, &["path.loss=0.5%"]).unwrap();
    let [first, again, other] = [1, 1, 2].map(|seed| experiment.run(seed).unwrap());
    assert_eq!((first.flows(), first.queues(), first.probes()), (again.flows(), again.queues(), again.probes()));
    assert_ne!(first.flows(), other.flows());
}

#[test]
fn metrics_agree_with_the_columns() {
    let run = Experiment::from_toml(TEXT).unwrap().run(1).unwrap();
    let metrics = run.metrics();
    assert_eq!(metrics.flows.iter().map(|flow| &flow.name[..]).collect::<Vec<_>>(), ["bbr-1", "bbr-2", "cubic"]);
    let shares: f64 = metrics.groups.iter().filter_map(|group| group.share).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    let Some(Column::I64(received)) = run.flows().column("bytes_received") else { panic!("no bytes_received") };
    let most = received.values().iter().max().unwrap().cast_unsigned();
    assert_eq!(metrics.flows.iter().filter_map(|flow| flow.bytes).max(), Some(most));
    assert!((0.9..=1.0).contains(&metrics.utilization.unwrap()));
    assert!(metrics.flow("cubic").unwrap().rtt_ms.unwrap().p50 >= 20.0);
    // A queue of two bandwidth-delay products adds twice the path's round trip, a packet in transmission 1.2 ms.
    let Some(Column::I64(rtts)) = run.probes().column("rtt_ns") else { panic!("no rtt_ns") };
    assert!((20_000_000..=63_000_000).contains(rtts.values().iter().max().unwrap()));
    assert!(metrics.queue.unwrap().drops.unwrap() > 0);
}

#[test]
fn every_mistake_is_reported_with_its_line() {
    let text = TEXT.replace("\"20ms\"", "\"20 furlongs\"").replace("rate =", "rote =");
    let Err(Error::Invalid { mistakes, .. }) = Experiment::from_toml(&text) else { panic!("it is invalid") };
    let lines: Vec<_> = mistakes.iter().map(|mistake| mistake.line).collect();
    assert!(lines.contains(&5) && lines.contains(&7), "{mistakes:?}");
    let message = Experiment::from_toml(&text).unwrap_err().to_string();
    assert!(message.contains("rote") && message.contains("rate"), "{message}");
}

#[test]
fn cases_are_taken_by_name() {
    let text = format!("{TEXT}[[cases]]\nname = \"{{path.rtt}}\"\nset = {{ \"path.rtt\" = [\"10ms\", \"40ms\"] }}\n");
    let error = Experiment::from_toml(&text).unwrap_err();
    assert!(matches!(&error, Error::Case { cases, .. } if *cases == ["10ms", "40ms"]), "{error}");
    let cases = Experiment::cases(&text).unwrap();
    assert_eq!(cases.iter().map(|case| case.model().path.rtt).collect::<Vec<_>>(), [10_000_000, 40_000_000]);
    for case in &cases {
        case.check().unwrap();
    }
}

#[test]
fn files_come_from_the_caller() {
    let text = TEXT.replace("rate = \"10mbit\"", "rate_trace = \"link.trace\"");
    let experiment = Experiment::from_toml(&text).unwrap();
    let error = experiment.run(1).unwrap_err().to_string();
    assert!(error.contains("path.bottleneck.rate_trace") && error.contains("link.trace"), "{error}");
    // A packet of 1,500 bytes every 2 ms: 6 Mbit/s.
    let lines: Vec<_> = (1..=500).map(|number| (2 * number).to_string()).collect();
    let trace = |_: &str| Ok((lines.join("\n") + "\n").into_bytes());
    let run = experiment.run_with(1, &trace).unwrap();
    let total: f64 = run.metrics().groups.iter().filter_map(|group| group.throughput_mbps).sum();
    assert!((5.0..6.0).contains(&total), "{total}");
}

#[test]
fn what_the_simulator_lacks_is_an_error_that_names_the_key() {
    let experiment = Experiment::from_toml(&TEXT.replace("bfifo limit 2bdp", "skbprio")).unwrap();
    let error = experiment.run(1).unwrap_err().to_string();
    assert!(error.contains("path.bottleneck.qdisc") && error.contains("kernel"), "{error}");
}
