//! `rclone`, with a remote made on the spot, so that nothing has to be configured.

use std::env;

use super::{Copy, owned};

pub(super) fn words(copy: &Copy<'_>, target: &str) -> Option<Vec<String>> {
    let from = match copy.place.scheme() {
        "http" | "https" => web(copy)?,
        "s3" => store(copy)?,
        "sftp" => shell(copy)?,
        _ => return None,
    };
    let verb = if copy.one_object { "copyto" } else { "copy" };
    let streams = copy.streams.to_string();
    let mut words = owned(&["rclone", verb, &from, target]);
    words.extend(match copy.one_object {
        // Without the other option small files would go on one stream.
        true => owned(&["--multi-thread-streams", &streams, "--multi-thread-cutoff", "1M"]),
        false => owned(&["--transfers", &streams]),
    });
    Some(words)
}

fn web(copy: &Copy<'_>) -> Option<String> {
    let url = copy.place.url();
    if !copy.one_object {
        return Some(format!(":http,url=\"{}/\":", url.trim_end_matches('/')));
    }
    let (folder, _) = url.rsplit_once('/')?;
    Some(format!(":http,url=\"{folder}/\":{}", copy.place.address()?.file_name()))
}

fn store(copy: &Copy<'_>) -> Option<String> {
    let address = copy.place.address()?;
    let endpoint = copy.place.endpoint().map(|url| format!(",endpoint=\"{url}\"")).unwrap_or_default();
    Some(format!(":s3,env_auth=true{endpoint}:{}{}", address.host, address.plain_path()))
}

fn shell(copy: &Copy<'_>) -> Option<String> {
    let address = copy.place.address()?;
    let user = address.user.as_ref().map(|user| format!(",user={user}")).unwrap_or_default();
    let usual = address.port == address.scheme.port();
    let port = if usual { String::new() } else { format!(",port={}", address.port) };
    // It checks host keys only where it is told by which.
    let known = env::home_dir()?.join(".ssh/known_hosts");
    let known = format!(",known_hosts_file={}", known.display());
    Some(format!(":sftp,host={}{port}{user}{known}:{}", address.host, address.plain_path()))
}
