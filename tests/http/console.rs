//! The console: who is let in, what each role sees of it, and what pages of others can make it do.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::browsers::Flagged;
use crate::jwt;
use crate::serve::{Client, Reply, latchkey};

const HERE: (&str, &str) = ("sec-fetch-site", "same-origin");

/// Pages that everyone who is signed in may see.
const OPEN: [&str; 2] = ["/", "/console/systems/smartlocker/contracts/QC-01"];

/// Pages and answers for scripts that are for the role of the console alone.
const CLOSED: [&str; 5] = [
    "/console/operations",
    "/console/figures.json",
    "/console/traffic.json",
    "/console/systems/smartlocker/table",
    "/console/systems/smartlocker/table?partition=LOCKER%23L1",
];

/// Someone with a cookie and nothing else, as a browser is.
pub(crate) struct Browser {
    client: Client,
    cookie: String,
}

impl Browser {
    pub(crate) fn of(flagged: &Flagged, sub: &str, roles: &[&str]) -> Browser {
        let token = jwt::token(&flagged.secret, &jwt::claims(sub, roles, &[]));
        Browser::with(flagged.server.client(), &token)
    }

    /// Whoever has a token.
    fn with(mut client: Client, token: &str) -> Browser {
        let form = format!("token={token}&to=%2F");
        let reply = client.send("POST", "/console/sign-in", &[HERE, FORM], Some(&form));
        assert_eq!((reply.status, reply.header("location")), (303, "/"), "{reply}");
        let cookie = reply.header("set-cookie");
        for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(word), "{reply}");
        }
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Browser { client, cookie }
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        let cookie = self.cookie.clone();
        self.client.send("GET", path, &[("cookie", &cookie)], None)
    }

    fn post(&mut self, path: &str, body: &Value) -> Reply {
        let cookie = self.cookie.clone();
        self.client.send("POST", path, &[("cookie", &cookie), HERE], Some(&body.to_string()))
    }

    /// Calls a contract through the console.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let asked = json!({"method": method, "path": path, "body": body.map(Value::to_string)});
        let reply = self.post("/console/call", &asked);
        assert_eq!(reply.status, 200, "{reply}");
        reply.json()
    }
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

#[test]
fn nobody_sees_a_page_without_a_token() {
    let flagged = Flagged::start(&[], &[]);
    let mut nobody = flagged.server.client();
    for path in OPEN.into_iter().chain(CLOSED) {
        let reply = nobody.get(path);
        match path.ends_with(".json") {
            true => drop(reply.refuses(401, "unauthenticated")),
            false => {
                assert_eq!(reply.status, 303, "{reply}");
                assert!(reply.header("location").starts_with("/console/sign-in?to="), "{reply}");
            }
        }
    }
    for path in ["/console/call", "/console/redrive"] {
        nobody.send("POST", path, &[HERE], Some("{}")).refuses(401, "unauthenticated");
    }
    for bad in ["", "x", "x.y.z", "latchkey-console"] {
        let form = format!("token={bad}");
        let reply = nobody.send("POST", "/console/sign-in", &[HERE, FORM], Some(&form));
        assert_eq!((reply.status, reply.header("set-cookie")), (401, ""), "{reply}");
    }
    // A cookie is no token for contracts.
    let browser = Browser::of(&flagged, "olga", &["operator"]);
    let reply = nobody.send("GET", "/lockers/L1", &[("cookie", &browser.cookie)], None);
    assert_eq!(reply.status, 401, "{reply}");
}

#[test]
fn what_is_behind_all_contracts_is_for_one_role() {
    let flagged = Flagged::start(&[], &[]);
    for (sub, roles) in [("mallory", &[][..]), ("olga", &["operator"]), ("dora", &["device"])] {
        let mut browser = Browser::of(&flagged, sub, roles);
        for path in OPEN {
            let reply = browser.get(path);
            assert_eq!(reply.status, 200, "{sub}: {reply}");
            assert!(!reply.text.contains("/table"), "{sub} is shown a link to the table");
        }
        for path in CLOSED {
            let reply = browser.get(path);
            assert_eq!(reply.status, 403, "{sub}: {path}");
            reply.refuses(403, "forbidden");
        }
        let order = json!({"system": "smartlocker", "queue": "reservations", "ids": ["x"]});
        browser.post("/console/redrive", &order).refuses(403, "forbidden");
        assert!(!browser.get("/").text.contains("traffic"), "{sub} is shown traffic");
        let found = browser.get("/console/find.json").text;
        assert!(found.contains("QC-01") && !found.contains("/table"), "{found}");
    }
    let mut admin = Browser::of(&flagged, "ada", &["admin"]);
    for path in OPEN.into_iter().chain(CLOSED) {
        assert_eq!(admin.get(path).status, 200, "{path}");
    }
    // What a script sends wrong is a problem, too.
    admin.post("/console/redrive", &json!({"queue": "none"})).refuses(400, "invalid-input");
    admin.post("/console/call", &json!({})).refuses(400, "invalid-input");
}

// The charts of a page that is opened have what happened before.
#[test]
fn what_happened_lately_is_told_to_admins() {
    let flagged = Flagged::start(&[], &[]);
    let mut admin = Browser::of(&flagged, "ada", &["admin"]);
    let mut operator = flagged.operator();
    // A step takes five seconds.
    let mut seen = None;
    for _ in 0..200 {
        operator.get("/lockers/L9").refuses(404, "not-found");
        let told = admin.get("/console/traffic.json").json();
        let systems = told["systems"].as_array().unwrap();
        let own = systems.iter().find(|one| one["system"] == "smartlocker").unwrap();
        if own["lately"]["minute"]["calls"].as_u64().unwrap() > 0 {
            seen = Some(own.clone());
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let lately = seen.expect("no step in 20 seconds");
    assert_eq!(lately["lately"]["minute"]["refused"], lately["lately"]["minute"]["calls"]);
    assert_eq!(lately["contracts"][0]["id"], "QC-01", "{lately}");
    assert!(lately["contracts"][0]["lately"]["minute"]["p99"]["us"].is_u64(), "{lately}");
    assert!(lately["contracts"][0]["lately"]["calls"].as_array().unwrap().len() <= 180, "{lately}");
}

#[test]
fn calls_of_the_console_have_the_rights_of_the_token() {
    let flagged = Flagged::start(&[], &[]);
    let mut olga = Browser::of(&flagged, "olga", &["operator"]);
    let made = olga.call("POST", "/lockers", Some(&json!({"lockerId": "L1", "ownerId": "alice"})));
    assert_eq!((&made["status"], &made["contract"]), (&json!(201), &json!("QC-11")), "{made}");
    assert_eq!(made["requests"].as_array().unwrap().len(), 1, "{made}");
    let mut mallory = Browser::of(&flagged, "mallory", &[]);
    let refused = mallory.call("GET", "/lockers/L1", None);
    assert_eq!(refused["status"], 403, "{refused}");
    // The statement that refused.
    let statement = refused["statement"]["text"].as_str().unwrap();
    assert!(statement.contains("allow caller owns"), "{refused}");
    let absent = olga.call("GET", "/lockers/L9", None);
    assert!(absent["statement"]["text"].as_str().unwrap().contains("404 not-found"), "{absent}");
    // Nothing but contracts is called.
    for path in ["/metrics", "/console/figures.json", "/"] {
        assert_eq!(olga.call("GET", path, None)["status"], 404, "{path}");
    }
}

// A page of another site can send a form, and can have its own name lead to this machine.
#[test]
fn pages_of_other_sites_do_nothing_here() {
    let flagged = Flagged::start(&["--cors", "*"], &[]);
    let mut client = flagged.server.client();
    let token = jwt::token(&flagged.secret, &jwt::claims("ada", &["admin"], &[]));
    let port = flagged.server.address.rsplit(':').next().unwrap();
    let cookie = format!("latchkey-console={token}; latchkey-console-{port}={token}");
    let other = ("origin", "https://evil.example");
    for headers in [
        vec![("cookie", cookie.as_str())],
        vec![("cookie", cookie.as_str()), other],
        vec![("cookie", cookie.as_str()), ("sec-fetch-site", "cross-site")],
        vec![("cookie", cookie.as_str()), ("sec-fetch-site", "same-site"), other],
    ] {
        for path in [
            "/console/call",
            "/console/redrive",
            "/console/be",
            "/console/sign-out",
            "/console/sign-in",
        ] {
            let reply = client.send("POST", path, &headers, Some("{}"));
            assert_eq!((reply.status, reply.header("set-cookie")), (403, ""), "{path} {reply}");
        }
    }
    let reply = client.send("GET", "/", &[("cookie", &cookie), other], None);
    assert_eq!(reply.header("access-control-allow-origin"), "", "{reply}");
    assert!(reply.header("content-security-policy").contains("script-src 'self'"), "{reply}");
    // Whom one can be at a click is offered under names of this machine alone.
    let be = "POST /console/be HTTP/1.1\r\nhost: evil.example\r\norigin: http://evil.example\r\n\
              sec-fetch-site: same-origin\r\ncontent-length: 9\r\n\r\npersona=0";
    let reply = client.raw(be.as_bytes(), false).unwrap();
    assert_eq!((reply.status, reply.header("set-cookie")), (404, ""), "{reply}");
    let form = b"GET /console/sign-in HTTP/1.1\r\nhost: evil.example\r\n\r\n";
    assert!(!client.raw(form, false).unwrap().text.contains("persona"));
    let reply = client.send("POST", "/console/be", &[HERE, FORM], Some("persona=0"));
    assert_eq!(reply.status, 303, "{reply}");
}

// A style that is not there was refused with plain text, and `text/html;q=0` was taken for a wish to read pages.
#[test]
fn programs_are_refused_with_problems_and_browsers_with_pages() {
    let flagged = Flagged::start(&[], &[]);
    let mut client = flagged.server.client();
    let page = client.get("/console/sign-in").text;
    let style = page.split('"').find(|part| part.ends_with("/console.css")).unwrap().to_owned();
    assert_eq!(client.get(&style).status, 200);
    let refused = [
        ("POST", "/", 405),
        ("POST", "/#rs", 400),
        ("PUT", "?consistent=true", 400),
        ("DELETE", "/console/sign-in", 405),
        ("GET", "/console/call", 405),
        ("GET", "/console/be", 405),
        ("PATCH", "/console/systems/smartlocker", 405),
        ("POST", style.as_str(), 405),
        ("GET", "/console/nothing", 404),
        ("GET", "/console/%ff", 404),
        ("GET", "/console/assets/0/console.css", 404),
        ("POST", "/console/sign-in", 403),
        ("POST", style.trim_start_matches('/'), 400),
    ];
    for (method, path, status) in refused {
        let mut ask = |accept: &str| {
            let accept = if accept.is_empty() { "" } else { &*format!("accept: {accept}\r\n") };
            let head =
                format!("{method} {path} HTTP/1.1\r\nhost: t\r\n{accept}connection: close\r\n");
            client.raw(format!("{head}content-length: 0\r\n\r\n").as_bytes(), false).unwrap()
        };
        for accept in ["", "*/*", "application/json", "text/html;q=0, */*", "x-text/html"] {
            let reply = ask(accept);
            assert_eq!(reply.status, status, "{method} {path} {accept}: {reply}");
            let reply = reply.tells_a_problem();
            assert_eq!(reply.header("allow").is_empty(), status != 405, "{reply}");
        }
        // What hyper cannot read is refused before it is known who asks.
        let kind =
            if status == 400 { "application/problem+json" } else { "text/html; charset=utf-8" };
        let reply = ask("text/html,application/xhtml+xml,*/*;q=0.8");
        assert_eq!((reply.status, reply.header("content-type")), (status, kind), "{reply}");
    }
    // A problem of the console is explained where those of contracts are.
    let elsewhere = Flagged::start(&["--problem-base", "https://errors.example/"], &[]);
    for (method, path) in [("POST", "/"), ("GET", "/console/find.json")] {
        let reply = elsewhere.server.client().send(method, path, &[], None).tells_a_problem();
        let kind = reply.json()["type"].as_str().unwrap().to_owned();
        assert!(kind.starts_with("https://errors.example/"), "{reply}");
    }
    // So it is for what the server refuses before the console sees it.
    let long = "x".repeat(2 * 1024 * 1024);
    let wide = "x".repeat(70 * 1024);
    client
        .send("POST", "/console/sign-in", &[HERE, FORM], Some(&long))
        .refuses(413, "body-too-large");
    let encoded = [HERE, FORM, ("content-encoding", "gzip")];
    let reply = client.send("POST", "/console/sign-in", &encoded, Some("token=x"));
    reply.refuses(415, "unsupported-media-type");
    client
        .send("GET", "/console/sign-in", &[("x-wide", &wide)], None)
        .refuses(431, "head-too-large");
    let reply = client.raw(b"GET /console/sign-in HTTP/1.1\r\n\r\n", false).unwrap();
    reply.refuses(400, "malformed-request");
}

#[test]
fn what_is_stored_is_shown_as_text() {
    let flagged = Flagged::start(&[], &[]);
    let alias = "<script>alert(1)</script>\u{202e}\"'&";
    let body = json!({"lockerId": "L1", "ownerId": "alice", "lockerAlias": alias});
    flagged.operator().post("/lockers", &body).is(201);
    let mut admin = Browser::of(&flagged, "ada", &["admin"]);
    let page = admin.get("/console/systems/smartlocker/table?partition=LOCKER%23L1").text;
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'), "{page}");
    let hostile =
        "/console/systems/smartlocker/table?index=%22%3E%3Cb%3E&partition=%3Cimg%20src=x%3E";
    let page = admin.get(hostile).text;
    assert!(!page.contains("<img") && !page.contains("\"><b>"), "{page}");
}

#[test]
fn the_console_is_left_out_where_it_is_not_asked_for() {
    let flagged = Flagged::start(&["--no-console"], &[]);
    for path in ["/", "/console/sign-in"] {
        flagged.server.client().get(path).refuses(404, "not-found");
    }
    let apart = Flagged::start(&["--admin-listen", "127.0.0.1:0"], &[]);
    apart.server.client().get("/console/sign-in").refuses(404, "not-found");
    let admin = crate::apart::watched_at(&apart);
    let mut pages = Client::new(&admin);
    assert_eq!(pages.get("/console/sign-in").status, 200);
    // Calls that are copied there lead to the contracts.
    let token = jwt::token(&apart.secret, &jwt::claims("olga", &["operator"], &[]));
    let at = admin.rsplit(':').next().unwrap();
    let cookie = format!("latchkey-console={token}; latchkey-console-{at}={token}");
    let path = "/console/systems/smartlocker/contracts/QC-01";
    let page = pages.send("GET", path, &[("cookie", &cookie)], None).text;
    let port = apart.server.address.rsplit(':').next().unwrap();
    let api = format!(
        "&quot;api&quot;:{{&quot;host&quot;:&quot;127.0.0.1&quot;,&quot;port&quot;:{port}}}"
    );
    assert!(page.contains(&api), "{api} in {page}");
}

#[test]
fn a_contract_with_a_path_of_the_console_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let document = directory.path().join("doors.md");
    let text = std::fs::read_to_string(root().join("tests/dynamodb/doors.md")).unwrap();
    std::fs::write(&document, text.replacen("GET /doors/", "GET /console/", 1)).unwrap();
    let mut serve = latchkey();
    serve
        .arg("serve")
        .arg(&document)
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(directory.path().join("data"));
    let output = serve.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("--no-console"), "{said}");
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
