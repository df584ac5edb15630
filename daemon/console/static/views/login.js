// Name and PIN. The PIN is sent once and kept nowhere.

import { h } from "../dom.js";
import { t, term } from "../i18n.js";
import { signIn, signOut, state, unlock } from "../store.js";
import { update } from "../ui.js";

let told = "";

async function tell(answer) {
  const detail = answer.data?.detail ?? "";
  told = [200, 201].includes(answer.status) ? "" : detail ? `${t("login.wrong")}: ${detail}` : t("login.unreachable");
  update();
}

export function loginView() {
  const submit = async (event) => {
    event.preventDefault();
    const { name, pin } = event.target.elements;
    const given = pin.value;
    pin.value = "";
    await tell(await signIn(name.value.trim(), given));
  };
  return h("form", { class: "panel login", "data-key": "login", onsubmit: submit },
    h("h1", {}, t("login.title")),
    h("label", { class: "field" }, t("login.name"), h("input", { name: "name", type: "text", required: true, autocomplete: "username", autocapitalize: "none", maxlength: "64" })),
    pinField(), wrong(),
    h("button", { type: "submit", class: "act primary" }, t("login.go")));
}

export function lockedView() {
  const submit = async (event) => {
    event.preventDefault();
    const { pin } = event.target.elements;
    const given = pin.value;
    pin.value = "";
    await tell(await unlock(given));
  };
  const { name, role } = state.session;
  return h("form", { class: "panel login", "data-key": "locked", onsubmit: submit },
    h("h1", {}, t("login.locked")), h("p", { class: "hint" }, `${name}, ${term("role", role)}`),
    pinField(), wrong(),
    h("button", { type: "submit", class: "act primary" }, t("login.unlock")),
    h("button", { type: "button", class: "quiet", onclick: signOut }, t("app.sign-out")));
}

const pinField = () => h("label", { class: "field" }, t("login.pin"), h("input", { name: "pin", type: "password", required: true, autocomplete: "current-password", inputmode: "numeric", maxlength: "128" }));
const wrong = () => (told ? h("p", { class: "refusal", role: "alert" }, told) : null);
