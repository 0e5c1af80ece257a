import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { contributed, tokenise } from "./tokenise.mjs";

const systems = new URL("../../../systems/", import.meta.url);
const documents = (await readdir(systems)).filter((name) => name.endsWith(".md"));

const CONTRACT = "meta.embedded.block.latchkey";
const EXAMPLE = "meta.embedded.block.latchkey-example";

/** What a token is, apart from where it stands. */
const leaf = ({ scopes }) => scopes.at(-1).replace(/\.(latchkey|latchkey-example|markdown)$/, "");
const ours = (token) => token.scopes.some((scope) => /latchkey/.test(scope));
const inside = (token, name) => token.scopes.some((scope) => scope.startsWith(name));
const blank = (token) => token.text.trim() === "";

/** Which embedded scope each line must have, found without the grammar. */
function expectedBlocks(text) {
  let fence = null;
  return text.split("\n").map((line) => {
    if (fence) {
      if (line.trimEnd() === fence.close) {
        fence = null;
        return "fence";
      }
      return fence.scope;
    }
    const open = /^(`{3,}|~{3,})(\w*)/.exec(line);
    if (!open) return null;
    fence = { close: open[1], scope: { contract: CONTRACT, example: EXAMPLE, demo: EXAMPLE }[open[2]] ?? "other" };
    return "fence";
  });
}

describe("the shipped documents", () => {
  test("there are some", () => assert.notEqual(documents.length, 0));

  for (const name of documents) {
    test(name, async (t) => {
      const text = await readFile(new URL(name, systems), "utf8");
      const lines = await tokenise(text);
      const blocks = expectedBlocks(text);
      const at = (index, token) => `${name}:${index + 1}: \`${token.text}\` is ${token.scopes.join(" ")}`;
      const each = (check) =>
        lines.forEach((tokens, index) =>
          tokens.filter((token) => !blank(token)).forEach((token) => check(token, index)),
        );

      await t.test("blocks begin and end where they should", () => {
        assert.ok(blocks.includes(CONTRACT));
        each((token, index) => {
          const scope = [CONTRACT, EXAMPLE].includes(blocks[index]) ? blocks[index] : undefined;
          const found = token.scopes.find((name) => name === CONTRACT || name === EXAMPLE);
          assert.equal(found, scope, at(index, token));
          if (blocks[index] === null) {
            assert.ok(!ours(token) && !inside(token, "markup.fenced_code"), at(index, token));
          }
        });
      });

      await t.test("nothing in a block falls through", () => {
        each((token, index) => {
          if (![CONTRACT, EXAMPLE].includes(blocks[index])) return;
          assert.doesNotMatch(leaf(token), /^(meta|markup|text|source)\b/, at(index, token));
          assert.ok(!inside(token, "invalid"), at(index, token));
        });
      });

      await t.test("strings and comments are those of the text", () => {
        text.split("\n").forEach((line, index) => {
          if (blocks[index] !== CONTRACT) return;
          const parts = line.match(/"(?:[^"\\]|\\.)*"|\/\/.*/g) ?? [];
          const kinds = (scopes) => {
            const within = (token) => scopes.some((scope) => inside(token, scope));
            return lines[index].map((token) => (within(token) ? token.text : "\n")).join("");
          };
          const between = (...scopes) => kinds(scopes).split(/\n+/).filter(Boolean);
          const strings = parts.filter((part) => part.startsWith('"'));
          const comments = parts.filter((part) => part.startsWith("//"));
          assert.deepEqual(between("string.quoted", "string.regexp"), strings, `${name}:${index + 1}`);
          assert.deepEqual(between("comment"), comments, `${name}:${index + 1}`);
        });
      });

      await t.test("no word is cut in two", () => {
        lines.forEach((tokens, index) => {
          if (blocks[index] !== CONTRACT) return;
          for (const [left, right] of tokens.slice(1).map((token, i) => [tokens[i], token])) {
            if (inside(left, "string") && inside(right, "string")) continue;
            assert.doesNotMatch(left.text.at(-1) + right.text[0], /^\w\w$/, at(index, right));
          }
        });
      });

      // A keyword the grammar does not know would pass for a name, but for one that nothing declares.
      await t.test("what passes for a name is declared", () => {
        const declares = /^(variable\.other\.(definition|property)|variable\.parameter|constant\.other\.enum)/;
        const declared = new Set();
        each((token) => declares.test(leaf(token)) && declared.add(token.text));
        each((token, index) => {
          if (leaf(token) === "variable.other") assert.ok(declared.has(token.text), at(index, token));
        });
      });
    });
  }
});

/** Tokens of contract statements, by `text leaf`; blanks left out. */
async function leaves(body, mark = "contract") {
  const lines = await tokenise("```" + mark + "\n" + body + "\n```\nprose");
  const [prose] = lines.at(-1);
  assert.ok(!ours(prose), `prose is ${prose.scopes.join(" ")}`);
  return lines.slice(1, -2).flat().filter((token) => !blank(token));
}

const inContract = (line) => `contract A-1 "A" {\n  ${line}\n}`;
const inEntity = (line) => `entity Door "DOOR" {\n  ${line}\n}`;

/** A block, and for some of its tokens, in order, what they are. */
const SNIPPETS = {
  declarations: [
    "system doors\ntable my.doors-1 { type kind }\nrole admin implies operator",
    [
      ["system", "storage.type.system"],
      ["doors", "entity.name.namespace"],
      ["table", "storage.type.table"],
      ["my.doors-1", "entity.name.type.table"],
      ["{", "punctuation.section.block.begin"],
      ["type", "storage.modifier.type"],
      ["kind", "variable.other.property"],
      ["role", "storage.type.role"],
      ["admin", "entity.name.role"],
      ["implies", "storage.modifier.implies"],
      ["operator", "support.constant.role"],
    ],
  ],
  "a table with names of its own": [
    "table Shop {\n  type kind\n  PK customer_id\n  SK \"State#Date\"\n  index GSI-1.x { PK g1-pk  SK g1sk number } // old\n}\nrole admin",
    [
      ["Shop", "entity.name.type.table"],
      ["kind", "variable.other.property"],
      ["PK", "variable.language.key"],
      ["customer_id", "variable.other.property"],
      ["SK", "variable.language.key"],
      ["\"State#Date\"", "variable.other.property"],
      ["index", "storage.type.index"],
      ["GSI-1.x", "entity.name.type.index"],
      ["{", "punctuation.section.block.begin"],
      ["g1-pk", "variable.other.property"],
      ["SK", "variable.language.key"],
      ["g1sk", "variable.other.property"],
      ["number", "support.type"],
      ["}", "punctuation.section.block.end"],
      ["}", "punctuation.section.block.end"],
      ["role", "storage.type.role"],
    ],
  ],
  "the attribute by which items are removed": [
    "table Shop { type kind  ttl expires_at }",
    [
      ["type", "storage.modifier.type"],
      ["kind", "variable.other.property"],
      ["ttl", "storage.modifier.ttl"],
      ["expires_at", "variable.other.property"],
    ],
  ],
  "an index that holds a part": [
    "table Shop {\n  index ByDay { PK day  SK at holds keys, total, // and\n    kind }\n}",
    [
      ["at", "variable.other.property"],
      ["holds", "storage.modifier.holds"],
      ["keys", "variable.language.key"],
      [",", "punctuation.separator.comma"],
      ["total", "variable.other.property"],
      [",", "punctuation.separator.comma"],
      [" and", "comment.line.double-slash"],
      ["kind", "variable.other.property"],
      ["}", "punctuation.section.block.end"],
    ],
  ],
  "an entity": [
    'entity Slot "SLOT {x}" view of Door guarded by Calendar { PK = "D#{n:02}" }',
    [
      ["entity", "storage.type.entity"],
      ["Slot", "entity.name.type"],
      ["SLOT {x}", "string.quoted.double"],
      ["view of", "storage.modifier"],
      ["Door", "entity.name.type"],
      ["guarded by", "storage.modifier"],
      ["Calendar", "entity.name.type"],
      ["PK", "variable.language.key"],
      ["D#", "string.quoted.double"],
      ["{", "punctuation.section.embedded.begin"],
      ["n", "variable.other"],
      [":", "punctuation.separator.width"],
      ["02", "constant.numeric.width"],
      ["}", "punctuation.section.embedded.end"],
      ["}", "punctuation.section.block.end"],
    ],
  ],
  "fields": [
    inEntity('order asc | desc = asc // which\n  n int 0..9?, t text(64) like "[a-z]{3,64}" secret, s Door.state = SHUT'),
    [
      ["order", "variable.other.property.declaration"],
      ["asc", "constant.other.enum"],
      ["|", "keyword.operator.union"],
      ["desc", "constant.other.enum"],
      [" which", "comment.line.double-slash"],
      ["n", "variable.other.property.declaration"],
      ["int", "support.type"],
      ["0", "constant.numeric"],
      ["..", "keyword.operator.range"],
      ["9", "constant.numeric"],
      ["?", "keyword.operator.optional"],
      ["t", "variable.other.property.declaration"],
      ["text", "support.type"],
      ["like", "storage.modifier.like"],
      ["[a-z]{3,64}", "string.regexp.quoted.double"],
      ["secret", "storage.modifier.secret"],
      ["s", "variable.other.property.declaration"],
      ["Door", "entity.name.type"],
      ["state", "variable.other.property"],
      ["SHUT", "constant.other.enum"],
    ],
  ],
  "values in keys": [
    inEntity('PK = "D#{at:day}#{n:-03}"\n  state in-progress | all-done = in-progress\n  state moves { in-progress -> all-done }\n  day date'),
    [
      ["at", "variable.other"],
      [":", "punctuation.separator.width"],
      ["day", "constant.numeric.width"],
      ["n", "variable.other"],
      ["-03", "constant.numeric.width"],
      ["in-progress", "constant.other.enum"],
      ["|", "keyword.operator.union"],
      ["all-done", "constant.other.enum"],
      ["in-progress", "constant.other.enum"],
      ["->", "keyword.operator.move"],
      ["all-done", "constant.other.enum"],
      ["day", "variable.other.property.declaration"],
      ["date", "support.type"],
    ],
  ],
  "products and quotients": [
    inContract("x = round(a * b / 100, 2) + 1mo + coalesce(c, 0)"),
    [
      ["round", "support.function"],
      ["a", "variable.other"],
      ["*", "keyword.operator.arithmetic"],
      ["b", "variable.other"],
      ["/", "keyword.operator.per"],
      ["100", "constant.numeric"],
      ["1mo", "constant.numeric.duration"],
      ["coalesce", "support.function"],
    ],
  ],
  "lists, sets and records": [
    inEntity("lines list(1..20) of { sku id, n int 1..9? } unique by sku\n  tags set(3) of text(9)?\n  at { floor int }"),
    [
      ["lines", "variable.other.property.declaration"],
      ["list", "support.type"],
      ["1", "constant.numeric"],
      ["..", "keyword.operator.range"],
      ["of", "storage.modifier.of"],
      ["{", "punctuation.section.block.begin"],
      ["sku", "variable.other.property.declaration"],
      ["id", "support.type"],
      ["n", "variable.other.property.declaration"],
      ["?", "keyword.operator.optional"],
      ["}", "punctuation.section.block.end"],
      ["unique", "storage.modifier.unique"],
      ["by", "storage.modifier.unique"],
      ["sku", "variable.other.property"],
      ["tags", "variable.other.property.declaration"],
      ["set", "support.type"],
      ["of", "storage.modifier.of"],
      ["at", "variable.other.property.declaration"],
      ["{", "punctuation.section.block.begin"],
      ["floor", "variable.other.property.declaration"],
      ["}", "punctuation.section.block.end"],
    ],
  ],
  "moves, indexes and copies": [
    inEntity('status moves { open -> SHUT }\n  index GSI2 moves { SK = "A" }\n  copies a, // one\n    b? kept\n  expires endsAt // ends\n  c id'),
    [
      ["status", "variable.other.property"],
      ["moves", "storage.modifier.moves"],
      ["open", "constant.other.enum"],
      ["->", "keyword.operator.move"],
      ["SHUT", "constant.other.enum"],
      ["index", "storage.type.index"],
      ["GSI2", "entity.name.type.index"],
      ["moves", "storage.modifier.moves"],
      ["copies", "storage.modifier.copies"],
      ["a", "variable.other.property"],
      ["b", "variable.other.property"],
      ["?", "keyword.operator.optional"],
      ["kept", "storage.modifier.kept"],
      ["expires", "storage.modifier.expires"],
      ["endsAt", "variable.other.property"],
      ["c", "variable.other.property.declaration"],
      ["id", "support.type"],
    ],
  ],
  "a contract's id and title": [
    'contract QC-01 "Get a {door}" {\n}',
    [
      ["contract", "storage.type.contract"],
      ["QC-01", "entity.name.function.contract"],
      ["Get a {door}", "string.quoted.double"],
    ],
  ],
  "a route": [
    inContract("GET /doors/{doorId}/open"),
    [
      ["GET", "keyword.other.http-method"],
      ["doors/", "string.unquoted.path"],
      ["doorId", "variable.parameter.path"],
      ["/open", "string.unquoted.path"],
    ],
  ],
  "inputs over lines": [
    inContract("input a id = new ulid, // here,\n    role text(9)?, b Door.state\n  allow caller is operator"),
    [
      ["input", "keyword.control.input"],
      ["a", "variable.other.property.declaration"],
      ["new", "keyword.operator.new"],
      ["ulid", "support.type"],
      ["role", "variable.other.property.declaration"],
      ["text", "support.type"],
      ["b", "variable.other.property.declaration"],
      ["allow", "keyword.control"],
      ["caller", "variable.language"],
      ["is", "keyword.operator.word"],
      ["operator", "support.constant.role"],
    ],
  ],
  "each element": [
    inContract("each line in order.lines {\n    put Line { sku = line.sku } if absent else retry\n  }\n  require all x in lines (x.n > 0) else 409 none"),
    [
      ["each", "keyword.control.each"],
      ["line", "variable.other.definition"],
      ["in", "keyword.operator.word"],
      ["put", "keyword.control.operation"],
      ["require", "keyword.control"],
      ["all", "keyword.operator.word"],
      ["x", "variable.other.definition"],
      ["in", "keyword.operator.word"],
      ["else", "keyword.control.conditional"],
    ],
  ],
  "gets for each element": [
    inContract("boards = get Board(boardId = m.boardId) for m in members strong"),
    [
      ["get", "keyword.control.operation"],
      ["Board", "entity.name.type"],
      ["for", "keyword.other.clause"],
      ["m", "variable.other.definition"],
      ["in", "keyword.operator.word"],
      ["strong", "keyword.other.clause"],
    ],
  ],
  "a read and its error": [
    inContract("door = get Door strong when consistent else 404 not-found"),
    [
      ["door", "variable.other.definition"],
      ["get", "keyword.control.operation"],
      ["Door", "entity.name.type"],
      ["strong", "keyword.other.clause"],
      ["when", "keyword.control.conditional"],
      ["consistent", "variable.other"],
      ["else", "keyword.control.conditional"],
      ["404", "constant.numeric.status"],
      ["not-found", "constant.other.error-code"],
    ],
  ],
  "an item that is not there": [
    inContract("update Door set a = 1 if .b else absent 404 not-found else absent retry else absent {\n    return 204\n  }\n  delete door else absent fail gone"),
    [
      ["else", "keyword.control.conditional"],
      ["absent", "keyword.control.absent"],
      ["404", "constant.numeric.status"],
      ["not-found", "constant.other.error-code"],
      ["absent", "keyword.control.absent"],
      ["retry", "keyword.control.retry"],
      ["absent", "keyword.control.absent"],
      ["return", "keyword.control.return"],
      ["204", "constant.numeric.status"],
      ["absent", "keyword.control.absent"],
      ["fail", "keyword.control.fail"],
      ["gone", "constant.other.error-code"],
    ],
  ],
  "anyone, and what steps give": [
    inContract("allow anyone\n  me = do member(doorId)\n}\nsteps member(doorId id) gives me {\n  allow caller owns doorId"),
    [
      ["allow", "keyword.control"],
      ["anyone", "constant.language"],
      ["me", "variable.other.definition"],
      ["do", "keyword.control.do"],
      ["member", "entity.name.function.steps"],
      ["steps", "storage.type.steps"],
      ["gives", "keyword.control.gives"],
      ["me", "variable.other.definition"],
      ["allow", "keyword.control"],
    ],
  ],
  "a filter": [
    inContract('x = query Slot where PK = "S" page 25\n    keep state is absent or .state == state\n    reading 300\n  keep = 1'),
    [
      ["page", "keyword.other.clause"],
      ["keep", "keyword.other.clause"],
      ["state", "variable.other"],
      ["absent", "constant.language"],
      [".", "punctuation.accessor.stored"],
      ["state", "variable.other.property.stored"],
      ["reading", "keyword.other.clause"],
      ["300", "constant.numeric"],
      ["keep", "variable.other.definition"],
    ],
  ],
  "a query": [
    inContract('x = query Slot by GSI2\n    where PK = "S" and SK between "A#{at - 1ms}" and "B~"\n    order descending when order == desc\n    page 25 max 100'),
    [
      ["query", "keyword.control.operation"],
      ["by", "keyword.other.clause"],
      ["GSI2", "entity.name.type.index"],
      ["where", "keyword.other.clause"],
      ["PK", "variable.language.key"],
      ["and", "keyword.operator.word"],
      ["between", "keyword.operator.word"],
      ["at", "variable.other"],
      ["-", "keyword.operator.arithmetic"],
      ["1ms", "constant.numeric.duration"],
      ["order", "keyword.other.clause"],
      ["descending", "constant.language"],
      ["order", "variable.other"],
      ["==", "keyword.operator.comparison"],
      ["page", "keyword.other.clause"],
      ["25", "constant.numeric"],
      ["max", "keyword.other.clause"],
    ],
  ],
  "a collection": [
    inContract("all = query Customer, Order strong first 9\n    one = the Customer in all else 404 not-found\n    many = Order in all"),
    [
      ["query", "keyword.control.operation"],
      ["Customer", "entity.name.type"],
      ["Order", "entity.name.type"],
      ["strong", "keyword.other.clause"],
      ["the", "keyword.control.operation"],
      ["Customer", "entity.name.type"],
      ["in", "keyword.operator.word"],
      ["all", "variable.other"],
      ["else", "keyword.control.conditional"],
      ["Order", "entity.name.type"],
      ["in", "keyword.operator.word"],
    ],
  ],
  "a snapshot": [
    inContract("snapshot {\n    door = get Door else 404 gone\n    lock = get Lock\n  }"),
    [
      ["snapshot", "keyword.control.transact"],
      ["door", "variable.other.definition"],
      ["get", "keyword.control.operation"],
      ["Door", "entity.name.type"],
      ["else", "keyword.control.conditional"],
      ["get", "keyword.control.operation"],
      ["Lock", "entity.name.type"],
    ],
  ],
  "an update": [
    inContract("transact {\n    update door\n      set state = OPEN,\n        version = .version + 1 if .state == SHUT else retry\n  }"),
    [
      ["transact", "keyword.control.transact"],
      ["update", "keyword.control.operation"],
      ["door", "variable.other"],
      ["set", "keyword.other.clause"],
      ["state", "variable.other.property"],
      ["OPEN", "constant.other.enum"],
      ["version", "variable.other.property"],
      [".", "punctuation.accessor.stored"],
      ["version", "variable.other.property.stored"],
      ["+", "keyword.operator.arithmetic"],
      ["if", "keyword.control.conditional"],
      ["state", "variable.other.property.stored"],
      ["SHUT", "constant.other.enum"],
      ["else", "keyword.control.conditional"],
      ["retry", "keyword.control.retry"],
    ],
  ],
  "tests": [
    inContract("require not door.state moves to next and x in (A, B) or caller owns max(a, b)\n  match a is absent else 409 conflict with { now = b.c }"),
    [
      ["require", "keyword.control"],
      ["not", "keyword.operator.word"],
      ["door", "variable.other"],
      ["state", "variable.other.property"],
      ["moves to", "keyword.operator.word"],
      ["next", "variable.other"],
      ["in", "keyword.operator.word"],
      ["A", "constant.other.enum"],
      ["owns", "keyword.operator.word"],
      ["max", "support.function"],
      ["match", "keyword.control"],
      ["is", "keyword.operator.word"],
      ["absent", "constant.language"],
      ["409", "constant.numeric.status"],
      ["conflict", "constant.other.error-code"],
      ["with", "keyword.other.clause"],
      ["now", "variable.other.property"],
      ["c", "variable.other.property"],
    ],
  ],
  "blocks in blocks": [
    inContract('when a { x = b } else {\n    return 201 door { a } with { b = 1 } at /doors/{a}\n  }\n  waive hot-partition "few {of them}"\n  first = 30s'),
    [
      ["when", "keyword.control.conditional"],
      ["x", "variable.other.definition"],
      ["else", "keyword.control.conditional"],
      ["return", "keyword.control.return"],
      ["201", "constant.numeric.status"],
      ["with", "keyword.other.clause"],
      ["b", "variable.other.property"],
      ["at", "keyword.other.clause"],
      ["doors/", "string.unquoted.path"],
      ["a", "variable.parameter.path"],
      ["waive", "keyword.other.waive"],
      ["hot-partition", "support.constant.rule"],
      ["few {of them}", "string.quoted.double"],
      ["first", "variable.other.definition"],
      ["30s", "constant.numeric.duration"],
    ],
  ],
  "facts": [
    inContract("consistency eventual\n  expect 0.. items\n  rate 100/s\n  cost 4.5 rcu, 2 wcu\n  idempotent by Lock\n  cache 30s\n  limit 20/s per caller burst 40"),
    [
      ["consistency", "keyword.other.fact"],
      ["eventual", "constant.language"],
      ["expect", "keyword.other.fact"],
      ["..", "keyword.operator.range"],
      ["items", "keyword.other.unit"],
      ["rate", "keyword.other.fact"],
      ["100", "constant.numeric"],
      ["/", "keyword.operator.per"],
      ["s", "keyword.other.unit"],
      ["cost", "keyword.other.fact"],
      ["4.5", "constant.numeric"],
      ["rcu", "keyword.other.unit"],
      ["wcu", "keyword.other.unit"],
      ["idempotent", "keyword.other.fact"],
      ["by", "keyword.other.fact"],
      ["Lock", "entity.name.type"],
      ["cache", "keyword.other.fact"],
      ["30s", "constant.numeric.duration"],
      ["limit", "keyword.other.fact"],
      ["20", "constant.numeric"],
      ["per", "keyword.other.fact"],
      ["caller", "constant.language"],
      ["burst", "keyword.other.fact"],
      ["40", "constant.numeric"],
    ],
  ],
  "texts": [
    inContract('x = "a\\"{{b}}{c}}" // "no text"'),
    [
      ['\\"', "constant.character.escape"],
      ["{{", "constant.character.escape"],
      ["b", "string.quoted.double"],
      ["}}", "constant.character.escape"],
      ["c", "variable.other"],
      ["}", "punctuation.section.embedded.end"],
      ["}", "invalid.illegal.brace"],
      ["//", "punctuation.definition.comment"],
    ],
  ],
  "types of other attributes, defaults, and types over lines": [
    inEntity('a door.state, b text(9) like "\\\\d{2}"\n  c key = key\n  d open |\n    SHUT'),
    [
      ["door", "entity.name.type"],
      [".", "punctuation.accessor"],
      ["state", "variable.other.property"],
      ["\\\\", "constant.character.escape"],
      ["d{2}", "string.regexp.quoted.double"],
      ["key", "support.type"],
      ["key", "variable.other"],
      ["open", "constant.other.enum"],
      ["|", "keyword.operator.union"],
      ["SHUT", "constant.other.enum"],
    ],
  ],
  "bindings in blocks": [
    inContract("transact {\n    a = put Door { b = c }\n  }\n  d = get Door else {\n    e = f\n  }\n  transact\n  {\n    delete door\n  }"),
    [
      ["a", "variable.other.definition"],
      ["b", "variable.other.property"],
      ["d", "variable.other.definition"],
      ["e", "variable.other.definition"],
      ["transact", "keyword.control.transact"],
      ["delete", "keyword.control.operation"],
    ],
  ],
  "names, calls and remarks in expressions": [
    inContract('require Door == step(a) else 400 bad "{a // b}" with { c = "d" }'),
    [
      ["Door", "entity.name.type"],
      ["step", "entity.name.function.call"],
      ["bad", "constant.other.error-code"],
      ["// b", "comment.line.double-slash"],
      ["with", "keyword.other.clause"],
    ],
  ],
  "an odd rate": [
    inContract("rate many/s"),
    [
      ["rate", "keyword.other.fact"],
      ["/", "keyword.operator.per"],
    ],
  ],
  "a worker": [
    'worker W-1 "Mail \\"it\\"" {\n  on MAIL {\n    send MAIL { a = b } at now + 5m\n    accepted { done }\n    fail mail-refused\n  }\n}\nsteps bump(a) {\n  b = a\n}',
    [
      ["worker", "storage.type.worker"],
      ["W-1", "entity.name.function.worker"],
      ['\\"', "constant.character.escape"],
      ["on", "keyword.control.on"],
      ["MAIL", "variable.other.queue"],
      ["send", "keyword.control.send"],
      ["at", "keyword.other.clause"],
      ["accepted", "keyword.control.sent"],
      ["done", "keyword.control"],
      ["fail", "keyword.control.fail"],
      ["mail-refused", "constant.other.error-code"],
      ["steps", "storage.type.steps"],
      ["bump", "entity.name.function.steps"],
      ["b", "variable.other.definition"],
    ],
  ],
  "a queue, and what is done about it": [
    'queue mails {\n  mailId id, at time?\n\n  lease 30s\n  tries 5\n}\nworker W-1 "Mail" {\n  on mails { mailId }\n  x = get Mail strong else later\n  when now < x.at { later }\n  do sent(x)\n  y = get Tally shard in 0..15 snapshot else fail gone\n  z = query Mail page 5 max 9 as limit\n  done\n  on dead { done }\n}',
    [
      ["queue", "storage.type.queue"],
      ["mails", "variable.other.queue"],
      ["lease", "storage.modifier.lease"],
      ["30s", "constant.numeric.duration"],
      ["tries", "storage.modifier.tries"],
      ["5", "constant.numeric"],
      ["worker", "storage.type.worker"],
      ["on", "keyword.control.on"],
      ["else", "keyword.control.conditional"],
      ["later", "keyword.control.retry"],
      ["do", "keyword.control.do"],
      ["sent", "entity.name.function.steps"],
      ["snapshot", "keyword.other.clause"],
      ["fail", "keyword.control.fail"],
      ["gone", "constant.other.error-code"],
      ["as", "keyword.other.clause"],
      ["limit", "variable.parameter"],
      ["done", "keyword.control"],
      ["dead", "keyword.control.dead"],
    ],
  ],
  "an ordered queue": [
    'table T { type itemType }\nqueue mails ordered by mailId {\n  mailId id\n}',
    [
      ["queue", "storage.type.queue"],
      ["mails", "variable.other.queue"],
      ["ordered by", "storage.modifier.ordered"],
      ["mailId", "variable.other.property"],
      ["id", "support.type"],
      ["}", "punctuation.section.block.end"],
    ],
  ],
  "an invariant": [
    'invariant Seats "never oversold" {\n  taken = query Seat where PK = "S#{.id}"\n  count(taken) <= .left\n}\nrole admin',
    [
      ["invariant", "storage.type.invariant"],
      ["Seats", "entity.name.type"],
      ["never oversold", "string.quoted.double"],
      ["taken", "variable.other.definition"],
      ["query", "keyword.control.operation"],
      ["}", "punctuation.section.block.end"],
      ["role", "storage.type.role"],
    ],
  ],
  "what is no token": [
    inContract("require a ; 3weeks"),
    [
      [";", "invalid.illegal.character"],
      ["3weeks", "invalid.illegal.unit"],
    ],
  ],
  "a forgotten brace": [
    'contract A-1 "A" {\n  when a {\n    put Door {\nentity Door "DOOR" {\n  doorId id\n}',
    [
      ["entity", "storage.type.entity"],
      ["Door", "entity.name.type"],
      ["doorId", "variable.other.property.declaration"],
      ["id", "support.type"],
      ["}", "punctuation.section.block.end"],
    ],
  ],
};

const EXAMPLES = {
  "requests at once": [
    "as ann\ntogether {\n  POST /doors\n  deliver doors\n} // done",
    [
      ["together", "keyword.control.together"],
      ["{", "punctuation.section.block.begin"],
      ["POST", "keyword.other.http-method"],
      ["deliver", "keyword.control.deliver"],
      ["doors", "variable.other.queue"],
      ["}", "punctuation.section.block.end"],
      [" done", "comment.line.double-slash"],
    ],
  ],
  "a demo": [
    'at now - 3d // then\nrepeat 40 {\n  who = one of alice, "bob b", 1.5\n  k = one of 1..20\n  id = "D{n:03}"\n  at now + n * 2h\n  GET /doors/$id\n}\nevery 2s { // on\n}',
    [
      ["at", "keyword.control.at"],
      ["now", "support.constant"],
      ["-", "keyword.operator.arithmetic"],
      ["3d", "constant.numeric.duration"],
      [" then", "comment.line.double-slash"],
      ["repeat", "keyword.control.repeat"],
      ["40", "constant.numeric"],
      ["{", "punctuation.section.block.begin"],
      ["who", "variable.other.name"],
      ["=", "keyword.operator.assignment"],
      ["one of", "keyword.control.one-of"],
      ["alice", "constant.other.choice"],
      [",", "punctuation.separator.comma"],
      ["bob b", "string.quoted.double"],
      ["1.5", "constant.numeric"],
      ["1", "constant.numeric"],
      ["..", "keyword.operator.range"],
      ["20", "constant.numeric"],
      ["id", "variable.other.name"],
      ["n:03", "variable.other.placeholder"],
      ["at", "keyword.control.at"],
      ["n", "support.constant"],
      ["*", "keyword.operator.arithmetic"],
      ["2h", "constant.numeric.duration"],
      ["GET", "keyword.other.http-method"],
      ["}", "punctuation.section.block.end"],
      ["every", "keyword.control.every"],
      ["2s", "constant.numeric"],
      [" on", "comment.line.double-slash"],
      ["}", "punctuation.section.block.end"],
    ],
  ],
  "settings": [
    "// first\nat 2026-02-25T10:00:00Z as alice role operator org acme",
    [
      [" first", "comment.line.double-slash"],
      ["at", "keyword.control.at"],
      ["2026-02-25T10:00:00Z", "constant.other.time"],
      ["as", "keyword.control.as"],
      ["alice", "entity.name.caller"],
      ["role", "keyword.control.role"],
      ["operator", "support.constant.role"],
      ["org", "keyword.control.org"],
      ["acme", "entity.name.organisation"],
    ],
  ],
  "a request and its answer": [
    'POST /doors?x=1 If-Match: "3" {\n  "a}": "}", "b": [1.5,\n true]\n}\n201 {"c": "\\u0041"}\n200 [\n null]\nGET /x\n404',
    [
      ["POST", "keyword.other.http-method"],
      ["/doors", "string.unquoted.path"],
      ["x", "variable.parameter.query"],
      ["If-Match", "entity.other.attribute-name.header"],
      ['"3"', "string.unquoted.header"],
      ["a}", "support.type.property-name"],
      ["}", "string.quoted.double"],
      ["b", "support.type.property-name"],
      ["1.5", "constant.numeric"],
      [",", "punctuation.separator.comma"],
      ["true", "constant.language"],
      ["201", "constant.numeric.status"],
      ["c", "support.type.property-name"],
      [":", "punctuation.separator.key-value"],
      ["\\u0041", "constant.character.escape"],
      ["[", "punctuation.section.brackets.begin"],
      ["null", "constant.language"],
      ["GET", "keyword.other.http-method"],
      ["404", "constant.numeric.status"],
    ],
  ],
};

function assertInOrder(tokens, expected) {
  let from = 0;
  for (const [text, scope] of expected) {
    const index = tokens.findIndex((token, i) => i >= from && token.text === text && leaf(token) === scope);
    const found = tokens.slice(from).map((token) => `  ${token.text}  ${leaf(token)}`);
    assert.notEqual(index, -1, `no \`${text}\` that is ${scope} among\n${found.join("\n")}`);
    from = index + 1;
  }
}

describe("snippets", () => {
  for (const [name, [body, expected]] of Object.entries(SNIPPETS)) {
    test(name, async () => assertInOrder(await leaves(body), expected));
  }
  for (const [name, [body, expected]] of Object.entries(EXAMPLES)) {
    test(name, async () => assertInOrder(await leaves(body, name === "a demo" ? "demo" : "example"), expected));
  }

  test("a hole is embedded in its text", async () => {
    const tokens = await leaves(inContract('x = "A#{b}"'));
    const hole = tokens.find((token) => token.text === "b");
    assert.ok(inside(hole, "string.quoted.double") && inside(hole, "meta.embedded.line.hole"));
  });

  test("the grammar stands alone", async () => {
    const [tokens] = await tokenise("system doors", "source.latchkey");
    assert.deepEqual(tokens[0].scopes, ["source.latchkey", "storage.type.system.latchkey"]);
  });
});

describe("fences", () => {
  /** The first line after `opening` and a line `GET /x`, and after a closing fence. */
  async function embedded(opening, closing) {
    const lines = await tokenise(`${opening}\nGET /x\n${closing}\nGET /x`);
    return [lines[1], lines[3]].map((tokens) => tokens.some(ours));
  }

  for (const [opening, closing] of [
    ["```contract", "```"],
    ["```contract", "`````  "],
    ["~~~contract", "~~~"],
    ["````` contract", "`````"],
    ["   ```example", "  ```"],
    ["~~~~ example x `y`", "~~~~"],
    ["```demo", "```"],
    ["```contract\r", "```\r"],
  ]) {
    test(JSON.stringify(opening), async () =>
      assert.deepEqual(await embedded(opening, closing), [true, false]),
    );
  }

  for (const opening of ["    ```contract", "``contract", "```contracts", "```json", "```contract `x`", "> ```contract"]) {
    test(`not ${JSON.stringify(opening)}`, async () =>
      assert.deepEqual((await embedded(opening, "```"))[0], false),
    );
  }

  test("a shorter or different fence closes nothing", async () => {
    const lines = await tokenise("````contract\n```\n~~~~\nsystem doors\n````\nprose");
    assert.ok(lines[3].some((token) => inside(token, "storage.type.system")));
    assert.ok(!lines[5].some(ours));
  });

  test("a block in a list", async () => {
    const lines = await tokenise("- item\n\n  ```contract\n  system doors\n  ```\n  more\n\nprose");
    assert.ok(lines[3].some((token) => inside(token, "storage.type.system")));
    assert.ok(![...lines[5], ...lines[7]].some(ours));
  });

  test("prose and other blocks are left alone", async () => {
    const text = [
      "# entity Door",
      'allow caller owns `door.ownerId` or "OWNER#{ownerId}"',
      "entity Door {",
      "```json",
      '{ "entity": "Door" }',
      "```contract",
      "system doors",
      "```",
      "system doors",
      "```",
      "contract A-1",
      "```",
    ].join("\n");
    for (const token of (await tokenise(text)).flat()) {
      assert.ok(!ours(token), `\`${token.text}\` is ${token.scopes.join(" ")}`);
    }
  });

  test("the languages of the blocks are those contributed", () => {
    const { embeddedLanguages } = contributed.find(({ injectTo }) => injectTo);
    assert.deepEqual(Object.keys(embeddedLanguages), [CONTRACT, EXAMPLE]);
  });
});

describe("what is left open", () => {
  for (const line of ['x = "A#', 'x = "A#{b', 'x = "{max(a', 'x = "a\\', 'waive scan "why', 'n text(9) like "[a']) {
    test(`${line} ends with its line`, async () => {
      const tokens = await leaves(inContract(`${line}\n  return door`));
      const next = tokens.find((token) => token.text === "return");
      assert.equal(leaf(next), "keyword.control.return");
      assert.ok(!inside(next, "string") && !inside(next, "meta.embedded.line"));
    });
  }

  test("an open title ends with its line", async () => {
    const tokens = await leaves('contract A-1 "A\n{\n  return door\n}');
    assert.equal(leaf(tokens.find((token) => token.text === "return")), "keyword.control.return");
  });

  // `leaves` sees to it that the prose after the block is prose.
  for (const body of ['contract A-1 "A" {\n  transact {\n    put Door {', "entity Door", "contract A-1", "x = max(a,"]) {
    test(`${JSON.stringify(body)} ends with its block`, async () => {
      await leaves(body);
    });
  }

  test("an example's JSON ends with its block", async () => {
    await leaves('POST /doors {"a": [', "example");
  });
});
