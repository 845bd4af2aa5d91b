//! The control connection: commands, replies, and the data connections they open.

use std::io::{BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use crate::remote::address::{Address, Scheme};
use crate::remote::dial::Reach;
use crate::remote::limits::Limits;
use crate::remote::line::read_line;
use crate::remote::netrc::Login;
use crate::remote::tls;
use crate::remote::wire::Wire;
use crate::source::SourceError;

use super::buffered;

/// Lines of one reply.
const MOST_LINES: usize = 1000;

/// The control connection of a session.
pub(super) struct Control {
    wire: BufReader<Wire>,
    host: String,
    limits: Limits,
    /// The sessions that data connections continue; `None` where nothing is encrypted.
    private: Option<Arc<ClientConfig>>,
}

/// A reply: its code and its last line.
pub(super) struct Reply {
    pub(super) code: u16,
    pub(super) text: String,
}

impl Control {
    /// Connects and waits for the greeting.
    pub(super) fn open(address: &Address, limits: &Limits) -> Result<Self, SourceError> {
        let wire = Wire::open(&address.host, address.port, Reach::Anywhere, limits)?;
        let private = if address.scheme == Scheme::Ftps { Some(tls::apart()?) } else { None };
        let wire = match &private {
            Some(sessions) => wire.encrypted_with(Arc::clone(sessions))?,
            None => wire,
        };
        let mut control = Self { wire: buffered(wire), host: address.host.clone(), limits: *limits, private };
        control.wire.get_mut().allow(limits.connect);
        control.reply()?;
        Ok(control)
    }

    /// The same, encrypted from here on.
    pub(super) fn encrypted(mut self) -> Result<Self, SourceError> {
        let refused = |error| SourceError::Untrusted(format!("it does not encrypt: {error}"));
        self.ask("AUTH TLS").map_err(refused)?;
        // Bytes that came before would not be encrypted, and are nobody's.
        let sessions = tls::apart()?;
        let wire = self.wire.into_inner().encrypted_with(Arc::clone(&sessions))?;
        Ok(Self { wire: buffered(wire), private: Some(sessions), ..self })
    }

    pub(super) fn connect(&self) -> Duration {
        self.wire.get_ref().opening.connect
    }

    pub(super) fn tls(&self) -> Option<Duration> {
        self.wire.get_ref().opening.tls
    }

    pub(super) fn log_in(&mut self, login: &Login) -> Result<(), SourceError> {
        self.wire.get_mut().allow(self.limits.answer);
        if self.ask(&format!("USER {}", login.user))?.code == 331 {
            self.ask(&format!("PASS {}", login.password))?;
        }
        if self.private.is_some() {
            self.ask("PBSZ 0")?;
            self.ask("PROT P")?;
        }
        self.ask("TYPE I").map(drop)
    }

    /// The folder that the login leads to.
    pub(super) fn home(&mut self) -> Result<String, SourceError> {
        let text = self.ask("PWD")?.text;
        let quoted = text.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
        Ok(quoted.map_or("/".to_owned(), |(path, _)| path.replace("\"\"", "\"")))
    }

    /// The bytes of a file; `None` of what is none.
    pub(super) fn size(&mut self, path: &str) -> Result<Option<u64>, SourceError> {
        match self.ask(&format!("SIZE {path}")) {
            Ok(reply) => Ok(reply.text.trim().parse().ok()),
            Err(SourceError::NotFound | SourceError::BadAnswer(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a command and takes its reply; one that says no is an error.
    pub(super) fn ask(&mut self, command: &str) -> Result<Reply, SourceError> {
        self.wire.get_mut().allow(self.limits.answer);
        self.send(command)?;
        self.reply()
    }

    /// Opens a data connection for the last of the commands; and the bytes that the server says will come.
    pub(super) fn transfer(
        &mut self,
        commands: &[String],
    ) -> Result<(BufReader<Wire>, Option<u64>), SourceError> {
        let port = self.passive()?;
        let address = SocketAddr::new(self.wire.get_ref().address, port);
        // Always to the machine of the control connection, whatever address the server names.
        let data = Wire::open_at(&self.host, address, &self.limits)?;
        let mut told = None;
        for command in commands {
            let reply = self.ask(command)?;
            told = promised(&reply.text);
        }
        let data = match &self.private {
            Some(sessions) => data.encrypted_with(Arc::clone(sessions))?,
            None => data,
        };
        Ok((buffered(data), told))
    }

    /// Waits for the reply that follows a transfer.
    pub(super) fn finish(&mut self) -> Result<(), SourceError> {
        self.wire.get_mut().allow(self.limits.answer);
        self.reply().map(drop)
    }

    /// The port of the next data connection.
    fn passive(&mut self) -> Result<u16, SourceError> {
        let port = match self.ask("EPSV") {
            Ok(reply) => extended_port(&reply.text),
            Err(SourceError::BadAnswer(_) | SourceError::NotFound) => passive_port(&self.ask("PASV")?.text),
            Err(error) => return Err(error),
        };
        port.ok_or_else(|| SourceError::BadAnswer("it names no port for the data".to_owned()))
    }

    fn send(&mut self, command: &str) -> Result<(), SourceError> {
        // A name with an end of line in it would be another command.
        if command.chars().any(char::is_control) {
            return Err(SourceError::BadAddress("a name with control characters"));
        }
        let line = format!("{command}\r\n");
        self.wire.get_mut().write_all(line.as_bytes()).map_err(|error| self.wire.get_ref().failed(&error))
    }

    /// The next reply, all its lines.
    fn reply(&mut self) -> Result<Reply, SourceError> {
        let failed = |wire: &BufReader<Wire>, error: &std::io::Error| wire.get_ref().failed(error);
        let first = read_line(&mut self.wire).map_err(|error| failed(&self.wire, &error))?;
        let bad = || SourceError::BadAnswer("it does not speak FTP".to_owned());
        let code: u16 = first.get(..3).and_then(|code| code.parse().ok()).ok_or_else(bad)?;
        let mut last = first;
        let end = format!("{code} ");
        for _ in 0..MOST_LINES {
            if last.len() == 3 || last.starts_with(&end) {
                return understood(code, last.get(4..).unwrap_or_default());
            }
            last = read_line(&mut self.wire).map_err(|error| failed(&self.wire, &error))?;
        }
        Err(bad())
    }
}

fn understood(code: u16, text: &str) -> Result<Reply, SourceError> {
    match code {
        100..=399 => Ok(Reply { code, text: text.to_owned() }),
        421 => Err(SourceError::Unreachable(text.to_owned())),
        430 | 530 | 532 => Err(SourceError::Denied(format!("it wants another login: {text}"))),
        550 => Err(SourceError::NotFound),
        _ => Err(SourceError::BadAnswer(format!("{code} {text}"))),
    }
}

/// `Entering Extended Passive Mode (|||6446|)`.
fn extended_port(text: &str) -> Option<u16> {
    let inside = text.split_once('(')?.1.split_once(')')?.0;
    inside.trim_matches(|letter: char| !letter.is_ascii_digit()).parse().ok().filter(|port| *port > 0)
}

/// `Entering Passive Mode (127,0,0,1,25,46)`.
fn passive_port(text: &str) -> Option<u16> {
    let numbers = text.split(|letter: char| !letter.is_ascii_digit()).filter(|number| !number.is_empty());
    let numbers: Vec<u8> = numbers.map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let [.., high, low] = numbers.as_slice() else { return None };
    Some(u16::from_be_bytes([*high, *low])).filter(|port| numbers.len() == 6 && *port > 0)
}

/// `Opening BINARY mode data connection for x (1234 bytes).`
fn promised(text: &str) -> Option<u64> {
    text.rsplit_once('(')?.1.strip_suffix(" bytes).")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_taken_and_addresses_are_not() {
        assert_eq!(extended_port("Entering Extended Passive Mode (|||6446|)"), Some(6446));
        assert_eq!(passive_port("Entering Passive Mode (10,0,0,1,25,46)."), Some(25 * 256 + 46));
        for text in ["", "(|||0|)", "(|||99999|)", "(1,2,3)", "(1,2,3,4,5,600)"] {
            assert_eq!((extended_port(text), passive_port(text)), (None, None), "{text}");
        }
        assert_eq!(promised("Opening BINARY mode data connection for a b (1234 bytes)."), Some(1234));
    }
}
