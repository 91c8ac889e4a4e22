/* words.c - Slurm's words for what went wrong */
#include "slurm/words.h"

#include <stddef.h>

#include "libcommon/mem.h"

static const struct {
	int code;
	const char *words;
} unreachable[] = {
	{ ECONNREFUSED, "Unable to contact slurm controller (connect failure)" },
	{ ECONNRESET, "Zero Bytes were transmitted or received" },
	{ ETIMEDOUT, "Socket timed out on send/recv operation" },
}, of_job[] = {
	{ ENOENT, WORDS_NO_JOB },
	{ EACCES, "Access/permission denied" },
	{ EPERM, "Access/permission denied" },
};

bool words_is_unreachable(const struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(unreachable); i++)
		if (unreachable[i].code == err->code)
			return true;
	return false;
}

const char *words_of_job(const struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(unreachable); i++)
		if (unreachable[i].code == err->code)
			return unreachable[i].words;
	for (size_t i = 0; i < ARRAY_SIZE(of_job); i++)
		if (of_job[i].code == err->code)
			return of_job[i].words;
	return err->text;
}
