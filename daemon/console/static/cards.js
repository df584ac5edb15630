// A card on the screen: what lies face down has a back and nothing else.

import { h } from "./dom.js";
import { t, term } from "./i18n.js";

const SIGNS = { S: "♠", H: "♥", C: "♣", D: "♦" };
export const RANKS = ["A", "K", "Q", "J", "10", "9", "8", "7", "6", "5", "4", "3", "2"];
export const SUITS = ["S", "H", "C", "D"];

export const rankOf = (card) => card.slice(0, -1);
export const suitOf = (card) => card.slice(-1);

/** What a screen reader says for a card. */
export function spoken(card) {
  return `${term("suit", suitOf(card))} ${rankOf(card)}`;
}

export function face(card) {
  const suit = suitOf(card);
  return h("span", { class: `face suit-${suit}`, "aria-hidden": "true" },
    h("b", {}, rankOf(card)), h("i", {}, SIGNS[suit]));
}

/** A hand of `size` cards: known ones open, the others as backs. `onCard(at)` makes each `touchable` one a button. */
export function hand(place, cards, { size = 5, exposed = 0, onCard = null, touchable = () => true, disabled = false } = {}) {
  const shown = Array.from({ length: size }, (_, index) => cards?.[index] ?? null);
  return h("div", { class: "hand", role: "group", "aria-label": t("card.hand", { place }) },
    shown.map((card, index) => oneCard(card, index + 1, { exposed: exposed === index + 1, onCard: touchable(index + 1) ? onCard : null, disabled })));
}

function oneCard(card, at, { exposed, onCard, disabled }) {
  const label = card ? t("card.up", { at, face: spoken(card) }) : t("card.down", { at });
  const looks = `card ${card ? "up" : "down"}${exposed ? " exposed" : ""}`;
  const inside = card ? face(card) : "";
  if (!onCard) return h("span", { class: looks, role: "img", "aria-label": label }, inside);
  return h("button", { class: looks, type: "button", "aria-label": label, disabled, onclick: () => onCard(at) }, inside);
}
