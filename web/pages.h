/*
 * pages.h - the files of the page, as bytes in the program
 */
#ifndef WEB_PAGES_H
#define WEB_PAGES_H

#include <stddef.h>

struct web_page {
	const char *path, *type;
	const unsigned char *data;
	size_t len;
};

extern const struct web_page web_pages[];
extern const size_t web_npages;

#endif
