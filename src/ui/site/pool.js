// One NodePool: what governs it, what is wrong, its time line, and the same as tables.

import { duration, instant, moment, span } from "./clock.js";
import { when } from "./explain.js";
import { draw } from "./timeline.js";

// Openings that a plan tells of a pool at most.
const WINDOWS = 1000;

/** An element with attributes and children; texts stay texts. */
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Figures of all NodePools, where the server has counted. */
export function figures(counted) {
  if (!counted.length) {
    return [];
  }
  const items = counted.flatMap(([name, figure]) => [make("dt", {}, name), make("dd", {}, figure)]);
  return [make("section", { "aria-label": "Figures" }, make("dl", { class: "figures" }, ...items))];
}

/** The whole section. */
export function section(pool, view) {
  const id = `pool-${view.index}`;
  const made = make("section", { class: "pool", "aria-labelledby": id });
  const by = pool.governedBy ? `Governed by ${pool.governedBy}` : "Not governed";
  made.append(make("h2", { id }, `NodePool ${pool.name}`), make("p", {}, `${by}: ${pool.why}.`));
  if (pool.governedBy && pool.state) {
    made.append(make("p", { class: "quiet" }, `${pool.state}: ${pool.sentence}`));
  }
  made.append(...wrong(pool, view.zone));
  if (pool.windows.length || pool.calendar.length || pool.claims.length) {
    const { svg, left } = draw(pool, view);
    made.append(svg, legend(pool));
    if (left > 0) {
      made.append(make("p", { class: "quiet" }, `${left} more nodes are in the table only.`));
    }
    if (pool.windows.length >= WINDOWS) {
      const last = when(instant(pool.windows.at(-1).close), view.zone);
      made.append(make("p", { class: "quiet" }, `Windows are drawn until ${last}; there may be more.`));
    }
  }
  made.append(calendar(pool, view), claims(pool, view.zone), derived(pool, view.zone));
  return made;
}

/** Faults, findings, and windows that go by. */
function wrong(pool, zone) {
  const items = [
    ...pool.faults.map(({ field, message }) => ["bad", "error", `${field}: ${message}`]),
    ...pool.findings.map(({ level, code, message }) => [level === "fatal" ? "bad" : "doubt", level, `${code}: ${message}`]),
    ...pool.missedWindows.map((at) => ["doubt", "missed", `the window of ${when(instant(at), zone)} goes by unused`]),
  ];
  if (!items.length) {
    return [];
  }
  const line = ([kind, word, text]) => make("li", {}, make("span", { class: `tag ${kind}` }, word), ` ${text}`);
  return [make("ul", { class: "findings" }, ...items.map(line))];
}

/** What the signs mean that this pool has. */
function legend(pool) {
  const has = (how) => pool.calendar.some((entry) => entry.how === how);
  const signs = [
    [pool.windows.length, "window", "window"],
    [pool.claims.some(({ due }) => due), "span", "due until its deadline"],
    [pool.calendar.some(({ deadline, how }) => deadline && how !== "expires"), "deadline", "deadline"],
    [has("surge") || has("surge into free room"), "wait", "new node comes"],
    [has("surge"), "surge", "drain after a surge"],
    [has("surge into free room"), "room", "drain into free room"],
    [has("fallback"), "fallback", "fallback"],
    [has("expires"), "expires", "forced expiry"],
    [has("called off"), "off", "called off"],
  ];
  const shown = signs.filter(([there]) => there);
  const words = shown.map(([, kind, word]) => make("span", { class: kind }, word));
  return make("p", { class: "legend", "aria-hidden": "true" }, ...words);
}

function table(caption, head, rows) {
  const line = (cells) => make("tr", {}, ...cells.map((cell) => (cell instanceof Node ? cell : make("td", {}, cell))));
  const heads = head.map((word) => make("th", { scope: "col" }, word));
  return make(
    "div",
    { class: "scroll", role: "region", tabindex: 0, "aria-label": caption },
    make(
      "table",
      {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...rows.map(line)),
    ),
  );
}

/** The ends of all nodes: the same as the drawing, for whoever reads. */
function calendar(pool, { zone, lived }) {
  if (!pool.calendar.length) {
    return make("p", {}, lived ? "There is no rotation." : "No rotation is in sight.");
  }
  const rows = pool.calendar.map((entry) => [
    moment(instant(entry.start), zone),
    entry.successor ? `${entry.claim} (yet to come)` : entry.claim,
    make("td", entry.how === "expires" ? { class: "bad" } : {}, entry.how),
    ["expires", "called off"].includes(entry.how) ? "none" : entry.margin ? duration(entry.margin) : "no deadline",
    moment(instant(entry.end), zone),
    entry.deadline ? moment(instant(entry.deadline), zone) : "none",
    entry.node ?? "",
  ]);
  const head = [`Start (${zone})`, "NodeClaim", "How", "Margin", "End", "Deadline", "Node"];
  return table(`Calendar of ${pool.name}`, head, rows);
}

function claims(pool, zone) {
  if (!pool.claims.length) {
    return "";
  }
  const rows = pool.claims.map((claim) => [
    claim.name,
    claim.age ? duration(claim.age) : "unknown",
    claim.due ? moment(instant(claim.due), zone) : "never",
    claim.deadline ? moment(instant(claim.deadline), zone) : "never",
    make("td", { class: "long" }, claim.reason),
    make("td", { class: "long" }, [...claim.heldByBudgets, ...claim.heldByPods].join(", ") || "nothing"),
  ]);
  const head = ["NodeClaim", "Age", `Due (${zone})`, "Deadline", "Now", "Would hold its drain up"];
  const summary = make("summary", {}, `NodeClaims now (${pool.claims.length})`);
  return make("details", {}, summary, table(`NodeClaims of ${pool.name}`, head, rows));
}

/** Derived values and gates. */
function derived(pool, zone) {
  if (!pool.formulas.length && !pool.gates.length) {
    return "";
  }
  const items = pool.formulas.map(({ name, formula }) => [name, formula]);
  for (const { gate, open, until } of pool.gates) {
    const closed = until ? `closed until ${when(instant(until), zone)}` : "closed";
    items.push([gate, open ? "open" : closed]);
  }
  if (pool.lastRotationAt) {
    items.push(["last rotation", `ended ${when(instant(pool.lastRotationAt), zone)}`]);
  }
  if (pool.windows.length) {
    const [open, close] = [pool.windows[0].open, pool.windows[0].close].map(instant);
    items.push(["next window", `${when(open, zone)}, for ${span(close - open)}`]);
  }
  const list = make("dl", {}, ...items.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
  return make("details", {}, make("summary", {}, "Derived values and gates"), list);
}
