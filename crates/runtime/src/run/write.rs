//! Writes of a call.

use latchkey_model::model::{BindingId, Verb};
use latchkey_table::{
    Action, Capacity, Condition, Consistency, Error, Get, Got, Invalid, Item, Key, Leg, Returning,
    Text, Transact, Transacted, Update, Wrote, holds,
};
use latchkey_value::limits::LEGS_MAX;

use super::each::Element;
use super::send::Sending;
use super::task::Fence;
use super::{Ended, Session};
use crate::bug::{Bug, Damage};
use crate::evaluate::{Bound, Fault, Values};
use crate::plan::{self, LegNode, OnFailure};
use crate::problem::{FieldError, Problem};
use crate::request::as_stored;
use crate::work::Ending;

/// A transaction before it is handed in.
#[derive(Default)]
pub(super) struct Legs<'a> {
    pub(super) filled: Vec<FilledLeg<'a>>,
    /// What the names stood for before the transaction, to be restored if it is refused.
    before: Vec<(BindingId, Bound)>,
    /// Which attributes were assumed before the transaction, to be restored if it is refused.
    assumed: Vec<(BindingId, Text)>,
    /// If the only leg insists on what was read, so that its image is known: the condition without that.
    pinned: Option<Condition>,
    /// The messages it sends.
    pub(super) sends: Vec<Sending<'a>>,
}

/// One leg of a transaction, filled with the values of the call.
pub(super) struct FilledLeg<'a> {
    pub(super) leg: Leg,
    /// The statement it was filled from. The leg of a message has none.
    pub(super) plan: Option<&'a plan::Leg>,
    /// If its condition also keeps declared bounds: the condition that the document asks for.
    pub(super) asked: Option<Condition>,
    /// The element that it is for, by its name, if it is one of an `each`.
    pub(super) element: Option<(BindingId, Element)>,
    /// If it might erase what only a view has: what it asks so that it does not.
    pub(super) spares: Option<Condition>,
}

/// Where a leg that was handed in comes from, for what its refusal means.
struct Origin<'a> {
    plan: Option<&'a plan::Leg>,
    asked: Option<Condition>,
    element: Option<(BindingId, Element)>,
    /// What it asks so that it does not erase what only a view has, and the key of the view.
    spares: Option<(Key, Condition)>,
}

impl<'a> FilledLeg<'a> {
    /// The leg, which is handed in, and the rest, which stays.
    fn apart(self) -> Result<(Leg, Origin<'a>), Bug> {
        let FilledLeg { leg, plan, asked, element, spares } = self;
        let spares = spares.map(|spares| Ok((leg.key()?, spares))).transpose();
        let spares = spares.map_err(|_: Invalid| Bug::new("a write has no key"))?;
        Ok((leg, Origin { plan, asked, element, spares }))
    }
}

impl<'a> Session<'a> {
    /// A write of one item for itself.
    pub(super) async fn write_one(
        &mut self,
        leg: &'a plan::Leg,
        at: usize,
    ) -> Result<usize, Ended> {
        // A check writes nothing, so no backend has it alone; and a record goes with its effect.
        let fenced = self.call.held.is_some_and(|held| held.ordered && held.within.is_some());
        if leg.verb == Verb::Check || self.call.named.is_some() || fenced {
            let mut legs = Legs { assumed: self.frame.assumed.clone(), ..Legs::default() };
            let read = leg.target.and_then(|target| self.frame.as_stored(target));
            self.fill(leg, &mut legs)?;
            let only = legs.filled.first_mut();
            if let Some(FilledLeg { leg: Leg::Update(update), asked, .. }) = only {
                match (read, leg.result) {
                    (Some(read), _) => legs.pinned = pin(update, &read),
                    (None, Some(result)) => {
                        let stored = self.unread(update).await?;
                        let wanted = update.condition.as_ref();
                        if wanted.is_some_and(|wanted| !holds(wanted, stored.as_ref())) {
                            return self.lone_failed(leg, asked.as_ref(), stored.as_ref());
                        }
                        legs.pinned = self.pin_unread(leg, update, result, stored)?;
                    }
                    (None, None) => {}
                }
            }
            return self.send(legs, at).await;
        }
        let filled = self.filler().leg(leg)?;
        self.is_where_it_was_read(leg, &filled.leg)?;
        let stand = self.lane(Some(leg), &filled.leg)?;
        self.lets_pass(std::slice::from_ref(&stand))?;
        // Kept for a look at the item, where the store may not tell what it refused the write for.
        let depends = leg.absent.is_some() || filled.asked.is_some();
        let unsure = depends && !self.call.runtime.backend.tells_absence();
        let kept = unsure.then(|| filled.leg.clone());
        let wants = leg.result.is_some() && leg.verb != Verb::Put;
        let returning = if wants { Returning::New } else { Returning::Nothing };
        match self.ask::<Wrote>(filled.leg.alone(returning)).await {
            Ok(wrote) => {
                self.committed()?;
                match (leg.result, wrote.item.filter(|_| wants), filled.image) {
                    (None, ..) => {}
                    (Some(binding), Some(left), _) => match self.left(leg.entity, left)? {
                        Some(seen) => self.frame.bind_seen(binding, seen),
                        None => return Err(Bug::new("a write left an item of another type").into()),
                    },
                    (Some(binding), None, Some(image)) if !wants => {
                        drop(self.bind_image(leg, binding, image));
                    }
                    (Some(_), None, _) => {
                        return Err(Bug::new("the store did not tell what a write left").into());
                    }
                }
                Ok(at + 1)
            }
            Err(Error::ConditionFailed(failed)) => {
                self.loses_at(Some(0), std::slice::from_ref(&stand));
                let item = match (failed.item, kept) {
                    (None, Some(kept)) => self.look(&kept).await?,
                    (item, _) => item,
                };
                self.lone_failed(leg, filled.asked.as_ref(), item.as_ref())
            }
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// What happens when a lone write is refused: by the condition that the document asks for, or by declared bounds.
    fn lone_failed(
        &self,
        leg: &plan::Leg,
        asked: Option<&Condition>,
        item: Option<&Item>,
    ) -> Result<usize, Ended> {
        if leaves_bounds(asked, item) {
            return Err(self.out_of_bounds(leg, item));
        }
        self.leg_failed(leg, item)
    }

    /// Counts a write of this call that is done.
    fn committed(&mut self) -> Result<(), Bug> {
        self.leaves_lanes();
        let commits = self.frame.commits.checked_add(1);
        self.frame.commits = commits.ok_or_else(|| Bug::new("a call writes without an end"))?;
        Ok(())
    }

    /// The item of a write that was refused, as it is now. What is found decides: the answer is that of a call at this
    /// instant. If the write would succeed by now, the contract runs again.
    async fn look(&mut self, refused: &Leg) -> Result<Option<Item>, Ended> {
        let key = refused.key().map_err(|_| Bug::new("a write has no key"))?;
        let get = Get { table: refused.table().clone(), key, consistency: Consistency::Strong };
        let got: Result<Got, Error> = self.ask(get).await;
        let got = got.map_err(|error| self.refused(&error))?;
        let wanted = refused.condition().is_none_or(|wanted| holds(wanted, got.item.as_ref()));
        if wanted { Err(Ended::Again) } else { Ok(got.item) }
    }

    /// What happens when a leg is refused. An item of another type is absent, and so is one that has ended. An item of
    /// another type is damage to a leg without an `else`, and to one that would be tried again: it would meet that item
    /// each time.
    fn leg_failed(&self, leg: &plan::Leg, item: Option<&Item>) -> Result<usize, Ended> {
        let entity = &self.call.system.entities[leg.entity];
        let own = |item: &Item| entity.is_type_of(&self.call.system.discriminator, item);
        let over = |item: &Item| {
            let end = entity.end.as_ref().zip(self.frame.now.as_ref());
            end.is_some_and(|(end, now)| end.is_past(item, now))
        };
        let failure = match &leg.absent {
            Some(absent) if !item.is_some_and(|item| own(item) && !over(item)) => absent,
            _ => &leg.failure,
        };
        if let (OnFailure::Nothing | OnFailure::Retry, Some(item)) = (failure, item)
            && !own(item)
        {
            let key = self.call.system.table.key.of(item);
            let key = key.ok_or_else(|| Bug::new("an item was met that has no key"))?;
            return Err(self.damaged(&entity.name, &key, &Damage::OtherType));
        }
        self.fail(failure)
    }

    /// Has a name stand for what a write leaves. What the item lacked it still lacks, unless it was written.
    fn bind_image(&mut self, leg: &plan::Leg, binding: BindingId, image: Item) -> Bound {
        let written = |name: &Text| {
            let mut written = leg.values.iter().chain(&leg.adds);
            written.any(|assign| assign.attribute == *name)
        };
        let lacked = self.frame.assumed.iter().filter(|(of, _)| Some(*of) == leg.target);
        let lacked = lacked.filter(|(_, name)| !written(name)).map(|(_, name)| name.clone());
        let lacked: Vec<Text> = lacked.collect();
        let before = self.frame.bind(binding, Bound::Item(image));
        self.frame.assumed.extend(lacked.into_iter().map(|name| (binding, name)));
        before
    }

    /// Reads what an update is about to change, for a record has to hold what it leaves.
    async fn unread(&mut self, update: &Update) -> Result<Option<Item>, Ended> {
        let (table, key) = (update.table.clone(), update.key.clone());
        let get = Get { table, key, consistency: Consistency::Strong };
        let got: Result<Got, Error> = self.ask(get).await;
        Ok(got.map_err(|error| self.refused(&error))?.item)
    }

    /// Has a name stand for what an update will leave of an item that meets its condition.
    fn pin_unread(
        &mut self,
        leg: &plan::Leg,
        update: &mut Update,
        result: BindingId,
        item: Option<Item>,
    ) -> Result<Option<Condition>, Ended> {
        // An upsert makes an item that is not there.
        let key_alone = || update.table.key.item(&update.key);
        let stored = item.clone().unwrap_or_else(key_alone);
        let seen = item.map(|item| self.seen(leg.entity, item)).transpose()?.flatten();
        let read = seen.map_or_else(key_alone, |seen| seen.item);
        let image = self.frame.image(&update.actions, &read)?;
        self.frame.bind(result, Bound::Item(image));
        Ok(pin(update, &stored))
    }

    pub(super) async fn transact(
        &mut self,
        nodes: &'a [LegNode],
        at: usize,
    ) -> Result<usize, Ended> {
        let mut legs = Legs { assumed: self.frame.assumed.clone(), ..Legs::default() };
        self.fill_all(nodes, &mut legs)?;
        if legs.filled.is_empty() && legs.sends.is_empty() {
            return Ok(at + 1);
        }
        self.keep(&mut legs)?;
        self.send(legs, at).await
    }

    fn fill_all(&mut self, nodes: &'a [LegNode], legs: &mut Legs<'a>) -> Result<(), Ended> {
        for node in nodes {
            match node {
                LegNode::Leg(leg) => self.fill(leg, legs)?,
                LegNode::Send(send) => self.fill_send(send, legs)?,
                LegNode::When(test, then, otherwise) => {
                    let branch = if self.frame.test(test)? { then } else { otherwise };
                    self.fill_all(branch, legs)?;
                }
                LegNode::Each(each) => {
                    let name = each.source.element;
                    for element in self.elements(&each.source)? {
                        element.bind(name, &mut self.frame);
                        let before = legs.filled.len();
                        self.fill_all(&each.body, legs)?;
                        for filled in legs.filled.iter_mut().skip(before) {
                            filled.element = Some((name, element.clone()));
                        }
                    }
                    self.frame.bind(name, Bound::Nothing);
                }
            }
        }
        Ok(())
    }

    /// Sees that a write of an item that was read is on the key that the item has. Its key is made of attributes, and
    /// what another program has stored may contradict its own key: the write would be on another item.
    fn is_where_it_was_read(&self, leg: &plan::Leg, filled: &Leg) -> Result<(), Ended> {
        let Some(read) = leg.target.and_then(|target| self.frame.item(target)) else {
            return Ok(());
        };
        let has = self.call.system.table.key.of(read);
        let has = has.ok_or_else(|| Bug::new("an item was read that has no key"))?;
        let made = filled.key().map_err(|reason| Ended::from(Fault::from(reason)))?;
        if made == has {
            return Ok(());
        }
        let entity = &self.call.system.entities[leg.entity].name;
        Err(self.damaged(entity, &has, &Damage::OtherKey(made)))
    }

    /// Fills a leg. Those behind it see what it leaves.
    fn fill(&mut self, leg: &'a plan::Leg, legs: &mut Legs<'a>) -> Result<(), Ended> {
        let filled = self.filler().leg(leg)?;
        self.is_where_it_was_read(leg, &filled.leg)?;
        let (filled_leg, asked, spares) = (filled.leg, filled.asked, filled.spares);
        let plan = Some(leg);
        legs.filled.push(FilledLeg { leg: filled_leg, plan, asked, element: None, spares });
        if let (Some(binding), Some(image)) = (leg.result, filled.image) {
            let before = self.bind_image(leg, binding, image);
            legs.before.push((binding, before));
        }
        Ok(())
    }

    /// Sends a transaction, with the record of the call if this is its last write.
    async fn send(&mut self, mut sent: Legs<'a>, at: usize) -> Result<usize, Ended> {
        let record = self.record(at + 1)?;
        let claim = record.as_ref().and_then(|record| record.claim.clone());
        let Fence { before, own, removes } = self.fence(at + 1);
        let (recorded, behind, fenced) = (record.is_some(), before.is_some(), own.is_some());
        // First, so that a call of the same name that was faster, or whoever has the message now, is what decides.
        let first = record.map(|record| Leg::Put(record.put)).into_iter().chain(before).chain(own);
        let mut legs: Vec<Leg> = first.collect();
        let offset = legs.len();
        if behind && offset + sent.filled.len() > LEGS_MAX {
            return Err(Ended::Early);
        }
        let mut origins = Vec::with_capacity(sent.filled.len());
        let mut stands = Vec::new();
        for filled in sent.filled {
            let (leg, origin) = filled.apart()?;
            stands.push(self.lane(origin.plan, &leg)?);
            legs.push(leg);
            origins.push(origin);
        }
        self.lets_pass(&stands)?;
        let transact = Transact { legs };
        let (sent_at, done) = match transact.legs.is_empty() {
            false => self.hand_in(transact, &mut sent.sends, offset, removes).await,
            true => (self.call.now, Ok(Transacted { capacity: Capacity::ZERO })),
        };
        // Whoever is cut off while queues are asked has had its effect.
        self.writing = done.is_ok() && !sent.sends.is_empty();
        match done {
            Ok(_) => {
                self.stand_first();
                self.committed()?;
                self.recorded |= recorded && claim.is_none();
                self.claim = claim.or(self.claim.take());
                self.removed |= removes;
                self.sent(sent.sends, sent_at).await;
                self.writing = false;
                Ok(at + 1)
            }
            Err(Error::ConditionFailed(failed)) => {
                let leg = failed.leg.checked_sub(offset);
                self.loses_at(leg, &stands);
                let item = failed.item.as_ref();
                let origin = leg.and_then(|leg| origins.get(leg));
                let element = origin.and_then(|origin| origin.element.as_ref());
                element.into_iter().for_each(|(name, one)| one.bind(*name, &mut self.frame));
                // Legs see what those before them would have left, until that is taken back.
                let breach = origin.and_then(|origin| self.breach(origin, item));
                for (binding, before) in sent.before.into_iter().rev() {
                    self.frame.bind(binding, before);
                }
                self.frame.assumed = sent.assumed;
                element.into_iter().for_each(|(name, one)| one.bind(*name, &mut self.frame));
                if behind && failed.leg == usize::from(recorded) {
                    return Err(Ended::Early);
                }
                self.stand_first();
                if leg.is_none() {
                    // Another has the message now; what it is put off to is no longer this one's to say.
                    return Err(if fenced { Ended::Over(Ending::Later) } else { Ended::Again });
                }
                if sent.pinned.is_some_and(|asked| holds(&asked, item)) {
                    return Err(Ended::Again);
                }
                if let Some(Origin { plan: Some(plan), spares: Some((key, spares)), .. }) = origin
                    && self.would_erase(plan, key, spares, failed.item.clone()).await?
                {
                    return Err(Ended::Again);
                }
                self.leg_refused(breach, origin, item)
            }
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// The answer to a leg that was refused for declared bounds alone.
    fn breach(&self, origin: &Origin<'a>, item: Option<&Item>) -> Option<Ended> {
        let plan = origin.plan.filter(|_| leaves_bounds(origin.asked.as_ref(), item))?;
        Some(self.out_of_bounds(plan, item))
    }

    /// What a refused leg leads to: a breach of bounds is told, and a statement has its own answer.
    fn leg_refused(
        &mut self,
        breach: Option<Ended>,
        origin: Option<&Origin<'a>>,
        item: Option<&Item>,
    ) -> Result<usize, Ended> {
        match (breach, origin.map(|origin| origin.plan)) {
            (Some(breach), _) => Err(breach),
            (None, Some(Some(plan))) => self.leg_failed(plan, item),
            (None, Some(None)) => Err(Bug::new("the store refused a message").into()),
            (None, None) => Err(Bug::new("a leg failed that was not sent").into()),
        }
    }

    /// Names the attributes that a leg would take beyond their bounds, by the inputs they are computed from if
    /// there are any.
    fn out_of_bounds(&self, leg: &plan::Leg, stored: Option<&Item>) -> Ended {
        let breaches = match self.filler().breaches(leg, stored) {
            Ok(breaches) => breaches,
            Err(fault) => return fault.into(),
        };
        let (mut errors, mut own) = (Vec::new(), None);
        for breach in breaches {
            let detail = format!("takes `{}` out of its bounds: {}", breach.name, breach.room());
            let values = leg.values.iter().chain(&leg.adds);
            let mut inputs = Vec::new();
            values
                .filter(|assign| assign.attribute == breach.name)
                .for_each(|assign| assign.value.summands(&mut inputs));
            let named: Vec<&Text> =
                inputs.into_iter().map(|input| &self.call.contract.inputs[input].name).collect();
            if named.is_empty() {
                own.get_or_insert_with(|| format!("this {detail}"));
            }
            errors.extend(named.into_iter().map(|name| FieldError::named(name, detail.as_str())));
        }
        Ended::Refused(match (errors.is_empty(), own) {
            (false, _) => Problem::invalid(errors),
            (true, Some(detail)) => Problem::bad(detail),
            (true, None) => Problem::bad("a value would leave the bounds it is declared with"),
        })
    }
}

/// Whether a leg was refused for the bounds alone: all that the document asks does hold.
fn leaves_bounds(asked: Option<&Condition>, item: Option<&Item>) -> bool {
    asked.is_some_and(|asked| holds(asked, item))
}

/// Insists that what an update computes with is as it was read, so that what it leaves can be told: alone
/// the store tells, but a transaction does not. Returns what was asked before, if more is asked now.
fn pin(update: &mut Update, stored: &Item) -> Option<Condition> {
    let mut names: Vec<&Text> = Vec::new();
    for action in &update.actions {
        match action {
            Action::Set(path, expression) => {
                expression.roots(&mut names);
                names.extend((!path.steps().is_empty()).then_some(path.root()));
            }
            Action::Add(name, _) | Action::Delete(name, _) => names.push(name),
            Action::Remove(path) => {
                names.extend((!path.steps().is_empty()).then_some(path.root()));
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    let mut all: Vec<Condition> =
        names.into_iter().map(|name| as_stored(name, stored.get(name))).collect();
    // Every write asks something of its place.
    let asked = update.condition.take()?;
    all.push(asked.clone());
    update.condition = Some(Condition::And(all));
    Some(asked)
}

/// An answer that is too long to be kept cannot be replayed.
pub(super) fn too_long(contract: &plan::Contract) -> Ended {
    let detail = match contract.needs_key {
        false => "the answer is too long to be kept for `Idempotency-Key`; send it without one",
        true => {
            "the answer is too long to be kept for `Idempotency-Key`, which this contract needs; give less, or let the \
             contract return less: `return x { id }`, or `return 204`"
        }
    };
    Ended::Refused(Problem::bad(detail))
}
