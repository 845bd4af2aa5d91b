//! Addresses that only mean something inside a network: a server outside must not send us there.

use std::net::{IpAddr, Ipv4Addr};

/// Whether an address lies inside: of this machine, of a private network or of a link.
pub(super) fn is_inside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_inside_v4(address),
        IpAddr::V6(address) => {
            let unique_local = address.segments()[0] & 0xfe00 == 0xfc00;
            let link_local = address.segments()[0] & 0xffc0 == 0xfe80;
            address.is_loopback() || address.is_unspecified() || unique_local || link_local
        }
    }
}

fn is_inside_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    // 100.64.0.0/10 is shared behind the routers of providers, and clouds keep services there.
    let shared = a == 100 && (b & 0xc0) == 64;
    address.is_loopback() || address.is_private() || address.is_link_local() || a == 0 || shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_machine_house_and_cloud_are_inside_and_others_are_not() {
        let inside = [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.31.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
        ];
        for address in inside.into_iter().chain(["::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "::"]) {
            assert!(is_inside(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "203.0.113.5", "2606:4700::1"] {
            assert!(!is_inside(address.parse().unwrap()), "{address}");
        }
    }
}
