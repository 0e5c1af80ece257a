//! Lots: drawn with a key that was committed to, compared exactly, and checked by whoever has the key.

use std::sync::Arc;

use crate::support::{Still, World};

const LOTTERY: &str = r#"
entity Draw "DRAW" {
  PK = "DRAW#{drawId}"
  SK = "META"
  drawId id, rate number 0..1, drawKey key, commitment text(64)
}
contract MAKE "Make" {
  POST /draws
  input drawId id, rate number 0..1
  allow true
  drawKey = new key
  made = put Draw { drawId, rate, drawKey, commitment = commitment(drawKey) } if absent else 409 there
  return 201 made
  facts
}
contract TRY "Try" {
  GET /draws/{drawId}
  input who id, most number
  allow true
  drawn = get Draw strong else 404 not-found
  won = draw(drawn.drawKey, "{drawId}#{who}") < drawn.rate
  above = most <= draw(drawn.drawKey, "{drawId}#{who}")
  least = min(drawn.rate, most, 0.5)
  return drawn { drawId } with { won, above, least, shown = reveal(drawn.drawKey) }
  facts
}
"#;

// `draw` is the first 8 bytes of HMAC-SHA256, big-endian, over 2^64, compared exactly.
#[tokio::test]
async fn draws_compare_exactly_and_can_be_checked() {
    let world = World::with(LOTTERY, Arc::new(Still(0x0b))).await;
    // python3 -c 'import hmac; print(hmac.new(b"\x0b" * 32, b"e1#alice", "sha256").hexdigest()[:16])'
    // says a230bf3a9a3267f0, which over 2^64 is 0.63355632000657069371335472496298280020710080862045…
    let below = "0.63355632000657069371335472496298280020";
    let above = "0.63355632000657069371335472496298280021";
    for (rate, won) in [(below, false), (above, true), ("0", false), ("1", true)] {
        let world = World::with(LOTTERY, Arc::new(Still(0x0b))).await;
        let made = world.ok("MAKE", &format!(r#"{{"drawId": "e1", "rate": {rate}}}"#)).await;
        let key = "f0e38b830ebd8a506615ecd154330ec07ff6bf5030447b44e297db1d4b7514ac";
        assert_eq!(made["commitment"], key);
        assert_eq!(made.get("drawKey"), None);
        for most in [below, above] {
            let inputs = format!(r#"{{"drawId": "e1", "who": "alice", "most": {most}}}"#);
            let told = world.ok("TRY", &inputs).await;
            assert_eq!(told["won"], won, "{rate}");
            assert_eq!(told["above"], most == below, "{most}");
            assert_eq!(told["shown"], "0b".repeat(32));
        }
    }
    world.ok("MAKE", r#"{"drawId": "e1", "rate": 0.75}"#).await;
    let told = world.ok("TRY", r#"{"drawId": "e1", "who": "bob", "most": 0.7}"#).await;
    assert_eq!((&told["won"], &told["least"]), (&true.into(), &0.5.into()), "bob's is 0.669…");
}
