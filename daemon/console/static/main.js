// The page: who is there, what is live, and one view of what the daemon has committed.

import { h, render } from "./dom.js";
import { clock, language, money, setGame, setLanguage, setZone, t, term } from "./i18n.js";
import { isLive, lock, onChange, present, signOut, start, state } from "./store.js";
import { closeDialog, onRedraw, openDialog, ui, update } from "./ui.js";
import { sheet, toldLine } from "./parts.js";
import { dealerKey, dealerView } from "./views/dealer.js";
import { supervisorView, waiting } from "./views/supervisor.js";
import { studKey, studView } from "./views/stud.js";
import { technicianView } from "./views/technician.js";
import { auditorView } from "./views/auditor.js";
import { genericView } from "./views/acts.js";
import { follow, playerView } from "./views/player.js";
import { lockedView, loginView } from "./views/login.js";

const isPlayerScreen = location.pathname === "/player";
/** The dealer's view of each game; a game that has none is played from the list of its acts. */
const DEALS = { caribbean: dealerView, "five-card": studView };
const KEYS = { caribbean: dealerKey, "five-card": studKey };
const VIEWS = {
  dealer: (table) => (DEALS[table.status.game] ?? genericView)(table),
  supervisor: supervisorView, technician: technicianView, auditor: auditorView,
};
/** Which views a role has; the first one is where it begins. */
const OF_ROLE = {
  dealer: ["dealer"],
  supervisor: ["supervisor", "dealer", "technician", "auditor"],
  technician: ["technician", "dealer"],
  auditor: ["auditor", "supervisor", "technician"],
};

const TICK = 500; // ms; the time of a decision runs on the screen

let drawn = false;

function draw() {
  drawn = false;
  document.body.className = isPlayerScreen ? "player-screen" : isLive() ? "live" : "not-live";
  if (isPlayerScreen) {
    render(top_(), h("div", { class: "bar" }, h("span", { class: "brand" }, "feltd"), h("div", { class: "who" }, languageButton())));
    render(main(), playerView());
    return;
  }
  chooseView();
  setGame(state.table?.status.game);
  setZone(state.table?.status.house?.time_zone);
  if (ui.dialog && (!state.session || state.session.locked || !state.table)) closeDialog();
  render(top_(), bar());
  render(byId("banner"), banner());
  render(main(), view());
  render(byId("told"), state.session ? toldLine() : null);
  byId("told").hidden = !state.session;
  render(byId("dialog"), ui.dialog ? ui.dialog() : []);
  document.dispatchEvent(new CustomEvent("feltd:drawn", { detail: { seq: state.table?.status.seq } }));
}

/** Whoever signs in begins with the first view of his role. */
function chooseView() {
  const views = state.session ? OF_ROLE[state.session.role] : [];
  if (!views.includes(ui.view)) ui.view = views[0] ?? null;
}

/** Several changes of one moment are one picture. */
function redraw() {
  if (drawn) return;
  drawn = true;
  queueMicrotask(draw);
}

const byId = (id) => document.getElementById(id);
const main = () => byId("main");
const top_ = () => byId("top");

// --- the bar ----------------------------------------------------------------------------------

function bar() {
  const { session, table } = state;
  const status = table?.status;
  return h("div", { class: "bar" },
    h("div", { class: "where" },
      h("b", { class: "brand" }, status ? status.table : "feltd"),
      status ? h("span", { class: "chip state", "data-state": status.state }, term("state", status.state)) : null,
      status?.round ? h("span", { class: "round" }, t("top.round", { id: status.round })) : null,
      status ? h("span", { class: "mode" }, term("mode", status.mode)) : null),
    status?.pool ? h("p", { class: "jackpot", "aria-label": `${t("top.jackpot")} ${money(status.pool.now)}` }, h("span", { "aria-hidden": "true" }, t("top.jackpot")), h("b", {}, money(status.pool.now))) : null,
    session && !session.locked ? tabs(session, table) : null,
    h("div", { class: "who" },
      session ? liveChip(status) : null,
      session && !session.locked ? h("button", { type: "button", class: "quiet person", "data-key": "person", onclick: personSheet }, h("span", {}, session.name)) : null,
      languageButton()));
}

function tabs(session, table) {
  const views = OF_ROLE[session.role];
  if (views.length < 2) return h("nav", { "aria-label": t("app.views") });
  const todo = table ? waiting(table) : 0;
  return h("nav", { "aria-label": t("app.views") }, views.map((name) =>
    h("button", { type: "button", "data-key": name, class: "tab", "aria-current": ui.view === name ? "page" : null, onclick: () => go(name) },
      t(`view.${name}`), name === "supervisor" && todo ? h("span", { class: "count" }, todo) : null)));
}

function go(view) {
  update({ view });
  main().scrollTop = 0;
}

function liveChip(status) {
  return h("span", { class: "chips-live" },
    status?.simulated ? h("span", { class: "chip simulated", title: t("live.simulated.text") }, t("live.simulated")) : null,
    h("span", { class: `chip liveness ${state.live}`, "data-live": state.live }, t(`live.${state.live}`)));
}

function languageButton() {
  return h("button", { type: "button", class: "quiet language", "data-key": "language", lang: language() ? "en" : "zh-Hant", "aria-label": t("app.language.label"), onclick: switchLanguage }, t("app.language"));
}

function switchLanguage() {
  setLanguage(1 - language());
  byId("skip").textContent = t("app.skip");
  redraw();
}

function personSheet() {
  openDialog(() => sheet(state.session?.name ?? "", [
    h("p", { class: "lead" }, term("role", state.session?.role)),
    h("h3", {}, t("keys.title")),
    h("dl", { class: "facts keys-list" }, [["Enter", "enter"], ["1 – 8", "boxes"], ["R", "raise"], ["C", "call"], ["F", "fold"], ["U", "undo"], ["I", "irregular"], ["A", "acts"], ["L", "language"]].map(([key, what]) =>
      h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, t(`keys.${what}`))))),
  ], [
    h("a", { class: "button quiet", href: "/player", target: "_blank", rel: "noopener" }, t("view.player")),
    h("button", { type: "button", class: "quiet", onclick: () => { closeDialog(); lock(); } }, t("login.lock")),
    h("button", { type: "button", class: "quiet", onclick: () => { closeDialog(); signOut(); } }, t("app.sign-out")),
  ]));
}

// --- not live ---------------------------------------------------------------------------------

function banner() {
  if (!state.session || state.session.locked || isLive()) return null;
  if (state.live === "connecting") return null;
  return h("p", { class: `not-live ${state.live}` }, h("b", {}, t(`live.${state.live}`)), " ", t(`live.${state.live}.text`, { at: clock(state.heard) }));
}

function view() {
  const { session, table } = state;
  if (session === undefined) return h("p", { class: "loading" }, t("app.loading"));
  if (session === null) return loginView();
  if (session.locked) return lockedView();
  if (!table) return h("p", { class: "loading" }, t("app.loading"));
  return h("div", { class: "view", "data-key": ui.view }, VIEWS[ui.view](table));
}

// --- keys -------------------------------------------------------------------------------------

function key(event) {
  present();
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.altKey || event.metaKey || typing || byId("dialog").open || !state.table) return;
  if (event.key === "Enter" && /^(BUTTON|A)$/.test(event.target.tagName)) return; // the focused button's own
  const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (pressed === "l") switchLanguage();
  else if (ui.view === "dealer" && isLive() && KEYS[state.table.status.game]?.(pressed, state.table)) event.preventDefault();
}

document.addEventListener("keydown", key);
document.addEventListener("pointerdown", present);
byId("dialog").addEventListener("close", () => ui.dialog && closeDialog());

onChange(redraw);
onRedraw(redraw);
setInterval(() => state.table?.status.decision && isLive() && redraw(), TICK);
setLanguage(language());
byId("skip").textContent = t("app.skip");
if (isPlayerScreen) follow(redraw);
else start();
redraw();
