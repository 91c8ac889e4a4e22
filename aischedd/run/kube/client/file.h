/*
 * file.h - small files with credentials
 */
#ifndef AISCHEDD_RUN_KUBE_CLIENT_FILE_H
#define AISCHEDD_RUN_KUBE_CLIENT_FILE_H

#include <stddef.h>

#include "libcommon/err.h"

struct arena;

enum kube_pem { PEM_CERTIFICATE, PEM_KEY };

/*
 * The whole file as a string; without waiting, so that only regular files are
 * read.  Fails: errno of open, EFBIG over 4 MiB, EINVAL a zero byte, no file.
 */
char *kube_file_read(const char *path, struct arena *arena, size_t *ret_len,
                     struct err *err);

/* Base64 to text; blanks in it do not matter.  Fails: EINVAL. */
char *kube_base64(const char *s, struct arena *arena, struct err *err);

/* And back; the caller's. */
char *kube_base64_of(const void *data, size_t len);

/* Fails: EINVAL there is no such part, or a passphrase would be needed. */
int kube_pem_check(const char *text, enum kube_pem kind, struct err *err);

/* A token as one line.  Fails: EINVAL it is empty or cannot be one. */
char *kube_token(const char *text, struct arena *arena, struct err *err);

#endif
