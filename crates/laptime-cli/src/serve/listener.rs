//! The listener: takes connections, reads one request of each, and sends the answer, all within limits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::connections::Connections;
use super::refusal::Refusal;
use super::request::{LONGEST_HEAD, Request};
use super::response::Response;

/// How long a request may take to come.
const ASKING: Duration = Duration::from_secs(5);
/// How long an answer may take to go: a page of a megabyte over a slow tunnel.
const ANSWERING: Duration = Duration::from_secs(30);
/// How long, and how much, of what a refused client still sends is read, so that it sees why it was refused.
const PARTING: Duration = Duration::from_millis(500);
const PARTING_BYTES: usize = 64 * 1024;
/// Where the system has no connection left to give.
const BREATH: Duration = Duration::from_millis(20);

/// What makes the answers.
pub(super) type Answer = dyn Fn(&Request) -> Response + Send + Sync;

/// A port of this machine alone.
pub(super) struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// Ends the listening from another thread.
#[derive(Clone)]
pub(super) struct Stop {
    stopped: Arc<AtomicBool>,
    address: SocketAddr,
}

impl Stop {
    /// Whether it was asked to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends it.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        // The listener waits for a connection, and this is one.
        let _ = TcpStream::connect_timeout(&self.address, ANSWERING);
    }
}

impl Listener {
    /// Takes a port; 0 is any that is free.
    pub(super) fn at(port: u16) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address })
    }

    /// The port.
    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// What ends [`Self::listen`].
    pub(super) fn stop(&self) -> Stop {
        Stop { stopped: Arc::new(AtomicBool::new(false)), address: self.address }
    }

    /// Answers until it is stopped.
    pub(super) fn listen(&self, stop: &Stop, answer: &Arc<Answer>) {
        let connections = Arc::new(Connections::default());
        for (number, stream) in (0_u64..).zip(self.socket.incoming()) {
            if stop.is_stopped() {
                break;
            }
            if stream.and_then(|stream| begin(number, stream, &connections, answer)).is_err() {
                thread::sleep(BREATH);
            }
        }
        connections.close();
    }
}

/// Gives a connection a thread of its own.
fn begin(
    number: u64,
    stream: TcpStream,
    connections: &Arc<Connections>,
    answer: &Arc<Answer>,
) -> io::Result<()> {
    connections.enter(number, stream.try_clone()?);
    let (open, answer) = (Arc::clone(connections), Arc::clone(answer));
    let body = move || {
        // A client that goes away is no trouble of ours.
        let _ = converse(number, stream, &open, &*answer);
        open.leave(number);
    };
    let thread = thread::Builder::new().name("laptime-serve".into());
    thread.spawn(body).map(|_| ()).inspect_err(|_| connections.leave(number))
}

/// One request, one answer.
fn converse(number: u64, mut stream: TcpStream, open: &Connections, answer: &Answer) -> io::Result<()> {
    let request = read_head(&mut stream)?.and_then(|head| Request::parse(&head));
    open.has_asked(number);
    let (response, head_only) = match &request {
        Ok(request) => (made(request, answer), request.head_only),
        Err(refusal) => (Response::from(*refusal), false),
    };
    write(&mut stream, &response.bytes(head_only))?;
    stream.shutdown(Shutdown::Write)?;
    if request.is_err() { part(&mut stream) } else { Ok(()) }
}

/// A page that breaks off is one page less, not a server less.
fn made(request: &Request, answer: &Answer) -> Response {
    catch_unwind(AssertUnwindSafe(|| answer(request))).unwrap_or_else(|_| Refusal::Broken.into())
}

/// The bytes up to the blank line; what follows them is never read.
fn read_head(stream: &mut TcpStream) -> io::Result<Result<Vec<u8>, Refusal>> {
    let until = Instant::now() + ASKING;
    let mut head = Vec::new();
    let mut part = [0; 2048];
    loop {
        let length = match read(stream, &mut part, until) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(error) if is_late(&error) => return Ok(Err(Refusal::Slow)),
            Err(error) => return Err(error),
        };
        // The blank line may have begun in the part before.
        let from = head.len().saturating_sub(3);
        head.extend_from_slice(&part[..length]);
        if let Some(at) = head[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            head.truncate(from + at + 4);
            return Ok(Ok(head).and_then(|head| match head.len() <= LONGEST_HEAD {
                true => Ok(head),
                false => Err(Refusal::TooLarge),
            }));
        }
        if head.len() >= LONGEST_HEAD {
            return Ok(Err(Refusal::TooLarge));
        }
    }
}

fn read(stream: &mut TcpStream, part: &mut [u8], until: Instant) -> io::Result<usize> {
    stream.set_read_timeout(Some(left(until)?))?;
    stream.read(part)
}

fn write(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + ANSWERING;
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        let written = stream.write(bytes)?;
        if written == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Reads some of what still comes: closed at once, the connection would take the answer with it.
fn part(stream: &mut TcpStream) -> io::Result<()> {
    let until = Instant::now() + PARTING;
    let mut bytes = [0; 2048];
    let mut seen = 0;
    while seen < PARTING_BYTES {
        match read(stream, &mut bytes, until)? {
            0 => break,
            length => seen += length,
        }
    }
    Ok(())
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}
