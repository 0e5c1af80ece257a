//! Arguments that do not fit together.

use crate::jwt;
use crate::serve::latchkey;
use crate::serve::provider::Provider;
use crate::serve::signer::Signer;
use crate::world::{AUDIENCE, SECRET, World, claims, refused, serving};

#[test]
fn what_cannot_be_trusted_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let provider = Provider::start(&[]);
    let issuer = provider.issuer();
    for (arguments, reason) in [
        (["--oidc", "http://id.example.com", "--audience", "a"].as_slice(), "is not https://"),
        (
            &["--jwks", "http://10.0.0.1/keys", "--issuer", "i", "--audience", "a"],
            "is not https://",
        ),
        (&["--oidc", "id.example.com", "--audience", "a"], "is not a URL"),
        (&["--oidc", "https://id.example.com/?x", "--audience", "a"], "is not a URL"),
        (&["--jwks", "ftp://h/keys", "--issuer", "i", "--audience", "a"], "is not a URL"),
        (&["--jwks", "/does/not/exist.json", "--issuer", "i", "--audience", "a"], "cannot read"),
        (&["--oidc", &issuer], "--audience"),
        (&["--jwks", "keys.json", "--audience", "a"], "--issuer"),
        (&["--jwks", "keys.json", "--issuer", "i"], "--audience"),
        (&["--oidc", &issuer, "--audience", "a", "--issuer", "i"], "--issuer"),
        (&["--oidc", &issuer, "--audience", "a", "--jwks", "k"], "--jwks"),
        (&["--oidc", &issuer, "--audience", ""], "empty or blank"),
        (&["--oidc", &issuer, "--audience", " "], "empty or blank"),
        (&["--issuer", ""], "empty or blank"),
        (&["--claim", "roles=groups"], "add `--oidc` or `--jwks`"),
        (&["--accept-hs256"], "add `--oidc` or `--jwks`"),
        (&["--oidc", &issuer, "--audience", "a", "--claim", "iss=x"], "`iss` cannot be had"),
        (&["--oidc", &issuer, "--audience", "a", "--claim", "roles"], "is not CLAIM=PATH"),
        (&["--oidc", &issuer, "--audience", "a", "--accept-hs256"], "LATCHKEY_SECRET is not set"),
    ] {
        let message = refused(serving(directory.path()).args(arguments));
        assert!(message.contains(reason), "{arguments:?}: {message}");
        // It said that tokens are answered 503, and then did not start.
        assert!(!message.contains("503"), "{arguments:?}: {message}");
    }
    assert_eq!(provider.asked(), Vec::<String>::new(), "nothing is fetched for a wrong call");
}

#[test]
fn a_public_address_needs_a_secret_for_its_cursors() {
    let provider = Provider::start(&[&Signer::p256("k")]);
    let directory = tempfile::tempdir().unwrap();
    let mut command = latchkey();
    command.args(["serve", "--listen", "0.0.0.0:0", "--data"]).arg(directory.path());
    command.args(["--oidc", &provider.issuer(), "--audience", AUDIENCE]);
    let message = refused(&mut command);
    assert!(message.contains("LATCHKEY_SECRET"), "{message}");
}

#[test]
fn a_secret_signs_no_callers_where_there_is_a_provider_unless_asked_for() {
    let signer = Signer::p256("k");
    let provider = Provider::start(&[&signer]);
    let issuer = provider.issuer();
    let arguments = ["--oidc", &issuer, "--audience", AUDIENCE];
    let ours = jwt::token(SECRET, &claims(&provider));
    let start = |more: &[&str]| {
        World::start_by(tempfile::tempdir().unwrap(), |command| {
            command.args(arguments).args(more).env("LATCHKEY_SECRET", SECRET)
        })
    };
    let world = start(&[]);
    assert!(world.doubts(&ours).starts_with("HS256 tokens are not accepted here"));
    world.believes(&signer.token(&claims(&provider)));
    let world = start(&["--accept-hs256", "--claim", "sub=username"]);
    world.believes(&ours);
    // The command makes them too.
    let mut command = latchkey();
    command.args(["token", "--sub", "alice", "--issuer", &issuer, "--audience", AUDIENCE]);
    let output = command.env("LATCHKEY_SECRET", SECRET).output().unwrap();
    world.believes(String::from_utf8(output.stdout).unwrap().trim());
    assert_eq!(world.doubts(&signer.token(&claims(&provider))), "the token has no `sub`");
    world.doubts(&jwt::token("another secret that is long enough", &claims(&provider)));
    // Without a secret of its own, no secret is accepted.
    let world = World::start(&arguments);
    let development = std::fs::read_to_string(world.data().join("development-secret")).unwrap();
    world.doubts(&jwt::token(development.trim(), &claims(&provider)));
}
