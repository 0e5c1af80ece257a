//! The counters of the server for pages, which ask for them and draw them.

use std::time::Duration;

use latchkey_table::Text;

use super::Service;
use super::hot::HotPartition;

/// The counters of a server since it started.
#[derive(Debug, Clone)]
pub struct Figures {
    /// How long it has run.
    pub uptime: Duration,
    /// How many requests are being answered.
    pub in_flight: u64,
    /// The counters of each contract that is served, in the order of systems and documents.
    pub contracts: Vec<ContractFigures>,
}

/// What is counted for a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractFigures {
    /// The place of its system among those of the service.
    pub system: usize,
    /// Its id.
    pub contract: Text,
    /// The counters.
    pub counts: Counts,
}

/// The counters of a contract.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were answered.
    pub calls: u64,
    /// Those that were refused, with a status of 4xx.
    pub refused: u64,
    /// Those that failed, with a status of 5xx.
    pub failed: u64,
    /// Calls by the lowest bound in [`latency_bounds`] that they are within; the last counter is for those above all.
    pub latencies: Vec<u64>,
    /// Half read units that were consumed.
    pub read_halves: u64,
    /// Write units that were consumed.
    pub write_units: u64,
}

/// The bounds of latencies, in microseconds.
pub fn latency_bounds() -> impl Iterator<Item = u64> {
    crate::metrics::bounds()
}

impl Service {
    /// The partitions that calls ask for most; one call in sixteen is looked at. None on a server without pages.
    pub fn hot_partitions(&self, limit: usize) -> Vec<HotPartition> {
        self.hot.as_ref().map_or_else(Vec::new, |hot| hot.most(limit))
    }

    /// The counters of the server.
    pub fn figures(&self) -> Figures {
        let mut contracts = Vec::new();
        for (system, runtime) in self.runtimes.iter().enumerate() {
            for (_, info) in runtime.system().routes() {
                // Contracts have their numbers in this order.
                let counts = self.metrics.counts(contracts.len());
                contracts.push(ContractFigures { system, contract: info.id.clone(), counts });
            }
        }
        let (uptime, in_flight) = self.metrics.since();
        Figures { uptime, in_flight, contracts }
    }
}
