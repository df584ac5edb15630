// The dealer at a five-card table: seats to touch, one large button for what comes next, and three for a decision.

import { h } from "../dom.js";
import { actName, chips, money, t, wording } from "../i18n.js";
import { act, can, isLive, press, state, whyNot } from "../store.js";
import { closeDialog, openDialog, ui, update } from "../ui.js";
import { actButton, cardPicker, confirmAct, keypad, plainButton, sheet, textAct } from "../parts.js";
import { actsSheet } from "./acts.js";
import * as stud from "../games/five-card.js";

const MOST_CHIPS = 10 ** 10; // minor units at one seat
const HOLE = 2; // the second card of a hand

export function studView(table) {
  const next = stud.expected(table);
  return h("div", { class: "dealer-view stud-view" },
    h("h1", { class: "visually-hidden" }, t("view.dealer")),
    stud.layout(table, { onSeat: (...seat) => seatPress(table, ...seat), onMenu: seatSheet, onCard: (held) => cardPress(table, held), next }),
    h("div", { class: "rail" }, next.decision ? decisionPanel(table, next) : nextPanel(next), tools(table)));
}

// --- what comes next --------------------------------------------------------------------------

function nextPanel(next) {
  const single = next.primary.length === 1 && next.primary[0].label === next.title;
  return h("section", { class: `next${next.wait ? " waiting" : ""}`, "data-key": "next", "aria-label": t("next.label") },
    h("p", { class: single ? "visually-hidden" : "title", "aria-live": "polite" }, next.title),
    next.primary.length ? h("div", { class: "primary-row" }, next.primary.map((each) => button(each, "Enter"))) : null,
    next.hint ? h("p", { class: "hint" }, wording(next.hint)) : null,
    next.also?.length ? h("div", { class: "also" }, next.also.map((each) => button(each))) : null);
}

function button(each, shortcut) {
  if (each.correct) return plainButton(each.label, correctSheet, { look: `act ${each.look}`, key: "next-0", disabled: !can("correct-deal"), shortcut });
  if (each.key) return plainButton(each.label, () => keyCard(each.key), { look: `act ${each.look}`, key: "next-0", disabled: !can("card"), shortcut });
  if (each.turn) return plainButton(each.label, () => keyHole(each.turn), { look: `act ${each.look ?? ""}`, key: each.look ? "next-0" : "key-hole", disabled: !can("reveal"), shortcut });
  return actButton({ control: "next-0", name: each.name, args: each.args, label: each.label, look: each.look, shortcut });
}

// --- a decision -------------------------------------------------------------------------------

/** What the chips of this decision are set to. */
function stake(decision) {
  if (ui.stake?.id !== decision.id) ui.stake = { id: decision.id, amount: decision.least };
  return Math.min(decision.most, Math.max(decision.least, ui.stake.amount));
}

function decisionPanel(table, { title, decision }) {
  const { seat, may, call, most } = decision;
  const amount = stake(decision);
  const rise = may.find((name) => name === "bet" || name === "raise");
  const goes = may.includes("call") ? "call" : may.includes("check") ? "check" : null;
  return h("section", { class: "next decision", "data-key": "decision", "aria-label": t("next.label") },
    h("p", { class: "title", "aria-live": "polite" }, title),
    rise ? amountChips(table, amount) : null,
    h("div", { class: "primary-row" },
      actButton({ control: "fold", name: "fold", args: { seat }, label: t("stud.fold"), look: "fold", shortcut: "F", told: told(seat, "fold") }),
      goes ? actButton({ control: goes, name: goes, args: { seat }, label: t(`stud.${goes}`), hint: goes === "call" ? money(call) : "", look: "", shortcut: "C", told: told(seat, goes) }) : null,
      rise ? actButton({ control: "rise", name: rise, args: { seat, amount }, label: t(`stud.${rise}`), hint: amount === most ? `${money(amount)} ${t("stud.all-in")}` : money(amount), look: "primary", shortcut: "R", told: told(seat, rise) }) : null));
}

const told = (seat, name) => `${stud.placeName(seat)}: ${t(`stud.${name}`)}`;

function amountChips({ status }, now) {
  const { decision } = status;
  const offered = stud.amounts(status);
  const set = (amount) => { ui.stake = { id: decision.id, amount }; update(); };
  const hint = (amount) => (amount === decision.most ? t("stud.all-in") : amount === decision.least ? t("bet.min") : "");
  const other = () => keypad({ title: t("stud.amount"), min: decision.least, max: decision.most, onUse: set });
  return h("div", { class: "chips", role: "group", "aria-label": t("stud.amount") },
    [...offered, ...(offered.includes(now) ? [] : [now])].map((amount) => plainButton(chips(amount), () => set(amount), {
      look: "chip", key: `chip-${amount}`, pressed: amount === now, disabled: !isLive(), hint: hint(amount),
    })),
    plainButton(t("bet.other"), other, { look: "chip other", key: "chip-other", disabled: !isLive() }));
}

// --- touching a seat or a card ------------------------------------------------------------------

/** What touching a seat does in this state; null when nothing. */
function seatPress(table, number, seat, held) {
  const { status } = table;
  if (!isLive()) return null;
  if (!seat) return can("buy-in") && !held ? () => buyIn(status, number) : null;
  if (["between-rounds", "antes"].includes(status.state)) {
    if (held || seat.owes) return () => seatSheet(number);
    return can("ante") ? () => placeAnte(status, number) : null;
  }
  if (status.state === "dealing" && can("card") && (status.mode === "hand" || status.by_hand) && held?.status !== "folded" && held) {
    return stud.holeIsDue(table) ? () => layHole(number) : () => keyCard(number);
  }
  return null;
}

const placeAnte = (status, seat) => press(`seat-${seat}`, "ante", { seat }, { label: `${stud.placeName(seat)}: ${t("box.ante")} ${money(status.limits.ante)}` });
const layHole = (seat) => press(`hole-${seat}`, "card", { seat }, { label: t("next.hole", { place: stud.placeName(seat) }) });

/** Which cards of this hand can be touched: the hole card, that was exposed, and an up card that was not read. */
function cardPress(table, held) {
  const isIn = stud.running(table) && ["in", "all-in"].includes(held.status);
  const touchable = (at) => isIn && (at === HOLE ? stud.canExpose(table) : held.cards[at - 1] === null && can("card"));
  return { touchable, press: (at) => (at === HOLE ? exposeSheet(held.seat) : keyCard(held.seat)) };
}

const openCards = () => stud.openCards(state.table.round);

function keyCard(seat) {
  cardPicker({ title: t("picker.card", { place: stud.placeName(seat) }), count: 1, ranks: stud.RANKS, taken: openCards, name: "card", argsOf: (card) => ({ seat, card }) });
}

function keyHole(seat) {
  cardPicker({ title: t("picker.hole", { place: stud.placeName(seat) }), count: 1, ranks: stud.RANKS, taken: openCards, name: "reveal", argsOf: (card) => ({ seat, card }) });
}

// --- one seat ---------------------------------------------------------------------------------

const toldAs = (seat, name) => `${stud.placeName(seat)}: ${actName(name)}`;

function chipsIn(name, seat, min) {
  keypad({ title: toldAs(seat, name), min, max: MOST_CHIPS, onUse: (amount) => press(`${name}-${seat}`, name, { seat, amount }, { label: `${toldAs(seat, name)} ${money(amount)}` }) });
}

const buyIn = ({ limits }, seat) => chipsIn("buy-in", seat, limits.buy_in_min);

/** Everything about one seat that is not a touch of it. */
function seatSheet(number) {
  openDialog(() => {
    const { status, round } = state.table;
    const seat = stud.seatOf(status, number);
    const held = stud.handOf(stud.running({ status, round }), number);
    return sheet(stud.placeName(number), [seat ? facts(seat, held) : h("p", {}, t("seat.free")), h("div", { class: "choices" }, seat ? choices(status, seat, held) : sitDown(status, number))]);
  });
}

function facts(seat, held) {
  const row = (key, text) => h("div", {}, h("dt", {}, t(key)), h("dd", {}, text));
  return h("dl", { class: "facts" },
    seat.player ? row("arg.player", seat.player) : null, row("seat.stack", money(seat.stack)),
    held ? row("seat.in-pot", money(held.ante + held.staked)) : null, seat.owes ? row("seat.must-add", money(seat.owes)) : null);
}

const sitDown = (status, number) => [plainButton(t("act.buy-in"), () => buyIn(status, number), { look: "primary", key: "buy-in", disabled: !can("buy-in") })];

function choices(status, { seat, owes }, held) {
  const choice = (name, args, look = "") => actButton({ control: `sheet-${name}-${seat}`, name, args: { seat, ...args }, label: actName(name), told: toldAs(seat, name), look, onDone: closeDialog });
  return [
    owes ? choice("top-up", { amount: owes }, "primary") : null,
    plainButton(t("seat.add"), () => chipsIn("top-up", seat, status.limits.smallest_chip), { key: "add", disabled: !can("top-up") }),
    held && status.state === "antes" ? choice("take-back") : null,
    status.deck.shuffled ? plainButton(t("act.cut"), () => cutSheet(seat), { key: "cut", disabled: !can("cut") }) : null,
    held && stud.canExpose(state.table) ? plainButton(t("irregular.expose-hole"), () => exposeSheet(seat), { key: "expose", look: "warn" }) : null,
    choice("leave"),
  ];
}

function cutSheet(seat) {
  const { cut_min: least } = state.table.status.limits;
  let cards = 2 * least;
  const step = (by) => () => { cards = Math.min(39, Math.max(least, cards + by)); openDialog(draw); };
  const draw = () => confirmAct({
    title: `${stud.placeName(seat)}: ${t("act.cut")}`, name: "cut", args: { seat, cards }, look: "primary",
    body: [h("p", {}, t("stud.cut", { least })),
      h("div", { class: "stepper" }, plainButton("−", step(-1), { look: "chip", key: "less" }), h("output", {}, cards), plainButton("+", step(1), { look: "chip", key: "more" }))],
  });
  openDialog(draw);
}

// --- undo, irregularities, everything else ----------------------------------------------------

function tools(table) {
  const slip = stud.lastSlip(table);
  const why = whyNot("card");
  return h("div", { class: "tools" },
    plainButton(t("stud.key-again"), () => keyAgain(slip), {
      look: "tool", key: "undo", shortcut: "U", disabled: !slip || !isLive() || !can(slip.name) && why === "", hint: slip ? stud.placeName(slip.args.seat) : t("undo.nothing"),
    }),
    plainButton(t("irregular.button"), irregularSheet, { look: "tool warn", key: "irregular", disabled: !isLive() || !stud.IRREGULARITIES.some(can), shortcut: "I" }),
    plainButton(t("acts.button"), () => openDialog(() => actsSheet()), { look: "tool", key: "acts", disabled: !isLive(), shortcut: "A" }));
}

/** A card that was keyed wrong is keyed again, by the record that it replaces (FC-19). */
function keyAgain({ seq, name, args }) {
  cardPicker({
    title: t("picker.again", { place: stud.placeName(args.seat) }), count: 1, ranks: stud.RANKS, taken: openCards,
    name, argsOf: (card) => ({ seat: args.seat, card }), options: { replaces: seq },
  });
}

function irregularSheet() {
  const { status } = state.table;
  const entry = (name, onclick, hint, possible = can(name)) => plainButton(t(`irregular.${name}`), onclick, {
    look: "choice", key: name, disabled: !possible, hint: possible ? hint : wording(whyNot(name)) || t("irregular.now"),
  });
  openDialog(() => sheet(t("irregular.title"), h("div", { class: "choices" },
    entry("expose-hole", () => exposeSheet(null), t("effect.hole"), stud.canExpose(state.table)),
    entry("correct-deal", correctSheet, t("effect.correct")),
    status.not_ready && !status.by_hand ? entry("hand-entry", handEntrySheet, t("effect.hand-entry")) : null,
    act("wrong-deck")?.may ? entry("wrong-deck", wrongDeckSheet, t("effect.wrong-deck")) : null,
    entry("breach", () => textAct("breach", t("irregular.breach"), t("effect.breach"), "FC-20"), t("effect.breach")))));
}

/** Whose hole card? Say what it does, then declare it (FC-18). */
function exposeSheet(chosen) {
  let seat = chosen;
  const draw = () => {
    const hands = (stud.running(state.table)?.seats ?? []).filter((each) => ["in", "all-in"].includes(each.status) && each.cards.length > 1);
    return confirmAct({
      title: seat === null ? t("irregular.which-hole") : t("card.expose-hole", { place: stud.placeName(seat) }),
      body: h("div", { class: "pick-place", role: "group", "aria-label": t("irregular.which-hole") }, hands.map((each) =>
        plainButton(stud.placeName(each.seat), () => { seat = each.seat; openDialog(draw); }, { look: "chip", key: `place-${each.seat}`, pressed: each.seat === seat }))),
      effect: t("effect.hole"), clause: "FC-18", name: "expose-hole", args: { seat }, ready: seat !== null,
    });
  };
  openDialog(draw);
}

/** Cards go, in the order in which they came out, to those who should have had them (FC-19). */
function correctSheet() {
  const { status } = state.table;
  textAct("correct-deal", t("next.correct"), t("effect.correct"), "FC-19", wording(status.error) || "");
}

const wrongDeckSheet = () => textAct("wrong-deck", t("irregular.wrong-deck"), t("effect.wrong-deck"), "FC-19");

function handEntrySheet() {
  openDialog(() => confirmAct({ title: t("irregular.hand-entry"), effect: t("effect.hand-entry"), clause: "FC-19", name: "hand-entry", args: {} }));
}

// --- keys -------------------------------------------------------------------------------------

const BUTTONS = { f: "[data-control=fold]", c: "[data-control=call], [data-control=check]", r: "[data-control=rise]", u: "[data-key=undo]", i: "[data-key=irregular]", a: "[data-key=acts]" };

/** What a key does here; false when it means nothing. */
export function studKey(key) {
  const selector = key === "Enter" ? ".next [data-key=next-0]" : /^[1-8]$/.test(key) ? `[data-key=seat-${key}] .seat-main` : BUTTONS[key];
  if (!selector) return false;
  document.querySelector(selector)?.click();
  return true;
}
