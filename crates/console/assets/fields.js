// Fields of a form: reads them as JSON, fills them with values, says what is wrong with them.
// Values are kept as JSON text, so that a number of 38 digits is sent as it was typed.
import { plural } from "./show.js";

/** A number that a script cannot hold: as it is written. */
export class Exact {
  constructor(source) { this.source = source; }
  toString() { return this.source; }
}

/** Reads JSON; numbers that would lose digits stay as they are written, where the browser tells how that is. */
export function parse(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source && String(value) !== context.source ? new Exact(context.source) : value);
}

/** Writes a value that `parse` has read, or a text. */
export function write(value, indent = "", step = "") {
  if (value instanceof Exact) return value.source;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const inner = indent + step, gap = step ? `\n${inner}` : "", end = step ? `\n${indent}` : "", comma = step ? "," : ", ";
  const wrap = (parts, open, close) => (parts.length ? `${open}${gap}${parts.join(`${comma}${gap}`)}${end}${close}` : `${open}${close}`);
  if (Array.isArray(value)) return wrap(value.map((one) => write(one, inner, step)), "[", "]");
  return wrap(Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${write(one, inner, step)}`), "{", "}");
}

/** JSON for people: what fits in a line is in one. */
export function pretty(value, indent = "", width = 96) {
  const line = write(value);
  if (line.length + indent.length <= width || value === null || typeof value !== "object" || value instanceof Exact) return line;
  const inner = `${indent}  `;
  const [open, close, parts] = Array.isArray(value)
    ? ["[", "]", value.map((one) => pretty(one, inner, width))]
    : ["{", "}", Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pretty(one, inner, width)}`)];
  return `${open}\n${parts.map((part) => inner + part).join(",\n")}\n${indent}${close}`;
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

const own = (field, selector) => [...field.querySelectorAll(selector)].find((one) => one.closest(".field") === field) ?? null;
export const control = (field) => own(field, "[data-control]");
const pressed = (field) => own(field, '[data-set][aria-pressed="true"]')?.dataset.set;
const rows = (field) => own(field, ".rows");
const members = (field) => [...own(field, ".members").children];
const elements = (field) => [...rows(field).children].map((row) => row.querySelector(".field"));

/** What a field gives as JSON text; nothing where it is left out. */
export function read(field) {
  const set = pressed(field);
  if (set) return set === "null" ? "null" : field.dataset.read === "list" ? "[]" : '""';
  switch (field.dataset.read) {
    case "record": {
      const given = members(field).map((one) => [one.dataset.field, read(one)]).filter(([, value]) => value !== undefined);
      const must = "required" in field.dataset;
      return given.length || must ? object(given) : undefined;
    }
    case "list": {
      const all = elements(field).map((one) => read(one) ?? (one.dataset.read === "text" ? '""' : "null"));
      return all.length || "required" in field.dataset ? `[${all.join(", ")}]` : undefined;
    }
    case "text": { const { value } = control(field); return value === "" ? undefined : JSON.stringify(value); }
    default: {
      const value = control(field).value.trim();
      if (value === "") return undefined;
      if (field.dataset.read === "json") { try { return write(parse(value)); } catch { return JSON.stringify(value); } }
      return value === "true" || value === "false" || NUMBER.test(value) ? value : JSON.stringify(value);
    }
  }
}

/** An object of names and JSON texts. */
export const object = (pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")}}`;

/** What a field gives as plain text, for a path, a query string or a key. */
export function plain(field) {
  const text = read(field);
  if (text === undefined) return undefined;
  return text.startsWith('"') ? JSON.parse(text) : text;
}

/** Fills a field; `undefined` empties it. */
export function fill(field, value) {
  press(field, null);
  const gone = value === undefined;
  switch (field.dataset.read) {
    case "record": {
      if (value === null) press(field, "null");
      const object = value !== null && typeof value === "object" ? value : {};
      for (const one of members(field)) fill(one, Object.hasOwn(object, one.dataset.field) ? object[one.dataset.field] : undefined);
      break;
    }
    case "list": {
      rows(field).replaceChildren();
      if (value === null) press(field, "null");
      if (Array.isArray(value) && !value.length) press(field, "empty");
      if (Array.isArray(value)) for (const one of value) fill(add(field).querySelector(".field"), one);
      ration(field);
      break;
    }
    default: {
      const into = control(field);
      if (gone || value === null || value === "") into.value = "";
      else if (field.dataset.read === "json" && typeof value === "object") into.value = pretty(value, "", 60);
      else into.value = typeof value === "object" && !(value instanceof Exact) ? write(value) : String(value);
      if (value === null) press(field, "null");
      if (value === "") press(field, "empty");
    }
  }
  say(field, "");
}

/** Presses one of a field's buttons that set what cannot be typed, or none of them. */
export function press(field, set) {
  for (const button of field.querySelectorAll("[data-set]")) {
    if (button.closest(".field") === field) button.setAttribute("aria-pressed", String(button.dataset.set === set));
  }
  const active = pressed(field);
  const into = control(field);
  if (into) {
    into.disabled = Boolean(active);
    into.dataset.hint ??= into.placeholder ?? "";
    into.placeholder = active === "null" ? "null" : active === "empty" ? "the empty text" : into.dataset.hint;
  } else {
    own(field, "[data-group]").classList.toggle("off", Boolean(active));
  }
}

let made = 0;

/** Adds an empty row to a list. */
export function add(field) {
  const row = own(field, "template").content.firstElementChild.cloneNode(true);
  made += 1;
  for (const one of [row, ...row.querySelectorAll("[id], [for], [aria-describedby]")]) {
    for (const name of ["id", "for", "aria-describedby"]) {
      if (one.hasAttribute(name)) one.setAttribute(name, `${one.getAttribute(name)}-${made}`);
    }
  }
  rows(field).append(row);
  ration(field);
  return row;
}

/** A full list takes no more. */
export function ration(field) {
  own(field, "[data-add]").disabled = elements(field).length >= Number(own(field, "[data-group]").dataset.most);
}

/** Says something about a field, or nothing. */
export function say(field, text) {
  const into = control(field);
  if (into) { if (text) into.setAttribute("aria-invalid", "true"); else into.removeAttribute("aria-invalid"); }
  field.classList.toggle("wrong", Boolean(text));
  own(field, ".say").textContent = text;
}

/** The field that a JSON pointer leads to, as far as there are fields. */
export function at(fields, pointer) {
  const parts = pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  let found = fields.find((field) => field.dataset.field === parts[0]), rest = parts.slice(1);
  while (found && rest.length) {
    const kind = found.dataset.read;
    const next = kind === "list" ? elements(found)[Number(rest[0])] : kind === "record" ? members(found).find((one) => one.dataset.field === rest[0]) : null;
    if (!next) break;
    [found, rest] = [next, rest.slice(1)];
  }
  return found ? { field: found, rest } : null;
}

const bytes = (text) => new TextEncoder().encode(text).length;

/** What is wrong with what was typed, as far as the page can tell; the server decides. */
export function hint(field) {
  const value = control(field)?.value ?? "";
  if (value === "" || pressed(field)) return "";
  const { type, max, like, pattern, low, high } = field.dataset;
  switch (type) {
    case "id": return /^[A-Za-z0-9._:@|-]{1,128}$/.test(value) ? "" : "an id has 1 to 128 of A-Z a-z 0-9 . _ : @ | -";
    case "ulid": return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(value) ? "" : "a ULID has 26 of 0-9 A-Z without I L O U";
    case "text": {
      if (max && bytes(value) > Number(max)) return `it has ${plural(bytes(value), "byte")}; at most ${max}`;
      return matches(pattern, value) ? "" : `must be like ${like}`;
    }
    case "int": case "number": {
      if (!NUMBER.test(value.trim()) || (type === "int" && !/^-?\d+$/.test(value.trim()))) return type === "int" ? "a whole number" : "a number";
      // Bounds of few digits are compared; others are for the server.
      const number = Number(value), least = Number(low), most = Number(high);
      if (low && Number.isSafeInteger(Math.trunc(least)) && number < least) return `at least ${low}`;
      if (high && Number.isSafeInteger(Math.trunc(most)) && number > most) return `at most ${high}`;
      return "";
    }
    case "time": return isTime(value) ? "" : "a time such as 2026-02-25T10:00:00Z, with Z or an offset, of the years 0000 to 9999";
    case "date": return isDay(value) ? "" : "a date such as 2026-02-25, of the years 0000 to 9999";
    case "list": case "map": {
      try { const read = JSON.parse(value); return Array.isArray(read) === (type === "list") && typeof read === "object" && read ? "" : type === "list" ? "a JSON list" : "a JSON object"; }
      catch (error) { return `not JSON: ${error.message}`; }
    }
    default: return "";
  }
}

/** Whether a text is a day that there is. A day too many would be one of the next month. */
function isDay(text) {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** Whether a text is a time. That of a leap second is one, and no script reads it. */
function isTime(text) {
  const found = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.exec(text);
  return found !== null && isDay(found[1]) && !Number.isNaN(Date.parse(`${found[1]}T${found[2]}:${found[3] === "60" ? "59" : found[3]}${found[5].toUpperCase()}`));
}

function matches(pattern, value) {
  if (!pattern) return true;
  try { return new RegExp(pattern, "u").test(value); } catch { return true; }
}

/** A value in the form that a key has it in. */
export function formed(field, form) {
  let value = plain(field);
  if (value === undefined) return undefined;
  if (field.dataset.type === "time") {
    const time = new Date(value);
    if (!Number.isNaN(time.getTime())) value = time.toISOString();
  }
  return form ? shaped(value, form) : value;
}

/** A text in a form of a key. */
export function shaped(value, form) {
  const part = { year: 4, month: 7, day: 10, hour: 13 }[form];
  if (part) return value.slice(0, part);
  if (form === "lower") return value.replace(/[A-Z]/g, (c) => c.toLowerCase());
  if (form === "upper") return value.replace(/[a-z]/g, (c) => c.toUpperCase());
  if (!/^\d+$/.test(value)) return value;
  const width = Number(form.replace("-", ""));
  return form.startsWith("-") ? String(10n ** BigInt(width) - 1n - BigInt(value)).padStart(width, "0") : value.padStart(width, "0");
}
