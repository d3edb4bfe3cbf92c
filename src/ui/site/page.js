// What is asked of the server, what is shown of its answer, and what follows when somebody changes either.

import { DAY, instant, knows, moment } from "./clock.js";
import { figures, make, section } from "./pool.js";
import { reach } from "./timeline.js";
import * as address from "./state.js";

const at = (id) => document.getElementById(id);
const state = { pool: "", zone: "", days: 0, from: null, texts: null };
// Pools that are drawn at once; with more of them one is chosen.
const POOLS = 25;
// Who types is not drawn after every letter.
const PAUSE = 300;

let given = null;
let plan = null;
let asking = null;

/** Asks for a plan, draws it, or tells why there is none; the answer to an older question is dropped. */
async function ask() {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  at("plan").setAttribute("aria-busy", "true");
  const headers = { "Content-Type": "application/json" };
  const send = state.texts && { method: "POST", body: JSON.stringify(state.texts), headers };
  let answer;
  try {
    const response = await fetch("plan.json", { ...send, signal: mine.signal, cache: "no-store" });
    answer = await response.json();
  } catch (error) {
    if (mine.signal.aborted) {
      return;
    }
    answer = { faults: [{ message: `The server does not answer: ${error.message}` }] };
  }
  if (mine !== asking) {
    return;
  }
  tellFaults(answer.faults ?? []);
  if (!answer.faults) {
    plan = answer;
    choices();
    render();
  }
  at("plan").setAttribute("aria-busy", "false");
}

/** All of them, each with a way to its place. */
function tellFaults(faults) {
  const items = faults.map(({ at: place, field, message }) => {
    const words = `${field ? `${field}: ` : ""}${message}`;
    const [text, row, column] = (place ?? "").split(":");
    const area = { policy: at("policy"), cluster: at("fleet"), fleet: at("fleet") }[text];
    if (!area) {
      return make("li", {}, place ? `${place}: ${words}` : words);
    }
    const way = make("button", { type: "button" }, place);
    way.addEventListener("click", () => putCursor(area, Number(row), Number(column)));
    return make("li", {}, way, ` ${words}`);
  });
  const head = plan && faults.length ? "The picture is that of the last texts without faults." : "";
  at("faults").replaceChildren(...(items.length ? [make("strong", {}, `Not drawn. ${head}`), make("ul", {}, ...items)] : []));
}

function putCursor(area, row, column) {
  const lines = area.value.split("\n");
  const before = lines.slice(0, row - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const place = before + Math.max(column - 1, 0);
  area.focus();
  area.setSelectionRange(place, place + 1);
}

/** Pools and zones that can be chosen. */
function choices() {
  const options = (names, chosen) => names.map(([value, words]) => {
    const option = make("option", { value }, words);
    option.selected = value === chosen;
    return option;
  });
  const names = plan.pools.map(({ name }) => [name, name]);
  at("pool").replaceChildren(...options([["", `all (${names.length})`], ...names], state.pool));
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zones = new Set(["UTC", own, ...plan.pools.flatMap((pool) => pool.calendar.map(({ timezone }) => timezone))]);
  if (state.zone) {
    zones.add(state.zone);
  }
  const known = [...zones].filter(knows);
  at("zone").replaceChildren(...options(known.map((zone) => [zone, zone]), zone()));
  at("days").value = state.days ? String(state.days) : "";
}

/** The zone that was chosen, or that of the windows where all have one. */
function zone() {
  if (state.zone && knows(state.zone)) {
    return state.zone;
  }
  const zones = new Set(plan.pools.flatMap((pool) => pool.calendar.map(({ timezone }) => timezone)));
  const [only] = zones;
  return zones.size === 1 && knows(only) ? only : "UTC";
}

function shown() {
  const chosen = plan.pools.filter(({ name }) => name === state.pool);
  return chosen.length ? chosen : plan.pools.slice(0, POOLS);
}

/** From when to when is shown. */
function range() {
  const whole = reach(plan, shown());
  const length = state.days ? state.days * DAY : whole.until - whole.from;
  const from = state.from ?? whole.from;
  return { from, until: from + length };
}

function render() {
  const clock = zone();
  const pools = shown();
  const width = Math.max(Math.floor(at("plan").clientWidth), 240);
  const view = { ...range(), at: instant(plan.at), zone: clock, width, tell, lived: Boolean(plan.lived) };
  const ends = plan.pools.flatMap(({ calendar }) => calendar).filter(({ successor }) => !successor);
  const expired = ends.filter(({ how }) => how === "expires").length;
  const rotated = ends.filter(({ how }) => !["expires", "called off"].includes(how)).length;
  const lived = `From ${moment(view.at, clock)} to ${moment(instant(plan.until), clock)} ${clock}`;
  const as = view.lived ? lived : `As of ${moment(view.at, clock)} ${clock}`;
  at("as-of").textContent = `${as}: ${rotated} nodes are rotated, ${expired} expire by force.`;
  const left = plan.pools.length - pools.length;
  const more = !state.pool && left > 0 ? [make("p", {}, `${left} more NodePools are there; choose one above.`)] : [];
  const items = plan.notes.map((note) => make("li", {}, note));
  const notes = items.length ? [make("ul", { class: "findings quiet" }, ...items)] : [];
  const none = plan.pools.length ? [] : [make("p", {}, "There is no NodePool.")];
  const open = [...at("plan").querySelectorAll("details")].map((details) => details.open);
  const sections = pools.map((pool, index) => section(pool, { ...view, index }));
  at("plan").replaceChildren(...none, ...figures(plan.figures ?? []), ...sections, ...more, ...notes);
  [...at("plan").querySelectorAll("details")].forEach((details, index) => {
    details.open = open[index] ?? false;
  });
}

function tell(sentence) {
  at("explanation").textContent = sentence;
}

/** Another part of the same plan. */
function show(change) {
  Object.assign(state, change);
  if (plan) {
    render();
  }
  void remember();
}

async function remember() {
  if (!(await address.write(state))) {
    tell("The texts are too long for the address of this page, which remembers all else.");
  }
}

function move(part) {
  const { from, until } = range();
  const lengths = [...at("days").options].map(({ value }) => Number(value)).filter(Boolean);
  // What moves has a length of its own from then on: the least of the choices that shows as much.
  const days = state.days || (lengths.find((length) => length * DAY >= until - from) ?? lengths.at(-1));
  show({ from: Math.round((from + (until - from) * part) / 1000) * 1000, days });
  at("days").value = String(days);
}

/** `auto` follows the machine. */
function theme(next) {
  const root = document.documentElement;
  if (next === "auto") {
    delete root.dataset.theme;
  } else {
    root.dataset.theme = next;
  }
  at("theme").textContent = `Theme: ${next}`;
  try {
    localStorage.setItem("theme", next);
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}

function rememberedTheme() {
  try {
    const found = localStorage.getItem("theme");
    return ["dark", "light"].includes(found) ? found : "auto";
  } catch {
    return "auto";
  }
}

function listen() {
  at("pool").addEventListener("change", ({ target }) => show({ pool: target.value, from: null }));
  at("zone").addEventListener("change", ({ target }) => show({ zone: target.value }));
  at("days").addEventListener("change", ({ target }) => {
    show({ days: Number(target.value), from: target.value ? state.from : null });
  });
  at("earlier").addEventListener("click", () => move(-0.5));
  at("later").addEventListener("click", () => move(0.5));
  at("now").addEventListener("click", () => show({ from: null }));
  at("refresh").addEventListener("click", () => void ask());
  at("theme").addEventListener("click", () => {
    const order = ["auto", "dark", "light"];
    theme(order[(order.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % order.length]);
  });
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const changed = Math.floor(contentRect.width) !== width;
    width = Math.floor(contentRect.width);
    // Between two frames, so that the height that follows is no surprise to the observer.
    if (changed && plan) {
      requestAnimationFrame(render);
    }
  }).observe(at("plan"));
}

/** The texts, where the server lets them be edited. */
function edit() {
  if (given.subject === "simulation") {
    at("editor-note").textContent = "What is written here is lived through and never applied.";
    at("fleet-label").textContent = "Fleet: pools, and what happens to them";
  }
  const areas = [at("policy"), at("fleet")];
  let pause = 0;
  const changed = () => {
    const texts = { policy: at("policy").value, fleet: at("fleet").value };
    const same = texts.policy === given.policy && texts.fleet === given.fleet;
    state.texts = same ? null : texts;
    void remember();
    void ask();
  };
  for (const area of areas) {
    area.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(changed, PAUSE);
    });
  }
  const fill = ({ policy, fleet }) => {
    at("policy").value = policy;
    at("fleet").value = fleet;
  };
  at("restore").addEventListener("click", () => {
    clearTimeout(pause);
    fill(given);
    changed();
  });
  fill(state.texts ?? given);
  at("editor").hidden = false;
  at("columns").classList.add("editing");
}

async function begin() {
  theme(rememberedTheme());
  Object.assign(state, await address.read());
  listen();
  try {
    const response = await fetch("start.json", { cache: "no-store" });
    given = await response.json();
  } catch (error) {
    tellFaults([{ message: `The server does not answer: ${error.message}` }]);
    return;
  }
  if (given.edit) {
    edit();
  } else {
    state.texts = null;
  }
  await ask();
}

void begin();
