/* fault.c - whose fault it is if a file of the user's cannot be used */
#include "aischedd/run/shepherd/fault.h"

#include <errno.h>

#include "libcommon/mem.h"

/* Errors of the machine or of a file server. All others are the user's fault,
 * including a full disk, a quota and too many open files. */
static const int system_codes[] = { EIO,    ENFILE,    ENOMEM,
	                            ESTALE, EHOSTDOWN, ETIMEDOUT };

enum start_fault fault_of(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_codes); i++)
		if (system_codes[i] == code)
			return FAULT_SYSTEM;
	return FAULT_USER;
}
