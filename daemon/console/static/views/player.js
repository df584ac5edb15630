// The players' screen shows the present and nothing else: no past result, no count, no name (CS-12).

import { h } from "../dom.js";
import { ask } from "../api.js";
import { hand } from "../cards.js";
import { money, t, term } from "../i18n.js";
import { dotText } from "../dots.js";

const WAIT = 5; // s
const RETRY = 1000; // ms
const SILENT_AFTER = 9000; // ms

const seen = { view: null, heard: 0, live: false };

/** Keep asking; `changed` is called with each answer, and when none comes. */
export async function follow(changed) {
  setInterval(() => {
    if (seen.live && Date.now() - seen.heard > SILENT_AFTER) {
      seen.live = false;
      changed();
    }
  }, 1000);
  for (;;) {
    const { status, data } = await ask(seen.view && seen.live ? `/api/player?after=${seen.view.seq}&wait=${WAIT}` : "/api/player");
    seen.live = status === 200;
    if (seen.live) Object.assign(seen, { view: data, heard: Date.now() });
    changed();
    if (!seen.live) await new Promise((wake) => setTimeout(wake, RETRY));
  }
}

export function playerView() {
  const { view, live } = seen;
  if (!view) return h("div", { class: "player-view" }, h("h1", {}, t("view.player")), h("p", { class: "player-wait" }, t("app.loading")));
  return h("div", { class: `player-view${live ? "" : " not-live"}` },
    h("h1", {}, t(view.pool === null ? "stud.pot" : "player.jackpot")),
    live ? null : h("p", { class: "player-wait", role: "alert" }, t("player.wait")),
    h("div", { class: "sign-face" }, dotText(view.announcement || money(view.pool ?? view.pot ?? 0), { proven: live, least: 14 })),
    h("p", { class: "player-state", "aria-live": "polite" }, term("state", view.state)),
    h("div", { class: "player-table" },
      view.dealer?.cards ? place(t("box.dealer"), view.dealer, "dealer") : null,
      view.boxes.map((box) => place(t("box.name", { box: box.box }), box, `box-${box.box}`)),
      view.seats.map((seat) => place(`${t("arg.seat")} ${seat.seat}`, seat, `seat-${seat.seat}`))),
    view.prizes.length ? prizes(view.prizes) : null);
}

function place(name, each, key) {
  const bet = (label, amount, more) => (amount ? h("p", {}, h("span", {}, label), " ", h("b", {}, money(amount)), more ? h("em", {}, ` ${more}`) : null) : null);
  return h("section", { class: "player-place", "data-key": key }, h("h2", {}, name),
    bet(t("box.ante"), each.ante), bet(t("box.raise"), each.raise), bet(t("seat.bets"), each.staked),
    each.status && each.status !== "in" ? h("p", {}, t(`seat.${each.status}`)) : null,
    bet(t("box.progressive"), each.progressive, each.carried ? t("box.carried") : t("player.accepted")),
    each.cards ? hand(name, each.cards, { size: each.cards.length }) : null,
    each.category ? h("p", { class: "category" }, term("category", each.category)) : null);
}

function prizes(list) {
  return h("section", { class: "prizes" }, h("h2", {}, t("player.prizes")),
    h("dl", {}, list.map((each) => h("div", {}, h("dt", {}, term("category", each.category)), h("dd", {}, money(each.amount))))));
}
