// What the address of the page remembers: which part is shown, and what was written.

// A longer address is not opened everywhere.
const LONGEST = 60_000;

async function through(stream, bytes) {
  const done = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await done.arrayBuffer());
}

/** Text in letters that an address may have. */
async function packed(text) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  let binary = "";
  for (const byte of bytes) {
    binary += String.fromCharCode(byte);
  }
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes));
}

/** The state in the address; what cannot be read of it is left out. */
export async function read() {
  const fields = new URLSearchParams(location.hash.slice(1));
  const days = Number(fields.get("days"));
  const from = Date.parse(fields.get("from") ?? "");
  const state = {
    pool: fields.get("pool") ?? "",
    zone: fields.get("zone") ?? "",
    days: days > 0 && days <= 400 ? days : 0,
    from: Number.isNaN(from) ? null : from,
    texts: null,
  };
  if (fields.has("texts")) {
    try {
      const { policy, fleet } = JSON.parse(await unpacked(fields.get("texts")));
      state.texts = { policy: String(policy), fleet: String(fleet) };
    } catch {
      // An address that was cut off opens the page as it is.
    }
  }
  return state;
}

let turn = 0;

/** Writes it there; `texts` is null while they are those that were given. False where they are too long for an address. */
export async function write({ pool, zone, days, from, texts }) {
  turn += 1;
  const mine = turn;
  const fields = new URLSearchParams();
  const set = (name, value) => value && fields.set(name, value);
  set("pool", pool);
  set("zone", zone);
  set("days", days);
  set("from", from === null ? "" : new Date(from).toISOString());
  const written = texts ? await packed(JSON.stringify(texts)) : "";
  const fits = written.length <= LONGEST;
  set("texts", fits ? written : "");
  // What came later is written already.
  if (mine === turn) {
    history.replaceState(null, "", `#${fields}`);
  }
  return fits;
}
