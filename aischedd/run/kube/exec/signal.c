/* signal.c - send signals to processes in pods */
#include "aischedd/run/kube/exec/signal.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/exec/exec.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/log_pods.h"
#include "aischedd/run/kube/object/agent.h"
#include "libcommon/clean.h"
#include "libcommon/mem.h"

enum {
	AT_ONCE = 32,     /* most signals that are being sent at a time */
	AT_ONCE_JOB = 8,  /* most of these for one job */
	LIMIT_MS = 10000, /* how long the shell may take */
	/* most signals in the lists: more are refused. Half of them are enough
	 * for the largest job. */
	WAITING = 40000,
	SAID_MAX = 200 /* bytes that are kept of the shell's error message */
};

struct kube_signal {
	TAILQ_ENTRY(kube_signal) of_list;
	struct kube *kube;
	uint64_t job;
	uint32_t attempt, user;
	char *namespace, *pod, *container, index[16];
	struct run_signal what;
	uint64_t key;           /* in kube_signals.waiting_by */
	bool sent;              /* it is in kube_signals.sent */
	bool refused;           /* too many signals were waiting */
	struct kube_exec *exec; /* NULL: it waits, or its call has ended */
	struct event *late;     /* timer: the shell takes too long */
	int64_t session;        /* the session to be signalled; 0: the job */
	struct buf said;
};

/*
 * $1: the signal, $2: its scope, $3: the index of the pod. In a job whose
 * script runs once, only pod 0 has a script; other pods only have steps. In a
 * Job made with kubectl, send the signal to the first process of the container,
 * whatever the scope is.
 */
static const char signal_script[] =
    "agent=" KUBE_AGENT_DIR "/aisched-pod scope=$2\n"
    "if [ ! -r " KUBE_JOB_DIR "/init ]; then\n"
    "\texec kill -\"$1\" 1\n"
    "elif [ -x $agent ]; then\n"
    "\t[ \"$3\" = 0 ] || [ $scope = all ] || scope=steps\n"
    "else\n"
    "\tagent=false\n"
    "fi\n"
    "case $scope in\n"
    "script)\n"
    "\tread -r child _ </proc/1/task/1/children\n"
    "\t[ $agent = false ] ||\n"
    "\t\tread -r child _ </proc/$child/task/$child/children\n"
    "\tkill -\"$1\" \"$child\"\n"
    "\t;;\n"
    "steps) $agent signal \"$1\" || : ;;\n"
    "job) $agent signal \"$1\" || kill -\"$1\" -1 ;;\n"
    "*) kill -\"$1\" -1 || [ \"$3\" != 0 ] ;;\n"
    "esac\n";

/* $1: the signal, or 0 to end the session; $2: the session. */
static const char session_script[] =
    "[ \"$1\" = 0 ] || exec kill -\"$1\" -\"$2\"\n"
    "kill -TERM -\"$2\" && sleep 2 && kill -KILL -\"$2\"\n";

/* Take the signal out of its list. */
static void leave(struct kube_signal *s)
{
	struct kube_signals *all = &s->kube->signals;

	all->n--;
	if (s->sent) {
		TAILQ_REMOVE(&all->sent, s, of_list);
		all->nsent--;
		return;
	}
	TAILQ_REMOVE(&all->waiting, s, of_list);
	if (!s->refused)
		map_del(&all->waiting_by, s->key);
}

static size_t count_of(const struct kube_signals *all, uint32_t user)
{
	return (uintptr_t)map_find(&all->by_user, user);
}

static void set_count(struct kube_signals *all, uint32_t user, size_t n)
{
	if (n)
		map_set(&all->by_user, user, (void *)(uintptr_t)n);
	else
		map_del(&all->by_user, user);
}

static void signal_free(struct kube_signal *s)
{
	struct kube_signals *all = &s->kube->signals;

	leave(s);
	set_count(all, s->user, count_of(all, s->user) - 1);
	if (s->exec)
		kube_exec_close(s->exec);
	if (s->late)
		event_free(s->late);
	free(s->namespace);
	free(s->pod);
	free(s->container);
	buf_free(&s->said);
	free(s);
}

/* Report why the signal did not reach the pod. why NULL: the pod was reached,
 * which is reported only if an earlier signal of the job was not delivered. */
static void tell(struct kube_signal *s, const char *why)
{
	const struct kube_owner owner = { s->job, s->attempt };
	struct kube_attempt *a = kube_attempt_find(s->kube, &owner);
	char *text = NULL;

	if (s->session || (a && !why && !a->telling.unreached))
		return;
	if (a)
		a->telling.unreached = why != NULL;
	if (why)
		text = xasprintf("signal %d did not reach pod '%s': %.*s",
		                 s->what.signo, s->pod, (int)strcspn(why, "\n"),
		                 why);
	s->kube->fn(&(struct run_event){ .kind = RUN_UNREACHED,
	                                 .job = s->job,
	                                 .attempt = s->attempt,
	                                 .text = text },
	            s->kube->arg);
	free(text);
}

/* --- send a signal to one pod --------------------------------------------- */

static void on_output(int stream, const void *data, size_t len, void *arg)
{
	struct kube_signal *s = arg;
	size_t room = SAID_MAX - s->said.len;

	(void)stream;
	buf_add(&s->said, data, len < room ? len : room);
}

/* Returns the limit for the shell. */
static int64_t limit_ms(const struct kube *kube)
{
	return kube->signals.limit_ms ? kube->signals.limit_ms : LIMIT_MS;
}

/* Start the time limit for the shell, which has begun. It reads no input. */
static void on_drained(void *arg)
{
	struct kube_signal *s = arg;
	int64_t ms = limit_ms(s->kube);

	if (!event_pending(s->late, EV_TIMEOUT, NULL))
		event_add(s->late,
		          &(struct timeval){ .tv_sec = ms / 1000,
		                             .tv_usec = ms % 1000 * 1000 });
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct kube_signal *s = arg;
	struct kube *kube = s->kube;
	char why[64];

	(void)fd, (void)what;
	snprintf(why, sizeof(why), "sh has not ended within %g s",
	         (double)limit_ms(kube) / 1000);
	tell(s, why);
	signal_free(s);
	kube_signal_step(kube);
}

static void on_end(int status, const struct err *err, void *arg)
{
	struct kube_signal *s = arg;
	struct kube *kube = s->kube;

	s->exec = NULL;
	if (s->said.len)
		s->said.data[text_clean(s->said.data, s->said.len)] = '\0';
	if (err)
		tell(s, err->text);
	else if (status)
		tell(s, s->said.len ? s->said.data : "no process takes it");
	else
		tell(s, NULL);
	signal_free(s);
	kube_signal_step(kube);
}

static void ask(struct kube_signal *s)
{
	static const struct kube_exec_ops ops = { on_output, on_drained,
		                                  on_end };
	struct kube_signals *all = &s->kube->signals;
	char signo[16], session[24];
	const char *argv[] = { "sh",          "-c",
		               signal_script, "sh",
		               signo,         signal_scope_name(s->what.scope),
		               s->index,      NULL };
	const struct kube_exec_wish wish = { .namespace = s->namespace,
		                             .pod = s->pod,
		                             .container = s->container,
		                             .argv = argv };

	snprintf(signo, sizeof(signo), "%d", s->what.signo);
	if (s->session) {
		snprintf(session, sizeof(session), "%" PRId64, s->session);
		argv[2] = session_script;
		argv[5] = session;
	}
	leave(s);
	s->sent = true;
	TAILQ_INSERT_TAIL(&all->sent, s, of_list);
	all->n++;
	all->nsent++;
	s->late = evtimer_new(s->kube->base, on_late, s);
	s->exec = kube_exec_open(s->kube, &wish, &ops, s);
}

/* Returns how many of the places a user may have if others have this many. */
static size_t share(size_t places, size_t others)
{
	size_t half = places > others ? (places - others) / 2 : 0;

	return half ? half : 1;
}

/* Whether the job or its user has as many signals on their way as they may
 * have. */
static bool is_full(const struct kube_signals *all,
                    const struct kube_signal *next)
{
	const struct kube_signal *s;
	size_t job = 0, user = 0;

	TAILQ_FOREACH(s, &all->sent, of_list) {
		job += s->job == next->job;
		user += s->user == next->user;
	}
	return job >= AT_ONCE_JOB || user >= share(AT_ONCE, all->nsent - user);
}

void kube_signal_step(struct kube *kube)
{
	struct kube_signals *all = &kube->signals;
	struct kube_signal *s, *next;

	while ((s = TAILQ_FIRST(&all->waiting)) && s->refused) {
		tell(s, "too many signals are on their way");
		signal_free(s);
	}
	for (; s && all->nsent < AT_ONCE; s = next) {
		next = TAILQ_NEXT(s, of_list);
		if (!is_full(all, s))
			ask(s);
	}
}

/* --- add signals to the list ---------------------------------------------- */

/* Returns the key in kube_signals.waiting_by. */
static uint64_t key_of(const struct kube_signal_to *to,
                       const struct run_signal *what, int64_t session)
{
	const int64_t how[] = { what->signo, what->scope, session };
	uint64_t key = hash_bytes(0, to->namespace, strlen(to->namespace) + 1);

	key = hash_bytes(key, to->pod, strlen(to->pod));
	return hash_bytes(key, how, sizeof(how));
}

/* Whether too many signals are in the lists for one more of this user. */
static bool is_too_much(const struct kube_signals *all, uint32_t user)
{
	size_t mine = count_of(all, user);

	return all->n >= WAITING || mine >= share(WAITING, all->n - mine);
}

/* Returns false if too many signals wait. */
static bool add(struct kube *kube, const struct kube_signal_to *to,
                uint32_t index, const struct run_signal *what, int64_t session)
{
	struct kube_signals *all = &kube->signals;
	uint64_t key = key_of(to, what, session);
	struct kube_signal *s;

	if (map_find(&all->waiting_by, key))
		return true;
	s = xcalloc(1, sizeof(*s));
	s->kube = kube;
	s->key = key;
	s->job = to->job;
	s->attempt = to->attempt;
	s->user = to->user;
	s->namespace = xstrdup(to->namespace);
	s->pod = xstrdup(to->pod);
	s->container = xstrdup(to->container);
	s->what = *what;
	s->session = session;
	snprintf(s->index, sizeof(s->index), "%" PRIu32, index);
	s->refused = is_too_much(all, to->user);
	if (s->refused) {
		TAILQ_INSERT_HEAD(&all->waiting, s, of_list);
	} else {
		TAILQ_INSERT_TAIL(&all->waiting, s, of_list);
		map_set(&all->waiting_by, key, s);
	}
	all->n++;
	set_count(all, to->user, count_of(all, to->user) + 1);
	event_active(kube->soon, EV_TIMEOUT, 0);
	return !s->refused;
}

bool kube_signal_session(struct kube *kube, const struct kube_signal_to *to,
                         int64_t pid, int signo)
{
	return !is_too_much(&kube->signals, to->user) &&
	       add(kube, to, 0, &(struct run_signal){ .signo = signo }, pid);
}

static bool send_to(struct kube *kube, const struct kube_log_pod *pod,
                    const struct run_signal *what)
{
	const struct kube_signal_to to = {
		.job = pod->id.job,
		.attempt = pod->id.attempt,
		.user = what->user,
		.namespace = pod->pod->namespace,
		.pod = pod->pod->name,
		.container = pod->pod->container,
	};

	return add(kube, &to, pod->id.task, what, 0);
}

void kube_signal_send(struct runner *r, uint64_t job, uint32_t attempt,
                      const struct run_signal *what)
{
	const struct kube_owner owner = { job, attempt };
	struct kube *kube = kube_of(r);
	struct kube_log_pod *list;
	size_t n = kube_log_pods(kube, &owner, &list);

	for (size_t i = 0; i < n; i++)
		if (!list[i].gone && !kube_pod_is_over(list[i].pod) &&
		    !send_to(kube, &list[i], what))
			break;
	free(list);
}

void kube_signal_init(struct kube *kube)
{
	TAILQ_INIT(&kube->signals.waiting);
	TAILQ_INIT(&kube->signals.sent);
}

void kube_signal_free_all(struct kube *kube)
{
	struct kube_signals *all = &kube->signals;

	while (!TAILQ_EMPTY(&all->waiting))
		signal_free(TAILQ_FIRST(&all->waiting));
	while (!TAILQ_EMPTY(&all->sent))
		signal_free(TAILQ_FIRST(&all->sent));
	map_free(&all->waiting_by);
	map_free(&all->by_user);
}
