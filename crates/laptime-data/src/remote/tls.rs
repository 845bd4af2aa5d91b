//! Encryption, with the certificates that the system trusts.

use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::source::SourceError;

/// A memory of sessions of its own: servers of FTP ask that connections for data continue the session of the one
/// that they belong to.
pub(super) fn apart() -> Result<Arc<ClientConfig>, SourceError> {
    let mut own = (*config().map_err(SourceError::Untrusted)?).clone();
    own.resumption = Resumption::in_memory_sessions(32);
    Ok(Arc::new(own))
}

/// What all other connections have in common.
pub(super) fn shared() -> Result<Arc<ClientConfig>, SourceError> {
    config().map_err(SourceError::Untrusted)
}

/// A connection's half of the encryption with a machine; its certificate must be of that name.
pub(super) fn client(host: &str, config: Arc<ClientConfig>) -> Result<ClientConnection, SourceError> {
    let untrusted = SourceError::Untrusted;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| untrusted(error.to_string()))?;
    ClientConnection::new(config, name).map_err(|error| untrusted(error.to_string()))
}

/// The system's certificates, or those of SSL_CERT_FILE and SSL_CERT_DIR, read once.
fn config() -> Result<Arc<ClientConfig>, String> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    CONFIG.get_or_init(read_config).clone()
}

fn read_config() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    // Files that cannot be read leave fewer roots; without any it is said below.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("this machine has no certificates to check it by; install ca-certificates".to_owned());
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
