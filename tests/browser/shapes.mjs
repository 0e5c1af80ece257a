// Documents of other shapes, and what goes wrong: keys of numbers, long texts and lists of records, forty contracts below
// one heading, pages forward and back, messages that a filter hides, and a visit that ends while someone types.
// Usage: shapes.mjs LATCHKEY BROWSER DIRECTORY [SCREENSHOTS]
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, launch, look, made, serve, visit as visitWith, wrong } from "./world.mjs";

/** A document with many contracts below one heading. */
function forty() {
  const contract = (at) => `contract F-${at} "Find the door of the ${at}th floor, or tell that it has none" {\n  GET /floors/${at}/doors/{doorId}\n  allow true\n`
    + "  door = get Door else 404 not-found\n  return door\n\n  consistency eventual\n  expect 1 item\n  rate 1/s\n}\n";
  const path = join(made, "forty.md");
  writeFileSync(path, "# Doors\n\n```contract\nsystem forty\ntable Forty { type kind }\nentity Door \"DOOR\" {\n  PK = \"DOOR#{doorId}\"\n  SK = \"META\"\n  doorId id\n}\n"
    + "contract F-00 \"Make a door\" {\n  POST /doors\n  input doorId id\n  allow true\n  door = put Door { doorId } if absent else 409 taken\n  return 201 door\n\n  consistency strong\n  expect 1 item\n  rate 1/s\n}\n"
    + Array.from({ length: 39 }, (_, at) => contract(at + 10)).join("\n") + "```\n");
  return path;
}

const browser = await launch();
const shelves = await serve("shelves", join(import.meta.dirname, "shelves.md"));
const many = await serve("forty", forty());
const jams = await serve("mended", join(import.meta.dirname, "jams.md"));
const visit = (...rest) => visitWith(browser, ...rest);
const LOOKS = [[1280, false], [390, false], [390, true], [1280, true]];

const post = ({ page }, method, path, body) => page.evaluate(async (asked) => (await fetch("/console/call", {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(asked),
})).json(), { method, path, headers: {}, ...(body ? { body: JSON.stringify(body) } : {}) });

const page = (own, path) => own.page.goto(`${own.url}/console${path}`);
const answered = (own) => own.page.locator("#answer [data-answer]");
const ids = (own) => own.page.locator("table.items > tbody > tr > td:first-child").allInnerTexts();
const turn = async (own, name) => {
  const told = own.page.waitForResponse("**/console/call");
  await own.page.getByRole("button", { name, exact: true }).click();
  await told;
  await own.page.locator("#answer:not([aria-busy])").waitFor();
};

/** A long label, and parts as records. */
const box = (id) => ({
  id, shelf: 7, place: id, label: id % 3 ? `Box ${id}` : `Box ${id}: ${"words and more words ".repeat(15)}`, day: "0099-03-01", seen: "0999-12-31T23:59:59.5Z",
  parts: [{ sku: "bolt-8", words: "a bolt of eight millimetres", count: 12 }, { sku: "nut-8", words: "its nut", count: 12 }].slice(0, id % 3), ...(id % 2 ? { tags: ["small", "blue"], size: { wide: 10, high: 20 } } : {}),
});

/** The keys of a table whose own key is a number, without a sort key. */
async function keys(own) {
  await page(own, "/systems/shelves/contracts/S-01");
  assert.equal(await own.page.locator(".keys header code").innerText(), "Shelves");
  const requests = own.page.locator(".keys .request > summary");
  assert.ok(await requests.count() > 1);
  for (const one of await requests.all()) assert.ok(await one.locator(".part").count() > 0, await one.innerText());
  assert.match(await requests.first().innerText(), /^\s*PutItem[\s\S]*id\s+=/);
  await own.page.locator(".keys .pill", { hasText: "table Shelves-latchkey" }).first().waitFor();
  await own.page.locator('.field[data-field="id"] [data-control]').first().fill("42");
  await requests.first().locator(".chip.filled", { hasText: "42" }).waitFor();
}

/** Dates, and years of few digits. */
async function dates(own) {
  const day = own.page.locator('.field[data-field="day"]'), seen = own.page.locator('.field[data-field="seen"]');
  await day.getByRole("button", { name: "Set day to today" }).click();
  assert.match(await day.locator("[data-control]").inputValue(), /^\d{4}-\d\d-\d\d$/);
  await seen.getByRole("button", { name: "Set seen to now" }).click();
  assert.match(await seen.locator("[data-control]").inputValue(), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  for (const [field, text, right] of [[day, "0099-03-01", true], [day, "2026-02-30", false], [day, "99-03-01", false], [seen, "0099-03-01T00:00:00Z", true], [seen, "2026-02-25T10:00:00", false]]) {
    await field.locator("[data-control]").fill(text);
    await field.locator("[data-control]").blur();
    assert.equal(await field.locator(".say").innerText() === "", right, text);
  }
  await page(own, "/systems/shelves/contracts/S-02");
  await call(own, { id: "5" });
  await own.page.locator(".view-body .moment time", { hasText: /^31 Dec 0999, 23:59:59 UTC$/ }).waitFor();
}

/** The table of an answer: columns that can be read, long texts, records, and a sign that there is more. */
async function table(own) {
  await page(own, "/systems/shelves/contracts/S-03");
  await call(own, { shelf: "7" });
  const widths = await own.page.locator("table.items > thead th").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
  assert.ok(widths.every((width) => width >= 56), String(widths));
  const slide = own.page.locator("#answer .slide").first(), hint = slide.locator(".slide-hint");
  await hint.filter({ hasText: "more →" }).waitFor();
  const long = own.page.locator("table.items .clamp").first();
  const lines = () => long.evaluate((one) => Math.round(one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight)));
  assert.equal(await lines(), 3);
  const more = own.page.locator("table.items .cell.long").first().getByRole("button");
  await more.press("Enter");
  assert.ok(await lines() > 3);
  assert.equal(await more.getAttribute("aria-expanded"), "true");
  await more.press("Enter");
  await own.page.locator("table.items details.compact summary", { hasText: "2 records" }).first().click();
  assert.deepEqual(await own.page.locator("table.items details[open] table.inner th").allInnerTexts(), ["count", "sku", "words"]);
  await own.page.locator("table.items details.compact summary", { hasText: "1 record" }).first().waitFor();
  await slide.locator(".scroll").first().evaluate((one) => { one.scrollLeft = one.scrollWidth; });
  await hint.filter({ hasText: /^← scroll sideways for more$/ }).waitFor();
  // Which row it is stays in sight.
  const [edge, first] = await slide.locator(".scroll").first().evaluate((one) => [one, one.querySelector("tbody td")].map((at) => at.getBoundingClientRect().left));
  assert.ok(Math.abs(edge - first) < 2, `${edge} ${first}`);
  await answered(own).evaluate((one) => one.scrollIntoView());
  await look(own, "records-end", { kept: false });
  await slide.locator(".scroll").first().evaluate((one) => { one.scrollLeft = 0; });
  if (own.width > 600) await own.page.getByRole("button", { name: "Wide" }).click();
  await own.page.locator("#answer").evaluate((one) => one.scrollIntoView());
  await look(own, "records", { kept: own.width > 600 && !own.dark });
}

/** Pages of an answer, forward and back. */
async function pages(own) {
  await page(own, "/systems/shelves/contracts/S-03");
  await call(own, { shelf: "7" });
  await own.page.getByRole("button", { name: "Wide" }).click();
  const [wide, whole] = await own.page.evaluate(() => ["answer", "main"].map((id) => document.getElementById(id).getBoundingClientRect().width));
  assert.ok(wide > whole * 0.9, `${wide} of ${whole}`);
  assert.deepEqual(await ids(own), ["1", "2", "3", "4", "5"]);
  assert.equal(await own.page.getByRole("button", { name: /^(Previous|First) page$/ }).count(), 0);
  await turn(own, "Next page");
  await turn(own, "Next page");
  assert.deepEqual(await ids(own), ["11", "12", "13", "14", "15"]);
  await look(own, "wide", { kept: false });
  await turn(own, "Previous page");
  assert.deepEqual(await ids(own), ["6", "7", "8", "9", "10"]);
  await turn(own, "Previous page");
  assert.deepEqual(await ids(own), ["1", "2", "3", "4", "5"]);
  assert.equal(await own.page.getByRole("button", { name: "Previous page" }).count(), 0);
  await turn(own, "Next page");
  await turn(own, "First page");
  assert.deepEqual(await ids(own), ["1", "2", "3", "4", "5"]);
  await own.page.getByRole("button", { name: "Wide" }).click();
}

/** Pages of a partition, forward and back; and no link that leads to where one is. */
async function partitions(own) {
  await page(own, "/systems/shelves/table?partition=4");
  assert.deepEqual(await own.page.locator(".leads a").allInnerTexts(), ["shelf = 7"]);
  await own.page.locator(".leads a").click();
  const places = () => own.page.locator(".collection .item .sort").allInnerTexts();
  const count = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => String(from + at));
  const links = () => own.page.locator(".turns a").allInnerTexts();
  assert.deepEqual([await places(), await links()], [count(1, 50), ["Next"]]);
  assert.equal(await own.page.locator('.leads a[href*="ByShelf"]').count(), 0);
  await own.page.getByRole("link", { name: "Next", exact: true }).click();
  assert.deepEqual([await places(), await links()], [count(51, 100), ["First page", "Previous", "Next"]]);
  await own.page.getByRole("link", { name: "Next", exact: true }).click();
  assert.deepEqual([await places(), await links()], [count(101, 110), ["First page", "Previous"]]);
  await own.page.locator(".turns").scrollIntoViewIfNeeded();
  await look(own, "turns", { kept: false });
  await own.page.getByRole("link", { name: "Previous" }).click();
  assert.deepEqual([await places(), await links()], [count(51, 100), ["First page", "Previous", "Next"]]);
  await own.page.getByRole("link", { name: "Previous" }).click();
  assert.deepEqual([await places(), await links()], [count(1, 50), ["First page", "Next"]]);
}

/** A visit that ends while someone types: what was typed is there again when they are back. */
async function ended(own) {
  await page(own, "/systems/shelves/contracts/S-01?id=900&shelf=1");
  const control = (name) => own.page.locator(`.field[data-field="${name}"] [data-control]`).first();
  await control("id").fill("901");
  await control("place").fill("3");
  await control("label").fill("typed with care");
  await own.page.getByRole("button", { name: "Add to parts" }).click();
  await own.page.locator('.rows [data-field="sku"] [data-control]').fill("bolt-8");
  await own.page.locator("details.more summary").click();
  await control("idempotency-key").fill("once");
  await own.context.clearCookies();
  await own.page.keyboard.press("Control+Enter");
  await own.page.waitForURL("**/console/sign-in?**");
  const levels = await own.page.locator("h1, h2, h3").evaluateAll((all) => all.map((one) => one.tagName));
  assert.deepEqual(levels, ["H1", "H2", "H2"]);
  await look(own, "signed-out", { kept: false });
  await own.page.getByRole("button", { name: /^dev/ }).first().click();
  await own.page.waitForURL("**/contracts/S-01?id=900&shelf=1");
  await own.page.locator("[data-back]", { hasText: "What you typed is here again" }).waitFor();
  for (const [name, value] of [["id", "901"], ["shelf", "1"], ["place", "3"], ["label", "typed with care"], ["idempotency-key", "once"]]) assert.equal(await control(name).inputValue(), value, name);
  assert.equal(await own.page.locator('.rows [data-field="sku"] [data-control]').inputValue(), "bolt-8");
  await look(own, "back", { kept: false });
  // It is there once: the address counts again when the page is loaded anew.
  await own.page.reload();
  assert.equal(await control("id").inputValue(), "900");
  const failed = wrong.findIndex((one) => one.includes("status of 401"));
  assert.notEqual(failed, -1, "the browser tells of the 401");
  wrong.splice(failed, 1);
}

/** Every number of a contract is to be seen on a phone. */
async function operations(own) {
  await page(own, "/operations");
  const row = own.page.locator("[data-contracts] tbody tr:not(.closely)").first();
  await row.waitFor();
  await own.page.locator("[data-hot] li code").first().waitFor();
  const hot = await own.page.locator("[data-hot] li").allInnerTexts();
  assert.ok(hot.some((one) => /^(7|\d{1,3})\b/.test(one.trim())), String(hot));
  assert.ok(hot.every((one) => !/^2[45]\d\d/.test(one.trim())), `keys as people write them: ${hot}`);
  const cells = await row.locator("td").evaluateAll((all) => all.map((one) => ({ right: one.getBoundingClientRect().right, label: getComputedStyle(one, "::before").content })));
  assert.equal(cells.length, 9);
  if (own.width < 600) {
    assert.ok(cells.every(({ right }) => right <= own.width), JSON.stringify(cells));
    for (const label of ["calls/s", "p50", "p99", "refused", "failed", "RCU a call", "WCU a call"]) assert.ok(cells.some((one) => one.label === `"${label}"`), label);
  }
  await look(own, "operations-shelves", { kept: false });
}

/** Forty contracts below one heading are in columns as wide as the page; the list of pages has their titles. */
async function home(own) {
  await own.page.goto(`${own.url}/`);
  const card = own.page.locator(".group-card");
  assert.equal(await card.count(), 1);
  const rows = await card.locator(".contract").evaluateAll((all) => all.map((one) => { const { left, top } = one.getBoundingClientRect(); return { left, top }; }));
  assert.equal(rows.length, 40);
  const lefts = new Set(rows.map(({ left }) => Math.round(left)));
  assert.equal(lefts.size, own.width > 600 ? 2 : 1, String([...lefts]));
  assert.ok(rows[1].top > rows[0].top && rows[1].left === rows[0].left, "down first");
  if (own.width > 600) assert.match(await own.page.locator('.side a[href$="/F-11"]').innerText(), /^F-11\s+Find the door of the 11th floor/);
  await look(own, "forty", { kept: false });
}

/** Messages that were sent again are gone from the list, and it says what is left. */
async function letters() {
  const own = await visit(jams, /^dev/);
  for (const id of ["P1", "P2", "P3"]) assert.equal((await post(own, "POST", "/presses", { pressId: id })).status, 201);
  await page(own, "/operations");
  const listed = own.page.locator("[data-letter-list] li");
  await listed.nth(2).waitFor();
  await own.page.locator("[data-letter-list]", { hasText: "after 1 try" }).waitFor();
  for (const id of ["P1", "P2", "P3"]) assert.equal((await post(own, "POST", `/presses/${id}/clearing`)).status, 200);
  const filter = own.page.locator("[data-letter-filter]"), said = own.page.locator("[data-redriven]");
  await filter.fill("P1");
  await own.page.getByText("1 of 3 messages shown.").waitFor();
  await own.page.getByRole("button", { name: "Send all shown again" }).click();
  await said.filter({ hasText: "1 message was sent again. 2 given up are left, which the filter hides." }).waitFor();
  await own.page.getByText("2 messages are listed as given up; the filter shows none of them.").waitFor();
  assert.equal(await listed.count(), 0);
  await own.page.locator("[data-letters]").scrollIntoViewIfNeeded();
  await look(own, "letters", { kept: false });
  await own.page.getByRole("button", { name: "Show all" }).click();
  await listed.nth(1).waitFor();
  await own.page.getByRole("button", { name: "Send all shown again" }).click();
  await said.filter({ hasText: "2 messages were sent again. None that was given up is left." }).waitFor();
  await own.page.getByText("No message is given up now.").waitFor();
  await own.close();
}

try {
  const dev = await visit(shelves, /^dev/);
  for (let id = 1; id <= 110; id += 1) { const done = await post(dev, "POST", "/boxes", box(id)); assert.equal(done.status, 201, done.body); }
  for (const [from, to] of [["/console/", "/console"], ["/console/operations/?x=1", "/console/operations?x=1"]]) {
    const moved = await dev.page.request.get(dev.url + from, { maxRedirects: 0 });
    assert.deepEqual([moved.status(), moved.headers().location], [308, to]);
    assert.equal((await dev.page.goto(dev.url + from)).status(), 200);
  }
  await keys(dev);
  await dates(dev);
  await pages(dev);
  await partitions(dev);
  await ended(dev);
  await dev.close();
  await letters();
  for (const [width, dark] of LOOKS) {
    const own = await visit(shelves, /^dev/, { width, dark });
    await table(own);
    await operations(own);
    await own.close();
    const other = await visit(many, /^dev/, { width, dark });
    await home(other);
    await other.close();
  }
  assert.deepEqual(wrong, []);
  console.log("browser: documents of other shapes are shown, and what goes wrong is told");
} finally {
  if (wrong.length) console.error(wrong.join("\n"));
  await browser.close();
  for (const server of [shelves, many, jams]) server.stop();
}
