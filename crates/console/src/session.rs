//! Who visits: signing in with a token, being someone else in development, signing out.
//!
//! The token is kept in a cookie that scripts cannot read (`HttpOnly`) and that browsers send along from pages of this
//! server alone (`SameSite=Strict`). Nothing but the console reads the cookie: contracts take a token in
//! `Authorization`, so no page of another site can call one with it. It is verified at each request, as every token is.

use std::net::IpAddr;

use hyper::header::{COOKIE, HOST, HeaderValue, ORIGIN, SET_COOKIE};
use hyper::{HeaderMap, StatusCode};
use latchkey_http::{Claims, Response, Service, Visit};
use latchkey_runtime::Problem;
use maud::{Markup, html};

use crate::answer::Refusal;
use crate::route::{self, Page};
use crate::shown::shown;
use crate::{Console, Persona, answer, shell};

/// What the name of the cookie begins with. Cookies are those of a host, whatever the port, so the port stands behind:
/// who is signed in at one server of a machine stays so when signing in at another.
const NAME: &str = "latchkey-console";

/// The name of the cookie of the server that a browser asked.
fn name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    match port.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(port) => format!("{NAME}-{port}"),
        None => NAME.to_owned(),
    }
}

/// Browsers keep a cookie of at most 4,096 bytes, with its name and attributes.
const TOKEN_BYTES_MAX: usize = 3_900;

/// How long a browser keeps the cookie. The token in it may end sooner.
const LASTS_S: u32 = 24 * 60 * 60;

/// Someone who is signed in.
#[derive(Debug)]
pub(crate) struct Visitor {
    /// Who they are.
    pub(crate) claims: Claims,
    /// Their token.
    pub(crate) token: String,
    /// Whether they may see what is behind the contracts.
    pub(crate) admin: bool,
}

/// Someone who is not signed in.
#[derive(Debug)]
pub(crate) struct Outsider(Option<Problem>);

impl Outsider {
    /// The answer to a request for a page: first the form, then the page.
    pub(crate) fn answer(&self, page: &Page, visit: &Visit) -> Response {
        if page.is_for_scripts() {
            let detail = self.0.as_ref().map_or("sign in first", |problem| problem.detail.as_str());
            return answer::problem(Refusal::Unauthenticated, detail);
        }
        let to = visit.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("to", to);
        if self.0.is_some() {
            query.append_pair("ended", "true");
        }
        let query = query.finish();
        answer::see(&format!("{}/sign-in?{query}", route::PREFIX))
    }
}

/// Who visits, if they are signed in.
pub(crate) async fn visitor(
    console: &Console,
    service: &Service,
    visit: &Visit,
) -> Result<Visitor, Outsider> {
    let token = cookie(&visit.headers).ok_or(Outsider(None))?;
    let claims = service.identify(token, &visit.headers, visit.peer).await;
    let claims = claims.map_err(|problem| Outsider(Some(problem)))?;
    let admin = claims.roles.contains(&console.admin);
    Ok(Visitor { claims, token: token.to_owned(), admin })
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let name = name(headers);
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(name.as_str())?.strip_prefix('='))
}

/// Whether a request that changes something was made by a page of this server. Browsers say from where a request comes;
/// one that does not say is none of ours.
pub(crate) fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    let origin = text(ORIGIN).and_then(|origin| Some(origin.split_once("://")?.1));
    origin.is_some() && origin == text(HOST)
}

/// Whether a development server is asked under a name of this machine. A page of another site can have its own name
/// lead here (DNS rebinding), and would then be of one origin with the console.
pub(crate) fn is_at_home(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The form to sign in.
pub(crate) fn form(console: &Console, visit: &Visit) -> Response {
    let to = fields(visit.uri.query().unwrap_or_default().as_bytes(), "to");
    let ended = fields(visit.uri.query().unwrap_or_default().as_bytes(), "ended").map(|_| {
        let detail =
            "your token is not accepted any more, perhaps because it has expired: sign in again";
        Problem::new(401, "unauthenticated", detail)
    });
    let page = sign_in_form(console, &visit.headers, to.as_deref(), ended.as_ref());
    answer::page(StatusCode::OK, shell::outside("Sign in", &page))
}

fn sign_in_form(
    console: &Console,
    headers: &HeaderMap,
    to: Option<&str>,
    refused: Option<&Problem>,
) -> Markup {
    let offered = !console.personas.is_empty() && is_at_home(headers);
    html! {
        h1 { "Sign in" }
        @if offered {
            section.card.sign-in aria-labelledby="be" {
                h2 #be { "Be someone at a click" }
                p.muted { "This server signs tokens with a development secret, so you can be any of these." }
                (personas(console, to, None))
            }
        }
        form.card.sign-in method="post" action={ (route::PREFIX) "/sign-in" } aria-labelledby="with-token" {
            h2 #with-token { "With a token" }
            p.muted { "The one that you would send as " code { "Authorization: Bearer TOKEN" } ". What you see and do here is what the token allows." }
            @if let Some(problem) = refused {
                p.note.bad role="alert" { (shown(&problem.detail)) }
            }
            input type="hidden" name="to" value=[to];
            label for="token" { "Token" }
            textarea #token name="token" rows="4" required autocomplete="off" autocapitalize="off" spellcheck="false" autofocus[!offered] {}
            button.main type="submit" { "Sign in" }
        }
    }
}

/// The people that a visitor can be, as buttons.
pub(crate) fn personas(console: &Console, to: Option<&str>, now: Option<&Claims>) -> Markup {
    html! {
        form.personas method="post" action={ (route::PREFIX) "/be" } {
            input type="hidden" name="to" value=[to];
            @for (at, persona) in console.personas.iter().enumerate() {
                button.persona type="submit" name="persona" value=(at) aria-pressed=[(now == Some(&persona.claims)).then_some("true")] {
                    strong { (shown(&persona.claims.sub)) }
                    span.muted { (describe(persona)) }
                }
            }
        }
    }
}

fn describe(persona: &Persona) -> String {
    let Persona { claims, stranger, .. } = persona;
    let names = |all: &[latchkey_value::Text]| all.join(", ");
    match (claims.roles.is_empty(), claims.orgs.is_empty()) {
        (true, true) if *stranger => "a stranger".to_owned(),
        (true, true) => "no role".to_owned(),
        (false, true) => names(&claims.roles),
        (true, false) => format!("of {}", names(&claims.orgs)),
        (false, false) => format!("{}, of {}", names(&claims.roles), names(&claims.orgs)),
    }
}

/// Signs a visitor in, if the token is good.
pub(crate) async fn sign_in(console: &Console, service: &Service, visit: &Visit) -> Response {
    let token = fields(&visit.body, "token").unwrap_or_default();
    // People copy the token with the word before it, and with lines around it.
    let token: String = token.split_whitespace().collect();
    let token = token.strip_prefix("Bearer").unwrap_or(&token);
    let refuse = |problem: &Problem| {
        let to = fields(&visit.body, "to");
        let page = sign_in_form(console, &visit.headers, to.as_deref(), Some(problem));
        answer::refusal(Refusal::Unauthenticated, shell::outside("Sign in", &page))
    };
    if token.len() > TOKEN_BYTES_MAX {
        let detail = format!(
            "the token has more than {TOKEN_BYTES_MAX} bytes, and no browser keeps it in a cookie; use one with fewer claims"
        );
        return refuse(&Problem::new(401, "unauthenticated", detail));
    }
    match service.identify(token, &visit.headers, visit.peer).await {
        Ok(_) => enter(token, fields(&visit.body, "to").as_deref(), &visit.headers),
        Err(problem) => refuse(&problem),
    }
}

/// Makes a visitor one of the people that a development server knows.
pub(crate) fn become_someone(console: &Console, visit: &Visit) -> Response {
    let chosen = fields(&visit.body, "persona").and_then(|at| at.parse::<usize>().ok());
    let chosen = chosen.filter(|_| is_at_home(&visit.headers));
    match chosen.and_then(|at| console.personas.get(at)) {
        Some(persona) => match console.signer.as_ref().map(|signer| (signer.0)(&persona.claims)) {
            Some(Ok(token)) => enter(&token, fields(&visit.body, "to").as_deref(), &visit.headers),
            Some(Err(why)) => shell::bare(Refusal::Bug, "No token", &why),
            None => shell::bare(Refusal::Bug, "No token", "This server signs no tokens."),
        },
        None => {
            let text = "This server has no such person; only a development server has any.";
            shell::bare(Refusal::NotFound, "Nobody", text)
        }
    }
}

/// Ends a visit.
pub(crate) fn sign_out(headers: &HeaderMap) -> Response {
    let mut response = answer::see(&format!("{}/sign-in", route::PREFIX));
    let name = name(headers);
    set(&mut response, &format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"));
    response
}

fn enter(token: &str, to: Option<&str>, headers: &HeaderMap) -> Response {
    // No page of another server: what follows two slashes is a host.
    let to = to.filter(|to| Page::of(to.split('?').next().unwrap_or_default()).is_some());
    let mut response = answer::see(to.unwrap_or("/"));
    // A proxy that speaks TLS says so; a cookie of a plain connection must not be kept back from it.
    let secure = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let secure = if secure { "; Secure" } else { "" };
    let name = name(headers);
    set(
        &mut response,
        &format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={LASTS_S}{secure}"),
    );
    response
}

fn set(response: &mut Response, cookie: &str) {
    // A token is base64url and dots, as `identify` has seen.
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
}

/// A field of a form.
fn fields(form: &[u8], name: &str) -> Option<String> {
    let found = form_urlencoded::parse(form).find(|(own, _)| own == name);
    found.map(|(_, value)| value.into_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter()
            .map(|(name, value)| ((*name).parse().unwrap(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn a_form_of_another_site_is_told_from_ours() {
        let here = |all: &[(&'static str, &'static str)]| is_from_here(&headers(all));
        assert!(here(&[("sec-fetch-site", "same-origin")]));
        assert!(here(&[("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")]));
        for other in [
            &[("sec-fetch-site", "cross-site"), ("origin", "http://a"), ("host", "a")][..],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("origin", "http://evil"), ("host", "127.0.0.1:8080")],
            &[("origin", "null"), ("host", "127.0.0.1:8080")],
            &[("host", "127.0.0.1:8080")],
            &[],
        ] {
            assert!(!here(other), "{other:?}");
        }
    }

    // A site whose name leads to this machine is of one origin with a console under that name.
    #[test]
    fn a_development_server_knows_its_own_names() {
        let home = |host: &'static str| is_at_home(&headers(&[("host", host)]));
        for host in ["127.0.0.1:8080", "localhost:8080", "localhost", "[::1]:8080", "127.0.0.2"] {
            assert!(home(host), "{host}");
        }
        for host in [
            "evil.example:8080",
            "localhost.evil.example",
            "10.0.0.1:80",
            "",
            "127.0.0.1.evil.example",
        ] {
            assert!(!home(host), "{host}");
        }
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let found = |value: &'static str| cookie(&headers(&[("cookie", value)])).map(str::to_owned);
        assert_eq!(found("a=b; latchkey-console=x.y.z; c=d").as_deref(), Some("x.y.z"));
        assert_eq!(found("latchkey-console2=x"), None);
        let both = "latchkey-console-80=a; latchkey-console-8080=b; latchkey-console=c";
        let at = |host| cookie(&headers(&[("cookie", both), ("host", host)])).map(str::to_owned);
        assert_eq!(at("127.0.0.1:8080").as_deref(), Some("b"));
        assert_eq!(at("[::1]:80").as_deref(), Some("a"));
        assert_eq!(at("latchkey.example").as_deref(), Some("c"));
        assert_eq!(found(""), None);
    }

    #[test]
    fn signing_in_leads_to_pages_of_the_console_alone() {
        let to = |path| enter("t", Some(path), &HeaderMap::new()).headers()["location"].clone();
        assert_eq!(to("/console/systems/a/contracts/b?x=1"), "/console/systems/a/contracts/b?x=1");
        for path in
            ["//evil.example", "https://evil.example", "/\\evil", "/console/nowhere", "/doors"]
        {
            assert_eq!(to(path), "/", "{path}");
        }
    }
}
