// The drawing of one NodePool: windows as grounds, one row for each node, in order of the ends.

import * as explain from "./explain.js";
import { DAY, instant, ticks } from "./clock.js";

const SPACE = "http://www.w3.org/2000/svg";
const HEAD = 26;
const ROW = 36;
// More would take longer to draw than anybody looks at them; the table has all.
const ROWS = 200;

const LOOK = { surge: "surge", "surge into free room": "room", fallback: "fallback", expires: "expires", "called off": "off" };

function element(name, attributes, ...children) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** The rows of a pool: what ends, in that order, and then what has no end in sight. */
function rows(pool) {
  const ending = new Set(pool.calendar.map(({ claim }) => claim));
  const named = new Map(pool.claims.map((claim) => [claim.name, claim]));
  const idle = pool.claims.filter(({ name }) => !ending.has(name));
  return [
    ...pool.calendar.map((entry) => ({ entry, claim: named.get(entry.claim) })),
    ...idle.map((claim) => ({ entry: null, claim })),
  ];
}

/** From when to when everything of some pools is to be seen. */
export function reach(plan, pools) {
  const at = instant(plan.at);
  const ends = pools.flatMap((pool) => [
    ...pool.calendar.flatMap((entry) => [instant(entry.end), entry.successor ? null : instant(entry.deadline)]),
    ...pool.windows.slice(0, 1).map(({ close }) => instant(close)),
  ]);
  const starts = pools.flatMap((pool) => pool.calendar.map(({ start }) => instant(start)));
  const until = Math.min(Math.max(at + 2 * DAY, ...ends.filter((end) => end !== null)), instant(plan.until));
  const last = pools.map((pool) => instant(pool.lastRotationAt)).filter((then) => then !== null && then > at - (until - at) / 3);
  const from = Math.min(at, ...starts, ...last);
  const edge = (until - from) / 40;
  return { from: from - edge, until: until + edge };
}

/**
 * Draws a pool between two instants, so many pixels wide.
 *
 * `tell` gets the sentence of what is pointed at, or that has the focus.
 */
export function draw(pool, { from, until, at, zone, width, tell, lived }) {
  const all = rows(pool);
  const shown = all.slice(0, ROWS);
  const height = HEAD + Math.max(shown.length, 1) * ROW + 4;
  const place = (then) => ((then - from) / (until - from)) * width;
  const clamped = (then) => Math.min(Math.max(place(then), 0), width);
  const options = shown.map((row, index) => node(pool, row, index, { place, clamped, zone, width, tell, lived }));
  const kind = options.length ? { role: "listbox" } : { role: "img" };
  const svg = element("svg", {
    class: "timeline", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `Time line of ${pool.name}`, ...kind,
  });
  svg.append(ground(pool, { from, until, at, zone, width, height, place, clamped, tell }), ...options);
  walk(options);
  return { svg, left: all.length - shown.length };
}

/** Windows, lines of the axis, now, and the last rotation. */
function ground(pool, { from, until, at, zone, width, height, place, clamped, tell }) {
  const group = element("g", { "aria-hidden": "true" });
  for (const window of pool.windows) {
    const [open, close] = [instant(window.open), instant(window.close)];
    if (close < from || open > until) {
      continue;
    }
    const missed = pool.missedWindows.some((then) => instant(then) === open);
    const left = clamped(open);
    const size = { x: left, y: HEAD, width: Math.max(clamped(close) - left, 2), height: height - HEAD };
    const box = element("rect", { class: missed ? "window missed" : "window", ...size });
    box.addEventListener("pointerenter", () => tell(explain.opening(pool, open, close, zone)));
    group.append(box);
  }
  for (const { at: then, label } of ticks(from, until, zone, Math.max(Math.floor(width / 84), 2))) {
    const x = place(then);
    group.append(element("line", { class: "grid", x1: x, x2: x, y1: HEAD - 6, y2: height }));
    if (x < width - 60) {
      group.append(element("text", { class: "quietly", x: x + 3, y: 13 }, label));
    }
  }
  const mark = (then, kind) => {
    if (then !== null && then >= from && then <= until) {
      group.append(element("line", { class: kind, x1: place(then), x2: place(then), y1: HEAD - 8, y2: height }));
    }
  };
  mark(instant(pool.lastRotationAt), "last");
  mark(at, "now");
  return group;
}

/** One row, which can have the focus. */
function node(pool, { entry, claim }, index, { place, clamped, zone, width, tell, lived }) {
  const top = HEAD + index * ROW;
  const middle = top + 26;
  const sentence = entry ? explain.line(pool, entry, { zone, lived }) : explain.idle(claim, zone);
  // What is seen must be in what is heard, word for word.
  const label = entry ? explain.title(entry, zone) : `${claim.name}: no end in sight`;
  const heard = { "aria-selected": "false", "aria-label": sentence };
  const group = element("g", { role: "option", ...heard, tabindex: index === 0 ? 0 : -1 });
  group.append(element("rect", { class: "ground", x: 1.5, y: top + 1.5, width: width - 3, height: ROW - 3, rx: 4 }));
  const due = instant(claim?.due);
  const deadline = instant(entry?.deadline ?? claim?.deadline);
  if (due !== null) {
    const end = clamped(deadline ?? Number.MAX_SAFE_INTEGER);
    group.append(element("line", { class: "span", x1: clamped(due), x2: end, y1: middle, y2: middle }));
  }
  if (deadline !== null && place(deadline) >= 0 && place(deadline) <= width && entry?.how !== "expires") {
    group.append(element("path", { class: "deadline", d: `M${place(deadline)} ${middle - 5}l5 5l-5 5l-5-5z` }));
  }
  if (entry) {
    group.append(...bar(entry, middle, { place, clamped, width }));
  }
  group.append(element("text", { x: 5, y: top + 15, "aria-hidden": "true" }, label));
  group.addEventListener("pointerenter", () => tell(sentence));
  group.addEventListener("focus", () => tell(sentence));
  return group;
}

/** A rotation: the surge, then the drain; or the cross of a forced expiry. */
function bar(entry, middle, { place, clamped, width }) {
  const [start, drain, end] = [entry.start, entry.drain, entry.end].map(instant);
  if (place(end) < 0 || place(start) > width) {
    return [];
  }
  const look = LOOK[entry.how] ?? "surge";
  if (look === "expires") {
    const x = Math.min(Math.max(place(start), 7), width - 7);
    return [element("path", { class: look, d: `M${x - 5} ${middle - 5}l10 10m0-10l-10 10` })];
  }
  if (look === "off") {
    const length = Math.max(clamped(end) - clamped(start), 6);
    return [element("rect", { class: look, x: clamped(start), y: middle - 6, width: length, height: 12 })];
  }
  const [left, turn] = [clamped(start), clamped(drain)];
  // Minutes on an axis of weeks would not be seen.
  const right = Math.max(clamped(end), turn + 6);
  const drawn = [element("rect", { class: look, x: turn, y: middle - 6, width: right - turn, height: 12, rx: 2 })];
  if (turn - left > 0.5) {
    drawn.unshift(element("rect", { class: "wait", x: left, y: middle - 6, width: turn - left, height: 12 }));
  }
  return drawn;
}

/** The arrow keys go from row to row; Tab leaves them. */
function walk(options) {
  options.forEach((option, index) => {
    option.addEventListener("keydown", (event) => {
      const [on, back] = [index + 1, index - 1];
      const steps = { ArrowDown: on, ArrowRight: on, ArrowUp: back, ArrowLeft: back, Home: 0, End: options.length - 1 };
      const next = options[steps[event.key]];
      if (!next) {
        return;
      }
      event.preventDefault();
      next.focus();
    });
    option.addEventListener("focus", () => {
      for (const other of options) {
        other.setAttribute("tabindex", other === option ? 0 : -1);
        other.setAttribute("aria-selected", other === option ? "true" : "false");
      }
    });
  });
}
