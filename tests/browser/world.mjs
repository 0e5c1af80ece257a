// What the tests in a browser share: servers, a browser, visits as someone, and a look at a page as axe does.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** The arguments of a test: the command, the browser, a directory for what is made, and one for pictures. */
export const [latchkey, executablePath, made, screenshots] = process.argv.slice(2);

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What went wrong in the pages that were visited. */
export const wrong = [];

/** Starts `latchkey serve` on data of a name, and waits until it says where it listens. */
export async function serve(name, ...flags) {
  const child = spawn(latchkey, ["serve", "--listen", "127.0.0.1:0", "--data", join(made, name), ...flags], {
    env: { ...process.env, LATCHKEY_LOG: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  const url = await new Promise((found, failed) => {
    child.once("exit", (code) => failed(new Error(`the server ended with ${code}: ${said}`)));
    child.stdout.on("data", (more) => {
      said += more;
      const listening = /listening\s+(\S+)/.exec(said);
      if (listening && said.includes("latchkey token")) found(listening[1]);
    });
  });
  const pages = /console\s+(\S+)\/\s/.exec(said);
  return { url, pages: pages ? pages[1] : url, stop: () => { child.removeAllListeners("exit"); child.kill("SIGTERM"); } };
}

export const launch = () => chromium.launch({
  executablePath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** A visit as someone, with what goes wrong in its pages kept. */
export async function visit(browser, { pages: url }, who, { width = 1280, dark = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (said) => { if (said.type() === "error") wrong.push(`${page.url()}: ${said.text()}`); });
  page.on("pageerror", (error) => wrong.push(`${page.url()}: ${error.message}`));
  await page.goto(`${url}/`);
  await page.getByRole("button", { name: who }).first().click();
  await page.waitForURL(`${url}/`);
  return { page, url, context, close: () => context.close(), dark, width };
}

/** Looks at a page as axe does, and keeps a picture of it unless told otherwise. */
export async function look({ page, dark, width }, name, { kept = true } = {}) {
  await page.waitForLoadState("networkidle");
  const found = await page.evaluate(`(() => { const module = undefined, exports = undefined; ${axe}; return axe.run(document, { resultTypes: ["violations"] }); })()`);
  for (const violation of found.violations.filter(({ impact }) => impact === "serious" || impact === "critical")) {
    wrong.push(`${name} ${width} ${dark ? "dark" : "light"}: ${violation.id}: ${violation.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
  }
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (over > 0) wrong.push(`${name} ${width}: the page is ${over} px too wide`);
  // A picture of a phone in the dark tells nothing that the others do not.
  if (screenshots && kept && !(dark && width < 600)) await page.screenshot({ path: join(screenshots, `${name}${width < 600 ? "-phone" : ""}${dark ? "-dark" : ""}.png`) });
}

/** Opens the page of a contract by the filter box alone, without a mouse. */
export async function open({ page }, id) {
  // What is typed into a field is no shortcut.
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  await page.keyboard.type(id);
  await page.locator("#found li[aria-selected=true]", { hasText: id }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/contracts/${id}`);
}

/** Calls the contract of the page, and waits for its answer. */
export async function call({ page }, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const control = page.locator(`.field[data-field="${name}"] [data-control]`).first();
    if ((await control.evaluate((one) => one.tagName)) === "SELECT") await control.selectOption(value);
    else await control.fill(value);
  }
  const answered = page.waitForResponse("**/console/call");
  await page.keyboard.press("Control+Enter");
  const told = await (await answered).json();
  await page.locator("#answer .status", { hasText: String(told.status) }).waitFor();
  return told;
}
