//! A provider behind HTTPS, with a certificate that this machine trusts or does not.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::serve::provider::{KEYS, Provider, read_path};
use crate::serve::signer::{Signer, file, pem};
use crate::world::{AUDIENCE, World, with};

/// Answers as a provider does, over TLS; its port.
fn behind_tls(provider: &Provider, host: &str) -> u16 {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pem("tls-key.pem")));
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions().unwrap();
    let certificates = vec![CertificateDer::from(pem("tls.pem"))];
    let config =
        Arc::new(config.with_no_client_auth().with_single_cert(certificates, key).unwrap());
    let listener = TcpListener::bind((host, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let provider = provider.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = BufReader::new(StreamOwned::new(connection, stream));
            if let Some(answer) = read_path(&mut stream).and_then(|path| provider.answer_to(&path))
            {
                let stream = stream.get_mut();
                let _ = stream.write_all(&answer);
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    port
}

fn serve(issuer: &str, authorities: &str) -> World {
    World::start_by(tempfile::tempdir().unwrap(), |command| {
        let command = command.args(["--oidc", issuer, "--audience", AUDIENCE]);
        command.env("SSL_CERT_FILE", file(authorities)).env_remove("SSL_CERT_DIR")
    })
}

#[test]
fn only_a_certificate_of_a_trusted_authority_is_believed() {
    let signer = Signer::rsa("k", "one");
    let provider = Provider::start(&[&signer]);
    let issuer = format!("https://localhost:{}", behind_tls(&provider, "127.0.0.1"));
    provider.describe(&json!({"issuer": issuer, "jwks_uri": format!("{issuer}{KEYS}")}));
    let token = signer.token(&with(&provider, json!({"iss": issuer})));
    let world = serve(&issuer, "ca.pem");
    world.believes(&token);

    // The certificate is for another host.
    let port = behind_tls(&provider, "127.0.0.2");
    let other = serve(&format!("https://127.0.0.2:{port}"), "ca.pem");
    assert_eq!(other.client().get("/ready").status, 503);
    other.logs("TLS fails");

    // A provider with TLS has its keys behind TLS.
    provider.describe(&json!({"issuer": issuer, "jwks_uri": provider.keys_url()}));
    let before = provider.times();
    let world = serve(&issuer, "ca.pem");
    world.logs("`jwks_uri` is not https://");
    assert_eq!(provider.times(), before);

    // No authority that is trusted has signed the certificate.
    let untrusting = serve(&issuer, "tls.pem");
    assert_eq!(untrusting.client().get("/ready").status, 503);
    untrusting.logs("TLS fails");
}
