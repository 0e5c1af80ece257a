//! What operations share: headers of requests and answers, the token, the schema of a wrong field.

use crate::json::{Json, Object};
use crate::names::FIELD_ERROR;
use crate::schema::{list, object, reference};

/// A header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sent {
    IdempotencyKey,
    RequiredIdempotencyKey,
    IfMatch,
    IfNoneMatch,
    RequestId,
}

impl Sent {
    /// Its name among the components.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Sent::IdempotencyKey => "IdempotencyKey",
            Sent::RequiredIdempotencyKey => "RequiredIdempotencyKey",
            Sent::IfMatch => "IfMatch",
            Sent::IfNoneMatch => "IfNoneMatch",
            Sent::RequestId => "RequestId",
        }
    }

    pub(crate) fn reference(self) -> Object {
        Object::new().with("$ref", format!("#/components/parameters/{}", self.name()))
    }

    pub(crate) fn component(self) -> Json {
        let text = || Object::new().with("type", "string");
        let key = || {
            // Quoted as RFC 8941 writes texts, or bare.
            text()
                .with("maxLength", 257i64)
                .with("pattern", r#"^(?:"[ -~]{1,255}"|[!#-~](?:[ -~]{0,253}[!#-~])?)$"#)
        };
        // At most 100 tags, strong or weak.
        let tags = r#"^(?:\*|(?:W/)?"[ !#-~]*"(?:[ \t]*,[ \t]*(?:W/)?"[ !#-~]*"){0,99})$"#;
        let (name, description, schema) = match self {
            Sent::IdempotencyKey | Sent::RequiredIdempotencyKey => (
                "Idempotency-Key",
                "A name for this call, 1 to 255 characters, such as a UUID. A second call with the same key and body \
                 gets the first answer; with another body, it is refused.",
                key(),
            ),
            Sent::IfMatch => (
                "If-Match",
                "The `ETag` of the item that the call rests on, such as `\"3\"`, or `*`. It stands for the version in \
                 the inputs; give one of the two.",
                text().with("pattern", tags),
            ),
            Sent::IfNoneMatch => (
                "If-None-Match",
                "The `ETag` of an answer that the caller has, such as `\"3\"`. Where it is still the same, the answer \
                 is 304.",
                text(),
            ),
            // Any text is taken, but not every text is used.
            Sent::RequestId => (
                "X-Request-Id",
                "An id for this request, which the answer and the log have: 1 to 128 letters, digits or `._:@|-`. \
                 Without one, or with another text, the server makes an id.",
                text(),
            ),
        };
        // No examples: a key that is used twice, or a version beside another, would be refused.
        Object::new()
            .with("name", name)
            .with("in", "header")
            .with("description", description)
            .with("required", self == Sent::RequiredIdempotencyKey)
            .with("schema", schema)
            .into()
    }
}

/// A header of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answered {
    Encoding,
    Age,
    CacheControl,
    Etag,
    Replayed,
    Capacity,
    Contract,
    Place,
    RateLimit,
    RateLimitPolicy,
    RetryAfter,
    Vary,
    Challenge,
    RequestId,
}

impl Answered {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Answered::Encoding => "Accept-Encoding",
            Answered::Age => "Age",
            Answered::CacheControl => "Cache-Control",
            Answered::Etag => "ETag",
            Answered::Replayed => "Idempotency-Replayed",
            Answered::Capacity => "Latchkey-Capacity",
            Answered::Contract => "Latchkey-Contract",
            Answered::Place => "Location",
            Answered::RateLimit => "RateLimit",
            Answered::RateLimitPolicy => "RateLimit-Policy",
            Answered::RetryAfter => "Retry-After",
            Answered::Vary => "Vary",
            Answered::Challenge => "WWW-Authenticate",
            Answered::RequestId => "X-Request-Id",
        }
    }

    pub(crate) fn reference(self) -> Object {
        Object::new().with("$ref", format!("#/components/headers/{}", self.name()))
    }

    pub(crate) fn component(self) -> Json {
        let text = || Object::new().with("type", "string");
        let (description, schema) = match self {
            Answered::Encoding => ("A body must not be compressed: `identity`.", text()),
            Answered::Age => (
                "How many seconds ago the table was read. It is absent if it was read for this call.",
                Object::new().with("type", "integer").with("minimum", 0i64),
            ),
            Answered::CacheControl => (
                "For how long the answer may be used, and by whom. `private, no-cache`: by its caller alone, who asks \
                 again each time.",
                text(),
            ),
            Answered::Etag => (
                "The version of the item, such as `\"3\"`; a hash of the body may follow it.",
                text(),
            ),
            Answered::Replayed => (
                "The answer is that of an earlier call with the same `Idempotency-Key`.",
                text().with("enum", vec!["true"]),
            ),
            Answered::Capacity => {
                ("The capacity that the call consumed, such as `rcu=0.5, wcu=0`.", text())
            }
            Answered::Contract => ("The contract that answered.", text()),
            Answered::Place => {
                ("The path of what was made.", text().with("format", "uri-reference"))
            }
            Answered::RateLimit => (
                "What is left of each limit, such as `\"D-01\";r=39;t=1`: calls that may follow at once (`r`), and \
                 seconds until all may again (`t`).",
                text(),
            ),
            Answered::RateLimitPolicy => (
                "The limits that the call counts for, such as `\"D-01\";q=40;w=2`: calls (`q`) in seconds (`w`).",
                text(),
            ),
            Answered::RetryAfter => (
                "After how many seconds another try may be worth while.",
                Object::new().with("type", "integer").with("minimum", 0i64),
            ),
            Answered::Vary => ("The answer is for one token: `authorization`.", text()),
            Answered::Challenge => ("How to sign in: `Bearer`.", text()),
            Answered::RequestId => ("The id of the request, for the log.", text()),
        };
        Object::new().with("description", description).with("schema", schema).into()
    }
}

/// The headers that every answer of a contract has, without those that only say to browsers what an answer must not be
/// taken for: repeated on every answer, they were 30% of a document, and no client reads them.
pub(crate) const ALWAYS: [Answered; 3] =
    [Answered::RequestId, Answered::Contract, Answered::Capacity];

/// The headers that every answer has, also one of no contract.
pub(crate) const SERVER_ALWAYS: [Answered; 1] = [Answered::RequestId];

/// The scheme by which tokens of an OpenID Connect provider are had. They are sent as any other token.
const OIDC: &str = "openIdConnect";

/// The schemes of tokens, with the address of the description of an OpenID Connect provider, if there is one.
pub(crate) fn security_schemes(oidc: Option<&str>) -> Object {
    let bearer = Object::new()
        .with("type", "http")
        .with("scheme", "bearer")
        .with("bearerFormat", "JWT")
        .with("description", "A JWT of an identity provider that the server trusts, or one that is signed with the server's secret.");
    let oidc = oidc.map(|url| {
        Object::new().with("type", OIDC).with("openIdConnectUrl", url).with(
            "description",
            "Where a token of the identity provider is had. It is sent as `bearer` says.",
        )
    });
    Object::new().with("bearer", bearer).with_some(OIDC, oidc)
}

/// Who may call: whoever has a token, or anyone.
pub(crate) fn security(open: bool, oidc: bool) -> Json {
    let by = |scheme: &str| Object::new().with(scheme, Json::List(Vec::new()));
    let anyone = open.then(Object::new);
    let all: Vec<Object> =
        anyone.into_iter().chain([by("bearer")]).chain(oidc.then(|| by(OIDC))).collect();
    all.into()
}

/// The schema of a wrong field.
pub(crate) fn field_error() -> Json {
    let text = || Json::from(Object::new().with("type", "string"));
    let pointer = Object::new()
        .with("type", "string")
        .with("description", "The field, as a JSON pointer into the inputs.");
    object(vec![("pointer".to_owned(), pointer.into(), true), ("detail".to_owned(), text(), true)])
        .with("description", "A field that is wrong.")
        .into()
}

/// The members that every problem has (RFC 9457), with the codes it can have.
pub(crate) fn problem_members(codes: Vec<String>) -> Vec<(String, Json, bool)> {
    let text = || Object::new().with("type", "string");
    let status =
        Object::new().with("type", "integer").with("minimum", 400i64).with("maximum", 599i64);
    let kind = text()
        .with("format", "uri-reference")
        .with("description", "The page that explains the code: `/problems/` and the code.");
    let detail = text().with("description", "What happened, and what to do, for people.");
    let contract = text().with("description", "The contract, if the request reached one.");
    let wrong = list(reference(FIELD_ERROR)).with("description", "The fields that are wrong.");
    vec![
        ("type".to_owned(), kind.into(), true),
        ("title".to_owned(), text().into(), true),
        ("status".to_owned(), status.into(), true),
        ("detail".to_owned(), detail.into(), true),
        ("code".to_owned(), text().with("enum", codes).into(), true),
        ("contract".to_owned(), contract.into(), false),
        ("errors".to_owned(), wrong.into(), false),
    ]
}
