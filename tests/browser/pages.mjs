// Serves a page from two origins, starts a server that lets in one of them, and has both pages call it in a browser.
// A page sees of an answer what its browser lets it see; that is what is asserted here.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { latchkey, launch, made, serve } from "./world.mjs";

/** A site with one empty page. Its origin is of its own, by its port. */
async function site() {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8").end("<!doctype html><title>page</title>");
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Runs in a page: what it learns of a request, or that its browser refuses it. */
async function ask({ url, method, headers, body }) {
  try {
    const response = await fetch(url, { method, headers, body });
    const text = await response.text();
    const seen = Object.fromEntries(response.headers);
    return { status: response.status, headers: seen, body: text === "" ? null : JSON.parse(text) };
  } catch (error) {
    return { refused: String(error) };
  }
}

const [listed, other] = [await site(), await site()];
const { url, stop } = await serve("data", "--cors", listed.origin);
const browser = await launch();
try {
  const token = execFileSync(latchkey, ["token", "--sub", "alice", "--data", join(made, "data")], { encoding: "utf8" }).trim();
  const authorization = `Bearer ${token}`;
  const page = await browser.newPage();
  await page.goto(listed.origin);
  const call = (method, path, headers = {}, body) =>
    page.evaluate(ask, { url: url + path, method, headers, body: body && JSON.stringify(body) });

  const locker = { ownerId: "alice", lockerId: "L1" };
  const sent = { authorization, "content-type": "application/json", "idempotency-key": "k1" };
  const first = await call("POST", "/lockers", sent, locker);
  assert.equal(first.status, 201, JSON.stringify(first));
  assert.equal(first.headers.location, "/lockers/L1");
  assert.equal(first.headers["latchkey-contract"], "QC-11");
  const again = await call("POST", "/lockers", sent, locker);
  assert.equal(again.headers["idempotency-replayed"], "true", JSON.stringify(again));

  const got = await call("GET", "/lockers/L1", { authorization });
  assert.equal(got.status, 200, JSON.stringify(got));
  assert.equal(got.headers.etag, '"1"');
  assert.ok(got.headers["x-request-id"]);
  const changed = await call(
    "PATCH",
    "/lockers/L1",
    { authorization, "content-type": "application/json", "if-match": got.headers.etag },
    { lockerAlias: "front" },
  );
  assert.equal(changed.status, 200, JSON.stringify(changed));

  const missing = await call("GET", "/lockers/L9", { authorization });
  assert.equal(missing.status, 404);
  assert.equal(missing.body.code, "not-found");
  const unsigned = await call("GET", "/lockers/L1");
  assert.equal(unsigned.body.code, "unauthenticated");
  assert.equal(unsigned.headers["www-authenticate"], "Bearer");
  // The page that explains a problem is one that a page may read.
  const explained = await call("GET", missing.body.type, { accept: "application/json" });
  assert.equal(explained.body.code, "not-found");
  // No contract of the path has the method, so the browser does not send the request.
  const unknown = await call("PUT", "/lockers/L1", { authorization });
  assert.match(unknown.refused, /fetch/i, JSON.stringify(unknown));

  await page.goto(other.origin);
  for (const [method, headers] of [["GET", { authorization }], ["GET", {}], ["POST", sent]]) {
    const refused = await call(method, "/lockers/L1", headers);
    assert.match(refused.refused, /fetch/i, JSON.stringify(refused));
  }
  // Nor is an answer shown in a frame, or run as a script.
  const loaded = await page.evaluate(
    (source) =>
      new Promise((done) => {
        const script = document.createElement("script");
        script.src = source;
        script.onload = () => done("loaded");
        script.onerror = () => done("refused");
        document.head.append(script);
      }),
    `${url}/openapi.json`,
  );
  assert.equal(loaded, "refused");
  // A person who follows the type of a problem reads a page.
  await page.goto(`${url}/problems/version-conflict`);
  assert.equal(await page.textContent("h1"), "Version conflict");
  console.log("browser: pages of a listed origin call, others do not");
} finally {
  await browser.close();
  stop();
  listed.close();
  other.close();
}
