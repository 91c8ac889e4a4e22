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
 * Returns the whole file as a string. Opening it never blocks, as only regular
 * files are read. Fails with an errno of open, with EFBIG if it is larger than
 * 4 MiB, or with EINVAL if it has a zero byte or is not a regular file.
 */
char *kube_file_read(const char *path, struct arena *arena, size_t *ret_len,
                     struct err *err);

/* Decode base64 text; blanks in it are ignored. Fails with EINVAL. */
char *kube_base64(const char *s, struct arena *arena, struct err *err);

/* Encode base64; owns: the caller. */
char *kube_base64_of(const void *data, size_t len);

/* Check that a PEM text has a certificate or a private key. Fails with EINVAL
 * if it has none, or if a passphrase is needed. */
int kube_pem_check(const char *text, enum kube_pem kind, struct err *err);

/* Returns the token in a text, without blanks around it. Fails with EINVAL if
 * it is empty, or no valid token. */
char *kube_token(const char *text, struct arena *arena, struct err *err);

#endif
