/* build.c - make the parts of the daemon, in order, and free them */
#include "aischedd/build.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/log_size.h"
#include "aischedd/logs.h"
#include "aischedd/mailer.h"
#include "aischedd/op/adopt.h"
#include "aischedd/op/alloc.h"
#include "aischedd/op/cron_file.h"
#include "aischedd/op/cron_run.h"
#include "aischedd/op/mass.h"
#include "aischedd/op/request.h"
#include "aischedd/op/reserve.h"
#include "aischedd/op/tryout.h"
#include "aischedd/op/wait.h"
#include "aischedd/op/web.h"
#include "aischedd/pools.h"
#include "aischedd/purge.h"
#include "aischedd/read/read.h"
#include "aischedd/relays.h"
#include "aischedd/run/log_file.h"
#include "aischedd/runners.h"
#include "aischedd/scaler.h"
#include "aischedd/state/cluster/rollup.h"
#include "aischedd/store/ended.h"
#include "aischedd/store/rollup_purge.h"
#include "aischedd/thread.h"
#include "aischedd/web.h"
#include "libcommon/clock.h"
#include "libcommon/cron/period.h"
#include "libcommon/log.h"
#include "libcommon/mem.h"

enum {
	/* most events handled in one turn */
	MAX_CALLBACKS = 2000,
	/* soft limit of open descriptors that the daemon tries to get */
	FILES_WANTED = 4096,
	/* rows of old hours that are removed at a time */
	HOURS_SLICE = 2000
};

static void wake(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg; /* an event wakes the loop; there is nothing to do here */
}

static void on_term(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;

	(void)fd;
	(void)what;
	d->quit = true;
}

static void on_hup(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;

	(void)fd;
	(void)what;
	d->reload = true;
}

/* Remove some old rows with sums of use by hour. Returns whether others
 * are left. */
static bool forget_hours(struct daemon *d)
{
	int64_t keep = d->conf->accounting.hours_keep;
	struct err err;
	bool more;

	if (keep == CONF_UNLIMITED)
		return false;
	if (store_purge_hours(d->store, state_zone(d->state),
	                      clock_wall_s() - keep, HOURS_SLICE, &more,
	                      &err) == 0)
		return more;
	log_warning("accounting remove fail: %s; old hours are kept until the "
	            "next try",
	            err.text);
	return false;
}

static void forget_history(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	int64_t before = clock_wall_s() - d->conf->history_keep;
	struct err err;
	size_t n = 0;

	(void)fd;
	(void)what;
	if (d->conf->history_keep != CONF_UNLIMITED &&
	    purge_slice(d, before, -1, &n, &err) < 0)
		log_warning("history remove fail: %s; it is kept until the "
		            "next try",
		            err.text);
	daemon_cron_recheck(d);
	daemon_arm(d->hourly,
	           forget_hours(d) || n == PURGE_SLICE ? 10 : 3600e3);
}

static void log_booking(struct daemon *d)
{
	int64_t hours = state_lag_hours(d->state);

	if (hours && !d->booking_long)
		log_notice(
		    "accounting behind hours=%lld: jobs held nodes while "
		    "the clock went far ahead; a part of their use is "
		    "booked in each turn",
		    (long long)hours);
	else if (!hours && d->booking_long)
		log_notice("accounting complete");
	d->booking_long = hours > 0;
}

/* Timer at each full hour: book what running jobs have held since they were
 * last booked. Each turn books some of the jobs. */
static void book_hour(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	int64_t now_ms = clock_wall_us() / 1000, hour[2];
	bool more = state_book_some(d->state, now_ms);

	(void)fd;
	(void)what;
	log_booking(d);
	period_of(state_zone(d->state), PERIOD_HOUR, now_ms / 1000, hour);
	daemon_arm(d->booking, more ? 0 : (double)(hour[1] * 1000 - now_ms));
}

static int make_dirs(const char *path, struct err *err)
{
	/* Jobs of other users must be able to reach their scripts below
	 * this folder. */
	mode_t last = geteuid() == 0 ? 0711 : 0700;
	char *copy = xstrdup(path);
	int result = 0;

	for (char *p = copy + 1; result == 0; p++) {
		char was = *p;

		if (was && was != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, was ? 0755 : last) < 0 && errno != EEXIST)
			result = err_sys(err, "cannot make '%s'", copy);
		*p = was;
		if (!was)
			break;
	}
	free(copy);
	return result;
}

/* Lock the state folder, so that only one daemon uses it. Children do not
 * inherit this lock, a record lock: a child that was just forked when the
 * daemon is killed does not keep the folder locked. */
static int lock_dir(struct daemon *d, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = xasprintf("%s/lock", d->state_dir);
	int result = 0;

	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock_fd < 0)
		result = err_sys(err, "cannot open '%s'", path);
	else if (fcntl(d->lock_fd, F_SETLK, &lock) < 0)
		result = err_set(err, EBUSY,
		                 "another aischedd uses '%s': stop it, or set "
		                 "another state_dir",
		                 d->state_dir);
	free(path);
	return result;
}

static struct event_base *new_base(struct err *err)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	evthread_use_pthreads();
	event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER);
	event_config_set_max_dispatch_interval(cfg, NULL, MAX_CALLBACKS, 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (!base)
		err_set(err, ENOMEM, "cannot make an event loop");
	return base;
}

/* Arm a timer that only fires when the wall clock is set, or when the
 * machine wakes up. The loop's own timers use another clock, so they notice
 * neither event. */
static void arm_clock(struct daemon *d)
{
	const struct itimerspec never = { .it_value.tv_sec = INT32_MAX };

	timerfd_settime(d->clock_fd,
	                TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never,
	                NULL);
}

/* The wall clock was set: book accounting now. The turn that follows handles
 * all that is due by the new time. */
static void on_clock(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	uint64_t times;

	(void)what;
	(void)!read(fd, &times, sizeof(times));
	daemon_arm(d->booking, 0);
	arm_clock(d);
}

static void watch_clock(struct daemon *d)
{
	d->clock_fd =
	    timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (d->clock_fd < 0)
		return; /* the hourly timer notices if the clock was set */
	d->clock =
	    event_new(d->base, d->clock_fd, EV_READ | EV_PERSIST, on_clock, d);
	event_add(d->clock, NULL);
	arm_clock(d);
}

static void new_timers(struct daemon *d)
{
	d->tick = evtimer_new(d->base, wake, d);
	d->pace = evtimer_new(d->base, wake, d);
	d->again = evtimer_new(d->base, wake, d);
	d->retry = evtimer_new(d->base, wake, d);
	d->hourly = evtimer_new(d->base, forget_history, d);
	d->booking = evtimer_new(d->base, book_hour, d);
	d->look = evtimer_new(d->base, wake, d);
	d->term = evsignal_new(d->base, SIGTERM, on_term, d);
	d->intr = evsignal_new(d->base, SIGINT, on_term, d);
	d->hup = evsignal_new(d->base, SIGHUP, on_hup, d);
	event_add(d->term, NULL);
	event_add(d->intr, NULL);
	event_add(d->hup, NULL);
	daemon_arm(d->hourly, 10e3);
	watch_clock(d);
	daemon_arm(d->booking, 0);
}

static int build(struct daemon *d, bool accept_loss, struct err *err)
{
	const char *zone = d->conf->accounting.time_zone;
	double began = clock_fine_ms();
	const struct rpc_calls calls = { .handler = daemon_request,
		                         .gone = daemon_ask_gone,
		                         .is_admin = daemon_is_admin,
		                         .session = daemon_session,
		                         .arg = d };

	if (make_dirs(d->state_dir, err) < 0 || lock_dir(d, err) < 0 ||
	    !(d->base = new_base(err)) ||
	    !(d->store = store_open(d->state_dir, accept_loss, err)))
		return -1;
	daemon_recall_pools(d, d->first_conf);
	d->state = state_new(d->conf, store_past, d->store);
	d->zone = zone_load(*zone ? zone : NULL, err);
	if (!d->zone)
		return err_wrap(err, "accounting.time_zone");
	state_set_zone(d->state, d->zone);
	if (daemon_new_crons(d, err) < 0 ||
	    store_load(d->store, d->state, clock_wall_s(), err) < 0 ||
	    daemon_check_pools(d, err) < 0 || daemon_resume_clock(d, err) < 0 ||
	    !(d->history = thread_new(d->base, err)) ||
	    !(d->planner = thread_new(d->base, err)))
		return -1;
	log_notice("database loaded path=%s ms=%.0f", store_path(d->store),
	           clock_fine_ms() - began);
	new_timers(d);
	d->mailer = mailer_new(d);
	d->scaler = scaler_new(d);
	daemon_new_allocs(d);
	if (daemon_new_runners(d, err) < 0 ||
	    !(d->rpc = rpc_new(d->base, d->conf, &calls, err)))
		return -1;
	d->sessions = sessions_new();
	return web_new(&d->web, d, err);
}

/* Raise the limit of open files to FILES_WANTED, or as far as the system
 * allows: connections need many descriptors, and the database and the runners
 * some. *ret_had becomes the old limit, which jobs get. */
static void raise_files(struct rlimit *ret_had)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	*ret_had = limit;
	if (limit.rlim_cur >= FILES_WANTED)
		return;
	limit.rlim_cur =
	    limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_warning("only %llu files may be open: raise the limit of "
		            "open files",
		            (unsigned long long)limit.rlim_cur);
}

struct daemon *daemon_new(struct conf **conf, const char *conf_path,
                          bool accept_loss, struct err *err)
{
	struct daemon *d = xcalloc(1, sizeof(*d));

	slices_init(&d->listings);
	slices_init(&d->masses);
	d->conf = d->first_conf = *conf;
	d->conf_path = conf_path;
	d->state_dir = xstrdup(d->conf->state_dir);
	d->logs = xasprintf("%s/logs", d->state_dir);
	d->lock_fd = d->clock_fd = -1;
	d->started = d->reloaded = clock_wall_s();
	d->check_plans = getenv("AISCHED_CHECK_PLANS") != NULL;
	*conf = NULL;
	raise_files(&d->files);
	if (build(d, accept_loss, err) == 0)
		return d;
	*conf = d->conf;
	d->first_conf = d->conf = NULL;
	daemon_free(d);
	return NULL;
}

static void free_event(struct event *event)
{
	if (event)
		event_free(event);
}

void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nanswers; i++)
		if (d->answer[i].ask)
			json_decref(d->answer[i].body);
	d->nanswers =
	    /* daemon_ask_gone() must not free these bodies again */
	    0;
	daemon_free_crons(d);
	daemon_free_reservings(d);
	daemon_free_file_asks(d);
	mailer_free(d->mailer);
	scaler_free(d->scaler);
	web_free(d->web);
	thread_free(d->excerpts);
	daemon_free_log_size(d);
	thread_free(d->history);
	thread_free(d->planner);
	thread_free(d->trier);
	daemon_free_pass(d);
	rpc_free(d->rpc);
	sessions_free(d->sessions);
	daemon_free_readings(d);
	daemon_free_dumps(d);
	daemon_free_tryouts(d);
	daemon_free_masses(d);
	daemon_free_waiters(d);
	daemon_free_allocs(d);
	daemon_free_adoptees(d);
	daemon_free_logs(d);
	daemon_free_relays(d);
	for (size_t i = 0; i < d->npools; i++)
		if (d->pool[i].runner)
			d->pool[i].runner->ops->free(d->pool[i].runner);
	free(d->pool);
	state_free(d->state);
	zone_free(d->zone);
	store_close(d->store);
	struct event *events[] = { d->tick,   d->pace,    d->again, d->retry,
		                   d->hourly, d->booking, d->clock, d->term,
		                   d->intr,   d->hup,     d->look };
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		free_event(events[i]);
	if (d->base)
		event_base_free(d->base);
	if (d->conf != d->first_conf)
		conf_free(d->conf);
	conf_free(d->first_conf);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	if (d->clock_fd >= 0)
		close(d->clock_fd);
	slices_fini(&d->listings);
	slices_fini(&d->masses);
	map_free(&d->open);
	map_free(&d->refused);
	free(d->answer);
	free(d->later);
	free(d->state_dir);
	free(d->logs);
	free(d);
}
