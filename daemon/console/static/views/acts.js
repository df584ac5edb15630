// Any game can be played from what GET /acts tells: every act, its arguments, and whether it may be done.

import { h } from "../dom.js";
import { actName, hasString, t, term, wording } from "../i18n.js";
import { can, isLive, press, state, whyNot } from "../store.js";

import { plainButton, sheet, toldLine } from "../parts.js";
import { hand } from "../cards.js";

/** The acts of this person, those that the state takes first. `only` names one. */
export function actsSheet(only) {
  return sheet(only ? actName(only) : t("acts.title"), [actList(only), toldLine()]);
}

export function actList(only) {
  const mine = state.table.acts.filter((each) => each.may && (!only || each.name === only));
  const now = mine.filter((each) => each.now.allowed);
  if (!mine.length) return h("p", { class: "hint" }, t("acts.none"));
  const later = mine.filter((each) => !each.now.allowed);
  return h("div", { class: "acts" }, now.map(actForm), later.map((each) =>
    h("p", { class: "later", "data-key": `later-${each.name}` }, h("b", {}, nameOf(each)), " ", h("small", {}, wording(each.now.reason)))));
}

const nameOf = (each) => (hasString(`act.${each.name}`) ? actName(each.name) : each.title || each.name);
const argName = (argument) => (hasString(`arg.${argument.name}`) ? t(`arg.${argument.name}`) : argument.title || argument.name);

function actForm(each) {
  const control = `act-${each.name}`;
  const submit = async (event) => {
    event.preventDefault();
    const form = event.target;
    const told = await press(control, each.name, valuesOf(form, each), { label: nameOf(each), ...extrasOf(form, each) });
    if (told?.outcome === "accepted") form.reset();
  };
  return h("form", { class: "act-form", "data-key": control, onsubmit: submit },
    h("h3", {}, nameOf(each)),
    each.arguments.map((argument) => field(argument, control)),
    each.needs_second ? [secondField("second-name", t("arg.second"), "text"), secondField("second-pin", t("login.pin"), "password")] : null,
    h("button", { type: "submit", class: "act", disabled: !can(each.name) || !isLive(), "aria-busy": state.pending.has(control) ? "true" : null, title: whyNot(each.name) || null },
      h("span", { class: "visually-hidden" }, `${nameOf(each)}: `), t("acts.do")));
}

function field(argument, control) {
  const label = argName(argument) + (argument.required ? "" : ` (${t("acts.optional")})`);
  const common = { name: argument.name, required: argument.required, "data-key": `${control}-${argument.name}` };
  return h("label", { class: "field" }, label, argument.choices?.length
    ? h("select", common, h("option", { value: "" }, "–"), argument.choices.map((choice) => h("option", { value: choice }, String(choice))))
    : h("input", { ...common, type: "text", autocomplete: "off", inputmode: ["number", "amount", "seat", "box"].includes(argument.type) ? "numeric" : null, maxlength: "200" }));
}

const secondField = (name, label, type) => h("label", { class: "field" }, label, h("input", { name, type, required: true, autocomplete: "off", maxlength: "64" }));

function valuesOf(form, each) {
  const values = {};
  for (const { name, type } of each.arguments) {
    const text = form.elements[name].value.trim();
    if (text === "") continue;
    values[name] = ["number", "amount", "seat", "box"].includes(type) && /^-?\d{1,16}$/.test(text) ? Number(text) : text;
  }
  return values;
}

function extrasOf(form, each) {
  return each.needs_second ? { second: { name: form.elements["second-name"].value, pin: form.elements["second-pin"].value } } : {};
}

/** A table whose game has no view of its own: what is known of the round, and its acts. */
export function genericView(table) {
  const { status, round } = table;
  const places = round?.seats ?? round?.boxes ?? [];
  return h("div", { class: "generic-view" },
    h("h1", {}, `${status.game}: ${term("state", status.state)}`),
    h("div", { class: "columns" },
      h("section", { class: "panel" }, h("h2", {}, round ? t("top.round", { id: round.id }) : t("audit.rounds")),
        status.turn ? h("p", { class: "lead" }, `${t("next.label")}: ${t("arg.seat")} ${status.turn}`) : null,
        places.map((each) => h("div", { class: "place-row" },
          h("b", {}, `${each.seat ? t("arg.seat") : t("arg.box")} ${each.seat ?? each.box}`),
          each.cards?.length ? hand(String(each.seat ?? each.box), each.cards, { size: each.cards.length }) : null,
          h("span", {}, [each.status, each.category && term("category", each.category)].filter(Boolean).join(", "))))),
      h("section", { class: "panel" }, h("h2", {}, t("acts.title")), actList())));
}

