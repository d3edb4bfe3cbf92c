// Sentences about what is drawn. They put what the plan says side by side and decide nothing.

import { duration, instant, moment } from "./clock.js";

/** An instant on the zone's clock, and in UTC where that differs. */
export function when(at, zone) {
  const there = `${moment(at, zone)} ${zone}`;
  return zone === "UTC" ? there : `${there} (${moment(at, "UTC")} UTC)`;
}

const HOW = {
  surge: "a new node comes first",
  "surge into free room": "a node that is there has room for its Pods",
  fallback: "near the deadline, without a replacement first",
  expires: "no rotation comes in time: Karpenter deletes the node by force",
  "called off": "no replacement comes in time, or Karpenter is quicker",
};

/** Why a rotation begins when it does, as far as the plan shows it; the core decides, and this only compares. */
function because(pool, line, claim, zone) {
  const start = instant(line.start);
  const near = (at) => at !== null && Math.abs(at - start) < 60_000;
  if (line.how === "expires") {
    return pool.windows.length ? "No rotation of it begins in the windows before." : "No window opens before it.";
  }
  const window = pool.windows.find(({ open, close }) => instant(open) <= start && start < instant(close));
  const before = pool.calendar.filter((other) => instant(other.start) < start).at(-1);
  if (claim && near(instant(claim.due))) {
    return "It becomes due at that time, in an open window.";
  }
  if (window && near(instant(window.open))) {
    return "That is when the window opens.";
  }
  if (before && window && instant(before.start) >= instant(window.open)) {
    return `In the window that closes ${when(instant(window.close), zone)}, after ${before.claim}.`;
  }
  return window ? `In the window that closes ${when(instant(window.close), zone)}.` : "";
}

/** The beginning of such a sentence, which stands beside the bar. */
export function title(entry, zone) {
  return `${entry.claim}${entry.successor ? " (yet to come)" : ""}: ${entry.how}, ${moment(instant(entry.start), zone)}`;
}

/** What will become of a node, and why; begins with the title. */
export function line(pool, entry, { zone, lived }) {
  const claim = pool.claims.find(({ name }) => name === entry.claim);
  const expires = entry.how === "expires";
  const off = entry.how === "called off";
  const there = when(instant(entry.start), zone).slice(moment(instant(entry.start), zone).length);
  const words = [
    `${title(entry, zone)}${there}; ${HOW[entry.how] ?? ""}.`,
    entry.node && entry.node !== entry.claim ? `Its Node is ${entry.node}.` : "",
    because(pool, entry, claim, zone),
  ];
  if (off) {
    words.push(`Over at ${moment(instant(entry.end), zone)}.`);
  } else if (!expires) {
    const gone = lived ? "gone at" : "expected to be gone by";
    words.push(`Drains from ${moment(instant(entry.drain), zone)}, ${gone} ${moment(instant(entry.end), zone)}.`);
  }
  if (claim?.due) {
    words.push(`Due from ${moment(instant(claim.due), zone)}.`);
  }
  if (entry.deadline && off) {
    words.push(`Deadline ${moment(instant(entry.deadline), zone)}.`);
  } else if (entry.deadline && !expires) {
    words.push(`Deadline ${moment(instant(entry.deadline), zone)}, a margin of ${duration(entry.margin ?? "0s")}.`);
  }
  if (claim) {
    words.push(`Now: ${claim.reason}.`, held(claim));
  }
  return words.filter(Boolean).join(" ");
}

/** A node whose end is not in sight. */
export function idle(claim, zone) {
  const due = claim.due ? `Due from ${when(instant(claim.due), zone)}` : "Never due";
  const deadline = claim.deadline ? `deadline ${when(instant(claim.deadline), zone)}` : "no deadline";
  return [`${claim.name}: no end in sight. ${due}, ${deadline}. Now: ${claim.reason}.`, held(claim)].filter(Boolean).join(" ");
}

function held(claim) {
  const parts = [];
  if (claim.heldByBudgets.length) {
    parts.push(`PodDisruptionBudgets ${claim.heldByBudgets.join(", ")} allow no eviction`);
  }
  if (claim.heldByPods.length) {
    parts.push(`Pods ${claim.heldByPods.join(", ")} ask not to be disrupted`);
  }
  return parts.length ? `Its drain would be held up: ${parts.join("; ")}.` : "";
}

/** A window. */
export function opening(pool, open, close, zone) {
  const missed = pool.missedWindows.some((at) => instant(at) === open);
  const begins = ({ start, how }) => how !== "expires" && instant(start) >= open && instant(start) < close;
  const inside = pool.calendar.filter(begins).length;
  const starts = inside === 1 ? "1 rotation begins in it" : `${inside} rotations begin in it`;
  const told = missed ? "it goes by unused although nodes are due" : starts;
  return `Window from ${when(open, zone)} to ${moment(close, zone)}: ${told}.`;
}
