/*
 * keyring.h - a new session keyring
 *
 * A process possesses the session keyring that it inherits, also after it
 * changed its user: a daemon that root started would hand root's keys to every
 * job.
 */
#ifndef AISCHEDD_RUN_KEYRING_H
#define AISCHEDD_RUN_KEYRING_H

/*
 * Join a new session keyring without a name. Succeeds, too, where the kernel
 * has no keys, or a container forbids all use of them. Fails with errno.
 */
int keyring_join(void);

#endif
