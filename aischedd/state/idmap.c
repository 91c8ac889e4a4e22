/* idmap.c - map ids, most of which are consecutive, to pointers */
#include "aischedd/state/idmap.h"

#include <stdlib.h>

#include "libcommon/mem.h"

static struct idmap_page *page_of(const struct idmap *map, uint64_t id)
{
	return map_find(&map->pages, id / IDMAP_PAGE);
}

void *idmap_find(const struct idmap *map, uint64_t id)
{
	const struct idmap_page *page = page_of(map, id);

	return page ? page->value[id % IDMAP_PAGE] : NULL;
}

void idmap_set(struct idmap *map, uint64_t id, void *value)
{
	struct idmap_page *page = page_of(map, id);

	if (!page) {
		page = xcalloc(1, sizeof(*page));
		map_set(&map->pages, id / IDMAP_PAGE, page);
	}
	page->n += !page->value[id % IDMAP_PAGE];
	page->value[id % IDMAP_PAGE] = value;
}

void idmap_del(struct idmap *map, uint64_t id)
{
	struct idmap_page *page = page_of(map, id);

	if (!page || !page->value[id % IDMAP_PAGE])
		return;
	page->value[id % IDMAP_PAGE] = NULL;
	if (--page->n == 0)
		free(map_del(&map->pages, id / IDMAP_PAGE));
}

struct idmap_page *idmap_each(const struct idmap *map, size_t *at)
{
	return map_each(&map->pages, at);
}

void idmap_free(struct idmap *map)
{
	struct idmap_page *page;
	size_t at = 0;

	while ((page = idmap_each(map, &at)))
		free(page);
	map_free(&map->pages);
}
