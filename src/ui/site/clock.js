// Instants on the clock of a zone, durations as people say them, and where an axis gets its lines.

const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const formats = new Map();

function format(zone, kind, options) {
  const key = `${kind} ${zone}`;
  if (!formats.has(key)) {
    formats.set(key, new Intl.DateTimeFormat("en-GB", { timeZone: zone, hourCycle: "h23", ...options }));
  }
  return formats.get(key);
}

/** Whether this browser knows a zone of that name. */
export function knows(zone) {
  try {
    return Boolean(format(zone, "day", { weekday: "short", day: "numeric", month: "short" }));
  } catch {
    return false;
  }
}

/** Milliseconds of an instant as the plan writes it; null where there is none. */
export function instant(text) {
  const at = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/** `Sat 2026-12-05 02:00`. */
export function moment(at, zone) {
  const parts = format(zone, "moment", {
    weekday: "short", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit",
  }).formatToParts(at);
  const of = (type) => parts.find((part) => part.type === type).value;
  return `${of("weekday")} ${of("year")}-${of("month")}-${of("day")} ${of("hour")}:${of("minute")}`;
}

/** `Sat 5 Dec`. */
export function day(at, zone) {
  const parts = format(zone, "day", { weekday: "short", day: "numeric", month: "short" }).formatToParts(at);
  const of = (type) => parts.find((part) => part.type === type).value;
  return `${of("weekday")} ${of("day")} ${of("month")}`;
}

/** `02:00`. */
function time(at, zone) {
  return moment(at, zone).slice(-5);
}

/** How far a zone's clock is ahead of UTC then. */
function offset(at, zone) {
  const [date, clock] = moment(at, zone).slice(4).split(" ");
  return Date.parse(`${date}T${clock}:00Z`) - Math.floor(at / MINUTE) * MINUTE;
}

/** A duration in Go's form, for people: `9721m30s` is `6d18h1m`. */
export function duration(text) {
  const units = { h: HOUR, m: MINUTE, s: 1000, ms: 1, "µs": 0, us: 0, ns: 0 };
  const negative = text.startsWith("-");
  let rest = 0;
  for (const [, number, unit] of text.matchAll(/([\d.]+)(ms|µs|us|ns|h|m|s)/g)) {
    rest += Number(number) * units[unit];
  }
  return (negative ? "-" : "") + span(rest);
}

/** The same of milliseconds, to the minute. */
export function span(milliseconds) {
  const days = Math.floor(milliseconds / DAY);
  const hours = Math.floor((milliseconds % DAY) / HOUR);
  const minutes = Math.floor((milliseconds % HOUR) / MINUTE);
  return `${days ? `${days}d` : ""}${hours ? `${hours}h` : ""}${minutes ? `${minutes}m` : ""}` || "0m";
}

/** At most `count` round instants of a zone's clock between two, with a label each. */
export function ticks(from, until, zone, count) {
  const steps = [HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 84 * DAY, 364 * DAY];
  const step = steps.find((candidate) => (until - from) / candidate <= count) ?? steps.at(-1);
  const found = [];
  const first = from + offset(from, zone);
  // Days and weeks begin at midnight of the zone; hours are those of its clock.
  for (let local = Math.ceil(first / step) * step; found.length <= count; local += step) {
    const at = local - offset(local - offset(local, zone), zone);
    if (at >= until) {
      break;
    }
    found.push({ at, label: step < DAY && time(at, zone) !== "00:00" ? time(at, zone) : day(at, zone) });
  }
  return found;
}
