// The dealer works with one hand and looks at the table: one large button is what comes next.

import { h } from "../dom.js";
import { chips, money, place, t, term, wording } from "../i18n.js";
import { act, can, isLive, press, state, whyNot } from "../store.js";
import { closeDialog, openDialog, ui, update } from "../ui.js";
import { actButton, cardPicker, confirmAct, keypad, plainButton, sheet, textAct } from "../parts.js";
import { actsSheet } from "./acts.js";
import * as caribbean from "../games/caribbean.js";

const MULTIPLES = [1, 2, 5, 10];

export function dealerView(table) {
  const next = caribbean.expected(table, ui);
  return h("div", { class: "dealer-view" },
    h("h1", { class: "visually-hidden" }, t("view.dealer")),
    caribbean.layout(table, ui, { onBox: (number, box) => boxPress(table, number, box), onCard: exposeSheet, next }),
    h("div", { class: "rail" },
      caribbean.dealerHand(table, { onCard: exposeSheet }),
      nextPanel(table, next),
      tools(table)));
}

// --- what comes next --------------------------------------------------------------------------

function nextPanel(table, next) {
  const single = next.primary.length === 1 && next.primary[0].label === next.title;
  return h("section", { class: `next${next.wait ? " waiting" : ""}`, "aria-label": t("next.label") },
    h("p", { class: single ? "visually-hidden" : "title", "aria-live": "polite" }, next.title),
    next.chips ? amounts(table) : null,
    next.primary.length ? h("div", { class: "primary-row" }, next.primary.map((each, at) => primary(table, each, at, next))) : null,
    next.hint && !next.chips ? h("p", { class: "hint" }, wording(next.hint)) : null,
    next.also?.length ? h("div", { class: "also" }, next.also.map((each) => showButton(table, each, ""))) : null,
    next.wait && can("card") && next.due ? plainButton(t("act.card"), () => openDialog(() => actsSheet("card")), { look: "quiet" }) : null);
}

function primary(table, each, at, next) {
  if (each.show) return showButton(table, each, "primary");
  const look = next.quiet ? "quiet-primary" : each.look;
  return actButton({
    control: `next-${at}`, name: each.name, args: each.args, label: each.label, hint: each.hint, look,
    shortcut: each.shortcut ?? (at === 0 ? "Enter" : undefined),
  });
}

function showButton(table, each, look) {
  return plainButton(each.label, () => showCards(table, each.show), { look: `act ${look}`, key: `show-${each.show}`, disabled: !can("reveal"), shortcut: look ? "Enter" : undefined });
}

function showCards({ round }, which) {
  const fifth = which === "fifth";
  const box = fifth ? "dealer" : which;
  const known = (box === "dealer" ? round.dealer.cards : caribbean.boxOf(round, box)?.cards) ?? [];
  cardPicker({
    title: fifth ? t("picker.fifth") : t("picker.title", { place: place(box) }), count: fifth ? 1 : 5,
    taken: () => caribbean.openCards(state.table.round), fixed: fifth ? [] : known.filter(Boolean), name: "reveal", argsOf: (cards) => ({ box, cards }),
  });
}

// --- bets -------------------------------------------------------------------------------------

function currentAmount(table) {
  const { min, max } = caribbean.limits(table.status);
  return Math.min(max, Math.max(min, ui.amount ?? min));
}

function amounts(table) {
  const { min, max } = caribbean.limits(table.status);
  const now = currentAmount(table);
  if (ui.amount === null) ui.amount = now;
  const presets = MULTIPLES.map((times) => times * min).filter((amount) => amount <= max);
  const last = ui.lastBet && !presets.includes(ui.lastBet) ? [ui.lastBet] : [];
  const other = ![...presets, ...last].includes(now) ? [now] : [];
  const chip = (amount) => plainButton(chips(amount), () => update({ amount }), {
    look: "chip", key: `chip-${amount}`, pressed: amount === now, disabled: !isLive(), hint: amount === min ? t("bet.min") : amount === ui.lastBet ? t("bet.last") : "",
  });
  return h("div", { class: "chips", role: "group", "aria-label": t("bet.amount") },
    [...presets, ...last, ...other].map(chip),
    plainButton(t("bet.other"), () => keypad({ title: t("bet.amount"), min, max, onUse: (amount) => update({ amount }) }), { look: "chip other", key: "chip-other", disabled: !isLive() }));
}

/** What touching a box does in this state; null when nothing. */
function boxPress(table, number, box) {
  const { status } = table;
  if (!isLive()) return null;
  if (status.state === "betting" && !status.betting_closed) {
    return box ? () => openDialog(() => betSheet(number)) : can("ante") ? () => placeAnte(table, number) : null;
  }
  if (status.state === "deciding" && status.undecided.includes(number)) return () => update({ box: number });
  return null;
}

async function placeAnte(table, number) {
  const amount = currentAmount(table);
  const told = await press(`box-${number}`, "ante", { box: number, amount }, { label: `${t("box.name", { box: number })}: ${t("box.ante")} ${money(amount)}` });
  if (told?.outcome === "accepted") update({ lastBet: amount });
}

/** Bets of one box: the progressive, another ante, or everything back. */
function betSheet(number) {
  const box = caribbean.boxOf(state.table.round, number);
  if (!box) return sheet(t("bet.box", { box: number }), [h("p", {}, t("box.empty"))]);
  const own = box.progressive && !box.carried;
  const name = t("box.name", { box: number });
  return sheet(t("bet.box", { box: number }), [
    h("dl", { class: "facts" },
      h("div", {}, h("dt", {}, t("box.ante")), h("dd", {}, money(box.ante))),
      h("div", {}, h("dt", {}, t("box.progressive")), h("dd", {}, box.progressive ? `${money(box.progressive)}${box.carried ? ` (${t("box.carried")})` : ""}` : t("app.none")))),
    h("div", { class: "choices" },
      !box.progressive ? actButton({ control: `sheet-progressive-${number}`, name: "progressive", args: { box: number }, label: t("bet.progressive"), look: "primary", onDone: closeDialog }) : null,
      own ? actButton({ control: `sheet-back-progressive-${number}`, name: "take-back", args: { box: number, bet: "progressive" }, label: t("bet.take-back-progressive"), onDone: closeDialog }) : null,
      actButton({ control: `sheet-back-${number}`, name: "take-back", args: { box: number }, label: `${t("bet.take-back")}: ${name}`, onDone: closeDialog })),
  ]);
}

// --- undo, irregularities, everything else ----------------------------------------------------

function tools(table) {
  const slip = caribbean.lastSlip(table);
  const what = slip ? `${term("act", slip.name)}${slip.args?.box ? ` ${place(slip.args.box)}` : ""}` : t("undo.nothing");
  return h("div", { class: "tools" },
    slip
      ? actButton({ control: "undo", name: "withdraw", options: { replaces: slip.seq }, label: t("undo.button"), hint: what, look: "tool", shortcut: "U" })
      : plainButton(t("undo.button"), () => {}, { look: "tool", key: "undo", disabled: true, hint: what }),
    plainButton(t("irregular.button"), irregularSheet, { look: "tool warn", key: "irregular", disabled: !isLive() || !caribbean.IRREGULARITIES.some(can), shortcut: "I" }),
    plainButton(t("acts.button"), () => openDialog(() => actsSheet()), { look: "tool", key: "acts", disabled: !isLive(), shortcut: "A" }));
}

export function irregularSheet() {
  const entry = (name, onclick, hint) => plainButton(t(`irregular.${name}`), onclick, {
    look: "choice", key: name, disabled: !can(name), hint: can(name) ? hint : wording(whyNot(name)) || t("irregular.now"),
  });
  openDialog(() => sheet(t("irregular.title"), h("div", { class: "choices" },
    entry("expose", () => exposeSheet(null, 0), t("irregular.expose.hint")),
    entry("empty-box", emptyBoxSheet, t("effect.empty-box")),
    entry("misdeal", misdealSheet, t("effect.void")),
    entry("shuffler-failed", shufflerSheet, caribbean.shufflerEffect(state.table.status)),
    entry("breach", () => textAct("breach", t("irregular.breach"), t("effect.breach"), "CS-12"), t("effect.breach")))));
}

/** A card was touched: say what it does, then declare it. Another card may be meant: touch that one. */
function exposeSheet(where, at) {
  let chosen = { where, at };
  const choose = (change) => { chosen = { ...chosen, ...change }; openDialog(draw); };
  const draw = () => {
    const { table } = state;
    const sizes = caribbean.handSizes(table);
    const places = Object.keys(sizes).filter((each) => sizes[each] > 0).map((each) => (each === "dealer" ? each : Number(each)));
    const size = chosen.where === null ? 0 : sizes[chosen.where] ?? 0;
    const ready = size > 0 && chosen.at > 0;
    const effect = ready ? caribbean.exposureEffect(table.round, chosen.where) : {};
    return confirmAct({
      title: ready ? t("card.expose", { at: chosen.at, place: place(chosen.where) }) : t("irregular.which-card"),
      body: [
        h("div", { class: "pick-place", role: "group", "aria-label": t("irregular.which-box") }, places.map((each) =>
          plainButton(place(each), () => choose({ where: each, at: 0 }), { look: "chip", key: `place-${each}`, pressed: each === chosen.where }))),
        size ? h("div", { class: "pick-card", role: "group", "aria-label": t("irregular.which-card") }, Array.from({ length: size }, (_, index) =>
          plainButton(String(index + 1), () => choose({ at: index + 1 }), { look: "big-card", key: `card-${index + 1}`, pressed: chosen.at === index + 1 }))) : null,
      ],
      ...effect, name: "expose", args: { box: chosen.where, card: chosen.at }, ready,
    });
  };
  openDialog(draw);
}

function emptyBoxSheet() {
  let box = null;
  let first = Math.max(1, firstGuess(state.table));
  const draw = () => {
    const { round, status } = state.table;
    const empty = caribbean.BOXES.filter((each) => !caribbean.boxOf(round, each));
    const most = status.mode === "shuffler" ? Math.max(1, Math.ceil(status.cards.out / 5)) : Math.max(1, status.cards.out);
    const step = (by) => () => { first = Math.min(most, Math.max(1, first + by)); openDialog(draw); };
    return confirmAct({
      title: t("irregular.empty-box"),
      body: [
        h("p", {}, t("irregular.which-box")),
        h("div", { class: "pick-place" }, empty.map((each) => plainButton(place(each), () => { box = each; openDialog(draw); }, { look: "chip", key: `place-${each}`, pressed: box === each }))),
        h("p", {}, t("irregular.first")),
        h("div", { class: "stepper" }, plainButton("−", step(-1), { look: "chip", key: "less" }), h("output", {}, first), plainButton("+", step(1), { look: "chip", key: "more" })),
      ],
      effect: t("effect.empty-box"), clause: "CS-11c", name: "empty-box", args: { box, first }, ready: box !== null,
    });
  };
  openDialog(draw);
}

const firstGuess = ({ status }) => (status.mode === "shuffler" ? Math.ceil(status.cards.out / 5) : status.cards.out);

function misdealSheet() {
  textAct("misdeal", t("irregular.misdeal"), t("effect.void"), "CS-11a", t("irregular.misdeal.default"));
}

function shufflerSheet() {
  openDialog(() => confirmAct({
    title: t("irregular.shuffler-failed"), effect: caribbean.shufflerEffect(state.table.status), clause: "CS-11d", name: "shuffler-failed", args: {},
  }));
}

// --- keys -------------------------------------------------------------------------------------

/** What a key does here; false when it means nothing. */
export function dealerKey(key, table) {
  const next = caribbean.expected(table, ui);
  const click = (selector) => { document.querySelector(selector)?.click(); return true; };
  if (key === "Enter") return click(next.primary[0]?.show ? ".next .primary" : "[data-control=next-0]");
  if (/^[1-7]$/.test(key)) {
    boxPress(table, Number(key), caribbean.boxOf(caribbean.running(table), Number(key)))?.();
    return true;
  }
  if (key === "r" && next.primary[0]?.name === "raise") return click("[data-control=next-0]");
  if (key === "f" && next.primary[1]?.name === "fold") return click("[data-control=next-1]");
  if (key === "u") return click("[data-key=undo]");
  if (key === "i") return click("[data-key=irregular]");
  if (key === "a" && act("settle")) return click("[data-key=acts]");
  return false;
}
