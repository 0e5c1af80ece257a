//! The paths of the console, read and written.

use std::borrow::Cow;

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What all paths but `/` begin with.
pub(crate) const PREFIX: &str = "/console";

/// What is encoded within a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A page of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Page {
    /// What is served.
    Home,
    /// Where a visitor gives a token.
    SignIn,
    /// Ends the visit.
    SignOut,
    /// Makes the visitor someone else, while a service is developed.
    Be,
    /// A style or a script.
    Asset {
        /// The hash of all assets.
        version: String,
        /// The file.
        name: String,
    },
    /// What the filter box finds, as JSON.
    Find,
    /// Calls a contract, and tells how it went, as JSON.
    Call,
    /// A partition of the table of a system.
    Table {
        /// The system.
        system: String,
    },
    /// The traffic and the queues.
    Operations,
    /// The same in figures, as JSON.
    Figures,
    /// What the server did lately, as JSON.
    Traffic,
    /// Sends dead messages again.
    Redrive,
    /// A document.
    Document {
        /// The system.
        system: String,
    },
    /// A contract.
    Contract {
        /// The system.
        system: String,
        /// The contract's id.
        id: String,
    },
    /// The examples of a system, played.
    Play {
        /// The system.
        system: String,
    },
    /// The recording of the examples, as JSON.
    Film {
        /// The system.
        system: String,
    },
}

impl Page {
    /// The page of a path.
    pub(crate) fn of(path: &str) -> Option<Page> {
        if path == "/" || path == PREFIX {
            return Some(Page::Home);
        }
        let rest = path.strip_prefix(PREFIX)?.strip_prefix('/')?;
        let parts: Option<Vec<Cow<'_, str>>> =
            rest.split('/').map(|part| percent_decode_str(part).decode_utf8().ok()).collect();
        let parts = parts?;
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        let owned = |text: &str| text.to_owned();
        Some(match parts.as_slice() {
            ["sign-in"] => Page::SignIn,
            ["sign-out"] => Page::SignOut,
            ["be"] => Page::Be,
            ["find.json"] => Page::Find,
            ["call"] => Page::Call,
            ["assets", version, name] => Page::Asset { version: owned(version), name: owned(name) },
            ["operations"] => Page::Operations,
            ["figures.json"] => Page::Figures,
            ["traffic.json"] => Page::Traffic,
            ["redrive"] => Page::Redrive,
            ["systems", system, "table"] => Page::Table { system: owned(system) },
            ["systems", system] => Page::Document { system: owned(system) },
            ["systems", system, "contracts", id] => {
                Page::Contract { system: owned(system), id: owned(id) }
            }
            ["systems", system, "play"] => Page::Play { system: owned(system) },
            ["systems", system, "play.json"] => Page::Film { system: owned(system) },
            _ => return None,
        })
    }

    /// The path of the page that is meant, where the path of a request has slashes at its end that no page has.
    pub(crate) fn without_slash(path: &str) -> Option<&str> {
        let plain = path.trim_end_matches('/');
        (plain.len() < path.len()).then_some(plain).filter(|plain| Page::of(plain).is_some())
    }

    /// The methods by which the page is asked for, as a header has them.
    pub(crate) fn methods(&self) -> &'static str {
        match (self.takes(&Method::GET), self.takes(&Method::POST)) {
            (true, true) => "GET, HEAD, POST",
            (true, false) => "GET, HEAD",
            (false, _) => "POST",
        }
    }

    /// Whether the page is asked for by a method.
    pub(crate) fn takes(&self, method: &Method) -> bool {
        let reads = matches!(*method, Method::GET | Method::HEAD);
        match self {
            Page::SignIn => reads || method == Method::POST,
            Page::SignOut | Page::Be | Page::Call | Page::Redrive => method == Method::POST,
            _ => reads,
        }
    }

    /// Whether a script asks for it, which reads JSON.
    pub(crate) fn is_for_scripts(&self) -> bool {
        match self {
            Page::Find
            | Page::Call
            | Page::Figures
            | Page::Traffic
            | Page::Redrive
            | Page::Film { .. } => true,
            Page::Home
            | Page::SignIn
            | Page::SignOut
            | Page::Be
            | Page::Asset { .. }
            | Page::Table { .. }
            | Page::Operations
            | Page::Document { .. }
            | Page::Contract { .. }
            | Page::Play { .. } => false,
        }
    }
}

/// The path of a document's page.
pub(crate) fn document(system: &str) -> String {
    format!("{PREFIX}/systems/{}", segment(system))
}

/// The path of a contract's page.
pub(crate) fn contract(system: &str, id: &str) -> String {
    format!("{PREFIX}/systems/{}/contracts/{}", segment(system), segment(id))
}

/// The path of the page of a system's table.
pub(crate) fn table(system: &str) -> String {
    format!("{PREFIX}/systems/{}/table", segment(system))
}

/// The path of the page of traffic and queues.
pub(crate) fn operations() -> String {
    format!("{PREFIX}/operations")
}

/// The path of the page that plays a system's examples.
pub(crate) fn play(system: &str) -> String {
    format!("{PREFIX}/systems/{}/play", segment(system))
}

/// The path of the recording of a system's examples.
pub(crate) fn play_json(system: &str) -> String {
    format!("{PREFIX}/systems/{}/play.json", segment(system))
}

/// The path of an asset.
pub(crate) fn asset(version: &str, name: &str) -> String {
    format!("{PREFIX}/assets/{version}/{name}")
}

/// A text as a segment of a path.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_contract_leads_to_its_page() {
        for (system, id) in [("doors", "D-01"), ("a b", "x/y?#%"), ("ü", "..")] {
            let expected = Page::Contract { system: system.to_owned(), id: id.to_owned() };
            assert_eq!(Page::of(&contract(system, id)), Some(expected));
            let expected = Page::Document { system: system.to_owned() };
            assert_eq!(Page::of(&document(system)), Some(expected));
        }
    }

    #[test]
    fn other_paths_lead_nowhere() {
        for path in
            ["/console/", "/console/x", "/consolex", "/console/systems//", "/console/%FF", "/x"]
        {
            assert_eq!(Page::of(path), None, "{path}");
        }
    }

    #[test]
    fn a_slash_at_the_end_leads_to_the_page_without_it() {
        for (path, expected) in [
            ("/console/", Some("/console")),
            ("/console//", Some("/console")),
            ("/console/operations/", Some("/console/operations")),
            (
                "/console/systems/a%20b/contracts/D-01/",
                Some("/console/systems/a%20b/contracts/D-01"),
            ),
            ("/", None),
            ("//", None),
            ("/console", None),
            ("/console/nowhere/", None),
            ("//evil.example/", None),
        ] {
            assert_eq!(Page::without_slash(path), expected, "{path}");
        }
    }
}
