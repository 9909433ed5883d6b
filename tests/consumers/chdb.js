// SPDX-License-Identifier: Apache-2.0
//
// The current ClickHouse engine as a library (npm's chdb), behind the HTTP interface of the server: ?query= and the rows in the body.
//
//     node chdb.js FOLDER-WITH-NODE_MODULES DATA-FOLDER PORT

"use strict";
const http = require("http");
const { createRequire } = require("module");
const [folder, data, port] = process.argv.slice(2);
const { Session } = createRequire(folder + "/")("chdb");
const session = new Session(data);

http.createServer((request, response) => {
	const parts = [];
	request.on("data", (part) => parts.push(part));
	request.on("end", () => {
		try {
			const asked = new URL(request.url, "http://localhost").searchParams;
			for (const [name, value] of asked)
				if (name === "database") session.query(`USE ${value}`);
				else if (name !== "query") session.query(`SET ${name} = '${value}'`);
			response.end(session.query([asked.get("query"), Buffer.concat(parts).toString("utf8")].join("\n"), "TabSeparated"));
		} catch (error) {
			response.statusCode = 500;
			response.end(String(error.message || error));
		}
	});
}).listen(Number(port), "127.0.0.1");
