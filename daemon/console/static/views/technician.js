// The technician: which device, why, what to do about it; and the sign, dot by dot.

import { h } from "../dom.js";
import { t, term } from "../i18n.js";
import { can } from "../store.js";
import { actButton } from "../parts.js";
import { dotText } from "../dots.js";

export function technicianView({ status }) {
  return h("div", { class: "technician-view" },
    h("h1", { class: "visually-hidden" }, t("view.technician")),
    h("section", { class: "panel" }, h("h2", {}, t("tech.devices")),
      h("div", { class: "devices" }, Object.entries(status.devices).map(([id, device]) => deviceCard(id, device, status)))),
    status.sign ? signPanel(status.sign) : null);
}

function deviceCard(id, device, status) {
  const good = device.state === "ready" && !device.barred;
  const { counters } = device;
  return h("article", { class: `device ${good ? "fine" : "bad"}`, "data-key": id },
    h("h3", {}, h("span", {}, id), h("small", {}, term("role-of", device.role))),
    h("p", { class: "device-state" }, h("b", {}, device.barred ? t("tech.barred") : term("device", device.state)), device.in_use ? h("em", {}, t("tech.in-use")) : null),
    device.cause ? fact("tech.cause", [device.cause, device.detail].filter(Boolean).join(": ")) : null,
    device.todo ? fact("tech.todo", device.todo, "todo") : null,
    device.faults.length ? fact("tech.faults", device.faults.join("; ")) : null,
    fact("tech.protocol", device.protocol), fact("tech.link", device.link),
    device.serial ? fact("tech.serial", device.serial) : null,
    device.firmware ? fact("tech.firmware", [device.firmware, device.digest && `(${device.digest})`].filter(Boolean).join(" ")) : null,
    fact("tech.heard", device.age_ms === null ? t("app.never") : t("tech.heard.ms", { ms: device.age_ms })),
    h("ul", { class: "counters" }, ["frames", "repeats", "gaps", "dropped"].map((name) =>
      h("li", { class: name !== "frames" && counters[name] ? "nonzero" : "" }, h("b", {}, counters[name]), " ", t(`tech.${name}`)))),
    status.faults.some((fault) => fault.code === `firmware-${id}`) && can("accept-device")
      ? actButton({ control: `accept-${id}`, name: "accept-device", args: { id }, label: t("tech.accept"), look: "primary" }) : null);
}

function fact(key, value, look = "") {
  return h("p", { class: `fact ${look}` }, h("span", {}, t(key)), " ", h("b", {}, value));
}

/** What the sign was told; dim while nobody has read it back from the sign. */
export function signPanel(sign) {
  const { meter, announcement, pages } = sign.wanted;
  const { proven } = sign;
  const state = proven ? "tech.sign.proven" : sign.readable ? "tech.sign.unproven" : "tech.sign.silent";
  return h("section", { class: "panel sign-panel" },
    h("h2", {}, t("tech.sign"), h("small", { class: proven ? "good" : "warn" }, t(state))),
    h("div", { class: "sign-face" }, dotText(announcement || meter, { proven, least: 20 })),
    h("dl", { class: "facts" },
      h("div", {}, h("dt", {}, t("tech.meter")), h("dd", {}, meter || "–")),
      h("div", {}, h("dt", {}, t("tech.announcement")), h("dd", {}, announcement || "–"))),
    h("h3", {}, t("tech.pages")),
    h("div", { class: "sign-pages" }, pages.map((page) => dotText(page, { proven, least: 20 }))));
}
