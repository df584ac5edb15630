// One table, two languages. The choice is kept in the browser; money and times are set here too.

import { SAYINGS } from "./sayings.js";
import { STRINGS } from "./strings.js";

const KEPT = "feltd.language";
const LANGUAGES = ["en", "zh-Hant"];
let chosen = localStorage.getItem(KEPT) === "1" ? 1 : 0;

/** 0 English, 1 Chinese. */
export const language = () => chosen;

export function setLanguage(to) {
  chosen = to;
  localStorage.setItem(KEPT, String(to));
  document.documentElement.lang = LANGUAGES[to];
  document.title = t("app.title");
}

/** The string of `key`, with {names} filled in. An unknown key is its own text. */
export function t(key, values = {}) {
  const text = STRINGS[key]?.[chosen] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** The string of `prefix.name`, or the bare name where the table has none (a word of the daemon). */
export function term(prefix, name) {
  return STRINGS[`${prefix}.${name}`]?.[chosen] ?? String(name ?? "");
}

/** What the daemon says, in the words of the page's language where they are known; else as it said it. */
export function wording(text) {
  if (chosen === 0 || !text) return text ?? "";
  for (const [said, means] of SAYINGS) {
    const found = said.exec(text);
    if (found) return means.replace(/\$(\d)/g, (_, group) => translated(found[Number(group)] ?? ""));
  }
  return text;
}

/** A place inside a sentence of the daemon. */
const translated = (part) => {
  const [, kind, number] = /^(box|seat) (\d)$/.exec(part) ?? [];
  if (kind) return t(`${kind}.name`, { [kind]: number });
  return part === "the dealer" ? t("box.dealer") : part;
};

export const hasString = (key) => key in STRINGS;

let game = "";

/** Some acts have another name in another game. */
export function setGame(name) {
  game = name;
}

/** The name of an act in the game of this table. */
export const actName = (name) => term("act", hasString(`act.${name}.${game}`) ? `${name}.${game}` : name);

/** Minor units as people read them: 1234567 is 12,345.67. */
export function money(amount) {
  const minor = BigInt(amount);
  const sign = minor < 0n ? "-" : "";
  const digits = String(minor < 0n ? -minor : minor).padStart(3, "0");
  const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${sign}${whole}.${digits.slice(-2)}`;
}

/** The same without cents where there are none: what fits on a chip. */
export const chips = (amount) => money(amount).replace(/\.00$/, "");

// --- times: the house's own, and UTC beside it -----------------------------------------------

const DAY = { year: "numeric", month: "2-digit", day: "2-digit" };
const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
let zone = "UTC";

/** The house's time zone, an IANA name; UTC when there is none that this browser knows. */
export function setZone(name) {
  try {
    zone = new Intl.DateTimeFormat("en-GB", { timeZone: name ?? "UTC" }).resolvedOptions().timeZone;
  } catch {
    zone = "UTC";
  }
}

const inZone = (when, timeZone, parts) => new Intl.DateTimeFormat("sv-SE", { ...parts, timeZone }).format(new Date(when));

/** Hours, minutes and seconds as the house has them, and UTC: "21:04:49 (13:04:49 UTC)". */
export function clock(when) {
  if (!when) return "–";
  const utc = `${inZone(when, "UTC", TIME)} UTC`;
  return zone === "UTC" ? utc : `${inZone(when, zone, TIME)} (${utc})`;
}

/** A stamp with its day as the house has it, and in which zone that is. */
export const moment = (when) => ({ local: inZone(when, zone, { ...DAY, ...TIME }), zone });

export function place(which) {
  return which === "dealer" ? t("box.dealer") : t("box.name", { box: which });
}
