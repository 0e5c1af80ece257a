//! Small documents that chance makes: a thing with a limit and a status, its parts, a copy, a tally, and contracts of
//! reads, tests and writes in any combination. Most choices are those of a careful author, so that many pass the check.

use std::fmt::Write;

use latchkey_testing::chance::Chance;

/// The domains that documents are about: the thing, its part, and what is counted.
const DOMAINS: [(&str, &str, &str); 8] = [
    ("Kennel", "Dog", "Visit"),
    ("Stage", "Actor", "Show"),
    ("Farm", "Cow", "Harvest"),
    ("Shop", "Basket", "Sale"),
    ("Board", "Card", "Change"),
    ("Account", "Hold", "Payment"),
    ("Flight", "Bag", "Claim"),
    ("Garden", "Plant", "Watering"),
];

/// What every contract states of itself.
const FACTS: &str = "  consistency strong\n  expect 1 item\n  rate 1/s\n}\n";

/// A document of a seed.
pub fn document(seed: u64) -> String {
    let mut chance = Chance::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    // The first numbers of seeds that are near each other are near each other, too.
    for _ in 0..8 {
        chance.below(2);
    }
    let domain = chance.of(&DOMAINS);
    let draft = Draft {
        domain,
        counted: likely(&mut chance, 90),
        guarded: likely(&mut chance, 75),
        viewed: likely(&mut chance, 40),
        parts: likely(&mut chance, 70),
        moves: likely(&mut chance, 60),
        tallied: likely(&mut chance, 40),
        part_counted: likely(&mut chance, 60),
        removable: likely(&mut chance, 30),
    };
    draft.text(&mut chance)
}

fn likely(chance: &mut Chance, percent: usize) -> bool {
    chance.below(100) < percent
}

/// What a document has.
#[derive(Clone, Copy)]
struct Draft {
    domain: (&'static str, &'static str, &'static str),
    /// Whether the thing has a counter.
    counted: bool,
    /// Whether its parts are guarded by it.
    guarded: bool,
    /// Whether it has a copy.
    viewed: bool,
    /// Whether it has parts.
    parts: bool,
    /// Whether its status has moves.
    moves: bool,
    /// Whether there is a tally.
    tallied: bool,
    /// Whether its parts have a counter.
    part_counted: bool,
    /// Whether it can be removed.
    removable: bool,
}

impl Draft {
    fn text(self, chance: &mut Chance) -> String {
        let mut text =
            String::from("# Drawn\n```contract\nsystem drawn\ntable Drawn { type kind }\n");
        text.push_str(&self.entities());
        text.push_str(&self.make());
        let count = 2 + chance.below(3);
        for number in 0..count {
            text.push_str(&self.contract(chance, number));
        }
        if self.removable {
            text.push_str(&self.remove(chance));
        }
        if likely(chance, 50) {
            text.push_str(&self.show(chance));
        }
        if self.parts && likely(chance, 40) {
            text.push_str(&self.list());
        }
        text.push_str("```\n");
        text
    }

    fn thing(self) -> &'static str {
        self.domain.0
    }

    fn part(self) -> &'static str {
        self.domain.1
    }

    fn upper(self) -> String {
        self.thing().to_uppercase()
    }

    fn entities(self) -> String {
        let (thing, part, tally) = self.domain;
        let upper = self.upper();
        let counter = if self.counted { ", version counter" } else { "" };
        let moves = match self.moves {
            true => "\n  status moves { OPEN -> SHUT, LOST\n SHUT -> OPEN }",
            false => "",
        };
        let mut text = format!(
            "entity {thing} \"{upper}\" {{\n  PK = \"{upper}#{{thingId}}\"\n  SK = \"META\"\n  thingId id, ownerId id, \
             left int 0..9 = 3, note text(20) = \"new\", status OPEN | SHUT | LOST = OPEN{counter}{moves}\n}}\n"
        );
        if self.parts {
            let guard = match self.guarded && self.counted {
                true => format!(" guarded by {thing}"),
                false => String::new(),
            };
            let _ = write!(
                text,
                "entity {part} \"PART\"{guard} {{\n  PK = \"{upper}#{{thingId}}\"\n  SK = \"PART#{{partId}}\"\n  \
                 thingId id, partId id, weight int 0..9 = 1{}\n}}\n",
                if self.part_counted { ", version counter" } else { "" }
            );
        }
        if self.viewed {
            let _ = write!(
                text,
                "entity Owned{thing} \"OWNED\" view of {thing} {{\n  PK = \"OWNER#{{ownerId}}\"\n  SK = \
                 \"THING#{{thingId}}\"\n  copies ownerId, thingId, left, status\n}}\n"
            );
        }
        if self.tallied {
            let _ = write!(
                text,
                "entity {tally} \"TALLY\" {{\n  PK = \"TALLY#{{thingId}}\"\n  SK = \"TALLY\"\n  thingId id, times \
                 int = 0\n}}\n"
            );
        }
        text
    }

    fn make(self) -> String {
        let thing = self.thing();
        let view = match self.viewed {
            true => format!("    put Owned{thing} of thing replace\n"),
            false => String::new(),
        };
        let put = format!(
            "thing = put {thing} {{ thingId, ownerId = caller.id }} if absent else 409 there\n"
        );
        let put = match self.viewed {
            true => format!("  transact {{\n    {put}{view}  }}\n"),
            false => format!("  {put}"),
        };
        format!(
            "contract MAKE \"Make\" {{\n  POST /things\n  input thingId id\n  allow true\n{put}  return 201 thing\n{FACTS}"
        )
    }

    fn show(self, chance: &mut Chance) -> String {
        let thing = self.thing();
        let strong = if likely(chance, 60) { " strong" } else { "" };
        let kind = if strong.is_empty() { "eventual" } else { "strong" };
        let facts = FACTS.replacen("strong", kind, 1);
        let (more, with) = match chance.below(3) {
            0 if self.tallied => (
                format!("  tally = get {}{strong} else 404 untouched\n", self.domain.2),
                " with { times = tally.times }",
            ),
            _ => (String::new(), ""),
        };
        format!(
            "contract SHOW \"Show\" {{\n  GET /things/{{thingId}}\n  allow true\n  thing = get {thing}{strong} else 404 \
             gone\n{more}  return thing{with}\n{facts}"
        )
    }

    fn list(self) -> String {
        let (part, upper) = (self.part(), self.upper());
        format!(
            "contract LIST \"List\" {{\n  GET /things/{{thingId}}/parts\n  allow true\n  parts = query {part}\n    where \
             PK = \"{upper}#{{thingId}}\" and SK begins_with \"PART#\"\n    page 20\n  return parts\n  consistency \
             eventual\n  expect 0..20 items\n  rate 1/s\n}}\n"
        )
    }

    fn remove(self, chance: &mut Chance) -> String {
        let thing = self.thing();
        let condition = match (self.counted, chance.below(4)) {
            (true, 1..) => " if unchanged else retry",
            (false, 1..) => " if .status != OPEN else 409 open",
            (_, _) => "",
        };
        let shut =
            if likely(chance, 50) { "  require thing.status != OPEN else 409 open\n" } else { "" };
        let delete = match self.viewed && likely(chance, 90) {
            true => format!(
                "  transact {{\n    delete thing{condition}\n    delete Owned{thing} of thing\n  }}\n"
            ),
            false => format!("  delete thing{condition}\n"),
        };
        format!(
            "contract REMOVE \"Remove\" {{\n  DELETE /things/{{thingId}}\n  allow true\n  thing = get {thing} strong else \
             404 gone\n{shut}{delete}  return thing\n{FACTS}"
        )
    }
}

/// What a contract has read so far, and what its writes must therefore say.
struct Body {
    text: String,
    /// Whether the thing was read.
    read: bool,
    /// Whether the parts were read as a range.
    ranged: bool,
    /// Whether one part was read.
    part: bool,
}

impl Draft {
    fn contract(self, chance: &mut Chance, number: usize) -> String {
        let mut body = Body { text: String::new(), read: false, ranged: false, part: false };
        let mut inputs = "note text(20)".to_owned();
        self.reads(chance, &mut body);
        self.tests(chance, &mut body);
        let mut legs = Vec::new();
        let moved = self.update(chance, &body, &mut legs);
        self.part_leg(chance, &body, moved, &mut legs);
        if self.tallied && likely(chance, 50) {
            legs.push(format!("upsert {}(thingId) add times = 1", self.domain.2));
        }
        if legs.is_empty() || (legs.len() == 1 && moved == Moved::Checked) {
            return String::new();
        }
        if legs.iter().chain([&body.text]).any(|leg| leg.contains("partId"))
            || body.text.contains("part = get")
        {
            inputs.push_str(", partId id");
        }
        let legs = match legs.as_slice() {
            [one] if likely(chance, 70) => format!("  {one}\n"),
            _ => format!("  transact {{\n    {}\n  }}\n", legs.join("\n    ")),
        };
        let answer = match (body.read, legs.contains("made = put")) {
            (true, false) if !self.lost_sight(&legs) => "thing",
            (_, true) => "made",
            (_, false) => {
                let thing = self.thing();
                let _ = writeln!(body.text, "  seen = get {thing} strong else 404 gone");
                "seen"
            }
        };
        format!(
            "contract DO-{number} \"Do {number}\" {{\n  POST /things/{{thingId}}/do-{number}\n  input {inputs}\n  allow \
             true\n{}{legs}  return {answer}\n{FACTS}",
            body.text
        )
    }

    /// Whether nobody can tell what the thing is after a write that computes with it and does not pin it.
    fn lost_sight(self, legs: &str) -> bool {
        legs.contains("update thing set left = .left") && !legs.contains("if unchanged")
    }

    fn reads(self, chance: &mut Chance, body: &mut Body) {
        let (thing, part, upper) = (self.thing(), self.part(), self.upper());
        if likely(chance, 85) {
            let strong = if likely(chance, 95) { " strong" } else { "" };
            let _ = writeln!(body.text, "  thing = get {thing}{strong} else 404 gone");
            body.read = true;
        }
        if self.parts && likely(chance, 45) {
            let (first, order) =
                chance.of(&[("first 10", ""), ("first 1", ""), ("first 1", " order descending")]);
            let _ = writeln!(
                body.text,
                "  parts = query {part} strong\n    where PK = \"{upper}#{{thingId}}\" and SK begins_with \
                 \"PART#\"{order}\n    {first}"
            );
            body.ranged = true;
            let test = match (first, chance.below(3)) {
                ("first 10", 0) => "sum(parts.weight) < 4",
                ("first 10", _) => "count(parts) < 3",
                (_, 0) => "parts is absent",
                (_, _) => "parts is absent or parts.weight < 2",
            };
            let _ = writeln!(body.text, "  require {test} else 409 full");
        }
        if self.parts && likely(chance, 35) {
            let absent = chance.of(&[" else 404 no-part", " else 404 no-part", ""]);
            let _ = writeln!(body.text, "  part = get {part} strong{absent}");
            if absent.is_empty() {
                body.text.push_str("  require part is absent else 409 there\n");
            } else {
                body.part = true;
                if likely(chance, 50) {
                    body.text.push_str("  require part.weight > 0 else 409 light\n");
                }
            }
        }
    }

    fn tests(self, chance: &mut Chance, body: &mut Body) {
        if !body.read {
            return;
        }
        if likely(chance, 45) {
            let test = chance.of(&["thing.left > 0", "thing.left >= 2", "thing.left < 8"]);
            let _ = writeln!(body.text, "  require {test} else 409 limit");
        }
        if likely(chance, 40) {
            let test =
                chance.of(&["thing.status == OPEN", "thing.status != LOST", "thing.note != note"]);
            let _ = writeln!(body.text, "  require {test} else 409 state");
        }
        if self.moves && likely(chance, 30) {
            body.text.push_str("  require thing.status moves to SHUT else 409 state\n");
        }
    }

    /// The write of the thing.
    fn update(self, chance: &mut Chance, body: &Body, legs: &mut Vec<String>) -> Moved {
        let thing = self.thing();
        let target = if body.read { "thing".to_owned() } else { format!("{thing}(thingId)") };
        let honest = match (self.counted && body.read, chance.below(100)) {
            (true, 0..75) => "if unchanged else retry",
            (_, 75..85) => "if .left > 0 else 409 limit",
            (_, 85..90) => "if .status == OPEN else 409 state",
            (true, 90..94) => "if unchanged and .left > 0 else retry",
            (_, _) => "else 404 gone",
        };
        if self.counted && body.read && likely(chance, 15) {
            legs.push(format!("check {target} if unchanged else retry"));
            return Moved::Checked;
        }
        if likely(chance, 15) {
            return Moved::No;
        }
        let set = match (body.read, chance.below(7)) {
            (_, 0) => "left = .left - 1",
            (_, 1) => "left = .left + 1",
            (true, 2) => "left = thing.left - 1",
            (_, 3) => "note = note",
            (true, 4) if body.text.contains("moves to SHUT") || !self.moves => "status = SHUT",
            (_, 5) if !self.moves => "status = OPEN",
            (true, 6) => "left = thing.left, note = note",
            _ => "note = note",
        };
        let bump = match self.counted && likely(chance, 97) {
            true => ", version = .version + 1",
            false => "",
        };
        legs.push(format!("update {target} set {set}{bump} {honest}"));
        let copied = set.starts_with("left") || set.starts_with("status");
        if self.viewed && copied && body.read && likely(chance, 93) {
            legs.push(format!("put Owned{thing} of thing replace"));
        }
        if bump.is_empty() { Moved::No } else { Moved::Bumped }
    }

    /// The write of a part.
    fn part_leg(self, chance: &mut Chance, body: &Body, moved: Moved, legs: &mut Vec<String>) {
        // A careful author moves the guard with its parts.
        let wanted = if moved == Moved::Bumped || !self.guarded { 65 } else { 8 };
        if !self.parts || !likely(chance, wanted) {
            return;
        }
        let part = self.part();
        let counted = self.part_counted;
        let bump = if counted { ", version = .version + 1" } else { "" };
        legs.push(match (body.part, chance.below(6)) {
            (true, 0 | 1) if counted => "delete part if unchanged else retry".to_owned(),
            (true, 2) => format!("delete {part}(thingId, partId)"),
            (true, 3 | 4) if counted => {
                format!("update part set weight = part.weight + 1{bump} if unchanged else retry")
            }
            (true, 5) => format!("update part set weight = part.weight{bump} else 404 no-part"),
            (true, _) => {
                format!("update part set weight = .weight + 1{bump} if .weight < 9 else 409 heavy")
            }
            (false, 0) if !counted => {
                format!("made = put {part} {{ thingId, partId, weight = 2 }} replace")
            }
            (false, _) => {
                format!("made = put {part} {{ thingId, partId }} if absent else 409 there")
            }
        });
    }
}

/// What a contract does with the counter of the thing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moved {
    No,
    Bumped,
    Checked,
}
