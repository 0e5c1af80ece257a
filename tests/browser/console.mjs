// The console in a real browser: each page, a locker's life, an event, the film, a message that was given up; by keyboard;
// narrow and wide, dark and light. No error of a script, no violation of the policy, nothing serious by axe.
// Usage: console.mjs LATCHKEY BROWSER DIRECTORY [SCREENSHOTS]
import assert from "node:assert/strict";
import { join } from "node:path";
import { call, launch, look, open, serve, visit as visitWith, wrong } from "./world.mjs";

const browser = await launch();
const shop = await serve("shipped");
const jams = await serve("jams", join(import.meta.dirname, "jams.md"));
const visit = (...rest) => visitWith(browser, ...rest);

try {
  // A locker's life.
  const dev = await visit(shop, /^dev/);
  await look(dev, "home");
  await open(dev, "QC-11");
  assert.equal((await call(dev, { ownerId: "alice", lockerId: "L1", lockerAlias: "front door" })).status, 201);
  await dev.page.locator("#answer", { hasText: "TransactWriteItems" }).waitFor();
  await open(dev, "QC-04");
  const reserved = await call(dev, { lockerId: "L1", ownerId: "alice", startAt: "2031-12-01T10:00:00Z", endAt: "2031-12-01T12:00:00Z" });
  assert.equal(reserved.status, 201, reserved.body);
  const overlap = await call(dev, { startAt: "2031-12-01T11:00:00Z", endAt: "2031-12-01T13:00:00Z" });
  assert.equal(overlap.status, 409, overlap.body);
  await look(dev, "refusal");
  // A conflict is shown, with the statement that answered, and resolved with the version that it tells.
  await open(dev, "QC-03");
  const stale = await call(dev, { lockerId: "L1", newStatus: "MAINTENANCE", expectedVersion: "9" });
  assert.equal(stale.status, 409, stale.body);
  await dev.page.locator("#answer .statement", { hasText: "version-conflict" }).waitFor();
  const current = String(JSON.parse(stale.body).currentVersion);
  assert.equal((await call(dev, { expectedVersion: current })).status, 200);
  await open(dev, "QC-06");
  assert.equal((await call(dev, { lockerId: "L1", newOwnerId: "bob" })).status, 200);
  await open(dev, "QC-05");
  assert.equal((await call(dev, { lockerId: "L1", startISO: "2031-01-01T00:00:00Z", endISO: "2032-01-01T00:00:00Z" })).status, 200);
  await look(dev, "contract");
  // What the server says of a field is shown there.
  const invalid = await call(dev, { startISO: "soon" });
  assert.equal(invalid.status, 400, invalid.body);
  assert.equal(await dev.page.locator('.field[data-field="startISO"] [aria-invalid="true"]').count(), 1);

  // A first-come event, from its creation to the tally.
  await open(dev, "AD-04");
  assert.equal((await call(dev, { eventId: "E1", title: "Concert", mode: "FIRST_COME", capacity: "1" })).status, 201);
  await open(dev, "EP-01");
  assert.equal((await call(dev, { eventId: "E1" })).status, 202);
  const repeated = await call(dev, {});
  assert.equal(repeated.status, 200, repeated.body);
  await open(dev, "AD-01");
  let tallied;
  for (let round = 0; round < 100; round += 1) {
    tallied = await call(dev, { eventId: "E1" });
    if (JSON.parse(tallied.body).tally?.SUCCEEDED === 1) break;
    await dev.page.waitForTimeout(200);
  }
  assert.equal(JSON.parse(tallied.body).tally?.SUCCEEDED, 1, tallied.body);

  // The table, one partition at a time, and on to the owner's.
  await dev.page.goto(`${shop.url}/console/systems/smartlocker/table`);
  const form = dev.page.locator('form[data-template="LOCKER#{lockerId}"]');
  await form.locator("[data-hole]").fill("L1");
  await form.getByRole("button").click();
  await dev.page.locator(".collection .item", { hasText: "RES#" }).first().waitFor();
  await look(dev, "table");
  await dev.page.locator(".leads a", { hasText: "OWNER#bob" }).first().click();
  await dev.page.locator(".collection h2", { hasText: "OWNER#bob" }).waitFor();

  // The film, forward and back.
  await dev.page.goto(`${shop.url}/console/systems/smartlocker/play`);
  await dev.page.locator("[data-play] .item, [data-play] article").first().waitFor();
  const place = () => dev.page.evaluate(() => location.hash);
  await dev.page.keyboard.press("Home");
  const first = await place();
  const seen = async () => dev.page.locator("[data-play]").innerText();
  const before = await seen();
  for (let step = 0; step < 5; step += 1) await dev.page.keyboard.press("ArrowRight");
  assert.notEqual(await place(), first);
  assert.notEqual(await seen(), before);
  await look(dev, "play");
  for (let step = 0; step < 5; step += 1) await dev.page.keyboard.press("ArrowLeft");
  assert.equal(await place(), first);
  assert.equal(await seen(), before);

  await dev.page.goto(`${shop.url}/console/systems/smartlocker`);
  await look(dev, "document");
  await dev.page.goto(`${shop.url}/console/operations`);
  await dev.page.locator("[data-contracts] tbody tr").first().waitFor();
  await look(dev, "operations");
  await dev.close();

  // A stranger is refused by the statement that refuses, and sees no table.
  const stranger = await visit(shop, /^stranger/);
  await open(stranger, "QC-01");
  const refused = await call(stranger, { lockerId: "L1" });
  assert.equal(refused.status, 403, refused.body);
  await stranger.page.locator("#answer .statement", { hasText: "allow" }).waitFor();
  assert.equal(await stranger.page.locator('a[href$="/table"], a[href$="/operations"]').count(), 0);
  await stranger.page.locator("details.who summary").click();
  await stranger.page.getByRole("button", { name: "Sign out" }).click();
  await stranger.page.waitForURL("**/console/sign-in");
  await look(stranger, "sign-in");
  await stranger.close();

  // A message that was given up is sent again, and given up again.
  const admin = await visit(jams, /^dev/);
  await open(admin, "J-01");
  assert.equal((await call(admin, { pressId: "P1" })).status, 201);
  await admin.page.goto(`${jams.url}/console/operations`);
  const letter = admin.page.locator("[data-letter-list] li", { hasText: "PAPER_JAM" });
  await letter.waitFor();
  const givenUp = await letter.innerText();
  await admin.page.locator("[data-letter-filter]").fill("no such failure");
  await letter.waitFor({ state: "detached" });
  await admin.page.locator("[data-letter-filter]").fill("paper");
  await letter.getByRole("button", { name: "Send again" }).click();
  await admin.page.locator("[data-redriven]", { hasText: "1 message was sent again." }).waitFor();
  await admin.page.waitForFunction((was) => {
    const now = document.querySelector("[data-letter-list] li");
    return now !== null && now.innerText !== was;
  }, givenUp);
  await admin.page.locator("[data-redriven]", { hasText: "1 message was sent again. 1 was given up again. 1 given up is left." }).waitFor();
  await look(admin, "given-up");
  await admin.close();

  // On a phone, and in the dark.
  for (const [width, dark] of [[390, false], [1280, true]]) {
    const other = await visit(shop, /^dev/, { width, dark });
    await look(other, "home");
    for (const [path, name] of [
      ["/systems/smartlocker/contracts/QC-04", "contract"], ["/systems/smartlocker", "document"], ["/systems/smartlocker/play", "play"],
      ["/systems/smartlocker/table?partition=LOCKER%23L1", "table"], ["/operations", "operations"],
    ]) {
      await other.page.goto(`${shop.url}/console${path}`);
      await look(other, name);
    }
    await other.close();
  }
  assert.deepEqual(wrong, []);
  console.log("browser: the console shows, calls, plays and watches");
} finally {
  if (wrong.length) console.error(wrong.join("\n"));
  await browser.close();
  shop.stop();
  jams.stop();
}
