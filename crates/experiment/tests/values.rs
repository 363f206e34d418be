//! The languages of single values: disciplines, netem's options, expectations, tc scripts, traces.

use dumbbell_experiment::expectation::{self, Condition};
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::names::numbered;
use dumbbell_experiment::{netem, qdisc, rate_trace, script, shell_words, units};

#[test]
fn a_size_in_products_knows_what_tc_takes() {
    let made = qdisc::parse("red limit 1.5bdp min 30kb avpkt 1000").expect("a discipline");
    let size = made.bdp_words[&1];
    assert_eq!(
        (made.text(), size.products, size.in_packets),
        ("red limit 1.5bdp min 30kb avpkt 1000".into(), 1.5, false)
    );
    assert!(qdisc::parse("pfifo limit 2bdp").expect("a discipline").bdp_words[&1].in_packets);
    let wrong = qdisc::parse("codel targt 5ms").expect_err("no option");
    assert_eq!(wrong.problem, "codel has no option 'targt'");
    assert!(wrong.hint.starts_with("did you mean 'target'? there is: "), "{}", wrong.hint);
    assert_eq!(
        qdisc::parse("tbf rate 1mbit burst 5kb limit 1mb").expect("a discipline").shaped_rate(),
        Some(1_000_000)
    );
}

#[test]
fn netem_takes_what_belongs_to_its_option() {
    assert_eq!(netem::arguments("loss", Some(" gemodel  1% 10%")), Ok("gemodel 1% 10%".into()));
    assert_eq!(netem::arguments("slot", Some("4ms packets 32")), Ok("4ms packets 32".into()));
    for (option, text) in
        [("loss", "random"), ("loss", "loss 1%"), ("loss", "every 0"), ("loss", "1% delay 5ms"), ("corrupt", "")]
    {
        assert!(netem::arguments(option, Some(text)).is_err(), "{option} {text}");
    }
}

#[test]
fn expectations_have_a_metric_a_part_of_the_run_and_a_condition() {
    let read = expectation::parse("ping_ms.max from 40s to 42s < 180").expect("an expectation");
    assert_eq!(
        (&read.metric.name[..], read.metric.from, read.metric.to),
        ("ping_ms.max", Some(40_000_000_000), Some(42_000_000_000))
    );
    assert_eq!(read.condition, Condition::Below(180.0));
    assert_eq!(expectation::parse("x in 0.6..0.8").map(|read| read.condition), Ok(Condition::Within(0.6, 0.8)));
    assert_eq!(expectation::parse("a b.c == null").map(|read| read.metric.name), Ok("a b.c".into()));
    for text in [
        "bbr wins",
        "x < y",
        "x in 2..1",
        "x in 1",
        "x from 2s to 1s < 1",
        "x..y < 1",
        "< 1",
        "x = 1",
        "x <",
        "x < inf",
    ] {
        assert!(expectation::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_script_keeps_what_sets_up_and_nothing_else() {
    let lines = [
        "sudo tc qdisc del dev eth0 root # start empty",
        "tc qdisc add dev eth0 root handle 1: htb default 10",
        "tc class add dev eth0 parent 1: classid 1:10 htb rate 10mbit",
        "iptables -t mangle -A OUTPUT -p tcp --dport 5202 -j MARK --set-mark 0x7",
    ];
    let read = script::read(lines, "eth0").expect("a script");
    assert_eq!(read.commands[0].to_string(), "tc qdisc add dev {device} root handle 1: htb default 10");
    assert_eq!((read.marks, read.left_out.len()), (vec![(5202, 7)], 1));
    for line in [
        "rm -r x",
        "tc qdisc add dev eth1 root fq",
        "tc qdisc add dev eth0 root netem distribution ../../x",
        "tc filter add dev eth0 parent 1: bpf obj x.o",
        "tc qdisc add dev eth0 root pfifo limit 1bdp",
        "tc exec bpf",
        "tc qdisc add dev eth0 root 'pfifo",
    ] {
        assert!(script::read([line], "eth0").is_err(), "{line}");
    }
}

#[test]
fn a_trace_becomes_a_rate_for_each_step() {
    let limits = Limits::default();
    let times = rate_trace::read(b"# two packets in the first 10 ms\n5\n10\n\n20\n", &limits).expect("a trace");
    assert_eq!(times, [5, 10, 20]);
    let rates = rate_trace::rates(&times, 10_000_000, 40_000_000, &limits).expect("few steps");
    let packet = rate_trace::OPPORTUNITY_BYTES * 8 * 100;
    assert_eq!(rates, [(0, 2 * packet), (10_000_000, packet), (20_000_000, 2 * packet), (30_000_000, packet)]);
    for content in [&b"0\n"[..], b"2\n1\n", b"x", b"-1", b"\xff", b"1234567890", b""] {
        assert!(rate_trace::read(content, &limits).is_err(), "{content:?}");
    }
}

#[test]
fn words_are_split_as_a_shell_splits_them() {
    assert_eq!(
        shell_words::split(r#"a 'b c' "d \" \x" e\ f '' #g"#, false),
        Ok(vec!["a".into(), "b c".into(), "d \" \\x".into(), "e f".into(), String::new(), "#g".into()])
    );
    assert_eq!(shell_words::split("a # b", true), Ok(vec!["a".into()]));
    assert!(shell_words::split("'a", false).is_err() && shell_words::split("a\\", false).is_err());
}

#[test]
fn a_name_that_is_taken_gets_a_number() {
    assert_eq!(numbered(["a", "a", "b", "a", "a-3", "a"]), ["a", "a-2", "b", "a-3", "a-3-2", "a-5"]);
}

#[test]
fn quantities_are_written_in_the_shortest_exact_unit() {
    let rates: Vec<_> = [80_000_000_u64, 1_500_000, 1].iter().map(|rate| units::rate_text(*rate)).collect();
    assert_eq!(rates, ["80mbit", "1500kbit", "1bit"]);
    assert_eq!((units::time_text(2_500_000_u64), units::time_text(0_u64)), ("2500us".into(), "0s".into()));
    assert_eq!(units::size(&"61MB".into()), Ok(61_000_000));
    assert_eq!(units::size(&"64KiB".into()), Ok(65_536));
    for (wrong, hint) in [("64kb", "64kB for"), ("1.5mb", "1.5MB for"), ("2g", "2GB for"), ("3K", "3KiB for")] {
        let fault = units::size(&wrong.into()).unwrap_err();
        assert!(fault.hint.contains(hint), "{fault:?}");
    }
    let fault = units::rate(&"10mbps".into()).unwrap_err();
    assert!(fault.hint.contains("10mbit, or 80mbit"), "{fault:?}");
    assert_eq!(units::tc_rate(&"10mbps".into()), Ok(80_000_000));
    assert!(units::rate(&true.into()).is_err() && units::size(&"1e30".into()).is_err());
}
