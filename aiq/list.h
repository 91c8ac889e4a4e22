/*
 * list.h - print listings as tables, templates or JSON
 */
#ifndef AIQ_LIST_H
#define AIQ_LIST_H

#include "aiq/aiq.h"

/*
 * Print the listing of the command line to out, as a table of at most `width`
 * columns (0: any), with a template or as JSON. Also fails if a job that the
 * command line names does not exist; the others are listed.
 */
int list_print(const struct aiq *aiq, struct client *client,
               const struct format *format, FILE *out, int width,
               struct err *err);

/* Returns the request for this command line. format has the fields to request;
 * NULL: all of them, as objects. */
json_t *list_request(const struct aiq *aiq, const struct format *format);

/* Print rows that the daemon sent, lines of values separated by tabs, as
 * list_print() does. */
void list_text(const struct aiq *aiq, const struct format *format,
               const char *rows, size_t len, FILE *out);

/* Fails with ENOENT if an answer has a list of missing ids; the error text
 * names these. */
int list_missing(const struct aiq *aiq, const json_t *answer, struct err *err);

/* Print text that other users may have written, with '?' in place of control
 * characters. */
void put_clean(FILE *out, const char *s, size_t len);

#endif
