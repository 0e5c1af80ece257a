//! A contract's `cache`: for how long, which entities a call reads, and what of its caller decides what it reads.

use latchkey_model::model::{self, EntityId, ExprKind, Method, StepKind, each_step};

/// A contract that may be answered from what an earlier call has read.
#[derive(Debug)]
pub(crate) struct Cached {
    /// Its number among the contracts with a cache.
    pub(crate) number: usize,
    /// For how long.
    pub(crate) seconds: u32,
    /// The entities it reads, each once.
    pub(crate) reads: Vec<EntityId>,
    /// What of the caller decides what is read.
    pub(crate) by: ByCaller,
}

/// What of a caller decides what a call reads. What `allow` tests of the caller, and what is shown, is not meant: that
/// is decided for each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ByCaller {
    /// Nothing.
    No,
    /// The roles.
    Roles,
    /// All that is known of the caller.
    All,
}

impl Cached {
    /// Plans the cache of a contract. One that is not a GET, or writes, is never answered from memory.
    pub(super) fn plan(contract: &model::Contract) -> Option<Cached> {
        let seconds = contract.facts.cache.as_ref()?.value;
        let is_get = contract.route.as_ref().is_some_and(|route| route.method == Method::Get);
        let (mut reads, mut writes, mut by) = (Vec::new(), false, ByCaller::No);
        each_step(&contract.steps, &mut |step| {
            match &step.kind {
                StepKind::Read(read) => reads.extend(read.entities()),
                StepKind::Write(_) | StepKind::Transact(_) => writes = true,
                StepKind::Allow(_) | StepKind::Return(_) => return,
                _ => {}
            }
            step.expressions(&mut |value| {
                value.walk(&mut |part| {
                    by = by.max(match part.kind {
                        ExprKind::CallerId | ExprKind::Owns(_) => ByCaller::All,
                        ExprKind::HasRole(_) => ByCaller::Roles,
                        _ => ByCaller::No,
                    });
                });
            });
        });
        reads.sort_unstable();
        reads.dedup();
        (is_get && !writes && !reads.is_empty()).then_some(Cached { number: 0, seconds, reads, by })
    }
}
