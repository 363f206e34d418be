//! Client and server of quinn.

#[path = "../../common.rs"]
mod common;

use common::{BLOCK, Client, PROTOCOL, Qlog, Role, SERVER_NAME, Server, WINDOW, failed, request, requested};
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, Endpoint, QlogConfig, RecvStream, SendStream, ServerConfig, TransportConfig, VarInt,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

const CONTROLLERS: &[&str] = &["cubic", "reno", "bbr"];
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
    let mut config = server_config(&given.cert, &given.key);
    let controller: Arc<dyn ControllerFactory + Send + Sync> = match given.cc.as_str() {
        "reno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => Arc::new(CubicConfig::default()),
    };
    let mut transport = transport(qlog.as_ref());
    transport.congestion_controller_factory(controller);
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, given.listen).unwrap_or_else(|problem| failed("--listen", problem));
    let mut end = signal(SignalKind::terminate()).unwrap_or_else(|problem| failed("SIGTERM", problem));
    loop {
        tokio::select! {
            incoming = endpoint.accept() => {
                let Some(incoming) = incoming else { break };
                tokio::spawn(async move {
                    if let Ok(connection) = incoming.await {
                        answer(connection).await;
                    }
                });
            }
            _ = end.recv() => break,
        }
    }
    leave(&endpoint, qlog.as_ref()).await;
}

/// Answers each request on the streams of a connection, until it ends.
async fn answer(connection: Connection) {
    while let Ok((to_client, from_client)) = connection.accept_bi().await {
        tokio::spawn(send(to_client, from_client));
    }
}

async fn send(mut to_client: SendStream, mut from_client: RecvStream) {
    static ZEROS: [u8; BLOCK] = [0; BLOCK];
    let Ok(asked) = from_client.read_to_end(8).await else { return };
    let mut left = requested(&asked);
    while left != Some(0) {
        let block = left.map_or(BLOCK, |left| BLOCK.min(usize::try_from(left).unwrap_or(BLOCK)));
        if to_client.write_all(&ZEROS[..block]).await.is_err() {
            return;
        }
        left = left.map(|left| left - block as u64);
    }
    let _ = to_client.finish();
    let _ = to_client.stopped().await;
}

async fn client(given: Client) {
    let qlog = given.qlog.as_ref().map(Qlog::create);
    let any: IpAddr = if given.connect.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let endpoint = Endpoint::client(SocketAddr::new(any, 0)).unwrap_or_else(|problem| failed("socket", problem));
    let mut config = client_config();
    config.transport_config(Arc::new(transport(qlog.as_ref())));
    let mut end = signal(SignalKind::terminate()).unwrap_or_else(|problem| failed("SIGTERM", problem));
    tokio::select! {
        () = fetch(&endpoint, config, &given) => {}
        _ = end.recv() => {}
    }
    leave(&endpoint, qlog.as_ref()).await;
}

async fn fetch(endpoint: &Endpoint, config: ClientConfig, given: &Client) {
    let connecting = endpoint.connect_with(config, given.connect, SERVER_NAME);
    let connecting = connecting.unwrap_or_else(|problem| failed("--connect", problem));
    let connection = connecting.await.unwrap_or_else(|problem| failed("connection", problem));
    let lost = |problem: &dyn std::fmt::Display| -> ! { failed("connection", problem) };
    let (mut to_server, mut from_server) = connection.open_bi().await.unwrap_or_else(|problem| lost(&problem));
    to_server.write_all(&request(given.bytes)).await.unwrap_or_else(|problem| lost(&problem));
    to_server.finish().unwrap_or_else(|problem| lost(&problem));
    let mut received = 0;
    while let Some(chunk) = from_server.read_chunk(usize::MAX, true).await.unwrap_or_else(|problem| lost(&problem)) {
        received += chunk.bytes.len() as u64;
    }
    if given.bytes.is_some_and(|bytes| bytes != received) {
        failed("connection", format!("{received} bytes came"));
    }
}

/// Closes all connections and completes the qlog.
async fn leave(endpoint: &Endpoint, qlog: Option<&Qlog>) {
    endpoint.close(VarInt::from_u32(0), b"");
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
    if let Some(qlog) = qlog {
        qlog.finish();
    }
}

fn transport(qlog: Option<&Qlog>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(WINDOW.into());
    transport.receive_window(WINDOW.into());
    transport.send_window(WINDOW.into());
    if let Some(qlog) = qlog {
        let mut config = QlogConfig::default();
        config.writer(Box::new(qlog.clone()));
        transport.qlog_stream(config.into_stream());
    }
    transport
}

fn server_config(cert: &PathBuf, key: &PathBuf) -> ServerConfig {
    let wrong = |path: &PathBuf, problem: &dyn std::fmt::Display| -> ! { failed(&path.display().to_string(), problem) };
    let certificate = CertificateDer::from_pem_file(cert).unwrap_or_else(|problem| wrong(cert, &problem));
    let private = PrivateKeyDer::from_pem_file(key).unwrap_or_else(|problem| wrong(key, &problem));
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], private))
        .unwrap_or_else(|problem| wrong(cert, &problem));
    tls.alpn_protocols = vec![PROTOCOL.into()];
    let tls = QuicServerConfig::try_from(tls).unwrap_or_else(|problem| wrong(cert, &problem));
    ServerConfig::with_crypto(Arc::new(tls))
}

fn client_config() -> ClientConfig {
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap_or_else(|problem| failed("tls", problem))
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unverified))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.into()];
    let tls = QuicClientConfig::try_from(tls).unwrap_or_else(|problem| failed("tls", problem));
    ClientConfig::new(Arc::new(tls))
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
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
