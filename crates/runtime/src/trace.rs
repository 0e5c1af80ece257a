//! What a call asked of the table.

use latchkey_table::{
    Action, Answer, Capacity, Condition, Error, Expression, Leg, Operand, Path, Put, Request,
    Update, Value,
};

use crate::plan::System;

/// What a call asked of the table, in order.
pub type Trace = Vec<Step>;

/// A request and what became of it.
#[derive(Debug, Clone)]
pub struct Step {
    /// The request, its secrets blackened.
    pub request: Request,
    /// What became of it.
    pub outcome: String,
    /// What it consumed.
    pub capacity: Capacity,
}

/// The text in place of a secret.
const BLACK: &str = "(secret)";

/// A request without its secrets.
pub(crate) fn blackened(system: &System, mut request: Request) -> Request {
    let ink = Ink { system };
    match &mut request {
        Request::Put(put, _) => ink.put(put),
        Request::Update(update, _) => ink.update(update),
        Request::Delete(delete, _) => ink.condition(delete.condition.as_mut()),
        Request::Transact(transact) => {
            for leg in &mut transact.legs {
                match leg {
                    Leg::Put(put) => ink.put(put),
                    Leg::Update(update) => ink.update(update),
                    Leg::Delete(delete) => ink.condition(delete.condition.as_mut()),
                    Leg::Check(check) => ink.condition(Some(&mut check.condition)),
                }
            }
        }
        Request::Query(query) => ink.condition(query.filter.as_mut()),
        Request::IndexScan(scan) => ink.condition(scan.filter.as_mut()),
        Request::Get(_) | Request::BatchGet(_) | Request::SnapshotGet(_) => {}
    }
    request
}

struct Ink<'a> {
    system: &'a System,
}

impl Ink<'_> {
    fn put(&self, put: &mut Put) {
        let names: Vec<_> = put.item.iter().map(|(name, _)| name.clone()).collect();
        for name in names.iter().filter(|name| self.system.is_secret(name)) {
            put.item.insert(name.clone(), BLACK);
        }
        self.condition(put.condition.as_mut());
    }

    fn update(&self, update: &mut Update) {
        for action in &mut update.actions {
            match action {
                Action::Set(path, expression) if self.hides(path) => {
                    *expression = Expression::Value(Value::from(BLACK));
                }
                Action::Add(name, value) | Action::Delete(name, value)
                    if self.system.is_secret(name) =>
                {
                    *value = Value::from(BLACK);
                }
                Action::Set(..) | Action::Add(..) | Action::Delete(..) | Action::Remove(_) => {}
            }
        }
        self.condition(update.condition.as_mut());
    }

    fn hides(&self, path: &Path) -> bool {
        self.system.is_secret(path.root())
    }

    fn condition(&self, condition: Option<&mut Condition>) {
        let Some(condition) = condition else { return };
        match condition {
            Condition::And(all) | Condition::Or(all) => {
                all.iter_mut().for_each(|one| self.condition(Some(one)));
            }
            Condition::Not(inner) => self.condition(Some(inner)),
            Condition::Compare(a, _, b) => self.operands(&mut [a, b]),
            Condition::Between(a, b, c) => self.operands(&mut [a, b, c]),
            Condition::In(a, all) => {
                let mut operands: Vec<&mut Operand> = vec![a];
                operands.extend(all);
                self.operands(&mut operands);
            }
            Condition::BeginsWith(path, operand) | Condition::Contains(path, operand) => {
                if self.hides(path) {
                    *operand = Operand::Value(Value::from(BLACK));
                }
            }
            Condition::Exists(_) | Condition::Absent(_) | Condition::HasType(..) => {}
        }
    }

    /// What is compared with a secret is as telling as the secret.
    fn operands(&self, operands: &mut [&mut Operand]) {
        let secret = operands.iter().any(|operand| match operand {
            Operand::Path(path) | Operand::Size(path) => self.hides(path),
            Operand::Value(_) => false,
        });
        if secret {
            for operand in operands.iter_mut() {
                if let Operand::Value(value) = &mut **operand {
                    *value = Value::from(BLACK);
                }
            }
        }
    }
}

/// What a request consumed, if it was carried out or its condition was tested.
pub(crate) fn consumed(answer: &Result<Answer, Error>) -> Option<Capacity> {
    match answer {
        Ok(answer) => Some(answer.capacity()),
        Err(Error::ConditionFailed(failed)) => Some(failed.capacity),
        Err(_) => None,
    }
}

/// What became of a request, for a trace.
pub(crate) fn outcome(request: &Request, answer: &Result<Answer, Error>) -> String {
    let items = |count: usize| match count {
        1 => "1 item".to_owned(),
        count => format!("{count} items"),
    };
    match (answer, request) {
        (Ok(Answer::Got(got)), _) if got.item.is_some() => "found".to_owned(),
        (Ok(Answer::Got(_)), _) => "nothing there".to_owned(),
        (Ok(Answer::GotMany(got)), _) => items(got.items.iter().flatten().count()),
        (Ok(Answer::Page(page)), _) => items(page.items.len()),
        (Ok(Answer::Wrote(_) | Answer::Transacted(_)), _) => "written".to_owned(),
        (Err(Error::ConditionFailed(failed)), Request::Transact(_)) => {
            format!("the condition of leg {} did not hold", failed.leg + 1)
        }
        (Err(Error::ConditionFailed(_)), _) => "the condition did not hold".to_owned(),
        (Err(error), _) => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
