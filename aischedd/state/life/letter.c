/* letter.c - mails about jobs and cron entries */
#include "aischedd/state/life/letter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mail.h"
#include "libcommon/mem.h"

/* Most bytes of a user's text on one line of a mail; a line may have at most
 * 998 (RFC 5322). */
enum { VALUE_MAX = 400 };

/* The parts of a time limit about which there may be a mail, the
 * highest first. */
static const struct {
	enum mail_type type;
	int percent;
	const char *words;
} marks[] = {
	{ MAIL_TIME_LIMIT, 100, "Reached time limit" },
	{ MAIL_TIME_LIMIT_90, 90, "Reached 90% of time limit" },
	{ MAIL_TIME_LIMIT_80, 80, "Reached 80% of time limit" },
	{ MAIL_TIME_LIMIT_50, 50, "Reached 50% of time limit" },
};

void letters_forget(struct unwritten *u)
{
	for (size_t i = 0; i < u->nletters; i++) {
		free(u->letter[i].to);
		free(u->letter[i].event);
		free(u->letter[i].subject);
		free(u->letter[i].body);
	}
	u->nletters = 0;
}

/* --- parts of the text of a mail ---------------------------------------- */

/* Append a duration as Slurm writes it: "01:20:00" or "2-01:20:00". */
static void put_span(struct buf *out, int64_t s)
{
	s = s > 0 ? s : 0;
	if (s >= 86400)
		buf_printf(out, "%lld-", (long long)(s / 86400));
	buf_printf(out, "%02d:%02d:%02d", (int)(s / 3600 % 24),
	           (int)(s / 60 % 60), (int)(s % 60));
}

/* Append a text, cut after at most VALUE_MAX bytes, never inside a
 * UTF-8 character. */
static void put_value(struct buf *out, const char *s)
{
	size_t len = strlen(s);

	if (len > VALUE_MAX)
		for (len = VALUE_MAX;
		     len && ((unsigned char)s[len] & 0xc0) == 0x80;)
			len--;
	buf_add(out, s, len);
}

static void put_line(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%-14s", name);
	put_value(out, value);
	buf_addc(out, '\n');
}

static void put_time(struct buf *out, const char *name, int64_t at)
{
	if (at == NO_TIME)
		return;
	buf_printf(out, "%-14s", name);
	format_time(out, at);
	buf_addc(out, '\n');
}

/* Append a line such as "Run time: 4:00 of 10:00 (40 %)"; only the first number
 * if `all` is 0. */
static void put_part(struct buf *out, const char *name, int64_t part,
                     int64_t all, void (*format)(struct buf *out, int64_t n))
{
	buf_printf(out, "%-14s", name);
	format(out, part);
	if (all > 0) {
		buf_puts(out, " of ");
		format(out, all);
		buf_printf(out, " (%lld %%)",
		           (long long)((__int128)part * 100 / all));
	}
	buf_addc(out, '\n');
}

static void put_memory(const struct job *job, const struct spec *spec,
                       struct buf *out)
{
	struct request req;

	if (job->runs->peak_mem_kib == SPEC_UNSET)
		return;
	spec_request(spec, job->mem_default, &req);
	put_part(out, "Peak memory:", (job->runs->peak_mem_kib + 1023) / 1024,
	         req.mem_mib * req.tasks, format_mib);
}

static void put_use(const struct job *job, const struct spec *spec, int64_t now,
                    struct buf *out)
{
	struct ledger_sum sum;

	ledger_total(job, now * 1000, &sum);
	put_part(out, "Run time:", job_elapsed(job, now),
	         job->time_limit == TIME_UNLIMITED ? 0 : job->time_limit,
	         format_duration);
	if (job->runs->cpu_ms)
		put_part(out, "CPU time:", job->runs->cpu_ms / 1000,
		         sum.held[RES_CPU] / 1000, format_duration);
	put_memory(job, spec, out);
}

static char *body_of(const struct state *state, const struct job *job,
                     const struct spec *spec, int64_t now)
{
	struct buf out = { 0 };

	put_line(&out, "Name:", spec->name);
	put_line(&out, "User:", state->users.user[job->user].name);
	put_line(&out, "Queue:", state->conf->queues[job->queue].name);
	put_line(&out, "State:", job_state_name((enum job_state)job->state));
	if (job_state_is_final((enum job_state)job->state) &&
	    job->why != WHY_None)
		put_line(&out, "Reason:", reason_name((enum reason)job->why));
	if (job->text)
		put_line(&out, "Remark:", job->text);
	if (job->runs->exit_code >= 0)
		buf_printf(&out, "%-14s%d\n",
		           "Exit status:", job->runs->exit_code);
	if (job->runs->signal)
		buf_printf(&out, "%-14s%d\n", "Signal:", job->runs->signal);
	put_time(&out, "Submitted:", job->submit);
	put_time(&out, "Started:", job->runs->start);
	if (job_state_is_final((enum job_state)job->state))
		put_time(&out, "Ended:", job->runs->end);
	if (job->attempt)
		put_use(job, spec, now, &out);
	put_line(&out, "Output:", spec->output);
	buf_printf(&out, "\n\"aiq %llu\" says more. Cluster: %s\n",
	           (unsigned long long)(job->array ? job->array : job->id),
	           state->conf->cluster);
	return buf_take(&out);
}

static void begin_subject(struct buf *out, const struct job *job,
                          const struct spec *spec, bool whole)
{
	buf_puts(out, "aisched ");
	if (!job->array) {
		buf_printf(out, "Job_id=%llu", (unsigned long long)job->id);
	} else if (whole || job->tasks.n) {
		buf_printf(out, "Array Summary Job_id=%llu_* (%llu)",
		           (unsigned long long)job->array,
		           (unsigned long long)job->array);
	} else {
		buf_printf(out, "Array Task Job_id=%llu_%u (%llu)",
		           (unsigned long long)job->array, job->task,
		           (unsigned long long)job->id);
	}
	buf_puts(out, " Name=");
	put_value(out, spec->name);
	buf_addc(out, ' ');
}

/* --- mails about jobs --------------------------------------------------- */

/* Unpack a request into *ret. Returns the types of mails that it asks for, as
 * bits; 0 if no mail can be sent, and then *ret may be unset. */
static int64_t wanted(const struct state *state, const char *packed,
                      struct spec *ret)
{
	if (!*state->conf->mail.command)
		return 0;
	spec_unpack(ret, packed);
	return ret->mail_types == SPEC_UNSET ? 0 : ret->mail_types;
}

/* Whether the job is part of an array whose user gets mails only about the
 * array as a whole. */
static bool is_one_of_many(const struct job *job, int64_t types)
{
	return job->array && !(types & MAIL_BIT(MAIL_ARRAY_TASKS));
}

/* Add a mail to those that the next commit writes; user_index is the
 * recipient's index in the state. Takes over event, subject and body. */
static void add_to(struct state *state, uint32_t user_index,
                   const struct spec *spec, char *event, struct buf *subject,
                   char *body, int64_t now)
{
	struct unwritten *u = &state->unwritten;
	const struct user *user = &state->users.user[user_index];
	const char *to = spec->mail_user ? spec->mail_user : user->name;
	struct err err;

	if (mail_check_address(to, &err) < 0) {
		/* Without --mail-user the address is the user's name, which may
		 * not be a valid address: then send nothing. */
		free(event);
		buf_free(subject);
		free(body);
		return;
	}
	u->letter = GROW(u->letter, u->nletters, &u->letter_cap);
	u->letter[u->nletters++] = (struct letter){
		.made = now,
		.uid = user->uid,
		.to = xstrdup(to),
		.event = event,
		.subject = buf_take(subject),
		.body = body,
	};
}

/* Add a mail about a job; takes over subject and body. */
static void add(struct state *state, const struct job *job,
                const struct spec *spec, const char *event, struct buf *subject,
                char *body, int64_t now)
{
	add_to(state, job->user, spec,
	       xasprintf("%llu.%u.%s.%lld", (unsigned long long)job->id,
	                 job->attempt, event, (long long)now),
	       subject, body, now);
}

static void add_plain(struct state *state, const struct job *job,
                      const struct spec *spec, enum mail_type type,
                      const char *words, int64_t now)
{
	struct buf subject = { 0 };

	begin_subject(&subject, job, spec, false);
	buf_puts(&subject, words);
	add(state, job, spec, mail_type_name(type), &subject,
	    body_of(state, job, spec, now), now);
}

void letter_began(struct state *state, const struct job *job, bool first,
                  int64_t now)
{
	struct buf subject = { 0 };
	struct spec spec;
	int64_t types = wanted(state, job->packed, &spec);
	bool whole = is_one_of_many(job, types);

	if (!(types & MAIL_BIT(MAIL_BEGIN)) || (whole && !first))
		return;
	begin_subject(&subject, job, &spec, whole);
	buf_puts(&subject, "Began, Queued time ");
	put_span(&subject, job->runs->start - job->submit);
	add(state, job, &spec, "BEGIN", &subject,
	    body_of(state, job, &spec, now), now);
}

/* Returns the type of the mail about the end of a job or array; MAIL_NTYPES if
 * the user asked for none. */
static enum mail_type end_type(int64_t types, bool failed)
{
	if (failed && (types & MAIL_BIT(MAIL_FAIL)))
		return MAIL_FAIL;
	return types & MAIL_BIT(MAIL_END) ? MAIL_END : MAIL_NTYPES;
}

void letter_ended(struct state *state, const struct job *job, int64_t now)
{
	struct buf subject = { 0 };
	struct spec spec;
	int64_t types = wanted(state, job->packed, &spec);
	enum mail_type type = end_type(types, job->state != JOB_COMPLETED &&
	                                          job->state != JOB_CANCELLED);

	if (type == MAIL_NTYPES || is_one_of_many(job, types))
		return;
	begin_subject(&subject, job, &spec, false);
	buf_puts(&subject,
	         type == MAIL_FAIL ? "Failed, Run time " : "Ended, Run time ");
	put_span(&subject, job_elapsed(job, now));
	buf_printf(&subject, ", %s",
	           job_state_name((enum job_state)job->state));
	if (job->runs->signal)
		buf_printf(&subject, ", Signal %d", job->runs->signal);
	else if (job->runs->exit_code >= 0)
		buf_printf(&subject, ", ExitCode %d", job->runs->exit_code);
	add(state, job, &spec, mail_type_name(type), &subject,
	    body_of(state, job, &spec, now), now);
}

static char *array_body(const struct state *state, const struct array *array,
                        const struct job *job, const struct spec *spec)
{
	struct buf out = { 0 };

	put_line(&out, "Name:", spec->name);
	put_line(&out, "User:", state->users.user[job->user].name);
	put_line(&out, "Queue:", state->conf->queues[job->queue].name);
	buf_printf(&out, "%-14s%u\n%-14s%u\n%-14s%u\n", "Tasks:", array->count,
	           "Completed:", array->count - array->failed,
	           "Others:", array->failed);
	if (array->exit_low >= 0)
		buf_printf(&out, "%-14s%d to %d\n",
		           "Exit statuses:", array->exit_low, array->exit_high);
	put_time(&out, "Submitted:", job->submit);
	put_time(&out, "Last start:", array->started);
	put_time(&out, "Ended:", job->runs->end);
	buf_printf(&out, "\n\"aiq --history %llu\" says more. Cluster: %s\n",
	           (unsigned long long)array->id, state->conf->cluster);
	return buf_take(&out);
}

void letter_array_ended(struct state *state, const struct array *array,
                        const struct job *last, int64_t now)
{
	struct buf subject = { 0 };
	struct spec spec;
	int64_t types = wanted(state, last->packed, &spec);
	enum mail_type type = end_type(types, array->failed > 0);

	if (type == MAIL_NTYPES || !is_one_of_many(last, types))
		return;
	begin_subject(&subject, last, &spec, true);
	buf_printf(&subject, "%s, %s", type == MAIL_FAIL ? "Failed" : "Ended",
	           array->failed ? "Mixed" : "COMPLETED");
	if (array->exit_low >= 0)
		buf_printf(&subject, ", ExitCode [%d-%d]", array->exit_low,
		           array->exit_high);
	add(state, last, &spec, type == MAIL_FAIL ? "ARRAY_FAIL" : "ARRAY_END",
	    &subject, array_body(state, array, last, &spec), now);
}

void letter_requeued(struct state *state, const struct job *job, int64_t now)
{
	struct buf subject = { 0 };
	struct spec spec;
	int64_t types = wanted(state, job->packed, &spec);

	if (!(types & MAIL_BIT(MAIL_REQUEUE)) || is_one_of_many(job, types))
		return;
	begin_subject(&subject, job, &spec, false);
	buf_puts(&subject, "Requeued, Run time ");
	put_span(&subject, job_elapsed(job, now));
	add(state, job, &spec, "REQUEUE", &subject,
	    body_of(state, job, &spec, now), now);
}

void letter_invalid(struct state *state, struct job *job, int64_t now)
{
	const uint32_t bit = (uint32_t)MAIL_BIT(MAIL_INVALID_DEPEND);
	struct spec spec;
	int64_t types = wanted(state, job->packed, &spec);

	if (!(types & bit) || (job->runs->mailed & bit) ||
	    (is_one_of_many(job, types) && !job->tasks.n))
		return;
	job_runs(job)->mailed |= bit;
	state_touch(state, job);
	add_plain(state, job, &spec, MAIL_INVALID_DEPEND, "Invalid dependency",
	          now);
}

void letter_idle(struct state *state, struct job *job, int64_t now)
{
	const uint32_t bit = (uint32_t)MAIL_BIT(MAIL_IDLE_GPU);
	struct buf subject = { 0 };
	struct spec spec;
	int64_t types = wanted(state, job->packed, &spec);

	if (!(types & bit) || (job->runs->mailed & bit) ||
	    is_one_of_many(job, types))
		return;
	job_runs(job)->mailed |= bit;
	state_touch(state, job);
	begin_subject(&subject, job, &spec, false);
	buf_puts(&subject, "GPUs idle for ");
	put_span(&subject, job->ledger->idle_ms / 1000);
	add(state, job, &spec, mail_type_name(MAIL_IDLE_GPU), &subject,
	    body_of(state, job, &spec, now), now);
}

/* --- mails about cron entries ------------------------------------------- */

static char *cron_body(const struct state *state, const struct cron_entry *e,
                       const struct spec *spec)
{
	struct buf out = { 0 };

	put_line(&out, "Name:", spec->name);
	put_line(&out, "User:", state->users.user[e->user].name);
	put_line(&out, "Schedule:", e->rule.schedule);
	put_line(&out, "Reason:", e->reason);
	put_time(&out, "Next run:", e->next_at);
	buf_printf(&out, "\n\"aictl cron show %llu\" says more. Cluster: %s\n",
	           (unsigned long long)e->id, state->conf->cluster);
	return buf_take(&out);
}

void letter_cron_skipped(struct state *state, const struct cron_entry *e,
                         int64_t now)
{
	const char *event = mail_type_name(MAIL_CRON_SKIPPED);
	struct buf subject = { 0 };
	struct spec spec;

	if (!(wanted(state, e->packed, &spec) & MAIL_BIT(MAIL_CRON_SKIPPED)))
		return;
	buf_printf(&subject,
	           "aisched Cron_id=%llu Name=", (unsigned long long)e->id);
	put_value(&subject, spec.name);
	buf_puts(&subject, " Skipped");
	/* The event is unique, because state_cron_take() handles each scheduled
	 * time only once. */
	add_to(state, e->user, &spec,
	       xasprintf("%llu.0.%s.%lld", (unsigned long long)e->id, event,
	                 (long long)e->looked),
	       &subject, cron_body(state, e, &spec), now);
}

/* --- mails about time limits -------------------------------------------- */

static int64_t mark_at(const struct job *job, size_t mark, int64_t limit_at)
{
	return limit_at - job->time_limit * (100 - marks[mark].percent) / 100;
}

/* Unpack the request into *ret. Returns the types of mails about the time limit
 * that the user asked for and that this attempt has not had yet, as bits. */
static int64_t marks_of(const struct state *state, const struct job *job,
                        struct spec *ret)
{
	int64_t types = wanted(state, job->packed, ret), all = 0;

	if (!types || is_one_of_many(job, types))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		all |= MAIL_BIT(marks[i].type);
	return types & all & ~(int64_t)job->runs->mailed;
}

void letter_arm(struct state *state, const struct job *job, int64_t limit_at)
{
	struct spec spec;
	int64_t types = marks_of(state, job, &spec);

	for (size_t i = 0; types && i < ARRAY_SIZE(marks); i++)
		if (types & MAIL_BIT(marks[i].type))
			state_alarm(state, mark_at(job, i, limit_at), job->id);
}

void letter_limit(struct state *state, struct job *job, int64_t limit_at,
                  int64_t now)
{
	struct spec spec;
	int64_t types = marks_of(state, job, &spec);
	size_t first = ARRAY_SIZE(marks);

	for (size_t i = ARRAY_SIZE(marks); types && i-- > 0;)
		if ((types & MAIL_BIT(marks[i].type)) &&
		    mark_at(job, i, limit_at) <= now) {
			job_runs(job)->mailed |=
			    (uint32_t)MAIL_BIT(marks[i].type);
			first = i;
		}
	if (first == ARRAY_SIZE(marks))
		return;
	/* Send one mail about the highest part that was reached: several may
	 * have been reached since the last call, for example while the
	 * daemon was down. */
	state_touch(state, job);
	add_plain(state, job, &spec, marks[first].type, marks[first].words,
	          now);
}

/* --- whether an address is allowed -------------------------------------- */

int letter_check(const struct state *state, const struct spec *spec,
                 const char *user, struct err *err)
{
	const struct conf_mail *mail = &state->conf->mail;
	const char *domain;

	if (spec->mail_types == SPEC_UNSET || !spec->mail_types ||
	    !*mail->command)
		return 0;
	domain = mail_domain(spec->mail_user ? spec->mail_user : user);
	for (size_t i = 0; domain && i < mail->domains.n; i++)
		if (!strcasecmp(domain, mail->domains.s[i]))
			return 0;
	if (!domain || !mail->domains.n)
		return 0;
	return err_set(err, EACCES,
	               "mail-user: no mail is sent to '%s': the administrator "
	               "has not listed its domain",
	               domain);
}
