//! A connection, encrypted or not, that gives up when the other side takes too long.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::source::SourceError;

use super::dial::{Dialled, Reach, dial, dial_any};
use super::limits::Limits;
use super::{Opening, tls};

/// A connection. Every read and write fails with `TimedOut` once the deadline has passed.
pub(super) struct Wire {
    channel: Channel,
    host: String,
    limits: Limits,
    began: Instant,
    deadline: Instant,
    pub(super) opening: Opening,
    pub(super) address: IpAddr,
}

enum Channel {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Wire {
    /// Connects, without encryption.
    pub(super) fn open(host: &str, port: u16, reach: Reach, limits: &Limits) -> Result<Self, SourceError> {
        Ok(Self::over(host, dial(host, port, reach, limits)?, limits))
    }

    /// Connects to an address of the machine, without encryption.
    pub(super) fn open_at(host: &str, address: SocketAddr, limits: &Limits) -> Result<Self, SourceError> {
        Ok(Self::over(host, dial_any(host, &[address], limits)?, limits))
    }

    fn over(host: &str, dialled: Dialled, limits: &Limits) -> Self {
        let Dialled { stream, address, took } = dialled;
        let now = Instant::now();
        let opening = Opening { connect: took, ..Opening::default() };
        Self {
            channel: Channel::Plain(stream),
            host: host.to_owned(),
            limits: *limits,
            began: now,
            deadline: now + limits.connect,
            opening,
            address,
        }
    }

    /// The same connection, encrypted from here on.
    pub(super) fn encrypted(self) -> Result<Self, SourceError> {
        self.encrypted_with(tls::shared()?)
    }

    /// The same with a memory of sessions that few others have.
    pub(super) fn encrypted_with(self, config: Arc<ClientConfig>) -> Result<Self, SourceError> {
        let Channel::Plain(mut stream) = self.channel else { return Ok(self) };
        let mut client = tls::client(&self.host, config)?;
        let started = Instant::now();
        let deadline = started + self.limits.connect;
        while client.is_handshaking() {
            let agreed =
                allow(&stream, deadline, self.limits.silence).and_then(|()| client.complete_io(&mut stream));
            agreed.map_err(|error| untrusted(&self.host, &error, started))?;
        }
        let took = started.elapsed();
        let channel = Channel::Encrypted(Box::new(StreamOwned::new(client, stream)));
        Ok(Self { channel, opening: Opening { tls: Some(took), ..self.opening }, ..self })
    }

    /// From now on so long.
    pub(super) fn allow(&mut self, time: Duration) {
        self.began = Instant::now();
        self.deadline = self.began + time;
    }

    /// What a failed read or write means.
    pub(super) fn failed(&self, error: &io::Error) -> SourceError {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                SourceError::TimedOut(self.began.elapsed().as_secs())
            }
            io::ErrorKind::UnexpectedEof => SourceError::Unreachable(format!("{} hung up", self.host)),
            io::ErrorKind::InvalidData => SourceError::BadAnswer(error.to_string()),
            _ => SourceError::Unreachable(format!("{}: {error}", self.host)),
        }
    }

    fn socket(&self) -> &TcpStream {
        match &self.channel {
            Channel::Plain(stream) => stream,
            Channel::Encrypted(stream) => &stream.sock,
        }
    }
}

/// Limits how long the next read or write may block.
fn allow(stream: &TcpStream, deadline: Instant, silence: Duration) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now()).min(silence);
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left))?;
    stream.set_write_timeout(Some(left))
}

/// A handshake that failed: mostly a certificate, sometimes only time.
fn untrusted(host: &str, error: &io::Error, started: Instant) -> SourceError {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            SourceError::TimedOut(started.elapsed().as_secs())
        }
        io::ErrorKind::InvalidData if is_about_certificate(error) => {
            SourceError::Untrusted(format!("{host}: {error}"))
        }
        io::ErrorKind::InvalidData => {
            SourceError::BadAnswer(format!("{host} does not encrypt as it should: {error}"))
        }
        _ => SourceError::Unreachable(format!("{host} broke off while agreeing on encryption: {error}")),
    }
}

fn is_about_certificate(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented))
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        allow(self.socket(), self.deadline, self.limits.silence)?;
        match &mut self.channel {
            Channel::Plain(stream) => stream.read(buffer),
            Channel::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        allow(self.socket(), self.deadline, self.limits.silence)?;
        match &mut self.channel {
            Channel::Plain(stream) => stream.write(bytes),
            Channel::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.channel {
            Channel::Plain(stream) => stream.flush(),
            Channel::Encrypted(stream) => stream.flush(),
        }
    }
}
