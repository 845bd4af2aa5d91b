//! Signatures of version 4: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use std::time::{SystemTime, UNIX_EPOCH};

use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign};

use crate::remote::address::Address;

use super::Credentials;

/// Signs requests. Its `Debug` shows no key.
#[derive(Clone, Debug)]
pub(in crate::remote) struct Signer {
    credentials: Credentials,
}

impl Signer {
    /// `None` without keys.
    pub(super) fn new(credentials: Credentials) -> Option<Self> {
        credentials.key.is_some().then_some(Self { credentials })
    }

    /// The fields of a request that has no body, each with its end of line.
    pub(in crate::remote) fn fields(&self, address: &Address) -> String {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        self.fields_at(address, &moment(seconds))
    }

    fn fields_at(&self, address: &Address, moment: &str) -> String {
        let Some((id, secret)) = &self.credentials.key else { return String::new() };
        let nothing = hex(digest(&SHA256, b"").as_ref());
        let token = self.credentials.token.as_ref();
        let mut named = vec![
            ("host", address.authority()),
            ("x-amz-content-sha256", nothing.clone()),
            ("x-amz-date", moment.to_owned()),
        ];
        named.extend(token.map(|token| ("x-amz-security-token", token.clone())));
        let lines: String = named.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let query = address.query.as_deref().unwrap_or_default();
        let request = format!("GET\n{}\n{query}\n{lines}\n{names}\n{nothing}", address.path);
        let day = &moment[..8];
        let scope = format!("{day}/{}/s3/aws4_request", self.credentials.region);
        let text = format!(
            "AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}",
            hex(digest(&SHA256, request.as_bytes()).as_ref())
        );
        let keyed = |key: &[u8], text: &str| sign(&Key::new(HMAC_SHA256, key), text.as_bytes());
        let key = keyed(format!("AWS4{secret}").as_bytes(), day);
        let key = keyed(key.as_ref(), &self.credentials.region);
        let key = keyed(keyed(key.as_ref(), "s3").as_ref(), "aws4_request");
        let signature = hex(keyed(key.as_ref(), &text).as_ref());
        let mut fields: String =
            named[1..].iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        fields += &format!(
            "Authorization: AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}\r\n"
        );
        fields
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A time as signatures have it: `20130524T000000Z`.
fn moment(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // The calendar of days since 1970, years beginning in March: howardhinnant.github.io/date_algorithms.html
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest % 3600 / 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        assert_eq!(moment(0), "19700101T000000Z");
        assert_eq!(moment(1_369_353_600), "20130524T000000Z");
        assert_eq!(moment(1_709_251_199), "20240229T235959Z");
    }

    #[test]
    fn the_signature_is_that_of_amazons_example() {
        // "GET Bucket (List Objects)" of docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
        let credentials = Credentials {
            key: Some(("AKIAIOSFODNN7EXAMPLE".into(), "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into())),
            token: None,
            region: "us-east-1".into(),
        };
        let signer = Signer::new(credentials).unwrap();
        let address = Address::parse("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J").unwrap();
        let fields = signer.fields_at(&address, "20130524T000000Z");
        let signature = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        assert!(fields.contains(&format!("Signature={signature}")), "{fields}");
        assert!(!format!("{signer:?}").contains("wJalr"));
    }
}
