//! Quantities: what there is so much of, over time.

use laptime_core::{Counter, Metric};

/// What a timeline has amounts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// CPUs that the process kept busy since the last reading.
    BusyCpus,
    /// Resident memory.
    ResidentBytes,
    /// Read from storage since the last reading.
    StorageRead,
    /// Written to storage since the last reading.
    StorageWritten,
    /// Received from the network since the last reading.
    NetworkReceived,
    /// Sent to the network since the last reading.
    NetworkSent,
    /// Share of the time since the last reading in which the device computed.
    DeviceBusy,
    /// Memory of the device that is taken.
    DeviceMemory,
    /// What the device draws.
    DevicePower,
    /// How hot the device is.
    DeviceTemperature,
    /// What the code counted, from its begin.
    Counted(Counter),
    /// What the training measured.
    Measured(Metric),
}

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityUnit {
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// A number of something.
    Count,
    /// A share, 0 to 1.
    Share,
    /// Watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
}

impl Quantity {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BusyCpus => "busy CPUs",
            Self::ResidentBytes => "resident memory",
            Self::StorageRead => "storage read",
            Self::StorageWritten => "storage written",
            Self::NetworkReceived => "network received",
            Self::NetworkSent => "network sent",
            Self::DeviceBusy => "device busy",
            Self::DeviceMemory => "device memory",
            Self::DevicePower => "device power",
            Self::DeviceTemperature => "device temperature",
            Self::Counted(counter) => counted_name(counter),
            Self::Measured(metric) => metric.name(),
        }
    }

    /// Its unit.
    #[must_use]
    pub fn unit(self) -> QuantityUnit {
        match self {
            Self::BusyCpus | Self::Measured(_) => QuantityUnit::Count,
            Self::ResidentBytes | Self::DeviceMemory => QuantityUnit::Bytes,
            Self::StorageRead | Self::StorageWritten | Self::NetworkReceived | Self::NetworkSent => {
                QuantityUnit::BytesPerSecond
            }
            Self::DeviceBusy => QuantityUnit::Share,
            Self::DevicePower => QuantityUnit::Watts,
            Self::DeviceTemperature => QuantityUnit::Celsius,
            Self::Counted(counter) => counted_unit(counter),
        }
    }
}

fn counted_name(counter: Counter) -> &'static str {
    match counter {
        Counter::FileReadBytes => "data files read",
        Counter::BatchBytes => "batches",
        Counter::HostToDeviceBytes => "host to device",
        Counter::BetweenRanksBytes => "between ranks",
        Counter::Tokens => "tokens",
        Counter::PageableBytes => "host to device, pageable",
        Counter::BlockingBytes => "host to device, blocking",
        Counter::DeviceToHostBytes => "device to host",
        Counter::LoadedBatches => "loaded batches",
        Counter::LoadingNs => "loading",
        Counter::LoadingCpuNs => "loading on a CPU",
        Counter::LoadingQueueNs => "loading, waiting for a CPU",
        Counter::CollateNs => "collate",
    }
}

fn counted_unit(counter: Counter) -> QuantityUnit {
    match counter {
        Counter::Tokens | Counter::LoadedBatches => QuantityUnit::Count,
        Counter::LoadingNs | Counter::LoadingCpuNs | Counter::LoadingQueueNs | Counter::CollateNs => {
            QuantityUnit::Nanoseconds
        }
        _ => QuantityUnit::Bytes,
    }
}
