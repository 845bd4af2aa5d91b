//! Why a request is not answered, in words for whoever sent it.

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No request that a browser would send.
    Malformed,
    /// It takes too long to come.
    Slow,
    /// Too many bytes or headers.
    TooLarge,
    /// It brings something.
    Body,
    /// It wants to change something.
    Method,
    /// It is meant for another host, as pages do that lie about their own.
    Host,
    /// A page of another site asks.
    Origin,
    /// The token is missing.
    NoToken,
    /// The token is that of another server.
    WrongToken,
    /// Nothing is there.
    NotFound,
    /// Making the answer broke off.
    Broken,
}

impl Refusal {
    /// The status, with its words.
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::Malformed | Self::Body => "400 Bad Request",
            Self::Host | Self::Origin | Self::NoToken | Self::WrongToken => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::Method => "405 Method Not Allowed",
            Self::Slow => "408 Request Timeout",
            Self::TooLarge => "431 Request Header Fields Too Large",
            Self::Broken => "500 Internal Server Error",
        }
    }

    /// What is wrong and what to do.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Malformed => "laptime serve does not understand this request.\n",
            Self::Slow => "The request took too long to come.\n",
            Self::TooLarge => "The request is too large: at most 8 KiB and 64 headers.\n",
            Self::Body => "laptime serve only shows runs: it takes no data.\n",
            Self::Method => "laptime serve only shows runs: GET and HEAD are all it answers.\n",
            Self::Host => {
                "This request is for another host or port.\n\
                 Open the address that `laptime serve` printed; behind `ssh -L` use the same port on both sides.\n"
            }
            Self::Origin => {
                "A page of another site asked for this.\n\
                 Paste the address that `laptime serve` printed into the address bar.\n"
            }
            Self::NoToken => {
                "The token is missing.\n\
                 Open the whole address that `laptime serve` printed, with `?token=...`; it needs a cookie.\n"
            }
            Self::WrongToken => {
                "This is not the token of this server: each start has a new one.\n\
                 Open the address that `laptime serve` printed last.\n"
            }
            Self::NotFound => "There is nothing here. All runs are at /\n",
            Self::Broken => "Making this page broke off. `laptime report RUN` shows the run.\n",
        }
    }
}
