/*
 * file.h - read small files with credentials
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_FILE_H
#define AISCHEDD_RUN_KUBE_CLIENT_FILE_H

#include <stddef.h>

#include "libcommon/err.h"

struct arena;

enum kube_pem { PEM_CERTIFICATE, PEM_KEY };

/*
 * Returns the whole file as a string. Never waits, so only regular files are
 * read. Fails with errno of open, EFBIG over 4 MiB, or EINVAL if it has a zero
 * byte or is no file.
 */
char *kube_file_read(const char *path, struct arena *arena, size_t *ret_len,
                     struct err *err);

/* Decode base64 text; blanks in it are ignored. Fails with EINVAL. */
char *kube_base64(const char *s, struct arena *arena, struct err *err);

/* Encode base64; owns: the caller. */
char *kube_base64_of(const void *data, size_t len);

/* Check that a PEM text has such a part. Fails with EINVAL if it has none, or
 * if a passphrase is needed. */
int kube_pem_check(const char *text, enum kube_pem kind, struct err *err);

/* Returns a token as one line. Fails with EINVAL if it is empty or invalid. */
char *kube_token(const char *text, struct arena *arena, struct err *err);

#endif
