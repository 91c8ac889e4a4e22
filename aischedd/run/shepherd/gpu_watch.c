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

static void start_sampler(struct shepherd *s)
{
	static char verb[] = "sample";
	const struct order *o = &s->order;
	char period[24], number[LIMIT_GPUS][8];
	char *words[LIMIT_GPUS + 4] = { (char *)(uintptr_t)o->gpu_program, verb,
		                        period };
	size_t n = 3;

	snprintf(period, sizeof(period), "%lld", (long long)o->sample_s);
	for (uint32_t i = 0; i < o->node_gpus; i++) {
		if (!(s->gpu.gpus >> i & 1))
			continue;
		snprintf(number[i], sizeof(number[i]), "%u", o->gpu_index[i]);
		words[n++] = o->gpu_uuid[i] ? (char *)(uintptr_t)o->gpu_uuid[i]
		                            : number[i];
	}
	s->gpu.begin_at = 0;
	if (fork_sampler(&s->gpu, words) < 0)
		give_up(s);
}

/* --- samples ------------------------------------------------------------ */

/* Add the last sample to the sums, multiplied by the ms for which it counts. */
static void count(struct gpu_watch *w, int64_t ms)
{
	w->percent_ms += w->percent * ms;
	w->use.busy_ms = (w->percent_ms + 50) / 100;
	w->use.known_ms += w->known * ms;
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
	w->percent = w->known = 0;
}

/* Add ms to idle_ms if all GPUs of the job were less than 1 % busy. Set idle_ms
 * to 0 if a GPU was busier, or if the state of a GPU is unknown. */
static void count_idle(struct shepherd *s, int64_t ms, bool is_known)
{
	struct gpu_watch *w = &s->gpu;
	uint32_t n = (uint32_t)__builtin_popcountll(w->gpus);

	if (s->suspended)
		return;
	if (is_known && w->known == n && w->percent == 0)
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

/* Parse a line of the sampler, which has three numbers for each GPU: percent
 * busy, memory in use, total memory. Returns false if it is malformed. */
static bool take_line(struct shepherd *s, const char *line)
{
	struct gpu_watch *w = &s->gpu;
	int64_t used = 0, total = 0, percent = 0;
	uint32_t n = 0, known = 0, sized = 0;

	for (; *line; n++) {
		long long busy, mib, of;
		int len = 0;

		if (sscanf(line, "%lld %lld %lld%n", &busy, &mib, &of, &len) !=
		        3 ||
		    busy < -1 || busy > 100 || mib > of || of > INT32_MAX)
			return false;
		line += len;
		percent += busy < 0 ? 0 : busy;
		known += busy >= 0;
		used += mib;
		total += of;
		sized += mib >= 0;
	}
	if (n != (uint32_t)__builtin_popcountll(w->gpus))
		return false;
	w->percent = percent;
	w->known = known;
	if (sized == n && used > w->use.mem_mib)
		w->use.mem_mib = used;
	if (sized == n && total > w->use.mem_total_mib)
		w->use.mem_total_mib = total;
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

/* Returns the GPUs of the job as a bit mask; 0 if the job has only shares of
 * GPUs, which cannot be measured. */
static uint64_t whole_gpus(const struct order *o)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < o->job.ntasks; i++) {
		if (o->job.task[i].gpus && o->job.task[i].gpu_milli < 1000)
			return 0;
		all |= o->job.task[i].gpus;
	}
	if (o->node_gpus < 64)
		all &= (UINT64_C(1) << o->node_gpus) - 1;
	return o->gpu_program ? all : 0;
}

void gpu_watch_begin(struct shepherd *s)
{
	struct gpu_watch *w = &s->gpu;

	w->gpus = whole_gpus(&s->order);
	w->since = clock_ms();
	w->begin_at = w->gpus ? w->since + period_ms(s) : 0;
}

void gpu_watch_place(struct shepherd *s)
{
	struct gpu_watch *w = &s->gpu;

	if (!w->since || whole_gpus(&s->order) == w->gpus)
		return;
	stop_sampler(w);
	count_rest(s, clock_ms());
	w->idle_ms = 0;
	gpu_watch_begin(s);
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
