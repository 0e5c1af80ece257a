//! The OpenAPI document of systems: what callers may send, and every answer they can get.
//!
//! Made from checked models alone. No I/O, and the same models give the same bytes. Generated clients decide the form:
//! an operation has one type of success and one of failure, `null` stands only at a leaf, nothing is inherited
//! (`allOf`), and names are told apart as the narrowest language does it.

mod components;
mod example;
mod json;
mod names;
mod operation;
mod pages;
mod pattern;
mod problem;
mod prose;
mod schema;
mod shape;
mod shared;
mod words;

use std::collections::BTreeMap;

use latchkey_model::Model;
use latchkey_model::model::{Contract, Segment};
use sha2::{Digest, Sha256};

use components::Components;
use json::{Json, Object};
use operation::Operation;

pub use pages::{ProblemPage, problem_pages};
pub use words::{Answerable, pattern_of, problems, prose_above};

/// The version of OpenAPI. Both say the same; some generators read only the older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// 3.1, whose schemas are JSON Schema.
    V3_1,
    /// 3.0.
    V3_0,
}

/// What a server adds to what documents say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Serving {
    /// Whether it limits the calls of all contracts, and not of those alone that say so.
    pub limits_all: bool,
    /// The address of the description of the OpenID Connect provider whose tokens it accepts.
    pub oidc: Option<String>,
}

/// An OpenAPI document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenApi(Json);

impl OpenApi {
    /// Describes systems that one server serves. The models have no mistakes.
    pub fn new(models: &[&Model], version: Version, serving: &Serving) -> OpenApi {
        let names = names::of(models);
        let mut components = Components::new(version, serving.oidc.clone());
        let mut paths = Paths::default();
        for (model, system) in models.iter().zip(&names) {
            let mut calls = example::calls(model);
            let contracts = model.contracts.iter().zip(&system.contracts);
            for (at, (contract, own)) in contracts.enumerate() {
                let Some(route) = &contract.route else { continue };
                let calls = calls.remove(&at).unwrap_or_default();
                let path = paths.of(contract, &route.segments);
                let path_names = path.names.clone();
                let place = names::Place { system, own };
                let (path_names, calls) = (&path_names, &calls);
                let operation = Operation { model, contract, place, path_names, calls, serving };
                let method = route.method.as_str().to_ascii_lowercase();
                path.operations = std::mem::take(&mut path.operations)
                    .with(&method, operation.describe(&mut components));
            }
        }
        let number = match version {
            Version::V3_1 => "3.1.0",
            Version::V3_0 => "3.0.3",
        };
        let heads: Vec<prose::Head> = models.iter().map(|model| prose::head(model)).collect();
        let tags = models.iter().zip(&heads).map(|(model, head)| {
            Object::new()
                .with("name", model.system.as_str())
                .with("description", head.text.as_str())
        });
        let tags: Vec<Object> = tags.collect();
        let document = Object::new()
            .with("openapi", number)
            .with("info", info(models, &heads))
            .with("servers", vec![Object::new().with("url", "/")])
            .with("tags", tags)
            .with("paths", paths.into_object())
            .with("components", components.into_object());
        OpenApi(document.into())
    }

    /// The document for people: what fits in a line is in one.
    pub fn pretty(&self) -> String {
        self.0.pretty()
    }

    /// The document for programs, without white space.
    pub fn compact(&self) -> String {
        let mut text = String::new();
        self.0.write(&mut text);
        text
    }
}

fn info(models: &[&Model], heads: &[prose::Head]) -> Object {
    let titles: Vec<&str> = heads.iter().map(|head| head.title.as_str()).collect();
    let systems: Vec<&str> = models.iter().map(|model| model.system.as_str()).collect();
    let description = match heads {
        [one] => one.text.clone(),
        _ => format!("The systems {}.", systems.join(", ")),
    };
    // A document has no number of its own; what it says is its version.
    let mut hash = Sha256::new();
    models.iter().for_each(|model| hash.update(model.text.as_bytes()));
    let version: String =
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let contact = format!("Those who serve {}", systems.join(", "));
    Object::new()
        .with("title", titles.join(", "))
        .with("description", description)
        .with("version", version)
        .with("contact", Object::new().with("name", contact))
        .with("license", license())
}

/// A document does not say under which terms its service may be used. Linters ask for a licence; SPDX has a word for
/// saying nothing of it.
fn license() -> Object {
    Object::new()
        .with("name", "NOASSERTION")
        .with("url", "https://spdx.github.io/spdx-spec/v2.3/package-information/")
}

/// The segments of a path; a parameter has no text.
type PathShape = Vec<Option<String>>;

#[derive(Default)]
struct Paths(BTreeMap<PathShape, Path>);

struct Path {
    /// How many paths were there before it.
    place: usize,
    /// The path with the names of its parameters.
    template: String,
    names: Vec<String>,
    operations: Object,
}

impl Paths {
    /// The path of a contract. Two contracts may name a parameter differently; one path has one name for it.
    fn of(&mut self, contract: &Contract, segments: &[Segment]) -> &mut Path {
        let shape = segments.iter().map(|segment| match segment {
            Segment::Literal(text) => Some(text.clone()),
            Segment::Input(_) => None,
        });
        let place = self.0.len();
        self.0.entry(shape.collect()).or_insert_with(|| Path::new(place, contract, segments))
    }

    /// All paths, in the order in which contracts first have them.
    fn into_object(self) -> Object {
        let mut all: Vec<Path> = self.0.into_values().collect();
        all.sort_by_key(|path| path.place);
        all.into_iter().map(|path| (path.template, Json::from(path.operations))).collect()
    }
}

impl Path {
    fn new(place: usize, contract: &Contract, segments: &[Segment]) -> Path {
        let (mut template, mut names) = (String::new(), Vec::new());
        for segment in segments {
            template.push('/');
            match segment {
                Segment::Literal(text) => template.push_str(text),
                Segment::Input(id) => {
                    let name = contract.inputs[*id].name.clone();
                    template.push_str(&format!("{{{name}}}"));
                    names.push(name);
                }
            }
        }
        if template.is_empty() {
            template.push('/');
        }
        Path { place, template, names, operations: Object::new() }
    }
}
