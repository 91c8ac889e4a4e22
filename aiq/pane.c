/* pane.c - the output of another aiq process, such as a job or a log */
#include "aiq/pane.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/clean.h"
#include "libcommon/mem.h"

/* Maximum size of the text; older bytes are dropped. */
#define KEPT ((size_t)256 * 1024)

static void end_program(struct pane *pane, bool kill_it)
{
	if (pane->fd < 0)
		return;
	close(pane->fd);
	pane->fd = -1;
	if (kill_it)
		kill(pane->pid, SIGTERM);
	while (waitpid(pane->pid, &pane->status, 0) < 0 && errno == EINTR)
		;
}

static void run(const char *const *word, int out)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
	execv("/proc/self/exe", (char *const *)(uintptr_t)word);
	_exit(EXIT_FAILURE);
}

int pane_start(struct pane *pane, const char *const *word, bool grows,
               struct err *err)
{
	int fd[2];

	end_program(pane, true);
	buf_clear(&pane->next);
	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, errno, "pipe: %s", strerror(errno));
	/* Only our end of the pipe is non-blocking. */
	fcntl(fd[1], F_SETFL, 0);
	pane->pid = fork();
	if (pane->pid == 0)
		run(word, fd[1]);
	close(fd[1]);
	if (pane->pid < 0) {
		close(fd[0]);
		return err_set(err, errno, "fork: %s", strerror(errno));
	}
	pane->fd = fd[0];
	pane->grows = grows;
	return 0;
}

/* Append text, with control characters replaced in each line; if it becomes
 * larger than KEPT, drop its beginning. */
static void add_clean(struct buf *to, char *text, size_t len)
{
	while (len) {
		char *eol = memchr(text, '\n', len);
		size_t n = eol ? (size_t)(eol - text) : len;

		for (size_t i = 0; i < n; i++)
			if (text[i] == '\t')
				text[i] = ' ';
		if (n && text[n - 1] == '\r')
			text[n - 1] = ' ';
		buf_add(to, text, text_clean(text, n));
		if (eol)
			buf_addc(to, '\n');
		n += eol != NULL;
		text += n;
		len -= n;
	}
	if (to->len > 2 * KEPT) {
		char *from = memchr(to->data + to->len - KEPT, '\n', KEPT);
		size_t left =
		    from ? to->len - (size_t)(from + 1 - to->data) : KEPT;

		memmove(to->data, to->data + to->len - left, left + 1);
		to->len = left;
	}
}

/* Returns how many bytes of an incomplete UTF-8 sequence are at the end of
 * the text. */
static size_t begun(const struct buf *text)
{
	for (size_t n = 1; n <= 3 && n <= text->len; n++) {
		unsigned char c = (unsigned char)text->data[text->len - n];

		if (c >= 0xc0)
			return n < (c >= 0xf0   ? 4U
			            : c >= 0xe0 ? 3U
			                        : 2U)
			           ? n
			           : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

/* Move what was read, except the last `but` bytes, into the text. */
static void settle(struct pane *pane, size_t but)
{
	size_t n = pane->next.len - but;

	if (!n)
		return;
	add_clean(&pane->text, pane->next.data, n);
	memmove(pane->next.data, pane->next.data + n, but);
	pane->next.len = but;
}

bool pane_read(struct pane *pane)
{
	char part[8192];
	ssize_t n = read(pane->fd, part, sizeof(part));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0)
		buf_add(&pane->next, part, (size_t)n);
	if (n > 0 && pane->grows)
		settle(pane, begun(&pane->next));
	if (n > 0)
		return pane->grows;
	end_program(pane, false);
	if (!pane->grows)
		buf_clear(&pane->text);
	settle(pane, 0);
	return true;
}

void pane_stop(struct pane *pane)
{
	end_program(pane, true);
	buf_free(&pane->text);
	buf_free(&pane->next);
}
