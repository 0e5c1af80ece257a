//! Reads requests as the server does, and carries none out.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use latchkey_runtime::model::Segment;
use latchkey_runtime::{Call, Caller, ContractInfo, Problem, System};

use crate::router::{self, Clash, Matched, Router};
use crate::{headers, request};

/// The routes of one system, for a program that has requests and wants calls: a search, or a replay.
///
/// ```
/// # let text = "```contract\nsystem doors\n```";
/// # if let Ok(system) = latchkey_runtime::System::read(text) {
/// let routes = latchkey_http::Routes::new(&system)?;
/// let alice = latchkey_runtime::Caller::new("alice");
/// assert!(routes.call("GET", "/doors/D1", &[], b"", Some(alice)).is_err());
/// # }
/// # Ok::<(), latchkey_http::Clash<String>>(())
/// ```
#[derive(Debug)]
pub struct Routes {
    router: Router<ContractInfo>,
}

impl Routes {
    /// The routes of a system.
    pub fn new(system: &System) -> Result<Routes, Clash<String>> {
        let mut router = Router::new();
        for (method, info) in system.routes() {
            let added = router.add(0, method.as_str(), shape(info), info.clone());
            added.map_err(|clash| clash.map(|info| info.id.to_string()))?;
        }
        Ok(Routes { router })
    }

    /// The call that a request means, by its method, its path with the query, its headers and its body. Without a
    /// caller it means one only if anyone may call the contract.
    pub fn call(
        &self,
        method: &str,
        target: &str,
        given: &[(String, String)],
        body: &[u8],
        caller: Option<Caller>,
    ) -> Result<Call, Problem> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Matched::Route { target: info, parameters } = self.router.find(method, path) else {
            return Err(Problem::new(404, "not-found", "no contract has this method and path"));
        };
        let unauthenticated =
            || Problem::new(401, "unauthenticated", "this contract asks for a caller");
        let caller = match caller {
            None if info.open => Caller::default(),
            caller => caller.ok_or_else(unauthenticated)?,
        };
        let mut inputs = request::from_path(info, parameters);
        request::from_query(info, query, &mut inputs)?;
        if !body.is_empty() {
            request::from_body(info, body, &mut inputs)?;
        }
        let mut map = HeaderMap::new();
        for (name, value) in given {
            let bad = |_| Problem::bad(format!("`{name}` is not a header"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(()))?;
            let value = HeaderValue::from_str(value).map_err(|_| bad(()))?;
            map.append(name, value);
        }
        let if_match = headers::if_match(&map)?;
        let if_none_match = headers::makes_alone(&map, info.method)?;
        let idempotency_key = headers::idempotency_key(&map)?;
        let call = Call::new(info.id.clone(), caller);
        Ok(Call { inputs, if_match, if_none_match, idempotency_key, ..call })
    }
}

/// The shape of a contract's path.
pub(crate) fn shape(info: &ContractInfo) -> Vec<router::Segment> {
    let segment = |segment: &Segment| match segment {
        Segment::Literal(text) => router::Segment::Literal(text.clone()),
        Segment::Input(_) => router::Segment::Parameter,
    };
    info.path.iter().map(segment).collect()
}
