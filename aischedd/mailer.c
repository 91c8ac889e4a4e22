/* mailer.c - send the mails of the outbox */
#include "aischedd/mailer.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/store/outbox.h"
#include "libcommon/clock.h"
#include "libcommon/log.h"
#include "libcommon/mail.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/spawn.h"

enum {
	/* commands at a time */
	SENDING = 2,
	/* a command that runs longer is killed */
	LATE_MS = 30000,
	/* pause after the first failure; it doubles with each further one */
	RETRY_S = 30,
	RETRY_MAX_S = 3600, /* longest pause after a failure */
	/* mails older than this are not tried again */
	GIVE_UP_S = 86400,
	/* a user is sent at most per_user mails in this time */
	BUDGET_S = 3600,
	/* most mails in one digest */
	DIGEST_MOST = 1000,
	/* pause if the outbox cannot be read or written */
	STUCK_MS = 60000,
	/* most bytes of a command's output in an error */
	SAYS_MAX = 200
};

/* A running command that sends one mail. */
struct sending {
	struct mailer *mailer;
	/* the mail; its id is 0 if no command runs */
	struct outbox_letter letter;
	pid_t pid;
	/* says: file that holds the command's output */
	int pidfd, says;
	bool was_late;
	struct event *ended, *late;
};

/* How many mails a user was sent in the hour that began at `began`. */
struct budget {
	int64_t began, n;
};

struct mailer {
	struct daemon *d;
	struct sending sending[SENDING];
	struct event *timer;
	struct map budgets;
	struct mailer_counts counts;
	/* dropped mails that were reported in a warning */
	uint64_t lost;
	int64_t told_ms; /* when that warning was given */
};

/* --- contents of a mail ------------------------------------------------- */

static void put_date(struct buf *out, int64_t at)
{
	char text[40];
	time_t t = (time_t)at;
	struct tm tm;

	gmtime_r(&t, &tm);
	if (strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S +0000", &tm))
		buf_printf(out, "Date: %s\n", text);
}

static void put_mail(const struct daemon *d, const struct outbox_letter *l,
                     struct buf *out)
{
	const struct conf *conf = d->conf;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	if (*conf->mail.from)
		buf_printf(out, "From: %s\n", conf->mail.from);
	else
		buf_printf(out, "From: aisched@%s\n", host);
	buf_printf(out, "To: %s\n", l->to);
	mail_put_header(out, "Subject", l->subject);
	put_date(out, l->made);
	buf_printf(out, "Message-ID: <%s.%s@%s>\n", l->event, conf->cluster,
	           host);
	buf_puts(out, "Auto-Submitted: auto-generated\n"
	              "MIME-Version: 1.0\n"
	              "Content-Type: text/plain; charset=UTF-8\n"
	              "Content-Transfer-Encoding: 8bit\n\n");
	buf_puts(out, l->body);
}

struct digest {
	struct buf text;
	size_t n;
};

static void add_to_digest(int64_t made, const char *subject, void *arg)
{
	struct digest *digest = arg;

	format_time(&digest->text, made);
	buf_printf(&digest->text, "  %s\n", subject);
	digest->n++;
}

/* If more than one mail is held for this user, replace the letter by a digest
 * of all of them. Returns 0, or -1 with *err. */
static int gather(struct mailer *m, struct outbox_letter *l, struct err *err)
{
	struct digest digest = { 0 };

	if (outbox_held(m->d->store, l, DIGEST_MOST, add_to_digest, &digest,
	                err) < 0) {
		buf_free(&digest.text);
		return -1;
	}
	if (digest.n > 1) {
		free(l->event);
		free(l->subject);
		free(l->body);
		l->event = xasprintf("digest.%lld", (long long)l->id);
		l->subject = xasprintf("aisched Digest of %zu mails", digest.n);
		l->body = xasprintf(
		    "There were more than %lld mails for you within an hour. "
		    "These came later:\n\n%s",
		    (long long)m->d->conf->mail.per_user, digest.text.data);
	}
	buf_free(&digest.text);
	return 0;
}

/* --- running the mail command ------------------------------------------- */

/* Returns the descriptor of a file in memory that has this text, or -1. */
static int new_file(const char *data, size_t len)
{
	int fd = memfd_create("mail", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0) {
			close(fd);
			return -1;
		}
		data += n;
		len -= (size_t)n;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void kill_group(const struct sending *s)
{
	kill(-s->pid, SIGKILL);
}

static void on_ended(evutil_socket_t fd, short what, void *arg);

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct sending *s = arg;

	(void)fd;
	(void)what;
	s->was_late = true;
	kill_group(s);
}

/* Start a command with the mail as its standard input. Returns 0 or an
 * errno value. */
static int begin(struct sending *s, const struct buf *mail)
{
	struct daemon *d = s->mailer->d;
	const char *const argv[] = { d->conf->mail.command, "-t", "-i", NULL };
	int in = new_file(mail->data, mail->len), code;

	s->was_late = false;
	s->says = new_file(NULL, 0);
	if (in < 0 || s->says < 0)
		code = errno;
	else
		code = spawn_program(argv, in, s->says, &s->pid);
	if (!code && (s->pidfd = pidfd_open(s->pid, 0)) < 0) {
		code = errno;
		kill_group(s);
		waitpid(s->pid, NULL, 0);
	}
	if (in >= 0)
		close(in);
	if (code) {
		if (s->says >= 0)
			close(s->says);
		return code;
	}
	s->ended = event_new(d->base, s->pidfd, EV_READ, on_ended, s);
	s->late = evtimer_new(d->base, on_late, s);
	event_add(s->ended, NULL);
	daemon_arm(s->late, LATE_MS);
	return 0;
}

static void sending_fini(struct sending *s)
{
	event_free(s->ended);
	event_free(s->late);
	close(s->pidfd);
	close(s->says);
	outbox_letter_fini(&s->letter);
}

/* --- after the command has ended ---------------------------------------- */

/* Send nothing for STUCK_MS. While the outbox cannot be written, a mail that
 * was sent cannot be removed from it, and would be sent again and again. */
static void stuck(struct mailer *m, const struct err *err)
{
	log_warning("mail outbox fail: %s", err->text);
	daemon_arm(m->timer, STUCK_MS);
}

static int64_t retry_s(int64_t tries)
{
	int64_t s = RETRY_S;

	while (tries-- > 0 && s < RETRY_MAX_S)
		s *= 2;
	return s < RETRY_MAX_S ? s : RETRY_MAX_S;
}

/* Count a failure to send this mail, then have it tried again later or, after a
 * day, dropped. Returns 0, or -1 if the outbox cannot be written. */
static int failed(struct mailer *m, const struct outbox_letter *l,
                  const char *why, struct err *err)
{
	int64_t now = clock_wall_s(), wait = retry_s(l->tries);

	m->counts.failed++;
	if (now - l->made > GIVE_UP_S) {
		log_warning("mail drop event=%s to=%s: %s; it was tried for a "
		            "day",
		            l->event, l->to, why);
		m->counts.dropped++;
		return outbox_sent(m->d->store, l, err);
	}
	log_warning("mail fail event=%s to=%s: %s; it is tried again in %lld s",
	            l->event, l->to, why, (long long)wait);
	return outbox_retry(m->d->store, l, now + wait, err);
}

/* Copies the first line of the command's output to ret, for use in an error. */
static void first_line(int fd, char ret[SAYS_MAX])
{
	ssize_t n = pread(fd, ret, SAYS_MAX - 1, 0);

	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	for (char *p = ret; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

static void put_why(const struct sending *s, int status, struct buf *out)
{
	const char *command = s->mailer->d->conf->mail.command;
	char line[SAYS_MAX];

	first_line(s->says, line);
	if (s->was_late)
		buf_printf(out, "'%s' did not end within %d s", command,
		           LATE_MS / 1000);
	else if (WIFSIGNALED(status))
		buf_printf(out, "'%s' was killed by signal %d", command,
		           WTERMSIG(status));
	else
		buf_printf(out, "'%s' ended with status %d", command,
		           WEXITSTATUS(status));
	if (*line)
		buf_printf(out, " ('%s')", line);
}

static void go(struct mailer *m);

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct sending *s = arg;
	struct mailer *m = s->mailer;
	struct buf why = { 0 };
	int status, rc;
	struct err err;

	(void)fd;
	(void)what;
	waitpid(s->pid, &status, 0);
	kill_group(s); /* processes that the command left behind */
	if (!s->was_late && WIFEXITED(status) && !WEXITSTATUS(status)) {
		log_info("mail send event=%s to=%s", s->letter.event,
		         s->letter.to);
		m->counts.sent++;
		rc = outbox_sent(m->d->store, &s->letter, &err);
	} else {
		put_why(s, status, &why);
		rc = failed(m, &s->letter, why.data, &err);
		buf_free(&why);
	}
	sending_fini(s);
	if (rc < 0)
		stuck(m, &err);
	else
		go(m);
}

/* --- choosing the next mail --------------------------------------------- */

static struct budget *budget_of(struct mailer *m, uint32_t uid, int64_t now)
{
	void **at = map_at(&m->budgets, (uint64_t)uid + 1);
	struct budget *b = *at;

	if (!b)
		*at = b = xcalloc(1, sizeof(*b));
	if (now >= b->began + BUDGET_S || now < b->began)
		*b = (struct budget){ .began = now };
	return b;
}

static struct sending *idle(struct mailer *m)
{
	for (int i = 0; i < SENDING; i++)
		if (!m->sending[i].letter.id)
			return &m->sending[i];
	return NULL;
}

/* Send a letter from the outbox, or hold it if its user has had per_user mails
 * within this hour. Takes over l. Returns 0, or -1 with *err. */
static int take(struct mailer *m, struct sending *s, struct outbox_letter *l,
                struct err *err)
{
	struct budget *b = budget_of(m, l->uid, clock_wall_s());
	struct buf mail = { 0 };
	int rc = 0, code;

	if (!l->tries && b->n >= m->d->conf->mail.per_user) {
		rc = outbox_hold(m->d->store, l->uid, b->began + BUDGET_S, err);
		outbox_letter_fini(l);
		return rc;
	}
	if (l->held && gather(m, l, err) < 0) {
		outbox_letter_fini(l);
		return -1;
	}
	b->n += !l->tries;
	put_mail(m->d, l, &mail);
	s->letter = *l;
	code = begin(s, &mail);
	buf_free(&mail);
	if (!code)
		return 0;
	errno = code;
	err_sys(err, "cannot start '%s'", m->d->conf->mail.command);
	rc = failed(m, l, err->text, err);
	outbox_letter_fini(&s->letter);
	return rc;
}

static void tell_lost(struct mailer *m)
{
	uint64_t lost = outbox_lost(m->d->store);

	if (lost == m->lost ||
	    (m->told_ms && clock_ms() - m->told_ms < STUCK_MS))
		return;
	log_warning("mail drop count=%llu: no more may wait "
	            "(mail.queue = %lld, a quarter for a user)",
	            (unsigned long long)(lost - m->lost),
	            (long long)m->d->conf->mail.queue);
	m->lost = lost;
	m->told_ms = clock_ms();
}

static void arm(struct mailer *m)
{
	int64_t at = outbox_next(m->d->store), now = clock_wall_s();

	/* The timer is for a mail that is due later. A mail that is due now
	 * waits for a running command, whose end calls go(). */
	if (at > now && at < INT64_MAX)
		daemon_arm(m->timer, (double)(at - now) * 1e3);
}

static void go(struct mailer *m)
{
	struct outbox_letter letter;
	struct sending *s;
	struct err err;
	int more = 0;

	if (!*m->d->conf->mail.command)
		return;
	/* Send nothing while the disk is full: a mail that was sent could not
	 * be removed from the outbox. */
	if (m->d->full || m->d->unwritten) {
		daemon_arm(m->timer, STUCK_MS);
		return;
	}
	tell_lost(m);
	while ((s = idle(m))) {
		const char *const busy[SENDING] = { m->sending[0].letter.to,
			                            m->sending[1].letter.to };

		more = outbox_first(m->d->store, clock_wall_s(), busy, &letter,
		                    &err);
		if (more < 1 || (more = take(m, s, &letter, &err)) < 0)
			break;
	}
	if (more < 0)
		stuck(m, &err);
	else
		arm(m);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	go(arg);
}

void mailer_check(struct mailer *m)
{
	if (outbox_has_news(m->d->store))
		go(m);
}

struct mailer_counts mailer_counts(const struct mailer *m)
{
	struct mailer_counts ret = m->counts;

	ret.dropped += outbox_lost(m->d->store);
	return ret;
}

void mailer_wake(struct mailer *m)
{
	daemon_arm(m->timer, 0);
}

struct mailer *mailer_new(struct daemon *d)
{
	struct mailer *m = xcalloc(1, sizeof(*m));

	m->d = d;
	for (int i = 0; i < SENDING; i++)
		m->sending[i].mailer = m;
	m->timer = evtimer_new(d->base, on_timer, m);
	daemon_arm(m->timer, 0); /* send mails that an earlier daemon left */
	return m;
}

void mailer_free(struct mailer *m)
{
	struct budget *b;
	size_t at = 0;

	if (!m)
		return;
	for (int i = 0; i < SENDING; i++) {
		struct sending *s = &m->sending[i];

		if (!s->letter.id)
			continue;
		kill_group(s);
		/* Do not wait: on a disk whose server does not answer, the
		 * command may not die. */
		waitpid(s->pid, NULL, WNOHANG);
		sending_fini(s);
	}
	while ((b = map_each(&m->budgets, &at)))
		free(b);
	map_free(&m->budgets);
	event_free(m->timer);
	free(m);
}
