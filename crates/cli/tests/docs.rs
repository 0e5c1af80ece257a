//! The site that `latchkey docs` writes: it is whole, it leads nowhere that is not there, and a hostile document gets no
//! markup into it.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LATCHKEY: &str = env!("CARGO_BIN_EXE_latchkey");

/// A document that says markup wherever a document can say anything.
const HOSTILE: &str = r##"# <script>alert(1)</script> "quoted" <img src=x onerror=alert(1)>

<script>alert(2)</script>
<iframe src="https://evil.example"></iframe>

[a](javascript:alert(3)) [b](<JAVASCRIPT:alert(4)>) [c](data:text/html,x) ![d](https://evil.example/p.png "e")
[f](//evil.example) [g](https://ok.example/"onmouseover="alert(5)) <a href="javascript:alert(6)">h</a>
[i](hostile.md) [j](missing.md) [k](#nowhere) <javascript:alert(7)> `<b>` &lt;script&gt;

| <u> | "x" onload=1 |
|---|---|
| </td><script> | `</code><script>` |

## Same
## Same
## find

```contract
system hostile
table Hostile { type kind }
// </li></ol><script>alert(8)</script>
entity Thing "<script>" {
  PK = "<b>{thingId}\" onclick=\"x"
  SK = "</text></svg><script>"
  thingId id
  note text(80)? // "><script>
}
contract H-1 "</title><script>alert(9)</script>" {
  GET /things/{thingId}
  input hue text(9)?
  thing = get Thing else 404 not-found "<img src=x onerror=y> {thingId} | `x`"
  allow caller owns thing.thingId
  return thing
  consistency eventual
  expect 1 item
  rate 1/s
}
```

```html
<script>alert(10)</script>
```

```example
// <script>alert(11)</script>
as alice
GET /things/%3Cscript%3E
404 {"detail": "</pre><script>alert(12)</script>"}
```
"##;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn latchkey(arguments: &[&str], directory: &Path) -> Output {
    Command::new(LATCHKEY).args(arguments).current_dir(directory).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Writes a site, and gives its files by their paths.
fn site(documents: &[&str]) -> BTreeMap<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("site");
    let mut arguments = vec!["docs"];
    arguments.extend(documents);
    arguments.extend(["--out", out.to_str().unwrap()]);
    let output = latchkey(&arguments, &root());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    files(&out)
}

fn files(out: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![out.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(out).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// A tag of a page, and its attributes.
#[derive(Debug)]
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

/// The tags of a page. Pages are written by templates, so each attribute has a value in double quotes, or none.
fn tags(html: &str) -> Vec<Tag> {
    let mut all = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let mut in_quotes = false;
        let end = after.find(|c| {
            in_quotes ^= c == '"';
            c == '>' && !in_quotes
        });
        let (inner, behind) = after.split_at(end.unwrap());
        rest = behind;
        if inner.starts_with(['/', '!']) {
            continue;
        }
        let (name, mut left) = inner.split_once(' ').unwrap_or((inner, ""));
        let mut attributes = Vec::new();
        while !left.trim().is_empty() {
            left = left.trim_start();
            let end = left.find([' ', '=']).unwrap_or(left.len());
            let (attribute, after) = left.split_at(end);
            let (value, after) = match after.strip_prefix("=\"") {
                Some(after) => after.split_once('"').unwrap(),
                None => ("", after),
            };
            attributes.push((attribute.to_owned(), value.to_owned()));
            left = after;
        }
        all.push(Tag { name: name.to_owned(), attributes });
    }
    all
}

fn values<'a>(tags: &'a [Tag], attribute: &str) -> Vec<&'a str> {
    let all = tags.iter().flat_map(|tag| &tag.attributes);
    all.filter(|(name, _)| name == attribute).map(|(_, value)| value.as_str()).collect()
}

/// Every link of a site leads to a file of it, and to a place there that is there once.
fn links_lead_somewhere(files: &BTreeMap<String, String>) {
    let pages: BTreeMap<&str, Vec<Tag>> = files
        .iter()
        .filter(|(path, _)| path.ends_with(".html"))
        .map(|(path, html)| (path.as_str(), tags(html)))
        .collect();
    let ids: BTreeMap<&str, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, tags)| {
            let all = values(tags, "id");
            let once: BTreeSet<&str> = all.iter().copied().collect();
            let twice: Vec<_> =
                once.iter().filter(|id| all.iter().filter(|one| one == id).count() > 1).collect();
            assert!(twice.is_empty(), "{path} has ids twice: {twice:?}");
            (*path, once)
        })
        .collect();
    let mut followed = 0;
    for (path, tags) in &pages {
        for link in values(tags, "href").into_iter().chain(values(tags, "src")) {
            if link.starts_with("https://")
                || link.starts_with("http://")
                || link.starts_with("data:image/svg")
            {
                continue;
            }
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = match (file, path.split_once('/')) {
                ("", _) => (*path).to_owned(),
                (file, Some((directory, _))) => match file.strip_prefix("../") {
                    Some(file) => file.to_owned(),
                    None => format!("{directory}/{file}"),
                },
                (file, None) => file.to_owned(),
            };
            assert!(files.contains_key(&target), "{path} links to {link}");
            let there =
                place.is_empty() || ids.get(target.as_str()).is_some_and(|ids| ids.contains(place));
            assert!(there, "{path} links to {link}");
            followed += 1;
        }
        for labelled in values(tags, "aria-labelledby").iter().flat_map(|ids| ids.split(' ')) {
            assert!(ids.get(path).unwrap().contains(labelled), "{path} is labelled by {labelled}");
        }
    }
    assert!(followed > pages.len() * 10, "{followed} links");
}

/// No page has an element, an attribute or a script that the templates do not write.
fn nothing_gets_out(files: &BTreeMap<String, String>) {
    let elements = "html head meta title link script body a header svg rect circle path span button main div nav details \
        summary ul li section h1 h2 h3 h4 h5 h6 p code ol article table thead tbody tr th td dl dt dd pre strong em s br hr \
        blockquote text desc noscript";
    let elements: BTreeSet<&str> = elements.split_whitespace().collect();
    let attributes = "lang charset http-equiv content name rel href src defer class id viewBox aria-hidden width height rx \
        cx cy r d type data-theme-button hidden tabindex aria-label data-contents open scope rowspan colspan start x y \
        role aria-labelledby title aria-expanded data-play data-film data-play-wait";
    let attributes: BTreeSet<&str> = attributes.split_whitespace().collect();
    for (path, html) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        let tags = tags(html);
        for tag in &tags {
            assert!(elements.contains(tag.name.as_str()), "{path}: {tag:?}");
            for (name, value) in &tag.attributes {
                assert!(attributes.contains(name.as_str()), "{path}: {tag:?}");
                assert!(!value.contains('<'), "{path}: {tag:?}");
            }
            if tag.name == "script" {
                let sources = values(std::slice::from_ref(tag), "src");
                let ours = ["assets/theme.js", "assets/document.js", "assets/play.js"];
                let is_ours = |source: &&str| ours.iter().any(|own| source.ends_with(own));
                assert!(sources.iter().all(is_ours), "{path}: {tag:?}");
                // A recording stands in its page, as data that no browser runs.
                let data = values(std::slice::from_ref(tag), "type") == ["application/json"];
                assert_eq!(sources.len(), usize::from(!data), "{path}: {tag:?}");
            }
        }
        for link in values(&tags, "href").into_iter().chain(values(&tags, "src")) {
            let lower = link.to_lowercase();
            let scheme = ["javascript:", "vbscript:", "//", "file:"]
                .into_iter()
                .any(|start| lower.starts_with(start));
            let data = lower.starts_with("data:") && !lower.starts_with("data:image/svg+xml,");
            assert!(!scheme && !data, "{path} links to {link}");
        }
    }
}

#[test]
fn the_shipped_systems_have_a_site() {
    let files = site(&[]);
    assert_eq!(files, site(&[]), "the same documents give the same files");
    for path in [
        "index.html",
        "systems/smartlocker.html",
        "systems/smartlocker.md",
        "assets/console.css",
        "assets/theme.js",
    ] {
        assert!(files.contains_key(path), "{path}");
    }
    links_lead_somewhere(&files);
    nothing_gets_out(&files);
    let page = files.get("systems/smartlocker.html").unwrap();
    for part in [
        "id=\"contract-QC-04\"",
        "begins_with(SK, &quot;LOCKER#&quot;)",
        "SK = &quot;META&quot;",
        "view of Locker",
        "guarded by Calendar",
        "href=\"#rule-forged-key\"",
        "TransactGetItems",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Every line of every contract is there once, but for empty ones between two contracts.
    let document = fs::read_to_string(root().join("systems/smartlocker.md")).unwrap();
    let ids: BTreeSet<String> = values(&tags(page), "id").into_iter().map(str::to_owned).collect();
    let mut fenced = false;
    for (number, line) in (1..).zip(document.lines()) {
        match line {
            "```contract" => fenced = true,
            "```" => fenced = false,
            line if fenced && !line.is_empty() => {
                assert!(ids.contains(&format!("L{number}")), "{number}: {line}")
            }
            _ => {}
        }
    }
    let reference = files.get("systems/smartlocker.md").unwrap();
    assert!(
        reference.contains("### QC-04\\: Reserve a locker")
            || reference.contains("### QC-04: Reserve a locker")
    );
    assert!(reference.contains("| `LOCKER#{lockerId}` | `META` | Locker |  |"), "{reference}");
}

#[test]
fn the_designs_have_a_site() {
    let mut designs: Vec<String> = fs::read_dir(root().join("designs"))
        .unwrap()
        .map(|entry| format!("designs/{}", entry.unwrap().file_name().to_str().unwrap()))
        .filter(|path| path.ends_with(".md") && !path.ends_with("README.md"))
        .collect();
    designs.sort();
    assert!(designs.len() > 5, "{designs:?}");
    let names: Vec<&str> = designs.iter().map(String::as_str).collect();
    let files = site(&names);
    links_lead_somewhere(&files);
    nothing_gets_out(&files);
}

#[test]
fn a_hostile_document_is_text() {
    let directory = tempfile::tempdir().unwrap();
    let document = directory.path().join("hostile.md");
    fs::write(&document, HOSTILE).unwrap();
    let files = site(&[document.to_str().unwrap()]);
    links_lead_somewhere(&files);
    nothing_gets_out(&files);
    let page = files.get("systems/hostile.html").unwrap();
    for number in 1..=12 {
        // All of it is shown, but for where pictures and links would lead.
        let shown = page.contains(&format!("alert({number})"));
        assert!(shown, "alert({number})");
    }
    assert!(
        page.contains("href=\"https://ok.example/") && page.contains("href=\"hostile.html\""),
        "{page}"
    );
    assert!(page.contains("<code>unused</code>"), "the check tells of the input that nothing uses");
    // In Markdown no `<` begins a tag: it is escaped, or in code.
    let reference = files.get("systems/hostile.md").unwrap();
    let mut fenced = false;
    for line in reference.lines() {
        fenced ^= line.starts_with("```");
        let outside: String = line.split('`').step_by(2).collect();
        let bare = outside.replace("\\<", "").contains('<');
        assert!(fenced || !bare || line.contains("``"), "{line}");
    }
}

#[test]
fn a_directory_with_other_files_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("site");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("index.html"), "mine").unwrap();
    fs::write(out.join("other.txt"), "mine").unwrap();
    let docs = |arguments: &[&str]| {
        let all: Vec<&str> = ["docs", "--out", out.to_str().unwrap()]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        latchkey(&all, &root())
    };
    let output = docs(&["systems/locations.md"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("add --force"), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), "mine");
    assert_eq!(files(&out).len(), 2);

    assert_eq!(docs(&["systems/locations.md", "--force"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(out.join("other.txt")).unwrap(), "mine");
    assert!(out.join("systems/locations.html").exists());
    // The command has made it now: no --force is needed, and what is no longer part of the site goes.
    assert_eq!(docs(&["systems/smartlocker.md"]).status.code(), Some(0));
    assert!(
        out.join("systems/smartlocker.html").exists()
            && !out.join("systems/locations.html").exists()
    );
    assert_eq!(fs::read_to_string(out.join("other.txt")).unwrap(), "mine");
    assert!(!out.join(".latchkey-docs-new").exists());

    // A list of files that leads out of the directory removes nothing there.
    fs::write(directory.path().join("outside.txt"), "mine").unwrap();
    fs::write(
        out.join(".latchkey-docs"),
        "../outside.txt\n/etc/none\nother.txt/../../outside.txt\n",
    )
    .unwrap();
    assert_eq!(docs(&["systems/smartlocker.md"]).status.code(), Some(0));
    assert!(directory.path().join("outside.txt").exists());
}

#[test]
fn a_document_with_mistakes_leaves_no_site() {
    let directory = tempfile::tempdir().unwrap();
    let document = directory.path().join("wrong.md");
    fs::write(&document, HOSTILE.replace("  allow caller owns thing.thingId\n", "")).unwrap();
    let output = latchkey(&["docs", "wrong.md", "--out", "site"], directory.path());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no-allow"));
    assert!(!directory.path().join("site").exists());
}
