//! Markdown as HTML that can be trusted, of documents that cannot.
//!
//! Only elements that are named here come out, and all text is escaped. HTML of the document is shown as text, pictures as
//! their description. A link leads to the web, to a heading of the document, or where the caller says; any other is shown
//! as text.

use std::collections::BTreeMap;

use maud::{Escaper, PreEscaped};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::shown::shown;

/// What the ids of headings begin with, so that none is an id of the page.
const HEADING: &str = "h-";

/// A heading of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// Its level, from 1.
    pub(crate) level: u8,
    /// Its text.
    pub(crate) text: String,
    /// Its id in the page.
    pub(crate) id: String,
}

/// What a caller puts into the page.
pub(crate) trait Insert {
    /// What stands for the fenced block that begins in a line; `None` where it is shown as code.
    fn block(&mut self, start: usize) -> Option<String>;

    /// Where a relative link leads, or one to a heading that is not there, if it leads anywhere.
    fn relative(&self, target: &str) -> Option<String>;
}

/// The parser of documents.
fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// The headings of a document, in order.
pub(crate) fn headings(text: &str) -> Vec<Heading> {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let (mut found, mut open) = (Vec::new(), None::<(u8, String)>);
    for event in parser(text) {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { level, .. }), _) => {
                open = Some((number(level), String::new()))
            }
            (Event::Text(part) | Event::Code(part) | Event::InlineHtml(part), Some((_, title))) => {
                title.push_str(&part)
            }
            (Event::End(TagEnd::Heading(_)), _) => {
                let Some((level, text)) = open.take() else { continue };
                let id = unique(&slug(&text), &mut taken);
                found.push(Heading { level, text, id });
            }
            _ => {}
        }
    }
    found
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// The name that links have for a heading, as on GitHub.
fn slug(text: &str) -> String {
    let kept = text.trim().to_lowercase();
    let kept = kept.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    });
    kept.collect()
}

/// An id that no heading before has.
fn unique(slug: &str, taken: &mut BTreeMap<String, usize>) -> String {
    let count = taken.entry(slug.to_owned()).or_default();
    let mut id = if *count == 0 { slug.to_owned() } else { format!("{slug}-{count}") };
    *count += 1;
    while id != slug && taken.contains_key(&id) {
        id.push('-');
    }
    taken.entry(id.clone()).or_insert(1);
    format!("{HEADING}{id}")
}

/// The id in the page of the heading that a link names.
pub(crate) fn heading_id(name: &str) -> String {
    format!("{HEADING}{name}")
}

/// A document as HTML.
pub(crate) fn render(
    text: &str,
    headings: &[Heading],
    insert: &mut dyn Insert,
) -> PreEscaped<String> {
    let mut writer = Writer {
        out: String::new(),
        headings,
        next: 0,
        insert,
        links: Vec::new(),
        alignments: Vec::new(),
        cell: None,
        head: false,
    };
    let mut events = parser(text).into_offset_iter();
    while let Some((event, range)) = events.next() {
        if let Event::Start(Tag::CodeBlock(kind)) = &event {
            let inserted = match kind {
                CodeBlockKind::Fenced(_) => writer.insert.block(range.start),
                CodeBlockKind::Indented => None,
            };
            if let Some(html) = inserted {
                writer.out.push_str(&html);
                let _ = events.find(|(event, _)| matches!(event, Event::End(TagEnd::CodeBlock)));
                continue;
            }
        }
        writer.event(event);
    }
    PreEscaped(writer.out)
}

struct Writer<'a> {
    out: String,
    headings: &'a [Heading],
    /// How many headings there were.
    next: usize,
    insert: &'a mut dyn Insert,
    /// For each link that is open, whether it leads anywhere.
    links: Vec<bool>,
    alignments: Vec<Alignment>,
    /// The cell of the row.
    cell: Option<usize>,
    /// Whether the row is the head of a table.
    head: bool,
}

impl Writer<'_> {
    fn raw(&mut self, html: &str) {
        self.out.push_str(html);
    }

    fn text(&mut self, text: &str) {
        escape(&mut self.out, &shown(text));
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
            Event::Code(text) => {
                self.raw("<code>");
                self.text(&text);
                self.raw("</code>");
            }
            Event::SoftBreak => self.raw("\n"),
            Event::HardBreak => self.raw("<br>"),
            Event::Rule => self.raw("<hr>"),
            Event::TaskListMarker(done) => self.raw(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.raw("<p>"),
            Tag::Heading { level, .. } => {
                let id = self.headings.get(self.next).map(|heading| heading.id.as_str());
                self.next += 1;
                let level = shifted(level);
                self.out.push_str(&format!("<h{level} id=\""));
                escape(&mut self.out, id.unwrap_or(HEADING));
                self.raw("\">");
            }
            Tag::BlockQuote(_) => self.raw("<blockquote>"),
            Tag::CodeBlock(_) => self.raw("<pre class=\"plain\"><code>"),
            Tag::HtmlBlock => self.raw("<pre class=\"plain\">"),
            Tag::List(None) => self.raw("<ul>"),
            Tag::List(Some(first)) => self.out.push_str(&format!("<ol start=\"{first}\">")),
            Tag::Item => self.raw("<li>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.raw("<div class=\"scroll\" tabindex=\"0\"><table>");
            }
            Tag::TableHead => {
                (self.head, self.cell) = (true, None);
                self.raw("<thead><tr>");
            }
            Tag::TableRow => {
                self.cell = None;
                self.raw("<tr>");
            }
            Tag::TableCell => self.cell(),
            Tag::Emphasis => self.raw("<em>"),
            Tag::Strong => self.raw("<strong>"),
            Tag::Strikethrough => self.raw("<s>"),
            Tag::Superscript => self.raw("<sup>"),
            Tag::Subscript => self.raw("<sub>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { .. } => self.raw("<span class=\"muted\">(picture: "),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => self.raw("<div>"),
        }
    }

    fn cell(&mut self) {
        let at = self.cell.map_or(0, |before| before + 1);
        self.cell = Some(at);
        let right = self.alignments.get(at) == Some(&Alignment::Right);
        self.raw(match (self.head, right) {
            (true, false) => "<th scope=\"col\">",
            (true, true) => "<th scope=\"col\" class=\"num\">",
            (false, false) => "<td>",
            (false, true) => "<td class=\"num\">",
        });
    }

    fn link(&mut self, target: &str) {
        let href = self.target(target);
        self.links.push(href.is_some());
        match href {
            Some(href) => {
                self.raw("<a rel=\"noopener noreferrer\" href=\"");
                escape(&mut self.out, &href);
                self.raw("\">");
            }
            None => {
                self.raw("<span class=\"nolink\" title=\"");
                escape(&mut self.out, &shown(target));
                self.raw("\">");
            }
        }
    }

    /// Where a link leads, if it may lead there.
    fn target(&self, target: &str) -> Option<String> {
        if target.chars().any(char::is_control) {
            return None;
        }
        if let Some(name) = target.strip_prefix('#') {
            let id = heading_id(name);
            let here = self.headings.iter().any(|heading| heading.id == id);
            return if here { Some(format!("#{id}")) } else { self.insert.relative(target) };
        }
        let web = ["http://", "https://"].into_iter().any(|scheme| {
            target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        if web { Some(target.to_owned()) } else { self.insert.relative(target) }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.raw("</p>\n"),
            TagEnd::Heading(level) => self.out.push_str(&format!("</h{}>\n", shifted(level))),
            TagEnd::BlockQuote(_) => self.raw("</blockquote>\n"),
            TagEnd::CodeBlock => self.raw("</code></pre>\n"),
            TagEnd::HtmlBlock => self.raw("</pre>\n"),
            TagEnd::List(true) => self.raw("</ol>\n"),
            TagEnd::List(false) => self.raw("</ul>\n"),
            TagEnd::Item => self.raw("</li>\n"),
            TagEnd::Table => self.raw("</tbody></table></div>\n"),
            TagEnd::TableHead => {
                self.head = false;
                self.raw("</tr></thead><tbody>");
            }
            TagEnd::TableRow => self.raw("</tr>\n"),
            TagEnd::TableCell => self.raw(if self.head { "</th>" } else { "</td>" }),
            TagEnd::Emphasis => self.raw("</em>"),
            TagEnd::Strong => self.raw("</strong>"),
            TagEnd::Strikethrough => self.raw("</s>"),
            TagEnd::Superscript => self.raw("</sup>"),
            TagEnd::Subscript => self.raw("</sub>"),
            TagEnd::Link => {
                let leads = self.links.pop() == Some(true);
                self.raw(if leads { "</a>" } else { "</span>" });
            }
            TagEnd::Image => self.raw(")</span>"),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::MetadataBlock(_) => self.raw("</div>"),
        }
    }
}

/// The level of a heading in the page, whose own heading is above those of the document.
fn shifted(level: HeadingLevel) -> u8 {
    (number(level) + 1).min(6)
}

/// Adds a text to HTML, as text or as the value of an attribute in double quotes.
fn escape(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    // Writing to a string does not fail.
    let _ = Escaper::new(out).write_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts nothing, and knows one other document.
    struct Plain;

    impl Insert for Plain {
        fn block(&mut self, _: usize) -> Option<String> {
            None
        }

        fn relative(&self, target: &str) -> Option<String> {
            (target == "other.md").then(|| "other.html".to_owned())
        }
    }

    fn html(text: &str) -> String {
        render(text, &headings(text), &mut Plain).into_string()
    }

    #[test]
    fn prose_is_html() {
        let expected = "<h2 id=\"h-a-b\">A <code>b</code></h2>\n<p>x <em>y</em></p>\n";
        assert_eq!(html("# A `b`\n\nx *y*"), expected);
        let table = html("| a | b |\n|---|--:|\n| `1` | 2 |\n");
        assert!(table.contains("<th scope=\"col\" class=\"num\">b</th></tr></thead>"), "{table}");
        assert!(table.contains("<td><code>1</code></td><td class=\"num\">2</td>"), "{table}");
        assert!(
            html("```rust\n<b>\n```").contains("<pre class=\"plain\"><code>&lt;b&gt;\n</code>")
        );
    }

    #[test]
    fn html_of_the_document_is_text() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<div\nonclick=x>\n\n</div>",
            "<!-- <script> -->",
            "![<script>](x.png \"<b>\")",
            "# <svg onload=x>",
            "`<b>`",
            "&lt;script&gt;",
        ] {
            let html = html(text);
            for tag in ["<script", "<img", "<div", "<svg", "<b", "<!--"] {
                assert!(!html.contains(tag), "{text}: {html}");
            }
        }
    }

    #[test]
    fn links_lead_only_where_they_may() {
        let link = |target: &str| html(&format!("[x](<{target}>)"));
        let leads =
            |to: &str| format!("<p><a rel=\"noopener noreferrer\" href=\"{to}\">x</a></p>\n");
        assert_eq!(link("https://a.example/?a=1&b"), leads("https://a.example/?a=1&amp;b"));
        assert_eq!(link("other.md"), leads("other.html"));
        for target in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "&#106;avascript:alert(1)",
            "data:text/html,x",
            "//evil.example",
            "/console/sign-out",
            "vbscript:x",
            "#nowhere",
            "x.md",
        ] {
            assert!(!link(target).contains("href"), "{target}");
        }
        let quoted = html("[x](https://a/\"onmouseover=x)");
        assert!(quoted.contains("https://a/&quot;onmouseover=x"), "{quoted}");
        let reference = html("[x][y]\n\n[y]: javascript:a '\"><script>'\n");
        assert!(!reference.contains("href") && !reference.contains("<script"), "{reference}");
    }

    #[test]
    fn anchors_lead_to_headings() {
        let html = html("[x](#a-b) [y](#a-b-1)\n\n# A b\n# A b\n## A b 1\n");
        assert!(html.contains("href=\"#h-a-b\"") && html.contains("href=\"#h-a-b-1\""), "{html}");
        let ids: Vec<String> =
            headings("# A b\n# A b\n# A b 1\n# \n#\n").into_iter().map(|one| one.id).collect();
        let mut once = ids.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), ids.len(), "{ids:?}");
    }

    #[test]
    fn what_cannot_be_seen_has_a_sign() {
        assert!(html("a\u{202E}b").contains("a\u{FFFD}b"));
    }
}
