/* gpu_watch.c - measure how busy the GPUs of the job are */
#include "aischedd/run/shepherd/gpu_watch.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aischedd/run/shepherd/shepherd.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	/* A sample counts for at most two sampling periods plus this time. */
	SLACK_MS = 5000,
	/* a sampler that ended is replaced after this number of sampling
	 * periods */
	AGAIN_PERIODS = 30
};

static int64_t period_ms(const struct shepherd *s)
{
	return s->order.sample_s * 1000;
}

/* --- the sampler -------------------------------------------------------- */

static void stop_sampler(struct gpu_watch *w)
{
	if (w->fd < 0)
		return;
	syscall(SYS_pidfd_send_signal, w->pidfd, SIGKILL, NULL, 0);
	close(w->fd);
	close(w->pidfd);
	w->fd = w->pidfd = -1;
	w->len = 0;
}

static void give_up(struct shepherd *s)
{
	stop_sampler(&s->gpu);
	s->gpu.begin_at = clock_ms() + AGAIN_PERIODS * period_ms(s);
	s->gpu.idle_ms = 0; /* unknown while there is no sampler */
}

_Noreturn static void become_sampler(char *const *words, int out)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(out, STDOUT_FILENO);
	dup2(STDIN_FILENO, STDERR_FILENO); /* nobody reads its error messages */
	close_range(STDERR_FILENO + 1, ~0U, 0);
	execv(words[0], words);
	_exit(EXIT_FAILURE);
}

/* Fork the sampler as a child of our parent: our own children count as
 * processes of the job. */
static int fork_sampler(struct gpu_watch *w, char *const *words)
{
	struct clone_args args = { .flags = CLONE_PARENT | CLONE_PIDFD,
		                   .pidfd = (uintptr_t)&w->pidfd };
	int out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return -1;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		become_sampler(words, out[1]);
	close(out[1]);
	if (pid > 0) {
		w->fd = out[0];
		return 0;
	}
	close(out[0]);
	w->pidfd = -1;
	return -1;
}

/* Returns the sampler's name of a GPU: its UUID or index, and what part of it
 * the job has. The caller frees it. */
static char *gpu_name(const struct shepherd *s, uint32_t i)
{
	const char *uuid = s->order.gpu_uuid[i];
	char number[16], part[16] = "";

	snprintf(number, sizeof(number), "%u", s->order.gpu_index[i]);
	if (s->gpu.milli[i] < 1000)
		snprintf(part, sizeof(part), "/%u", s->gpu.milli[i]);
	return xasprintf("%s%s", uuid ? uuid : number, part);
}

static void start_sampler(struct shepherd *s)
{
	const struct order *o = &s->order;
	const char *holder = cgroup_holder(&s->cg);
	char *words[LIMIT_GPUS + 5];
	size_t n = 0;

	words[n++] = xstrdup(o->gpu_program);
	words[n++] = xstrdup("sample");
	if (holder)
		words[n++] = xasprintf("--cgroup=%s", holder);
	words[n++] = xasprintf("%lld", (long long)o->sample_s);
	for (uint32_t i = 0; i < LIMIT_GPUS; i++)
		if (s->gpu.milli[i])
			words[n++] = gpu_name(s, i);
	words[n] = NULL;
	s->gpu.begin_at = 0;
	if (fork_sampler(&s->gpu, words) < 0)
		give_up(s);
	while (n > 0)
		free(words[--n]);
}

/* --- samples ------------------------------------------------------------ */

/* Sums over the GPUs of one line. */
struct gpu_sample {
	int64_t percent_milli, used, total;
	uint32_t known_milli;
	bool all_sized;
};

/* Add the last sample to the sums, multiplied by the ms for which it counts. */
static void count(struct gpu_watch *w, int64_t ms)
{
	w->percent_milli_ms += w->percent_milli * ms;
	w->use.busy_ms = (w->percent_milli_ms + 50000) / 100000;
	w->known_milli_ms += w->known_milli * ms;
	w->use.known_ms = (w->known_milli_ms + 500) / 1000;
}

/* Count the last sample also for the time since it was read, unless this is too
 * long. Then forget the sample. */
static void count_rest(struct shepherd *s, int64_t now)
{
	struct gpu_watch *w = &s->gpu;
	int64_t ms = now - w->since;

	if (ms <= 2 * period_ms(s) + SLACK_MS)
		count(w, ms);
	w->since = now;
	w->percent_milli = w->known_milli = 0;
}

/* Add ms to idle_ms if all GPUs of the job were less than 1 % busy. Set idle_ms
 * to 0 if a GPU was busier, or if the state of a GPU is unknown. */
static void count_idle(struct shepherd *s, int64_t ms, bool is_known)
{
	struct gpu_watch *w = &s->gpu;

	if (s->suspended)
		return;
	if (is_known && w->known_milli == w->milli_sum && !w->percent_milli)
		w->idle_ms += ms;
	else
		w->idle_ms = 0;
}

/* Add the sample just read for the time since the previous one. */
static void count_sample(struct shepherd *s, int64_t now)
{
	struct gpu_watch *w = &s->gpu;
	int64_t ms = now - w->since;
	int64_t most = 2 * period_ms(s) + SLACK_MS;

	count(w, ms < most ? ms : most);
	count_idle(s, ms, ms < most);
	w->since = now;
}

/* Parse what the sampler says of one GPU: percent busy, memory in use, total
 * memory. Returns where it ends; NULL if it is malformed. */
static const char *take_gpu(const char *line, uint32_t milli,
                            struct gpu_sample *sum)
{
	long long busy, mib, of;
	int len = 0;

	/* Nothing need limit how much memory of a GPU its sharers use. */
	if (sscanf(line, "%lld %lld %lld%n", &busy, &mib, &of, &len) != 3 ||
	    busy < -1 || busy > 100 || of > INT32_MAX || mib > INT32_MAX ||
	    (mib > of && milli == 1000))
		return NULL;
	sum->percent_milli += busy < 0 ? 0 : busy * milli;
	sum->known_milli += busy < 0 ? 0 : milli;
	sum->used += mib;
	sum->total += of;
	sum->all_sized = sum->all_sized && mib >= 0;
	return line + len;
}

/* Parse a line of the sampler. Returns false if it is malformed. */
static bool take_line(struct shepherd *s, const char *line)
{
	struct gpu_watch *w = &s->gpu;
	struct gpu_sample sum = { .all_sized = true };

	for (uint32_t i = 0; i < LIMIT_GPUS && line; i++)
		if (w->milli[i])
			line = take_gpu(line, w->milli[i], &sum);
	if (!line || *line)
		return false;
	w->percent_milli = sum.percent_milli;
	w->known_milli = sum.known_milli;
	if (sum.all_sized && sum.used > w->use.mem_mib)
		w->use.mem_mib = sum.used;
	if (sum.all_sized && sum.total > w->use.mem_total_mib)
		w->use.mem_total_mib = sum.total;
	return true;
}

void gpu_watch_hear(struct shepherd *s)
{
	struct gpu_watch *w = &s->gpu;
	ssize_t n = read(w->fd, w->line + w->len, sizeof(w->line) - w->len);
	char *eol;

	if (n <= 0) {
		give_up(s);
		return;
	}
	w->len += (size_t)n;
	while ((eol = memchr(w->line, '\n', w->len))) {
		*eol++ = '\0';
		if (!take_line(s, w->line)) {
			give_up(s);
			return;
		}
		count_sample(s, clock_ms());
		w->len -= (size_t)(eol - w->line);
		memmove(w->line, eol, w->len);
		tell_used(s);
	}
	if (w->len == sizeof(w->line))
		give_up(s);
}

/* --- beginning, resizes, end -------------------------------------------- */

/* Find what the job has of each GPU; returns whether this is as before. Drivers
 * do not tell how busy partitions are, so these do not count. */
static bool find_gpus(struct gpu_watch *w, const struct order *o)
{
	uint32_t milli[LIMIT_GPUS] = { 0 }, sum = 0;
	bool same;

	for (uint32_t i = 0; o->gpu_program && i < o->job.ntasks; i++)
		for (uint32_t g = 0; g < o->node_gpus && g < LIMIT_GPUS; g++)
			if (o->job.task[i].gpus >> g & 1 &&
			    !o->job.task[i].units)
				milli[g] += o->job.task[i].gpu_milli;
	for (uint32_t g = 0; g < LIMIT_GPUS; g++) {
		if (milli[g] > 1000)
			milli[g] = 1000;
		sum += milli[g];
	}
	same = !memcmp(w->milli, milli, sizeof(milli));
	memcpy(w->milli, milli, sizeof(milli));
	w->milli_sum = sum;
	return same;
}

static void begin(struct shepherd *s)
{
	struct gpu_watch *w = &s->gpu;

	w->since = clock_ms();
	w->begin_at = w->milli_sum ? w->since + period_ms(s) : 0;
}

void gpu_watch_begin(struct shepherd *s)
{
	find_gpus(&s->gpu, &s->order);
	begin(s);
}

void gpu_watch_place(struct shepherd *s)
{
	struct gpu_watch *w = &s->gpu;

	if (!w->since || find_gpus(w, &s->order))
		return;
	stop_sampler(w);
	count_rest(s, clock_ms());
	w->idle_ms = 0;
	begin(s);
}

int64_t gpu_watch_due(const struct shepherd *s)
{
	return s->gpu.begin_at;
}

void gpu_watch_step(struct shepherd *s, int64_t now)
{
	if (s->gpu.begin_at && now >= s->gpu.begin_at)
		start_sampler(s);
}

void gpu_watch_end(struct shepherd *s)
{
	struct gpu_watch *w = &s->gpu;

	stop_sampler(w);
	w->begin_at = 0;
	if (w->since)
		count_rest(s, clock_ms());
	s->outcome.gpu = w->use;
}
