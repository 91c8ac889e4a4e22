/* damage.c - whether to look for damage in the database at the start */
#include "aischedd/store/damage.h"

#include <stdio.h>
#include <string.h>

/* Files of up to 64 MiB are always checked: it takes 0.3 s. */
enum { SMALL = 64 << 20 };

static const char unknown[] = "?";

bool damage_is_possible(int64_t bytes, const char *opened, const char *boot)
{
	if (bytes <= SMALL || !opened)
		return true;
	if (!*opened)
		return false;
	return !strcmp(boot, unknown) || strcmp(opened, boot) != 0;
}

void damage_boot(char ret[BOOT_ID])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	snprintf(ret, BOOT_ID, "%s", unknown);
	if (!f)
		return;
	if (!fgets(ret, BOOT_ID, f) || !*ret || *ret == '\n')
		snprintf(ret, BOOT_ID, "%s", unknown);
	ret[strcspn(ret, "\n")] = '\0';
	fclose(f);
}
