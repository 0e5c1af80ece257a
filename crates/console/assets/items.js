// Shows items of answers: objects as cards, lists of objects as tables; what names another thing leads to it.
import { el, plural, shown, slide } from "./show.js";
import { Exact, pretty, write } from "./fields.js";

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Exact);
export const isTable = (value) => Array.isArray(value) && value.every(isObject);
const isNumber = (value) => typeof value === "number" || value instanceof Exact;

/** What is known of members of which nothing is known. */
export const UNKNOWN = { times: [], statuses: [] };

/** The longest text that a cell shows whole at first. */
const CELL = 90;

/** A list of items as a table. */
export function table(all, page, known = UNKNOWN) {
  if (!all.length) return el("p.empty", "No items.");
  if (!isTable(all)) return el("pre.json", el("code", pretty(all)));
  return el("div.stacked", slide("Items", grid("table.items", all, (name, one, item) => cell(value(name, one, item, page, { ...known, times: [], cell: true }), one))),
    el("p.muted.small", plural(all.length, "item")));
}

/** Objects as the rows of a table; `show` makes the content of a cell. */
function grid(kind, all, show) {
  const columns = [...new Set(all.flatMap((item) => Object.keys(item)))];
  const numeric = new Set(columns.filter((name) => all.every((item) => !(name in item) || isNumber(item[name]))));
  const row = (item) => el("tr", columns.map((name) => el(numeric.has(name) ? "td.num" : "td", Object.hasOwn(item, name) ? show(name, item[name], item) : "")));
  return el(kind, el("thead", el("tr", columns.map((name) => el(numeric.has(name) ? "th.num" : "th", { scope: "col" }, name)))), el("tbody", all.map(row)));
}

/** What a cell shows: a long text in a few lines, with a button for the rest. */
function cell(inner, one) {
  const text = typeof one === "string" ? one : "";
  if (text.length <= CELL && text.split("\n").length <= 3) return el("div.cell", inner);
  const box = el("div.clamp", { title: shown(text.length > 1000 ? `${text.slice(0, 1000)}…` : text) }, inner);
  const button = el("button.tiny", { type: "button", "aria-expanded": "false" }, "more");
  button.addEventListener("click", () => {
    const open = box.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "less" : "more";
  });
  return el("div.cell.long", box, button);
}

/** An object as names and values. */
export const card = (item, page, known = UNKNOWN) =>
  el("dl.item", Object.entries(item).map(([name, one]) => el("div", el("dt", name), el("dd", value(name, one, item, page, known)))));

/** A value under a name; one that names something another contract shows leads there. */
export function value(name, one, item, page, known = UNKNOWN) {
  if (one !== null && typeof one === "object" && !(one instanceof Exact)) return compact(one, known.cell);
  if (known.times.includes(name) && typeof one === "string") return moment(one);
  const status = known.statuses.find((own) => own.name === name);
  if (status && typeof one === "string") return word(status, one);
  const to = page && typeof one === "string" ? page.leadFrom(name, item) : null;
  return to ? el(one.length <= 40 ? "a.value.short" : "a.value", { href: to.href, title: `${to.id}: ${to.title}` }, one) : scalar(one);
}

/** One of a few words, in the colour of its place among them. */
export const word = (status, one) => el(`span.word.w${colour(status, one)}`, one);

/** The number of a word's colour. Words have a colour each as far as there are colours; they are told apart by their text. */
export const colour = (status, one) => { const at = status ? status.words.indexOf(one) : -1; return at < 0 ? "x" : at % 8; };

export function scalar(one) {
  if (one === null) return el("span.muted", "null");
  if (typeof one === "boolean") return el("span.pill", String(one));
  const text = String(one);
  return el(text.length <= 40 ? "bdi.value.short" : "bdi.value", text);
}

/** A list or an object under a name: records as a table, others in a line, or behind one. In a cell a table is behind a line. */
function compact(one, within) {
  const line = write(one);
  if (isTable(one) && one.length) {
    const rows = grid("table.inner", one, (_, own) => (own !== null && typeof own === "object" && !(own instanceof Exact) ? el("code", write(own)) : cell(scalar(own), own)));
    return within ? el("details.compact", el("summary", plural(one.length, "record")), rows) : slide("Records", rows);
  }
  if (isObject(one) && line.length <= 120 && Object.values(one).every((own) => own === null || typeof own !== "object" || own instanceof Exact)) {
    const pairs = Object.entries(one);
    return pairs.length ? el("dl.pairs", pairs.map(([name, own]) => el("div", el("dt", name), el("dd", scalar(own))))) : el("code", line);
  }
  if (line.length <= 60) return el("code", line);
  const what = Array.isArray(one) ? plural(one.length, "element") : plural(Object.keys(one).length, "member");
  return el("details.compact", el("summary", what), el("pre.json", el("code", pretty(one, "", 60))));
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The day of a time, with a year of four digits, and the time of the day, as people write them. */
export function day(ms) {
  const [year, month, date] = new Date(ms).toISOString().split("T")[0].split(/(?<=\d)-/);
  return `${Number(date)} ${MONTHS[Number(month) - 1]} ${year}`;
}
export function clock(ms) {
  const [time, rest] = new Date(ms).toISOString().split("T")[1].split(".");
  const fraction = rest.slice(0, 3);
  return fraction === "000" ? time.replace(/:00$/, "") : `${time}.${fraction}`;
}

/** A time as people read it, with how far it is from now. */
export function moment(text) {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return scalar(text);
  return el("span.moment", el("time", { datetime: text, title: `${text} · here ${new Date(ms).toLocaleString()}` }, `${day(ms)}, ${clock(Math.floor(ms / 1000) * 1000)} UTC`), " ", el("span.muted.small", distance(ms - Date.now())));
}

const UNITS = [["year", 31_557_600_000], ["month", 2_629_800_000], ["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000], ["second", 1000]];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

function distance(ms) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ms) >= size) ?? UNITS.at(-1);
  return RELATIVE.format(Math.trunc(ms / size), unit);
}

/** A length of time: `2 h 30 min`. */
export function span(ms) {
  const parts = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000], ["ms", 1]];
  const said = [];
  let rest = Math.abs(ms);
  for (const [name, size] of parts) {
    if (rest >= size && said.length < 2) said.push(`${Math.floor(rest / size)} ${name}`);
    else if (said.length) break;
    rest %= size;
  }
  return said.join(" ") || "0 s";
}
