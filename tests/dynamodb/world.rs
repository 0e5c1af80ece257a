//! The command, in a place of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::serve::latchkey;
use crate::serve::services::{ENVIRONMENT, Service};

/// The secret key of these tests, which nothing may print.
pub(crate) const SECRET_KEY: &str = "wJalrXUtnFEMI-never-printed";

/// A directory with a document, and an environment in which nothing of AWS is found by chance.
pub(crate) struct World {
    directory: TempDir,
    environment: Vec<(String, String)>,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl World {
    /// With credentials and a region that any local service takes.
    pub(crate) fn new() -> World {
        let environment = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        World { environment: environment.to_vec(), ..World::bare() }
            .with("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    }

    /// Without credentials and region.
    pub(crate) fn bare() -> World {
        let directory = tempfile::tempdir().unwrap();
        std::fs::copy(document(), directory.path().join("doors.md")).unwrap();
        World { directory, environment: Vec::new() }.with("AWS_EC2_METADATA_DISABLED", "true")
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> World {
        self.environment.retain(|(other, _)| other != name);
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes another document.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// The command, ready to start.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = latchkey();
        for (name, _) in std::env::vars() {
            if name.starts_with("AWS_") || name.starts_with("DYNAMODB_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.path())
            .env("HOME", self.path())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (output, errors, code) =
            (text(output.stdout), text(output.stderr), output.status.code());
        let done = Done { code, output, errors };
        let all = format!("{}{}", done.output, done.errors);
        assert!(!all.contains(SECRET_KEY), "a secret is printed: {all}");
        done
    }
}

impl Done {
    /// It ends with this code, and says all of this.
    #[track_caller]
    pub(crate) fn is(&self, code: i32, said: &[&str]) {
        let all = format!("{}{}", self.output, self.errors);
        assert_eq!(self.code, Some(code), "{all}");
        for said in said {
            assert!(all.contains(said), "it does not say `{said}`:\n{all}");
        }
    }
}

/// The document of these tests: one table, one index, one contract that needs transactions.
pub(crate) fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dynamodb/doors.md")
}

/// The name of a table nobody else has: services may be shared.
pub(crate) fn unique(name: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    format!("{name}-{}-{now}-{count}", std::process::id())
}

/// Does it on each service.
pub(crate) fn on_each(test: impl Fn(&Service)) {
    for service in [Service::dynoxide(), Service::dynamodb_local()] {
        println!("on {}", service.kind().name());
        test(&service);
    }
}
