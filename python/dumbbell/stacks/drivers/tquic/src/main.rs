//! Client and server of tquic.

#[path = "../../common.rs"]
mod common;
#[path = "../../socket.rs"]
mod socket;

use bytes::Bytes;
use common::{BLOCK, Client, PROTOCOL, Qlog, Role, SERVER_NAME, Server, WINDOW, failed, request, requested};
use socket::Socket;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;
use tquic::{
    Config, CongestionControlAlgorithm, Connection, Endpoint, PacketInfo, PacketSendHandler, TlsConfig,
    TransportHandler,
};

const CONTROLLERS: &[&str] = &["bbr", "bbr3", "copa", "cubic"];
/// Largest datagram that is received.
const DATAGRAM: usize = 1 << 16;
static ZEROS: [u8; BLOCK] = [0; BLOCK];

fn main() {
    match common::role(CONTROLLERS) {
        Role::Server(given) => server(&given),
        Role::Client(given) => client(&given),
    }
}

fn server(given: &Server) {
    let qlog = given.qlog.as_ref().map(Qlog::create);
    let mut config = config();
    config.set_congestion_control_algorithm(match given.cc.as_str() {
        "bbr3" => CongestionControlAlgorithm::Bbr3,
        "copa" => CongestionControlAlgorithm::Copa,
        "cubic" => CongestionControlAlgorithm::Cubic,
        _ => CongestionControlAlgorithm::Bbr,
    });
    let (cert, key) = (given.cert.to_string_lossy(), given.key.to_string_lossy());
    let tls = TlsConfig::new_server_config(&cert, &key, vec![PROTOCOL.into()], false);
    config.set_tls_config(tls.unwrap_or_else(|problem| failed(&cert, problem)));
    let socket = Rc::new(Socket::bind(given.listen));
    let answers = Answers { qlog: RefCell::new(qlog.clone()), ..Answers::default() };
    let mut endpoint = Endpoint::new(Box::new(config), true, Box::new(answers), Rc::new(Sender(socket.clone())));
    run(&mut endpoint, &socket, || false);
    finish(endpoint, qlog.as_ref());
}

fn client(given: &Client) {
    let qlog = given.qlog.as_ref().map(Qlog::create);
    let mut config = config();
    let tls = TlsConfig::new_client_config(vec![PROTOCOL.into()], false);
    let mut tls = tls.unwrap_or_else(|problem| failed("tls", problem));
    tls.set_verify(false);
    config.set_tls_config(tls);
    let socket = Rc::new(Socket::towards(given.connect));
    let state = Rc::new(RefCell::new(State::default()));
    let asks = Asks { bytes: given.bytes, qlog: RefCell::new(qlog.clone()), state: state.clone() };
    let mut endpoint = Endpoint::new(Box::new(config), false, Box::new(asks), Rc::new(Sender(socket.clone())));
    let connection = endpoint.connect(socket.address(), given.connect, Some(SERVER_NAME), None, None, None);
    let connection = connection.unwrap_or_else(|problem| failed("--connect", problem));
    let is_interrupted = !run(&mut endpoint, &socket, || state.borrow().answered || state.borrow().closed);
    if let Some(connection) = endpoint.conn_get_mut(connection) {
        let _ = connection.close(true, 0, b"");
        let _ = endpoint.process_connections();
    }
    finish(endpoint, qlog.as_ref());
    let state = state.borrow();
    if !is_interrupted && (!state.answered || given.bytes.is_some_and(|bytes| bytes != state.received)) {
        failed("connection", format!("{} bytes came", state.received));
    }
}

/// Serves the endpoint until it is done (true) or SIGTERM comes (false).
fn run(endpoint: &mut Endpoint, socket: &Socket, is_done: impl Fn() -> bool) -> bool {
    let address = socket.address();
    let mut space = vec![0; DATAGRAM];
    loop {
        // A connection that fails is closed; the others go on.
        let _ = endpoint.process_connections();
        if is_done() {
            return true;
        }
        if !socket.wait(endpoint.timeout()) {
            return false;
        }
        while let Some((size, src)) = socket.receive(&mut space) {
            let _ = endpoint.recv(&mut space[..size], &PacketInfo { src, dst: address, time: Instant::now() });
        }
        endpoint.on_timeout(Instant::now());
    }
}

/// Drops the connections, which end their qlogs.
fn finish(mut endpoint: Endpoint, qlog: Option<&Qlog>) {
    endpoint.close(true);
    drop(endpoint);
    if let Some(qlog) = qlog {
        qlog.finish();
    }
}

fn config() -> Config {
    let mut config = Config::new().unwrap_or_else(|problem| failed("config", problem));
    config.set_initial_max_data(WINDOW.into());
    config.set_initial_max_stream_data_bidi_local(WINDOW.into());
    config.set_initial_max_stream_data_bidi_remote(WINDOW.into());
    config.set_max_connection_window(WINDOW.into());
    config.set_max_stream_window(WINDOW.into());
    config
}

struct Sender(Rc<Socket>);

impl PacketSendHandler for Sender {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        for (datagram, info) in packets {
            self.0.send(datagram, info.dst);
        }
        Ok(packets.len())
    }
}

/// Starts the qlog of the first connection.
fn log(connection: &mut Connection, qlog: &RefCell<Option<Qlog>>) {
    if let Some(qlog) = qlog.borrow_mut().take() {
        connection.set_qlog(Box::new(qlog), "dumbbell".into(), String::new());
    }
}

/// A server's streams by connection and number: what was asked, and what is left to send (None without end).
#[derive(Default)]
struct Answers {
    qlog: RefCell<Option<Qlog>>,
    asked: BTreeMap<(u64, u64), Vec<u8>>,
    left: BTreeMap<(u64, u64), Option<u64>>,
}

impl Answers {
    /// Hands over as much as fits.
    fn fill(&mut self, connection: &mut Connection, stream: u64) {
        let key = (connection.index().unwrap_or_default(), stream);
        let Some(left) = self.left.get_mut(&key) else { return };
        loop {
            let block = left.map_or(BLOCK, |left| BLOCK.min(usize::try_from(left).unwrap_or(BLOCK)));
            let is_last = *left == Some(block as u64);
            match connection.stream_write(stream, Bytes::from_static(&ZEROS[..block]), is_last) {
                Ok(written) => {
                    *left = left.map(|left| left - written as u64);
                    if *left == Some(0) {
                        self.left.remove(&key);
                        return;
                    }
                    if written < block {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        let _ = connection.stream_want_write(stream, true);
    }
}

impl TransportHandler for Answers {
    fn on_conn_created(&mut self, connection: &mut Connection) {
        log(connection, &self.qlog);
    }

    fn on_conn_established(&mut self, _: &mut Connection) {}

    fn on_conn_closed(&mut self, _: &mut Connection) {}

    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}

    fn on_stream_readable(&mut self, connection: &mut Connection, stream: u64) {
        let key = (connection.index().unwrap_or_default(), stream);
        let asked = self.asked.entry(key).or_default();
        let mut space = [0; 8];
        while let Ok((size, is_last)) = connection.stream_read(stream, &mut space) {
            asked.extend(&space[..size]);
            if is_last || size == 0 {
                break;
            }
        }
        if asked.len() >= 8 && !self.left.contains_key(&key) {
            let wanted = requested(asked);
            self.left.insert(key, wanted);
            self.fill(connection, stream);
        }
    }

    fn on_stream_writable(&mut self, connection: &mut Connection, stream: u64) {
        self.fill(connection, stream);
    }

    fn on_stream_closed(&mut self, connection: &mut Connection, stream: u64) {
        let key = (connection.index().unwrap_or_default(), stream);
        self.asked.remove(&key);
        self.left.remove(&key);
    }

    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}

#[derive(Default)]
struct State {
    received: u64,
    answered: bool,
    closed: bool,
}

/// The client's connection.
struct Asks {
    bytes: Option<u64>,
    qlog: RefCell<Option<Qlog>>,
    state: Rc<RefCell<State>>,
}

impl TransportHandler for Asks {
    fn on_conn_created(&mut self, connection: &mut Connection) {
        log(connection, &self.qlog);
    }

    fn on_conn_established(&mut self, connection: &mut Connection) {
        let asked = connection.stream_bidi_new(0, false).and_then(|stream| {
            connection.stream_write(stream, Bytes::copy_from_slice(&request(self.bytes)), true)?;
            connection.stream_want_read(stream, true)
        });
        asked.unwrap_or_else(|problem| failed("connection", problem));
    }

    fn on_conn_closed(&mut self, _: &mut Connection) {
        self.state.borrow_mut().closed = true;
    }

    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}

    fn on_stream_readable(&mut self, connection: &mut Connection, stream: u64) {
        let mut space = vec![0; BLOCK];
        let mut state = self.state.borrow_mut();
        while let Ok((size, is_last)) = connection.stream_read(stream, &mut space) {
            state.received += size as u64;
            state.answered |= is_last;
            if is_last {
                break;
            }
        }
    }

    fn on_stream_writable(&mut self, connection: &mut Connection, stream: u64) {
        let _ = connection.stream_want_write(stream, false);
    }

    fn on_stream_closed(&mut self, _: &mut Connection, _: u64) {}

    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}
