//! `rsync`: over SSH, on one stream; what was copied before is not copied again.

use super::{Copy, owned};

pub(super) fn words(copy: &Copy<'_>, target: &str) -> Option<Vec<String>> {
    let address = copy.place.address().filter(|_| copy.place.scheme() == "sftp")?;
    let user = address.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
    let path = address.plain_path();
    // A slash at the end copies what is in the folder, and not the folder.
    let slash = if copy.one_object { "" } else { "/" };
    let from = format!("{user}{}:{}{slash}", address.bracketed_host(), path.trim_end_matches('/'));
    let mut words = owned(&["rsync", "--archive", "--partial"]);
    if address.port != address.scheme.port() {
        words.extend(owned(&["--rsh", &format!("ssh -p {}", address.port)]));
    }
    words.extend([from, target.to_owned()]);
    Some(words)
}
