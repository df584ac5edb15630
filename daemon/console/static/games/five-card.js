// Five-card stud at its table: what is expected next, the seats around the table, the pots in its middle (104/85/M).

import { h } from "../dom.js";
import { hand } from "../cards.js";
import { chips, money, t, term } from "../i18n.js";
import { can, isLive, state } from "../store.js";
import { blocking } from "./faults.js";

export const RANKS = ["A", "K", "Q", "J", "10", "9", "8", "7", "6", "5"];
const HOLE = 1; // its place in a hand
const FEWEST = 2;
const BEFORE = ["between-rounds", "antes"];
export const TURNS = ["opening", "speaking", "answering"];
/** Faults that halt a round until people have decided (FC-19). */
const IN_DOUBT = ["duplicate-card", "foreign-card", "shoe-restarted", "other-face"];

export const placeName = (seat) => t("seat.name", { seat });

// --- what is known of the round ---------------------------------------------------------------

/** The running round, or null between rounds. */
export function running({ status, round }) {
  return round && status.round === round.id ? round : null;
}

export const seatOf = (status, number) => status.seats.find((each) => each.seat === number);
export const handOf = (round, number) => round?.seats.find((each) => each.seat === number);
const isIn = (each) => each.status === "in" || each.status === "all-in";
const isUnread = (card, at) => card === null && at !== HOLE;

/** The seat of an up card that nobody has read (FC-19). */
const unread = (round) => round?.seats.find((each) => isIn(each) && each.cards.some(isUnread))?.seat;

/** Every card that lies open: it can be in no other hand. */
export const openCards = (round) => new Set((round?.seats ?? []).flatMap((each) => each.cards).filter(Boolean));

/** The next card is somebody's hole card: it is dealt face down, and nobody keys what it is (FC-14). */
export const holeIsDue = ({ status, round }) => handOf(round, status.next_card)?.cards.length === HOLE && status.betting_round === 1;

/** What a seat has bet in this betting round. */
export function betOf({ status, round }, number) {
  const bets = (running({ status, round })?.actions ?? []).filter((each) => each.seat === number && each.round === status.betting_round);
  return bets.at(-1)?.amount ?? 0;
}

/** Milliseconds of the two minutes that are left; null while they stand. */
export function timeLeft({ decision }) {
  if (decision?.left_ms == null) return null;
  return Math.max(0, decision.left_ms - (isLive() ? Date.now() - state.tableAt : 0));
}

/** The last card that was keyed in this round and not keyed again: {seq, name, args}, or null. */
export function lastSlip({ status }) {
  for (const { kind, seq, round, summary } of [...state.events].reverse()) {
    if (kind !== "act" || !summary.accepted || round !== status.round || round === null) continue;
    if (["card", "reveal"].includes(summary.name) && summary.args.card) return { seq, name: summary.name, args: summary.args };
  }
  return null;
}

// --- what is expected next --------------------------------------------------------------------

/**
 * `{title, hint, primary: [buttons], wait, seat}`. A button is {name, args, label, look, shortcut, hint}, or
 * {key: seat} for a card that must be keyed, {turn: seat} for a hole card, {correct: true} for the correction.
 */
export function expected(table) {
  const { status } = table;
  if (status.state === "out-of-service") return one("open-table", t("next.open-table"));
  if (BEFORE.includes(status.state)) return before(table);
  const doubt = status.faults.find((each) => IN_DOUBT.includes(each.code));
  if (doubt) return { title: t("next.supervisor"), hint: doubt.text, primary: [], wait: true };
  if (status.state === "dealing") return dealing(table);
  if (TURNS.includes(status.state)) return turn(table);
  if (status.state === "showdown") return showdown(table);
  if (status.state === "settling") return one("settle", t("next.settle"));
  return { title: term("state", status.state), primary: [] };
}

const one = (name, title, rest = {}) => ({ title, primary: [{ name, label: title, look: "primary" }], ...rest });

function before({ status, round }) {
  const { deck, limits } = status;
  const faults = blocking(status);
  const shuffleClears = faults.length > 0 && faults.every((fault) => fault.cleared_by === "shuffle");
  if (faults.some((fault) => fault.code === "new-deck")) return one("new-deck", t("next.new-deck"), { hint: faults[0].text });
  if (faults.length && !shuffleClears) return { title: t("next.supervisor"), hint: faults[0].text, primary: [], wait: true };
  if (deck.rounds >= limits.deck_rounds) return one("new-deck", t("next.new-deck"), { hint: t("stud.deck", { n: deck.rounds, all: limits.deck_rounds }) });
  if (!deck.shuffled || shuffleClears) return one("shuffle", t("next.shuffle"), { hint: t("stud.deck", { n: deck.rounds, all: limits.deck_rounds }) });
  if (status.not_ready) return { title: t("next.not-ready"), hint: status.not_ready, primary: [], wait: true };
  const antes = running({ status, round })?.seats.length ?? 0;
  if (antes < FEWEST) return { title: t("next.antes", { amount: money(limits.ante) }), hint: t("next.antes-in", { n: antes }), primary: [], wait: true };
  const hint = t("next.antes-in", { n: antes });
  if (status.mode === "hand") return one("burn", t("next.burn"), { hint });
  return { title: t("next.burn-first"), hint, primary: [], wait: true };
}

function dealing(table) {
  const { status, round } = table;
  const byHand = status.mode === "hand" || status.by_hand;
  if (status.error) return { title: t("next.correct"), hint: status.error, primary: [{ correct: true, label: t("next.correct"), look: "danger" }] };
  const missing = unread(round);
  if (missing !== undefined) return keyed(missing, t("next.unread", { place: placeName(missing) }));
  if (!byHand && status.not_ready) return lost(status);
  const seat = status.next_card;
  if (seat === null) return { title: t("next.wait"), primary: [], wait: true };
  const place = placeName(seat);
  if (holeIsDue(table)) {
    const title = t("next.hole", { place });
    return byHand ? one("card", title, { seat, primary: [{ name: "card", args: { seat }, label: title, look: "primary" }] }) : { title, seat, primary: [], wait: true };
  }
  return byHand ? keyed(seat, t("next.key-card", { place })) : { title: t("next.deal", { place }), seat, primary: [], wait: true };
}

const keyed = (seat, title) => ({ title, seat, primary: [{ key: seat, label: title, look: "primary" }] });

/** The shoe is lost: the table is halted until it is back, or the dealer goes on by hand. */
function lost(status) {
  return { title: t("next.halted"), hint: status.not_ready, primary: [{ name: "hand-entry", label: t("next.hand-entry"), look: "quiet-primary" }] };
}

function turn({ status }) {
  const { decision } = status;
  if (!decision) return { title: t("next.wait"), primary: [], wait: true };
  if (decision.left_ms === null && status.not_ready && !status.by_hand) return { ...lost(status), seat: decision.seat };
  const place = placeName(decision.seat);
  const due = decision.may.includes("call");
  return { title: due ? t("next.to-call", { place, amount: money(decision.call) }) : t("next.to-speak", { place }), seat: decision.seat, decision, primary: [] };
}

function showdown({ status, round }) {
  const seat = status.turn;
  const title = t("next.turn-hole", { place: placeName(seat) });
  if (running({ status, round })?.mode === "hand") return { title, seat, primary: [{ turn: seat, label: title, look: "primary" }] };
  return { title, seat, primary: [{ name: "reveal", args: { seat }, label: title, look: "primary" }], also: [{ turn: seat, label: t("next.key-hole") }] };
}

/** The amounts that lie at hand for a bet or raise; each is what the bet of this betting round comes to. */
export function amounts({ limits, price, decision }) {
  const { least, most } = decision;
  const step = price ? least - price : limits.ante;
  const offered = [least, ...[1, 2, 5].map((times) => price + times * step)].filter((amount) => amount >= least && amount < most);
  return [...new Set([...offered, most])].sort((a, b) => a - b);
}

// --- drawing ----------------------------------------------------------------------------------

/** The seats as they sit: the first is at the dealer's right, the others follow anticlockwise. */
export function layout(table, { onSeat, onMenu, onCard, next }) {
  const { seats } = table.status.limits;
  const numbers = Array.from({ length: seats }, (_, index) => index + 1);
  return h("div", { class: `stud-layout seats-${seats}` }, numbers.map((number) => oneSeat(table, number, { onSeat, onMenu, onCard, next })), middle(table));
}

/** Between rounds the last one stays on the screen until an ante is placed. */
const shownHand = ({ status, round }, number) => (status.state === "out-of-service" ? undefined : handOf(round, number));

function oneSeat(table, number, { onSeat, onMenu, onCard, next }) {
  const { status } = table;
  const seat = seatOf(status, number);
  const held = shownHand(table, number);
  const open = running(table) !== null;
  const due = next.seat === number;
  const press = onSeat(number, seat, open ? held : undefined);
  const looks = ["seat", `s${number}`, seat ? "taken" : "free", due && "due", open && held?.status].filter(Boolean);
  return h("section", { class: looks.join(" "), "data-key": `seat-${number}`, "aria-label": placeName(number) },
    h("div", { class: "seat-head" },
      h("button", { type: "button", class: "seat-main", "data-key": "main", disabled: !press, onclick: press, "aria-keyshortcuts": String(number) },
        h("span", { class: "visually-hidden" }, `${placeName(number)} `),
        h("b", { class: "seat-number", "aria-hidden": "true" }, number),
        h("span", { class: "seat-who" },
          seat ? h("b", { class: "seat-stack" }, chips(seat.stack)) : h("span", {}, t("seat.free")),
          h("span", { class: "seat-line" }, seat?.player ? h("small", {}, seat.player) : null, tag(table, seat, open ? held : undefined, due)))),
      h("button", { type: "button", class: "seat-menu quiet", "data-key": "menu", disabled: !isLive() || status.state === "out-of-service", onclick: () => onMenu(number), "aria-label": t("seat.menu", { seat: number }) }, "⋯")),
    h("div", { class: "at-seat" }, held?.cards.length ? cardsOf(table, held, onCard) : null),
    h("p", { class: "seat-bets" }, held ? betsOf(table, held, open) : null));
}

function cardsOf(table, held, onCard) {
  const { touchable, press } = onCard(held);
  return hand(placeName(held.seat), held.cards, { size: held.cards.length, onCard: press, touchable, disabled: !isLive() });
}

function tag(table, seat, held, due) {
  if (seat?.owes) return h("em", { class: "tag warn" }, t("seat.owes", { amount: chips(seat.owes) }));
  if (!held) return null;
  if (held.status !== "in") return h("em", { class: "tag" }, t(`seat.${held.status}`));
  if (due) return h("em", { class: "tag" }, t(TURNS.includes(table.status.state) ? "seat.decides" : "seat.next"));
  const said = table.round.actions.filter((each) => each.seat === held.seat && each.round === table.status.betting_round).at(-1);
  if (said) return h("em", { class: "tag" }, t(`stud.${said.act}`));
  return table.status.state === "antes" ? h("em", { class: "tag" }, t("seat.ante")) : null;
}

function betsOf(table, held, open) {
  const part = (key, amount, look = "") => (amount ? h("span", { class: look }, t(key), " ", h("b", {}, chips(amount))) : null);
  if (open) return [part("seat.bet", betOf(table, held.seat)), part("seat.in-pot", held.ante + held.staked), held.category ? h("span", {}, term("category", held.category)) : null];
  return [held.category ? h("span", {}, term("category", held.category)) : null, part("seat.won", held.won, "good"), part("seat.returned", held.returned)];
}

/** The pots, what the present bet is, and the time that runs. */
function middle(table) {
  const { status } = table;
  const left = timeLeft(status);
  const round = running(table);
  return h("section", { class: "middle", "aria-label": t("stud.pot") },
    h("p", { class: "pot" }, h("span", {}, t("stud.pot")), " ", h("b", {}, money(status.pot))),
    status.pots.length > 1 ? h("ul", { class: "pots" }, status.pots.map((pot, at) => h("li", { "data-key": `pot-${at}` },
      h("span", {}, at ? t("stud.side-pot", { n: at }) : t("stud.main-pot")), " ", h("b", {}, money(pot.amount)), " ", h("small", {}, t("stud.for-seats", { seats: pot.seats.join(" ") }))))) : null,
    h("p", { class: "facts-line" },
      round && status.betting_round ? h("span", {}, t("stud.betting-round", { n: status.betting_round })) : h("span", {}, t("stud.deck", { n: status.deck.rounds, all: status.limits.deck_rounds })),
      status.price ? h("span", {}, t("stud.price"), " ", h("b", {}, money(status.price))) : null),
    TURNS.includes(status.state) ? clockOf(left) : null);
}

function clockOf(left) {
  if (left === null) return h("p", { class: "time halted" }, t("stud.time-stands"));
  const seconds = Math.ceil(left / 1000);
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return h("p", { class: seconds <= 20 ? "time short" : "time", role: "timer", "aria-label": t("stud.time-left", { time: text }) }, h("span", { "aria-hidden": "true" }, text));
}

// --- what goes wrong ----------------------------------------------------------------------------

export const IRREGULARITIES = ["expose-hole", "correct-deal", "hand-entry", "wrong-deck", "breach"];

/** A hole card that was exposed in the deal kills that hand only (FC-18). */
export const canExpose = ({ status }) => can("expose-hole") && ["dealing", "opening", "settling"].includes(status.state);

/** `[seat, bet, amount, what becomes of it, look]` for what every seat has in a round. */
export function effects(round) {
  return round.seats.filter((each) => each.ante + each.staked || each.status === "dead").map((each) => {
    const amount = each.ante + each.staked;
    return [each.seat, "in-pot", amount, ...becomes(round, each)];
  });
}

function becomes(round, each) {
  if (each.status === "dead") return [t("seat.dead-ante"), "void"];
  if (round.outcome === "void") return [t("super.returned"), "returned"];
  if (each.won) return [t("super.won", { amount: money(each.won) }), "won"];
  if (each.returned) return [t("seat.not-followed", { amount: money(each.returned) }), "returned"];
  if (round.outcome === "open" && isIn(each)) return [t("super.stands-bet"), "stands"];
  return [t("super.lost"), "lost"];
}
