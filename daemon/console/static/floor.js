// The floor's page: asks every two seconds, and says so when it is not told.

const EVERY = 2000;
const TABLES = [
  ["table", "Table", "賭檯"], ["link", "Link", "連線"], ["age", "Age", "時間"], ["outbox", "Outbox", "待送"],
  ["pending", "Pending", "待決"], ["contributions", "Bets", "注數"], ["contributed", "Contributed", "供款"],
  ["awards", "Awards", "派彩"], ["awarded", "Awarded", "彩金"],
];
const ACCOUNTS = [
  ["stakes", "Stakes", "投注"], ["house", "House", "莊家"], ["pool", "Pool", "彩池"], ["overflow", "Overflow", "溢額"],
  ["reserve", "Reserve", "儲備"], ["players", "Players", "玩家"],
];
const MOVEMENTS = [["table", "Table", "賭檯"], ["kind", "Kind", "類別"], ["lines", "Lines", "筆數"], ...ACCOUNTS];
const LINKS = { linked: "linked 已連線", stale: "stale 中斷", never: "never 從未" };
const MONEY = new Set(["contributed", "awarded", ...ACCOUNTS.map(([key]) => key)]);

const at = (id) => document.getElementById(id);
const money = (units) => (units / 100).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

function element(name, text, kind) {
  const made = document.createElement(name);
  made.textContent = text ?? "";
  if (kind) made.className = kind;
  return made;
}

function titles(id, columns) {
  const row = document.createElement("tr");
  for (const [, english, chinese] of columns) {
    const cell = element("th", english);
    const small = element("small", chinese);
    small.lang = "zh-Hant";
    cell.scope = "col";
    cell.append(small);
    row.append(cell);
  }
  document.querySelector(`#${id} thead`).replaceChildren(row);
}

function text(key, value) {
  if (value === null || value === undefined) return "";
  if (key === "age") return `${Math.round(value)} s`;
  if (key === "link") return LINKS[value] ?? value;
  return MONEY.has(key) ? money(value) : String(value);
}

function kindOf(key, row) {
  if (key === "link" || key === "age") return row.link;
  return (key === "outbox" || key === "pending") && row[key] > 0 ? "wait" : "";
}

function line(columns, row, kind) {
  const made = document.createElement("tr");
  made.append(...columns.map(([key]) => element("td", text(key, row[key]), kindOf(key, row))));
  if (kind) made.className = kind;
  return made;
}

function movements(day) {
  const rows = [];
  for (const [table, kinds] of Object.entries(day.tables)) {
    for (const [kind, sums] of Object.entries(kinds)) rows.push(line(MOVEMENTS, { table, kind, ...sums }));
  }
  rows.push(line(MOVEMENTS, { kind: "sum 合計", ...day.sum }, "sum"));
  return rows;
}

function show(told) {
  at("pool").textContent = told.pool;
  at("now").textContent = money(told.now);
  at("day").textContent = `${told.day.day} (${told.house.time_zone})`;
  document.querySelector("#tables tbody").replaceChildren(...told.tables.map((row) => line(TABLES, row)));
  document.querySelector("#movements tbody").replaceChildren(...movements(told.day));
  at("reconciled").textContent = told.reconciled
    ? "The tables' sums are the movements of the pool, to the unit. 已對賬" : "The books do not add up: 未能對賬";
  at("reconciled").className = told.reconciled ? "good" : "stale";
  at("differences").replaceChildren(...told.differences.map((each) => element("li", each)));
  const local = new Date(told.at).toLocaleTimeString("en-GB", { timeZone: told.house.time_zone });
  at("live").textContent = `${local} (${told.at.slice(11, 19)}Z)`;
  at("live").className = "";
}

async function look() {
  try {
    const answer = await fetch("/floor.json", { cache: "no-store" });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.detail);
    show(told);
  } catch (error) {
    at("live").textContent = `Not live 未連線: ${error.message}`;
    at("live").className = "bad";
  }
  setTimeout(look, EVERY);
}

titles("tables", TABLES);
titles("movements", MOVEMENTS);
look();
