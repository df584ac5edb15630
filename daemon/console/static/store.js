// What the page knows, and only what the daemon has committed. Nothing is shown before its answer.

import { ask, newKey } from "./api.js";

const SILENT_AFTER = 7000; // ms without an event or a beat (one comes every 2 s)
const RETRY_AFTER = 700; // ms
const REPEAT_FOR = 10000; // ms that an unanswered act is sent again, under its one key
const SAME_PRESS = 400; // ms in which a second tap on one button is the first one's echo
const PRESENCE_EVERY = 60000; // ms
const EVENTS_KEPT = 200;
const KINDS = [
  "act", "device", "link", "started", "noticed", "time-up", "snapshot", "pool-seen", "pool-lost", "award-decided",
];

export const state = {
  session: undefined, // undefined: not asked yet; null: nobody
  live: "connecting", // live, reconnecting or stale
  heard: null, // when the last sign of life came
  table: null, // {status, acts, round}
  tableAt: 0, // when it came
  events: [], // of the present round, oldest first
  pending: new Map(), // control -> act, until the daemon has answered
  told: null, // what became of the last act
};

let changed = () => {};
let stream = null;
let lastSeq = null;
let fetching = false;
let again = false;
let lastPress = { control: "", at: 0 };
let presenceTold = 0;

export function onChange(handler) {
  changed = handler;
}

export const isLive = () => state.live === "live";

// --- who is there ---------------------------------------------------------------------------

export async function whoIsThere() {
  const { status, data } = await ask("/session");
  if (status === 200) state.session = data;
  else if (status === 204) leave();
  changed();
  return status;
}

export async function signIn(name, pin) {
  const answer = await ask("/session", { method: "POST", body: { name, pin } });
  if (answer.status === 201) {
    state.session = answer.data;
    state.told = null;
    listen();
  }
  changed();
  return answer;
}

export async function unlock(pin) {
  const answer = await ask("/session/unlock", { method: "POST", body: { pin } });
  if (answer.status === 200) {
    state.session = answer.data;
    listen();
  }
  changed();
  return answer;
}

export async function lock() {
  const answer = await ask("/session/lock", { method: "POST" });
  if (answer.status === 200) state.session = answer.data;
  changed();
}

export async function signOut() {
  await ask("/session", { method: "DELETE" });
  leave();
}

function leave() {
  stream?.close();
  stream = null;
  lastSeq = null;
  Object.assign(state, { session: null, table: null, events: [], live: "connecting", told: null });
  state.pending.clear();
  changed();
}

/** Somebody touched the page: the session does not lock itself meanwhile. */
export function present() {
  const now = Date.now();
  if (!state.session || state.session.locked || now - presenceTold < PRESENCE_EVERY) return;
  presenceTold = now;
  ask("/session", { method: "PUT" });
}

// --- what is committed ------------------------------------------------------------------------

export async function start() {
  setInterval(watch, 500);
  await ready();
}

async function ready() {
  const status = await whoIsThere();
  if (status === 200 && !state.session.locked) await listen();
  else if (status === 0 || status >= 500) retry();
}

function retry() {
  if (state.live === "live" || state.live === "stale") state.live = "reconnecting";
  changed();
  setTimeout(ready, RETRY_AFTER);
}

async function listen() {
  stream?.close();
  if (!(await refresh())) return;
  const after = lastSeq ?? roundBegan() ?? state.table.status.seq;
  stream = new EventSource(`/api/events?after=${after}`);
  for (const kind of KINDS) {
    stream.addEventListener(kind, (message) => arrived(JSON.parse(message.data)));
  }
  stream.addEventListener("beat", heard);
  stream.onerror = () => {
    // A retry of our own: whether the session has ended, or the daemon, is another question first.
    stream.close();
    stream = null;
    if (state.session) retry();
  };
}

function roundBegan() {
  const { status, round } = state.table;
  return status.round !== null && round?.id === status.round ? round.inputs[0] - 1 : null;
}

function heard() {
  state.heard = Date.now();
  if (state.live === "live") return;
  state.live = "live";
  refresh(); // whatever happened meanwhile
  changed();
}

function arrived(event) {
  heard();
  lastSeq = event.seq;
  state.events = [...state.events, event].slice(-EVENTS_KEPT);
  if (event.seq > (state.table?.status.seq ?? 0)) refresh();
}

function watch() {
  if (state.live === "live" && Date.now() - state.heard > SILENT_AFTER) {
    state.live = "stale";
    changed();
  }
}

/** Ask for the table once more. Questions do not pile up: one more is asked when this one is answered. */
export async function refresh() {
  if (fetching) {
    again = true;
    return true;
  }
  fetching = true;
  try {
    do {
      again = false;
      const { status, data } = await ask("/api/table");
      if (status === 200) Object.assign(state, { table: data, tableAt: Date.now() });
      else return failed(status);
      changed();
    } while (again);
  } finally {
    fetching = false;
  }
  return true;
}

function failed(status) {
  if (status === 401) leave();
  else if (status === 423) whoIsThere();
  else if (!stream) retry();
  return false;
}

// --- acts -------------------------------------------------------------------------------------

export const act = (name) => state.table?.acts.find((each) => each.name === name);

/** Whether this person may do `name` now, as far as the state alone decides. */
export function can(name) {
  const found = act(name);
  return Boolean(found?.may && found.now.allowed && isLive());
}

/** Why `name` is not possible now, "" when it is. */
export const whyNot = (name) => (can(name) ? "" : act(name)?.now.reason ?? "");

/**
 * One press of the button `control`: one act, however often it is tapped or sent.
 * The answer, or null when the press was an echo of the one before.
 */
export async function press(control, name, args = {}, { label, replaces = 0, second } = {}) {
  const now = Date.now();
  const echo = control === lastPress.control && now - lastPress.at < SAME_PRESS;
  lastPress = { control, at: now };
  if (echo || state.pending.has(control) || !isLive()) return null;
  state.pending.set(control, name);
  state.told = null;
  changed();
  const body = { args, key: newKey(), replaces, ...(second ? { second } : {}) };
  const answer = await untilAnswered(name, body, now + REPEAT_FOR);
  state.pending.delete(control);
  state.told = { name, args, label, ...answer };
  changed();
  if (answer.outcome === "refused") refresh();
  return answer;
}

async function untilAnswered(name, body, giveUp) {
  for (;;) {
    const { status, data } = await ask(`/api/acts/${name}`, { method: "POST", body });
    if (status === 200) return { outcome: "accepted", answer: data };
    if (status === 401 || status === 423) whoIsThere();
    else if (status === 0 || status >= 500) {
      if (Date.now() > giveUp) return { outcome: "lost", answer: data };
      await new Promise((wake) => setTimeout(wake, RETRY_AFTER));
      continue;
    }
    return { outcome: "refused", answer: data };
  }
}
