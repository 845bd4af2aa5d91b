//! Bytes in and out of the network namespace, which other programs may share.

use laptime_core::Gauge;

use super::{Readings, System};

pub(super) fn read(system: &dyn System, readings: &mut Readings) {
    let Some(text) = system.text("/proc/self/net/dev") else { return };
    let interfaces: Vec<(u64, u64)> = text.lines().filter_map(received_and_sent).collect();
    readings.push((Gauge::NetworkReceivedBytes, interfaces.iter().map(|(received, _)| received).sum()));
    readings.push((Gauge::NetworkSentBytes, interfaces.iter().map(|(_, sent)| sent).sum()));
}

/// `name: received … sent …`, eight columns each; loopback is no network.
fn received_and_sent(line: &str) -> Option<(u64, u64)> {
    let (name, columns) = line.split_once(':')?;
    if name.trim() == "lo" {
        return None;
    }
    let mut columns = columns.split_ascii_whitespace();
    let received = columns.next()?.parse().ok()?;
    let sent = columns.nth(7)?.parse().ok()?;
    Some((received, sent))
}
