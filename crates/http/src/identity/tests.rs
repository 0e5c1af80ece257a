//! When a provider that is away is asked again.

use super::*;

#[tokio::test]
async fn whoever_could_not_wait_is_told_when_the_provider_is_asked_again() {
    // It said one second, however long it took.
    let timing = Timing { apart: Duration::from_secs(3600), ..Timing::default() };
    // Nobody listens there.
    let source = KeySource::jwks("http://127.0.0.1:1/keys").unwrap();
    let provider = Provider::start(source, timing).await.unwrap();
    let seconds = provider.retry_after();
    assert!((3_000..=3_600).contains(&seconds), "{seconds}");
    assert!(provider.ask(IpAddr::from([127, 0, 0, 1])).is_none());

    let soon = Timing { apart: Duration::from_millis(1), ..Timing::default() };
    let source = KeySource::jwks("http://127.0.0.1:1/keys").unwrap();
    assert_eq!(Provider::start(source, soon).await.unwrap().retry_after(), 1);
}
