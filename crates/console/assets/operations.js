// The page of traffic and queues: asks for the counters every two seconds, and for the charts, which the server keeps.
import { ask, el, plural } from "./show.js";
import { draw, duration, figure, rate, spark, within } from "./spark.js";

const EVERY_MS = 2000, CHARTS_MS = 5000;
const one = (name) => document.querySelector(`[data-${name}]`);
const rows = new Map();
let letters = [], unlisted = false, sent = null, minute = null;

/** The row of a contract, made when it is first called. */
function row(contract) {
  const key = `${contract.system} ${contract.id}`;
  if (!rows.has(key)) {
    const labels = { calls: "calls/s", p50: "p50", p99: "p99", refused: "refused", failed: "failed", rcu: "RCU a call", wcu: "WCU a call" };
    const cells = Object.fromEntries(Object.entries(labels).map(([name, label]) => [name, el("td.num", { "data-label": label })]));
    for (const name of ["calls", "p50", "p99"]) cells[name].textContent = "–";
    const picture = spark();
    const more = el("tr.closely", { id: `closely-${rows.size}`, hidden: "" }, el("td", { colspan: 9 }));
    const open = el("button.opens", { type: "button", "aria-expanded": "false", "aria-controls": more.id, "aria-label": `Charts of ${contract.id}` }, "▸");
    const head = el("td.whole", open, " ", el("a", { href: contract.to }, contract.id), " ", el("span.muted.small", contract.system));
    const tr = el("tr", head, cells.calls, el("td.whole.chart", picture), cells.p50, cells.p99, cells.refused, cells.failed, cells.rcu, cells.wcu);
    one("contracts").tBodies[0].append(tr, more);
    rows.set(key, { cells, picture, more, declared: contract.declared });
    open.addEventListener("click", () => {
      more.hidden = !more.hidden;
      open.setAttribute("aria-expanded", String(!more.hidden));
      open.textContent = more.hidden ? "▸" : "▾";
      if (!more.hidden) chart();
    });
  }
  return rows.get(key);
}

/** The charts of one contract: calls and failures a second, latencies, and units a call next to what is declared. */
function closely(own, contract) {
  const { lately, closely: seen } = contract;
  const ms = (values) => values.map((us) => (us === null ? null : us / 1000));
  const units = (name, values, declared) => figure(name, [{ name: "metered", values, mark: "first" }, ...(declared ? [{ name: "declared", values: values.map(() => Number(declared)), mark: "limit" }] : [])], (value) => String(+value.toFixed(2)));
  own.more.firstChild.replaceChildren(el("div.figures",
    figure("Calls a second", [{ name: "calls", values: lately.calls, mark: "first" }, { name: "failed", values: lately.failed.map((value) => value || null), mark: "bad" }], rate),
    figure("Latency", [{ name: "p50", values: ms(seen.p50), mark: "first" }, { name: "p99", values: ms(seen.p99), mark: "second" }], duration),
    units("RCU a call", seen.rcu, own.declared?.rcu), units("WCU a call", seen.wcu, own.declared?.wcu)));
}

/** A metered mean next to what is declared; marked where it is more. */
function metered(cell, mean, declared) {
  const text = mean === null ? "–" : String(+mean.toFixed(2));
  cell.replaceChildren(text, declared ? el("span.muted.small", ` of ${declared}`) : "");
  cell.classList.toggle("over", Boolean(declared) && mean !== null && mean > Number(declared));
}

function show(now) {
  const called = now.contracts.filter((contract) => contract.calls > 0);
  one("quiet").hidden = called.length > 0;
  let failed = 0;
  for (const contract of called) {
    const { cells } = row(contract);
    failed += contract.failed;
    cells.refused.textContent = contract.refused.toLocaleString("en");
    cells.failed.textContent = contract.failed.toLocaleString("en");
    cells.failed.classList.toggle("over", contract.failed > 0);
    metered(cells.rcu, contract.readHalves / 2 / contract.calls, contract.declared?.rcu);
    metered(cells.wcu, contract.writeUnits / contract.calls, contract.declared?.wcu);
  }
  const calls = now.contracts.reduce((sum, contract) => sum + contract.calls, 0);
  const tile = (label, value, bad) => el(bad ? "div.tile.bad" : "div.tile", el("span.label", label), el("strong", value));
  one("tiles").replaceChildren(
    tile("calls a second", minute ? rate(minute.perSecond) : "–"), tile("calls", calls.toLocaleString("en")), tile("failed", failed.toLocaleString("en"), failed > 0),
    tile("being answered", String(now.inFlight)), tile("up for", duration(now.uptimeMs)));
  const most = Math.max(1, ...now.hot.map((hot) => hot.seen));
  one("hot").replaceChildren(...(now.hot.length ? now.hot.map((hot) => {
    const bar = el("meter", { min: 0, max: most, value: hot.seen, "aria-label": `seen ${plural(hot.seen, "time")}` });
    const name = el("code", hot.partition);
    return el("li", hot.to ? el("a", { href: hot.to }, name) : name, hot.index ? el("span.pill", hot.index) : "", bar);
  }) : [el("li.muted", "None yet.")]));
  queues(now.queues);
}

function queues(all) {
  const body = one("queues").tBodies[0];
  body.replaceChildren(...(all.length ? all.map((queue) => {
    const name = el("td.whole", `${queue.system}/${queue.queue}`, queue.error ? el("p.note.bad", queue.error) : "");
    if (queue.visible === undefined) return el("tr", name);
    const dead = queue.dead !== "0";
    const number = (label, value, kind = "td.num") => el(kind, { "data-label": label }, value);
    return el("tr", name, number("waiting", queue.visible), number("oldest", queue.oldestMs === null ? "–" : duration(queue.oldestMs)),
      number("held", queue.inFlight), number("later", queue.delayed), number("given up", queue.dead, dead ? "td.num.over" : "td.num"));
  }) : [el("tr", el("td.muted.whole", { colspan: 6 }, "No document has a queue."))]));
  letters = all.flatMap((queue) => (queue.letters ?? []).map((letter) => ({ ...letter, system: queue.system, queue: queue.queue })));
  // Of a queue with many, the server lists some.
  unlisted = all.some((queue) => queue.letters && (queue.dead.endsWith("+") || Number(queue.dead.replaceAll(",", "")) > queue.letters.length));
  one("letters").hidden = letters.length === 0 && !sent && !one("redriven").textContent;
  list();
}

const textOf = (letter) => [letter.system, letter.queue, letter.id, letter.body, letter.failure?.class, letter.failure?.code, letter.failure?.message].join(" ").toLowerCase();

function matching() {
  const words = one("letter-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  return letters.filter((letter) => words.every((word) => textOf(letter).includes(word)));
}

function list() {
  const found = matching();
  one("redrive-shown").disabled = found.length === 0;
  one("letter-count").textContent = counted(found.length);
  // It is read aloud when it changes.
  const now = sent ? told(sent) : one("redriven").textContent;
  if (one("redriven").textContent !== now) one("redriven").textContent = now;
  one("letter-none").hidden = found.length > 0;
  one("letter-none-text").textContent = letters.length ? `${plural(letters.length, "message")} ${letters.length === 1 ? "is" : "are"} listed as given up; the filter shows none of them.` : "No message is given up now.";
  one("letter-all").hidden = letters.length === 0;
  // The list is made anew only where it differs, so that a button does not move while it is pressed.
  const key = JSON.stringify(found);
  if (one("letter-list").dataset.key === key) return;
  one("letter-list").dataset.key = key;
  one("letter-list").replaceChildren(...found.map((letter) => {
    const button = el("button", { type: "button" }, "Send again");
    button.addEventListener("click", () => redrive([letter]));
    const why = letter.failure ? `${letter.failure.code}: ${letter.failure.message}` : "no reason was kept";
    return el("li", el("div.letter-head", el("strong", `${letter.system}/${letter.queue}`), el("code", letter.id), el("span.muted.small", `given up ${letter.at ?? ""} after ${plural(letter.tries, "try", "tries")}`), button),
      el("p.bad-text", why), el("pre", letter.body));
  }));
}

/** How many are shown of those that are listed. */
function counted(shown) {
  if (!letters.length) return "";
  const more = unlisted ? " There are more than are listed here." : "";
  return (shown === letters.length ? `${plural(shown, "message")}.` : `${shown} of ${plural(letters.length, "message")} shown.`) + more;
}

/** What became of messages that were to be sent again, and what is left now. */
function told({ count, ids }) {
  const said = `${plural(count, "message")} ${count === 1 ? "was" : "were"} sent again`;
  const gone = count < ids.size ? ` of ${ids.size}; the others were no longer there` : "";
  const back = letters.filter((letter) => ids.has(letter.id)).length;
  const again = back ? ` ${back === 1 ? "1 was" : `${back} were`} given up again.` : "";
  const left = letters.length, hidden = left - matching().length;
  const rest = left === 0 ? "None that was given up is left." : `${unlisted ? "At least " : ""}${left} given up ${left === 1 ? "is" : "are"} left${hidden === 0 ? "" : hidden === left ? ", which the filter hides" : `, ${hidden} of which the filter hides`}.`;
  return `${said}${gone}.${again} ${rest}`;
}

async function redrive(chosen) {
  const status = one("redriven");
  one("redrive-shown").disabled = true;
  try {
    let count = 0;
    const places = new Map();
    for (const letter of chosen) {
      const key = `${letter.system}/${letter.queue}`;
      if (!places.has(key)) places.set(key, { system: letter.system, queue: letter.queue, ids: [] });
      places.get(key).ids.push(letter.id);
    }
    for (const place of places.values()) count += (await ask("/console/redrive", place)).count;
    sent = { count, ids: new Set(chosen.map((letter) => letter.id)) };
  } catch (error) { sent = null; status.textContent = error.message; }
  await look();
}

one("letter-filter").addEventListener("input", list);
one("letter-all").addEventListener("click", () => { one("letter-filter").value = ""; list(); one("letter-filter").focus(); });
one("redrive-shown").addEventListener("click", () => redrive(matching()));

async function look() {
  try { show(await ask("/console/figures.json")); } catch (error) {
    one("tiles").replaceChildren(el("p.note.bad", { role: "alert" }, `The server does not answer: ${error.message}`));
  }
}

/** Draws the charts of the contracts that have a row. */
async function chart() {
  let lately;
  // What fails is told where the figures are.
  const opened = [...rows].filter(([, own]) => !own.more.hidden).map(([key]) => `closely=${encodeURIComponent(key)}`);
  try { lately = await ask(`/console/traffic.json?${opened.slice(0, 20).join("&")}`); } catch { return; }
  minute = lately.minute;
  for (const { system, contracts } of lately.systems) {
    for (const contract of contracts) {
      const own = rows.get(`${system} ${contract.id}`);
      if (!own) continue;
      draw(own.picture, contract.lately);
      own.cells.calls.textContent = rate(contract.lately.minute.perSecond);
      own.cells.p50.textContent = within(contract.lately.minute.p50);
      own.cells.p99.textContent = within(contract.lately.minute.p99);
      if (contract.closely) closely(own, contract);
    }
  }
}

async function watch(act, every) {
  if (!document.hidden) await act();
  setTimeout(() => watch(act, every), every);
}
await look();
watch(look, EVERY_MS);
watch(chart, CHARTS_MS);
