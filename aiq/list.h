/*
 * list.h - print listings as tables, templates or JSON
 */
#ifndef AIQ_LIST_H
#define AIQ_LIST_H

#include "aiq/aiq.h"

/*
 * List to out what the command line asks for, as a table at most width wide (0:
 * any), a template or JSON. Also fails if a named job is not known; the known
 * ones are listed.
 */
int list_print(const struct aiq *aiq, struct client *client,
               const struct format *format, FILE *out, int width,
               struct err *err);

/* Returns the request of this command line; format NULL: whole objects. */
json_t *list_request(const struct aiq *aiq, const struct format *format);

/* Print rows of the daemon, lines of values between tabs, as list_print()
 * would. */
void list_text(const struct aiq *aiq, const struct format *format,
               const char *rows, size_t len, FILE *out);

/* Fails with ENOENT and the ids that the answer calls missing, if any. */
int list_missing(const struct aiq *aiq, const json_t *answer, struct err *err);

/* Print foreign text without bytes that a terminal would obey. */
void put_clean(FILE *out, const char *s, size_t len);

#endif
