/*
 * msg.h - the requests, and who may make them
 *
 * A request is a JSON object {"op": NAME, ...} with raw bytes beside it; an
 * answer is any number of parts (raw bytes) and one last JSON object, which
 * is {"error": {"code": errno, "text": ...}} when the request was refused.
 *
 * "rows" below are text made by the daemon, one row a line: either a JSON
 * object, or values separated by tabs.
 *
 * op        request                               answer
 * ping      -                                     version, cluster, pid,
 *                                                 uptime (s), synced
 * submit    token (32 hex digits), specs [..],    job_ids [n, ..], queue,
 *           script_len, env_len, test_only, cron; warnings [text, ..]; with
 *           raw: script, env                      test_only: tests [{starts,
 *                                                 expected_start, nodes (text),
 *                                                 reason, reason_text,
 *                                                 position,
 *                                                 evicts [n, ..]}, ..], next;
 *                                                 with cron: cron, the entry
 * jobs      ids [text], users, queues, states,    parts: rows;
 *           names, nodes, accounts, all, history, rows (count),
 *           since, until, fields [name],          missing [id, ..]; of a page:
 *           format "json" | "tsv"; a page: sort   after (text or null), count
 *           (a field; "-" first: downwards),
 *           after (of the last answer), limit
 *           (0 to 10000), count (true: count
 *           all that match)
 * attempts  as jobs, but for names, history       the same, of attempts
 * queues    fields, format, names                 parts: rows; rows
 * nodes     fields, format, names                 parts: rows; rows
 * shares    users, queues, fields, format         parts: rows; rows
 * log       id, task, stream "out"|"err",         path, state of the job,
 *           follow, skip (bytes already read)     where (if not here: "on node
 *                                                 'a'"); or parts: the output;
 *                                                 whole, omitted (bytes not
 *                                                 kept)
 * script    id                                    parts: the script
 * step      id                                    job_id, node, socket (path):
 *                                                 where srun finds the shepherd
 *                                                 (step_msg.h)
 * alloc     id (of an allocation; only one      part: a line {"waits": reason}
 *           request may wait; if the connection if it cannot start at once;
 *           is lost before the answer, the job  as step, once it has started
 *           is cancelled)
 * exec      id (of the caller's job; root: any) as step: where a client may run
 *                                                 a command in the job; or
 *                                                 relay (true): by the next
 *                                                 two, through the daemon
 * forward   id (of the caller's job; root: any),  port; by the next two, for
 *           port, or name (of a port, --port)     each connection
 * relay     id, task, tty, input (false: none),   parts: a letter and bytes
 *           term (its TERM), rows, columns; raw:  (relay_msg.h); status, of
 *           words, each ended by a zero byte; or  the command; 0 of a
 *           port instead of tty to raw            connection
 * relay_input  relay (number, see relay_msg.h),   - (when there is room for
 *           end (of the input), rows, columns,    more)
 *           signal; raw: input, at most 64 KiB
 * steps     ids [job_id as text]                  done: how many ids were
 *                                                 read, the rest is for another
 *                                                 request; parts: a line
 *                                                 {"job": id} for each, then
 *                                                 its steps
 *                                                 (shepherd/step_record.h)
 * cancel    ids or users, queues, states, names,  count, failed [{job,
 *           all; signal (0: end it); scope        code (errno), text}];
 *           "job" | "script" | "steps" | "all"    with list: ids [text] of the
 *           of the signal; step (only this one;   jobs cancelled or signalled
 *           signal 0: end that); list (true:
 *           answer with the ids)
 * wait      ids                                   jobs [{job_id, state,
 *                                                 exit_code, signal}]
 * control   action, ids                           count, failed
 * update    ids, set {field: text}                count, failed
 * drain     nodes (hostlist), reason              count
 * undrain   nodes                                 count
 * queue     name, state "open" | "closed"         -
 * reserve   name, start, end, repeat "never" |    nodes (hostlist)
 *           "daily" | "weekly", users [name or
 *           @group], nodes (hostlist) or count
 *           and pool
 * unreserve name                                  -
 * reservations  -                                 reservations [{name,
 *                                                 start_time, end_time,
 *                                                 active, repeat, users,
 *                                                 nodes (hostlist)}, ..]
 * crons     ids, or users, queues, all            parts: an entry of recurring
 *                                                 work as JSON, one a line
 * cron      action "pause" | "resume" | "delete"  count, failed; of run: job_id
 *           | "run" | "update", ids; cancel (end
 *           runs, too); set {field: text}; raw:
 *           the new script
 * cron_file user, entries [{line, spec, cron,     made, kept, gone; without
 *           script_len, env_len}], text_len; raw: entries: parts: the file
 *           the file, then scripts and
 *           environments; or, in an entry,
 *           error in place of all but line
 * reload    -                                     warnings [text]
 * status    -                                     see man aictl
 * metrics   -                                     parts: text for Prometheus
 * web       action "link" | "list" | "logout"     url, token, seconds;
 *                                                 sessions [{began, until}];
 *                                                 count
 * session   action "login", k (the token) |       cookie, user; user, role,
 *           "who" | "logout", k (the cookie) |    cluster, time; -; -
 *           "answers", codes {status: count};
 *           of the web program only
 * excerpt   id, task, stream "out"|"err", from    part: the bytes; path, size
 *           (-1: the last ones), len (at most     (of all), from, state, where
 *           65536); of the web program only       (if they cannot be read)
 * accounting  from (unix s; 0: begin)             first, last, next (0: done),
 *                                                 attempts, sums, wrong, texts
 * history   before (unix s): remove jobs that     gone, more (ask again)
 *           ended until then; expect (refuse if
 *           there are not this many)
 * report    by [key], since, until, users,        parts: rows, one a line;
 *           accounts, queues, classes, pools,     (start, end in unix s if a
 *           gpu_types                             key is a time); rows (count),
 *                                                 total {..}, since, until,
 *                                                 currency
 * audit     user, act, job (its id), since,       audit [{time (unix s),
 *           until (unix s), limit (0: 10000)      uid, user, act, target,
 *                                                 owner, text}, ..], the
 *                                                 latest first
 * dump      -                                     parts: the snapshot's text
 * config    -                                     parts: the configuration in
 *                                                 force, as a file
 * shutdown  -                                     -
 */
#ifndef LIBCOMMON_MSG_H
#define LIBCOMMON_MSG_H

enum role { ROLE_NOBODY, ROLE_USER, ROLE_OPERATOR, ROLE_ADMIN };

/* X(name, least role). Requests with ROLE_USER are allowed to users for their
 * own jobs, to operators for jobs of their queues, and to admins for all. */
#define OPS(X)                      \
	X(ping, ROLE_NOBODY)        \
	X(submit, ROLE_USER)        \
	X(jobs, ROLE_USER)          \
	X(queues, ROLE_USER)        \
	X(nodes, ROLE_USER)         \
	X(shares, ROLE_USER)        \
	X(log, ROLE_USER)           \
	X(web, ROLE_USER)           \
	X(session, ROLE_USER)       \
	X(excerpt, ROLE_USER)       \
	X(cancel, ROLE_USER)        \
	X(wait, ROLE_USER)          \
	X(control, ROLE_USER)       \
	X(update, ROLE_USER)        \
	X(drain, ROLE_ADMIN)        \
	X(undrain, ROLE_ADMIN)      \
	X(queue, ROLE_OPERATOR)     \
	X(reserve, ROLE_OPERATOR)   \
	X(unreserve, ROLE_OPERATOR) \
	X(reservations, ROLE_USER)  \
	X(reload, ROLE_ADMIN)       \
	X(status, ROLE_USER)        \
	X(dump, ROLE_ADMIN)         \
	X(shutdown, ROLE_ADMIN)     \
	X(script, ROLE_USER)        \
	X(audit, ROLE_USER)         \
	X(attempts, ROLE_USER)      \
	X(metrics, ROLE_USER)       \
	X(step, ROLE_USER)          \
	X(steps, ROLE_USER)         \
	X(alloc, ROLE_USER)         \
	X(crons, ROLE_USER)         \
	X(cron, ROLE_USER)          \
	X(cron_file, ROLE_USER)     \
	X(accounting, ROLE_ADMIN)   \
	X(report, ROLE_USER)        \
	X(history, ROLE_OPERATOR)   \
	X(exec, ROLE_USER)          \
	X(forward, ROLE_USER)       \
	X(relay, ROLE_USER)         \
	X(relay_input, ROLE_USER)   \
	X(config, ROLE_ADMIN)

enum op {
#define X(sym, role) OP_##sym,
	OPS(X)
#undef X
	    OP_N
};

const char *op_name(enum op op);
enum role op_role(enum op op);
int op_parse(const char *s); /* returns -1 if there is no such request */

/* X(action, least role). A job that an operator or admin holds, other than
 * with --hold at submission, has the reason JobHeldAdmin, and only they can
 * release it. After their uhold its user can, too. */
#define ACTIONS(X)                \
	X(hold, ROLE_USER)        \
	X(release, ROLE_USER)     \
	X(suspend, ROLE_OPERATOR) \
	X(resume, ROLE_OPERATOR)  \
	X(requeue, ROLE_USER)     \
	X(preempt, ROLE_OPERATOR) \
	X(top, ROLE_OPERATOR)     \
	X(requeuehold, ROLE_USER) \
	X(uhold, ROLE_USER)

enum action {
#define X(sym, role) ACTION_##sym,
	ACTIONS(X)
#undef X
	    ACTION_N
};

const char *action_name(enum action action);
enum role action_role(enum action action);
int action_parse(const char *s);

#endif
