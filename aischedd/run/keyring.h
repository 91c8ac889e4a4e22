/*
 * keyring.h - a session keyring of one's own
 *
 * A process possesses the session keyring that it inherits, whoever it has
 * become: a daemon that root started would hand root's keys to every job.
 */
#ifndef AISCHEDD_RUN_KEYRING_H
#define AISCHEDD_RUN_KEYRING_H

/*
 * Begin a new one without a name.  Succeeds where the kernel has no keys, or
 * a container forbids their use to all.  Fails: errno says why.
 */
int keyring_join(void);

#endif
