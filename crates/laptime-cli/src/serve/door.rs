//! The door: who may come in. A port of this machine is open to every page the browser shows and to every user of
//! the machine, so each request says for which host it is, from which page it comes, and has the token.

use super::refusal::Refusal;
use super::request::Request;
use super::token::Token;

/// How a request showed its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// In the address: a first visit.
    Address,
    /// In the cookie of an earlier visit.
    Cookie,
    /// In a header, as programs do.
    Header,
}

/// What is checked, the same for every route.
#[derive(Clone, Debug)]
pub(super) struct Door {
    token: Token,
    /// Cookies know no ports: two servers have cookies of different names.
    cookie: String,
    hosts: [String; 2],
    origins: [String; 2],
}

impl Door {
    /// The door of a server at a port of this machine.
    pub(super) fn new(token: Token, port: u16) -> Self {
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
        let origins = hosts.clone().map(|host| format!("http://{host}"));
        Self { token, cookie: format!("laptime-{port}"), hosts, origins }
    }

    /// Whether the request may be answered.
    pub(super) fn check(&self, request: &Request) -> Result<Shown, Refusal> {
        // A page that lies about its own name has that name here, whatever it resolves to.
        if !self.hosts.contains(&request.host) {
            return Err(Refusal::Host);
        }
        let is_ours = |origin: &String| self.origins.contains(origin);
        let is_asked_here = |site: &String| matches!(site.as_str(), "same-origin" | "none");
        if !request.origin.as_ref().is_none_or(is_ours)
            || !request.fetch_site.as_ref().is_none_or(is_asked_here)
        {
            return Err(Refusal::Origin);
        }
        self.token_of(request)
    }

    fn token_of(&self, request: &Request) -> Result<Shown, Refusal> {
        let checked = |offered: &str, shown| match self.token.is(offered) {
            true => Ok(shown),
            false => Err(Refusal::WrongToken),
        };
        if let Some(offered) = request.query.first("token") {
            return checked(offered, Shown::Address);
        }
        if let Some(offered) = request.authorization.as_deref().and_then(|line| line.strip_prefix("Bearer "))
        {
            return checked(offered, Shown::Header);
        }
        let mut cookies = request.cookie.iter().flat_map(|line| line.split(';'));
        let own = cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        });
        own.map_or(Err(Refusal::NoToken), |offered| checked(offered, Shown::Cookie))
    }

    /// The cookie that stands for the token from the first visit on: sent back to us alone, unseen by scripts.
    pub(super) fn set_cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.token.revealed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(door: &Door, address: &str, headers: &str) -> Result<Shown, Refusal> {
        let head = format!("GET {address} HTTP/1.1\r\n{headers}\r\n\r\n");
        Request::parse(head.as_bytes()).and_then(|request| door.check(&request))
    }

    #[test]
    fn the_token_comes_in_the_address_then_in_the_cookie_or_in_a_header() {
        let token = Token::random().unwrap();
        let door = Door::new(token.clone(), 5278);
        let secret = token.revealed();
        let host = "Host: localhost:5278";
        assert_eq!(asked(&door, &format!("/?token={secret}"), host), Ok(Shown::Address));
        let cookie = format!("{host}\r\nCookie: other=1; laptime-5278={secret}");
        assert_eq!(asked(&door, "/", &cookie), Ok(Shown::Cookie));
        assert_eq!(asked(&door, "/?token=old", &cookie), Err(Refusal::WrongToken));
        let header = format!("{host}\r\nAuthorization: Bearer {secret}");
        assert_eq!(asked(&door, "/", &header), Ok(Shown::Header));
        let others = format!("{host}\r\nCookie: laptime-80={secret}; xlaptime-5278={secret}");
        assert_eq!(asked(&door, "/", &others), Err(Refusal::NoToken));
        assert!(door.set_cookie().ends_with("; Path=/; HttpOnly; SameSite=Strict"));
    }

    #[test]
    fn only_two_hosts_are_served_whoever_has_the_token() {
        let token = Token::random().unwrap();
        let door = Door::new(token.clone(), 5278);
        let address = format!("/?token={}", token.revealed());
        for host in ["127.0.0.1:5278", "localhost:5278"] {
            assert_eq!(asked(&door, &address, &format!("Host: {host}")), Ok(Shown::Address));
        }
        let others = [
            "",
            "evil.com",
            "evil.com:5278",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:5279",
            "localhost.:5278",
            "127.0.0.1.:5278",
            "127.0.0.1.nip.io:5278",
            "[::1]:5278",
            "0.0.0.0:5278",
            "127.1:5278",
            "2130706433:5278",
            "127.0.0.1:5278:5278",
            "127.0.0.1:05278",
            "127.0.0.1:5278/",
            "user@127.0.0.1:5278",
            "127.0.0.1:5278, evil.com",
            "LOCALHOST:5278",
            "127.0.0.1:5278\u{a0}",
        ];
        for host in others {
            let refused = asked(&door, &address, &format!("Host: {host}"));
            assert_eq!(refused, Err(Refusal::Host), "{host}");
        }
    }

    #[test]
    fn pages_of_other_sites_are_refused_also_those_of_another_port() {
        let token = Token::random().unwrap();
        let door = Door::new(token.clone(), 5278);
        let asked = |line: &str| {
            asked(&door, &format!("/?token={}", token.revealed()), &format!("Host: 127.0.0.1:5278\r\n{line}"))
        };
        for own in ["Origin: http://127.0.0.1:5278", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none"] {
            assert_eq!(asked(own), Ok(Shown::Address), "{own}");
        }
        let foreign = [
            "Origin: http://evil.com",
            "Origin: null",
            "Origin: http://127.0.0.1:80",
            "Origin: ",
            "Origin: https://127.0.0.1:5278",
            "Origin: http://127.0.0.1:5278.evil.com",
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
            "Sec-Fetch-Site: what",
        ];
        for line in foreign {
            assert_eq!(asked(line), Err(Refusal::Origin), "{line}");
        }
    }
}
