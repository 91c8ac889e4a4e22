// The page of aisched: it reads /api/1 and shows it. Everything that comes from
// jobs is put in as text, never as markup.
"use strict";

const ROWS = 200, EVERY_MS = 4000, LOG_MAX = 1 << 20, LOG_PIECE = 65536;
const $ = id => document.getElementById(id);
const main = $("main");
let me = null, page = null, paused = false, timer = 0, generation = 0, goes = 0;

// --- elements ---------------------------------------------------------------

// Show control characters, and characters that change the direction of text, as
// U+FFFD.
const clean = s => String(s).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");

function add(e, kids) {
	for (const kid of kids.flat(Infinity))
		if (kid !== null && kid !== undefined && kid !== false)
			e.append(kid instanceof Node ? kid : clean(kid));
	return e;
}

function put(e, attrs, kids) {
	for (const [key, value] of Object.entries(attrs || {}))
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			e.setAttribute(key, value === true ? "" : clean(value));
	return add(e, kids);
}

const h = (tag, attrs, ...kids) => put(document.createElement(tag), attrs, kids);
const svg = (tag, attrs, ...kids) => put(document.createElementNS("http://www.w3.org/2000/svg", tag), attrs, kids);
const card = (title, ...kids) => h("section", { class: "card" }, title && h("h2", {}, title), kids);
const link = (to, text) => h("a", { href: "#/" + to }, text);
const state = s => h("span", { class: "state " + s }, s);

// --- values -----------------------------------------------------------------

function span(s) {
	if (s === null || s === undefined)
		return "";
	const d = Math.floor(s / 86400), two = n => String(n).padStart(2, "0");
	const rest = two(Math.floor(s / 3600) % 24) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(Math.floor(s) % 60);
	return d ? d + "-" + rest : rest;
}

function size(mib) {
	if (mib === null || mib === undefined)
		return "";
	for (const unit of ["M", "G", "T"]) {
		if (mib < 1024 || unit === "T")
			return +mib.toFixed(1) + unit;
		mib /= 1024;
	}
}

function when(t) {
	if (!t)
		return "";
	const date = new Date(t * 1000), today = date.toDateString() === new Date().toDateString();
	return h("time", { datetime: date.toISOString(), title: date.toISOString().replace(".000", "") },
		today ? date.toLocaleTimeString() : date.toLocaleString());
}

function until(t) {
	const left = t - Date.now() / 1000;
	return [when(t), left > 0 ? " (in " + span(left) + ")" : " (now)"];
}

// A time for a narrow column: how long from now, with the time in the tooltip.
function soon(t) {
	const left = t - Date.now() / 1000, time = when(t);
	time.textContent = left > 0 ? "in " + span(left) : "now";
	return time;
}

const number = n => n === null || n === undefined ? "" : n.toLocaleString("en");
const amount = (a, key) => a && a[key] !== null && a[key] !== undefined ? key === "memory_mib" ? size(a[key]) : number(a[key]) : "–";

// --- the daemon -------------------------------------------------------------

class Failure extends Error {
	constructor(status, text) {
		super(text);
		this.status = status;
	}
}

async function fetched(path) {
	const reply = await fetch(path, { cache: "no-store" });
	if (reply.ok)
		return reply;
	let text = reply.statusText;
	try {
		text = (await reply.json()).error || text;
	} catch {}
	throw new Failure(reply.status, text);
}

const api = async path => (await fetched("api/1/" + path)).json();
const query = o => new URLSearchParams(Object.entries(o).filter(([, v]) => v !== "" && v !== null && v !== undefined)).toString();

// --- drawing ----------------------------------------------------------------

// parts: [class, amount, word]; the rest of `all` is idle.
function bar(name, all, parts, text) {
	let x = 0;
	const told = parts.filter(p => p[1]).map(p => +p[1].toFixed(2) + " " + p[2]).join(", ") || "all idle";
	return h("div", { class: "bar" }, h("span", {}, name),
		svg("svg", { role: "img", "aria-label": name + ": " + told + " of " + all, viewBox: "0 0 100 10", preserveAspectRatio: "none" },
			parts.map(([kind, n, word]) => {
				const width = all ? 100 * n / all : 0, at = x;
				x += width;
				return width > 0 && svg("rect", { class: "f-" + kind, x: at, y: 0, width, height: 10 },
					svg("title", {}, word + ": " + +n.toFixed(2)));
			})),
		h("span", {}, text));
}

const legend = (...words) => h("div", { class: "legend" }, words.map(([kind, word]) =>
	h("span", {}, svg("svg", { viewBox: "0 0 10 10", "aria-hidden": true }, svg("rect", { class: "f-" + kind, width: 10, height: 10, rx: 2 })), word)));

// columns: [header, cell of a row, class, field to sort by]
function table(columns, rows, options = {}) {
	const { sort, onsort, open, none, wide } = options;
	if (!rows.length)
		return h("p", { class: "dim" }, none || "None.");
	const head = columns.map(([header, , kind, field]) => {
		const on = field && sort && (sort === field || sort === "-" + field);
		return h("th", { scope: "col", class: kind, "aria-sort": on ? sort[0] === "-" ? "descending" : "ascending" : null },
			field && onsort ? h("button", { type: "button", onclick: () => onsort(on && sort[0] !== "-" ? "-" + field : field) },
				header, on ? sort[0] === "-" ? " ▾" : " ▴" : "") : header);
	});
	const body = rows.map(row => h("tr", { "data-open": open ? open(row) : null },
		columns.map(([, cell, kind]) => h("td", { class: kind }, cell(row)))));
	// Arrow keys scroll the element with the focus: a table without links
	// must be able to get it.
	const tabindex = [...head, ...body].some(e => e.querySelector("a, button")) ? null : 0;
	return h("div", { class: "scroll", tabindex }, h("table", { class: wide && "wide" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

// Bars over time: [from, until, amount, words]. The top of the chart is `most`,
// or the highest bar if that is higher.
function chart(name, from, until, most, bars, marks) {
	const top = Math.max(most, ...bars.map(b => b[2])) || 1, x = t => 1000 * (Math.max(from, Math.min(until, t)) - from) / (until - from);
	const gap = bars.length > 60 ? 0 : 3, line = y => svg("path", { class: "grid", d: "M0 " + y + "H1000", "vector-effect": "non-scaling-stroke" });
	return h("div", { class: "chart" },
		h("div", { class: "y" }, h("span", {}, +top.toFixed(1)), h("span", {}, +(top / 2).toFixed(2)), h("span", {}, "0")),
		svg("svg", { role: "img", "aria-label": name, viewBox: "0 0 1000 100", preserveAspectRatio: "none" },
			line(0.5), line(50), line(99.5),
			bars.map(([a, b, n, words]) => svg("rect", { class: "f-held", x: x(a), width: Math.max(1, x(b) - x(a) - gap), y: 100 - 100 * n / top, height: 100 * n / top }, svg("title", {}, words))),
			most < top && svg("path", { class: "most", d: "M0 " + (100 - 100 * most / top) + "H1000", "vector-effect": "non-scaling-stroke" }, svg("title", {}, "there are " + most))),
		h("div", { class: "x", "aria-hidden": true }, marks.map(m => h("span", {}, m))));
}

// Replace the content of the page; keep focus, cursor and scrolling.
function show(title, ...kids) {
	const at = main.querySelector("tr.at")?.dataset.open;
	const focus = document.activeElement, id = focus && main.contains(focus) ? focus.id || focus.getAttribute("href") : null;
	const left = main.querySelector(".scroll")?.scrollLeft;
	document.title = title + " – " + (me ? me.cluster : "aisched");
	main.replaceChildren(...add(h("div", {}), kids).childNodes);
	main.setAttribute("aria-busy", "false");
	if (at)
		for (const row of main.querySelectorAll("tbody tr[data-open]"))
			row.classList.toggle("at", row.dataset.open === at);
	if (left)
		main.querySelector(".scroll")?.scrollTo({ left });
	if (id)
		[...main.querySelectorAll("a, [id]")].find(e => e.id === id || e.getAttribute("href") === id)?.focus({ preventScroll: true });
}

// --- pages ------------------------------------------------------------------

const isOff = n => /^POWER/.test(n.state), isDown = n => /^DOWN|FAIL|UNKNOWN/.test(n.state), isDrained = n => /DRAIN/.test(n.state);

// The amounts of each resource in each pool: all, held, drained, down.
function pools(nodes) {
	const by = new Map();
	for (const n of nodes) {
		if (!by.has(n.pool))
			by.set(n.pool, { name: n.pool, nodes: 0 });
		const p = by.get(n.pool);
		p.nodes++;
		for (const [key, all, free] of [["cpus", n.cpus, n.cpus_free], ["gpus", n.gpus, n.gpus_free], ["memory", n.memory_mib, n.memory_free_mib]]) {
			const r = p[key] ||= { all: 0, held: 0, drain: 0, down: 0 };
			const held = isDown(n) || isOff(n) ? 0 : Math.max(0, (all || 0) - (free || 0));
			r.all += all || 0;
			r.held += held;
			if (isDown(n) || isOff(n))
				r.down += all || 0;
			else if (isDrained(n))
				r.drain += (all || 0) - held;
		}
	}
	return [...by.values()];
}

function poolCard(p) {
	const line = (name, r, text) => r.all > 0 && bar(name, r.all,
		[["held", r.held, "held"], ["drain", r.drain, "drained"], ["down", r.down, "down"]],
		text(r.held) + " / " + text(r.all) + ", " + Math.round(100 * r.held / r.all) + " %");
	const plain = n => String(+n.toFixed(2));
	return card("Pool " + p.name + ", " + p.nodes + (p.nodes === 1 ? " node" : " nodes"),
		line("GPUs", p.gpus, plain), line("CPUs", p.cpus, plain), line("Memory", p.memory, size),
		legend(["held", "held"], ["idle", "idle"], ["drain", "drained"], ["down", "down"]));
}

const why = j => j.state === "PENDING" ? j.reason_text || j.reason : j.nodelist || j.reason_text || "";
const jobLink = j => link("job/" + (j.array_task_id === null || j.array_job_id === null ? j.job_id : j.array_job_id + "_" + j.array_task_id), j.display_id || j.job_id);
// A text with links to the jobs that it names.
const jobsIn = text => text.split(/\b(job \d+(?:_\d+)?)/).map((part, i) => i % 2 ? link("job/" + part.slice(4), part) : part);
const openJob = j => jobLink(j).getAttribute("href");

// Use over time, from the daemon's reports, which are requested at most once a
// minute.
const day = (t, o) => new Date(t * 1000).toLocaleDateString("en-GB", o), hour = t => new Date(t * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
const ranges = {
	day: ["1 day", 86400, "hour", 4, hour],
	week: ["7 days", 7 * 86400, "hour", 7, t => day(t, { weekday: "short" })],
	month: ["30 days", 30 * 86400, "day", 5, t => day(t, { day: "numeric", month: "short" })],
	year: ["1 year", 364 * 86400, "week", 6, t => day(t, { month: "short" })],
};

const use = {
	open: false, asked: 0,
	async read(name) {
		const [, span, by] = ranges[name];
		if (this.name === name && Date.now() - this.asked < 60000)
			return;
		const until = Math.ceil(Date.now() / 3600000) * 3600, since = until - span;
		const [times, queues] = await Promise.all([api("report?" + query({ by, since, until })), api("report?" + query({ by: "queue", since, until }))]);
		Object.assign(this, { name, since, until, rows: times.report, queues: queues.report, currency: times.currency, asked: Date.now(),
			hidden: times.report.reduce((n, r) => n - r.cpu_hours, times.total.cpu_hours) > 0.01 });
	},
	// The mean use in each period; in the present one, up to now.
	bars(key, most) {
		const now = Date.now() / 1000;
		return this.rows.map(r => {
			const from = Math.max(r.start, this.since), until = Math.min(r.end, this.until), mean = 3600 * r[key] / Math.max(60, Math.min(until, now) - from);
			return [from, until, mean, this.word(r) + ": " + mean.toFixed(1) + (most ? " of " + most + ", " + Math.round(100 * mean / most) + " %" : "")];
		});
	},
	word(r) {
		return r.hour ? day(r.start, { weekday: "short", day: "numeric", month: "short" }) + ", " + hour(r.start) : (r.week ? "week of " : "") + day((r.start + r.end) / 2 - (r.week ? 3 * 86400 : 0), { day: "numeric", month: "short", year: "numeric" });
	},
	chart(key, title, most) {
		const [words, , , cells, mark] = ranges[this.name], all = this.rows.reduce((n, r) => n + r[key], 0);
		const mean = all / ((Math.min(this.until, Date.now() / 1000) - this.since) / 3600), marks = Array.from({ length: cells }, (_, i) => mark(this.since + (this.until - this.since) * i / cells));
		const told = title + " held, mean of " + words + ": " + mean.toFixed(1) + (most ? " of " + number(most) + " (" + Math.round(100 * mean / most) + " %)" : "");
		return h("figure", {}, h("figcaption", {}, told), chart(told, this.since, this.until, most, this.bars(key, most), marks));
	},
	card(gpus, cpus) {
		const numbers = h("details", { open: this.open, ontoggle: e => { this.open = e.target.open; } }, h("summary", { id: "numbers" }, "As numbers"),
			table([["Time", r => this.word(r)], ["GPU hours", r => r.gpu_hours.toFixed(1), "n"], ["CPU hours", r => r.cpu_hours.toFixed(1), "n"], ["Jobs started", r => number(r.jobs), "n"], ["Evictions", r => number(r.preemptions), "n"]],
				[...this.rows].reverse(), { none: "No job has held anything in this time." }));
		return card("Use over time", h("p", { class: "ranges" }, Object.entries(ranges).map(([name, [words]]) => h("a", { href: "#/?range=" + name, "aria-current": name === this.name ? "true" : null }, words))),
			this.hidden && h("p", { class: "dim" }, "Only your own use is shown: that of others is private here."),
			h("div", { class: "charts" }, gpus > 0 && this.chart("gpu_hours", "GPUs", gpus), this.chart("cpu_hours", "CPUs", cpus)), numbers,
			this.queues.length > 0 && [h("h3", {}, "By queue"), table([["Queue", q => link("jobs?queue=" + encodeURIComponent(q.queue), q.queue)], ["GPU hours", q => q.gpu_hours.toFixed(1), "n"], ["CPU hours", q => q.cpu_hours.toFixed(1), "n"],
				this.queues.some(q => q.cost) && ["Cost, " + this.currency, q => q.cost.toFixed(2), "n"], ["Jobs started", q => number(q.jobs), "n"], ["Half waited at most", q => span(q.wait_p50), "n"], ["95 % waited at most", q => span(q.wait_p95), "n"], ["Evictions", q => number(q.preemptions), "n"]].filter(Boolean), this.queues)]);
	},
};

const overview = {
	name: "Overview", key: "o",
	async draw(args) {
		const range = ranges[args.get("range")] ? args.get("range") : "day";
		const [sum, nodes, next, ended, res] = await Promise.all([api("summary"), api("nodes"),
			api("jobs?state=PENDING&sort=expected_start&limit=6"), api("jobs?history=1&sort=-end_time&limit=6"), api("reservations"), use.read(range)]);
		const there = key => nodes.nodes.reduce((n, x) => n + (x[key] || 0), 0);
		const bad = nodes.nodes.filter(n => isDown(n) || isDrained(n));
		const attention = [
			!sum.space_left && "The daemon can store nothing, as its disk is full or its database was removed: nothing is taken or started.",
			...bad.slice(0, 8).map(n => [link("node/" + encodeURIComponent(n.name), n.name), " is ", state(n.state), n.reason ? ": " + n.reason : ""]),
			bad.length > 8 && "… and " + (bad.length - 8) + " more nodes",
			...sum.shortcomings];
		const told = attention.filter(Boolean);
		return () => show("Overview", h("h1", {}, me.cluster),
			card(null, h("div", { class: "tiles" },
				Object.entries(sum.jobs).map(([word, n]) => h("a", { class: "tile", href: "#/jobs?state=" + word.toUpperCase() }, h("b", { class: word.toUpperCase() }, number(n)), h("span", {}, word))),
				h("a", { class: "tile", href: "#/nodes" }, h("b", {}, number(sum.nodes)), h("span", {}, "nodes")))),
			h("div", { class: "cards" }, pools(nodes.nodes).map(poolCard)),
			told.length > 0 && card("Needs attention", h("ul", { class: "plain" }, told.map(t => h("li", {}, t)))),
			use.card(there("gpus"), there("cpus")),
			h("div", { class: "cards" },
				card("Next to start", table([["Job", jobLink], ["Name", j => j.name, "name"], ["User", j => j.user], ["Expected", j => j.expected_start ? soon(j.expected_start) : h("span", { class: "dim" }, "not known")]],
					next.jobs, { open: openJob, none: "Nothing waits." })),
				card("Ended last", table([["Job", jobLink], ["Name", j => j.name, "name"], ["State", j => state(j.state)], ["Ended", j => when(j.end_time)]],
					ended.jobs, { open: openJob, none: "Nothing has ended yet." }))),
			res.reservations.length > 0 && card("Reservations", table([["Name", r => r.name], ["From", r => when(r.start_time)], ["Until", r => when(r.end_time)],
				["Nodes", r => r.nodes, "w"], ["For", r => (r.users || []).join(", ")]], res.reservations)));
	},
};

function queueBar(q, key, name) {
	const used = q.allocated[key], all = q.limit[key] ?? q.quota[key] ?? q.fair_share[key];
	const text = key === "memory_mib" ? size : n => String(+n.toFixed(2));
	if (!all)
		return used ? h("div", { class: "bar" }, h("span", {}, name), h("span", {}, text(used) + " held, no limit")) : null;
	return bar(name, Math.max(all, used), [["held", used, "held"]], text(used) + " / " + text(all));
}

const queues = {
	name: "Queues", key: "q",
	async draw() {
		const { queues: list } = await api("queues"), depth = new Map();
		for (const q of list)
			depth.set(q.name, q.parent === null ? 0 : (depth.get(q.parent) || 0) + 1);
		const three = a => ["cpus", "gpus", "memory_mib"].map(k => amount(a, k)).join(" · ");
		return () => show("Queues", h("h1", {}, "Queues"), card(null, table([
			["Queue", q => h("span", {}, "\u2003".repeat(depth.get(q.name)), link("jobs?queue=" + encodeURIComponent(q.name), q.name))],
			["State", q => state(q.state)],
			["Running", q => number(q.running_jobs), "n"], ["Pending", q => number(q.pending_jobs), "n"],
			["Held: CPUs · GPUs · memory", q => three(q.allocated)],
			["Fair share", q => three(q.fair_share)], ["Quota", q => three(q.quota)], ["Limit", q => three(q.limit)],
			["Use", q => [queueBar(q, "gpus", "GPUs"), queueBar(q, "cpus", "CPUs")], "w"]],
			list, { open: q => "#/jobs?queue=" + encodeURIComponent(q.name) })));
	},
};

const jobs = {
	name: "Jobs", key: "j", after: [], last: false,
	async draw(args) {
		const ended = args.get("ended") === "1", sort = args.get("sort") || (ended ? "-end_time" : "-job_id");
		const want = { queue: args.get("queue"), user: args.get("user"), state: args.get("state"), name: args.get("name"), node: args.get("node"), history: ended ? "1" : "" };
		const turned = sort[0] === "-" ? sort.slice(1) : "-" + sort;
		let got, first;
		if (this.last) {
			const count = (await api("jobs?" + query({ ...want, limit: 0 }))).count;
			got = await api("jobs?" + query({ ...want, sort: turned, limit: count % ROWS || Math.min(count, ROWS) }));
			got.jobs.reverse();
			got.after = null;
			first = count - got.jobs.length;
		} else {
			got = await api("jobs?" + query({ ...want, sort, limit: ROWS, after: this.after.at(-1) }));
			first = this.after.length * ROWS;
		}
		this.next = got.after;
		const go = change => {
			const to = new URLSearchParams(args);
			for (const [k, v] of Object.entries(change))
				v ? to.set(k, v) : to.delete(k);
			location.hash = "#/jobs" + (to.size ? "?" + to : "");
		};
		const turn = f => () => { f(); refresh(); };
		const field = (name, label) => h("label", {}, label, h("input", { id: "f-" + name, name, value: args.get(name) || "", autocomplete: "off" }));
		const states = ["", "PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"];
		const form = h("form", { class: "filter", onsubmit: e => {
			e.preventDefault();
			const f = new FormData(e.target);
			if (f.get("id"))
				location.hash = "#/job/" + f.get("id");
			else
				go({ ...Object.fromEntries([...f].map(([k, v]) => [k, v.trim()])), id: "" });
		} },
			h("label", {}, "Which", h("select", { id: "f-ended", name: "ended", onchange: e => e.target.form.requestSubmit() },
				[["", "waiting or running"], ["1", "ended"]].map(([v, text]) => h("option", { value: v, selected: v === (args.get("ended") || "") }, text)))),
			h("label", {}, "State", h("select", { id: "f-state", name: "state", onchange: e => e.target.form.requestSubmit() },
				states.map(s => h("option", { value: s, selected: s === (args.get("state") || "") }, s || "all")))),
			field("queue", "Queue"), field("user", "User"), field("name", "Name"), field("node", "Node"), field("id", "Job"),
			h("button", { type: "submit" }, "Show"),
			h("button", { type: "button", onclick: () => { location.hash = "#/jobs?user=" + encodeURIComponent(me.user); } }, "Mine"));
		const columns = [["Job", jobLink, null, "job_id"], ["Name", j => j.name, "name", "name"], ["User", j => link("jobs?user=" + encodeURIComponent(j.user), j.user), null, "user"],
			["Queue", j => j.queue, null, "queue"], ["State", j => state(j.state), null, "state"],
			ended ? ["Ended", j => when(j.end_time), null, "end_time"] : ["Starts", j => j.start_time ? when(j.start_time) : j.expected_start ? soon(j.expected_start) : "", null, "expected_start"],
			["Ran", j => j.state === "PENDING" ? "" : span(j.elapsed), "n", "elapsed"],
			["Tasks", j => number(j.tasks), "n", "tasks"], ["CPUs", j => number(j.cpus), "n", "cpus"], ["GPUs", j => number(j.gpus), "n", "gpus"],
			["Memory", j => size(j.mem_mib), "n", "mem_mib"], ["Where, or why it waits", why, "w", "reason"]];
		return () => {
			if (main.contains(document.activeElement) && document.activeElement.matches("input, select"))
				return; // somebody is filling in the filter
			show("Jobs", h("h1", {}, "Jobs"), form,
				card(null, table(columns, got.jobs, { wide: true, sort, onsort: s => { this.after = []; this.last = false; go({ sort: s }); }, open: openJob, none: "No such jobs." })),
				h("div", { class: "pager" },
					h("button", { id: "prev", type: "button", disabled: !this.after.length && !this.last, onclick: turn(() => this.back()) }, "[ Earlier"),
					h("button", { id: "next", type: "button", disabled: !got.after, onclick: turn(() => this.on()) }, "Later ]"),
					got.jobs.length ? number(first + 1) + "–" + number(first + got.jobs.length) + " of " : "", h("span", { id: "count" }, number(got.count)), got.count === 1 ? " job" : " jobs"));
		};
	},
	on() { if (this.next) this.after.push(this.next); },
	back() { this.last ? (this.last = false, this.after = []) : this.after.pop(); },
	home() { this.after = []; this.last = false; },
	end() { this.after = []; this.last = true; },
};

// Submitted, eligible, each attempt, ended: one line of time.
function timeline(j, attempts) {
	const now = Date.now() / 1000, over = Math.max(j.end_time || 0, ...attempts.map(a => a.end_ms / 1000));
	const end = j.end_time ? over : Math.max(now, j.expected_start || 0), all = Math.max(0.001, end - j.submit_time);
	const x = t => Math.max(0, Math.min(1000, 1000 * (t - j.submit_time) / all));
	const spans = [["wait", j.submit_time, Math.min(end, now), "waits"]];
	for (const a of attempts)
		spans.push([a.state === "COMPLETED" ? "run" : a.evicted || /PREEMPT|PENDING/.test(a.state) ? "drain" : a.state === "RUNNING" ? "run" : "bad", a.start_ms / 1000, a.end_ms / 1000, "attempt " + a.attempt + ": " + a.state]);
	if (!j.end_time && j.start_time && j.state !== "PENDING")
		spans.push(["run", j.start_time, now, "runs"]);
	const label = spans.map(s => s[3] + " from " + new Date(s[1] * 1000).toLocaleString() + " for " + span(s[2] - s[1])).join("; ");
	return [svg("svg", { class: "time", role: "img", "aria-label": label, viewBox: "0 0 1000 46", preserveAspectRatio: "none" },
		svg("rect", { class: "f-idle", x: 0, y: 12, width: 1000, height: 16, rx: 4 }),
		spans.map(([kind, a, b, word]) => svg("rect", { class: "f-" + kind, x: x(a), y: 12, width: Math.max(3, x(b) - x(a)), height: 16 }, svg("title", {}, word + ", " + span(b - a)))),
		!j.end_time && j.expected_start && svg("rect", { class: "f-ink", x: Math.min(996, x(j.expected_start)), y: 4, width: 4, height: 32 }, svg("title", {}, "expected start"))),
		legend(["wait", "waits"], ["run", "runs"], ["drain", "evicted or requeued"], ["bad", "failed"], ["ink", "expected start"])];
}

const job = {
	async draw(args, id) {
		const [{ jobs: list }, { attempts }] = await Promise.all([api("job/" + id), api("attempts/" + id)]);
		return () => show("Job " + id, list.length > 1 && h("h1", {}, "Array " + id + ": " + list.length + " records"),
			list.slice(0, 20).map(j => this.one(j, attempts.filter(a => a.job_id === j.job_id || list.length === 1))),
			list.length > 20 && h("p", { class: "dim" }, "The first 20 are shown."));
	},
	one(j, attempts) {
		const id = j.array_task_id !== null && j.array_job_id !== null ? j.array_job_id + "_" + j.array_task_id : j.job_id;
		const per = (k, f) => j.resources[k] ? f(j.resources[k]) : null;
		const waits = j.state === "PENDING" && j.reason !== "None";
		const rows = [["State", [state(j.state), j.exit_code !== null ? ", exit status " + j.exit_code : "", j.signal ? ", signal " + j.signal : ""]],
			["User", link("jobs?user=" + encodeURIComponent(j.user), j.user)], ["Queue", link("jobs?queue=" + encodeURIComponent(j.queue), j.queue)],
			["Class", j.class], ["Account", j.account], ["Priority", number(j.priority)], ["Place in its queue", j.position],
			["Asked for", [j.tasks, j.tasks === 1 ? " task" : " tasks", j.min_tasks < j.tasks ? " (at least " + j.min_tasks + ")" : "", ": ",
				[per("cpus", n => number(n) + (n === 1 ? " CPU" : " CPUs")), per("gpus", n => number(n) + (n === 1 ? " GPU" : " GPUs")), per("memory_mib", size)].filter(Boolean).join(", "), j.tasks > 1 ? " each" : ""]],
			["Nodes", Object.entries(j.nodes).map(([n, t], i) => [i ? ", " : "", link("node/" + encodeURIComponent(n), n), t > 1 ? " (" + t + ")" : ""])],
			["Submitted", when(j.submit_time)], ["Eligible", when(j.eligible_time)], ["Started", when(j.start_time)], ["Expected start", j.expected_start && !j.end_time ? until(j.expected_start) : null], ["Ended", when(j.end_time)],
			["Ran", j.elapsed_ms ? span(j.elapsed_ms / 1000) : null], ["Time limit", j.time_limit === null ? "none" : span(j.time_limit)],
			["CPU time", j.held_cpu_seconds > 0 ? span(j.cpu_seconds) + " of " + span(j.held_cpu_seconds) + " held (" + Math.round(100 * j.cpu_seconds / j.held_cpu_seconds) + " %)" : null],
			["Peak memory", j.peak_mem_mib ? size(j.peak_mem_mib) + (j.resources.memory_mib ? " of " + size(j.resources.memory_mib) : "") : null],
			["GPU time held", j.held_gpu_seconds > 0 ? span(j.held_gpu_seconds) + (j.gpu_util !== null ? " (" + Math.round(100 * j.gpu_util) + " % busy)" : "") : null],
			["GPU memory", j.gpu_mem_total_mib ? size(j.gpu_mem_mib) + " of " + size(j.gpu_mem_total_mib) : null],
			["Restarts", j.restarts || null], ["Preemptions", j.preemptions || null], ["Depends on", j.dependency], ["Cron entry", j.cron_id ? link("cron/" + j.cron_id, j.cron_id) : null], ["Comment", j.comment],
			["Folder", j.workdir], ["Output", [j.output, " ", link("job/" + id + "/log", "show")]]];
		return [h("h1", {}, "Job " + id + " ", h("span", { class: "dim" }, j.name)),
			waits && h("div", { class: "note" }, h("b", {}, "It waits: "), jobsIn(j.reason_text || j.reason), ".", j.expected_start ? [" Expected start: ", until(j.expected_start), "."] : ""),
			card("Timeline", timeline(j, attempts)),
			card(null, h("dl", {}, rows.filter(([, v]) => v !== null && v !== undefined && v !== "" && !(Array.isArray(v) && !v.length)).map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]))),
			attempts.length > 0 && card("Attempts", table([["Attempt", a => a.attempt, "n"], ["State after it", a => state(a.state)], ["Why", a => a.reason === "None" ? "" : a.reason], ["Evicted by", a => a.evicted_by ? link("job/" + a.evicted_by, a.evicted_by) : a.evicted || ""],
				["Began", a => when(a.start_time)], ["Ran", a => span(a.elapsed_ms / 1000), "n"], ["CPU", a => span(a.cpu_seconds), "n"], ["Nodes", a => a.nodelist || "", "w"]], attempts)),
			j.acts.length > 0 && card("What people did", h("ul", { class: "plain" }, j.acts.map(a => h("li", {}, when(a.time), " ", a.act, " by ", a.user))))];
	},
};

const log = {
	async draw(args, id) {
		const key = id + "?" + args;
		if (this.key !== key)
			Object.assign(this, { key, from: -1, end: 0, text: "", wrap: this.wrap ?? true, halted: false });
		if (this.halted && this.from >= 0)
			return () => {};
		const got = await this.read(id, args, this.from < 0 ? -1 : this.end, LOG_PIECE);
		if (got.where !== undefined)
			return () => show("Output of " + id, this.head(id), h("div", { class: "note" }, "This output is not read here",
				got.where && got.where !== "kept" ? " (" + got.where + ")" : "", ". In a terminal: ", h("code", {}, "aiq --log -f " + id)));
		if (this.from < 0 || got.from !== this.end) {
			this.from = got.from;
			this.text = "";
		}
		this.text += got.text;
		this.end = got.from + got.bytes;
		while (this.text.length > LOG_MAX) {
			this.from = -2;
			this.text = this.text.slice(-LOG_MAX / 2);
		}
		return () => this.draw_text(id, args, got);
	},
	async read(id, args, from, len) {
		const reply = await fetched("api/1/log/" + id + "?" + query({ from, len, stream: args.get("stream"), task: args.get("task") }));
		const bytes = new Uint8Array(await reply.arrayBuffer()), eol = bytes.indexOf(10);
		const got = JSON.parse(new TextDecoder().decode(bytes.subarray(0, eol)));
		got.bytes = bytes.length - eol - 1;
		got.text = this.plain(new TextDecoder().decode(bytes.subarray(eol + 1)));
		return got;
	},
	// Returns text without escape sequences. Of a line that \r has overwritten,
	// only the last version is left.
	plain(s) {
		return s.replace(/\x1b\[[0-9;:?]*[ -\/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b./g, "").replace(/\r\n/g, "\n").replace(/[^\n]*\r(?!\n)/g, "");
	},
	head(id) { return h("h1", {}, "Output of job ", link("job/" + id, id)); },
	draw_text(id, args, got) {
		const old = main.querySelector("pre.log"), stuck = !old || old.scrollTop + old.clientHeight >= old.scrollHeight - 8;
		if (old && old.dataset.key === this.key) {
			old.textContent = clean(this.text);
			old.classList.toggle("wrap", this.wrap);
			$("logstate").textContent = got.state + ", " + number(got.size) + " bytes";
			if (stuck)
				old.scrollTop = old.scrollHeight;
			main.setAttribute("aria-busy", "false");
			return;
		}
		const pre = h("pre", { class: "log" + (this.wrap ? " wrap" : ""), tabindex: 0, "data-key": this.key, "aria-label": "output" }, this.text);
		const other = args.get("stream") === "err" ? "out" : "err";
		show("Output of " + id, this.head(id), h("div", { class: "pager" },
			h("button", { type: "button", onclick: () => this.earlier(id, args) }, "Earlier"),
			h("button", { type: "button", onclick: () => { this.wrap = !this.wrap; pre.classList.toggle("wrap", this.wrap); } }, "Wrap lines"),
			h("button", { type: "button", onclick: e => { this.halted = !this.halted; e.target.textContent = this.halted ? "Go on" : "Hold"; } }, "Hold"),
			link("job/" + id + "/log?stream=" + other, other === "err" ? "Errors" : "Output"),
			h("span", { id: "logstate" }, got.state + ", " + number(got.size) + " bytes")), card(null, pre));
		pre.scrollTop = pre.scrollHeight;
	},
	async earlier(id, args) {
		if (this.from <= 0)
			return;
		const from = Math.max(0, this.from - LOG_PIECE), got = await this.read(id, args, from, this.from - from);
		this.from = got.from;
		this.text = got.text + this.text;
		main.querySelector("pre.log").textContent = clean(this.text);
		main.querySelector("pre.log").scrollTop = 0;
	},
};

// One square for each GPU; for a node without GPUs, up to ten for its CPUs.
function squares(n) {
	const all = n.gpus || Math.min(n.cpus, 10), used = n.gpus ? n.gpus - n.gpus_free : all * (n.cpus - n.cpus_free) / (n.cpus || 1), across = Math.min(all, 8) || 1;
	const kind = isDown(n) || isOff(n) ? "down" : isDrained(n) ? "drain" : "held", told = n.name + ", " + n.state + ": " + (n.gpus ? +(used).toFixed(2) + " of " + n.gpus + " GPUs" : +(n.cpus - n.cpus_free).toFixed(2) + " of " + n.cpus + " CPUs") + " held";
	return svg("svg", { role: "img", "aria-label": told, width: across * 15, height: Math.ceil(all / 8) * 15 }, svg("title", {}, told),
		Array.from({ length: all }, (_, i) => {
			const x = i % 8 * 15, y = Math.floor(i / 8) * 15, fill = Math.max(0, Math.min(1, used - i));
			return [svg("rect", { class: "f-idle", x, y, width: 12, height: 12, rx: 2 }),
				(fill > 0 || kind !== "held") && svg("rect", { class: "f-" + kind, x, y: kind === "held" ? y + 12 - 12 * fill : y, width: 12, height: kind === "held" ? 12 * fill : 12, rx: 2 }),
				kind === "down" && svg("path", { d: `M${x + 3} ${y + 3}l6 6m0 -6l-6 6`, stroke: "#fff", "stroke-width": 1.6 }),
				kind === "drain" && svg("path", { d: `M${x + 1} ${y + 11}l10 -10`, stroke: "#fff", "stroke-width": 1.6 })];
		}));
}

const nodes = {
	name: "Nodes", key: "n",
	async draw(args) {
		const list = (await api("nodes")).nodes, asList = args.get("view") === "list", by = new Map();
		for (const n of list) {
			const place = n.pool + (n.topology ? " / " + n.topology : "");
			by.has(place) ? by.get(place).push(n) : by.set(place, [n]);
		}
		const open = n => "#/node/" + encodeURIComponent(n.name);
		const map = () => [[...by].map(([place, of]) => card(place, h("div", { class: "map" }, of.map(n => h("a", { href: open(n) }, n.name, " ", n.state !== "IDLE" && h("span", { class: "dim" }, n.state.toLowerCase()), squares(n)))))),
			legend(["held", "held"], ["idle", "idle"], ["drain", "drained (struck)"], ["down", "down (crossed)"])];
		const columns = [["Node", n => h("a", { href: open(n) }, n.name)], ["Pool", n => n.pool], ["State", n => state(n.state)], ["CPUs free", n => number(n.cpus_free) + " / " + number(n.cpus), "n"], ["Memory free", n => size(n.memory_free_mib) + " / " + size(n.memory_mib), "n"],
			["GPUs free", n => n.gpus ? number(n.gpus_free) + " / " + number(n.gpus) : "", "n"], ["Type", n => n.gpu_type || ""], ["Jobs", n => number(n.jobs), "n"], ["Features", n => n.features.join(", "), "w"], ["Why", n => n.reason || "", "w"]];
		return () => show("Nodes", h("h1", {}, "Nodes"), h("p", {}, asList ? link("nodes", "As a map") : link("nodes?view=list", "As numbers")), asList ? card(null, table(columns, list, { open })) : map());
	},
};

const node = {
	async draw(args, name) {
		const [all, on] = await Promise.all([api("nodes"), api("jobs?" + query({ node: name, sort: "start_time", limit: ROWS }))]);
		const n = all.nodes.find(x => x.name === name);
		if (!n)
			throw new Failure(404, "There is no node " + name + ".");
		const line = (word, all, free, text) => all > 0 && bar(word, all, [["held", Math.max(0, all - free), "held"]], text(all - free) + " / " + text(all));
		const plain = x => String(+x.toFixed(2));
		return () => show("Node " + name, h("h1", {}, "Node " + name + " ", state(n.state)), n.reason && h("div", { class: "note" }, n.reason),
			card("Pool " + n.pool + (n.topology ? ", at " + n.topology : ""), line("GPUs", n.gpus, n.gpus_free, plain), line("CPUs", n.cpus, n.cpus_free, plain), line("Memory", n.memory_mib, n.memory_free_mib, size),
				h("p", { class: "dim" }, [n.gpu_type, ...n.features].filter(Boolean).join(", "))),
			card("Jobs here", table([["Job", jobLink], ["Name", j => j.name, "name"], ["User", j => j.user], ["Queue", j => j.queue], ["State", j => state(j.state)], ["Started", j => when(j.start_time)], ["CPUs", j => number(j.cpus), "n"], ["GPUs", j => number(j.gpus), "n"]],
				on.jobs, { open: openJob, none: "No job runs here." })));
	},
};

const users = {
	name: "Users", key: "u",
	async draw() {
		const list = (await api("users")).shares.filter(s => s.user !== null).sort((a, b) => b.usage - a.usage || (a.user < b.user ? -1 : 1));
		const most = Math.max(...list.map(s => s.usage), 1e-9);
		return () => show("Users", h("h1", {}, "Users"), h("p", { class: "dim" }, "Usage decays with time; the hours are of all jobs that have ended."), card(null, table([
			["User", s => link("jobs?user=" + encodeURIComponent(s.user), s.user)], ["Queue", s => s.queue],
			["Running", s => number(s.running_jobs), "n"], ["Pending", s => number(s.pending_jobs), "n"],
			["Usage", s => bar("", most, [["held", s.usage, "usage"]], s.share === null ? "" : (100 * s.share).toFixed(1) + " %"), "w"],
			["Priority factor", s => s.factor === null ? "" : (+s.factor).toFixed(2), "n"], ["CPU hours", s => number(+(+s.cpu_hours).toFixed(1)), "n"], ["GPU hours", s => number(+(+s.gpu_hours).toFixed(1)), "n"], ["Jobs", s => number(s.jobs), "n"]],
			list, { none: "Nobody has had a job yet." })));
	},
};

const cronState = e => state(e.state);
const cronWhy = e => e.reason_text ? e.reason_text[0].toUpperCase() + e.reason_text.slice(1) : "";
const without = e => e.skipped + e.missed + e.refused;

const crons = {
	name: "Cron", key: "c", every: 10000,
	async draw(args) {
		const user = args.get("user"), list = (await api("crons?" + query({ user, queue: args.get("queue") }))).crons, open = e => "#/cron/" + e.cron_id;
		return () => show("Cron", h("h1", {}, "Cron"), h("p", { class: "dim" }, "Work that recurs, as ", h("code", {}, "aisub --cron"), " and ", h("code", {}, "aictl cron"), " set it up. ",
			user ? link("cron", "All entries") : link("cron?user=" + encodeURIComponent(me.user), "Mine"), "."),
			card(null, table([["Entry", e => h("a", { href: open(e) }, e.cron_id)], ["Name", e => e.name, "name"], ["User", e => link("cron?user=" + encodeURIComponent(e.user), e.user)], ["Queue", e => e.queue],
				["Schedule", e => h("code", {}, e.schedule)], ["State", cronState], ["Next", e => e.next_time ? soon(e.next_time) : ""],
				["Last run", e => e.last_job_id ? link("job/" + e.last_job_id, [e.last_job_id, " ", e.last_state && state(e.last_state)]) : h("span", { class: "dim" }, "none yet")], ["At", e => when(e.last_time)],
				["Runs", e => number(e.runs), "n"], ["Without a run", e => number(without(e)), "n"], ["Why the last time had none", cronWhy, "w"]],
				list.slice(0, ROWS), { wide: true, open, none: "No work recurs here." })),
			list.length > ROWS && h("p", { class: "dim" }, "The first " + ROWS + " of " + number(list.length) + " are shown: choose a user."));
	},
};

const cron = {
	async draw(args, id) {
		const [{ crons: [e] }, live, ended] = await Promise.all([api("cron/" + id), api("jobs?" + query({ cron: id, sort: "-job_id", limit: 20 })), api("jobs?" + query({ cron: id, history: 1, sort: "-end_time", limit: 20 }))]);
		const zone = t => { const e = when(t.unix); e.title = t.time; return e; };
		const rows = [["State", cronState(e)], ["Schedule", [h("code", {}, e.schedule), " ", e.time_zone]], ["User", e.user], ["Queue", e.queue], ["Account", e.account],
			["If the last run goes on", { forbid: "skip that time", replace: "end that run", allow: "run beside it" }[e.policy] + " (" + e.policy + ")"], ["Missed times", e.missed_policy === "run" ? "run once" : "skip"], ["At most late by", e.late === null ? null : span(e.late)], ["Jitter", e.jitter ? span(e.jitter) : null],
			["Until", e.until === null ? null : when(e.until)], ["Runs", number(e.runs)], ["Times without a run", without(e) ? [e.skipped && e.skipped + " skipped", e.missed && e.missed + " missed", e.refused && e.refused + " refused"].filter(Boolean).join(", ") : "none"],
			["Created", [when(e.created), e.imported ? ", from a file" : ""]]];
		return () => show("Cron entry " + id, h("h1", {}, "Cron entry " + id + " ", h("span", { class: "dim" }, e.name)),
			e.reason_text && h("div", { class: "note" + (e.state === "blocked" ? " bad" : "") }, h("b", {}, e.state === "blocked" ? "It is blocked: " : "The last time had no run: "), jobsIn(e.reason_text), "."),
			h("div", { class: "cards" }, card(null, h("dl", {}, rows.filter(([, v]) => v).map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]))),
				card("Next times", e.next.length && e.state !== "paused" ? h("ul", { class: "plain" }, e.next.map(t => h("li", {}, zone(t), h("span", { class: "dim" }, " in " + span(Math.max(0, t.unix - Date.now() / 1000)))))) : h("p", { class: "dim" }, e.state === "paused" ? "None: it is paused." : "None."))),
			card("Last runs", table([["Job", jobLink], ["State", j => state(j.state)], ["Started", j => when(j.start_time)], ["Ended", j => when(j.end_time)], ["Ran", j => j.state === "PENDING" ? "" : span(j.elapsed), "n"], ["Exit status", j => j.exit_code === null ? "" : j.exit_code, "n"], ["Where, or why it waits", why, "w"]],
				[...live.jobs, ...ended.jobs], { open: openJob, none: "It has not run yet." })));
	},
};

const health = {
	name: "Health", key: "h",
	async draw() {
		const s = await api("health"), ms = n => n.toFixed(2) + " ms", mb = n => size(n / 1048576) + "B";
		const rows = [["Version", s.version], ["Up for", span(s.uptime_s)], ["Connections", number(s.connections)], ["Turns", number(s.turns)],
			["Passes", number(s.passes)], ["A pass takes", ms(s.pass_ms.mean) + " (last " + ms(s.pass_ms.last) + ", most " + ms(s.pass_ms.max) + ")"],
			["Commits", number(s.commits)], ["A commit takes", ms(s.commit_ms.mean) + " (last " + ms(s.commit_ms.last) + ", most " + ms(s.commit_ms.max) + ")"],
			["Database", mb(s.store.bytes) + " and a log of " + mb(s.store.wal_bytes)], ["Disk", s.space_left ? "has space" : "nothing can be stored: nothing is taken or started"]];
		return () => show("Health", h("h1", {}, "Health"), !s.space_left && h("div", { class: "note bad" }, "The disk is full, or the database was removed."),
			card("The daemon", h("dl", {}, rows.map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]))),
			s.shortcomings.length > 0 && card("What this machine cannot enforce", h("ul", { class: "plain" }, s.shortcomings.map(t => h("li", {}, t)))));
	},
};

const pages = { "": overview, queues, jobs, nodes, users, cron: crons, health };

// --- which page -------------------------------------------------------------

function where() {
	const [path, args] = location.hash.replace(/^#\/?/, "").split("?"), [first, second, third] = path.split("/");
	const to = { args: new URLSearchParams(args || ""), id: second ? decodeURIComponent(second) : null };
	to.page = first === "job" && second ? third === "log" ? log : job : first === "node" && second ? node : first === "cron" && second ? cron : pages[first] || overview;
	return to;
}

function login(text) {
	me = null;
	document.body.classList.add("out");
	document.title = "Log in – aisched";
	main.replaceChildren(h("section", { class: "card login" }, h("h1", {}, "Log in"), text && h("div", { class: "note bad" }, text),
		h("p", {}, "In a terminal of this cluster:"), h("pre", {}, "aiq --web"), h("p", {}, "It prints a link that works once, within a minute.")));
	main.setAttribute("aria-busy", "false");
}

function failed(e) {
	if (e.status === 401)
		return login();
	if (e.status === 429)
		return;
	$("live").textContent = e.status ? "" : "no answer, trying again";
	if (e.status)
		show("Not found", h("div", { class: "note bad" }, e.message));
}

async function refresh() {
	const mine = ++generation, at = where();
	clearTimeout(timer);
	if (document.hidden)
		return;
	try {
		const draw = await at.page.draw(at.args, at.id);
		if (mine !== generation)
			return;
		$("live").textContent = paused ? "paused" : "";
		draw();
	} catch (e) {
		if (mine === generation)
			failed(e);
	}
	if (mine === generation && !paused && me)
		timer = setTimeout(refresh, at.page === log ? 2000 : at.page.every || EVERY_MS);
}

function arrive() {
	const at = where();
	if (location.hash.startsWith("#k="))
		return enter();
	if (at.page !== page || at.page !== jobs || jobs.was !== location.hash)
		jobs.home();
	jobs.was = location.hash;
	page = at.page;
	for (const a of $("nav").children)
		{
		const on = a.page === (at.page === job || at.page === log ? jobs : at.page === node ? nodes : at.page === cron ? crons : at.page);
		on ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current");
	}
	main.setAttribute("aria-busy", "true");
	if (me)
		refresh();
}

// Log in with the token in the address, after removing it from the address.
async function enter() {
	const k = location.hash.slice(3);
	history.replaceState(null, "", location.pathname + "#/");
	const reply = await fetch("login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ k }) });
	if (!reply.ok && reply.status !== 204)
		return login((await reply.json()).error);
	return start();
}

async function start() {
	try {
		me = await api("me");
	} catch (e) {
		return e.status === 401 ? login() : setTimeout(start, EVERY_MS);
	}
	document.body.classList.remove("out");
	$("cluster").textContent = clean(me.cluster);
	$("me").replaceChildren(clean(me.user) + " ", h("button", { type: "button", onclick: async () => { await fetch("logout", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }); login(); } }, "Log out"));
	arrive();
}

// --- keys and buttons -------------------------------------------------------

function theme(turn) {
	let t = "";
	try {
		t = localStorage.theme || "";
	} catch {}
	const dark = t ? t === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	if (turn) {
		t = dark ? "light" : "dark";
		try {
			localStorage.theme = t;
		} catch {}
	}
	t ? document.documentElement.dataset.theme = t : delete document.documentElement.dataset.theme;
}

function pause() {
	paused = !paused;
	$("pause").textContent = paused ? "Go on" : "Pause";
	$("live").textContent = paused ? "paused" : "";
	paused ? clearTimeout(timer) : refresh();
}

function move(step) {
	const rows = [...main.querySelectorAll("tbody tr[data-open]")];
	if (!rows.length)
		return;
	const at = rows.findIndex(r => r.classList.contains("at")), to = Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + step));
	rows.forEach((r, i) => r.classList.toggle("at", i === to));
	rows[to].scrollIntoView({ block: "nearest" });
}

function turnPage(f) {
	if (page !== jobs)
		return false;
	f();
	refresh();
	return true;
}

const opened = () => main.querySelector("tr.at")?.dataset.open;
const keys = [
	["?", "these keys", () => $("keys").showModal()],
	["g", "then o q j n u c h: overview, queues, jobs, nodes, users, cron, health", () => { goes = Date.now(); }],
	["/", "filter", () => ($("f-name") || (location.hash = "#/jobs", null))?.focus()],
	["j", "next row; also ↓", () => move(1)], ["k", "row before; also ↑", () => move(-1)],
	["Enter", "open it", () => { if (opened()) location.hash = opened(); }],
	["l", "its output", () => { const to = opened() || location.hash; if (/^#\/job\/[^/]+$/.test(to)) location.hash = to + "/log"; }],
	["[", "page before", () => turnPage(() => jobs.back())], ["]", "next page", () => turnPage(() => jobs.on())],
	["Home", "first page", () => turnPage(() => jobs.home())], ["End", "last page", () => turnPage(() => jobs.end())],
	["r", "look again now", () => { use.asked = 0; refresh(); }], ["p", "pause", pause], ["t", "light or dark", () => theme(true)], ["Escape", "back", () => history.back()],
];

document.addEventListener("keydown", e => {
	if (e.ctrlKey || e.altKey || e.metaKey || !me || $("keys").open)
		return;
	const on = e.target instanceof Element ? e.target : document.body;
	if (on.matches("input, select, textarea, pre")) {
		if (e.key === "Escape")
			on.blur();
		return;
	}
	if (e.key === "Enter" && on.matches("a, button"))
		return;
	if (Date.now() - goes < 2000 && e.key !== "g") {
		const to = Object.entries(pages).find(([, p]) => p.key === e.key);
		goes = 0;
		if (to) {
			location.hash = "#/" + to[0];
			return;
		}
	}
	const name = { ArrowDown: "j", ArrowUp: "k" }[e.key] || e.key, key = keys.find(k => k[0] === name);
	if (!key)
		return;
	e.preventDefault();
	key[2]();
});

add($("keys"), [h("h2", {}, "Keys"), h("dl", {}, keys.map(([k, text]) => [h("dt", {}, h("kbd", {}, k)), h("dd", {}, text)])),
	h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close"))]);
for (const [to, p] of Object.entries(pages)) {
	const a = h("a", { href: "#/" + to }, p.name);
	a.page = p;
	$("nav").append(a);
}
$("help").onclick = () => $("keys").showModal();
$("theme").onclick = () => theme(true);
$("pause").onclick = pause;
main.addEventListener("click", e => {
	const row = e.target.closest("tr[data-open]");
	if (row && !e.target.closest("a, button") && !String(getSelection()))
		location.hash = row.dataset.open;
});
document.addEventListener("visibilitychange", () => document.hidden ? clearTimeout(timer) : me && !paused && refresh());
addEventListener("hashchange", arrive);
theme();
location.hash.startsWith("#k=") ? enter() : start();
