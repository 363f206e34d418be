//! Client and server of s2n-quic. It writes no qlog itself: [`Events`] does, from its events.

#[path = "../../common.rs"]
mod common;

use common::{BLOCK, Client, PROTOCOL, Qlog, Role, SERVER_NAME, Server, WINDOW, failed, request, requested};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as tls;
use s2n_quic::stream::BidirectionalStream;
use std::fmt::Display;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

const CONTROLLERS: &[&str] = &["cubic", "bbr"];
/// How long the last packet may take to leave.
const FAREWELL: Duration = Duration::from_millis(1);

fn main() {
    let role = common::role(CONTROLLERS);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap_or_else(|problem| failed("tokio", problem)).block_on(async {
        match role {
            Role::Server(given) => server(given).await,
            Role::Client(given) => client(given).await,
        }
    });
}

async fn server(given: Server) {
    let qlog = given.qlog.as_ref().map(Qlog::create);
    let builder = s2n_quic::Server::builder()
        .with_tls(server_tls(&given.cert, &given.key))
        .and_then(|builder| Ok(builder.with_limits(limits())?))
        .and_then(|builder| Ok(builder.with_event(Events { qlog: qlog.clone(), role: "server" })?))
        .unwrap_or_else(|problem| failed("server", problem))
        .with_io(given.listen)
        .unwrap_or_else(|problem| failed("--listen", problem));
    let started = if given.cc == "bbr" {
        builder.with_congestion_controller(Bbr::default()).map(s2n_quic::server::Builder::start)
    } else {
        builder.with_congestion_controller(Cubic::default()).map(s2n_quic::server::Builder::start)
    };
    let mut server = match started {
        Ok(Ok(server)) => server,
        Ok(Err(problem)) => failed("--listen", problem),
        Err(problem) => failed("--cc", problem),
    };
    let mut end = signal(SignalKind::terminate()).unwrap_or_else(|problem| failed("SIGTERM", problem));
    loop {
        tokio::select! {
            connection = server.accept() => {
                let Some(mut connection) = connection else { break };
                tokio::spawn(async move {
                    while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
                        tokio::spawn(send(stream));
                    }
                });
            }
            _ = end.recv() => break,
        }
    }
    leave(qlog.as_ref()).await;
}

async fn send(stream: BidirectionalStream) {
    let (mut from_client, mut to_client) = stream.split();
    let mut asked = Vec::new();
    while let Ok(Some(part)) = from_client.receive().await {
        asked.extend(&part);
    }
    let mut left = requested(&asked);
    let zeros = bytes::Bytes::from_static(&[0; BLOCK]);
    while left != Some(0) {
        let block = left.map_or(BLOCK, |left| BLOCK.min(usize::try_from(left).unwrap_or(BLOCK)));
        if to_client.send(zeros.slice(..block)).await.is_err() {
            return;
        }
        left = left.map(|left| left - block as u64);
    }
    let _ = to_client.finish();
}

async fn client(given: Client) {
    let qlog = given.qlog.as_ref().map(Qlog::create);
    let any: IpAddr = if given.connect.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let client = s2n_quic::Client::builder()
        .with_tls(client_tls())
        .and_then(|builder| Ok(builder.with_limits(limits())?))
        .and_then(|builder| Ok(builder.with_event(Events { qlog: qlog.clone(), role: "client" })?))
        .unwrap_or_else(|problem| failed("client", problem))
        .with_io(SocketAddr::new(any, 0))
        .unwrap_or_else(|problem| failed("socket", problem))
        .start()
        .unwrap_or_else(|problem| failed("socket", problem));
    let mut end = signal(SignalKind::terminate()).unwrap_or_else(|problem| failed("SIGTERM", problem));
    tokio::select! {
        () = fetch(&client, &given) => {}
        _ = end.recv() => {}
    }
    leave(qlog.as_ref()).await;
}

async fn fetch(client: &s2n_quic::Client, given: &Client) {
    let lost = |problem: &dyn Display| -> ! { failed("connection", problem) };
    let connect = s2n_quic::client::Connect::new(given.connect).with_server_name(SERVER_NAME);
    let mut connection = client.connect(connect).await.unwrap_or_else(|problem| lost(&problem));
    let stream = connection.open_bidirectional_stream().await.unwrap_or_else(|problem| lost(&problem));
    let (mut from_server, mut to_server) = stream.split();
    let request = bytes::Bytes::copy_from_slice(&request(given.bytes));
    to_server.send(request).await.unwrap_or_else(|problem| lost(&problem));
    to_server.finish().unwrap_or_else(|problem| lost(&problem));
    let mut received = 0;
    while let Some(part) = from_server.receive().await.unwrap_or_else(|problem| lost(&problem)) {
        received += part.len() as u64;
    }
    if given.bytes.is_some_and(|bytes| bytes != received) {
        failed("connection", format!("{received} bytes came"));
    }
}

/// Connections close as their handles are dropped; the qlog is completed.
async fn leave(qlog: Option<&Qlog>) {
    tokio::time::sleep(FAREWELL).await;
    if let Some(qlog) = qlog {
        qlog.finish();
    }
}

fn limits() -> Limits {
    let window = WINDOW.into();
    Limits::new()
        .with_data_window(window)
        .and_then(|limits| limits.with_bidirectional_local_data_window(window))
        .and_then(|limits| limits.with_bidirectional_remote_data_window(window))
        .and_then(|limits| limits.with_max_send_buffer_size(WINDOW))
        .unwrap_or_else(|problem| failed("limits", problem))
}

/// A qlog of the first connection: congestion and recovery. Times are milliseconds since the program's start.
struct Events {
    qlog: Option<Qlog>,
    role: &'static str,
}

/// The qlog of a connection; later ones have none.
struct Log(Option<Qlog>);

impl Log {
    fn write(&mut self, meta: &ConnectionMeta, name: &str, data: &str) {
        if let Some(qlog) = &mut self.0 {
            let time = milliseconds(meta.timestamp.duration_since_start());
            let _ = writeln!(qlog, "\x1e{{\"time\":{time},\"name\":\"{name}\",\"data\":{data}}}");
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn header(header: &events::PacketHeader) -> String {
    let (kind, number) = match header {
        events::PacketHeader::Initial { number, .. } => ("initial", Some(number)),
        events::PacketHeader::Handshake { number, .. } => ("handshake", Some(number)),
        events::PacketHeader::ZeroRtt { number, .. } => ("0RTT", Some(number)),
        events::PacketHeader::OneRtt { number, .. } => ("1RTT", Some(number)),
        _ => ("unknown", None),
    };
    let number = number.map_or(String::new(), |number| format!(",\"packet_number\":{number}"));
    format!("{{\"packet_type\":\"{kind}\"{number}}}")
}

impl Subscriber for Events {
    type ConnectionContext = Log;

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) -> Log {
        let mut qlog = self.qlog.take();
        if let Some(qlog) = &mut qlog {
            let _ = writeln!(
                qlog,
                "\x1e{{\"qlog_format\":\"JSON-SEQ\",\"qlog_version\":\"0.3\",\"trace\":{{\"common_fields\":\
                 {{\"time_format\":\"relative\"}},\"vantage_point\":{{\"name\":\"s2n-quic\",\"type\":\"{}\"}}}}}}",
                self.role
            );
        }
        Log(qlog)
    }

    fn on_recovery_metrics(&mut self, log: &mut Log, meta: &ConnectionMeta, event: &events::RecoveryMetrics) {
        let [min, smoothed, latest, variance] =
            [event.min_rtt, event.smoothed_rtt, event.latest_rtt, event.rtt_variance].map(milliseconds);
        let (window, flight, pto) = (event.congestion_window, event.bytes_in_flight, event.pto_count);
        let data = format!(
            "{{\"min_rtt\":{min},\"smoothed_rtt\":{smoothed},\"latest_rtt\":{latest},\"rtt_variance\":{variance},\
             \"pto_count\":{pto},\"congestion_window\":{window},\"bytes_in_flight\":{flight}}}"
        );
        log.write(meta, "recovery:metrics_updated", &data);
    }

    fn on_packet_lost(&mut self, log: &mut Log, meta: &ConnectionMeta, event: &events::PacketLost) {
        let data =
            format!("{{\"header\":{},\"raw\":{{\"length\":{}}}}}", header(&event.packet_header), event.bytes_lost);
        log.write(meta, "recovery:packet_lost", &data);
    }

    fn on_packet_sent(&mut self, log: &mut Log, meta: &ConnectionMeta, event: &events::PacketSent) {
        let data =
            format!("{{\"header\":{},\"raw\":{{\"length\":{}}}}}", header(&event.packet_header), event.packet_len);
        log.write(meta, "transport:packet_sent", &data);
    }

    fn on_packet_received(&mut self, log: &mut Log, meta: &ConnectionMeta, event: &events::PacketReceived) {
        log.write(meta, "transport:packet_received", &format!("{{\"header\":{}}}", header(&event.packet_header)));
    }

    fn on_slow_start_exited(&mut self, log: &mut Log, meta: &ConnectionMeta, _: &events::SlowStartExited) {
        log.write(meta, "recovery:congestion_state_updated", "{\"new\":\"congestion_avoidance\"}");
    }
}

#[expect(deprecated, reason = "the builder's server takes no provider of cryptography of a fixed version")]
fn server_tls(cert: &PathBuf, key: &PathBuf) -> tls::Server {
    let wrong = |path: &PathBuf, problem: &dyn Display| -> ! { failed(&path.display().to_string(), problem) };
    let certificate = CertificateDer::from_pem_file(cert).unwrap_or_else(|problem| wrong(cert, &problem));
    let private = PrivateKeyDer::from_pem_file(key).unwrap_or_else(|problem| wrong(key, &problem));
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], private))
        .unwrap_or_else(|problem| wrong(cert, &problem));
    config.alpn_protocols = vec![PROTOCOL.into()];
    tls::Server::new(config)
}

#[expect(deprecated, reason = "the builder's client verifies certificates")]
fn client_tls() -> tls::Client {
    let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap_or_else(|problem| failed("tls", problem))
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unverified))
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.into()];
    tls::Client::new(config)
}

/// Accepts every certificate: both ends are of one experiment.
#[derive(Debug)]
struct Unverified;

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
