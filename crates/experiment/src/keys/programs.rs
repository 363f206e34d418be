//! Programs of this host that run in an experiment's hosts.

mod rules;

use crate::declare::generic::{Boolean, Integer, List};
use crate::declare::kinds::{Controller, Name, Time};
use crate::declare::maps::{Environment, Files};
use crate::declare::programs::{Command, FilePattern, Folder, Host, ServedPort, StopTime};
use crate::declare::table;
use crate::single::Stop;
use crate::value::Table;

table! {
    /// A program on a host of the experiment.
    pub struct Program, rules rules::program, old ["on" = "host"] {
        /// Name of the program and of the flows of its connections.
        name: Name, required("name = \"client\"");
        /// `"sender"`, `"receiver"`, or another host as `dumbbell plan` names them.
        host: Host, required("host = \"receiver\"");
        /// The group of flows whose sender or receiver is meant. Without it, the first group.
        group: Name, optional;
        /// Program and arguments: a list, or a text that is split as a shell would; no shell runs.
        run: Command, required("run = \"curl -s http://sender/\"");
        /// When it starts.
        start: Time = "0s";
        /// When it gets SIGTERM: a time, or `"end"`; ending by it is normal then. Without it, never.
        stop: StopTime, optional;
        /// The TCP port at which it listens, a UDP port such as `"udp/4433"`, or `"any"`. The program starts before time zero;
        /// the experiment starts when it listens (limit: 60 s of virtual time); it is stopped at the end.
        serves: ServedPort, optional;
        /// Names of the qlog files that it writes below its working folder, such as `"*.sqlog"`: what they say of window,
        /// RTT, bytes in flight, pacing and state goes to the program's UDP flows.
        qlog: FilePattern, optional;
        /// `true`: the experiment ends with it.
        ends: Boolean = false;
        /// Files of its working folder, by path: a text, or `{ bytes = "61MB" }` for that many zero bytes, which use no
        /// memory.
        files: Files = Table::default();
        /// Environment variables in addition to `PATH`, `HOME`, `LANG`, `USER`.
        env: Environment = Table::default();
        /// Folders that are replaced by empty writable ones, such as `["/var/lib/nginx"]`.
        writable: List<Folder> = Vec::new();
        /// Its host's default controller (`net.ipv4.tcp_congestion_control`). Without it, the kernel's, `cubic`.
        cc: Controller, optional;
        /// Expected exit status; another makes the run invalid.
        expect_status: Integer<u8, 0, 255> = 0;
    }
}

impl Program {
    /// Whether it runs until it is stopped.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.serves.is_some() || self.stop == Some(Stop::End)
    }
}
