// The page of a contract: fills its keys in as one types, calls it, shows what came of it.
import { ask, copy, el } from "./show.js";
import { add, at, control, fill, formed, hint, object, parse, plain, press, ration, read, say } from "./fields.js";
import { bodyOf, curl, example, outcome } from "./outcome.js";
import { viewer } from "./views.js";

const root = document.getElementById("contract");
const form = document.getElementById("call");
const answer = document.getElementById("answer");
const into = answer.querySelector("[data-answer]");
const tools = answer.querySelector("[data-answer-tools]");
const known = JSON.parse(root.dataset.contract);
const fields = [...form.querySelectorAll(".field[data-place]")];
const named = (name) => fields.find((field) => field.dataset.field === name && field.dataset.place !== "header");
const run = form.querySelector('[type="submit"]');
const stored = `latchkey:${known.system}:${known.id}:${known.who.sub}`, parted = `${stored}:parted`;
let last = null, running = false;
/** The cursors of the pages before the one that is shown, as one came to it. */
let trail = { of: null, here: undefined, before: [] };

/** What leads from an answer to other contracts. */
const page = {
  known,
  /** Calls the contract as it was called last. */
  async again() { const called = await ask("/console/call", last.asked); return { ...called, read: bodyOf(called) }; },
  hasCursor: () => Boolean(known.page && plain(named("nextCursor"))),
  hasPrevious: () => trail.before.length > 0,
  /** The contract that shows what a member names: a GET whose path ends with an input of its name. */
  leadFrom(name, item) {
    const fits = known.contracts.filter((contract) => contract.method === "GET" && inputs(contract).at(-1) === name && texts(contract, item));
    const best = fits.sort((a, b) => a.segments.length - b.segments.length)[0];
    const here = best?.id === known.id && plain(named(name)) === item[name];
    return best && !here ? lead(best, item) : null;
  },
  /** Every contract whose path an item fills, with the help of the form. */
  leadsOf: (item) => known.contracts.filter((contract) => contract.id !== known.id && inputs(contract).some((name) => Object.hasOwn(item, name)) && texts(contract, item))
    .map((contract) => lead(contract, item)),
  /** The contract that a path leads to by GET. */
  leadOfPath(path) {
    const parts = path.split("?")[0].split("/").slice(1);
    for (const contract of known.contracts.filter((one) => one.method === "GET" && one.segments.length === parts.length)) {
      const given = {};
      const fits = contract.segments.every((segment, index) => segment.text === parts[index] || (segment.input && ((given[segment.input] = decodeURIComponent(parts[index])), true)));
      if (fits) return lead(contract, given);
    }
    return null;
  },
};

const inputs = (contract) => contract.segments.filter((segment) => segment.input).map((segment) => segment.input);

/** The texts of a contract's path, of an item or of the form; nothing if one is missing. */
function texts(contract, item) {
  const all = {};
  for (const input of inputs(contract)) {
    const own = Object.hasOwn(item, input) ? item[input] : named(input) && plain(named(input));
    if (typeof own !== "string" && typeof own !== "number") return null;
    all[input] = String(own);
  }
  return all;
}

/** A link to a contract, with its path filled in, and the version of the item where it asks for one. */
function lead(contract, item) {
  const { input, counter } = contract.version ?? {};
  const version = input && isCount(item[counter]) ? { [input]: String(item[counter]) } : {};
  return { ...contract, href: `${contract.to}?${new URLSearchParams({ ...texts(contract, item), ...version })}` };
}

const isCount = (value) => typeof value === "number" && Number.isInteger(value);

/** The request that a client would make; `without` is left out of its query string. */
function request(without) {
  const of = (place) => fields.filter((field) => field.dataset.place === place).map((field) => [field.dataset.field, field]);
  const path = known.segments.map((segment) => `/${encodeURIComponent(segment.text ?? plain(named(segment.input)) ?? "")}`).join("") || "/";
  const query = of("query").map(([name, field]) => [name, plain(field)]).filter(([name, value]) => value !== undefined && name !== without);
  const headers = Object.fromEntries(of("header").map(([name, field]) => [name, plain(field)]).filter(([, value]) => value !== undefined));
  const body = of("body").map(([name, field]) => [name, read(field)]).filter(([, value]) => value !== undefined);
  const search = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&");
  return { method: known.method, path: search ? `${path}?${search}` : path, headers, ...(of("body").length ? { body: object(body) } : {}) };
}

/** Fills the keys with what is typed. */
function draw() {
  for (const chip of document.querySelectorAll(".chip[data-input]")) {
    const field = named(chip.dataset.input);
    const value = field && !("secret" in field.dataset) ? formed(field, chip.dataset.form) : undefined;
    chip.classList.toggle("filled", value !== undefined);
    chip.replaceChildren(...el("span", value ?? chip.dataset.name).childNodes);
    if (value === undefined) chip.removeAttribute("title"); else chip.title = chip.dataset.name;
  }
}

const views = viewer(page);

async function call() {
  if (running) return;
  views.stop();
  // A path without one of its parts is that of another contract.
  const open = fields.find((field) => field.dataset.place === "path" && !plain(field));
  if (open) { say(open, "is needed for the path"); control(open).focus(); return; }
  running = true; run.disabled = true; answer.setAttribute("aria-busy", "true");
  for (const field of form.querySelectorAll(".field")) say(field, "");
  const asked = request();
  keep();
  follow();
  try { show(asked, await ask("/console/call", asked)); }
  catch (error) { into.replaceChildren(el("p.note.bad", { role: "alert" }, String(error.message ?? error))); tools.replaceChildren(); }
  running = false; run.disabled = false; answer.removeAttribute("aria-busy");
}

/** Whoever asks for something else, or types a cursor, is on no page that others come before. */
function follow() {
  if (!known.page) return;
  const here = plain(named("nextCursor")), of = JSON.stringify(request("nextCursor"));
  if (of !== trail.of || here !== trail.here) trail = { of, here, before: [] };
}

/** Goes to a page by its cursor; `before` are those of the pages before it. */
function turn(cursor, before) {
  trail = { ...trail, here: cursor, before };
  fill(named("nextCursor"), cursor);
  call();
}

function show(asked, called) {
  last = { asked, called };
  into.replaceChildren(...outcome(called, page, views));
  if (called.status === 401) into.append(el("p", el("a", { href: `/console/sign-in?${new URLSearchParams({ to: location.pathname + location.search, ended: "true" })}`, "data-sign-in": true }, "Sign in again"), "; what you typed is kept."));
  if (called.contract && called.contract !== known.id) into.prepend(el("p.note.warn", `The path leads to another contract: ${called.contract} answered.`));
  tools.replaceChildren(el("button.quiet.widens", { type: "button", "data-wide": true, "aria-pressed": String(root.classList.contains("wide")), title: "Show the answer across the page" }, "Wide"),
    el("button.quiet", { type: "button", "data-example": true }, "Copy as example"));
  mark(called.statement);
  const body = bodyOf(called);
  const errors = called.status >= 400 && Array.isArray(body?.errors) ? body.errors : [];
  const wrong = errors.map((error) => ({ error, found: at(fields, String(error.pointer)) })).filter(({ found }) => found);
  for (const { error, found } of wrong) {
    found.field.closest("details")?.setAttribute("open", "");
    say(found.field, (found.rest.length ? `/${found.rest.join("/")} ` : "") + String(error.detail));
  }
  const seen = answer.getBoundingClientRect();
  if (wrong.length) (control(wrong[0].found.field) ?? wrong[0].found.field.querySelector("[data-group]")).focus();
  else if (seen.top < 60 || seen.top > innerHeight * 0.7) answer.scrollIntoView({ block: "start" });
}

/** Marks the statement that answered in the text of the document. */
function mark(statement) {
  for (const line of document.querySelectorAll(".line.marked")) line.classList.remove("marked");
  if (!statement) return;
  const count = statement.text.split("\n").length;
  for (let index = 0; index < count; index += 1) document.getElementById(`L${statement.line + index}`)?.classList.add("marked");
}

/** Keeps what was last used, for this tab alone; no secrets, no cursor. */
function keep() {
  const kept = fields.filter((field) => !("secret" in field.dataset) && field.dataset.place !== "header" && field.dataset.field !== "nextCursor");
  const pairs = kept.map((field) => [field.dataset.field, read(field)]).filter(([, value]) => value !== undefined);
  try { sessionStorage.setItem(stored, object(pairs)); } catch { /* A browser that keeps nothing starts empty. */ }
}

/** Keeps all that was typed but secrets, until someone comes back from signing in. */
function part() {
  const kept = fields.filter((field) => !("secret" in field.dataset)).map((field) => [`${field.dataset.place} ${field.dataset.field}`, read(field)]);
  try { sessionStorage.setItem(parted, object(kept.filter(([, value]) => value !== undefined))); } catch { /* as above */ }
}

/** Fills in what was typed before signing in; whether there was anything. */
function comeBack() {
  let kept = null;
  try { kept = parse(sessionStorage.getItem(parted) ?? "null"); sessionStorage.removeItem(parted); } catch { /* as below */ }
  if (!kept) return false;
  for (const field of fields) {
    const name = `${field.dataset.place} ${field.dataset.field}`;
    fill(field, Object.hasOwn(kept, name) ? kept[name] : undefined);
  }
  reveal();
  const secrets = form.querySelector(".field[data-secret]") ? " Secrets have to be typed again." : "";
  into.replaceChildren(el("p.note", { role: "status", "data-back": true }, `You were signed out, and the contract was not called. What you typed is here again: run it when it is right.${secrets}`));
  return true;
}

/** Opens what has a value. */
const reveal = () => { for (const details of form.querySelectorAll("details.more")) details.open ||= [...details.querySelectorAll(".field")].some((field) => plain(field)); };

/** Fills in what the address says, or else what was used last. */
function recall() {
  if (comeBack()) return;
  const given = new URLSearchParams(location.search);
  if ([...given.keys()].some(named)) {
    for (const [name, text] of given) if (named(name)) fillText(named(name), text);
    return;
  }
  let kept = null;
  try { kept = parse(sessionStorage.getItem(stored) ?? "null"); } catch { /* What cannot be read is as if it were not there. */ }
  for (const [name, value] of Object.entries(kept ?? {})) if (named(name)) fill(named(name), value);
}

/** Fills a field from a text of a path or a query string. */
function fillText(field, text) {
  if (!["list", "record", "json"].includes(field.dataset.read)) return fill(field, text);
  try { fill(field, parse(text)); } catch { fill(field, undefined); }
}

/** Fills the form with what an example gives. */
function fillExample({ texts: given, headers, body }) {
  for (const field of fields) fill(field, undefined);
  for (const [name, text] of Object.entries(given)) if (named(name)) fillText(named(name), text);
  for (const field of fields.filter((one) => one.dataset.place === "header")) if (headers[field.dataset.field]) fill(field, headers[field.dataset.field]);
  try { for (const [name, value] of Object.entries(body ? parse(body) : {})) if (named(name)) fill(named(name), value); }
  catch { /* An example may send what is no JSON, to see it refused; no field can hold that. */ }
  reveal();
  draw();
  form.scrollIntoView({ block: "nearest" });
  run.focus({ preventScroll: true });
}

/** Where the contracts are: beside the console, or at an address of their own. */
const origin = () => (known.api ? `http://${known.api.host ?? location.hostname}:${known.api.port}` : location.origin);

/** Copies, or shows what a browser does not let a page copy. */
async function copied(text, button) {
  try { await copy(text, button); } catch { into.prepend(el("pre.json", el("code", text))); }
}

form.addEventListener("submit", (event) => { event.preventDefault(); call(); });
document.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); call(); } });
form.addEventListener("input", (event) => { const field = event.target.closest(".field"); if (field?.classList.contains("wrong")) say(field, ""); draw(); });
form.addEventListener("change", (event) => { const field = event.target.closest(".field"); if (field) { say(field, hint(field)); draw(); } });

const actions = {
  now: (field) => fill(field, field.dataset.type === "date" ? new Date().toISOString().slice(0, 10) : new Date().toISOString()),
  new: (field) => fill(field, field.dataset.type === "ulid" ? ulid() : crypto.randomUUID()),
  set: (field, button) => { const was = button.getAttribute("aria-pressed") === "true"; press(field, was ? null : button.dataset.set); },
  add: (field) => { const row = add(field); (row.querySelector("[data-control], [data-group]") ?? row).focus(); },
  remove: (field, button) => { const owner = button.closest(".row").parentElement.closest(".field"); button.closest(".row").remove(); ration(owner); owner.querySelector("[data-add]").focus(); },
  clear: () => { for (const field of fields) fill(field, undefined); try { sessionStorage.removeItem(stored); } catch { /* as above */ } },
  curl: (_, button) => copied(curl(request(), origin()), button),
};

form.addEventListener("click", (event) => {
  const button = event.target.closest("button[type=button]");
  const name = button && Object.keys(actions).find((action) => action in button.dataset);
  if (!name) return;
  actions[name](button.closest(".field"), button);
  draw();
});

answer.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if ("next" in button.dataset) turn(button.dataset.next, [...trail.before, trail.here]);
  if ("previous" in button.dataset) turn(trail.before.at(-1), trail.before.slice(0, -1));
  if ("first" in button.dataset) turn(undefined, []);
  if ("wide" in button.dataset) widen(button.getAttribute("aria-pressed") !== "true");
  if ("example" in button.dataset && last) copied(example(last.asked, last.called, known.who, fields.filter((field) => "secret" in field.dataset).map((field) => field.dataset.field)), button);
});

for (const button of document.querySelectorAll("[data-fill]")) button.addEventListener("click", () => fillExample(JSON.parse(button.dataset.fill)));

/** A ULID: the time, and chance. */
function ulid() {
  const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  let time = Date.now(), text = "";
  for (let index = 0; index < 10; index += 1) { text = letters[time % 32] + text; time = Math.floor(time / 32); }
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) text += letters[byte % 32];
  return text;
}

/** Shows the answer across the page, below the form and the keys; or beside them again. */
function widen(wide) {
  root.classList.toggle("wide", wide);
  tools.querySelector("[data-wide]")?.setAttribute("aria-pressed", String(wide));
  if (wide) answer.scrollIntoView({ block: "start" });
  try { localStorage.setItem("latchkey-wide", wide ? "1" : ""); } catch { /* A browser that keeps nothing shows it until the next page. */ }
}

try { root.classList.toggle("wide", localStorage.getItem("latchkey-wide") === "1"); } catch { /* as above */ }

// Whoever becomes someone else comes back to what they typed.
addEventListener("pagehide", keep);
addEventListener("signed-out", part);
answer.addEventListener("click", (event) => { if (event.target.closest("[data-sign-in]")) part(); });

recall();
draw();
