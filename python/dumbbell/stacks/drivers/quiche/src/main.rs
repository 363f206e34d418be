//! Client and server of quiche.

#[path = "../../common.rs"]
mod common;
#[path = "../../socket.rs"]
mod socket;

use common::{BLOCK, Client, PROTOCOL, Qlog, Role, SERVER_NAME, Server, WINDOW, failed, request, requested};
use quiche::{Config, Connection, ConnectionId, Header, MAX_CONN_ID_LEN, PROTOCOL_VERSION, RecvInfo, Type};
use socket::Socket;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const CONTROLLERS: &[&str] = &["cubic", "reno", "bbr2"];
/// Largest datagram that is received.
const DATAGRAM: usize = 1 << 16;
/// Largest payload that is sent, as quiche's own server and client set it.
const PAYLOAD: usize = 1350;
const IDLE_MS: u64 = 30_000;
const STREAMS: u64 = 100;
static ZEROS: [u8; BLOCK] = [0; BLOCK];

fn main() {
    match common::role(CONTROLLERS) {
        Role::Server(given) => server(&given),
        Role::Client(given) => client(&given),
    }
}

/// A connection, and a packet that it made before its time.
struct Peer {
    connection: Connection,
    /// When pacing lets it send again.
    release: Option<Instant>,
    /// A server's streams: what was asked, then what is left to send (None without end).
    asked: BTreeMap<u64, Vec<u8>>,
    left: BTreeMap<u64, Option<u64>>,
}

impl Peer {
    fn new(mut connection: Connection, qlog: Option<Qlog>) -> Self {
        if let Some(qlog) = qlog {
            connection.set_qlog(Box::new(qlog), "dumbbell".into(), String::new());
        }
        Self { connection, release: None, asked: BTreeMap::new(), left: BTreeMap::new() }
    }

    /// How long it can be left alone.
    fn timeout(&self, now: Instant) -> Option<Duration> {
        let release = self.release.map(|at| at.saturating_duration_since(now));
        [self.connection.timeout(), release].into_iter().flatten().min()
    }

    fn receive(&mut self, datagram: &mut [u8], from: SocketAddr, to: SocketAddr) {
        // A wrong packet is dropped; an error closes the connection, which its next packet says.
        let _ = self.connection.recv(datagram, RecvInfo { from, to });
    }

    /// Sends what may be sent now.
    fn send(&mut self, socket: &Socket) {
        let mut space = [0; PAYLOAD];
        self.release = None;
        loop {
            if let Some(next) = self.connection.get_next_release_time()
                && let Some(at) = next.time(Instant::now())
                && !next.can_burst()
            {
                self.release = Some(at);
                return;
            }
            match self.connection.send(&mut space) {
                Ok((size, info)) => socket.send(&space[..size], info.to),
                Err(quiche::Error::Done) => return,
                Err(_) => {
                    let _ = self.connection.close(false, 1, b"");
                    return;
                }
            }
        }
    }

    /// Reads requests, and hands over as much of the answers as fits.
    fn answer(&mut self) {
        for stream in self.connection.readable() {
            let asked = self.asked.entry(stream).or_default();
            let mut space = [0; 8];
            while let Ok((size, _)) = self.connection.stream_recv(stream, &mut space) {
                asked.extend(&space[..size]);
            }
            if asked.len() >= 8 && !self.left.contains_key(&stream) {
                self.left.insert(stream, requested(asked));
            }
        }
        let connection = &mut self.connection;
        self.left.retain(|&stream, left| {
            loop {
                let block = left.map_or(BLOCK, |left| BLOCK.min(usize::try_from(left).unwrap_or(BLOCK)));
                let is_last = *left == Some(block as u64);
                match connection.stream_send(stream, &ZEROS[..block], is_last) {
                    Ok(written) => *left = left.map(|left| left - written as u64),
                    Err(quiche::Error::Done) => return true,
                    Err(_) => return false,
                }
                if *left == Some(0) {
                    return false;
                }
            }
        });
    }

    fn close(&mut self, socket: &Socket) {
        let _ = self.connection.close(true, 0, b"");
        self.send(socket);
    }
}

fn server(given: &Server) {
    let mut qlog = given.qlog.as_ref().map(Qlog::create);
    let written = qlog.clone();
    let mut config = config();
    let (cert, key) = (given.cert.to_string_lossy(), given.key.to_string_lossy());
    config.load_cert_chain_from_pem_file(&cert).unwrap_or_else(|problem| failed(&cert, problem));
    config.load_priv_key_from_pem_file(&key).unwrap_or_else(|problem| failed(&key, problem));
    config.set_cc_algorithm_name(&given.cc).unwrap_or_else(|problem| failed("--cc", problem));
    let socket = Socket::bind(given.listen);
    let address = socket.address();
    let mut peers = BTreeMap::<SocketAddr, Peer>::new();
    let mut space = vec![0; DATAGRAM];
    loop {
        let now = Instant::now();
        if !socket.wait(peers.values().filter_map(|peer| peer.timeout(now)).min()) {
            break;
        }
        while let Some((size, from)) = socket.receive(&mut space) {
            let datagram = &mut space[..size];
            if !peers.contains_key(&from) && is_first(datagram) {
                let id = connection_id();
                if let Ok(connection) = quiche::accept(&ConnectionId::from_ref(&id), None, address, from, &mut config) {
                    peers.insert(from, Peer::new(connection, qlog.take()));
                }
            }
            if let Some(peer) = peers.get_mut(&from) {
                peer.receive(datagram, from, address);
            }
        }
        for peer in peers.values_mut() {
            peer.connection.on_timeout();
            peer.answer();
            peer.send(&socket);
        }
        peers.retain(|_, peer| !peer.connection.is_closed());
    }
    peers.values_mut().for_each(|peer| peer.close(&socket));
    drop(peers);
    if let Some(qlog) = written {
        qlog.finish();
    }
}

fn client(given: &Client) {
    let qlog = given.qlog.as_ref().map(Qlog::create);
    let socket = Socket::towards(given.connect);
    let address = socket.address();
    let id = connection_id();
    let connection =
        quiche::connect(Some(SERVER_NAME), &ConnectionId::from_ref(&id), address, given.connect, &mut config());
    let mut peer = Peer::new(connection.unwrap_or_else(|problem| failed("--connect", problem)), qlog.clone());
    let (mut space, mut block) = (vec![0; DATAGRAM], vec![0; BLOCK]);
    let (mut has_asked, mut received, mut is_complete) = (false, 0, false);
    peer.send(&socket);
    while !is_complete && !peer.connection.is_closed() && socket.wait(peer.timeout(Instant::now())) {
        while let Some((size, from)) = socket.receive(&mut space) {
            peer.receive(&mut space[..size], from, address);
        }
        peer.connection.on_timeout();
        if peer.connection.is_established() && !has_asked {
            let sent = peer.connection.stream_send(0, &request(given.bytes), true);
            sent.unwrap_or_else(|problem| failed("connection", problem));
            has_asked = true;
        }
        while let Ok((size, is_last)) = peer.connection.stream_recv(0, &mut block) {
            received += size as u64;
            is_complete |= is_last;
        }
        peer.send(&socket);
    }
    let has_failed = peer.connection.is_closed() || is_complete && given.bytes.is_some_and(|bytes| bytes != received);
    peer.close(&socket);
    drop(peer);
    if let Some(qlog) = qlog {
        qlog.finish();
    }
    if has_failed {
        failed("connection", format!("{received} bytes came"));
    }
}

/// Is it a client's first packet?
fn is_first(datagram: &mut [u8]) -> bool {
    Header::from_slice(datagram, MAX_CONN_ID_LEN)
        .is_ok_and(|header| header.ty == Type::Initial && header.version == PROTOCOL_VERSION)
}

fn connection_id() -> [u8; MAX_CONN_ID_LEN] {
    let mut id = [0; MAX_CONN_ID_LEN];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut id));
    read.unwrap_or_else(|problem| failed("/dev/urandom", problem));
    id
}

fn config() -> Config {
    let mut config = Config::new(PROTOCOL_VERSION).unwrap_or_else(|problem| failed("config", problem));
    config.verify_peer(false);
    config.set_application_protos(&[PROTOCOL]).unwrap_or_else(|problem| failed("config", problem));
    config.set_max_idle_timeout(IDLE_MS);
    config.set_max_send_udp_payload_size(PAYLOAD);
    config.set_initial_max_data(WINDOW.into());
    config.set_initial_max_stream_data_bidi_local(WINDOW.into());
    config.set_initial_max_stream_data_bidi_remote(WINDOW.into());
    config.set_initial_max_streams_bidi(STREAMS);
    config.set_max_connection_window(WINDOW.into());
    config.set_max_stream_window(WINDOW.into());
    config
}
