//! The first item of a range, taken while others make and remove its items.

// 173 of 408 auctions closed below a bid that was accepted.
#[test]
fn the_best_of_a_range_is_taken_under_a_guard() {
    let auction = |guard: &str, pin: &str, bump: &str| {
        format!(
            "# Auctions\n```contract\nsystem auctions\ntable Auctions {{ type kind }}\nrole seller\n\
             entity Auction \"AUCTION\" {{\nPK = \"AUCTION#{{auctionId}}\"\nSK = \"META\"\n\
             auctionId id, state OPEN | CLOSED = OPEN, revision counter\n}}\n\
             entity Bid \"BID\" {guard} {{\nPK = \"AUCTION#{{auctionId}}\"\nSK = \"BID#{{cents:08}}\"\n\
             auctionId id, cents int 1..99999999, bidderId id, won bool = false\n}}\n\
             contract A-1 \"Open\" {{\nPUT /auctions/{{auctionId}}\nallow caller is seller\n\
             auction = put Auction {{ auctionId }} if absent else 409 there\nreturn auction\n\
             consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
             contract A-2 \"Bid\" {{\nPUT /auctions/{{auctionId}}/bids/{{cents}}\nallow true\n\
             auction = get Auction strong else 404 not-found\nrequire auction.state == OPEN else 409 closed\n\
             transact {{\n{pin}\n\
             bid = put Bid {{ auctionId, cents, bidderId = caller.id }} if absent else 409 taken\n}}\nreturn bid\n\
             consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
             contract A-3 \"Close\" {{\nPOST /auctions/{{auctionId}}/close\nallow caller is seller\n\
             auction = get Auction strong else 404 not-found\nrequire auction.state == OPEN else 409 closed\n\
             best = query Bid strong\nwhere PK = \"AUCTION#{{auctionId}}\" and SK begins_with \"BID#\"\n\
             order descending\nfirst 1 else 409 no-bid\ntransact {{\n\
             update auction set state = CLOSED, revision = .revision + 1 {bump}\n\
             update best set won = true if .won == false else retry\n}}\nreturn best\n\
             consistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        )
    };
    let told = |document: &str| {
        let found = latchkey_model::check(document).diagnostics;
        found.iter().map(|one| one.rule.slug()).collect::<Vec<_>>()
    };
    let loose = auction(
        "",
        "check auction if .state == OPEN else 409 closed",
        "if .state == OPEN else 409 closed",
    );
    assert_eq!(told(&loose), ["unpinned"]);
    let guarded = auction(
        "guarded by Auction",
        "update auction set revision = .revision + 1 if unchanged else retry",
        "if unchanged else retry",
    );
    assert_eq!(told(&guarded), [""; 0]);
}
