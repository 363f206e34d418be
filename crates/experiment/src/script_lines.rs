//! The shell around tc commands in a script as people have it: continued lines, redirections, `sudo`, namespaces.
//!
//! What is around a command is taken off, so that [`crate::script`] reads the command itself. Commands that set up what a
//! run has anyway are named, with the key that an experiment has for them.

/// Lines that end in a backslash are continued by the next. Each with the number of its first line.
pub fn joined<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut is_continued = false;
    for (number, line) in (1..).zip(lines) {
        let line = line.trim_end_matches('\r');
        let (text, continues) = match line.strip_suffix('\\') {
            Some(text) if !line.trim_start().starts_with('#') => (text, true),
            _ => (line, false),
        };
        match joined.last_mut().filter(|_| is_continued) {
            Some((_, before)) => before.push_str(text),
            None => joined.push((number, text.to_owned())),
        }
        is_continued = continues;
    }
    joined
}

/// The words of a command without `sudo`, a namespace, the folder of a program of iproute2, and where output goes.
pub fn bare(words: &[String]) -> Vec<String> {
    let mut rest = without_output(words);
    loop {
        let before = match rest[..] {
            ["sudo" | "exec", ..] => 1,
            [first, "netns", "exec", _, ..] if program(first) == "ip" => 4,
            _ => break,
        };
        rest.drain(..before);
        while rest.first().is_some_and(|word| word.starts_with('-')) {
            rest.remove(0);
        }
    }
    let mut bare: Vec<_> = rest.iter().map(|word| (*word).to_owned()).collect();
    if let Some(first) = bare.first_mut() {
        *first = program(first).to_owned();
    }
    if bare.first().is_some_and(|word| word == "tc") {
        while matches!(bare.get(1).map(String::as_str), Some("-n" | "-netns")) && bare.len() > 3 {
            bare.drain(1..3);
        }
    }
    bare
}

/// What an experiment has instead of a command that sets up more than queues; None for any other command.
pub fn instead(words: &[&str]) -> Option<&'static str> {
    const LIMIT: &str = "a queue's limit is written in its own options";
    const MTU: &str = "path.mtu sets the MTU";
    let has = |word: &str| words.contains(&word);
    let is_setting = words.iter().any(|word| word.starts_with('>'));
    match words {
        ["ethtool", "-K" | "--offload" | "--features", ..] => Some("path.offloads turns offloads on or off"),
        ["ip", "link" | "l", "set", ..] if has("mtu") => Some(MTU),
        ["ip", "link" | "l", "set", ..] if has("txqueuelen") || has("qlen") => Some(LIMIT),
        ["ifconfig", _, "mtu", ..] => Some(MTU),
        ["ifconfig", _, "txqueuelen", ..] => Some(LIMIT),
        ["sysctl", ..] => Some("[tcp] has TCP's settings, and a group's cc its controller"),
        ["ip", "link" | "l", "set", ..] => has("up").then_some(""),
        ["echo", ..] => (!is_setting).then_some(""),
        ["modprobe" | "set" | "true" | ":" | "sleep" | "ethtool", ..] | ["ifconfig", _, "up"] => Some(""),
        _ => None,
    }
}

/// The command without redirections, and without what only hides its failure.
fn without_output(words: &[String]) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        let sink = word.trim_start_matches(['1', '2', '&']);
        let target = sink.strip_prefix(">>").or_else(|| sink.strip_prefix('>'));
        let is_setting = |target: &str| target.starts_with("/proc/") || target.starts_with("/sys/");
        if let Some(target) = target.filter(|target| !is_setting(target)) {
            if target.is_empty() && !words.peek().is_some_and(|next| is_setting(next)) {
                words.next();
            } else if target.is_empty() {
                kept.push(word);
            }
        } else if word == "||" && matches!(words.peek(), Some(&("true" | ":"))) {
            words.next();
        } else {
            kept.push(word);
        }
    }
    if let Some(last) = kept.last_mut() {
        *last = last.trim_end_matches(';');
    }
    kept.retain(|word| !word.is_empty());
    kept
}

/// The name of a program, without the folders where a distribution has it.
fn program(word: &str) -> &str {
    let folders = ["/sbin/", "/usr/sbin/", "/bin/", "/usr/bin/", "/usr/local/sbin/"];
    folders.iter().find_map(|folder| word.strip_prefix(folder)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell_words::split;

    fn bared(line: &str) -> String {
        bare(&split(line, true).unwrap()).join(" ")
    }

    #[test]
    fn what_is_around_a_command_is_taken_off() {
        for line in [
            "tc qdisc show",
            "sudo /sbin/tc qdisc show 2>/dev/null || true",
            "ip netns exec r1 tc qdisc show > /dev/null 2>&1",
            "sudo -E /usr/sbin/ip netns exec r1 sudo tc qdisc show;",
            "tc -n r1 qdisc show >> log",
        ] {
            assert_eq!(bared(line), "tc qdisc show", "{line}");
        }
        assert_eq!(bared("/home/me/tc qdisc show"), "/home/me/tc qdisc show");
        assert_eq!(bared("tc qdisc show || reboot"), "tc qdisc show || reboot");
    }

    #[test]
    fn a_setting_by_echo_is_not_passed_over() {
        for line in ["echo 1 > /proc/sys/net/ipv4/tcp_sack", "echo 1 >/sys/x"] {
            let words = split(line, true).unwrap();
            let bare = bare(&words);
            assert_eq!(instead(&bare.iter().map(String::as_str).collect::<Vec<_>>()), None, "{line}");
        }
        assert_eq!(instead(&["echo", "ready"]), Some(""));
    }

    #[test]
    fn continued_lines_keep_the_number_of_the_first() {
        let lines = joined(["a \\", "  b", "# c \\", "d\\"]);
        assert_eq!(lines, [(1, "a   b".to_owned()), (3, "# c \\".to_owned()), (4, "d".to_owned())]);
    }

    #[test]
    fn setup_is_named_with_its_key() {
        let found = |line: &str| instead(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(found("modprobe tcp_bbr"), Some(""));
        assert_eq!(found("ip link set dev eth0 mtu 1400"), Some("path.mtu sets the MTU"));
        assert_eq!(found("ip link set eth0 up"), Some(""));
        assert_eq!(found("ip link del eth0"), None);
        assert_eq!(found("reboot"), None);
    }
}
