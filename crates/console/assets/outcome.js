// Shows what came of a call: the answer in a view, a problem in words, the requests and what they cost.
import { el, slide } from "./show.js";
import { parse, pretty } from "./fields.js";
import { card, isObject } from "./items.js";

const MEANINGS = {
  200: "Done", 201: "Created", 202: "Accepted; the work goes on", 204: "Done, and there is nothing to show", 304: "Not changed since",
  400: "The request is wrong", 401: "The token is not accepted", 403: "Not allowed", 404: "Not found", 405: "Not by this method", 409: "In conflict with what is stored",
  412: "Changed since it was read", 413: "Too large", 415: "Not JSON", 422: "Not usable", 429: "Too many calls", 500: "A bug of the server", 503: "Not now; try again",
};

/** Whether an answer is a problem. */
const isProblem = (called) => called.status >= 400;

export const bodyOf = (called) => { try { return called.body ? parse(called.body) : null; } catch { return undefined; } };

/** All of an outcome. `page` knows the contract and leads on; `viewer` shows an answer in one of its views. */
export function outcome(called, page, viewer) {
  const body = bodyOf(called);
  const kind = called.status < 300 ? "good" : called.status < 400 ? "warn" : "bad";
  const head = el("p.outcome-head", el(`span.status.pill.${kind}`, called.status), el("strong", MEANINGS[called.status] ?? ""),
    el("span.grow"), el("span.muted.small", time(called.micros)));
  const parts = [head];
  if (isProblem(called) && body && typeof body === "object") parts.push(...problem(called, body));
  else if (body === undefined) parts.push(el("pre.json", el("code", called.body)));
  else if (body !== null) parts.push(viewer.show(body));
  parts.push(leads(called, body, page), named(called, page));
  // Every view can be changed for the JSON.
  const raw = called.body && isProblem(called) ? el("details.raw", el("summary", "Raw JSON"), el("pre.json", el("code", body === undefined ? called.body : pretty(body)))) : null;
  parts.push(requests(called, page), el("div.extras", raw, headers(called)));
  return parts.filter(Boolean);
}

const time = (micros) => (micros < 1000 ? `${micros} µs` : `${(micros / 1000).toFixed(micros < 10000 ? 2 : 1)} ms`);

/** A problem as a person reads it. */
function problem(called, body) {
  const parts = [el("div.note.bad.problem", { role: "alert" }, el("strong", String(body.title ?? "Refused")), " ", el("code", String(body.code ?? "")),
    el("p", sentence(String(body.detail ?? ""))))];
  // The detail tells of one field by itself.
  if (Array.isArray(body.errors) && body.errors.length > 1) {
    parts.push(el("ul.errors", body.errors.map((error) => el("li", el("code", String(error.pointer)), " ", String(error.detail)))));
  }
  const told = ["type", "title", "status", "detail", "code", "contract", "errors"];
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !told.includes(name)));
  if (Object.keys(rest).length) parts.push(card(rest, null));
  if (called.statement) {
    parts.push(el("div.statement", el("p.muted.small", "Answered by ", el("a", { href: `#L${called.statement.line}` }, `line ${called.statement.line}`), " of the document:"),
      el("pre.json", el("code", dedent(called.statement.text)))));
  }
  return parts;
}

const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "");

function dedent(text) {
  const lines = text.split("\n");
  const depth = Math.min(...lines.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length));
  return lines.map((line) => line.slice(Number.isFinite(depth) ? depth : 0)).join("\n");
}

/** Where one can go from here: the next page, and other contracts for the item. */
function leads(called, body, page) {
  const buttons = [];
  if (isObject(body) && typeof body.nextCursor === "string") buttons.push(el("button", { type: "button", "data-next": body.nextCursor }, "Next page"));
  if (page.hasCursor()) buttons.unshift(el("button", { type: "button", "data-first": true }, "First page"), page.hasPrevious() ? el("button", { type: "button", "data-previous": true }, "Previous page") : "");
  const others = isObject(body) && !isProblem(called) ? page.leadsOf(body) : [];
  const links = others.map((to) => el("a.lead", { href: to.href }, el(`span.method.m-${to.method.toLowerCase()}`, to.method), to.title));
  if (!buttons.length && !links.length) return null;
  return el("div.extras", buttons.length ? el("div.buttons", buttons.filter(Boolean)) : null,
    links.length ? el("details.leads", el("summary", `Go on with this item (${links.length})`), el("div.leads-list", links)) : null);
}

/** The headers that tell a version and a place. */
function named(called, page) {
  const { etag, location: place } = called.headers;
  const lead = place ? page.leadOfPath(place) : null;
  const all = [etag && ["ETag", el("code", etag)], place && ["Location", lead ? el("a", { href: lead.href }, place) : el("code", place)]].filter(Boolean);
  return all.length ? el("dl.item", all.map(([name, one]) => el("div", el("dt", name), el("dd", one)))) : null;
}

const headers = (called) => el("details.raw", el("summary", "Headers"),
  el("dl.item.headers", Object.entries(called.headers).map(([name, one]) => el("div", el("dt", name), el("dd", el("code", one))))));

/** The keys that a request has, each as a line. */
function asked(json, names) {
  let body;
  try { body = JSON.parse(json); } catch { return []; }
  const text = (typed) => { const [one] = Object.values(typed ?? {}); return typeof one === "string" ? one : JSON.stringify(one); };
  const key = (item) => names.filter((name) => item[name]).map((name) => text(item[name])).join("  ");
  if (body.KeyConditionExpression) {
    const put = (word) => (body.ExpressionAttributeNames ?? {})[word] ?? text((body.ExpressionAttributeValues ?? {})[word]) ?? word;
    return [(body.IndexName ? `${body.IndexName}: ` : "") + body.KeyConditionExpression.replace(/[#:][A-Za-z]\w*/g, put)];
  }
  if (body.Key ?? body.Item) return [key(body.Key ?? body.Item)];
  if (body.RequestItems) return Object.values(body.RequestItems).flatMap((table) => (table.Keys ?? []).map(key));
  return (body.TransactItems ?? []).flatMap((leg) => Object.entries(leg).map(([name, one]) => `${name}  ${key(one.Key ?? one.Item ?? {})}`));
}

const units = (text) => {
  const found = /rcu=([\d.]+), wcu=([\d.]+)/.exec(text);
  return found ? { rcu: Number(found[1]), wcu: Number(found[2]) } : { rcu: 0, wcu: 0 };
};

/** The requests to the table, and what was metered beside what was declared. */
function requests(called, page) {
  const row = (one, index) => {
    const cost = units(one.capacity);
    return el("tr", el("td.num.muted", String(index + 1)),
      el("td", el("details.compact", el("summary", el("strong.operation", one.operation)), el("pre.json", el("code", one.json))),
        asked(one.json, page.known.keys).map((line) => el("span.asked", line))),
      el("td", one.outcome), el("td.num", String(cost.rcu)), el("td.num", String(cost.wcu)));
  };
  const sum = units(called.capacity), { cost } = page.known;
  const over = cost && (sum.rcu > Number(cost.rcu) || sum.wcu > Number(cost.wcu));
  const foot = [el("tr.sum", el("td"), el("td", { colspan: "2" }, "Metered"), el("td.num", el("strong", String(sum.rcu))), el("td.num", el("strong", String(sum.wcu))))];
  if (cost) foot.push(el("tr.sum", el("td"), el("td", { colspan: "2" }, "Declared ", over ? el("span.pill.warn", "more was metered") : el("span.pill.good", "within")), el("td.num", cost.rcu), el("td.num", cost.wcu)));
  else foot.push(el("tr.sum", el("td"), el("td.muted", { colspan: "4" }, "No cost is declared.")));
  return el("div.costs", el("h3", "Requests to the table"),
    called.requests === null ? el("p.muted.small", `${sum.rcu} RCU and ${sum.wcu} WCU in all. What was asked of the table, and which statement answered, is shown to admins.`)
      : !called.requests.length ? el("p.muted.small", "Nothing was asked of the table.") : slide("Requests to the table", el("table", el("thead", el("tr", ["#", "Request", "Outcome"].map((text) => el("th", { scope: "col" }, text)), ["RCU", "WCU"].map((text) => el("th.num", { scope: "col" }, text)))),
      el("tbody", called.requests.map(row)), el("tfoot", foot))));
}

/** The request as a shell command, at the address of the contracts. */
export function curl(request, origin) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [`curl -X ${request.method} ${quoted(origin + request.path)}`, '-H "authorization: Bearer $TOKEN"'];
  for (const [name, value] of Object.entries(request.headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (request.body !== undefined) lines.push("-H 'content-type: application/json'", `-d ${quoted(request.body)}`);
  return lines.join(" \\\n  ");
}

/** A value without the texts that an example takes for names, `$x`: a member is left out, and a list with such a text too. */
function sayable(value) {
  if (typeof value === "string") return value.startsWith("$") ? undefined : value;
  if (Array.isArray(value)) {
    const all = value.map(sayable);
    return all.includes(undefined) ? undefined : all;
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, sayable(member)]).filter(([, member]) => member !== undefined));
}

/** A body without its secrets: an example is for a document, which others read. */
function masked(text, secrets) {
  if (!secrets.length) return text;
  try { return JSON.stringify(Object.fromEntries(Object.entries(parse(text)).map(([name, value]) => [name, secrets.includes(name) ? "SECRET" : value]))); } catch { return text; }
}

/** The request and its answer as an `example` block. */
export function example(request, called, who, secrets = []) {
  const words = [`as ${who.sub}`, ...who.roles.map((role) => `role ${role}`), ...who.orgs.map((org) => `org ${org}`)];
  const sent = Object.entries(request.headers).map(([name, value]) => ` ${name.replace(/(^|-)[a-z]/g, (c) => c.toUpperCase())}: ${value}`).join("");
  const json = (text) => { try { return ` ${pretty(parse(text))}`; } catch { return ""; } };
  const body = bodyOf(called);
  const path = request.path.replace(/([?&]nextCursor=)[^&]+/, "$1$$cursor");
  // A cursor is another one each time; problems are known by their code.
  const expected = isProblem(called) && isObject(body) ? { code: body.code, ...(body.errors ? { errors: body.errors.map(({ pointer }) => ({ pointer })) } : {}) }
    : isObject(body) && typeof body.nextCursor === "string" ? { ...sayable(body), nextCursor: "$next" } : sayable(body);
  const answer = expected === null || expected === undefined ? "" : ` ${pretty(expected)}`;
  return `\`\`\`example\n${words.join(" ")}\n${request.method} ${path}${sent}${request.body === undefined ? "" : json(masked(request.body, secrets))}\n${called.status}${answer}\n\`\`\`\n`;
}

