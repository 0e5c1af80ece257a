// The views of answers in a real browser: timelines, tallies that move, cards; the traffic on the first page, the charts of
// operations, the prose of a contract, and where a copied call leads. By keyboard, narrow and wide, dark and light.
// Usage: views.mjs LATCHKEY BROWSER DIRECTORY [SCREENSHOTS]
import assert from "node:assert/strict";
import { join } from "node:path";
import { call, launch, look, open, serve, visit as visitWith, wrong } from "./world.mjs";

const browser = await launch();
const shop = await serve("views");
const other = await serve("journeys", join(import.meta.dirname, "journeys.md"));
const apart = await serve("apart", "--admin-listen", "127.0.0.1:0");
const visit = (...rest) => visitWith(browser, ...rest);

const shown = ({ page }) => page.locator(".view-body").getAttribute("data-shown");
const choice = ({ page }, name) => page.getByRole("group", { name: "Show as" }).getByRole("button", { name });

/** Calls a contract through the console, without its page. */
const post = ({ page }, method, path, body) => page.evaluate(async (asked) => (await fetch("/console/call", {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(asked),
})).json(), { method, path, headers: {}, ...(body ? { body: JSON.stringify(body) } : {}) });

/** A locker with a few reservations and events, an event with requests. */
async function fill(dev) {
  assert.equal((await post(dev, "POST", "/lockers", { lockerId: "L1", ownerId: "alice", lockerAlias: "<b>front</b> door\u202e" })).status, 201);
  const from = Math.ceil(Date.now() / 3_600_000) * 3_600_000;
  const at = (hours) => new Date(from + hours * 3_600_000).toISOString();
  for (const [id, owner, start, end] of [["R1", "alice", 0, 2], ["R2", "bob", 3, 7], ["R3", "alice", 9, 10], ["R4", "carol", 26, 30]]) {
    const made = await post(dev, "POST", "/lockers/L1/reservations", { reservationId: id, ownerId: owner, startAt: at(start), endAt: at(end) });
    assert.equal(made.status, 201, made.body);
  }
  for (const [id, minutes, action, result] of [["A1", 0, "OPEN", "SUCCESS"], ["A2", 4, "CLOSE", "SUCCESS"], ["A3", 190, "DENIED", "FAIL"]]) {
    const timestamp = new Date(Date.UTC(2026, 1, 24, 9, 0) + minutes * 60_000).toISOString();
    const made = await post(dev, "POST", "/lockers/L1/events", { eventId: id, timestamp, action, actorId: "alice", result });
    assert.ok(made.status < 300, made.body);
  }
  assert.equal((await post(dev, "POST", "/admin/events", { eventId: "E1", title: "Concert", mode: "FIRST_COME", capacity: 5 })).status, 201);
  return { from: new Date(from - 3_600_000).toISOString(), until: at(100) };
}

try {
  const dev = await visit(shop, /^dev/);
  const { from, until } = await fill(dev);

  // Reservations have a beginning and an end: bars, at first.
  await open(dev, "QC-05");
  // The prose above the contract is rendered, not shown as it is written.
  await dev.page.locator(".about .prose code", { hasText: "RES#ACTIVE" }).waitFor();
  assert.equal((await call(dev, { lockerId: "L1", startISO: from, endISO: until })).status, 200);
  assert.equal(await shown(dev), "timeline");
  assert.equal(await dev.page.locator(".stretch").count(), 4);
  const bars = await dev.page.locator(".bar-span").evaluateAll((all) => all.map((bar) => { const { left, width } = bar.getBoundingClientRect(); return { left, width }; }));
  for (let at = 1; at < bars.length; at += 1) assert.ok(bars[at].left > bars[at - 1].left, JSON.stringify(bars));
  assert.ok(bars[1].width > bars[0].width, "four hours are longer than two");
  await look(dev, "timeline");

  // The others, by keyboard alone.
  await choice(dev, "Timeline").focus();
  for (const [name, selector] of [["tally", ".tally"], ["table", "table.items"], ["card", ".cards li"], ["json", "pre.json"]]) {
    await dev.page.keyboard.press("ArrowRight");
    await dev.page.keyboard.press("Enter");
    await dev.page.locator(`.view-body[data-shown="${name}"] ${selector}`).first().waitFor();
  }
  assert.equal(await choice(dev, "JSON").getAttribute("aria-pressed"), "true");
  // What was chosen stays chosen.
  await call(dev, {});
  assert.equal(await shown(dev), "json");

  // Events are points in time, with the time between them.
  const events = await dev.page.evaluate(async () => (await (await fetch("/console/find.json")).json()).find((one) => one.more === "/lockers/{lockerId}/events" && one.kind === "GET")?.name);
  await open(dev, events);
  const window = { lockerId: "L1", startISO: "2026-02-24T00:00:00Z", endISO: "2026-02-25T00:00:00Z" };
  const fields = await dev.page.locator(".field[data-place]").evaluateAll((all) => all.map((field) => field.dataset.field));
  const answered = await call(dev, Object.fromEntries(Object.entries(window).filter(([name]) => fields.includes(name))));
  assert.equal(answered.status, 200, answered.body);
  assert.equal(await shown(dev), "timeline");
  assert.equal(await dev.page.locator(".point").count(), 3);
  await dev.page.locator(".point", { hasText: "4 min" }).waitFor();
  await look(dev, "events");

  // The partition of the table, too, in the order of time.
  await dev.page.goto(`${shop.pages}/console/systems/smartlocker/table?partition=LOCKER%23L1`);
  await choice(dev, "Timeline").click();
  const order = await dev.page.locator(".as-timeline .item[data-at]").evaluateAll((all) => all.map((item) => Date.parse(item.dataset.at)));
  assert.ok(order.length >= 7, String(order));
  assert.deepEqual(order, [...order].sort((a, b) => a - b));
  await dev.page.locator(".at", { hasText: "24 Feb 2026, 09:04 UTC" }).waitFor();
  await look(dev, "table-timeline");

  // One item is a card: its times are readable, and what is stored is text.
  await open(dev, "QC-01");
  await call(dev, { lockerId: "L1" });
  assert.equal(await shown(dev), "card");
  assert.match(await dev.page.locator(".view-body .moment time").first().innerText(), /^\d{1,2} \w{3} \d{4}, \d\d:\d\d.* UTC$/);
  assert.equal(await dev.page.locator(".view-body b").count(), 0);
  await dev.page.locator(".view-body dd", { hasText: "<b>front</b> door\ufffd" }).waitFor();
  await look(dev, "card");

  // A tally moves while it is watched, and says by how much.
  await open(dev, "AD-06");
  assert.equal((await call(dev, { eventId: "E1" })).status, 200);
  assert.equal(await shown(dev), "tally");
  const count = (word) => dev.page.locator(`.count[data-word="${word}"]`);
  assert.equal(await count("SUCCEEDED").locator("dd").innerText(), "0");
  await dev.page.getByRole("switch", { name: /Watch/ }).focus();
  await dev.page.keyboard.press("Space");
  assert.equal((await post(dev, "POST", "/events/E1/participations")).status, 202);
  await count("SUCCEEDED").locator(".by", { hasText: "+1" }).waitFor();
  assert.ok(await count("SUCCEEDED").evaluate((one) => one.classList.contains("moved")));
  assert.match(await dev.page.locator(".unseen[role=status]").textContent(), /SUCCEEDED: 1, was 0/);
  await look(dev, "tally");
  // A mark goes by itself, and the switch stops the calls.
  await count("SUCCEEDED").locator(".by").waitFor({ state: "detached" });
  await dev.page.keyboard.press("Space");
  const calls = [];
  dev.page.on("request", (request) => { if (request.url().endsWith("/console/call")) calls.push(request.url()); });
  await dev.page.waitForTimeout(2_600);
  assert.deepEqual(calls, []);

  // A refusal ends the watch, and the numbers that were seen stay.
  await dev.page.route("**/console/call", (route) => route.fulfill({ json: { status: 429, headers: {}, body: "{}", requests: [], capacity: "" } }));
  await dev.page.getByRole("switch", { name: /Watch/ }).check();
  await dev.page.getByText("Watching has stopped: the answer was 429.").waitFor();
  assert.equal(await dev.page.getByRole("switch", { name: /Watch/ }).isChecked(), false);
  assert.equal(await count("SUCCEEDED").locator("dd").innerText(), "1");
  await dev.page.unroute("**/console/call");

  // The requests of the event, in the order in which they were taken, below their tally.
  await open(dev, "AD-01");
  await call(dev, { eventId: "E1" });
  assert.equal(await shown(dev), "tally");
  assert.equal(await dev.page.locator(".tally").count(), 1);
  assert.equal(await dev.page.locator(".view-body table.items tbody tr").count(), 1);
  // What writes is not watched.
  await open(dev, "EP-01");
  await call(dev, { eventId: "E1" });
  assert.equal(await dev.page.getByRole("switch").count(), 0);

  // Traffic is on the first page, and charts have what was before they were opened.
  const lately = async () => (await dev.page.evaluate(async () => (await fetch("/console/traffic.json")).json())).systems.find(({ system }) => system === "smartlocker").lately;
  for (let round = 0; round < 60 && !(await lately()).calls.some((calls) => calls > 0); round += 1) await dev.page.waitForTimeout(500);
  await dev.page.goto(`${shop.pages}/`);
  const heights = () => dev.page.evaluate(() => [...document.querySelectorAll(".traffic, .system-card")].map((one) => one.getBoundingClientRect().top));
  const before = await heights();
  await dev.page.locator('[data-lately="smartlocker"] .spark[aria-label^="calls a second"]').waitFor();
  await dev.page.locator('[data-tile="p99"] dd', { hasText: "ms" }).waitFor();
  assert.deepEqual(await heights(), before, "nothing moves when the numbers come");
  await look(dev, "home");
  await dev.page.goto(`${shop.pages}/console/operations`);
  const chart = dev.page.locator("[data-contracts] tbody tr", { hasText: "QC-05" }).locator(".spark .calls");
  await dev.page.waitForFunction((line) => line.getAttribute("points").split(" ").length > 1, await chart.elementHandle());
  await dev.page.getByRole("button", { name: "Charts of QC-05" }).press("Enter");
  const figures = dev.page.locator("tr.closely:not([hidden]) figure svg");
  await figures.nth(3).waitFor();
  const labels = await figures.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  assert.match(labels[0], /^Calls a second: calls /);
  assert.match(labels[1], /^Latency: p50 [\d.]+ (ms|s), p99 /);
  assert.match(labels[2], /^RCU a call: metered \d/);
  assert.match(labels[3], /^WCU a call: metered \d/);
  await look(dev, "operations");
  await dev.page.getByRole("button", { name: "Charts of QC-05" }).press("Enter");
  assert.equal(await dev.page.locator("tr.closely:not([hidden])").count(), 0);
  await dev.close();

  // Others see no traffic.
  const alice = await visit(shop, /^alice/);
  assert.equal(await alice.page.locator(".traffic, [data-lately]").count(), 0);
  assert.equal((await alice.page.request.get(`${shop.pages}/console/traffic.json`)).status(), 403);
  await alice.close();

  // On a phone, and in the dark.
  for (const [width, dark] of [[390, false], [390, true], [1280, true]]) {
    const other = await visit(shop, /^dev/, { width, dark });
    await look(other, "home");
    for (const [id, name, fields] of [["QC-05", "timeline", { startISO: from, endISO: until }], [events, "events", window], ["AD-06", "tally", { eventId: "E1" }], ["QC-01", "card", {}]]) {
      const system = id.startsWith("AD") ? "participation" : "smartlocker";
      await other.page.goto(`${shop.pages}/console/systems/${system}/contracts/${id}`);
      const known = await other.page.locator(".field[data-place]").evaluateAll((all) => all.map((field) => field.dataset.field));
      const given = { lockerId: "L1", ...fields };
      assert.equal((await call(other, Object.fromEntries(Object.entries(given).filter(([one]) => known.includes(one))))).status, 200);
      await other.page.locator("#answer").evaluate((answer) => answer.scrollIntoView());
      await look(other, name, { kept: name === "timeline" || name === "tally" });
    }
    await other.close();
  }

  // A document of another shape: items of two entities in one order, lists of records, text that is hostile and long.
  const driver = await visit(other, /^dev/);
  const hostile = `<script>alert(1)</script><b>x</b> \u202egnp.exe ${"longword".repeat(18)}`;
  for (const [path, body] of [
    ["stops", { at: "2026-02-24T09:00:00Z", place: hostile, loads: [{ what: "<i>sand</i>", weight: 3 }, { what: "stone", weight: 40 }] }],
    ["faults", { at: "2026-02-24T09:30:00Z", grade: "HIGH", words: "ألف" }],
    ["stops", { at: "2026-02-24T11:00:00Z", place: "home" }],
  ]) {
    const done = await post(driver, "POST", `/cars/C1/${path}`, body);
    assert.equal(done.status, 201, done.body);
  }
  for (const width of [1280, 390]) {
    await driver.page.setViewportSize({ width, height: 900 });
    await driver.page.goto(`${other.pages}/console/systems/journeys/contracts/J-03`);
    await call(driver, { carId: "C1" });
    assert.equal(await shown(driver), "timeline");
    assert.equal(await driver.page.locator(".point").count(), 3);
    await driver.page.locator(".point .word", { hasText: "FAULT" }).waitFor();
    for (const name of ["Timeline", "Tally", "Table", "Card", "JSON"]) {
      await choice(driver, name).click();
      assert.equal(await driver.page.locator(".view-body :is(script, b, i)").count(), 0);
      await look({ ...driver, width }, `journal-${name}`, { kept: false });
    }
  }
  await driver.close();

  // With an address of its own, the console copies calls to the address of the contracts.
  assert.notEqual(apart.pages, apart.url);
  const watcher = await visit(apart, /^dev/);
  await watcher.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(watcher, "QC-01");
  await watcher.page.locator('.field[data-field="lockerId"] [data-control]').fill("L1");
  await watcher.page.getByRole("button", { name: "curl" }).click();
  await watcher.page.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await watcher.page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.startsWith(`curl -X GET '${apart.url}/lockers/L1'`), copied);
  assert.equal((await fetch(`${apart.url}/lockers/L1`)).status, 401);
  await watcher.close();

  assert.deepEqual(wrong, []);
  console.log("browser: answers are timelines, tallies and cards; traffic is drawn");
} finally {
  if (wrong.length) console.error(wrong.join("\n"));
  await browser.close();
  shop.stop();
  other.stop();
  apart.stop();
}
