//! Finds the contract for a method and a path, and decodes paths and query strings.
//!
//! Routes of different shapes can match one path under different methods: `GET /a/{}` and `PUT /a/b`. A router that
//! follows only the most literal branch would refuse `GET /a/b`. This router looks at every route that the path
//! matches.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// The most pairs read from one query.
const PAIRS_MAX: usize = 100;

/// One part of a route's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// This text and no other.
    Literal(String),
    /// Any text, the empty one too.
    Parameter,
}

/// Why an encoded text cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Bad {
    /// A `%` that two hexadecimal digits do not follow.
    #[error("`%` must be followed by two hexadecimal digits")]
    Percent,
    /// The decoded bytes are not UTF-8.
    #[error("not UTF-8 once decoded")]
    Utf8,
    /// The query has more pairs than are read.
    #[error("more than {PAIRS_MAX} parameters in the query")]
    TooMany,
}

/// A decoded text, or why it cannot be decoded.
pub(crate) type Decoded<'a> = Result<Cow<'a, str>, Bad>;

/// Two routes of one method match the same path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{method} {path}` can mean `{earlier}` or `{later}`")]
pub struct Clash<T> {
    /// The method of both.
    pub method: String,
    /// A path that both match, with `{}` for any text.
    pub path: String,
    /// The target of the route that was added first.
    pub earlier: T,
    /// The target of the route that was refused.
    pub later: T,
}

impl<T> Clash<T> {
    /// The same clash with other names for the targets.
    pub fn map<U>(self, tell: impl Fn(T) -> U) -> Clash<U> {
        let Clash { method, path, earlier, later } = self;
        Clash { method, path, earlier: tell(earlier), later: tell(later) }
    }
}

/// What was found for a method and a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Matched<'a, T> {
    /// A route.
    Route {
        /// The target of the route.
        target: &'a T,
        /// The texts at the route's parameters, in order.
        parameters: Vec<Decoded<'a>>,
    },
    /// Routes match the path, but none has this method.
    Method {
        /// The methods of these routes, sorted.
        allow: Vec<&'a str>,
    },
    /// No route matches the path.
    Nothing,
}

#[derive(Debug)]
struct Route<T> {
    group: usize,
    method: String,
    segments: Vec<Segment>,
    target: T,
}

/// A node of the tree of segments: routes with the same beginning share it.
#[derive(Debug, Default)]
struct Node {
    literals: BTreeMap<String, Node>,
    parameter: Option<Box<Node>>,
    /// The routes that end here, by their index in the router.
    ends: Vec<usize>,
}

/// All routes.
///
/// Invariant: no path matches two routes of one method, except for two routes of one group. Of those, the more literal
/// one wins.
#[derive(Debug)]
pub(crate) struct Router<T> {
    routes: Vec<Route<T>>,
    root: Node,
}

impl<T> Default for Router<T> {
    fn default() -> Router<T> {
        Router { routes: Vec::new(), root: Node::default() }
    }
}

impl<T> Router<T> {
    /// A router of no routes.
    pub(crate) fn new() -> Router<T> {
        Router::default()
    }

    /// Adds a route, unless a path would then match two routes of this method. A refused route changes nothing.
    ///
    /// Routes of one group, which is one document, may overlap where one has a literal and the other a parameter: the
    /// check has shown that the type of the parameter excludes that text.
    pub(crate) fn add(
        &mut self,
        group: usize,
        method: &str,
        segments: Vec<Segment>,
        target: T,
    ) -> Result<(), Clash<T>>
    where
        T: Clone,
    {
        let same = self.routes.iter().filter(|route| route.method == method);
        for route in same.filter(|route| route.group != group || route.segments == segments) {
            if let Some(path) = meeting(&route.segments, &segments) {
                let (method, earlier) = (method.to_owned(), route.target.clone());
                return Err(Clash { method, path, earlier, later: target });
            }
        }
        let end = segments.iter().fold(&mut self.root, |node, segment| match segment {
            Segment::Literal(text) => node.literals.entry(text.clone()).or_default(),
            Segment::Parameter => node.parameter.get_or_insert_default(),
        });
        end.ends.push(self.routes.len());
        self.routes.push(Route { group, method: method.to_owned(), segments, target });
        Ok(())
    }

    /// Finds the route for a method and a path without its query. `HEAD` means `GET` where no route has `HEAD`.
    ///
    /// A path is compared decoded: `/%61` is `/a`. An encoded slash stays within its segment. A slash at
    /// the end leaves an empty segment, which only a parameter matches; `/` alone has no segment.
    pub(crate) fn find<'a>(&'a self, method: &str, path: &'a str) -> Matched<'a, T> {
        let Some(rest) = path.strip_prefix('/') else { return Matched::Nothing };
        let rest = (!rest.is_empty()).then_some(rest);
        let (mut exact, mut stand_in) = (None, None);
        self.visit(rest, |route| {
            // The most literal route is visited first.
            if route.method == method {
                exact = exact.or(Some(route));
            } else if method == "HEAD" && route.method == "GET" {
                stand_in = stand_in.or(Some(route));
            }
        });
        match exact.or(stand_in) {
            Some(route) => {
                Matched::Route { target: &route.target, parameters: route.parameters(rest) }
            }
            None => self.other_methods(rest),
        }
    }

    fn other_methods(&self, rest: Option<&str>) -> Matched<'_, T> {
        let mut allow = Vec::new();
        self.visit(rest, |route| {
            allow.push(route.method.as_str());
            if route.method == "GET" {
                allow.push("HEAD");
            }
        });
        allow.sort_unstable();
        allow.dedup();
        if allow.is_empty() { Matched::Nothing } else { Matched::Method { allow } }
    }

    /// Visits every route that matches the path, of any method.
    fn visit<'a>(&'a self, rest: Option<&str>, mut see: impl FnMut(&'a Route<T>)) {
        self.root.visit(rest, &mut |at| {
            if let Some(route) = self.routes.get(at) {
                see(route);
            }
        });
    }
}

impl<T> Route<T> {
    /// The texts of the parameters, for a path that matches.
    fn parameters<'a>(&self, rest: Option<&'a str>) -> Vec<Decoded<'a>> {
        let texts = rest.into_iter().flat_map(|rest| rest.split('/'));
        let pairs = self.segments.iter().zip(texts);
        let open = pairs.filter(|(segment, _)| **segment == Segment::Parameter);
        open.map(|(_, text)| decode(text, false)).collect()
    }
}

impl Node {
    /// Visits the routes that match the rest of a path. It goes no deeper than the routes, and to each node at most
    /// once, whatever the length of the path.
    fn visit(&self, rest: Option<&str>, see: &mut impl FnMut(usize)) {
        let Some(rest) = rest else {
            self.ends.iter().for_each(|end| see(*end));
            return;
        };
        let (text, rest) = match rest.split_once('/') {
            Some((text, rest)) => (text, Some(rest)),
            None => (rest, None),
        };
        // A text that cannot be decoded matches no literal, but it matches a parameter.
        let literal = decode(text, false).ok().and_then(|text| self.literals.get(&*text));
        if let Some(next) = literal {
            next.visit(rest, see);
        }
        if let Some(next) = &self.parameter {
            next.visit(rest, see);
        }
    }
}

/// A path that both shapes match, if there is one.
fn meeting(one: &[Segment], other: &[Segment]) -> Option<String> {
    if one.len() != other.len() {
        return None;
    }
    let mut path = String::new();
    for pair in one.iter().zip(other) {
        path.push('/');
        match pair {
            (Segment::Literal(one), Segment::Literal(other)) if one != other => return None,
            (Segment::Literal(text), _) | (_, Segment::Literal(text)) => path.push_str(text),
            (Segment::Parameter, Segment::Parameter) => path.push_str("{}"),
        }
    }
    if path.is_empty() {
        path.push('/');
    }
    Some(path)
}

/// The decoded pairs of a query. `+` is a space. A name without `=` has an empty value.
///
/// After the hundredth pair comes one [`Bad::TooMany`], and no more.
pub(crate) fn query(query: &str) -> impl Iterator<Item = (Decoded<'_>, Decoded<'_>)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.take(PAIRS_MAX.saturating_add(1)).enumerate().map(|(at, pair)| {
        if at == PAIRS_MAX {
            return (Err(Bad::TooMany), Err(Bad::TooMany));
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name, true), decode(value, true))
    })
}

/// Decodes percent signs, and `+` as a space if `plus` is set.
fn decode(text: &str, plus: bool) -> Decoded<'_> {
    if !text.bytes().any(|byte| byte == b'%' || (plus && byte == b'+')) {
        return Ok(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let high = bytes.next().and_then(hexadecimal).ok_or(Bad::Percent)?;
                let low = bytes.next().and_then(hexadecimal).ok_or(Bad::Percent)?;
                (high << 4) | low
            }
            b'+' if plus => b' ',
            _ => byte,
        });
    }
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| Bad::Utf8)
}

fn hexadecimal(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
