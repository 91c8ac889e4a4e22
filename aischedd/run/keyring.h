/*
 * keyring.h - a new session keyring
 *
 * A process keeps the session keyring that it inherited, even after it changes
 * its user. Without a new one, a daemon started by root would hand root's keys
 * to every job.
 */
#ifndef AISCHEDD_RUN_KEYRING_H
#define AISCHEDD_RUN_KEYRING_H

/*
 * Join a new anonymous session keyring. Also succeeds if the kernel has no
 * keys, or if a container forbids all use of them. Fails with errno.
 */
int keyring_join(void);

#endif
