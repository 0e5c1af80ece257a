//! `item-size`: an entity whose items or keys can be larger than a table takes, a queue whose messages can be larger than
//! a queue takes, or an answer that must be recorded and can be larger than its record.

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::limits::{
    ITEM_BYTES_MAX, MESSAGE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX,
};

use super::flow::lets;
use super::size::{
    asked_bytes_max, item_bytes_max, message_bytes_max, shown_bytes_max, template_bytes_max,
};
use super::truth::plain;
use super::{Report, each_read};
use crate::model::{
    BindingId, Contract, Entity, ExprKind, KeyPart, Limit, Model, Part, StepKind, What, each_step,
};

/// How much longer a message is as it is sent, at most: JSON writes some characters with six.
const ESCAPED: usize = 6;

pub(super) fn check(model: &Model, report: &mut Report) {
    model.contracts.iter().for_each(|contract| answers(model, contract, report));
    model.bodies().into_iter().for_each(|contract| bounds(model, contract, report));
    for entity in &model.entities {
        keys(entity, report);
        let bytes = item_bytes_max(model, entity);
        if bytes <= ITEM_BYTES_MAX {
            continue;
        }
        let message = format!(
            "an item of `{}` can have {bytes} bytes; the most is {ITEM_BYTES_MAX}",
            entity.name
        );
        let diagnostic = Diagnostic::new(Rule::ItemSize, entity.span, message)
            .why("each of its attributes may be as large as it is declared, and together they are refused")
            .help("lower the largest bounds, or move what is large into an item of its own");
        report.raise(diagnostic, &entity.waivers);
    }
    for queue in &model.queues {
        let bytes = message_bytes_max(queue).saturating_mul(ESCAPED);
        if bytes <= MESSAGE_BYTES_MAX {
            continue;
        }
        let message = format!(
            "a message of `{}` can have {bytes} bytes as it is sent; the most is {MESSAGE_BYTES_MAX}",
            queue.name
        );
        let diagnostic = Diagnostic::new(Rule::ItemSize, queue.span, message)
            .why("a message that no queue takes is refused once all else has happened")
            .help("store what is large in an item, and send its key");
        report.raise(diagnostic, &queue.waivers);
    }
}

/// The answers of a contract whose calls must have an `Idempotency-Key`: the record of a call holds its answer.
fn answers(model: &Model, contract: &Contract, report: &mut Report) {
    let Some(by_key) = contract.facts.by_key else { return };
    each_step(&contract.steps, &mut |step| {
        let StepKind::Return(returned) = &step.kind else { return };
        let beside = returned.with.iter().filter_map(|given| match &given.value.kind {
            ExprKind::Binding(list) => Some((*list, &[][..])),
            _ => None,
        });
        let shown = returned.binding.map(|binding| (binding, &returned.fields[..]));
        let bytes = shown.into_iter().chain(beside).map(|(binding, fields)| {
            let entities = contract.bindings[binding].kind.entities().iter();
            let each = entities.map(|id| shown_bytes_max(&model.entities[*id], fields)).max();
            each.unwrap_or(0).saturating_mul(items_max(contract, binding))
        });
        let bytes = bytes.fold(0, usize::saturating_add);
        if bytes <= ITEM_BYTES_MAX {
            return;
        }
        let message = format!(
            "this answer can have {bytes} bytes; the most that a record holds is {ITEM_BYTES_MAX}"
        );
        let diagnostic = Diagnostic::new(Rule::ItemSize, step.span, message)
            .other(by_key, "each call is recorded with its answer")
            .why("a call whose answer does not fit is refused, and none can be made without a record")
            .help("return fewer items or attributes; or let the contract be `idempotent by` an entity: it has no record");
        report.raise(diagnostic, &step.waivers);
    });
}

/// The partitions and bounds of queries: a key has a byte at least, and no more than a table takes.
fn bounds(model: &Model, contract: &Contract, report: &mut Report) {
    let lets = lets(contract);
    each_read(contract, |read, step| {
        let What::Query(query) = &read.what else { return };
        let Some(names) = model.key_names(query.by) else { return };
        let partition = query.partition.iter().map(|text| (text, KeyPart::Partition));
        let range = query.range_texts().map(|text| (text, KeyPart::Sort));
        for (text, part) in partition.chain(range).filter(|(_, part)| !names.is_number(*part)) {
            let (most, which) = match part {
                KeyPart::Partition => (PARTITION_KEY_BYTES_MAX, "partition"),
                KeyPart::Sort => (SORT_KEY_BYTES_MAX, "sort"),
            };
            let text = plain(&lets, text);
            let bytes = asked_bytes_max(text);
            let (message, help) = if bytes > most {
                let message =
                    format!("this can have {bytes} bytes; a {which} key has {most} at most");
                (message, "lower the bounds of its texts")
            } else if text.language().has_empty() {
                let message = format!("this can be empty; a {which} key has at least one byte");
                (message, "bind the text with `like`, so that it has a character at least")
            } else {
                continue;
            };
            let diagnostic = Diagnostic::new(Rule::ItemSize, text.span, message)
                .why("a store refuses such a query: 400, for an input that is as it is declared")
                .help(help);
            report.raise(diagnostic, &step.waivers);
        }
    });
}

/// How many items a binding has at most.
fn items_max(contract: &Contract, binding: BindingId) -> usize {
    let Some(read) = contract.read_of(binding) else { return 1 };
    let count = match &read.what {
        What::Batch(batch) => batch.count(),
        What::Get(_) | What::Part(Part { one: true, .. }) => 1,
        What::Query(_) | What::Part(_) => match contract.query_of(read).map(|it| &it.1.limit) {
            Some(Some(Limit::First(count) | Limit::Page { max: count, .. })) => u64::from(*count),
            _ => 1,
        },
    };
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The keys of an entity, in the table and in its indexes.
fn keys(entity: &Entity, report: &mut Report) {
    let shapes = entity.indexes.iter().map(|index| &index.key);
    for shape in std::iter::once(&entity.key).chain(shapes) {
        for (template, most, which) in [
            (&shape.partition, PARTITION_KEY_BYTES_MAX, "partition"),
            (&shape.sort, SORT_KEY_BYTES_MAX, "sort"),
        ] {
            let bytes = template_bytes_max(template);
            if bytes <= most {
                continue;
            }
            let name = &entity.name;
            let message =
                format!("this {which} key of `{name}` can have {bytes} bytes; the most is {most}");
            let diagnostic = Diagnostic::new(Rule::ItemSize, template.span, message)
                .why("each part may be as long as it is declared, and a longer key is refused in the call")
                .help("lower the bounds of its texts, or write fewer parts into it");
            report.raise(diagnostic, &entity.waivers);
        }
    }
}
