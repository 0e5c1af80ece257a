//! The page that plays the examples of a document, request by request.
//!
//! A recording ([`latchkey_example::record`]) is made when someone first asks for it, and kept. The page is a frame that
//! its script fills: it takes the recording from the page itself if it stands there, and else asks the console. So the
//! same frame and the same script also play without a server ([`body`], [`style`], [`script`]).

use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use latchkey_example::{Recording, TargetError};
use latchkey_http::Response;
use latchkey_model::Model;
use maud::{Markup, PreEscaped, html};
use tokio::sync::OnceCell;

use crate::answer::Refusal;
use crate::session::Visitor;
use crate::shell::{self, Shell};
use crate::shown::shown;
use crate::{Console, answer, press, route};

/// The files of the page, for pages without a server.
const STYLE: &str = include_str!("../assets/play.css");
const SCRIPT: &str = include_str!("../assets/play.js");
const SHARED: &str = include_str!("../assets/show.js");

/// The recordings of the systems, by their places among those that are served: each is made once, at its first request.
pub(crate) type Recordings = Vec<OnceCell<Result<Film, String>>>;

/// A recording as it is sent.
#[derive(Debug)]
pub(crate) struct Film {
    plain: Bytes,
    /// Pressed once: a recording is twelve times as long without.
    deflated: Bytes,
}

/// Makes a recording on the thread that asks, which must not be one that answers requests.
pub fn record(model: &Model) -> Result<Recording, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(latchkey_example::record(model)).map_err(|error| match error {
        TargetError::Unusable(reason) | TargetError::Request(reason) => reason,
    })
}

/// The page of a system.
pub(crate) fn page(console: &Console, visitor: &Visitor, system: &str) -> Response {
    let Some((_, document)) = console.system(system) else { return nowhere() };
    let name = &document.model.system;
    let source = route::play_json(name);
    let title = format!("Play {name}");
    let main = html! {
        header.head {
            h1 { "Play " (shown(name)) }
            p.muted { "The examples of the document, request by request, in memory." }
        }
        (frame(Some(&source), None))
    };
    let path = route::play(name);
    let shell = Shell {
        console,
        visitor,
        title: &title,
        path: &path,
        scripts: &["play.js"],
        styles: &["play.css"],
    };
    shell.page(&main)
}

/// The recording of a system, as JSON.
pub(crate) async fn film(console: &Console, system: &str, asked: &HeaderMap) -> Response {
    let found = console.system(system);
    let found = found.and_then(|(at, document)| Some((console.recordings.get(at)?, document)));
    let Some((recording, document)) = found else {
        return answer::problem(Refusal::NotFound, "no such system is served");
    };
    let made = recording.get_or_init(async || {
        let text = document.model.text.clone();
        let made = tokio::task::spawn_blocking(move || film_of(&text)).await;
        made.unwrap_or_else(|error| Err(format!("the recorder stopped: {error}")))
    });
    match made.await {
        Ok(film) => {
            let deflate = press::reads(asked);
            let body = if deflate { &film.deflated } else { &film.plain };
            let mut response = answer::bytes(StatusCode::OK, "application/json", body.clone());
            let headers = response.headers_mut();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            if deflate {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("deflate"));
            }
            response
        }
        Err(reason) => {
            let detail = format!("the examples cannot be played: {reason}");
            answer::problem(Refusal::Bug, &detail)
        }
    }
}

fn film_of(text: &str) -> Result<Film, String> {
    // The thread outlives the request that borrows the model, so it reads the document again, once.
    let checked = latchkey_model::check(text);
    let plain = Bytes::from(record(&checked.model)?.to_json());
    let deflated = press::press(&plain);
    Ok(Film { plain, deflated })
}

fn nowhere() -> Response {
    shell::bare(Refusal::NotFound, "No such system", "No document that is served has it.")
}

/// What plays a recording without a server: a part of a page that also has `console.css`, [`style`] and, behind it,
/// [`script`].
pub fn body(recording: &Recording) -> Markup {
    frame(None, Some(&recording.to_json()))
}

/// The styles of the frame. They use the variables and classes of `console.css`.
pub fn style() -> &'static str {
    STYLE
}

/// The script that fills the frame, as one text without imports, for a `<script defer>` of a page in a file.
pub fn script() -> String {
    let own = SCRIPT.lines().filter(|line| !line.starts_with("import ")).collect::<Vec<_>>();
    let shared = SHARED.lines().map(|line| line.strip_prefix("export ").unwrap_or(line));
    let lines: Vec<&str> = shared.chain(own).collect();
    format!("(() => {{\n\"use strict\";\n{}\n}})();\n", lines.join("\n"))
}

/// The frame that the script fills.
fn frame(source: Option<&str>, film: Option<&str>) -> Markup {
    html! {
        div.play data-play data-source=[source] {
            @if let Some(film) = film {
                script type="application/json" data-film { (PreEscaped(within_script(film))) }
            }
            noscript { p.note.warn { "The examples are played by a script, and this browser runs none." } }
            p.empty data-play-wait role="status" { "The examples are run …" }
        }
    }
}

/// JSON that can stand within a `<script>`: nothing in it can end the element or begin a comment.
fn within_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_recording_within_a_page_cannot_leave_its_script() {
        let hostile = r#"{"a":"</script><script>alert(1)</script><!--"}"#;
        let page = frame(None, Some(hostile)).into_string();
        assert_eq!(page.matches("</script").count(), 1, "{page}");
        assert!(!page.contains("<!--"), "{page}");
        let value: serde_json::Value = serde_json::from_str(&within_script(hostile)).unwrap();
        assert_eq!(value["a"], "</script><script>alert(1)</script><!--");
    }

    #[test]
    fn a_recording_can_be_played() {
        let film = film_of(include_str!("../../runtime/tests/doors.md")).unwrap();
        let read = miniz_oxide::inflate::decompress_to_vec_zlib(&film.deflated).unwrap();
        assert_eq!(read, film.plain);
        let value: serde_json::Value = serde_json::from_slice(&film.plain).unwrap();
        assert_eq!((&value["format"], &value["system"]), (&json!(1), &json!("doors")));
    }

    #[test]
    fn the_script_of_a_file_needs_no_other() {
        let script = script();
        assert!(script.contains("function el("), "it has the helpers");
        for module in ["\nimport ", "\nexport ", "import("] {
            assert!(!script.contains(module), "{module}");
        }
    }
}
