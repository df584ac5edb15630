// The supervisor comes when something went wrong: what, under which clause, what becomes of each bet.

import { h } from "../dom.js";
import { clock, money, t, term, wording } from "../i18n.js";
import { can } from "../store.js";
import { openDialog } from "../ui.js";
import { confirmAct, plainButton } from "../parts.js";
import { actsSheet } from "./acts.js";
import { gameOf } from "../games/index.js";

export function supervisorView(table) {
  return h("div", { class: "supervisor-view" },
    h("h1", { class: "visually-hidden" }, t("view.supervisor")),
    h("div", { class: "columns" },
      h("div", { class: "stack" }, happened(table), effectTable(table)),
      todo(table)));
}

// --- what happened ----------------------------------------------------------------------------

function happened({ status, round }) {
  const irregular = round?.irregularities ?? [];
  return h("section", { class: "panel happened" },
    h("h2", {}, t("super.now"), round ? h("small", {}, t("super.round", { id: round.id, outcome: term("outcome", round.outcome) })) : null),
    irregular.length ? null : h("p", { class: "hint" }, t("super.nothing")),
    [...irregular].reverse().map((each) => h("article", { class: "irregular", "data-key": `${each.clause}-${each.at}` },
      h("p", { class: "lead" }, h("b", { class: "clause-id" }, each.clause), " ", wording(each.detail)),
      h("p", { class: "clause" }, term("clause", each.clause)),
      h("p", { class: "hint" }, t("super.at", { at: clock(each.at) })))),
    round && irregular.length
      ? h("p", { class: round.outcome === "void" ? "verdict void" : "verdict stands" }, t(round.outcome === "void" ? "super.voided" : "super.stands"))
      : null,
    status.not_ready ? h("p", { class: "hint" }, `${t("next.not-ready")}: ${wording(status.not_ready)}`) : null);
}

function effectTable(table) {
  const { round } = table;
  const game = gameOf(table);
  if (!round || !game) return null;
  const head = [round.seats ? "arg.seat" : "arg.box", "super.bet", "keypad.title", "super.becomes"];
  return h("section", { class: "panel" },
    h("h2", {}, t("super.effect")),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("super.effect") }, h("table", {},
      h("thead", {}, h("tr", {}, head.map((key) => h("th", { scope: "col", class: key === "keypad.title" ? "number" : null }, t(key))))),
      h("tbody", {}, game.effects(round).map(([place, bet, amount, text, look]) => h("tr", { "data-key": `${place}-${bet}` },
        h("th", { scope: "row" }, game.placeName(place)), h("td", {}, bet ? t(`box.${bet}`) : "–"),
        h("td", { class: "number" }, amount ? money(amount) : ""), h("td", { class: `becomes ${look}` }, text)))))));
}

// --- what waits for a supervisor --------------------------------------------------------------

function todo(table) {
  const { status } = table;
  const items = [
    ...status.faults.map(fault), ...(status.pending_awards ?? []).map(award),
    ...Object.entries(status.refundable ?? {}).map(refund),
    ...Object.entries(status.devices).filter(([, device]) => device.barred).map(barred),
  ];
  return h("section", { class: "panel todo" },
    h("h2", {}, t("super.todo"), waiting(table) ? h("span", { class: "count" }, waiting(table)) : null),
    items.length ? items : h("p", { class: "hint" }, t("super.todo.none")),
    plainButton(t("super.tools"), () => openDialog(() => actsSheet()), { look: "quiet", key: "all-acts" }));
}

function item(key, look, title, detail, ...buttons) {
  return h("article", { class: `todo-item ${look}`, "data-key": key }, h("p", { class: "lead" }, title), h("p", { class: "hint" }, detail), buttons);
}

function fault(each) {
  const open = () => {
    let text = "";
    const draw = () => confirmAct({
      title: `${t("super.clear")}: ${each.code}`, name: "clear-fault", args: { code: each.code, text }, effect: t("effect.clear-fault"), look: "primary", ready: text.trim() !== "",
      body: [h("p", {}, wording(each.text)), h("label", { class: "field" }, t("super.note"), h("input", {
        type: "text", maxlength: "200", oninput: (event) => { const was = text.trim(); text = event.target.value; if (!was !== !text.trim()) openDialog(draw); },
      }))],
    });
    openDialog(draw);
  };
  const byAct = each.cleared_by === "supervisor" || each.cleared_by.startsWith("clear-fault") || each.code === "integrity";
  return item(`fault-${each.code}`, "bad", [h("b", {}, `${t("super.fault")} ${each.code}: `), wording(each.text)], t("super.cleared-by", { by: each.cleared_by }),
    byAct ? plainButton(t("super.clear"), open, { look: "primary", key: "clear", disabled: !can("clear-fault") }) : null);
}

function award(each) {
  const title = t("super.award", { box: each.box, category: term("category", each.category) });
  const open = () => openDialog(() => confirmAct({
    title, clause: "CS-10", effect: t("effect.award"), name: "confirm-award", args: { box: each.box }, look: "primary", label: t("super.award.confirm"),
    body: h("p", { class: "amount" }, money(each.amount)),
  }));
  if (each.amount === null) return item(`award-${each.round}-${each.box}`, "award", [title], t("top.round", { id: each.round }), h("p", {}, t("super.undecided")));
  return item(`award-${each.round}-${each.box}`, "award", [title, " ", h("b", { class: "amount" }, money(each.amount))], t("top.round", { id: each.round }),
    each.confirmed ? h("p", {}, t("super.award.waits")) : plainButton(t("super.award.confirm"), open, { look: "primary", key: "confirm", disabled: !can("confirm-award") }));
}

function refund([box, stake]) {
  const open = () => openDialog(() => confirmAct({
    title: t("super.refund", { box }), clause: "CS-11", effect: t("effect.refund"), name: "refund-carried", args: { box: Number(box) }, look: "primary", label: t("super.refund.do"),
    body: h("p", { class: "amount" }, money(stake)),
  }));
  return item(`refund-${box}`, "", [t("super.refund", { box }), " ", h("b", { class: "amount" }, money(stake))], t("effect.refund"),
    plainButton(t("super.refund.do"), open, { look: "primary", key: "refund", disabled: !can("refund-carried") }));
}

function barred([id, device]) {
  const open = () => openDialog(() => confirmAct({
    title: `${t("super.accept.do")}: ${id}`, clause: "CS-11d", effect: t("effect.accept-device"), name: "accept-device", args: { id }, look: "primary",
  }));
  return item(`barred-${id}`, "bad", t("super.accept", { id, clause: device.barred }), term("clause", device.barred),
    plainButton(t("super.accept.do"), open, { look: "primary", key: "accept", disabled: !can("accept-device") }));
}

/** How many things wait for somebody: an award that only waits for its turn to be paid does not. */
export function waiting({ status }) {
  const awards = (status.pending_awards ?? []).filter((each) => !each.confirmed).length;
  return status.faults.length + awards + Object.keys(status.refundable ?? {}).length + Object.values(status.devices).filter((device) => device.barred).length;
}

