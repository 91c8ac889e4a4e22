/*
 * json_out.h - print JSON that a terminal shows as it is
 */
#ifndef LIBCOMMON_CLIENT_JSON_OUT_H
#define LIBCOMMON_CLIENT_JSON_OUT_H

#include <jansson.h>
#include <stdio.h>

/* Print json like json_dumpf(), but write characters of text_is_hidden() as
 * escapes such as \u009b. Prints nothing if json is NULL. */
void json_out(const json_t *json, size_t flags, FILE *out);

/* The same as text, which the caller must free(); NULL if json_dumps() returns
 * NULL. */
char *json_out_text(const json_t *json, size_t flags);

#endif
