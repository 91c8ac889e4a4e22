/* loss.c - find out whether the database lacks earlier commits */
#include "aischedd/store/loss.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libcommon/mem.h"

enum { DIGITS = 20 };

static int open_file(struct store *store, const char *state_dir,
                     struct err *err)
{
	char *path = xasprintf("%s/commits", state_dir);

	store->commits_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (store->commits_fd < 0)
		err_sys(err, "cannot open '%s'", path);
	free(path);
	return store->commits_fd < 0 ? -1 : 0;
}

/* Returns the number of the last commit as the file `commits` has it; 0: it
 * has none. */
static int64_t noted(const struct store *store)
{
	char text[DIGITS + 1] = "";

	if (pread(store->commits_fd, text, DIGITS, 0) < 0)
		return 0;
	return strtoll(text, NULL, 10);
}

void loss_note(struct store *store)
{
	char text[DIGITS + 2];

	snprintf(text, sizeof(text), "%0*lld\n", DIGITS,
	         (long long)store->commits);
	/* Ignore a failure: if the number in the file is too low, loss_check()
	 * may miss a loss, but reports none that did not happen. */
	(void)!pwrite(store->commits_fd, text, DIGITS + 1, 0);
}

/* Returns the highest id of a job that has an attempt in state_dir/run; 0:
 * there is none. */
static uint64_t last_attempt(const char *state_dir)
{
	char *path = xasprintf("%s/run", state_dir);
	DIR *dir = opendir(path);
	uint64_t last = 0, job;
	uint32_t attempt;
	char end;

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (isdigit((unsigned char)e->d_name[0]) &&
		    sscanf(e->d_name, "%" SCNu64 ".%" SCNu32 "%c", &job,
		           &attempt, &end) == 2 &&
		    job > last)
			last = job;
	if (dir)
		closedir(dir);
	free(path);
	return last;
}

static int refuse(const char *state_dir, const char *what, int64_t n,
                  int64_t last, struct err *err)
{
	return err_set(err, EINVAL,
	               "lacks commits: '%s/%s %lld, but the last it has is "
	               "%lld: put back the newest copy with its -wal file, or "
	               "start once with --accept-loss",
	               state_dir, what, (long long)n, (long long)last);
}

int loss_check(struct store *store, const char *state_dir, bool accept,
               struct err *err)
{
	uint64_t ran = last_attempt(state_dir);
	int64_t next, at;

	if (open_file(store, state_dir, err) < 0 ||
	    db_get_i64(&store->db,
	               "SELECT coalesce(max(value), 0) FROM meta"
	               " WHERE key = 'commits'",
	               &store->commits, err) < 0 ||
	    db_get_i64(&store->db,
	               "SELECT coalesce(max(value), 1) FROM meta"
	               " WHERE key = 'next_id'",
	               &next, err) < 0)
		return -1;
	at = noted(store);
	if (!accept && at > store->commits)
		return refuse(state_dir, "commits' notes commit", at,
		              store->commits, err);
	if (!accept && ran >= (uint64_t)next)
		return refuse(state_dir, "run' has job", (int64_t)ran, next - 1,
		              err);
	store->last_ran = ran;
	loss_note(store);
	return 0;
}
