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
const translated = (part) => (part === "the dealer" ? t("box.dealer") : /^box \d$/.test(part) ? t("box.name", { box: part.slice(4) }) : part);

export const hasString = (key) => key in STRINGS;

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

/** Hours, minutes and seconds, local to the page. */
export function clock(when) {
  return when ? new Date(when).toLocaleTimeString("en-GB") : "–";
}

export function place(which) {
  return which === "dealer" ? t("box.dealer") : t("box.name", { box: which });
}
