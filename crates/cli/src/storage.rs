//! Opens the store of a command, and finds the table of each system.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use latchkey_embedded::Store;
use latchkey_runtime::{StartError, System};
use latchkey_table::{Backend, PrepareError};

use crate::arguments::{Remote, Storage};
use crate::{Failure, aws};

/// The variable that names the table of a single system.
const VARIABLE: &str = "DYNAMODB_TABLE_NAME";

/// The variables in which the SDK looks for an endpoint, in this order.
const ENDPOINT_VARIABLES: [&str; 2] = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"];

/// A store that was opened.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) backend: Arc<dyn Backend>,
    /// The embedded store, if items are in a data directory.
    pub(crate) local: Option<Arc<Store>>,
    /// The store, for people: on AWS with its region.
    pub(crate) shown: String,
}

impl From<Opened> for latchkey_runtime::Storage {
    fn from(opened: Opened) -> latchkey_runtime::Storage {
        match opened.local {
            Some(store) => store.into(),
            None => latchkey_runtime::Storage::on(opened.backend),
        }
    }
}

impl Storage {
    /// Puts systems on their tables.
    pub(crate) fn place(&self, systems: Vec<System>) -> Result<Vec<System>, Failure> {
        if self.dynamodb {
            return self.remote.place(systems);
        }
        let given = [
            ("--endpoint", self.remote.endpoint.is_some()),
            ("--table", !self.remote.tables.is_empty()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => apart(systems).map_err(Failure::Unusable),
            Some((flag, _)) => Err(Failure::Unusable(format!(
                "`{flag}` is for DynamoDB; add `--dynamodb`, or leave it out"
            ))),
        }
    }

    /// Opens the store: that of a data directory, or DynamoDB.
    pub(crate) async fn open(&self, data: &Path) -> Result<Opened, Failure> {
        self.open_with(data, &latchkey_embedded::Options::default()).await
    }

    /// The same, where a data directory is opened with options.
    pub(crate) async fn open_with(
        &self,
        data: &Path,
        options: &latchkey_embedded::Options,
    ) -> Result<Opened, Failure> {
        if self.dynamodb {
            return aws::open(&self.remote).await;
        }
        let store = Store::open(data, options);
        let store = Arc::new(store.map_err(Failure::unusable)?);
        let shown = format!("{}, on this machine", data.display());
        Ok(Opened { backend: store.clone(), local: Some(store), shown })
    }

    /// Why a system does not start, and what to do.
    pub(crate) fn refused(
        &self,
        error: &StartError,
        documents: &[PathBuf],
        system: &str,
        table: &str,
    ) -> Failure {
        match error {
            StartError::Table(PrepareError::Service(error)) => {
                Failure::Unusable(self.remote.explained(&**error, documents, system, table))
            }
            StartError::Table(PrepareError::NoTransactions) | StartError::NoTransactions { .. } => {
                Failure::Unusable(format!(
                    "{}: {error}; use AWS, or a service that has them",
                    self.remote.told()
                ))
            }
            StartError::Table(PrepareError::Store(_))
            | StartError::Queue(_)
            | StartError::NoSecret
            | StartError::NoChance(_)
            | StartError::NoQueues => Failure::unusable(error),
        }
    }
}

impl Remote {
    /// Puts systems on their tables: those of the arguments, or else those of the documents.
    pub(crate) fn place(&self, systems: Vec<System>) -> Result<Vec<System>, Failure> {
        let variable = match std::env::var(VARIABLE) {
            Ok(name) if !name.is_empty() => Some(name),
            Ok(_) | Err(std::env::VarError::NotPresent) => None,
            Err(error) => return Err(Failure::Unusable(format!("{VARIABLE}: {error}"))),
        };
        placed(systems, &self.tables, variable.as_deref()).map_err(Failure::Unusable)
    }

    /// The endpoint that was given, as the SDK would find it.
    pub(crate) fn endpoint(&self) -> Option<String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|url| !url.is_empty());
        let endpoint = self.endpoint.clone();
        endpoint.or_else(|| ENDPOINT_VARIABLES.iter().copied().find_map(variable))
    }

    /// The service, for people.
    pub(crate) fn told(&self) -> String {
        let endpoint = self.endpoint();
        endpoint.map_or_else(|| "DynamoDB".to_owned(), |url| format!("DynamoDB at {}", bare(&url)))
    }

    /// What is wrong with a table, and what to run.
    pub(crate) fn explained(
        &self,
        error: &(dyn Error + Send + Sync + 'static),
        documents: &[PathBuf],
        system: &str,
        table: &str,
    ) -> String {
        let place = self.told();
        match aws::advice(error, &self.arguments(documents, system, table)) {
            Some(advice) => format!("{place}: {error}; {advice}"),
            None => format!("{place}: {error}"),
        }
    }

    /// The arguments of `latchkey table` for the same tables, each after a space.
    pub(crate) fn arguments(&self, documents: &[PathBuf], system: &str, table: &str) -> String {
        let mut arguments: Vec<String> =
            documents.iter().map(|path| path.display().to_string()).collect();
        if let Some(endpoint) = &self.endpoint {
            arguments.extend(["--endpoint".to_owned(), bare(endpoint)]);
        }
        for pair in &self.tables {
            arguments.extend(["--table".to_owned(), pair.clone()]);
        }
        let given = self.tables.iter().any(|pair| pair.starts_with(&format!("{system}=")));
        if !given && std::env::var_os(VARIABLE).is_some_and(|name| !name.is_empty()) {
            arguments.extend(["--table".to_owned(), format!("{system}={table}")]);
        }
        arguments.iter().map(|argument| format!(" {}", quoted(argument))).collect()
    }
}

/// An argument, quoted for a shell.
pub(crate) fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

/// An endpoint as it may be shown: without a password.
pub(crate) fn bare(endpoint: &str) -> String {
    let Some((scheme, rest)) = endpoint.split_once("://") else { return endpoint.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// Puts systems on their tables: by the arguments, by the variable, or by the documents.
fn placed(
    systems: Vec<System>,
    given: &[String],
    variable: Option<&str>,
) -> Result<Vec<System>, String> {
    let mut named: Vec<(&str, &str)> = Vec::new();
    for pair in given {
        let Some((system, table)) = pair.split_once('=') else {
            return Err(format!("`--table {pair}` is not SYSTEM=NAME"));
        };
        if !systems.iter().any(|known| known.name() == system) {
            let known: Vec<&str> = systems.iter().map(System::name).collect();
            return Err(format!(
                "`--table {pair}`: there is no system `{system}`; there are: {}",
                known.join(", ")
            ));
        }
        if named.iter().any(|(other, _)| *other == system) {
            return Err(format!("`--table` names the table of `{system}` twice"));
        }
        named.push((system, table));
    }
    let unnamed = |system: &&System| !named.iter().any(|(name, _)| *name == system.name());
    if let Some(table) = variable
        && systems.len() > 1
        && let Some(system) = systems.iter().find(unnamed)
    {
        return Err(format!(
            "{VARIABLE} is `{table}`, and {} systems cannot share a table; unset it, and use `--table {}=NAME` for each system",
            systems.len(),
            system.name()
        ));
    }
    let place = |system: System| {
        let given = named.iter().find(|(name, _)| *name == system.name()).map(|(_, table)| *table);
        match given.or(variable) {
            Some(table) => system.on_table(table),
            None => system,
        }
    };
    let systems: Vec<System> = systems.into_iter().map(place).collect();
    apart(systems)
}

/// Refuses systems that share a table.
fn apart(systems: Vec<System>) -> Result<Vec<System>, String> {
    for (at, system) in systems.iter().enumerate() {
        for table in system.tables() {
            table.validate().map_err(|error| error.to_string())?;
        }
        let names = |system: &System, name: &str| system.tables().any(|table| table.name == name);
        let shares = |other: &&System| system.tables().any(|table| names(other, &table.name));
        let twin = systems.iter().take(at).find(shares);
        if let Some(twin) = twin {
            return Err(format!(
                "`{}` and `{}` would share table `{}`; name another in one of the documents, or on DynamoDB by `--table {}=NAME`",
                twin.name(),
                system.name(),
                system.table().name,
                system.name()
            ));
        }
    }
    Ok(systems)
}

#[cfg(test)]
mod tests {
    use super::{System, bare, placed, quoted};

    /// A system of a name, on a table of a name.
    fn system(name: &str, table: &str) -> System {
        let text = format!(
            "```contract\nsystem {name}\ntable {table} {{ type kind }}\nentity Door \"DOOR\" {{\n  \
             PK = \"DOOR#{{doorId}}\"\n  SK = \"META\"\n  doorId id\n}}\ncontract D-01 \"Get\" {{\n  \
             GET /doors/{{doorId}}\n  door = get Door else 404 not-found\n  \
             allow caller owns door.doorId\n  return door\n  consistency eventual\n  expect 1 item\n  \
             rate 1/s\n}}\n```\n"
        );
        System::read(&text).unwrap()
    }

    /// The tables two systems get, or why they get none.
    fn tables(given: &[&str], variable: Option<&str>) -> Result<Vec<String>, String> {
        let systems = vec![system("doors", "Doors"), system("gates", "Gates")];
        let given: Vec<String> = given.iter().map(|pair| (*pair).to_owned()).collect();
        let systems = placed(systems, &given, variable)?;
        Ok(systems.iter().map(|system| system.table().name.to_string()).collect())
    }

    #[test]
    fn each_system_gets_the_table_that_is_given_or_else_its_own() {
        let cases: &[(&[&str], Option<&str>, [&str; 2])] = &[
            (&[], None, ["Doors", "Gates"]),
            (&["gates=Other"], None, ["Doors", "Other"]),
            // They may change places.
            (&["gates=Doors", "doors=Gates"], None, ["Gates", "Doors"]),
            (&["gates=One", "doors=Two"], Some("Three"), ["Two", "One"]),
        ];
        for (given, variable, wanted) in cases {
            let found = tables(given, *variable);
            assert_eq!(found.as_deref(), Ok(&wanted.map(str::to_owned)[..]), "{given:?}");
        }
        let lone = placed(vec![system("doors", "Doors")], &[], Some("Three")).unwrap();
        assert_eq!(lone.first().unwrap().table().name, "Three");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let cases: &[(&[&str], Option<&str>, &str)] = &[
            (&["Other"], None, "is not SYSTEM=NAME"),
            (&["=Other"], None, "there is no system ``; there are: doors, gates"),
            (&["Doors=Other"], None, "there is no system `Doors`"),
            (&["doors=One", "doors=One"], None, "twice"),
            (&["doors=Gates"], None, "`doors` and `gates` would share table `Gates`"),
            (&["doors=a b c"], None, "cannot be the name of a table"),
            (&["doors=One"], Some("Three"), "--table gates=NAME"),
            (&[], Some("Three"), "2 systems cannot share a table"),
        ];
        for (given, variable, said) in cases {
            let refused = tables(given, *variable).unwrap_err();
            assert!(refused.contains(said), "{given:?}: {refused}");
        }
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        let cases = [
            ("doors.md", "doors.md"),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("my doors.md", "'my doors.md'"),
            ("it's", r"'it'\''s'"),
            ("$(id)", "'$(id)'"),
            ("", "''"),
        ];
        for (argument, wanted) in cases {
            assert_eq!(quoted(argument), wanted);
        }
    }

    #[test]
    fn endpoints_are_shown_without_their_password() {
        assert_eq!(bare("http://dana:secret@here:1/there@x"), "http://here:1/there@x");
        assert_eq!(bare("http://here:1"), "http://here:1");
        assert_eq!(bare("nothing"), "nothing");
    }
}
