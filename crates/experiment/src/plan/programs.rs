//! Programs and their hosts.

use super::building::Building;
use super::error::Error;
use super::layout::Layout;
use super::names::free_name;
use crate::model::{self, Experiment, FileContent, Stop};
use dumbbell_plan::{Content, Flow, Program, QuicEnd, Serves, Step, Transport};
use std::net::{Ipv4Addr, SocketAddr};

const ENDS: [&str; 2] = ["sender", "receiver"];

fn stays(program: &model::Program) -> bool {
    program.serves.is_some() || program.stop == Some(Stop::End)
}

/// Every program with its host.
pub(super) fn programs(building: &Building<'_>) -> Result<Vec<Program>, Error> {
    let plan = |(number, program): (usize, &model::Program)| {
        let content = |(path, content): &(String, FileContent)| match content {
            FileContent::Text(text) => Content::text(path, text),
            FileContent::Zeros(bytes) => Content::zeros(path, *bytes),
        };
        // Texts come first.
        let (texts, zeros): (Vec<_>, Vec<_>) =
            program.files.iter().map(content).partition(|content| content.text.is_some());
        Ok(Program {
            name: program.name.clone(),
            host: host(building, number, program)?,
            argv: program.run.clone(),
            env: program.env.clone(),
            files: [texts, zeros].concat(),
            writable: program.writable.clone(),
            start_ns: program.start,
            stop_ns: program.stop.and_then(|stop| match stop {
                Stop::At(time) => Some(time),
                Stop::End => None,
            }),
            stays: stays(program),
            serves: program.serves,
            qlog: program.qlog.clone(),
            ends: program.ends,
            typed: false,
            keeps_powers: false,
            terminal: None,
            cc: program.cc.clone(),
            expect_status: program.expect_status,
            quic: None,
        })
    };
    building.experiment.programs.iter().enumerate().map(plan).collect()
}

/// The programs of QUIC flows: each has a server at its sender, which sends, and a client at its receiver. `before` are the
/// experiment's own, whose names are taken.
pub(super) fn of_stacks(flows: &[Flow], layout: &Layout, before: &[Program]) -> Vec<Program> {
    let mut programs = Vec::<Program>::new();
    for (number, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.transport == Transport::Quic) {
        let server = SocketAddr::new(address(layout, &flow.sender).into(), flow.port).to_string();
        let log = format!("{}.sqlog", flow.name);
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let cc = flow.cc.as_deref().unwrap_or_default();
        let mut add = |end: &str, host: &str, argv: Vec<String>, serves: Option<Serves>| {
            let is_taken = |name: &str| before.iter().chain(&programs).any(|other| other.name == name);
            let name = free_name(&format!("{}-{end}", flow.name), is_taken, 2);
            let is_server = serves.is_some();
            programs.push(Program {
                name,
                host: host.to_owned(),
                argv,
                env: Vec::new(),
                files: Vec::new(),
                writable: Vec::new(),
                start_ns: if is_server { 0 } else { flow.start_ns },
                stop_ns: flow.stop_ns.filter(|_| !is_server),
                stays: is_server || (flow.bytes.is_none() && flow.stop_ns.is_none()),
                serves,
                qlog: is_server.then(|| log.clone()),
                ends: false,
                typed: false,
                keeps_powers: false,
                terminal: None,
                cc: None,
                expect_status: 0,
                quic: Some(QuicEnd { flow: number, serves: is_server }),
            });
        };
        let listens = Some(Serves::At(Transport::Udp, flow.port));
        add("server", &flow.sender, words(&["server", "--listen", &server, "--cc", cc, "--qlog", &log]), listens);
        let mut client = words(&["client", "--connect", &server]);
        if let Some(bytes) = flow.bytes {
            client.extend(["--bytes".to_owned(), bytes.to_string()]);
        }
        add("client", &flow.receiver, client, None);
    }
    programs
}

/// The default controllers of hosts, for sockets that set none.
pub(super) fn settings(programs: &[Program]) -> Result<Vec<Step>, Error> {
    let mut wanted = Vec::<&Program>::new();
    for (number, program) in programs.iter().enumerate() {
        let Some(cc) = &program.cc else { continue };
        match wanted.iter().find(|other| other.host == program.host) {
            None => wanted.push(program),
            Some(other) => {
                let theirs = other.cc.as_deref().unwrap_or_default();
                if theirs != cc {
                    let (name, other, host) = (&program.name, &other.name, &program.host);
                    let problem =
                        format!("'{name}' and '{other}' share host '{host}', which has one default controller");
                    let hint = format!("{theirs} for both, or different hosts");
                    return Err(Error::at(format!("programs.{number}.cc"), problem, hint).with(cc.as_str()));
                }
            }
        }
    }
    let set = |program: &&Program| {
        let cc = program.cc.as_deref().unwrap_or_default();
        Step::sysctl(&program.host, "net.ipv4.tcp_congestion_control", cc)
    };
    Ok(wanted.iter().map(set).collect())
}

/// The address that a host's data is sent from or to.
fn address(layout: &Layout, host: &str) -> Ipv4Addr {
    match layout.host(host).rights.first() {
        Some(wire) => layout.wires[*wire].left_address(),
        None => layout.wires[layout.host(host).lefts[0]].right_address(),
    }
}

/// The text of `/etc/hosts`: every host by its name, with the address that data is sent from or to.
pub(super) fn hosts_file(layout: &Layout) -> String {
    let mut lines = vec!["127.0.0.1\tlocalhost".to_owned()];
    for host in &layout.hosts {
        lines.push(format!("{}\t{}", address(layout, &host.name), host.name));
    }
    // A name for the first of each kind.
    for end in ENDS.into_iter().filter(|end| !layout.has(end)) {
        if let Some(first) = layout.hosts.iter().find(|host| host.name.starts_with(end)) {
            lines.push(format!("{}\t{end}", address(layout, &first.name)));
        }
    }
    lines.join("\n") + "\n"
}

/// Whether a run ends before its time: all flows have a size, and there is at least one flow or program to wait for.
pub(super) fn ends_when_done(experiment: &Experiment, flows_are_sized: bool) -> bool {
    let has_program = experiment.programs.iter().any(|program| !stays(program));
    flows_are_sized && (has_program || experiment.flows.iter().any(|group| group.count > 0))
}

fn host(building: &Building<'_>, number: usize, program: &model::Program) -> Result<String, Error> {
    let named = |name: &String| building.group_names.iter().position(|group| group == name);
    let group = program.group.as_ref().and_then(named).unwrap_or(0);
    let host = match &program.host[..] {
        "sender" => &building.senders[group],
        "receiver" => &building.receivers[group],
        other => other,
    };
    if !building.layout.has(host) {
        let others = building.layout.hosts.iter().map(|host| &host.name[..]).filter(|name| !ENDS.contains(name));
        let there: Vec<_> = ENDS.into_iter().chain(others).collect();
        let hint = format!("there is: {}", there.join(", "));
        let error = Error::at(format!("programs.{number}.host"), "no host is called that", hint);
        return Err(error.with(program.host.as_str()));
    }
    if let Some(group) = program.group.as_ref().filter(|_| !ENDS.contains(&&program.host[..])) {
        let hint = format!("leave it out with host = '{}'", program.host);
        let problem = "'group' chooses whose sender or receiver is meant";
        return Err(Error::at(format!("programs.{number}.group"), problem, hint).with(group.as_str()));
    }
    Ok(host.into())
}
