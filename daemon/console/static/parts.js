// Pieces that several views share: buttons that do acts, dialogs, and what became of an act.

import { h } from "./dom.js";
import { actName, chips, money, t, term, wording } from "./i18n.js";
import { act, can, press, state, whyNot } from "./store.js";
import { closeDialog, openDialog } from "./ui.js";
import { RANKS, SUITS, face, spoken } from "./cards.js";

/**
 * A button that does one act. `control` names the button: a second tap on it is no second act.
 * `told`: how the line below the page names the act, where the button says less.
 */
export function actButton({ control, name, args = {}, label, told: toldAs, hint, look = "", shortcut, options, onDone }) {
  const pending = state.pending.has(control);
  const does = async () => {
    const told = await press(control, name, args, { label: toldAs ?? label, ...(typeof options === "function" ? options() : options) });
    if (told?.outcome === "accepted") onDone?.(told.answer);
  };
  return h("button", {
    type: "button", class: `act ${look}`, "data-key": control, "data-control": control,
    "aria-busy": pending ? "true" : null, "aria-keyshortcuts": shortcut, disabled: !can(name), title: whyNot(name) || null,
    onclick: does,
  }, h("span", { class: "what" }, label), hint ? h("small", {}, hint) : null, shortcut ? h("kbd", { "aria-hidden": "true" }, shortcut) : null);
}

export function plainButton(label, onclick, { look = "", key, disabled = false, hint, shortcut, pressed } = {}) {
  return h("button", {
    type: "button", class: look, "data-key": key ?? label, disabled, onclick, "aria-keyshortcuts": shortcut,
    "aria-pressed": pressed === undefined ? null : String(pressed),
  }, h("span", { class: "what" }, label), hint ? h("small", {}, hint) : null, shortcut ? h("kbd", { "aria-hidden": "true" }, shortcut) : null);
}

// --- dialogs ----------------------------------------------------------------------------------

/** The frame of a dialog: a title, its content, and the buttons of its foot. */
export function sheet(title, content, foot = []) {
  return [
    h("div", { class: "sheet-head" },
      h("h2", { id: "dialog-title" }, title),
      h("button", { type: "button", class: "quiet close", "aria-label": t("app.close"), onclick: closeDialog }, "✕")),
    h("div", { class: "sheet-body" }, content),
    foot.length ? h("div", { class: "sheet-foot" }, foot) : null,
  ];
}

/** Tell the effect first, then do it: the last step of everything that cannot be taken back easily. */
export function confirmAct({ title, body = [], effect, clause, name, args, look = "danger", label, ready = true }) {
  return sheet(title, [
    body, secondPerson(name),
    effect ? h("div", { class: "effect" }, h("h3", {}, t("effect.title")), h("p", {}, effect)) : null,
    clause ? h("p", { class: "clause" }, h("b", {}, clause), " ", term("clause", clause)) : null,
    refusal(),
  ], [
    plainButton(t("app.cancel"), closeDialog, { look: "quiet" }),
    ready ? actButton({ control: `confirm.${name}`, name, args, told: title, options: () => ({ second: second() }), look, label: label ?? t("app.confirm"), onDone: closeDialog }) : null,
  ]);
}

/** An act with a text: what happened, in the words of whoever declares it. */
export function textAct(name, title, effect, clause, given = "") {
  let text = given;
  const draw = () => confirmAct({
    title, effect, clause, name, args: { text }, ready: text.trim() !== "",
    body: h("label", { class: "field" }, t("irregular.text"),
      h("input", { type: "text", value: given, maxlength: "200", oninput: (event) => { const was = text.trim(); text = event.target.value; if (!was !== !text.trim()) openDialog(draw); } })),
  });
  openDialog(draw);
}

/** Name and PIN of the second person, where an act needs two (the daemon looks at both). */
function secondPerson(name) {
  if (!act(name)?.needs_second) return null;
  const roles = act(name).second_roles.map((role) => term("role", role)).join(", ");
  return h("fieldset", { class: "second" }, h("legend", {}, `${t("arg.second")}: ${roles}`),
    h("label", { class: "field" }, t("login.name"), h("input", { id: "second-name", type: "text", autocomplete: "off", autocapitalize: "none", maxlength: "64" })),
    h("label", { class: "field" }, t("login.pin"), h("input", { id: "second-pin", type: "password", autocomplete: "off", maxlength: "128" })));
}

function second() {
  const [name, pin] = ["second-name", "second-pin"].map((id) => document.getElementById(id)?.value);
  return name && pin ? { name: name.trim(), pin } : undefined;
}

/** Why the last act was refused, inside a dialog that hides the line below the page. */
function refusal() {
  const { told } = state;
  return told?.outcome === "refused" ? h("p", { class: "refusal", role: "alert" }, toldText(told)) : null;
}

/** Digits for an amount of whole units; the table checks it against its limits too. */
export function keypad({ title, min, max, onUse }) {
  let digits = "";
  const draw = () => {
    const amount = Number(digits || 0) * 100;
    const fits = amount >= min && amount <= max;
    const add = (digit) => () => { if (digits.length < 8) digits = (digits + digit).replace(/^0+/, ""); openDialog(draw); };
    return sheet(title, [
      h("output", { class: "amount", "aria-live": "polite" }, digits ? chips(amount) : "0"),
      h("p", { class: fits || !digits ? "hint" : "hint wrong" }, t("keypad.limits", { min: money(min), max: money(max) })),
      h("div", { class: "keys" },
        ["1", "2", "3", "4", "5", "6", "7", "8", "9", "00", "0"].map((digit) => plainButton(digit, add(digit), { key: `digit-${digit}` })),
        h("button", { type: "button", "aria-label": t("keypad.delete"), onclick: () => { digits = digits.slice(0, -1); openDialog(draw); } }, "⌫")),
    ], [
      plainButton(t("app.cancel"), closeDialog, { look: "quiet" }),
      plainButton(t("keypad.use", { amount: chips(amount) }), () => { closeDialog(); onUse(amount); }, { look: "primary", key: "use", disabled: !fits }),
    ]);
  };
  openDialog(draw);
}

/** Choose `count` cards of the deck. Those that lie open elsewhere, as `taken()` tells, cannot be chosen. */
export function cardPicker({ title, count, taken, ranks = RANKS, fixed = [], name, argsOf, options }) {
  let chosen = [...fixed];
  const toggle = (card) => () => {
    if (chosen.includes(card)) chosen = chosen.filter((each) => each !== card || fixed.includes(card));
    else if (count === 1) chosen = [card];
    else if (chosen.length < count) chosen = [...chosen, card];
    openDialog(draw);
  };
  const draw = () => {
    const elsewhere = taken();
    return sheet(title, [
      h("p", { class: "hint", "aria-live": "polite" }, t("picker.chosen", { n: chosen.length, all: count })),
      h("div", { class: "deck" }, SUITS.flatMap((suit) => ranks.map((rank) => {
        const card = rank + suit;
        return h("button", {
          type: "button", class: "pick", "data-key": card, "aria-label": spoken(card), "aria-pressed": String(chosen.includes(card)),
          disabled: elsewhere.has(card) && !chosen.includes(card), onclick: toggle(card),
        }, face(card));
      }))),
      refusal(),
    ], [
      plainButton(t("app.cancel"), closeDialog, { look: "quiet" }),
      chosen.length === count
        ? actButton({ control: "picker", name, args: argsOf(chosen.join(" ")), told: title, options, look: "primary", label: t("picker.done"), onDone: closeDialog })
        : plainButton(t("picker.done"), () => {}, { look: "primary", disabled: true, key: "picker-wait" }),
    ]);
  };
  openDialog(draw);
}

// --- what became of an act --------------------------------------------------------------------

export function toldText({ name, label, outcome, answer }) {
  const what = label ?? actName(name);
  if (outcome === "accepted") return [t("told.accepted", { what }), wording(answer.message)].filter(Boolean).join(" – ");
  if (outcome === "lost") return t("told.lost", { what });
  const clause = answer?.clause ? ` (${answer.clause})` : "";
  const todo = answer?.todo ? ` ${t("told.todo", { todo: wording(answer.todo) })}` : "";
  return `${t("told.refused", { what, why: wording(answer?.detail ?? "") + clause })}${todo ? "." + todo : ""}`;
}

export function toldLine() {
  const { told, pending } = state;
  if (pending.size) return h("p", { class: "sending" }, t("told.pending"));
  return told ? h("p", { class: told.outcome }, toldText(told)) : null;
}
