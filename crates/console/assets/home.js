// The first page, for those who may see the traffic: the numbers of the last minute, and a chart for each system.
import { ask } from "./show.js";
import { draw, rate, spark, within } from "./spark.js";

const EVERY_MS = 5000;
const tiles = new Map([...document.querySelectorAll("[data-tile]")].map((tile) => [tile.dataset.tile, tile]));
const places = new Map([...document.querySelectorAll("[data-lately]")].map((place) => [place.dataset.lately, place]));
const silent = document.querySelector("[data-silent]");

function show({ minute, systems }) {
  const set = (name, text, bad = false) => { const tile = tiles.get(name); tile.querySelector("dd").textContent = text; tile.classList.toggle("bad", bad); };
  set("perSecond", rate(minute.perSecond));
  set("refused", minute.refused.toLocaleString("en"));
  set("failed", minute.failed.toLocaleString("en"), minute.failed > 0);
  set("p50", within(minute.p50));
  set("p99", within(minute.p99));
  for (const { system, lately } of systems) {
    const place = places.get(system);
    if (!place) continue;
    const [into, text] = place.children;
    if (!into.firstChild) into.append(spark());
    draw(into.firstChild, lately);
    text.textContent = `${rate(lately.minute.perSecond)} calls/s`;
  }
}

async function watch() {
  if (!document.hidden) {
    try { show(await ask("/console/traffic.json")); silent.hidden = true; }
    catch (error) { silent.hidden = false; silent.textContent = `The server does not answer: ${error.message}`; }
  }
  setTimeout(watch, EVERY_MS);
}
watch();
