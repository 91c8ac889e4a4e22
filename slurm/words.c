/* words.c - Slurm's messages for the daemon's errors */
#include "slurm/words.h"

#include <stddef.h>
#include <string.h>

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

/* Parts of the daemon's error texts, with Slurm's message for each; the first
 * one found is used. */
static const struct {
	const char *part, *words;
	bool is_clear; /* Slurm's message explains the error */
} of_submit[] = {
	{ "there is no queue", "Invalid partition name specified", true },
	{ "no default: name one",
	  "No partition specified or system default "
	  "partition",
	  true },
	{ "there is no class", "Invalid qos specification", true },
	{ "there is no licence", "Invalid license specification", true },
	{ "there is no reservation", "Requested reservation is invalid", true },
	{ "may not use reservation", "Access denied to requested reservation",
	  true },
	{ "there is no node", "Invalid node name specified", true },
	{ "to depend on", "Job dependency problem", true },
	{ "dependency", "Job dependency problem", false },
	{ "may not use queue",
	  "User's group not permitted to use this "
	  "partition",
	  false },
	{ " is closed", "Required partition not available (inactive or drain)",
	  false },
	{ "the deadline has passed",
	  "Requested time limit is invalid (missing or exceeds some limit)",
	  true },
	{ "max_",
	  "Job violates accounting/QOS policy (job submit limit, "
	  "user's size and/or time limits)",
	  false },
	{ "time limit",
	  "Requested time limit is invalid (missing or exceeds "
	  "some limit)",
	  false },
	{ "feature", "Invalid feature specification", false },
	{ " tasks; at most ", "More processors requested than permitted",
	  true },
};

const char *words_of_submit(const struct err *err, const char **ret_first)
{
	*ret_first = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(unreachable); i++)
		if (unreachable[i].code == err->code)
			return unreachable[i].words;
	for (size_t i = 0; i < ARRAY_SIZE(of_submit); i++) {
		if (!strstr(err->text, of_submit[i].part))
			continue;
		*ret_first = of_submit[i].is_clear ? NULL : err->text;
		return of_submit[i].words;
	}
	*ret_first = err->text;
	return err->code == EPERM || err->code == EACCES
	           ? "Access/permission denied"
	           : "Requested node configuration is not available";
}
