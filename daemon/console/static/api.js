// Requests to our own server. The session is a cookie that no script can read.

const MARK = { "X-Feltd-Console": "1" };
const ANSWER_WITHIN = 8000; // ms

/** One request: `{status, data}`; status 0 when nobody answered. */
export async function ask(path, { method = "GET", body } = {}) {
  const headers = { ...(method === "GET" ? {} : MARK), ...(body ? { "Content-Type": "application/json" } : {}) };
  try {
    const response = await fetch(path, {
      method, headers, body: body && JSON.stringify(body), cache: "no-store", signal: AbortSignal.timeout(ANSWER_WITHIN),
    });
    const text = await response.text();
    return { status: response.status, data: text ? JSON.parse(text) : null };
  } catch {
    return { status: 0, data: null };
  }
}

/** 128 random bits: one press, one key, however often it is sent. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "console-" + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
