/* site.c - answer requests by path */
#include "web/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libcommon/clock.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "web/guard.h"
#include "web/pages.h"
#include "web/visit.h"

enum {
	ROWS_MAX = 200,
	/* Visits of one visitor that wait for the daemon, at most. */
	VISITS_MAX = 32,
	STATUS_MAX = 599,
	TELL_MS = 1000
};

struct site {
	struct web_link *link;
	struct site_conf conf;
	bool metrics_open, metrics_loopback;
	struct guard sessions, logins; /* rates of a session's requests, and of
	                                  log-ins from an address */
	/* Numbers for the metrics: answers by status, connections, visits that
	 * comes_rightly() refused. */
	int64_t answered[STATUS_MAX + 1];
	json_int_t connections, bad_proxies;
	/* Whether these have changed since the last report to the daemon, and
	 * whether a report has no answer yet. */
	bool untold, telling;
	int64_t told_ms;
};

/* A path, and the request to the daemon that answers it. */
struct site_route {
	const char *path; /* if it ends with '/', an id follows */
	const char *op;
	const char
	    /* key of the list of rows; NULL: the last frame alone is
	     * the answer */
	    *rows;
	const char *fixed;  /* fields that the request always has, as JSON */
	const char *params; /* "name:field:kind"; see add_param() */
	bool open;          /* needs no session */
	web_answer_fn *fn;
};

/* --- answers of the daemon ------------------------------------------------ */

static void refuse(struct visit *v, const struct err *err)
{
	static const struct {
		int code;
		unsigned status;
	} table[] = {
		{ EACCES, 401 }, { EPERM, 403 },  { ENOENT, 404 },
		{ EINVAL, 400 }, { EPROTO, 400 }, { EMSGSIZE, 413 },
	};
	unsigned status = 500;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].code == err->code)
			status = table[i].status;
	visit_error(v, status, "%s", err->text);
}

/* Append rows, which are one a line, as a JSON list. */
static void put_rows(struct buf *out, const struct buf *rows)
{
	const char *at = rows->data, *line;
	bool any = false;
	size_t len;

	buf_addc(out, '[');
	while ((line = text_line(&at, &len))) {
		buf_puts(out, any ? ",\n" : "");
		buf_add(out, line, len);
		any = true;
	}
	buf_addc(out, ']');
}

/* Append an object with the list of rows under this key and the members of the
 * last frame: {"jobs": [...], ...}. */
static void put_listing(struct buf *out, const char *key,
                        const struct web_answer *answer)
{
	char *last = json_dumps(answer->last, JSON_COMPACT);

	buf_printf(out, "{\"%s\":", key);
	put_rows(out, &answer->parts);
	if (last[1] != '}')
		buf_addc(out, ',');
	buf_puts(out, last + 1);
	free(last);
}

static void on_answer(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;
	struct buf text = { 0 };
	char *last;

	if (answer->err.code) {
		refuse(v, &answer->err);
	} else if (v->route->rows) {
		put_listing(&text, v->route->rows, answer);
		visit_text(v, 200, "application/json", &text);
	} else {
		last = json_dumps(answer->last, JSON_COMPACT);
		buf_puts(&text, last);
		free(last);
		visit_text(v, 200, "application/json", &text);
	}
	visit_done(v);
}

/* Answer a request for one job; if there is none, the status is 404. */
static void on_job(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;
	const json_t *missing = json_object_get(answer->last, "missing");

	if (answer->err.code || !json_array_size(missing)) {
		on_answer(answer, arg);
		return;
	}
	visit_error(v, 404, "there is no job %s",
	            json_string_value(json_array_get(missing, 0)));
	visit_done(v);
}

/* Answer with a line of JSON, followed by the output as it is: in JSON it would
 * have to be valid UTF-8. */
static void on_log(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;
	struct buf text = { 0 };
	char *last;

	if (answer->err.code) {
		refuse(v, &answer->err);
	} else {
		last = json_dumps(answer->last, JSON_COMPACT);
		buf_printf(&text, "%s\n", last);
		buf_add(&text, answer->parts.data, answer->parts.len);
		free(last);
		visit_text(v, 200, "text/plain; charset=utf-8", &text);
	}
	visit_done(v);
}

static void on_metrics(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;
	struct buf text = { 0 };

	if (answer->err.code) {
		refuse(v, &answer->err);
	} else {
		buf_add(&text, answer->parts.data, answer->parts.len);
		visit_text(v, 200, "text/plain; version=0.0.4; charset=utf-8",
		           &text);
	}
	visit_done(v);
}

static void on_health(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;
	struct buf text = { 0 };
	bool ok = !answer->err.code;

	buf_puts(&text, ok ? "ok\n" : "the daemon does not answer\n");
	visit_text(v, ok ? 200 : 503, "text/plain", &text);
	visit_done(v);
}

/* Append a reason why the daemon is not ready, if this line of metrics shows
 * one. If `told`, name the pool; only clients on this machine may know it. */
static void add_reason(struct buf *out, const char *line, size_t len, bool told)
{
	static const char runner[] = "aisched_runner_up{pool=\"";
	static const struct {
		const char *sample, *reason;
	} bad[] = {
		{ "aisched_store_writable 0", "store not writable\n" },
		{ "aisched_config_last_reload_successful 0",
		  "reload failed\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (len == strlen(bad[i].sample) &&
		    !memcmp(line, bad[i].sample, len))
			buf_puts(out, bad[i].reason);
	if (len < sizeof(runner) || memcmp(line, runner, sizeof(runner) - 1) ||
	    line[len - 1] != '0')
		return;
	line += sizeof(runner) - 1;
	buf_printf(out, "pool%s%.*s: runner not synced\n", told ? " " : "",
	           told ? (int)strcspn(line, "\"") : 0, line);
}

static void on_ready(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;
	const char *at = answer->parts.data, *line;
	struct buf text = { 0 };
	size_t len;

	while (!answer->err.code && (line = text_line(&at, &len)))
		add_reason(&text, line, len, v->loopback);
	if (answer->err.code)
		buf_puts(&text, "the daemon does not answer\n");
	if (text.len) {
		visit_text(v, 503, "text/plain", &text);
	} else {
		buf_puts(&text, "ok\n");
		visit_text(v, 200, "text/plain", &text);
	}
	visit_done(v);
}

static void on_login(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;
	struct buf none = { 0 };

	if (answer->err.code) {
		refuse(v, &answer->err);
	} else {
		snprintf(
		    v->set_cookie, sizeof(v->set_cookie),
		    "aisched_session=%s; HttpOnly; SameSite=Strict; "
		    "Path=/",
		    json_string_value(json_object_get(answer->last, "cookie")));
		visit_text(v, 204, "text/plain", &none);
	}
	visit_done(v);
}

static void on_logout(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;
	struct buf none = { 0 };

	(void)answer;
	snprintf(v->set_cookie, sizeof(v->set_cookie),
	         "aisched_session=; HttpOnly; SameSite=Strict; Path=/; "
	         "Max-Age=0");
	visit_text(v, 204, "text/plain", &none);
	visit_done(v);
}

/* clang-format off */
#define JOB_ROW "\"job_id\",\"display_id\",\"array_job_id\"," \
	"\"array_task_id\",\"name\",\"user\",\"queue\",\"account\"," \
	"\"class\",\"state\",\"reason\",\"reason_text\",\"tasks\"," \
	"\"running_tasks\",\"cpus\",\"mem_mib\",\"gpus\",\"nodelist\"," \
	"\"submit_time\",\"start_time\",\"end_time\",\"expected_start\"," \
	"\"elapsed\",\"time_limit\",\"priority\",\"position\",\"exit_code\"," \
	"\"signal\""

static const struct site_route routes[] = {
	{ "/healthz", "ping", .open = true, .fn = on_health },
	{ "/readyz", "metrics", .open = true, .fn = on_ready },
	{ "/metrics", "metrics", .open = true, .fn = on_metrics },
	{ "/api/1/me", "session", .fixed = "{\"action\":\"who\"}",
	  .fn = on_answer },
	{ "/api/1/summary", "status", .fn = on_answer },
	{ "/api/1/health", "status", .fn = on_answer },
	{ "/api/1/queues", "queues", "queues", .fn = on_answer },
	{ "/api/1/nodes", "nodes", "nodes", .fn = on_answer },
	{ "/api/1/users", "shares", "shares",
	  .params = "user:users:l queue:queues:l", .fn = on_answer },
	{ "/api/1/reservations", "reservations", .fn = on_answer },
	{ "/api/1/crons", "crons", "crons", .fixed = "{\"all\":true}",
	  .params = "user:users:l queue:queues:l", .fn = on_answer },
	{ "/api/1/report", "report", "report",
	  .params = "by:by:l since:since:i until:until:i", .fn = on_answer },
	{ "/api/1/jobs", "jobs", "jobs",
	  .fixed = "{\"all\":true,\"count\":true,\"fields\":[" JOB_ROW "]}",
	  .params = "queue:queues:l user:users:l state:states:l name:names:l "
		    "node:nodes:l history:history:b since:since:i "
		    "until:until:i sort:sort:t after:after:t limit:limit:n "
		    "cron:cron:i",
	  .fn = on_answer },
	{ "/api/1/job/", "jobs", "jobs", .fn = on_job },
	{ "/api/1/attempts/", "attempts", "attempts", .fn = on_answer },
	{ "/api/1/cron/", "crons", "crons", .fn = on_answer },
	{ "/api/1/log/", "excerpt",
	  .params = "task:task:i stream:stream:t from:from:i len:len:i",
	  .fn = on_log },
};
/* clang-format on */

/* --- requests ------------------------------------------------------------- */

/* Whether the text has the form of the token of a session's cookie. */
static bool is_token(const char *s)
{
	return s && strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static json_t *list_of(const char *value)
{
	json_t *list = json_array();

	for (const char *s = value; *s;) {
		size_t len = strcspn(s, ",");

		if (len)
			json_array_append_new(list, json_stringn(s, len));
		s += len + (s[len] == ',');
	}
	return list;
}

/* Returns the value of a parameter as JSON. kind: t a text, l a list, i
 * a number, n a number of rows, b a flag (0 or 1). Returns NULL if it
 * is invalid. */
static json_t *value_of(char kind, const char *value)
{
	int64_t n;

	switch (kind) {
	case 't':
		return json_string(value);
	case 'l':
		return list_of(value);
	case 'b':
		return !strcmp(value, "1")   ? json_true()
		       : !strcmp(value, "0") ? json_false()
		                             : NULL;
	default:
		if (parse_int(value, kind == 'n' ? 0 : -1, INT64_MAX, &n,
		              NULL) < 0)
			return NULL;
		return json_integer(kind == 'n' && n > ROWS_MAX ? ROWS_MAX : n);
	}
}

struct params {
	struct visit *v;
	json_t *req;
};

/* Called for each parameter of the URL: add it to the request. Returns MHD_NO
 * at the first that is invalid. */
static enum MHD_Result add_param(void *arg, enum MHD_ValueKind kind,
                                 const char *name, const char *value)
{
	struct params *p = arg;
	const char *at = p->v->route->params;
	size_t len = strlen(name);

	(void)kind;
	while (at && *at) {
		const char *field = at + strcspn(at, ":") + 1;
		size_t field_len = strcspn(field, ":");
		char *copy;
		json_t *made;

		if (strncmp(at, name, len) != 0 || at[len] != ':') {
			at += strcspn(at, " ");
			at += *at == ' ';
			continue;
		}
		made = value ? value_of(field[field_len + 1], value) : NULL;
		if (!made)
			break;
		copy = xstrndup(field, field_len);
		json_object_set_new(p->req, copy, made);
		free(copy);
		return MHD_YES;
	}
	visit_error(p->v, 400, "bad parameter '%.60s'", name);
	return MHD_NO;
}

/* Returns the request for a visit. If its parameters are invalid, answers the
 * visit and returns NULL. */
static json_t *request_of(struct visit *v)
{
	const struct site_route *route = v->route;
	struct params p = { v, NULL };
	size_t len = strlen(route->path);

	p.req =
	    route->fixed ? json_loads(route->fixed, 0, NULL) : json_object();
	json_object_set_new(p.req, "op", json_string(route->op));
	if (!strcmp(route->op, "jobs") && route->params)
		json_object_set_new(p.req, "limit", json_integer(ROWS_MAX));
	if (!strcmp(route->op, "excerpt"))
		json_object_set_new(p.req, "id", json_string(v->path + len));
	else if (route->path[len - 1] == '/')
		json_object_set_new(p.req, "ids",
		                    json_pack("[s]", v->path + len));
	MHD_get_connection_values(v->connection, MHD_GET_ARGUMENT_KIND,
	                          add_param, &p);
	if (!v->status)
		return p.req;
	json_decref(p.req);
	return NULL;
}

/* Returns a number for the visitor: for the session, the user named by the
 * proxy, or else the address. */
static uint64_t visitor_of(const struct visit *v)
{
	return *v->cookie ? hash_bytes(2, v->cookie, strlen(v->cookie))
	                  : v->address;
}

static bool may_see(const struct site *site, struct visit *v)
{
	const struct site_route *route = v->route;

	if (!strcmp(route->path, "/metrics") && !site->metrics_open &&
	    !(site->metrics_loopback && v->loopback)) {
		visit_error(v, 403,
		            "metrics are not told here: see metrics_access "
		            "in aischedd.conf");
		return false;
	}
	if (route->open)
		return true;
	if (!*v->cookie) {
		visit_error(v, 401, "log in with `aiq --web`");
		return false;
	}
	v->retry_s = 1;
	if (web_link_count(site->link, visitor_of(v)) >= VISITS_MAX)
		visit_error(v, 429, "more than %d requests at once",
		            VISITS_MAX);
	else if (!guard_take(&v->site->sessions, visitor_of(v), clock_ms()))
		visit_error(v, 429, "more than 20 requests a second");
	return !v->status;
}

/* --- users of the proxy --------------------------------------------------- */

struct header {
	const char *name, *value;
	size_t n;
};

static enum MHD_Result count_header(void *arg, enum MHD_ValueKind kind,
                                    const char *name, const char *value)
{
	struct header *h = arg;

	(void)kind;
	if (!strcasecmp(name, h->name)) {
		h->value = value;
		h->n++;
	}
	return MHD_YES;
}

/* Whether the text may be the name of a user: printable, without spaces. */
static bool is_name(const char *s, size_t max_len)
{
	size_t len = 0;

	while (s[len] > ' ' && s[len] < 0x7f)
		len++;
	return len && len <= max_len && !s[len];
}

/* Use the user that the proxy names in its header. Several such headers are
 * refused: one of them came from the browser. */
static void name_user(struct visit *v)
{
	struct header h = { .name = v->site->conf.proxy_header };

	MHD_get_connection_values(v->connection, MHD_HEADER_KIND, count_header,
	                          &h);
	if (h.n > 1)
		visit_error(v, 400,
		            "there are %zu headers %s: the proxy must "
		            "replace what browsers send",
		            h.n, h.name);
	else if (!h.value || !is_name(h.value, sizeof(v->cookie) - 2))
		visit_error(v, 403, "the proxy names no user in the header %s",
		            h.name);
	else
		snprintf(v->cookie, sizeof(v->cookie), "=%s", h.value);
	v->site->bad_proxies += v->status != 0;
}

static void ask(struct visit *v);

static void on_named(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;

	if (answer->err.code) {
		v->site->bad_proxies++;
		refuse(v, &answer->err);
		visit_done(v);
	} else {
		ask(v);
	}
}

/* --- requests of the API -------------------------------------------------- */

/* Handle the answer to a request. If the daemon does not know the user whom the
 * proxy names, or has forgotten that user, tell it to look the user up and
 * repeat the request. */
static void on_routed(const struct web_answer *answer, void *arg)
{
	struct visit *v = arg;

	if (answer->err.code == EACCES && *v->cookie == '=' && !v->named) {
		v->named = true;
		v->query = web_link_ask(v->site->link,
		                        json_pack("{s:s, s:s, s:s}", "op",
		                                  "session", "action", "proxy",
		                                  "k", v->cookie + 1),
		                        NULL, visitor_of(v), on_named, v);
	} else {
		v->route->fn(answer, arg);
	}
}

static void ask(struct visit *v)
{
	json_t *req = request_of(v);

	if (req)
		v->query = web_link_ask(
		    v->site->link, req,
		    *v->cookie && !v->route->open ? v->cookie : NULL,
		    visitor_of(v), on_routed, v);
}

static void enter(struct visit *v, const struct site_route *route)
{
	v->route = route;
	if (v->proxied && !route->open)
		name_user(v);
	if (!v->status && may_see(v->site, v))
		ask(v);
}

static bool is_route(const struct site_route *route, const char *path)
{
	size_t len = strlen(route->path);

	if (route->path[len - 1] != '/')
		return !strcmp(path, route->path);
	/* Job ids are digits, or have forms like 12_[1-5,9]. */
	return !strncmp(path, route->path, len) && path[len] &&
	       strspn(path + len, "0123456789_[]-,:%") == strlen(path + len) &&
	       strlen(path + len) < 200;
}

static void get(struct visit *v)
{
	for (size_t i = 0; i < web_npages; i++)
		if (!strcmp(v->path, web_pages[i].path)) {
			v->store = true;
			visit_static(v, web_pages[i].type, web_pages[i].data,
			             web_pages[i].len);
			return;
		}
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		if (is_route(&routes[i], v->path)) {
			enter(v, &routes[i]);
			return;
		}
	visit_error(v, 404, "there is nothing here");
}

/* --- logging in ----------------------------------------------------------- */

/* Whether a request comes from our own page: only then it may change something.
 * Browsers say in these headers which site a request comes from, and pages
 * cannot forge them. */
static bool is_ours(const struct visit *v)
{
	const char *site = MHD_lookup_connection_value(
	    v->connection, MHD_HEADER_KIND, "Sec-Fetch-Site");
	const char *origin = MHD_lookup_connection_value(
	    v->connection, MHD_HEADER_KIND, "Origin");
	const char *colon = origin ? strstr(origin, "://") : NULL;

	if (site && strcmp(site, "same-origin") != 0)
		return false;
	if (origin)
		return colon && !strcmp(colon + 3, v->host);
	return site != NULL;
}

static void post(struct visit *v)
{
	static const struct site_route login = { "/login", .fn = on_login };
	static const struct site_route logout = { "/logout", .fn = on_logout };
	bool in = !strcmp(v->path, "/login");
	json_t *body = NULL, *req;
	const char *k;

	v->route = in ? &login : &logout;
	if (!in && strcmp(v->path, "/logout") != 0) {
		visit_error(v, 405, "this page only reads");
		return;
	}
	if (v->proxied) {
		visit_error(v, 403,
		            "whoever comes through the proxy logs in "
		            "and out there");
		return;
	}
	if (!is_ours(v)) {
		visit_error(v, 403, "the request is from another site");
		return;
	}
	body =
	    json_loadb(v->body.data ? v->body.data : "", v->body.len, 0, NULL);
	k = in ? json_string_value(json_object_get(body, "k")) : v->cookie;
	if (in && !guard_take(&v->site->logins, v->address, clock_ms())) {
		/* Seconds until one more log-in is allowed. */
		v->retry_s = 12;
		visit_error(v, 429, "too many log-ins: wait a minute");
	} else if (!is_token(k)) {
		visit_error(v, 401,
		            "this link was used or is too old: get another one "
		            "with `aiq --web`");
	} else {
		req = json_pack("{s:s, s:s, s:s}", "op", "session", "action",
		                in ? "login" : "logout", "k", k);
		v->query =
		    web_link_ask(v->site->link, req, in ? NULL : v->cookie,
		                 visitor_of(v), v->route->fn, v);
	}
	json_decref(body);
}

/* --- every visit ---------------------------------------------------------- */

static bool same_host(const char *host, size_t len, const char *name)
{
	return len == strlen(name) && !strncasecmp(host, name, len);
}

/* Whether the Host header has a name of ours. Another name may be that of an
 * attacker's page, whose name resolves to our address (DNS rebinding). */
static bool is_our_name(const struct site *site, const char *host)
{
	static const char *const loopback[] = { "localhost", "127.0.0.1",
		                                "[::1]" };
	size_t len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	const char *port = host + (len <= strlen(host) ? len : 0);

	if (*port && (*port != ':' ||
	              strspn(port + 1, "0123456789") != strlen(port + 1)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(loopback); i++)
		if (same_host(host, len, loopback[i]))
			return true;
	for (char **name = site->conf.hosts; *name; name++)
		if (same_host(host, len, *name))
			return true;
	return false;
}

static bool has(const struct visit *v, const char *header)
{
	return MHD_lookup_connection_value(v->connection, MHD_HEADER_KIND,
	                                   header) != NULL;
}

/* Refuse peers other than the proxy on the proxy's socket. Refuse the proxy's
 * header over TCP: an attacker or a misconfigured proxy sends it. Returns
 * whether the visit goes on. */
static bool comes_rightly(struct visit *v)
{
	struct site *site = v->site;

	if (v->proxied && !v->trusted)
		visit_error(v, 403,
		            "this socket is for a proxy: see "
		            "web_proxy_users in aischedd.conf");
	else if (!v->proxied && *site->conf.proxy_header &&
	         has(v, site->conf.proxy_header))
		visit_error(v, 400,
		            "the header %s is believed of a proxy that "
		            "comes to http_socket only",
		            site->conf.proxy_header);
	site->bad_proxies += v->status != 0;
	return !v->status;
}

void site_visit(struct visit *v)
{
	const char *cookie = MHD_lookup_connection_value(
	    v->connection, MHD_COOKIE_KIND, "aisched_session");

	if (is_token(cookie) && !v->proxied)
		memcpy(v->cookie, cookie, sizeof(v->cookie));
	if (v->too_long)
		visit_error(v, 413, "the body is longer than %d bytes",
		            VISIT_BODY);
	else if (has(v, "Transfer-Encoding") && has(v, "Content-Length"))
		visit_error(v, 400, "the body has two lengths");
	else if (!v->host)
		visit_error(v, 400, "the Host header is missing");
	else if (!is_our_name(v->site, v->host))
		visit_error(v, 421,
		            "this page has another name: see http_hosts in "
		            "aischedd.conf");
	else if (!comes_rightly(v))
		return;
	else if (!strcmp(v->method, "GET") || !strcmp(v->method, "HEAD"))
		get(v);
	else if (!strcmp(v->method, "POST"))
		post(v);
	else
		visit_error(v, 405, "this page only reads");
}

/* --- counts --------------------------------------------------------------- */

void site_count(struct site *site, unsigned status)
{
	site->answered[status <= STATUS_MAX ? status : 0]++;
	site->untold = true;
}

void site_set_connections(struct site *site, size_t n)
{
	site->untold |= site->connections != (json_int_t)n;
	site->connections = (json_int_t)n;
}

static void on_told(const struct web_answer *answer, void *arg)
{
	struct site *site = arg;

	(void)answer;
	site->telling = false;
}

void site_tell(struct site *site)
{
	int64_t now = clock_ms();
	json_t *codes;
	char code[12], count[24];

	if (!site->untold || site->telling || now - site->told_ms < TELL_MS)
		return;
	codes = json_object();
	for (unsigned i = 0; i <= STATUS_MAX; i++) {
		if (!site->answered[i])
			continue;
		snprintf(code, sizeof(code), "%u", i);
		snprintf(count, sizeof(count), "%lld",
		         (long long)site->answered[i]);
		json_object_set_new(codes, code, json_string(count));
		site->answered[i] = 0;
	}
	site->untold = false;
	site->telling = true;
	site->told_ms = now;
	web_link_ask(site->link,
	             json_pack("{s:s, s:s, s:o, s:I, s:I}", "op", "session",
	                       "action", "answers", "codes", codes,
	                       "connections", site->connections, "bad_proxies",
	                       site->bad_proxies),
	             NULL, 0, on_told, site);
	site->bad_proxies = 0;
}

bool site_trusts(const struct site *site, uid_t uid)
{
	char word[16];

	snprintf(word, sizeof(word), ",%u,", (unsigned)uid);
	return strstr(site->conf.proxy_uids, word);
}

struct site *site_new(struct web_link *link, const struct site_conf *conf)
{
	struct site *site = xcalloc(1, sizeof(*site));

	site->link = link;
	site->conf = *conf;
	site->metrics_open = !strcmp(conf->metrics, "open");
	site->metrics_loopback = !strcmp(conf->metrics, "loopback");
	guard_init(&site->sessions, 20, 60);
	guard_init(&site->logins, 5 / 60.0, 5);
	return site;
}
