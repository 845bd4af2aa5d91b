//! Connecting to a machine, within a limit.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::source::SourceError;

use super::limits::Limits;
use super::private::is_inside;

/// Which addresses may be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All: a person named the machine.
    Anywhere,
    /// Only those outside: a server outside named it.
    Outside,
}

/// A connection that stands.
pub(super) struct Dialled {
    pub(super) stream: TcpStream,
    pub(super) address: IpAddr,
    pub(super) took: Duration,
}

/// Connects to the first address of the machine that answers.
pub(super) fn dial(host: &str, port: u16, reach: Reach, limits: &Limits) -> Result<Dialled, SourceError> {
    let unknown = || SourceError::Unreachable(format!("no machine is named {host}"));
    let all: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|_| unknown())?.collect();
    let allowed = |address: &&SocketAddr| reach == Reach::Anywhere || !is_inside(address.ip());
    if !all.is_empty() && !all.iter().any(|address| allowed(&address)) {
        let reason = "to a machine inside this network, which a server outside must not";
        return Err(SourceError::Redirected(reason));
    }
    if all.is_empty() {
        return Err(unknown());
    }
    let addresses: Vec<SocketAddr> = all.into_iter().filter(|address| allowed(&address)).collect();
    dial_any(host, &addresses, limits)
}

/// Connects to the first of the addresses that answers.
pub(super) fn dial_any(
    host: &str,
    addresses: &[SocketAddr],
    limits: &Limits,
) -> Result<Dialled, SourceError> {
    let deadline = Instant::now() + limits.connect;
    let mut last: io::Error = io::ErrorKind::AddrNotAvailable.into();
    for address in addresses {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let started = Instant::now();
        match TcpStream::connect_timeout(address, left) {
            Ok(stream) => {
                let took = started.elapsed();
                // Requests are written whole; waiting to fill a packet would only delay them.
                let _ = stream.set_nodelay(true);
                return Ok(Dialled { stream, address: address.ip(), took });
            }
            Err(error) => last = error,
        }
    }
    let port = addresses.first().map_or(0, SocketAddr::port);
    Err(SourceError::Unreachable(format!("{host}:{port}: {last}")))
}
