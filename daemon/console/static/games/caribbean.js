// Caribbean Stud at its table: what lies where, and what is expected next (61/2004).

import { h } from "../dom.js";
import { hand } from "../cards.js";
import { money, place, t, term } from "../i18n.js";
import { can, isLive, state } from "../store.js";
import { blocking } from "./faults.js";

export const placeName = place;
export const BOXES = [1, 2, 3, 4, 5, 6, 7];
const HAND = 5;
const RESTING = ["between-rounds", "void"];
const LIVE = ["dealing", "deciding", "showdown", "settling"];

/** Acts that a slip may put right, by the state in which they still can be (CS-06). */
const WHILE = {
  betting: ["ante", "progressive", "take-back"],
  dealing: ["expose"],
  deciding: ["raise", "fold", "reveal", "expose"],
  showdown: ["reveal", "expose"],
  settling: ["reveal", "declare", "expose"],
};

// --- what is known of the round ---------------------------------------------------------------

/** The running round, or null between rounds. */
export function running({ status, round }) {
  return round && status.round === round.id ? round : null;
}

export const boxOf = (round, number) => round?.boxes.find((each) => each.box === number);
const inPlay = (round) => (round?.boxes ?? []).filter((each) => each.decision !== "void");

/** How many cards lie at each place, "dealer" included: the API names only those that are open. */
export function handSizes({ status, round }) {
  const places = [...inPlay(round).map((each) => each.box), "dealer"];
  const { out, due } = status.cards;
  const strays = out ? out + due - HAND * places.length : 0;
  const dealt = out - strays;
  const sizes = {};
  places.forEach((each, index) => {
    sizes[each] = status.mode === "shuffler"
      ? Math.max(0, Math.min(HAND, dealt - index * HAND))
      : Math.min(HAND, Math.floor(dealt / places.length) + (index < dealt % places.length ? 1 : 0));
  });
  return sizes;
}

/** Where a card was exposed: {place: position}, as the round's account tells it. */
export function exposures(round) {
  const found = {};
  for (const { clause, detail } of round?.irregularities ?? []) {
    const told = /^card (\d+) of (?:box (\d+)|the dealer)/.exec(detail);
    if (told && clause.startsWith("CS-11")) found[told[2] ?? "dealer"] = Number(told[1]);
  }
  return found;
}

export const wasExposed = (round) => (round?.irregularities ?? []).some((each) => each.clause === "CS-11b" && /^card/.test(each.detail));

/** Every card that lies open: it can be in no other hand. */
export function openCards(round) {
  const hands = [...(round?.boxes ?? []).map((each) => each.cards), round?.dealer.cards];
  return new Set(hands.flatMap((cards) => cards ?? []).filter(Boolean));
}

const fifthIsMissing = ({ status, round }) =>
  status.mode === "shuffler" && !round.dealer.cards?.[HAND - 1] && exposures(round).dealer === undefined;

const isOpen = (cards) => Boolean(cards) && cards.length === HAND && !cards.includes(null);

/** Hands that are still to be shown, the dealer's first; after them those with a progressive bet only. */
function toShow({ round }) {
  if (!isOpen(round.dealer.cards)) return ["dealer"];
  const raised = inPlay(round).filter((each) => each.decision === "raise" && !isOpen(each.cards));
  const due = round.dealer.qualifies ? raised : raised.filter((each) => each.progressive);
  return due.map((each) => each.box);
}

/** The last slip of this round that can still be withdrawn: {seq, name}, or null. */
export function lastSlip({ status }) {
  const withdrawn = new Set();
  const names = WHILE[status.state] ?? [];
  for (const { kind, seq, round, summary } of [...state.events].reverse()) {
    if (kind !== "act" || !summary.accepted || round !== status.round) continue;
    for (const { detail } of summary.notes) {
      const replaced = /^record (\d+) \(.*(?:withdrawn|superseded)/.exec(detail);
      if (replaced) withdrawn.add(Number(replaced[1]));
    }
    if (summary.name !== "withdraw" && names.includes(summary.name) && !withdrawn.has(seq)) return { seq, name: summary.name, args: summary.args };
  }
  return null;
}

// --- what is expected next --------------------------------------------------------------------

/**
 * `{title, hint, primary: [buttons], wait}`: one large button where one act is due, two for a decision.
 * A button is {name, args, label, look, shortcut} or {show: place} for cards that must be keyed.
 */
export function expected(table, ui) {
  const { status, round } = table;
  const one = (name, title, rest = {}) => ({ title, primary: [{ name, label: title, look: "primary" }], ...rest });
  if (status.state === "out-of-service") return one("open-table", t("next.open-table"));
  if (RESTING.includes(status.state)) return rest(table, one);
  if (status.state === "betting") return betting(table, one, ui);
  if (status.state === "dealing") return dealing(table);
  if (status.state === "deciding") return deciding(table, ui);
  if (status.state === "showdown") return show(table, toShow(table)[0]);
  if (status.state === "settling") {
    const claims = toShow(table).filter((each) => each !== "dealer");
    return one("settle", t("next.settle"), { also: claims.map((each) => ({ show: each, label: t("next.reveal", { place: place(each) }) })) });
  }
  return { title: term("state", status.state), primary: [] };
}

function rest({ status }, one) {
  const faults = blocking(status);
  const shuffleClears = faults.length > 0 && faults.every((fault) => fault.cleared_by === "shuffle");
  if (faults.length && !shuffleClears) {
    return { title: t("next.supervisor"), hint: faults[0].text, primary: [], wait: true };
  }
  const { deck } = status;
  if (status.mode === "shoe" && deck.shuffled && !deck.cut) return one("cut", t("next.cut"));
  const proven = status.mode === "shoe" ? deck.shuffled && deck.cut : deck.shuffler && deck.shuffler === status.shuffler;
  if (!proven || shuffleClears) return one("shuffle", t("next.shuffle"), { hint: faults[0]?.text });
  if (status.not_ready) return { title: t("next.not-ready"), hint: status.not_ready, primary: [], wait: true };
  if (!status.sign.proven && status.sign.readable) return { title: t("next.wait"), hint: t("next.sign"), primary: [], wait: true };
  return one("open-betting", t("next.open-betting"), { hint: status.deck.shuffler ? term("mode", "shuffler") : "" });
}

function betting(table, one, ui) {
  const { status, round } = table;
  if (status.betting_closed) {
    const first = inPlay(round)[0];
    const title = status.mode === "shuffler" && first ? t("next.machine", { place: place(first.box) }) : t("next.deal-first");
    return { title, primary: [], wait: true };
  }
  const empty = inPlay(round).length === 0;
  const title = empty ? t("next.no-bets") : t("next.close-betting");
  return one("close-betting", title, { hint: t("next.bets", { amount: money(ui.amount ?? 0) }), chips: true, quiet: empty });
}

function dealing({ status, round }) {
  const due = status.next_place === "the dealer" ? "dealer" : Number(/\d+/.exec(status.next_place ?? "")?.[0]);
  const { out, due: left } = status.cards;
  const hint = t("next.cards", { out, all: out + left });
  if (status.mode !== "shuffler") return { title: t("next.deal", { place: place(due || "dealer") }), hint, primary: [], wait: true, due };
  // The machine's next packet is due; the one that is out is to be taken for the place before.
  const places = [...inPlay(round).map((each) => each.box), "dealer"];
  const lies = places[places.indexOf(due) - 1] ?? due;
  return { title: t("next.packet", { place: place(lies) }), hint, primary: [], wait: true, due: lies };
}

function deciding(table, ui) {
  const { status, round } = table;
  if (fifthIsMissing(table)) return show(table, "fifth");
  const box = status.undecided.includes(ui.box) ? ui.box : status.undecided[0];
  if (box === undefined) return { title: t("next.wait"), primary: [], wait: true };
  const ante = boxOf(round, box)?.ante ?? 0;
  return {
    title: t("next.decide", { box }), box,
    primary: [
      { name: "raise", args: { box }, label: t("next.raise"), hint: money(2 * ante), look: "primary", shortcut: "R" },
      { name: "fold", args: { box }, label: t("next.fold"), look: "fold", shortcut: "F" },
    ],
  };
}

function show({ round }, which) {
  if (which === "fifth") return { title: t("next.fifth"), primary: [{ show: "fifth", label: t("next.fifth"), look: "primary" }] };
  if (which === undefined) return { title: t("next.wait"), primary: [], wait: true };
  const title = t("next.reveal", { place: place(which) });
  return { title, box: which, primary: [{ show: which, label: title, look: "primary" }] };
}

// --- irregularities ---------------------------------------------------------------------------

/** What the next exposed card does to this round (CS-11a, CS-11b). */
export function exposureEffect(round, where) {
  if (wasExposed(round)) return { effect: t("effect.second-exposure"), clause: "CS-11a" };
  return { effect: t(where === "dealer" ? "effect.dealer-exposure" : "effect.first-exposure"), clause: "CS-11b" };
}

export function shufflerEffect(status) {
  return t(status.state === "betting" ? "effect.shuffler-before" : "effect.shuffler-dealing");
}

export const IRREGULARITIES = ["expose", "empty-box", "misdeal", "shuffler-failed", "breach"];

// --- drawing ----------------------------------------------------------------------------------

/** Seven boxes as the dealer sees them, 1 at the left; the spot nearest the dealer is the lowest. */
export function layout(table, ui, { onBox, onCard, next }) {
  const round = shownRound(table);
  const sizes = running(table) ? handSizes(table) : closedSizes(round);
  const exposed = exposures(round);
  return h("div", { class: "layout" }, BOXES.map((number) => oneBox({ number, table, round, sizes, exposed, onBox, onCard, next, ui })));
}

/** Between rounds the last one stays on the screen until betting opens; then the table is empty. */
export function shownRound({ status, round }) {
  return status.state === "out-of-service" ? null : round;
}

function closedSizes(round) {
  const sizes = {};
  for (const each of [...(round?.boxes ?? []), { box: "dealer", cards: round?.dealer.cards }]) {
    sizes[each.box] = each.cards?.length ?? 0;
  }
  return sizes;
}

function oneBox({ number, table, round, sizes, exposed, onBox, onCard, next, ui }) {
  const box = boxOf(round, number);
  const { status } = table;
  const waits = next.box === number || next.due === number;
  const size = sizes[number] ?? 0;
  const canExpose = LIVE.includes(status.state) && size > 0 && can("expose");
  const choose = onBox(number, box);
  const looks = ["box", box ? "bet" : "empty", waits && "due", box?.decision, box?.result && `result-${box.result}`].filter(Boolean);
  return h("section", { class: looks.join(" "), "data-key": `box-${number}`, "aria-label": t("box.name", { box: number }) },
    h("button", {
      type: "button", class: "spots", "data-key": "spots", disabled: !choose, onclick: choose, "aria-keyshortcuts": String(number),
      "aria-pressed": status.state === "deciding" && box ? String(waits) : null,
    },
      h("span", { class: "number" }, h("span", { class: "visually-hidden" }, `${t("box.name", { box: number })} `), h("b", { "aria-hidden": "true" }, number), tag(box, status, waits)),
      spot("raise", box?.raise), spot("ante", box?.ante), progressive(box, status.carried?.[number])),
    h("div", { class: "at-box" }, size ? hand(place(number), box?.cards, {
      size, exposed: exposed[number], onCard: canExpose ? (at) => onCard(number, at) : null, disabled: !isLive(),
    }) : null),
    h("p", { class: "result" }, box ? resultOf(box, round) : ""));
}

function spot(name, amount) {
  return h("span", { class: `spot ${name}${amount ? " filled" : ""}` },
    h("span", {}, t(`box.${name}`)), h("b", {}, amount ? money(amount) : ""));
}

function progressive(box, carried) {
  const stake = box?.progressive || (!box && carried) || 0;
  const isCarried = box ? box.carried : Boolean(carried);
  return h("span", { class: `spot progressive${stake ? " filled" : ""}` },
    h("span", {}, t("box.progressive"), isCarried ? h("em", {}, ` ${t("box.carried")}`) : ""), h("b", {}, stake ? money(stake) : ""));
}

function tag(box, status, waits) {
  if (!box) return null;
  if (box.decision === "void") return h("em", {}, t("box.void"));
  if (box.decision === "raise") return h("em", {}, t("box.raised"));
  if (box.decision === "fold") return h("em", {}, t("box.folded"));
  if (status.state === "deciding") return h("em", {}, t("box.decides"));
  return waits ? h("em", {}, t("box.next")) : null;
}

function resultOf(box, round) {
  const parts = [];
  if (box.result) parts.push(h("b", {}, term("result", box.result)));
  if (box.category) parts.push(h("span", {}, term("category", box.category)));
  const paid = box.ante_paid + box.raise_paid;
  if (paid) parts.push(h("span", { class: "good" }, t("box.paid", { amount: money(paid) })));
  if (box.award) parts.push(h("span", { class: "award" }, t("box.award", { amount: money(box.award) })));
  if (round.outcome === "void" && box.progressive) parts.push(h("span", {}, t("box.carried-next", { amount: money(box.progressive) })));
  return parts;
}

/** The dealer's own place. */
export function dealerHand(table, { onCard }) {
  const round = shownRound(table);
  const size = (running(table) ? handSizes(table) : closedSizes(round)).dealer ?? 0;
  const dealer = round?.dealer;
  const words = dealer?.category ? `${term("category", dealer.category)}, ${t(dealer.qualifies ? "dealer.qualifies" : "dealer.not-qualifies")}` : "";
  const touchable = LIVE.includes(table.status.state) && can("expose");
  return h("section", { class: "dealer-hand", "aria-label": t("box.dealer") },
    h("h2", {}, t("box.dealer"), words ? h("small", {}, words) : null),
    size ? hand(t("box.dealer"), dealer?.cards, {
      size, exposed: exposures(round).dealer, onCard: touchable ? (at) => onCard("dealer", at) : null, disabled: !isLive(),
    }) : h("div", { class: "hand none" }));
}

// --- what a void or an exposure does to each bet ----------------------------------------------

/** `[box, bet, amount, what becomes of it]` for every bet of a round, in seat order. */
export function effects(round) {
  const rows = [];
  for (const box of round.boxes) {
    if (box.decision === "void" && !box.ante) rows.push([box.box, "", 0, t("box.void"), "void"]);
    for (const bet of ["ante", "raise", "progressive"]) {
      if (box[bet]) rows.push([box.box, bet, box[bet], ...becomes(round, box, bet)]);
    }
  }
  return rows;
}

function becomes(round, box, bet) {
  if (round.outcome === "void") return bet === "progressive" ? [t("super.carries"), "carried"] : [t("super.returned"), "returned"];
  if (round.outcome === "open") return [t("super.stands-bet"), "stands"];
  if (bet === "progressive" && box.award === null) return [t("super.undecided"), "won"];
  if (bet === "progressive") return box.award ? [t("super.won", { amount: money(box.award) }), "won"] : [t("super.lost"), "lost"];
  if (box.result === "lose") return [t("super.lost"), "lost"];
  const paid = bet === "ante" ? box.ante_paid : box.raise_paid;
  return paid ? [t("super.won", { amount: money(paid) }), "won"] : [t("super.returned"), "returned"];
}

/** The limits of a bet in minor units, as the table's rule set has them. */
export function limits(status) {
  return { min: status.limits?.ante_min ?? 100, max: status.limits?.ante_max ?? 10 ** 8 };
}
