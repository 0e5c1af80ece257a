//! Shows diagnostics to people: the source with carets, the reason, and what to write instead.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use latchkey_language::{Diagnostic, Level as Severity, Span};

/// Renders one diagnostic of a document; with colour if asked to.
pub fn render(path: &str, text: &str, diagnostic: &Diagnostic, colour: bool) -> String {
    let primary =
        AnnotationKind::Primary.span(clip(text, diagnostic.span)).label(&diagnostic.label);
    let mut snippet = Snippet::source(text).path(path).annotation(primary);
    for (span, label) in &diagnostic.others {
        snippet = snippet.annotation(AnnotationKind::Context.span(clip(text, *span)).label(label));
    }
    let level = match diagnostic.level {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(&diagnostic.message).id(diagnostic.rule.slug());
    let mut group: Group<'_> = title.element(snippet);
    if let Some(why) = &diagnostic.why {
        group = group.element(Level::NOTE.message(why));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// A span cut to its first line, within the text.
fn clip(text: &str, span: Span) -> std::ops::Range<usize> {
    let start = span.start.min(text.len());
    let rest = text.get(start..span.end.clamp(start, text.len())).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default().trim_end();
    start..start + line.len()
}

/// The line and column of a place, from 1.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
