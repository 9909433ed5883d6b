// SPDX-License-Identifier: Apache-2.0
// Questions to the server this page came from, with the token where it wants one; and its news while a recording grows.

// As it stands: in a query a plus would be a blank.
const inAddress = /[#&]token=([^&]*)/.exec(location.hash)?.[1];
const plain = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
let token = inAddress ? plain(inAddress) : sessionStorage.getItem("ingero-token");
let ask = null, asked = null; // one question for the token, however many wait for it

if (inAddress !== undefined) // not to be left where it can be read and kept
	history.replaceState(null, "", location.pathname);

export function wantToken(how) { ask = how; }

async function get(path, options, tried) {
	const headers = { ...(options?.headers || {}) }, sent = token;

	if (sent)
		headers.Authorization = `Bearer ${sent}`;
	const r = await fetch(path, { ...options, headers, cache: "no-store", credentials: "same-origin" });

	if (r.status === 401 && token !== sent) // given meanwhile
		return get(path, options, true);
	if (r.status === 401 && ask) {
		asked ??= ask(tried).finally(() => { asked = null; });
		const given = await asked;

		if (given) {
			token = given;
			sessionStorage.setItem("ingero-token", given);
			return get(path, options, true);
		}
	}
	return r;
}

async function json(r) {
	const body = await r.json().catch(() => null);

	if (!r.ok || body === null)
		throw new Error(body?.error || `${r.status} ${r.statusText}`);
	return body;
}

export const api = async (path, query) => {
	const q = new URLSearchParams(Object.entries(query || {}).filter(([, v]) => v));

	return json(await get(`api/v1/${path}${q.size ? `?${q}` : ""}`));
};

export const sql = async (statement, limit) =>
	json(await get("api/v1/query", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sql: statement, limit }) }));

// told(state) of each state of the recordings, lost() when the server does not answer; for ever. The server ends its answer
// when nothing is being written: then it is looked again now and then.
export async function live(told, lost) {
	for (;;) {
		let pause = 2000;

		try {
			const r = await get("api/v1/live");

			if (!r.ok)
				throw new Error(String(r.status));
			const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
			let text = "", last = null;

			for (;;) {
				const { value, done } = await reader.read();

				if (done)
					break;
				text += value;
				for (let at; (at = text.indexOf("\n\n")) >= 0; text = text.slice(at + 2)) {
					const data = text.slice(0, at).split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5)).join("\n");

					if (data) {
						const state = JSON.parse(data);

						pause = state.growing ? 1000 : 10000;
						last = state.growing ? null : state; // after which the answer ends
						if (!last)
							told(state);
					}
				}
			}
			if (last)
				told(last);
		} catch {
			lost();
		}
		await new Promise((go) => setTimeout(go, pause));
	}
}
