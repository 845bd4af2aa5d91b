//! `aws`: from object stores, with as many streams as its own settings have.

use super::{Copy, owned};

pub(super) fn words(copy: &Copy<'_>, target: &str) -> Option<Vec<String>> {
    let address = copy.place.address().filter(|_| copy.place.scheme() == "s3")?;
    let url = format!("s3://{}{}", address.host, address.plain_path());
    let mut words = owned(&["aws", "s3", "cp", &url, target]);
    words.extend((!copy.one_object).then(|| "--recursive".to_owned()));
    Some(words)
}
