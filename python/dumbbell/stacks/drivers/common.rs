//! What the Rust drivers share: the command line of every driver, and a qlog that is complete when the program ends.
//!
//! A request is eight bytes on the client's first stream: how many bytes the server shall send, big-endian; 0 is without
//! end. The payload is zeros.

#![allow(dead_code, reason = "a driver uses what it needs")]

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::exit;
use std::sync::{Arc, Mutex};

/// Protocol that both ends agree on (ALPN).
pub const PROTOCOL: &[u8] = b"dumbbell";
/// Name that the client asks for; it verifies no certificate.
pub const SERVER_NAME: &str = "server.test";
/// Flow control of both ends and of each stream: 2.6 Gbit/s at 100 ms, so that congestion control decides.
pub const WINDOW: u32 = 32 << 20;
/// What is handed to the stack at once.
pub const BLOCK: usize = 64 << 10;

/// What the command line asks for.
pub enum Role {
    Server(Server),
    Client(Client),
}

/// `server --listen IP:PORT --cc NAME --cert FILE --key FILE [--qlog FILE]`
pub struct Server {
    pub listen: SocketAddr,
    pub cc: String,
    pub cert: PathBuf,
    pub key: PathBuf,
    pub qlog: Option<PathBuf>,
}

/// `client --connect IP:PORT [--bytes N] [--qlog FILE]`
pub struct Client {
    pub connect: SocketAddr,
    pub bytes: Option<u64>,
    pub qlog: Option<PathBuf>,
}

/// Reads the command line; a mistake ends the program with status 2. The first controller is the default.
pub fn role(controllers: &[&str]) -> Role {
    let mut words = std::env::args().skip(1);
    let role = words.next().unwrap_or_default();
    let mut options = Vec::<(String, String)>::new();
    while let Some(name) = words.next() {
        let Some(value) = words.next() else { wrong(&format!("{name} needs a value")) };
        options.push((name, value));
    }
    let mut take = |name: &str| options.iter().position(|(known, _)| known == name).map(|at| options.remove(at).1);
    let role = match role.as_str() {
        "server" => Role::Server(Server {
            listen: address("--listen", take("--listen")),
            cc: take("--cc").unwrap_or_else(|| controllers[0].into()),
            cert: needed("--cert", take("--cert")).into(),
            key: needed("--key", take("--key")).into(),
            qlog: take("--qlog").map(PathBuf::from),
        }),
        "client" => Role::Client(Client {
            connect: address("--connect", take("--connect")),
            bytes: take("--bytes").map(|text| match text.parse() {
                Ok(bytes) if bytes > 0 => bytes,
                _ => wrong(&format!("--bytes is a number of bytes from 1 on, got '{text}'")),
            }),
            qlog: take("--qlog").map(PathBuf::from),
        }),
        _ => wrong("the first word is server or client"),
    };
    if let Some((name, _)) = options.first() {
        wrong(&format!("no option '{name}'"));
    }
    if let Role::Server(server) = &role
        && !controllers.contains(&server.cc.as_str())
    {
        wrong(&format!("cc '{}' is not one of {}", server.cc, controllers.join(", ")));
    }
    role
}

/// A request for bytes.
pub fn request(bytes: Option<u64>) -> [u8; 8] {
    bytes.unwrap_or(0).to_be_bytes()
}

/// How many bytes a request asks for; None without end, and for what is no request.
pub fn requested(request: &[u8]) -> Option<u64> {
    let bytes = u64::from_be_bytes(request.get(..8)?.try_into().ok()?);
    (bytes > 0).then_some(bytes)
}

/// A mistake of the caller: a line, status 2.
pub fn wrong(message: &str) -> ! {
    eprintln!("{message}");
    exit(2)
}

/// A failure: a line, status 1.
pub fn failed(what: &str, problem: impl std::fmt::Display) -> ! {
    eprintln!("{what}: {problem}");
    exit(1)
}

fn needed(name: &str, value: Option<String>) -> String {
    value.unwrap_or_else(|| wrong(&format!("{name} is missing")))
}

fn address(name: &str, value: Option<String>) -> SocketAddr {
    let text = needed(name, value);
    text.parse()
        .unwrap_or_else(|_| wrong(&format!("{name} is an address and a port such as 10.0.0.1:4433, got '{text}'")))
}

/// A buffered file that a stack writes and the driver completes at the end.
#[derive(Clone)]
pub struct Qlog(Arc<Mutex<BufWriter<File>>>);

impl Qlog {
    /// Creates the file; a failure ends the program.
    pub fn create(path: &PathBuf) -> Self {
        let file = File::create(path).unwrap_or_else(|problem| failed(&path.display().to_string(), problem));
        Self(Arc::new(Mutex::new(BufWriter::with_capacity(1 << 16, file))))
    }

    /// Writes what is buffered.
    pub fn finish(&self) {
        self.0.lock().unwrap().flush().unwrap_or_else(|problem| failed("qlog", problem));
    }
}

impl Write for Qlog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    /// Nothing: some stacks flush after each event.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
