//! The token: who has it may look. Another user of the machine reaches the port, but does not know it.

use std::fmt;
use std::io;

/// 256 bits: nobody guesses them.
const BYTES: usize = 32;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A secret of this one server.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    /// A new one, from the system's random numbers.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0_u8; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self(letters(&bytes)))
    }

    /// Whether this is it, in a time that does not say how much of it is right.
    pub(super) fn is(&self, offered: &str) -> bool {
        let (own, offered) = (self.0.as_bytes(), offered.as_bytes());
        let differs = own.iter().zip(offered).fold(0, |differs, (a, b)| differs | (a ^ b));
        own.len() == offered.len() && std::hint::black_box(differs) == 0
    }

    /// The token for those who may have it: the address that is printed, and the cookie.
    pub(super) fn revealed(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token")
    }
}

/// Six bits a letter, each of which may stand in an address and in a cookie.
fn letters(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..=three.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_new_each_time_and_right_only_whole() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.revealed().len(), 43);
        assert_ne!(one.revealed(), other.revealed());
        assert!(one.is(one.revealed()));
        let longer = format!("{}A", one.revealed());
        for wrong in ["", &one.revealed()[1..], &one.revealed()[..42], &longer, other.revealed()] {
            assert!(!one.is(wrong), "{wrong}");
        }
        assert_eq!(format!("{one:?}"), "Token");
    }

    #[test]
    fn every_bit_is_in_the_letters() {
        assert_eq!(letters(&[0xff, 0xff, 0xff]), "____");
        assert_eq!(letters(&[0, 0x10, 0x83, 0x10]), "ABCDEA");
        assert_eq!(letters(&[0xfb, 0xef]), "--8");
    }
}
