//! Guards: an item that goes from one guard to another is missed by one and met by the other.

use latchkey_model::check;

/// The rules that a document breaks in which a card is moved from one board to another.
fn moved(steps: &str) -> Vec<&'static str> {
    let facts = "consistency strong\nexpect 0.. items\nrate 1/s";
    let text = format!(
        "```contract\nsystem cards\ntable Cards {{ type kind }}\nrole clerk\n\
         entity Board \"BOARD\" {{\nPK = \"BOARD#{{boardId}}\"\nSK = \"META\"\nboardId id, revision counter\n}}\n\
         entity Card \"CARD\" guarded by Board {{\nPK = \"CARD#{{cardId}}\"\nSK = \"META\"\ncardId id, boardId id\n\
         index ByBoard moves {{\nPK = \"BOARD#{{boardId}}\"\nSK = \"CARD#{{cardId}}\"\n}}\n}}\n\
         contract C-1 \"Board\" {{\nPOST /boards\nallow caller is clerk\n\
         board = put Board {{ boardId = new ulid }} if absent else retry\nreturn 201 board\n{facts}\n}}\n\
         contract C-2 \"Card\" {{\nPOST /boards/{{boardId}}/cards\nallow caller is clerk\ntransact {{\n\
         card = put Card {{ cardId = new ulid, boardId }} if absent else retry\n\
         update Board set revision = .revision + 1 else 404 no-board\n}}\nreturn 201 card\n{facts}\n}}\n\
         contract C-3 \"List\" {{\nGET /boards/{{boardId}}/cards\nallow caller is clerk\n\
         cards = query Card by ByBoard where PK = \"BOARD#{{boardId}}\" page 25\nreturn cards\n\
         consistency eventual\nexpect 0.. items\nrate 1/s\n}}\n\
         contract C-4 \"Move\" {{\nPUT /cards/{{cardId}}/board\ninput boardId id, fromId id?\nallow caller is clerk\n\
         card = get Card strong else 404 not-found\n\
         require card.boardId != boardId else 409 same\n{steps}\nreturn 204\n{facts}\n}}\n```\n"
    );
    let found = check(&text).diagnostics;
    found.iter().map(|one| one.rule.slug()).filter(|rule| *rule != "unused").collect()
}

#[test]
fn an_item_that_moves_bumps_both_guards() {
    let bump = "set revision = .revision + 1 else retry";
    let update = "update card set boardId = boardId if .boardId == card.boardId else retry";
    // The old set lacks the card, and nothing told of it.
    let new = moved(&format!("transact {{\n{update}\nupdate Board(boardId = boardId) {bump}\n}}"));
    assert_eq!(new, ["missing-bump"]);
    let both = format!(
        "transact {{\nupdate Board(boardId = card.boardId) {bump}\n{update}\nupdate Board(boardId = boardId) {bump}\n}}"
    );
    assert_eq!(moved(&both), [""; 0]);
    // Behind the update, the name of the card means the card on its new board.
    let behind = format!(
        "old = get Board(boardId = card.boardId) strong else 404 no-board\n\
         transact {{\n{update}\nupdate old {bump}\nupdate Board(boardId = boardId) {bump}\n}}"
    );
    assert_eq!(moved(&behind), [""; 0]);
}
