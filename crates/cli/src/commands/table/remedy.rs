//! The commands that change a table to what its document needs.

use std::collections::BTreeSet;

use latchkey_dynamodb::Mismatch;
use latchkey_runtime::System;
use latchkey_table::{Index, KeyAttribute, Projection, Schema};

use crate::storage::{bare, quoted};

/// The commands for one table.
pub(super) struct Remedies<'a> {
    pub(super) system: &'a System,
    /// The table: that of the system, or the one beside it.
    pub(super) schema: &'a Schema,
    /// The arguments of `latchkey table` for this table.
    pub(super) arguments: &'a str,
    pub(super) endpoint: Option<&'a str>,
}

impl Remedies<'_> {
    /// The commands, each once, in an order that works.
    pub(super) fn of(&self, mismatches: &[Mismatch]) -> Vec<String> {
        if mismatches.iter().any(|mismatch| self.is_key(mismatch)) {
            return vec![self.another_table()];
        }
        let mut commands = Vec::new();
        if mismatches.iter().any(|mismatch| matches!(mismatch, Mismatch::NotActive(_))) {
            commands.push(format!("latchkey table create{}", self.arguments));
        }
        // All that must go goes first: an attribute has one type in all the indexes of a table.
        let (mut removed, mut made) = (Vec::new(), Vec::new());
        for one in mismatches {
            let Mismatch::Stored { attribute, .. } = one else { continue };
            commands.push(format!(
                "# give `{attribute}` another name in the document, and ask again; or, where the index is not needed:"
            ));
        }
        for name in held_by(mismatches) {
            removed.push(self.remove_index(name));
        }
        for index in &self.schema.indexes {
            let is = |name: &String| *name == index.name;
            let local = |one: &Mismatch| matches!(one, Mismatch::Local { index, .. } if is(index));
            if mismatches.iter().any(local) {
                commands.push(format!(
                    "# `{}` is local, and local indexes cannot be changed: give the index another name in the \
                     document, and ask again",
                    index.name
                ));
                continue;
            }
            let wrong = mismatches.iter().any(|one| is_wrong(one, index));
            let no_index = |one: &Mismatch| matches!(one, Mismatch::NoIndex(name) if is(name));
            let missing = mismatches.iter().any(no_index);
            if wrong && !missing {
                removed.extend(instead(mismatches, index));
                removed.push(self.remove_index(&index.name));
            }
            if wrong || missing {
                made.push(self.add_index(index));
            }
        }
        commands.extend(removed);
        commands.extend(made);
        commands
    }

    /// Turns recovery on.
    pub(super) fn recovery(&self) -> String {
        self.aws(
            "update-continuous-backups",
            "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
        )
    }

    /// Turns expiry on.
    pub(super) fn expiry(&self) -> String {
        self.time_to_live(true, self.system.ttl())
    }

    /// Turns expiry by another attribute off.
    pub(super) fn no_expiry(&self, attribute: &str) -> String {
        self.time_to_live(false, attribute)
    }

    fn time_to_live(&self, enabled: bool, attribute: &str) -> String {
        let given = quoted(&format!("Enabled={enabled},AttributeName={attribute}"));
        self.aws("update-time-to-live", &format!("--time-to-live-specification {given}"))
    }

    /// Whether a mismatch is in the key of the table, which cannot be changed.
    fn is_key(&self, mismatch: &Mismatch) -> bool {
        match mismatch {
            Mismatch::Key { .. } => true,
            Mismatch::Type { attribute, .. } => self.schema.key.has(attribute),
            _ => false,
        }
    }

    fn another_table(&self) -> String {
        let system = self.system.name();
        format!(
            "latchkey table create{} --table {system}=ANOTHER   # the key of a table cannot be changed; \
             bring its items over with `latchkey export` and `latchkey import`",
            without_table(self.arguments, system)
        )
    }

    fn remove_index(&self, index: &str) -> String {
        let update = format!(r#"[{{"Delete":{{"IndexName":"{index}"}}}}]"#);
        let given = format!("--global-secondary-index-updates {}", quoted(&update));
        let command = self.aws("update-table", &given);
        let declared = self.schema.indexes.iter().any(|one| one.name == *index);
        let readers = self.system.readers_of(index);
        let empty = match readers.as_slice() {
            [] if !declared => "the document does not declare it, others may read it".to_owned(),
            [] => "no contract reads it".to_owned(),
            readers => {
                format!("until it is made again, these find nothing: {}", readers.join(", "))
            }
        };
        format!("{command}   # deletes the index with all it holds; {empty}")
    }

    fn add_index(&self, index: &Index) -> String {
        let define = |key: &KeyAttribute| {
            let (name, kind) = (&key.name, key.value_type.code());
            quoted(&format!("AttributeName={name},AttributeType={kind}"))
        };
        let element = |(key, kind): (&KeyAttribute, &str)| {
            format!(r#"{{"AttributeName":"{}","KeyType":"{kind}"}}"#, key.name)
        };
        let elements: Vec<String> = index.key.iter().zip(["HASH", "RANGE"]).map(element).collect();
        let update = format!(
            r#"[{{"Create":{{"IndexName":"{}","KeySchema":[{}],"Projection":{}}}}}]"#,
            index.name,
            elements.join(","),
            projection(&index.holds)
        );
        let defined: Vec<String> = index.key.iter().map(define).collect();
        let given = format!(
            "--attribute-definitions {} --global-secondary-index-updates {}",
            defined.join(" "),
            quoted(&update)
        );
        self.aws("update-table", &given)
    }

    fn aws(&self, operation: &str, given: &str) -> String {
        let endpoint = self.endpoint.map(|url| format!(" --endpoint-url {}", quoted(&bare(url))));
        let table = &self.schema.name;
        let endpoint = endpoint.unwrap_or_default();
        format!("aws dynamodb {operation}{endpoint} --table-name {table} {given}")
    }
}

/// The indexes that no document declares, and that hold the type of an attribute, each once.
fn held_by(mismatches: &[Mismatch]) -> BTreeSet<&str> {
    let held = mismatches.iter().flat_map(|one| match one {
        Mismatch::Type { held_by, .. } => held_by.as_slice(),
        Mismatch::Stored { global, .. } => global.as_slice(),
        _ => &[],
    });
    held.map(String::as_str).collect()
}

/// What an index holds, as a request says it.
fn projection(holds: &Projection) -> String {
    let listed: Vec<String> =
        holds.attributes().iter().map(|name| format!(r#""{name}""#)).collect();
    let listed = match listed.is_empty() {
        true => String::new(),
        false => format!(r#","NonKeyAttributes":[{}]"#, listed.join(",")),
    };
    format!(r#"{{"ProjectionType":"{}"{listed}}}"#, holds.code())
}

/// What to write into the document, so that the index can stay as it is: nothing, if more than its projection differs.
fn instead(mismatches: &[Mismatch], index: &Index) -> Option<String> {
    let mut wrong = mismatches.iter().filter(|one| is_wrong(one, index));
    let (Some(Mismatch::Projection { found, .. }), None) = (wrong.next(), wrong.next()) else {
        return None;
    };
    let listed = found.attributes().iter().map(|name| format!(", {name}"));
    let holds = format!("holds keys{}", listed.collect::<String>());
    let name = &index.name;
    Some(format!(
        "# instead of removing and making it: leave the index as it is, and write `index {name} {{ … {holds} }}` in the table of \
         the document"
    ))
}

/// Whether an index must be made again.
fn is_wrong(mismatch: &Mismatch, wanted: &Index) -> bool {
    match mismatch {
        Mismatch::IndexKey { index, .. } | Mismatch::Projection { index, .. } => {
            *index == wanted.name
        }
        Mismatch::Type { attribute, .. } => wanted.key.has(attribute),
        _ => false,
    }
}

/// The arguments without the table of a system.
fn without_table(arguments: &str, system: &str) -> String {
    let given = format!(" --table {system}=");
    match arguments.split_once(&given) {
        None => arguments.to_owned(),
        Some((before, rest)) => {
            let after = rest.find(' ').and_then(|at| rest.get(at..)).unwrap_or_default();
            format!("{before}{after}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_table;

    #[test]
    fn the_table_of_one_system_is_left_out() {
        let cases = [
            (" doors.md", " doors.md"),
            (" doors.md --table doors=A", " doors.md"),
            (" a.md --table doors=A --table gates=B", " a.md --table gates=B"),
            (" a.md --table gates=B --table doors=A", " a.md --table gates=B"),
            (" a.md --table other_doors=B", " a.md --table other_doors=B"),
        ];
        for (arguments, wanted) in cases {
            assert_eq!(without_table(arguments, "doors"), wanted);
        }
    }
}
