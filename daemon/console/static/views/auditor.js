// The auditor comes a month later: every round, every input in its order, and a copy to take along.

import { h } from "../dom.js";
import { ask } from "../api.js";
import { hand } from "../cards.js";
import { actName, moment, money, t, term, wording } from "../i18n.js";
import { ui, update } from "../ui.js";
import { plainButton } from "../parts.js";

const AT_ONCE = 200;
const MOST_RECORDS = 5000;

const local = () => (ui.audit.ready ? ui.audit : (ui.audit = { ready: true, rounds: null, search: "", irregular: false, round: null, records: [], find: "" }));

export function auditorView(table) {
  const audit = local();
  if (audit.rounds === null || audit.seen !== table.round?.id + table.round?.outcome) load(table);
  return h("div", { class: "auditor-view" },
    h("h1", { class: "visually-hidden" }, t("view.auditor")),
    h("section", { class: "panel rounds" }, h("h2", {}, t("audit.rounds")), filters(audit), roundList(audit)),
    h("section", { class: "panel inputs" }, audit.round ? account(audit) : h("p", { class: "hint" }, t("audit.pick"))));
}

async function load(table) {
  const audit = local();
  audit.seen = table.round?.id + table.round?.outcome;
  audit.rounds ??= [];
  const { status, data } = await ask(`/api/rounds?last=${AT_ONCE}`);
  if (status === 200) audit.rounds = data.rounds;
  update();
}

// --- rounds -----------------------------------------------------------------------------------

function filters(audit) {
  return h("div", { class: "filters" },
    h("label", { class: "field" }, t("audit.search"), h("input", {
      type: "search", placeholder: t("audit.search.hint"), "data-key": "search", oninput: (event) => { audit.search = event.target.value; update(); },
    })),
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: audit.irregular, onchange: (event) => { audit.irregular = event.target.checked; update(); } }), t("audit.only")));
}

const clausesOf = (round) => [...new Set(round.irregularities.map((each) => each.clause))];

/** Everything about a round that a person may look for, in both languages' words and the API's. */
function textOf(round) {
  const places = round.boxes ?? round.seats ?? [];
  const categories = places.flatMap((each) => [each.category, each.category && term("category", each.category), each.result, each.decision]);
  return [round.id, round.outcome, term("outcome", round.outcome), round.opened_at, round.mode, ...clausesOf(round),
    ...round.irregularities.map((each) => each.detail), ...categories].join(" ").toLowerCase();
}

function found(audit) {
  const words = audit.search.toLowerCase().split(/\s+/).filter(Boolean);
  return audit.rounds.filter((round) => (!audit.irregular || round.irregularities.length) && words.every((word) => textOf(round).includes(word)));
}

function roundList(audit) {
  const rounds = found(audit);
  if (!rounds.length) return h("p", { class: "hint" }, t("audit.empty"));
  return h("ul", { class: "round-list", tabindex: "0", "aria-label": t("audit.rounds") }, rounds.map((round) => h("li", { "data-key": String(round.id) },
    h("button", { type: "button", class: `round-row ${round.outcome}`, "aria-pressed": String(audit.round?.id === round.id), onclick: () => choose(round) },
      h("b", {}, t("top.round", { id: round.id })),
      h("span", { class: `outcome ${round.outcome}` }, term("outcome", round.outcome)),
      timeOf(round.opened_at),
      h("span", { class: "clauses" }, clausesOf(round).join(" "))))));
}

/** A stamp for people: the house's time, and UTC below it with `digits` of its second. */
function timeOf(at, digits = 0) {
  const { local, zone } = moment(at);
  const utc = `${at.replace("T", " ").slice(0, digits ? 20 + digits : 19)} UTC`;
  return h("time", { datetime: at }, zone === "UTC" ? utc : [h("span", {}, local), h("small", {}, utc)]);
}

async function choose(round) {
  const audit = local();
  Object.assign(audit, { round, records: [], find: "" });
  update();
  const records = await recordsOf(round);
  if (audit.round?.id !== round.id) return;
  audit.records = records;
  update();
}

async function recordsOf(round) {
  const [first, last] = round.inputs;
  const all = [];
  let from = first;
  while (all.length < MOST_RECORDS) {
    const { status, data } = await ask(`/api/records?from=${from}${last ? `&to=${last}` : ""}`);
    if (status !== 200) break;
    all.push(...data.records);
    if (data.next === null) break;
    from = data.next;
  }
  return all;
}

// --- one round --------------------------------------------------------------------------------

function account(audit) {
  const { round } = audit;
  const name = `round-${round.id}`;
  return [
    h("h2", {}, t("audit.account", { id: round.id }), h("small", {}, `${term("outcome", round.outcome)}, ${term("mode", round.mode)}, ${round.rules}`)),
    h("div", { class: "exports" },
      plainButton(t("audit.export.json"), () => save(`${name}.json`, "application/json", JSON.stringify({ round, records: audit.records }, null, 2)), { look: "quiet", key: "json" }),
      plainButton(t("audit.export.csv"), () => save(`${name}.csv`, "text/csv", csv(audit.records)), { look: "quiet", key: "csv" })),
    round.boxes ? boxTable(round) : seatTable(round),
    round.pots?.length ? potList(round) : null,
    round.irregularities.map((each) => h("p", { class: "irregular-line" }, h("b", { class: "clause-id" }, each.clause), " ", wording(each.detail))),
    h("h3", { class: "counted" }, t("audit.inputs"), h("span", { class: "count" }, audit.records.length)),
    h("label", { class: "field" }, t("audit.find-input"), h("input", { type: "search", "data-key": "find", oninput: (event) => { audit.find = event.target.value; update(); } })),
    recordTable(audit),
  ];
}

function boxTable(round) {
  const columns = ["arg.box", "box.ante", "box.raise", "box.progressive", "arg.cards", "arg.result", "audit.paid"];
  const amount = (value) => (value ? money(value) : "");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("audit.boxes") }, h("table", {},
    h("thead", {}, h("tr", {}, columns.map((key) => h("th", { scope: "col", class: /ante|raise|progressive|paid/.test(key) ? "number" : null }, t(key))))),
    h("tbody", {},
      round.boxes.map((box) => h("tr", { "data-key": String(box.box) },
        h("th", { scope: "row" }, box.box), h("td", { class: "number" }, amount(box.ante)), h("td", { class: "number" }, amount(box.raise)),
        h("td", { class: "number" }, amount(box.progressive), box.carried ? ` ${t("box.carried")}` : ""),
        h("td", {}, box.cards ? hand(t("box.name", { box: box.box }), box.cards, { size: box.cards.length }) : "–"),
        h("td", {}, [box.result && term("result", box.result), box.category && term("category", box.category)].filter(Boolean).join(", ")),
        h("td", { class: "number" }, amount(box.ante_paid + box.raise_paid + box.award)))),
      h("tr", { "data-key": "dealer" }, h("th", { scope: "row" }, t("box.dealer")), h("td"), h("td"), h("td"),
        h("td", {}, round.dealer.cards ? hand(t("box.dealer"), round.dealer.cards, { size: round.dealer.cards.length }) : "–"),
        h("td", {}, round.dealer.category ? term("category", round.dealer.category) : ""), h("td")))));
}

/** Five-card: what each seat put in and got, and its cards. */
function seatTable(round) {
  const columns = ["arg.seat", "box.ante", "box.in-pot", "arg.cards", "audit.hand", "seat.returned", "seat.won"];
  const amount = (value) => h("td", { class: "number" }, value ? money(value) : "");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("audit.seats") }, h("table", {},
    h("thead", {}, h("tr", {}, columns.map((key) => h("th", { scope: "col", class: /ante|in-pot|returned|won/.test(key) ? "number" : null }, t(key))))),
    h("tbody", {}, round.seats.map((seat) => h("tr", { "data-key": String(seat.seat) },
      h("th", { scope: "row" }, seat.seat), amount(seat.ante), amount(seat.ante + seat.staked),
      h("td", {}, seat.cards.length ? hand(t("seat.name", { seat: seat.seat }), seat.cards, { size: seat.cards.length }) : "–"),
      h("td", {}, [seat.status !== "in" && t(`seat.${seat.status}`), seat.category && term("category", seat.category)].filter(Boolean).join(", ")),
      amount(seat.returned), amount(seat.won))))));
}

function potList(round) {
  const won = (pot) => pot.won.map((each) => `${t("seat.name", { seat: each.seat })} ${money(each.amount)}`).join(", ");
  return h("dl", { class: "facts" }, round.pots.map((pot, at) => h("div", {}, h("dt", {}, at ? t("stud.side-pot", { n: at }) : t("stud.main-pot")),
    h("dd", {}, `${money(pot.amount)} – ${t("audit.rake")} ${money(pot.rake)} → ${won(pot)}`))));
}

// --- records ----------------------------------------------------------------------------------

/** A record as a person reads it: what came in, from whom, what became of it. */
export function told(record) {
  const input = record.input ?? {};
  const args = Object.entries(input.args ?? {}).map(([key, value]) => `${key}=${value}`).join(" ");
  const what = input.kind === "act"
    ? `${actName(input.name)} ${args}`
    : [input.kind, input.device, input.event, input.code, input.ready === undefined ? "" : input.ready ? "ready" : input.cause, input.text].filter(Boolean).join(" ");
  const by = [input.by, input.role && term("role", input.role)].filter(Boolean).join(", ");
  const notes = (record.effects ?? []).filter((each) => each.effect === "note").map((each) => `${each.clause} ${wording(each.detail)}`.trim());
  const refusal = record.refusal ? t("audit.refused", { why: `${wording(record.refusal.reason)} ${record.refusal.clause}`.trim() }) : "";
  const moves = (record.money ?? []).map(([source, target, amount]) => `${source} → ${target} ${money(amount)}`);
  return { seq: record.seq, at: record.at, what: what.trim(), by, became: [refusal, wording(record.message ?? ""), ...notes, ...moves].filter(Boolean).join("; ") };
}

function recordTable(audit) {
  const words = audit.find.toLowerCase();
  const rows = audit.records.map(told).filter((row) => !words || Object.values(row).join(" ").toLowerCase().includes(words));
  return h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": t("audit.inputs") }, h("table", { class: "records" },
    h("thead", {}, h("tr", {}, ["audit.seq", "audit.at", "audit.input", "audit.by", "audit.effect"].map((key) => h("th", { scope: "col" }, t(key))))),
    h("tbody", {}, rows.map((row) => h("tr", { "data-key": String(row.seq) },
      h("th", { scope: "row" }, row.seq), h("td", {}, timeOf(row.at, 3)), h("td", {}, row.what), h("td", {}, row.by), h("td", {}, row.became))))));
}

// --- taking it along --------------------------------------------------------------------------

function csv(records) {
  // A cell that a spreadsheet would take for a formula is made a text.
  const cell = (value) => `"${String(value).replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;
  const rows = records.map(told);
  const { zone } = moment(0);
  return [`seq,at,local (${zone}),input,by,became`, ...rows.map((row) => [row.seq, row.at, moment(row.at).local, row.what, row.by, row.became].map(cell).join(","))].join("\r\n") + "\r\n";
}

function save(name, type, text) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
